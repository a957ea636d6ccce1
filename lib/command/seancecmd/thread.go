package seancecmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/names"
	"gt/lib/conversation/brief"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/text/pasted"
	"gt/lib/text/term"
)

type threadOf struct {
	ID      string `arg:"" optional:"" help:"A session of the chain, by its id or the beginning of it (default: the session that asks, or else the last one in this folder)."`
	JSON    bool   `name:"json" help:"One JSON object, as the file has it."`
	Forget  bool   `help:"Remove the thread, with its earlier contents."`
	Explain bool   `help:"Print the score of each message, why it has it, and whether a start-up text includes it."`
	Room    int    `help:"With --explain: the characters that such a text has for messages." default:"6000"`

	logs
}

func (c *threadOf) Run(env *cli.Env) error {
	chain, err := c.chain(env)
	if err != nil {
		return err
	}
	if c.Forget {
		return c.forget(env, chain)
	}
	t, err := thread.Read(town.Personal(env.Getenv).State, chain, env.WarnError)
	switch {
	case errors.Is(err, thread.ErrNone):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing is kept of the chain '%s' yet", chain),
			"it begins at the end of a session's first turn")
	case err != nil:
		return err
	}
	t = t.Cleaned(env.Redact)
	if c.JSON {
		return env.JSON(t)
	}
	text := threadText
	if c.Explain {
		text = c.explain
	}
	return env.Print(text(env, t))
}

// forget removes the thread. What is said from now on begins another one.
func (c *threadOf) forget(env *cli.Env, chain session.ID) error {
	err := thread.Remove(town.Personal(env.Getenv).State, chain)
	if errors.Is(err, thread.ErrNone) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing is kept of the chain '%s'", chain))
	}
	if err != nil {
		return err
	}
	return env.Printf("the thread of %s is removed; notes, records and conversations stay\n", chain)
}

func (c *threadOf) Validate() error {
	if c.Forget && c.JSON {
		return cli.Failf(cli.Usage, "--forget cannot be combined with --json")
	}
	if c.Explain && (c.JSON || c.Forget) {
		return cli.Failf(cli.Usage, "--explain stands alone")
	}
	if c.Room < 0 {
		return cli.Failf(cli.Usage, "--room cannot be negative")
	}
	return nil
}

// chain returns the chain of the session c.ID, or else of the one that asks or was last here.
func (c *threadOf) chain(env *cli.Env) (session.ID, error) {
	if c.ID == "" {
		r, err := session.Store{Home: home.Find(env.Getenv, env.Dir, "")}.CurrentRecord(env.Getenv, names.SessionVars())
		if errors.Is(err, session.ErrNone) {
			err = cli.Fail(cli.AnswerNo, err, "gt-seance thread ID takes the id that gt-seance list shows")
		}
		if err != nil {
			return "", err
		}
		return r.Chain(), nil
	}
	s, _, err := findSession(env, c.ID, c.Log...)
	if err != nil {
		return "", err
	}
	return s.Chain(), nil
}

// threadText returns what a thread has for a person, under a heading for each kind.
func threadText(env *cli.Env, t *thread.Thread) string {
	var b strings.Builder
	style, width := term.StyleFor(env.Stdout, env.Getenv), term.Width(env.Stdout, env.Getenv)
	head := func(title string) {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(style.Bold(title) + "\n")
	}
	day := func(at time.Time) string { return term.FormatDay(at, env.Now()) }
	indented := func(text string) {
		b.WriteString(term.Indent(strings.TrimSpace(term.CleanText(text)), width) + "\n")
	}
	if t.Request.Text != "" {
		head(strings.TrimSpace("First request  " + day(t.Request.Time)))
		indented(t.Request.Text)
	}
	if len(t.Instructions) > 0 {
		head("Standing instructions")
		for i, in := range t.Instructions {
			b.WriteString(term.Indent(fmt.Sprintf("%d. %s", i+1, term.OneLine(term.Clean(in.Text))), width) + "\n")
		}
	}
	quotes := func(title string, all []thread.Quote) {
		if len(all) > 0 {
			head(title)
		}
		for _, q := range all {
			indented(strings.TrimSpace(day(q.Time) + "  " + q.Text))
		}
	}
	others := "What else the person said"
	if t.Dropped > 0 {
		others += fmt.Sprintf(" (there was no room for the %d before)", t.Dropped)
	}
	// The prompts have the first request too, shortened.
	request := pasted.Shorten(t.Request.Text)
	quotes(others, slices.DeleteFunc(t.Distinct(), func(q thread.Quote) bool { return q.Text == request }))
	quotes("What agents answered", t.Answers)
	quotes("What was run and changed", t.Actions)
	for _, m := range t.Messages {
		head(strings.TrimSpace("Handed over  " + day(m.Time)))
		indented(m.Subject)
		if m.Text != "" && m.Text != m.Subject {
			indented(m.Text)
		}
	}
	if len(t.Todos) > 0 {
		head(fmt.Sprintf("To do (%d done)", t.Done))
		for _, todo := range t.Todos {
			mark := "[ ]"
			if todo.Status == "in_progress" {
				mark = "[in progress]"
			}
			b.WriteString(term.Indent(mark+" "+term.OneLine(term.Clean(todo.Text)), width) + "\n")
		}
	}
	head(fmt.Sprintf("Sessions: %d", len(t.Sessions)))
	for _, s := range t.Sessions {
		b.WriteString("  " + string(s.ID) + "  " + term.OneLine(term.Clean(s.Agent)) + "\n")
	}
	return b.String()
}

// explain returns the points of each message, the most first, with what they are for.
func (c *threadOf) explain(env *cli.Env, t *thread.Thread) string {
	var b strings.Builder
	width := term.Width(env.Stdout, env.Getenv)
	t.Prompts = t.Distinct()
	told := brief.Brief{Thread: t}.Chosen(c.Room)
	scores := t.Explain(t.Prompts, false)
	order := cli.Numbers(len(scores))
	slices.SortStableFunc(order, func(i, j int) int { return scores[j].Points - scores[i].Points })
	for _, i := range order {
		how := "not told"
		if told[i] != "" {
			how = "told"
		}
		fmt.Fprintf(&b, "%4d  %-8s  %s\n", scores[i].Points, how, term.Cut(term.OneLine(term.Clean(t.Prompts[i].Text)), max(width-17, 20)))
		for line := range strings.Lines(term.Indent(strings.Join(scores[i].Why, "; ")+"\n", max(width-14, 20))) {
			b.WriteString(strings.Repeat(" ", 14) + line)
		}
	}
	return b.String()
}
