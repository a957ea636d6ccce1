package agent

import (
	"strings"
	"testing"
)

// An agent that takes no id is asked for one, if it prints it.
//
// S2-33 S2-34 S2-49
func TestCapture(t *testing.T) {
	vibe := Client{
		Command: Argv{"vibe"}, ResumeFlag: Argv{"--resume"}, PrintFlag: Argv{"-p"},
		OutputFormatFlag: Argv{"--output-format", "json"}, SessionIDJSONPath: ".session.id",
		DangerousFlag: Argv{"--yes"},
	}
	if got := strings.Join(vibe.SessionIDProbe(), " "); got != "vibe -p --output-format json ." {
		t.Errorf("it is asked by %q", got)
	}
	vibe.DangerousMode = true
	if got := strings.Join(vibe.SessionIDProbe(), " "); got != "vibe --yes -p --output-format json ." {
		t.Errorf("in the dangerous mode it is asked by %q", got)
	}
	for name, c := range map[string]Client{
		"that cannot resume": {OutputFormatFlag: vibe.OutputFormatFlag, SessionIDJSONPath: ".id"},
		"without JSON":       {ResumeFlag: vibe.ResumeFlag, SessionIDJSONPath: ".id"},
		"without a path":     {ResumeFlag: vibe.ResumeFlag, OutputFormatFlag: vibe.OutputFormatFlag},
	} {
		if got := c.SessionIDProbe(); got != nil {
			t.Errorf("one %s is asked by %q", name, got)
		}
	}
	for output, want := range map[string]string{
		`{"session":{"id":"an-id"},"result":"."}`:                                            "an-id",
		"a banner\n{\"session\":{\"id\":\"an-id\"}}\n":                                       "an-id",
		"{\"session\":{\"id\":\"first\"}}\n{\"session\":{\"id\":\"last\"}}\n{\"done\":true}": "last",
		`{"session":{"id":"null"}}`:                                                          "",
		`{"session":{"id":null}}`:                                                            "",
		`{"session":{"id":7}}`:                                                               "",
		`{"session":"id"}`:                                                                   "",
		`["session"]`:                                                                        "",
		"":                                                                                   "",
		"no JSON":                                                                            "",
	} {
		if got := vibe.SessionIDIn([]byte(output)); got != want {
			t.Errorf("%s\nholds %q, want %q", output, got, want)
		}
	}
}
