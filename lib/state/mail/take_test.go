package mail

import "testing"

// Given work arrives as a note that nobody has read; what became of any other stays.
func TestArriving(t *testing.T) {
	for name, want := range map[string]struct {
		flags         string
		given, unread bool
	}{
		"1.M1R0000000a.h:2,":      {"", false, true},
		"1.M1R0000000a.h:2,F":     {"", true, true},
		"1.M1R0000000a.h:2,FS":    {"", true, true},
		"1.M1R0000000a.h:2,FT":    {"T", false, false},
		"1.M1R0000000a.h:2,S":     {"S", false, false},
		"1.M1R0000000a.h:2,ST":    {"ST", false, false},
		"1.M1R0000000a.h:2,DFPRS": {"DPR", true, true},
		"1.M1R0000000a.h:2,S\n/x": {"Sx", false, false},
		"1.M1R0000000a.h":         {"", false, true},
	} {
		a := Arriving{Name: name}
		flags, _ := a.flags()
		if flags != want.flags || a.Given() != want.given || a.Unread() != want.unread {
			t.Errorf("%q: flags %q, given %v, unread %v", name, flags, a.Given(), a.Unread())
		}
	}
	if flags, _ := (Arriving{Name: "1.M1R0000000a.h:2,ST", Fresh: true}).flags(); flags != "" {
		t.Errorf("one that lay in new has the flags %q", flags)
	}
}
