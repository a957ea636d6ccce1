package fleet

import (
	"os/exec"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/client/agent"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// An agent whose client has ended its conversation and runs waits: Codex tells of the next one
// with its first prompt. One that the person left is stopped.
func TestLeftConversation(t *testing.T) {
	store := instance.Store{State: place.State(t.TempDir())}
	in := &instance.Instance{ID: "x", Agent: "codex", Desired: instance.Running, StartedAt: time.Now().Add(-time.Hour), TmuxPane: "%1", TmuxSession: "gt-x"}
	client := exec.Command("sleep", "600")
	client.Env = []string{"PATH=/", instance.Variable + "=" + store.Name(in.ID)}
	testenv.NoError(t, client.Start())
	t.Cleanup(func() { client.Process.Kill(); client.Wait() })
	p, err := process.Find(client.Process.Pid)
	testenv.NoError(t, err)
	pane := tmux.Pane{ID: "%1", Session: "gt-x", PID: p.PID}
	for reason, want := range map[string]status.Status{"other": status.Waiting, Left: status.Stopped} {
		r := &session.Record{ID: "s", Agent: "codex", StartedAt: in.StartedAt.Add(time.Second), EndedAt: in.StartedAt.Add(time.Minute), Outcome: session.Done, Reason: reason}
		r.SetProcess(p)
		m := Member{Instance: in, Record: r}
		l := &Survey{now: time.Now(), servers: map[tmux.Server]*answer{"": {here: true, panes: []tmux.Pane{pane}, byID: map[string][]tmux.Pane{"%1": {pane}}}}}
		m.observe(l, store, agent.Builtin(), func(string) []string { return nil })
		if m.Status != want {
			t.Errorf("its conversation ended (%s), and it is %s", reason, m.Status)
		}
	}
}
