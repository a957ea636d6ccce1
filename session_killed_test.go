package gt_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// A gt-session that is killed while it makes or removes a worktree leaves what the next
// command finishes: each place has its worktree whole, or there is neither.
func TestWorktreeKilled(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 8
	}
	c := newCrowd(t)
	for i := range 50 {
		if err := os.WriteFile(filepath.Join(c.Path("repo"), fmt.Sprint("file-", i)), []byte(strings.Repeat("line\n", 100)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.mustRun("git", "add", "-A")
	c.mustRun("git", "commit", "-q", "-m", "files")
	begin := time.Now()
	c.mustRun("gt-session", "new", "-n", "whole", "--worktree", "whole", "--no-start")
	takes := time.Since(begin)

	killed := func(after time.Duration, args ...string) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env, cmd.Dir = c.Env, c.Path("repo")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = cmd.Process.Kill() // it may be done
		_ = cmd.Wait()
	}
	// again runs a command until nobody is at what it wants; git outlives who called it.
	again := func(args ...string) result {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			r := job{Args: args, Env: c.Env, Dir: c.Path("repo")}.Run()
			// git outlives a killed gt, and what it works on is in use.
			if r.Code != 75 && !strings.Contains(r.Errs, "(git) works in it") || time.Now().After(deadline) {
				return r
			}
		}
	}
	for i := range rounds {
		name := fmt.Sprint("wt-", i)
		path := c.Path("repo-" + name)
		at := takes * time.Duration(i) / time.Duration(rounds)
		killed(at, "gt-session", "new", "-n", name, "--worktree", name, "--no-start")
		made := strings.Contains(c.mustRun("gt-session", "list", "--json"), `"name":"`+name+`"`)
		if _, err := os.Stat(path); err == nil && !made {
			t.Errorf("killed after %v: a worktree without a place is left", at)
		}
		if !made {
			continue
		}
		if i%2 == 0 {
			if r := again("gt-session", "start", name); r.Code != 0 {
				t.Errorf("killed after %v, start: %+v", at, r)
			}
			if out := c.mustRun("git", "-C", path, "status", "--porcelain"); out != "" {
				t.Errorf("killed after %v, the worktree is not whole: %s", at, out)
			}
			c.mustRun("gt-session", "stop", "--now", name)
			killed(at, "gt-session", "rm", name)
		}
		if r := again("gt-session", "rm", name); r.Code != 0 && !strings.Contains(r.Errs, "there is no agent") {
			t.Errorf("killed after %v, rm: %+v", at, r)
		}
		if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
			t.Errorf("killed after %v, left: %v", at, left)
		}
	}
	if out := c.mustRun("git", "worktree", "list"); strings.Count(out, "\n") != 2 {
		t.Errorf("git still knows of\n%s", out)
	}
}

// A gt-session that is killed while it starts an agent leaves nothing half-started: the agent
// runs, and the next command finds it, or it does not, and the next start starts it. There is
// never a second one, and no buffer with its keys is left.
//
// S1-23
func TestStartKilled(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 6
	}
	c := newCrowd(t)
	begin := time.Now()
	c.mustRun("gt-session", "new", "-n", "whole", "--respawn")
	takes := time.Since(begin)
	for i := range rounds {
		name := fmt.Sprint("one-", i)
		at := takes * time.Duration(i) / time.Duration(rounds)
		cmd := exec.Command("gt-session", "new", "-n", name, "--respawn")
		cmd.Env, cmd.Dir = c.Env, c.Path("repo")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(at)
		_ = cmd.Process.Kill() // it may be done
		_ = cmd.Wait()
		if !strings.Contains(c.mustRun("gt-session", "list", "--json"), `"name":"`+name+`"`) {
			continue // it was not made yet
		}
		r := job{Args: []string{"gt-session", "start", name}, Env: c.Env, Dir: c.Path("repo")}.Run()
		if r.Code != 0 || r.Out != "started "+name+"\n" && r.Out != name+" is already running\n" {
			t.Errorf("killed after %v, start: %+v", at, r)
		}
		if out := c.mustRun("tmux", "list-panes", "-a", "-F", "of #{session_name}."); strings.Count(out, "of gt-"+name+".") != 1 {
			t.Errorf("killed after %v, these run:\n%s", at, out)
		}
		if out := c.mustRun("tmux", "show-hooks", "-p", "-t", "=gt-"+name+":", "pane-died"); !strings.Contains(out, " revive ") {
			t.Errorf("killed after %v, it is not started again when it crashes: %s", at, out)
		}
	}
	for deadline := time.Now().Add(time.Minute); c.mustRun("tmux", "list-buffers") != ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a buffer is left")
		}
	}
	c.mustRun("gt-session", "stop", "--now", "--all")
}

