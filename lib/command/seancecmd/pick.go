package seancecmd

import (
	"errors"
	"fmt"
	"iter"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/text/term"
	"gt/lib/view/pick"
)

type picking struct {
	selection
	Force bool `short:"f" help:"Resume a session even if it is running. Both then write into one conversation."`
}

// Run lets the person choose a session, and resumes it or a copy, or prints the command for that.
func (c *picking) Run(env *cli.Env) error {
	if !term.IsTerminal(env.Stderr) {
		return cli.Fail(cli.Usage, errors.New("picking needs a terminal on standard error"), "gt-seance list prints the sessions")
	}
	if len(c.Log) > 0 {
		return cli.Fail(cli.Usage, errors.New("pick resumes sessions of this machine, so it does not take --log"), "gt-seance list --log lists another machine's")
	}
	all, f, err := c.openCatalog(env)
	if err != nil {
		return err
	}
	// Sort the first screen by activity. The others follow while the person already looks at it.
	next, stop := iter.Pull(all.MatchingByActivity(f))
	defer stop()
	var first []*catalog.Session // that many are enough for a screen
	for s, ok := next(); ok; s, ok = next() {
		if first = append(first, s); len(first) == maxOffered {
			break
		}
	}
	if len(first) == 0 {
		return cli.Fail(cli.AnswerNo, errors.New("no session matches"), "gt-seance list shows the sessions")
	}
	catalog.SortByActivity(first)
	warnUnread(env, all)
	keys := []pick.Key{{Key: "enter", Action: "resume"}, {Key: "ctrl-f", Action: "fork"}, {Key: "ctrl-y", Action: "print"}}
	action, id, err := pick.PickSession(env, keys, func(show func(*catalog.Session) bool) {
		for _, s := range first {
			if s.Clean(env.Redact); !show(s) {
				return
			}
		}
		for s, ok := next(); ok; s, ok = next() {
			if s.Clean(env.Redact); !show(s) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	chosen := resumption{ID: string(id), Force: c.Force}
	switch action {
	case "resume":
	case "fork":
		chosen.Fork = true
	case "print":
		chosen.DryRun = true
	default:
		return fmt.Errorf("gt-pick returned the unknown action '%s'", action)
	}
	return chosen.Run(env)
}
