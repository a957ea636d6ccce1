//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gt/e2e/model"
)

// gt-session keeps each client's agent as it keeps Claude Code's (TestSession): started
// with a prompt, restarted in its pane, and brought back after a crash and after the
// server of tmux is gone, each time in its conversation; each prompt that is sent to it is
// known to be submitted.
//
// S1-13 S2-6 S2-31 S2-41
func TestSessions(t *testing.T) {
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
		flags  []string // that the client's person works with
	}{
		{"codex", newCodex, nil},
		{"gemini", newGemini, []string{"-m", "gemini-2.5-pro"}},
		{"qwen", newQwen, nil},
		{"opencode", newOpenCode, nil},
		{"pi", newPi, nil},
		{"copilot", newCopilot, nil},
	} {
		t.Run(of.client, func(t *testing.T) {
			w := of.begin(t)
			if of.client == "codex" {
				w.wireCodex()
				w.trustHooks()
			} else {
				w.install(of.client)
			}
			if of.client == "opencode" {
				w.fetched(w.client.Version)
			}
			w.model.Answer(func(r *model.Request) model.Reply { return model.Say("It is done.") })
			s := w.sessions()
			s.run(append([]string{"new", "-n", "api", "-a", of.client, "-m", "please remember MARK-ONE", "--"}, of.flags...)...)
			w.asked("please remember MARK-ONE")
			first := s.becomes("waiting")
			if first.Reason != "done" || first.SessionID == "" {
				t.Errorf("after its first turn: %+v", first)
			}
			goesOn := func(question string) {
				t.Helper()
				s.run("send", "api", question)
				if r := w.asked(question); !strings.Contains(string(r.Body), "MARK-ONE") {
					t.Errorf("asked %q, it does not know what was said before", question)
				}
				if is := s.becomes("waiting"); is.SessionID != first.SessionID {
					t.Errorf("asked %q, it is session %s, after %s", question, is.SessionID, first.SessionID)
				}
			}
			goesOn("please say TWO")
			s.run("restart", "api")
			if is := s.listed(); is.Pane != first.Pane {
				t.Errorf("restarted in pane %s, it was in %s", is.Pane, first.Pane)
			}
			s.becomes("waiting")
			goesOn("please say THREE")

			p := &pane{w, "gt-api", first.Pane}
			if err := syscall.Kill(p.pid(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			s.becomes("error")
			s.run("restore")
			s.becomes("waiting")
			goesOn("please say FOUR")

			w.tmux("kill-server")
			s.becomes("error")
			s.run("restore")
			s.becomes("waiting")
			goesOn("please say FIVE")

			s.run("stop", "api")
			s.becomes("stopped")
			if out := s.run("restore"); out != "" {
				t.Errorf("a stopped agent is restored: %q", out)
			}
		})
	}
}

// sessions are the instances of a world's person, whose tmux server is the world's own.
type sessions struct {
	w   *world
	env []string
}

func (w *world) sessions() sessions {
	w.t.Helper()
	w.open("keep", "sleep", "3600") // a server of the world's own
	socket := filepath.Join(w.path("tmux"), fmt.Sprintf("tmux-%d", os.Getuid()), "e2e")
	return sessions{w, []string{"TMUX=" + socket + ",1,0", "TMUX_PANE=%0"}}
}

// run runs gt-session as a person does who sits in a pane.
func (s sessions) run(args ...string) string {
	s.w.t.Helper()
	out, err := s.w.run(s.w.project, s.env, "gt-session", args...)
	if err != nil {
		s.w.t.Fatalf("gt-session %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// A listing is what gt-session list --json says of the one instance.
type listing struct {
	Status, Reason, Pane string
	SessionID            string `json:"session_id"`
}

func (s sessions) listed() (l listing) {
	s.w.t.Helper()
	if err := json.Unmarshal([]byte(s.run("list", "--json")), &l); err != nil {
		s.w.t.Fatal(err)
	}
	return l
}

func (s sessions) becomes(status string) listing {
	s.w.t.Helper()
	seen := ""
	defer func() {
		if seen != status {
			s.w.t.Logf("its status was %s", seen)
		}
	}()
	s.w.until("its status is "+status, func() bool {
		seen = s.listed().Status
		return seen == status
	})
	return s.listed()
}
