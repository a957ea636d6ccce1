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

// startClient starts a process that stands for a client until the end of the test. Without
// variables it has the test's.
func startClient(t *testing.T, env ...string) process.Proc {
	t.Helper()
	client := exec.Command("sleep", "600")
	client.Env = env
	testenv.NoError(t, client.Start())
	t.Cleanup(func() { client.Process.Kill(); client.Wait() })
	p, err := process.Find(client.Process.Pid)
	testenv.NoError(t, err)
	// Start returns in the middle of the exec, when the process has no environment yet.
	for end := time.Now().Add(testenv.Patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if env, err := p.Environ(); err != nil || len(env) > 0 {
			break
		}
	}
	return p
}

// An agent whose client has ended its conversation and runs waits: Codex tells of the next one
// with its first prompt. One that the person left is stopped.
func TestLeftConversation(t *testing.T) {
	store := instance.Store{State: place.State(t.TempDir())}
	in := &instance.Instance{ID: "x", Agent: "codex", Desired: instance.Running, StartedAt: time.Now().Add(-time.Hour), TmuxPane: "%1", TmuxSession: "gt-x"}
	p := startClient(t, "PATH=/", instance.Variable+"="+store.Name(in.ID))
	pane := tmux.Pane{ID: "%1", Session: "gt-x", PID: p.PID}
	for reason, want := range map[string]status.Status{"other": status.Waiting, LeftReason: status.Stopped} {
		r := &session.Record{ID: "s", Agent: "codex", StartedAt: in.StartedAt.Add(time.Second), EndedAt: in.StartedAt.Add(time.Minute), Outcome: session.Done, Reason: reason}
		r.SetProcess(p)
		here := &serverAnswer{serverRuns: true}
		here.setPanes([]tmux.Pane{pane})
		l := &Survey{now: time.Now(), stores: func(string) []string { return nil }, servers: map[tmux.Server]*serverAnswer{"": here}}
		m := Member{Instance: in, Record: r, survey: l}
		m.observe(store, agent.Builtin(), m.findSeat(store))
		if m.Status != want {
			t.Errorf("its conversation ended (%s), and it is %s", reason, m.Status)
		}
	}
}

// A process to which a session handed over, and of which no hook has told yet, does not have the
// end of that session. A shell that ran before the session does.
func TestSuccessorBegan(t *testing.T) {
	p, now := startClient(t), time.Now()
	for _, c := range []struct {
		name    string
		began   time.Time
		outcome session.Outcome
		alive   bool
		want    bool
	}{
		{"handed over", now.Add(-time.Hour), session.Handoff, false, true},
		{"handed over in a shell", now.Add(time.Hour), session.Handoff, false, false},
		{"the same process", now.Add(-time.Hour), session.Handoff, true, false},
		{"left", now.Add(-time.Hour), session.Done, false, false},
	} {
		r := &session.Record{ID: "s", StartedAt: c.began, EndedAt: now.Add(time.Hour), Outcome: c.outcome}
		if c.alive {
			r.SetProcess(p)
		}
		m := Member{Record: r}
		if began := m.successorBegan(p); began.IsZero() == c.want {
			t.Errorf("%s: %v", c.name, began)
		}
	}
}

// A session whose hook of the start ends after that of its first prompt runs. If the prompt was
// of a process before, it waits.
func TestStartBesidePrompt(t *testing.T) {
	p, now := startClient(t), time.Now()
	for _, c := range []struct {
		name     string
		prompted time.Time
		status   status.Status
		want     bool
	}{
		{"the first prompt", now.Add(time.Minute), status.Running, false},
		{"a process before", now.Add(-time.Hour), status.Running, true},
		{"a turn that ended", now.Add(time.Minute), status.Waiting, true},
		{"an earlier start", now.Add(time.Hour), status.Running, true},
	} {
		r := &session.Record{ID: "s", StartedAt: now.Add(2 * time.Minute)}
		r.SetProcess(p)
		m := Member{Record: r}
		if start := m.startObservation(status.Observation{Source: status.Hook, At: c.prompted, Status: c.status}); start.At.IsZero() == c.want {
			t.Errorf("%s: %+v", c.name, start)
		}
	}
}
