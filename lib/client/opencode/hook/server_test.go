package hook

import (
	"strings"
	"testing"
)

// "opencode attach" is a window of "opencode serve" and "opencode web"; other runs have their
// sessions themselves.
func TestServer(t *testing.T) {
	for line, want := range map[string]string{
		"opencode serve --port 4096": "serves", "opencode --log-level DEBUG serve": "serves", "opencode web": "serves",
		"opencode attach http://127.0.0.1:4096 --dir /w": "shows",
		"opencode": "", "opencode /w": "", "opencode --model serve": "", "opencode run serve": "", "opencode --port 4096": "",
	} {
		got := ""
		switch args := strings.Fields(line); {
		case server.IsServer(args):
			got = "serves"
		case server.IsWindow(args):
			got = "shows"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if dir := server.Dir(strings.Fields("opencode attach http://127.0.0.1:4096 --dir api"), "/w"); dir != "/w/api" {
		t.Errorf("it works in %s", dir)
	}
	for line, want := range map[string]string{"opencode attach http://h:1 --dir /w": "http://h:1", "opencode attach -s ses_1 https://h/": "https://h/", "opencode attach": ""} {
		if got := server.Address(strings.Fields(line)); got != want {
			t.Errorf("%s: it shows %q, want %q", line, got, want)
		}
	}
}
