//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
)

// A session that starts is told who it is, once and whole, and a resume does
// not tell it again.
//
// S0-1 S0-3 S0-10 S0-24 S0-36 S0-38 S0-39 S0-40 S1-7 S1-39 S1-40 S1-45 S1-46
// S1-48 S1-50 S1-108
func TestStart(t *testing.T) {
	w := newWorld(t)
	w.role("You keep the lighthouse. ROLE-CANARY")
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "environment") {
			return model.Bash("env")
		}
		return model.Reply{}
	})

	began := time.Now()
	first := w.ask("show me the environment")
	if !w.oneDocument("startup", w.model.Turns()[0]) {
		return
	}
	for _, want := range []string{"GT_SESSION_UUID=" + first.SessionID, "GT_HOME=" + w.project} {
		if shown := w.model.Turns().LastRequest().Result(); !strings.Contains(shown, want+"\n") {
			t.Errorf("a command of the model does not see %s:\n%s", want, shown)
		}
	}
	if exists(w.runtime("session_id")) {
		t.Errorf("a run that no person sees is the folder's latest session: %s", w.latest())
	}
	start := w.oneEvent("session_start", first.SessionID)
	if at, err := time.Parse(time.RFC3339Nano, start.TS); err != nil || at.Before(began.Add(-time.Second)) || at.After(time.Now()) {
		t.Errorf("session_start happened at %q", start.TS)
	}
	if start.Payload.CWD != w.project || start.Payload.ChainID != first.SessionID || start.Payload.ParentID != "" {
		t.Errorf("session_start says %+v", start.Payload)
	}
	if r := w.record(first.SessionID); r.ChainID != first.SessionID || r.ParentID != "" || r.EndedAt == "" || r.Outcome != "done" {
		t.Errorf("after its end the record says %+v", r)
	}
	if end := w.oneEvent("session_end", first.SessionID); end.Payload.Outcome != "done" {
		t.Errorf("session_end says %+v", end.Payload)
	}
	var alive struct{ LastCommand, Timestamp, State string }
	if err := json.Unmarshal([]byte(strings.ReplaceAll(w.read(w.runtime("keepalive.json")), "last_command", "LastCommand")), &alive); err != nil {
		t.Error(err)
	}
	if at, err := time.Parse(time.RFC3339Nano, alive.Timestamp); err != nil || at.Before(began.Add(-time.Second)) {
		t.Errorf("keepalive.json says %+v", alive)
	}
	if status := w.git("status", "--porcelain"); status != "" {
		t.Errorf("git shows what gt keeps:\n%s", status)
	}
	if info, err := os.Stat(w.runtime()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the state has mode %v (%v)", info.Mode(), err)
	}

	for range 2 {
		w.ask("go on", "--resume", first.SessionID)
	}
	last := w.model.Turns().LastRequest()
	w.oneDocument("two resumes later", last)
	if n := last.Count("SessionStart:resume hook success"); n > 1 {
		t.Errorf("the two resumes left %d copies of what they were told:\n%s", n, last.Text())
	}
	w.oneEvent("session_start", first.SessionID)
	w.noHookErrors()
}

// What does not fit is cut by gt at a line, and not by the client, which would
// show the model no more than the first 2 KB.
//
// S1-48
func TestStartWithLongRole(t *testing.T) {
	w := newWorld(t)
	var role strings.Builder
	role.WriteString("ROLE-CANARY\n")
	for i := range 2000 {
		fmt.Fprintf(&role, "Rule %d: do it properly.\n", i)
	}
	w.role(role.String() + "LAST-RULE\n")
	w.ask("hello")
	first := w.model.Turns().LastRequest()
	w.oneDocument("startup", first)
	if first.Count("LAST-RULE") > 0 || first.Count("Rule 100:") == 0 {
		t.Errorf("the role is %d rules long for the model", first.Count(": do it properly"))
	}
}

// role gives the project's sessions a role.
func (w *world) role(text string) {
	w.Helper()
	w.write(filepath.Join(w.home, ".config", "gt", "roles", "default.md"), text)
}

// oneDocument checks that the start-up text is in the request once, and as a
// whole: not as the preview of a text that the client found too long.
func (w *world) oneDocument(when string, r *model.Request) bool {
	w.Helper()
	n, spilled := r.Count("ROLE-CANARY"), r.Count("tool-results")
	if n != 1 || spilled > 0 {
		w.Errorf("%s: the model was told its role %d times, %d of the texts were too long for the client:\n%s", when, n, spilled, r.Told())
		return false
	}
	return true
}
