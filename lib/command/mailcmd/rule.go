package mailcmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/registry"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/standing"
	"gt/lib/text/term"
)

type rule struct {
	List listRules `cmd:"" default:"withargs" help:"List the rules, numbered (the default)."`
	Add  addRule   `cmd:"" help:"Add a rule."`
	Drop dropRule  `cmd:"" help:"Drop a rule, by its number."`
}

type listRules struct {
	JSON bool `name:"json" help:"One JSON object a rule and line."`
}

type addRule struct {
	Text []string `arg:"" help:"What holds: never push to main."`
}

type dropRule struct {
	Number int `arg:"" help:"The number that gt-mail rule shows."`
}

// chain returns the chain of the current session or, for a person, of the one that began
// last here.
func chain(env *cli.Env) (agent, session.ID, error) {
	me := self(env)
	r, err := session.Store{Home: me.home}.Here(env.Getenv, registry.SessionVars())
	if errors.Is(err, session.ErrNone) {
		err = cli.Fail(cli.No, err, "a rule belongs to the work of a session; start an agent here first")
	}
	if err != nil {
		return me, "", err
	}
	return me, r.Chain(), nil
}

func (c *listRules) Run(env *cli.Env) error {
	me, id, err := chain(env)
	if err != nil {
		return err
	}
	t, err := thread.Read(me.home.Town.State, id, func(err error) { env.Warn("%v", err) })
	if err != nil && !errors.Is(err, thread.ErrNone) {
		return err
	}
	if err != nil || len(t.Instructions) == 0 {
		env.Hint("there are no rules; gt-mail rule add 'never push to main' makes one, and what you tell an agent to always or never do becomes one")
		return nil
	}
	for i, in := range t.Cleaned(env.Redact).Instructions {
		if c.JSON {
			err = env.JSON(struct {
				Number  int        `json:"number"`
				Text    string     `json:"text"`
				Kind    string     `json:"kind"`
				Session session.ID `json:"session,omitempty"`
				Time    time.Time  `json:"time,omitzero"`
			}{i + 1, in.Text, string(in.Kind), in.Session, in.Time})
		} else {
			_, err = fmt.Fprintf(env.Stdout, "%2d  %s\n", i+1, term.OneLine(term.Clean(in.Text)))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *addRule) Run(env *cli.Env) error {
	me, id, err := chain(env)
	if err != nil {
		return err
	}
	text := term.OneLine(env.Redact(strings.Join(c.Text, " ")))
	if text == "" {
		return cli.Failf(cli.Usage, "an empty rule says nothing")
	}
	in := standing.Instruction{Text: text, Kind: standing.Always}
	// The text may show its kind. It is a rule even if it does not read like one.
	if found := standing.Find(text); len(found) == 1 {
		in.Kind = found[0].Kind
	}
	if n := len([]rune(text)); n > standing.MaxLength {
		return cli.Failf(cli.Usage, "the rule has %d characters, and %d at most are told", n, standing.MaxLength)
	}
	_, err = thread.Update(me.home.Town.State, id, atomicfile.Synced, func(err error) { env.Warn("%v", err) }, func(t *thread.Thread) { t.Add(in, env.Now().UTC()) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "added: %s\n", term.Clean(text))
	return err
}

func (c *dropRule) Run(env *cli.Env) error {
	me, id, err := chain(env)
	if err != nil {
		return err
	}
	var dropped thread.Instruction
	found := false
	_, err = thread.Update(me.home.Town.State, id, atomicfile.Synced, func(err error) { env.Warn("%v", err) }, func(t *thread.Thread) { dropped, found = t.Drop(c.Number) })
	switch {
	case err != nil:
		return err
	case !found:
		return cli.Fail(cli.No, fmt.Errorf("there is no rule %d", c.Number), "gt-mail rule lists them")
	}
	_, err = fmt.Fprintf(env.Stdout, "dropped: %s\n", term.OneLine(term.Clean(env.Redact(dropped.Text))))
	return err
}
