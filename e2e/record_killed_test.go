//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/e2e/model"
	"gt/lib/conversation"
	"gt/lib/record"
)

// A client is killed, with all that it started, in the middle of a turn, and goes on with
// the conversation afterwards: whatever it wrote is in the record once, in order, before and
// after, also when it has lost its own. A hook recorded meanwhile.
//
// S3-3 S3-8
func TestRecordOfKilled(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"claude", "codex", "gemini", "qwen", "opencode", "pi", "kimi", "cline"} {
		t.Run(client, func(t *testing.T) {
			w := newWorldOf(t, client)
			w.setUp(client)
			w.write(filepath.Join(w.home, ".config", "gt", "config.toml"), "[record]\non = true\n")
			w.wireAgent(client)
			over := make(chan struct{})
			defer close(over)
			w.model.Answer(func(r *model.Request) model.Reply {
				asked := string(r.Body)
				switch {
				case r.Kind != model.Turn:
					return model.Reply{}
				case strings.Contains(asked, "THIRD-CANARY"):
					return model.Say("ANSWER to THIRD-CANARY")
				case r.Result() != "" && strings.Contains(asked, "SECOND-CANARY"):
					<-over // so that the turn goes on until the client is killed
				case r.Result() != "":
					return model.Say("It is DONE-CANARY.")
				case strings.Contains(asked, "please echo"):
					return anyShell(r, "echo E2E-OUTPUT")
				}
				return model.Reply{}
			})
			if out, err := w.run(w.project, nil, client, begins[client]("please echo FIRST-CANARY")...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			w.killInTurn(client, begins[client]("please echo SECOND-CANARY")...)
			id := w.isRecorded(client, "please echo FIRST-CANARY", "please echo SECOND-CANARY")

			if client != "gemini" { // which without a person loses what it resumes
				for _, c := range goesOn {
					if c.client != client {
						continue
					}
					if out, err := w.run(w.project, nil, client, c.headless(id, "and THIRD-CANARY")...); err != nil {
						t.Fatalf("%v\n%s", err, out)
					}
				}
				if client == "cline" { // which resumes only in front of a person; with its data named it has no hub, which would stay
					p := w.open("r", "cline", "--data-dir", filepath.Join(w.home, ".cline", "data"), "--tui", "--id", id)
					p.cline("and THIRD-CANARY", "ANSWER to THIRD-CANARY")
					p.cline("/quit", "")
				}
				w.isRecorded(client, "please echo FIRST-CANARY", "please echo SECOND-CANARY", "and THIRD-CANARY")
			}

			before := w.recordsSay()
			for _, c := range w.conversations(client) {
				if err := os.RemoveAll(c.File.Path); err != nil {
					t.Fatal(err)
				}
			}
			w.gt("gt-record", "sync", "--all")
			if after := w.recordsSay(); !slices.Equal(after, before) {
				t.Errorf("after the client lost them, the records say\n%q\nand said\n%q", after, before)
			}
			w.gt("gt-record", "verify", "--all")
		})
	}
}

// killInTurn runs a client until its model has been sent a tool's result, and kills it.
func (w *world) killInTurn(client string, args ...string) {
	w.Helper()
	cmd := exec.Command(w.look(client), args...)
	cmd.Dir, cmd.Env = w.project, append(slices.Clone(w.Env), "PWD="+w.project)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &out, time.Second
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	asked := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Filter(func(r *model.Request) bool { return r.Result() != "" && r.Count("SECOND-CANARY") > 0 }).LastRequest()
	})
	if client == "kimi" && asked != nil { // which asks its model before its disk has the prompt
		w.waitFor("it has written its prompt", func() bool {
			all, _ := filepath.Glob(filepath.Join(w.home, ".kimi-code", "sessions", "*", "*", "agents", "main", "wire.jsonl"))
			return slices.ContainsFunc(all, func(path string) bool {
				return slices.ContainsFunc(strings.Split(w.read(path), "\n"), func(line string) bool {
					return strings.Contains(line, `"context.append_message"`) && strings.Contains(line, "SECOND-CANARY")
				})
			})
		})
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		w.Error(err)
	}
	err := cmd.Wait()
	if asked == nil {
		w.Fatalf("it did not come to its tool's result: %v\n%s", err, out.Bytes())
	}
}

// isRecorded brings the records up to date and fails the test unless they have what the
// client keeps: each entry once, in order, with these prompts. It returns the id of the
// session that was killed.
func (w *world) isRecorded(client string, prompts ...string) (killed string) {
	w.Helper()
	w.gt("gt-record", "sync", "--all")
	w.gt("gt-record", "verify", "--all")
	var own, asked []string
	for _, c := range spoken(w.conversations(client)) {
		for _, e := range c.Entries {
			if text := saidOf(e.Kind, e.Text); text != "" {
				own = append(own, text)
			}
			if e.Kind == conversation.Prompt {
				asked = append(asked, strings.Trim(e.Text, "\"\n ")) // OpenCode quotes its argument
				if strings.Contains(e.Text, "SECOND-CANARY") {
					killed = string(c.Metadata.ID)
				}
			}
		}
	}
	if !slices.Equal(asked, prompts) {
		w.Fatalf("%s keeps the prompts %q, not %q", client, asked, prompts)
	}
	if got := w.recordsSay(); !slices.Equal(got, own) {
		w.Errorf("the records say\n%q\n%s keeps\n%q", got, client, own)
	}
	return killed
}

// recordsSay is what the records say, the oldest first.
func (w *world) recordsSay() (all []string) {
	w.Helper()
	s, err := record.StoreOf(w.getenv)
	if err != nil {
		w.Fatal(err)
	}
	ids, err := s.IDs()
	if err != nil {
		w.Fatal(err)
	}
	slices.Sort(ids) // they begin with the time
	for _, id := range ids {
		if err := s.Lines(id, func(l record.Line) bool {
			if text := saidOf(conversation.Kind(l.Kind), l.Text); text != "" {
				all = append(all, text)
			}
			return true
		}); err != nil {
			w.Error(err)
		}
	}
	return all
}

// saidOf is an entry of a conversation as it is compared, "" of what says nothing.
func saidOf(kind conversation.Kind, text string) string {
	switch kind {
	case conversation.Prompt, conversation.Reply, conversation.Answer, conversation.Call, conversation.Result, conversation.Summary:
		return fmt.Sprintf("%s: %s", kind, text)
	}
	return ""
}
