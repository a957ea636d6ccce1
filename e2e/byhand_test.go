//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
)

// Several windows of a client that a person opens, in one folder and in another, with the
// client's shared server where it has one, are each in gt-session list with their own pane,
// conversation and status; and so when one is closed, and once all are adopted.
//
// S1-13 S2-6 S2-31
func TestOpenedByHand(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		client string
		begin  func(*testing.T) *world
		args   [][]string // of each window
		serve  []string   // the client's server, which the windows use
	}{
		{"claude", newWorld, [][]string{nil, nil}, nil},
		{"codex", newCodex, [][]string{nil, nil, nil, nil, nil}, nil},
		{"opencode", newOpenCode, [][]string{nil, nil}, nil},
		{"opencode", newOpenCode, [][]string{{"attach", "http://127.0.0.1:PORT"}, {"attach", "http://127.0.0.1:PORT"}}, []string{"serve", "--port", "PORT"}},
		{"qwen", newQwen, [][]string{nil, nil}, nil},
		{"copilot", newCopilot, [][]string{nil, nil}, nil},
		{"gemini", newGemini, [][]string{nil, nil}, nil},
	} {
		name := of.client
		if of.serve != nil {
			name += " with a server"
		}
		t.Run(name, func(t *testing.T) {
			w := of.begin(t)
			w.wireAgent(of.client)
			held := make(chan struct{})
			w.model.Answer(func(r *model.Request) model.Reply {
				if strings.Contains(r.Asked(), "HOLD") {
					<-held
				}
				return model.Say("It is done.")
			})
			a := w.agents()
			port := freePort(t)
			fill := func(args []string) (all []string) {
				for _, arg := range args {
					all = append(all, strings.ReplaceAll(arg, "PORT", port))
				}
				return all
			}
			if of.serve != nil {
				p := w.open("server", append([]string{of.client}, fill(of.serve)...)...)
				p.awaitScreen("listening")
			}
			var panes []*pane
			ask := func(i int, text string) {
				t.Helper()
				p := panes[i]
				asked := func() bool {
					return len(w.model.Turns().Filter(func(r *model.Request) bool { return strings.Contains(r.Asked(), text) })) > 0
				}
				w.waitFor("it has a screen", func() bool { return strings.Count(trimLines(p.screen()), "\n") > 3 })
				time.Sleep(2 * time.Second)
				last := time.Time{}
				w.tmux("send-keys", "-t", p.id, "-l", text)
				w.waitFor("the model is asked "+text, func() bool {
					if !asked() && time.Since(last) > 3*time.Second {
						if !strings.Contains(p.screen(), text) {
							w.tmux("send-keys", "-t", p.id, "-l", text)
						}
						time.Sleep(500 * time.Millisecond)
						w.tmux("send-keys", "-t", p.id, "Enter")
						last = time.Now()
					}
					return asked()
				})
			}
			for i, args := range of.args {
				panes = append(panes, w.open(fmt.Sprintf("hand-%d", i), append([]string{of.client}, fill(args)...)...))
				ask(i, fmt.Sprintf("please say MARK-%d.", i))
			}
			listed := func() map[string]instance {
				all := map[string]instance{}
				for line := range strings.Lines(a.session("list", "--json")) {
					var in instance
					if err := json.Unmarshal([]byte(line), &in); err != nil {
						t.Fatal(err)
					}
					if _, twice := all[in.Pane]; twice {
						t.Errorf("pane %s is listed twice", in.Pane)
					}
					all[in.Pane] = in
				}
				return all
			}
			// holds reports whether a session's conversation has a text, by the client's own file.
			holds := func(id, text string) bool {
				found := false
				filepath.WalkDir(w.home, func(path string, d os.DirEntry, err error) error {
					if err == nil && d.Type().IsRegular() && (strings.Contains(path, id) || strings.HasSuffix(path, ".jsonl") || strings.HasSuffix(path, ".json")) && !strings.Contains(path, "/gt/") {
						data, _ := os.ReadFile(path)
						found = found || strings.Contains(string(data), text) && (strings.Contains(path, id) || strings.Contains(string(data), id))
					}
					return nil
				})
				return found
			}
			first := map[string]string{}
			told := func(when string, status ...string) {
				t.Helper()
				deadline := time.Now().Add(patience)
				for {
					var wrong []string
					all, ids := listed(), map[string]string{}
					for i, p := range panes {
						is := all[p.id]
						want := status[min(i, len(status)-1)]
						if is.Status != want || is.SessionID == "" || ids[is.SessionID] != "" || first[p.id] != "" && first[p.id] != is.SessionID {
							wrong = append(wrong, fmt.Sprintf("window %d in %s (%s) is listed as %+v, in session %q before", i, p.id, want, is, first[p.id]))
						}
						ids[is.SessionID] = p.id
					}
					if len(wrong) == 0 {
						for id, pane := range ids {
							first[pane] = id
						}
						return
					}
					if time.Now().After(deadline) {
						t.Errorf("%s:\n%s\n%s", when, strings.Join(wrong, "\n"), a.session("list", "--json"))
						return
					}
					time.Sleep(200 * time.Millisecond)
				}
			}
			told("opened", "waiting")
			if of.client != "opencode" { // which has a database
				for i, p := range panes {
					if !holds(first[p.id], fmt.Sprintf("MARK-%d.", i)) {
						t.Errorf("window %d is said to be in session %s, whose conversation has not its prompt", i, first[p.id])
					}
				}
			}
			ask(1, "please HOLD on")
			told("the second works", "waiting", "running", "waiting")
			close(held)
			told("the second is done", "waiting")
			w.tmux("kill-session", "-t", "=hand-0")
			closed := panes[0]
			panes = slices.Delete(panes, 0, 1)
			told("the first is closed", "waiting")
			a.waitFor("the first is not listed", func() bool { _, is := listed()[closed.id]; return !is })
			a.session("import", "--tmux")
			told("adopted", "waiting")
			ask(0, "please say AGAIN.")
			told("adopted and asked", "waiting")
		})
	}
}

// freePort returns a port of loopback that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
