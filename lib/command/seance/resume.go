package seance

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/readers"
	"gt/lib/launch/ask"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

type resume struct {
	ID     string `arg:"" help:"The session, by its id or the beginning of it."`
	Fork   bool   `help:"Go on with a copy, and leave the session as it is."`
	Force  bool   `short:"f" help:"Also when the session runs: both then write into one conversation."`
	DryRun bool   `short:"n" help:"Print the command and do nothing."`
}

// Run turns into the session's agent.
func (c *resume) Run(env *cli.Env) error {
	s, err := one(env, c.ID)
	if err != nil {
		return err
	}
	on, err := comeback(env, s, c.Fork)
	if err != nil {
		return passed(env, s, err)
	}
	if c.DryRun {
		if len(on.args) == 0 {
			return on.impossible(s, c.Fork)
		}
		_, err := fmt.Fprintln(env.Stdout, term.Clean(env.Redact(on.String())))
		return err
	}
	if !c.Fork && !c.Force {
		if where := running(env, s); where != "" {
			return cli.Fail(cli.No, fmt.Errorf("session %s runs already, %s", s.ID, where),
				"--fork goes on with a copy of it", "--force opens it a second time: both then write into one conversation")
		}
	}
	switch {
	case len(on.args) == 0:
		return on.impossible(s, c.Fork)
	case on.gone:
		return cli.Fail(cli.No, fmt.Errorf("the folder that session %s worked in is gone: %s", s.ID, on.dir),
			"make it anew (git worktree add, git clone), or", on.elsewhere(s))
	case on.dir == "":
		return cli.Fail(cli.No, fmt.Errorf("it is not known in which folder session %s worked", s.ID),
			on.elsewhere(s))
	}
	return process.Exec(on.dir, on.args, on.environ(env))
}

// elsewhere says what can be done with a session whose folder is not there.
func (g goingOn) elsewhere(s *catalog.Session) string {
	if g.client.Ask != nil {
		return fmt.Sprintf("gt-seance talk %s asks the session from any folder", s.ID)
	}
	return fmt.Sprintf("gt-seance read %s prints the conversation, for another agent", s.ID)
}

// goingOn is how a session goes on: in which folder, by which command, and with
// what in the environment.
type goingOn struct {
	dir  string
	gone bool     // the folder is not there
	args []string // the program first; none where the client cannot
	set  []string // "NAME=value", or "NAME" for one that is taken away

	client agent.Client
	agents *agent.Table
}

// comeback says how a session, or a copy of it, goes on. A account.ForeignError
// names what of it is only the word of a log or a project.
func comeback(env *cli.Env, s *catalog.Session, fork bool) (goingOn, error) {
	own, all := owned(env), agents(env)
	c := clientOf(all, s)
	on := goingOn{client: c, agents: all}
	dir, gone, err := folder(own, s)
	if on.dir, on.gone = cmp.Or(dir, gone), dir == "" && gone != ""; dir == "" && err != nil {
		return on, err
	}
	// A subagent's conversation is none that Claude Code opens by its id.
	if s.SubagentOf == "" && (fork && c.CanFork() || !fork && c.CanResume()) {
		on.args = c.Restart(nil, agent.Next{Resume: string(s.ID), Fork: fork})
	}
	if c.StoreEnv != "" {
		store, err := accountOf(own, c, s)
		if err != nil {
			return on, err
		}
		if change := c.Account(env.Getenv, store); change != "" {
			on.set = append(on.set, change)
		}
	}
	if id, err := identity.Parse(s.Actor); err == nil && id.Role != "" {
		on.set = append(on.set, "GT_ROLE="+id.Address(), "BD_ACTOR="+id.Address())
		if id.Rig != "" {
			on.set = append(on.set, "GT_RIG="+id.Rig)
		}
	}
	return on, nil
}

// folder is where the session goes on: where it began, for there its client finds
// it; else where it went, which can be the same folder under another name. What
// is not absolute would be another folder wherever one stands. One that only the
// log names is the person's own. dir is empty where there is none, and then named
// is one that is gone.
func folder(own account.Own, s *catalog.Session) (dir, named string, err error) {
	for _, at := range []string{s.CWD, s.Moved} {
		if !filepath.IsAbs(at) {
			continue
		}
		real, failed := own.Folder(at)
		var foreign *account.ForeignError
		switch {
		case failed == nil:
			return real, "", nil
		case !errors.As(failed, &foreign):
			named = cmp.Or(named, at)
		case !foreign.Kernel() && worked(s, at):
			return at, "", nil
		case err == nil:
			err = foreign
		}
	}
	return "", named, err
}

// worked reports whether the session's own client says that it worked in a folder.
func worked(s *catalog.Session, dir string) bool {
	r := readers.Of(s.File.Client)
	if r == nil {
		return false
	}
	facts, err := r.Metadata(s.File)
	return err == nil && (facts.CWD == dir || facts.Moved == dir)
}

// environ is what the session's agent gets: the caller's environment, without
// what is of the caller's own session, but in its pane.
func (g goingOn) environ(env *cli.Env) []string {
	out := ask.Environ(g.agents, env.Environ)
	for _, change := range g.set {
		out = ask.Account(out, change)
	}
	for _, name := range []string{"TMUX", "TMUX_PANE"} {
		if v := env.Getenv(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return append(slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") }), "PWD="+g.dir)
}

// String is the command for a shell.
func (g goingOn) String() string {
	var words []string
	if len(g.set) > 0 {
		words = append(words, "env")
	}
	for _, change := range g.set {
		if !strings.Contains(change, "=") {
			words = append(words, "-u")
		}
		words = append(words, term.Typed(change))
	}
	for _, a := range g.args {
		words = append(words, term.Typed(a))
	}
	command := strings.Join(words, " ") // no exec: who pastes it keeps the shell
	if g.dir == "" {                    // where it worked is not known
		return command
	}
	return "cd " + term.Typed(g.dir) + " && " + command
}

func (g goingOn) impossible(s *catalog.Session, fork bool) error {
	if s.SubagentOf != "" {
		return cli.Fail(cli.No, fmt.Errorf("%s is a subagent, and goes on with its session only", s.ID),
			fmt.Sprintf("gt-seance resume %s goes on with the session that it worked for", s.SubagentOf))
	}
	what := "go on with a session"
	if fork {
		what = "go on with a copy of a session"
	}
	return cli.Fail(cli.No, fmt.Errorf("%s cannot %s, as far as gt knows", g.client.Name, what),
		fmt.Sprintf("gt-seance read %s prints the conversation, for another agent", s.ID))
}

// running says where the session runs; empty when nothing shows that it does.
func running(env *cli.Env, s *catalog.Session) string {
	r, _ := session.Lookup(town.Personal(env.Getenv).State, s.ID)
	var pid int
	runs, _ := scan.Running(env.Getenv) // what could not be read was told of
	switch run, ok := runs[s.ID]; {
	case ok:
		pid = run.Process.PID
	case r != nil && r.Live() && r.Elsewhere():
		return fmt.Sprintf("as process %d of another PID namespace, for all that can be seen from here", r.PID)
	case r != nil && r.Live():
		pid = r.PID
	default:
		return ""
	}
	where := fmt.Sprintf("as process %d", pid)
	if r != nil && r.PID == pid && r.TmuxPane != "" {
		where += " in tmux pane " + r.TmuxPane
		if r.TmuxSession != "" {
			where += " of " + r.TmuxSession
		}
	}
	return where
}
