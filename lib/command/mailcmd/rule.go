package mailcmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/names"
	"gt/lib/place"
	"gt/lib/place/git"
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
	Repo bool     `help:"It holds in this repository, with all its worktrees (or in this folder), for every session to come."`
}

type dropRule struct {
	Number int `arg:"" help:"The number that gt-mail rule shows."`
}

// currentChain returns this agent and the id of the chain, the sessions that took over from each
// other, of the current session or, for a person, of the one that began last here.
func currentChain(env *cli.Env) (agent, session.ID, error) {
	me := currentAgent(env)
	r, err := session.Store{Home: me.home}.CurrentRecord(env.Getenv, names.SessionVars())
	if errors.Is(err, session.ErrNone) {
		err = cli.Fail(cli.AnswerNo, err, "a rule belongs to the work of a session; start an agent here first")
	}
	if err != nil {
		return me, "", err
	}
	return me, r.Chain(), nil
}

// rules are the instructions that gt-mail rule numbers: the chain's, then the repository's.
type rules struct {
	chain, repository []thread.Instruction
	ids               [2]session.ID // of their threads; the chain's is empty if there is none
	state             place.State
	placeKind         string // "repository" or "folder"
}

// rulesHere returns the rules of the session's chain and of the repository. Without a session it
// returns the repository's only, or an error if there are none either.
func rulesHere(env *cli.Env) (rules, error) {
	warn := env.WarnError
	me, id, err := currentChain(env)
	common, unread := git.CommonDir(me.home.Dir)
	if unread != nil {
		return rules{}, unread
	}
	r := rules{state: me.home.Town.State, placeKind: git.KindOfPlace(me.home.Dir), ids: [2]session.ID{id, thread.RepositoryID(common)}, repository: thread.Rules(me.home.Town.State, common, warn)}
	switch {
	case err != nil && len(r.repository) == 0:
		return r, err
	case err != nil:
		return r, nil
	}
	t, err := thread.Read(r.state, id, warn)
	if errors.Is(err, thread.ErrNone) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.chain = t.Instructions
	return r, nil
}

func (c *listRules) Run(env *cli.Env) error {
	r, err := rulesHere(env)
	if err != nil {
		return err
	}
	all := slices.Concat(r.chain, r.repository)
	if len(all) == 0 {
		env.Hint("there are no rules; gt-mail rule add 'never push to main' makes one, and what you tell an agent to always or never do becomes one")
		return nil
	}
	for i, in := range (&thread.Thread{Instructions: all}).Cleaned(env.Redact).Instructions {
		if c.JSON {
			err = env.JSON(struct {
				Number     int        `json:"number"`
				Text       string     `json:"text"`
				Kind       string     `json:"kind"`
				Session    session.ID `json:"session,omitempty"`
				Repository bool       `json:"repository,omitempty"`
				Time       time.Time  `json:"time,omitzero"`
			}{i + 1, in.Text, string(in.Kind), in.Session, i >= len(r.chain), in.Time})
		} else {
			origin := ""
			if i >= len(r.chain) {
				origin = "  (this " + r.placeKind + ")"
			}
			err = env.Printf("%2d  %s%s\n", i+1, term.OneLine(term.Clean(in.Text)), origin)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *addRule) Run(env *cli.Env) error {
	me, id, err := currentChain(env)
	// A rule of the repository needs no session, so currentChain's error does not count.
	if c.Repo {
		var common string
		common, err = git.CommonDir(me.home.Dir)
		id = thread.RepositoryID(common)
	}
	if err != nil {
		return err
	}
	text := term.OneLine(env.Redact(strings.Join(c.Text, " ")))
	if text == "" {
		return cli.Failf(cli.Usage, "the rule is empty")
	}
	in := standing.Instruction{Text: text, Kind: standing.KindAlways}
	// The text may show its kind. It is a rule even if it does not read like one.
	if found := standing.Find(text); len(found) == 1 {
		in.Kind = found[0].Kind
	}
	if n := len([]rune(text)); n > standing.MaxLength {
		return cli.Failf(cli.Usage, "the rule has %d characters; the limit is %d", n, standing.MaxLength)
	}
	added := false
	_, err = thread.Update(me.home.Town.State, id, atomicfile.Synced, env.WarnError, func(t *thread.Thread) { added = t.AddInstruction(in, env.Now().UTC()) })
	switch {
	case err != nil:
		return err
	case !added:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("there are %d rules, which is the limit", thread.MaxInstructions), "gt-mail rule drop NUMBER makes room")
	}
	return env.Printf("added: %s\n", term.Clean(text))
}

func (c *dropRule) Run(env *cli.Env) error {
	r, err := rulesHere(env)
	if err != nil {
		return err
	}
	// The list numbers the chain's rules first and goes on with the repository's.
	id, number := r.ids[0], c.Number
	if number > len(r.chain) {
		id, number = r.ids[1], number-len(r.chain)
	}
	var dropped thread.Instruction
	found := false
	if number > 0 {
		_, err = thread.Update(r.state, id, atomicfile.Synced, env.WarnError, func(t *thread.Thread) { dropped, found = t.Drop(number) })
	}
	switch {
	case err != nil:
		return err
	case !found:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("there is no rule %d", c.Number), "gt-mail rule lists them")
	}
	return env.Printf("dropped: %s\n", term.OneLine(term.Clean(env.Redact(dropped.Text))))
}