// A gt-session that is killed at any of its calls of git, before git has done its work or
// after it, leaves what the next command finishes: so it is for each of the states that a
// worktree goes through on disk while it is made and removed.
func TestWorktreeKilledAtGit(t *testing.T) {
	c := newCrowd(t)
	killed := c.gitKiller()
	path := c.Path("repo-wt")
	// remove removes the worktree once the git that was called last has ended: it outlives
	// who called it.
	remove := func() {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			r := job{Args: []string{"gt-session", "rm", "wt"}, Env: c.Env, Dir: c.Path("repo")}.Run()
			if r.Code == 0 {
				return
			}
			if !strings.Contains(r.Errs, "(git) works in it") || time.Now().After(deadline) {
				t.Fatalf("%+v", r)
			}
		}
	}
	clean := func(at string) {
		t.Helper()
		if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
			t.Errorf("%s, left: %v", at, left)
		}
		if out := c.mustRun("git", "worktree", "list"); strings.Count(out, "\n") != 1 {
			t.Errorf("%s, git still knows of\n%s", at, out)
		}
	}
	calls, moments := 0, []string{"after", "before"}
	if testing.Short() {
		moments = moments[:1]
	}
	for _, when := range moments {
		for n := 1; ; n++ {
			at := fmt.Sprintf("new, killed %s its call %d of git", when, n)
			is := killed(n, when, "gt-session", "new", "-n", "wt", "--worktree", "wt", "--no-start")
			if strings.Contains(c.mustRun("gt-session", "list", "--json"), `"name":"wt"`) {
				if n%4 == 0 {
					c.mustRun("gt-session", "start", "wt")
					if out := c.mustRun("git", "-C", path, "status", "--porcelain", "--branch"); out != "## wt\n" {
						t.Errorf("%s, the worktree is %s", at, out)
					}
					c.mustRun("gt-session", "stop", "--now", "wt")
				}
				remove()
			}
			clean(at)
			if !is {
				break
			}
			calls++
		}
		for n := 1; ; n++ {
			at := fmt.Sprintf("rm, killed %s its call %d of git", when, n)
			c.mustRun("gt-session", "new", "-n", "wt", "--worktree", "wt", "--no-start")
			is := killed(n, when, "gt-session", "rm", "wt")
			if is {
				remove()
			}
			clean(at)
			if !is {
				break
			}
			calls++
		}
	}
	if calls < 12 {
		t.Errorf("only %d calls of git were seen", calls)
	}
}

// gitKiller returns a function that runs a command, kills it before or after its nth call of git,
// and reports whether it came to that.
func (c *crowd) gitKiller() func(n int, when string, args ...string) bool {
	c.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		c.Fatal(err)
	}
	// The variables of gt's callers do not reach git: what it is to do stands in files.
	dir := c.Path("killing")
	script := fmt.Sprintf(`#!/bin/sh
read n <'%[1]s/n' && echo $((n-1)) >'%[1]s/n'
if [ "$n" != 1 ]; then exec '%[2]s' "$@"; fi
read when <'%[1]s/when'
if [ $when = after ]; then '%[2]s' "$@" >/dev/null; fi
kill -9 $PPID
`, dir, git)
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.Fatal(err)
	}
	if err := testenv.WriteProgram(filepath.Join(dir, "git"), []byte(script)); err != nil {
		c.Fatal(err)
	}
	note := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o600); err != nil {
			c.Fatal(err)
		}
	}
	return func(n int, when string, args ...string) bool {
		note("n", fmt.Sprint(n))
		note("when", when)
		env := append(slices.Clone(c.Env), "PATH="+dir+":"+os.Getenv("PATH"))
		r := job{Args: args, Env: env, Dir: c.Path("repo")}.Run()
		left, err := os.ReadFile(filepath.Join(dir, "n"))
		if err != nil {
			c.Fatal(err)
		}
		return r.Code != 0 && strings.TrimSpace(string(left)) == "0"
	}
}

// A tick that is killed at any of its calls of git while it makes the worktree of a template's
// session leaves what the next tick takes up.
func TestTickKilledAtGit(t *testing.T) {
	c := newCrowd(t)
	killed := c.gitKiller()
	templates := func(least int) {
		t.Helper()
		text := fmt.Sprintf("[[agent]]\nname = \"w\"\nprovider = \"claude\"\nwork_dir = %q\nworktree = true\n[agent.pool]\nmin = %d\nmax = 1\nmax_archived = 0\n", c.Path("repo"), least)
		if err := os.MkdirAll(c.Path("home/.config/gt"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.Path("home/.config/gt/town.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// until makes ticks until a condition holds. One may fail: git outlives who called it.
	until := func(at string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
			if r := (job{Args: []string{"gt-reconcile", "tick"}, Env: c.Env, Dir: c.Path("repo")}).Run(); time.Now().After(deadline) {
				t.Fatalf("%s: %+v", at, r)
			}
		}
	}
	worktrees := func() []string {
		all, _ := filepath.Glob(c.Path("repo-*"))
		return all
	}
	runs := func() bool { return strings.Contains(c.mustRun("gt-session", "list", "--json"), `"state":"active"`) }
	closed := func() bool {
		return c.mustRun("gt-session", "list", "--json")+c.mustRun("gt-session", "list", "--state", "archived", "--json") == ""
	}
	calls, moments := 0, []string{"after", "before"}
	if testing.Short() {
		moments = moments[:1]
	}
	for _, when := range moments {
		for making, n := true, 1; making; n++ {
			at := fmt.Sprintf("killed %s call %d of git", when, n)
			templates(1)
			if making = making && killed(n, when, "gt-reconcile", "tick"); making {
				calls++
			}
			until("to make, "+at, runs)
			all := worktrees()
			if len(all) != 1 {
				t.Fatalf("%s: %v", at, all)
			}
			if out := c.mustRun("git", "-C", all[0], "status", "--porcelain", "--branch"); out != "## "+strings.TrimPrefix(filepath.Base(all[0]), "repo-")+"\n" {
				t.Errorf("%s, the worktree is %s", at, out)
			}
			templates(0)
			c.mustRun("gt-session", "drain", "w~1")
			until("to close, "+at, closed)
			c.mustRun("git", "worktree", "remove", all[0])
			c.mustRun("git", "branch", "-D", strings.TrimPrefix(filepath.Base(all[0]), "repo-"))
		}
	}
	if calls < 6 {
		t.Errorf("only %d calls of git were seen", calls)
	}
}
