package mail

import (
	"testing"
	"time"
)

// Given work arrives as a note that nobody has read; what became of any other stays.
func TestArriving(t *testing.T) {
	for name, want := range map[string]string{
		"1.M1R0000000a.h:2,":      "",
		"1.M1R0000000a.h:2,F":     "",
		"1.M1R0000000a.h:2,FS":    "",
		"1.M1R0000000a.h:2,FT":    "T",
		"1.M1R0000000a.h:2,S":     "S",
		"1.M1R0000000a.h:2,ST":    "ST",
		"1.M1R0000000a.h:2,DFPRS": "DPR",
		"1.M1R0000000a.h:2,S\n/x": "Sx",
		"1.M1R0000000a.h":         "",
	} {
		if flags := (Arriving{Name: name}).flags(); flags != want {
			t.Errorf("%q has the flags %q, not %q", name, flags, want)
		}
	}
	if flags := (Arriving{Name: "1.M1R0000000a.h:2,ST", Fresh: true}).flags(); flags != "" {
		t.Errorf("one that lay in new has the flags %q", flags)
	}
}

// A note for one of several agents is that one's, and everybody's to look at by its ID.
func TestFor(t *testing.T) {
	for agent, want := range map[string]string{
		"": "", "instances/0197": "instances/0197", "towns/gt-0a/instances/0197": "towns/gt-0a/instances/0197", "a=b/1": "", "a:b": "", "a@b": "",
	} {
		unique := newUnique(time.Unix(1, 0)) + agentSuffix(agent)
		if got := agentOf(unique); got != want || len(idOf(unique)) != idLength {
			t.Errorf("%q: %q, %q", agent, got, unique)
		}
	}
}
