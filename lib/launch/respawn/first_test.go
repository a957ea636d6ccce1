package respawn

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/readers/files"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// Before an agent's first hook, a conversation of its folder that has changed since may be its
// own, and no other: not one of another folder or of before, a subagent's, nor that of an agent in
// another pane. One that it goes on with still has the record of its last run, or is named.
func TestChangedConversations(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	worktree, nested, sub := filepath.Join(dir, ".claude", "worktrees", "a"), filepath.Join(dir, "nested"), filepath.Join(dir, "sub")
	repository, linked := filepath.Join(dir, ".git"), filepath.Join(dir, ".git", "worktrees", "a")
	for _, d := range []string{linked, filepath.Join(nested, ".git"), worktree, sub} {
		testenv.NoError(t, os.MkdirAll(d, 0o700))
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(repository, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	testenv.NoError(t, os.WriteFile(filepath.Join(linked, "commondir"), []byte("../..\n"), 0o600))
	testenv.NoError(t, os.WriteFile(filepath.Join(worktree, ".git"), []byte("gitdir: "+linked+"\n"), 0o600))
	vars := map[string]string{"HOME": t.TempDir()}
	getenv := func(name string) string { return vars[name] }
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	h := home.Find(getenv, dir, "")
	since := time.Now()
	const id = "0d5f6a52-6c0f-4c0e-9d7f-8f7d5c1f2a11"
	path := files.Path("claude", getenv, dir, id)
	agents := filepath.Join(filepath.Dir(path), id, "subagents", "agent-1.jsonl")
	before := since.Add(-time.Minute)
	for name, c := range map[string]struct {
		path, cwd      string
		began, changed time.Time
		resumed        session.ID
		record         *session.Record
		want           int
	}{
		"its own":                  {path, dir, since, since, "", nil, 1},
		"of a worktree":            {path, worktree, since, since, "", nil, 1},
		"of a folder below":        {path, sub, since, since, "", nil, 0},
		"of a repository below":    {path, nested, since, since, "", nil, 0},
		"of an unknown folder":     {path, "", since, since, "", nil, 1},
		"of another folder":        {path, other, since, since, "", nil, 0},
		"of a subagent":            {agents, dir, since, since, "", nil, 0},
		"of before":                {path, dir, before, before, "", nil, 0},
		"that began before":        {path, dir, before, since, "", nil, 0},
		"that it resumes":          {path, dir, before, since, id, nil, 1},
		"that it goes on with":     {path, dir, before, since, "", &session.Record{TmuxPane: "%1"}, 1},
		"of an agent in this pane": {path, dir, since, since, "", &session.Record{TmuxPane: "%2", PID: self.PID, PIDStart: self.Start, BootID: self.Boot, PIDNS: self.NS}, 1},
		"of another agent":         {path, dir, since, since, "", &session.Record{TmuxPane: "%1", PID: self.PID, PIDStart: self.Start, BootID: self.Boot, PIDNS: self.NS}, 0},
	} {
		path := c.path
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		began := c.began.UTC().Format(time.RFC3339) // some clients write whole seconds
		line := `{"type":"user","message":{"role":"user","content":"go on"},"uuid":"` + id + `","sessionId":"` + id + `","cwd":"` + c.cwd + `","timestamp":"` + began + `"}` + "\n"
		testenv.NoError(t, os.WriteFile(path, []byte(line), 0o600))
		testenv.NoError(t, os.Chtimes(path, c.changed, c.changed))
		store := session.Store{Home: h}
		if c.record != nil {
			c.record.ID = id
			testenv.NoError(t, store.Put(c.record, atomicfile.Unsynced))
		}
		f := FirstPrompt{Client: agent.Client{Dialect: "claude"}, Pane: "%2", Dir: dir, Began: since, Resumed: c.resumed}
		if got := f.changedConversations(h, files.FindReader("claude"), account.Stores("claude", getenv), since); len(got) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
		testenv.NoError(t, os.RemoveAll(h.Path("sessions")))
		testenv.NoError(t, os.Remove(path))
	}
}
