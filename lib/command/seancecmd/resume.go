package seancecmd

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/launch/resume"
	"gt/lib/place/town"
	"gt/lib/text/term"
)

type resumption struct {
	ID     string `arg:"" help:"The session, by its id or the beginning of it."`
	Fork   bool   `help:"Resume a copy, and leave the session as it is."`
	Force  bool   `short:"f" help:"Resume even if the session is running. Both then write into one conversation."`
	DryRun bool   `short:"n" help:"Print the command, and do nothing."`
}

// Run replaces this process by the client, and so returns only on failure or after --dry-run.
func (c *resumption) Run(env *cli.Env) error {
	s, _, err := findSession(env, c.ID)
	if err == nil {
		err = checkLocal(s)
	}
	if err != nil {
		return err
	}
	all := agents(env)
	plan, err := continuationOf(newStoreGuardWith(env, func() *agent.Table { return all }), all, s, c.Fork)
	if err != nil {
		return foreignStoreError(env, s, err)
	}
	if c.DryRun {
		if len(plan.Args) == 0 {
			return plan.impossible(s, c.Fork)
		}
		return env.Println(term.Clean(env.Redact(plan.Command.String())))
	}
	if !c.Fork && !c.Force {
		if where := scan.HolderOf(env.Getenv, town.Personal(env.Getenv).State, s.ID); where != nil {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("session %s is already running, %s", s.ID, where),
				"--fork goes on with a copy of it", "--force opens it a second time: both then write into one conversation")
		}
	}
	switch {
	case len(plan.Args) == 0:
		return plan.impossible(s, c.Fork)
	case plan.gone:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("the folder that session %s worked in is gone: %s", s.ID, plan.Dir),
			"make it anew (git worktree add, git clone), or", plan.missingFolderHint(s))
	case plan.Dir == "":
		return cli.Fail(cli.AnswerNo, fmt.Errorf("gt does not know in which folder session %s worked", s.ID),
			plan.missingFolderHint(s))
	}
	return plan.Exec(env.ChildEnviron())
}

func (g continuation) missingFolderHint(s *catalog.Session) string {
	if g.client.Ask != nil {
		return fmt.Sprintf("gt-seance talk %s asks the session from any folder", s.ID)
	}
	return fmt.Sprintf("gt-seance read %s prints the conversation, for another agent", s.ID)
}

type continuation struct {
	resume.Command
	gone   bool // its folder does not exist
	client agent.Client
}

// continuationOf returns how a session or a copy of it is resumed; without Args if it cannot be.
// It fails with account.ForeignError if only a log or a project names its folder or store.
func continuationOf(guard account.StoreGuard, all *agent.Table, s *catalog.Session, fork bool) (continuation, error) {
	c := clientOf(all, s)
	if s.Recorded {
		return continuation{client: c}, nil
	}
	dir, gone, err := resumeFolder(guard, s)
	if dir == "" && err != nil {
		return continuation{}, err
	}
	store := ""
	if c.StoreEnv != "" {
		if store, err = accountOf(guard, c, s); err != nil {
			return continuation{}, err
		}
	}
	known := resume.Session{ID: s.ID, Actor: s.Actor, Dir: cmp.Or(dir, gone), Store: store, Subagent: s.SubagentOf != ""}
	return continuation{
		Command: resume.BuildCommand(all, c, known, fork, guard.Getenv), gone: dir == "" && gone != "", client: c,
	}, nil
}

// resumeFolder returns where the session is resumed: its first folder, in which its client finds it, or
// the one that it moved to, which may be the same folder renamed. A folder that only a log names
// must be the person's own, else err says that it is not. If dir is empty, named is the folder
// that is gone, or "". Relative paths are ignored.
func resumeFolder(guard account.StoreGuard, s *catalog.Session) (dir, named string, err error) {
	for _, path := range []string{s.CWD, s.Moved} {
		if s.IsForeign() || !filepath.IsAbs(path) {
			continue
		}
		real, failed := guard.CheckWorkFolder(path)
		var foreign *account.ForeignError
		switch {
		case failed == nil:
			return real, "", nil
		case !errors.As(failed, &foreign): // it does not exist
			named = cmp.Or(named, path)
		case !foreign.IsKernelPath() && namesFolder(s, path): // not only a log names it
			return path, "", nil
		case err == nil:
			err = foreign
		}
	}
	return "", named, err
}

// namesFolder reports whether the conversation itself, and not just a log, names dir as its folder.
func namesFolder(s *catalog.Session, dir string) bool {
	r := scan.ReaderOf(s.File.Client)
	if r == nil {
		return false
	}
	facts, err := r.Metadata(s.File)
	return err == nil && (facts.CWD == dir || facts.MovedTo == dir)
}

// impossible returns the error that says why a session or a copy of it cannot be resumed.
func (g continuation) impossible(s *catalog.Session, fork bool) error {
	if s.Recorded {
		return onlyRecorded(s)
	}
	if s.SubagentOf != "" {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is a subagent, which can be resumed only with its session", s.ID),
			fmt.Sprintf("gt-seance resume %s resumes the session that it worked for", s.SubagentOf))
	}
	if s.ID.Invented() {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s gave session %s no id, so it cannot resume it: the id is gt's own", g.client.Name, s.ID),
			fmt.Sprintf("gt-seance chain %s shows what followed it", s.ID))
	}
	what := "resume a session"
	if fork {
		what = "resume a copy of a session"
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("gt does not know that %s can %s", g.client.Name, what),
		fmt.Sprintf("gt-seance read %s prints the conversation, for another agent", s.ID))
}

func onlyRecorded(s *catalog.Session) error {
	return cli.Fail(cli.AnswerNo, fmt.Errorf("%s does not keep the conversation of session %s any more", s.Agent, s.ID),
		fmt.Sprintf("gt-record convert %s --to AGENT makes of its record a conversation that goes on", s.ID),
		fmt.Sprintf("gt-seance read %s prints it", s.ID))
}
