package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/send"
	"gt/lib/live/fleet"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/sys/tmux"
)

type reply struct {
	profile
	Name     string `arg:"" help:"The agent."`
	Option   int    `arg:"" optional:"" name:"n" help:"The number of the option; without one, the options are listed."`
	Question string `placeholder:"ID" help:"Answer only this question (--json shows its id)."`
	JSON     bool   `help:"With the options, print the question and its id as one JSON object."`
}

func (c *reply) Run(env *cli.Env, at scope) error {
	if e, err := onOtherHost(env, c.Name); err != nil {
		return err
	} else if e != nil {
		return e.run(peer.Ask{Command: "answer", N: c.Option, Question: c.Question, JSON: c.JSON}, patience)
	}
	held, err := lock(at, c.Name)
	if err != nil {
		return err
	}
	defer held.Release()
	m := at.Member(held.Instance)
	if err := checkReadsPane(m); err != nil {
		return err
	}
	to := send.Target{Server: tmux.Server(m.TmuxServer), Pane: m.Pane.ID, Client: at.Table().FindClient(m.Agent)}
	if c.Option == 0 {
		q, err := to.Question()
		if err != nil {
			return unanswered(env, m, q, err)
		}
		if len(q.Options) == 0 {
			return unanswered(env, m, q, send.ErrNoOption)
		}
		err = c.show(env, q)
		return errors.Join(err, setListed(held, q.Digest(), env))
	}
	taken, err := to.Answer(c.Option, cmp.Or(c.Question, held.Listed), send.Patience)
	if err != nil {
		q, _ := to.Question()
		if errors.Is(err, send.ErrChanged) && len(q.Options) > 0 {
			err = errors.Join(err, setListed(held, q.Digest(), env))
		}
		return unanswered(env, m, q, err)
	}
	if err := setListed(held, "", env); err != nil {
		return err
	}
	return env.Printf("answered %s: %d. %s\n", m.Name, c.Option, env.Line(taken.Text, maxCell))
}

type question struct {
	ID      string   `json:"question"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
}

func (c *reply) show(env *cli.Env, q agent.Question) error {
	shown := question{ID: q.Digest(), Text: env.Text(q.Text)}
	for i, o := range q.Options {
		text := env.Line(o.Text, maxCell)
		if shown.Options = append(shown.Options, text); !c.JSON {
			fmt.Fprintf(env.Stdout, "%d. %s\n", i+1, text)
		}
	}
	if !c.JSON {
		return nil
	}
	return env.JSON(shown)
}

// setListed records that the options of a question were shown, so that a number answers no other
// one; "" forgets it.
func setListed(held *instance.Locked, digest string, env *cli.Env) error {
	if held.Listed == digest {
		return nil
	}
	held.Listed = digest
	return held.Put(env.Now())
}

// unanswered returns the error for a question that was not answered, with its options if it has any.
func unanswered(env *cli.Env, m fleet.Member, q agent.Question, err error) error {
	failed := cli.Fail(cli.AnswerNo, fmt.Errorf("cannot answer %s: %w", m.Name, err))
	switch {
	case errors.Is(err, send.ErrNoOption) && len(q.Options) == 0:
		return cli.WithHint(failed, "gt-session cannot read the options of its question; gt-session attach %s shows them", m.Name)
	case errors.Is(err, send.ErrNoOption), errors.Is(err, send.ErrChanged) && len(q.Options) > 0:
		for i, o := range q.Options {
			failed = cli.WithHint(failed, "%d. %s", i+1, env.Line(o.Text, 200))
		}
		return failed
	case errors.Is(err, send.ErrNoQuestion), errors.Is(err, send.ErrNotTaken), errors.Is(err, send.ErrChanged):
		return cli.WithHint(failed, "gt-session peek %s shows its screen", m.Name)
	case errors.Is(err, tmux.ErrDead), errors.Is(err, tmux.ErrReadOnly):
		return noInput(m, fmt.Errorf("cannot answer %s: %w", m.Name, err))
	}
	return err
}
