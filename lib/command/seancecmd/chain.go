package seancecmd

import (
	"errors"
	"fmt"
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/text/term"
	"gt/lib/view/chain"
	"gt/lib/view/palette"
)

type chainOf struct {
	Of      string `arg:"" name:"id-or-work" help:"A session of the chain, by its id or the beginning of it; or a unit of work: all chains that worked on it."`
	DOT     bool   `name:"dot" xor:"form" help:"As a graph for Graphviz: gt-seance chain ID --dot | dot -Tsvg."`
	Mermaid bool   `xor:"form" help:"As a Mermaid flowchart, for Markdown."`
	JSON    bool   `name:"json" xor:"form" help:"One JSON object per line for each session, in the order in which they began."`

	logs
}

// Run prints the chain of a session or of an agent's, or all chains that worked on a unit of work.
func (c *chainOf) Run(env *cli.Env) error {
	all, err := readCatalog(env, false, c.Log)
	if err != nil {
		return err
	}
	word := term.TrimEllipsis(c.Of)
	found, candidates := chain.Find(all.Linked(word), word)
	if len(found) == 0 && candidates == nil {
		s, err := findNamed(env, all, word) // by its agent's name
		switch {
		case err == nil:
			found, candidates = chain.Find(all.Linked(string(s.ID)), string(s.ID))
		case !errors.Is(err, errNoSession):
			return err
		}
	}
	switch {
	case candidates != nil:
		return ambiguousError(env, all, c.Of, candidates)
	case len(found) == 0:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("no session and no work '%s'", c.Of), instance.HintNamed(place.StateOf(env.Getenv), c.Of, "gt-seance list --limit 0 lists all sessions"))
	}
	var shown []*catalog.Session
	for _, ch := range found {
		for _, s := range ch.Sessions() {
			shown = append(shown, s)
			s.ResolveOutcome(town.Personal(env.Getenv).State)
			s.Clean(env.Redact)
		}
	}
	warnUnread(env, all)
	warnStale(env, shown...)
	v := chain.View{
		Style: palette.StyleFor(env.Stdout, env.Getenv), Width: term.Width(env.Stdout, env.Getenv),
		Now: env.Now(), Short: all.IDShortener(),
	}
	var text string
	switch {
	case c.JSON:
		return cli.JSONLines(env, shown)
	case c.DOT:
		text = chain.DOT(found, v)
	case c.Mermaid:
		text = chain.Mermaid(found, v)
	default:
		var texts []string
		for _, ch := range found {
			texts = append(texts, ch.Text(v))
		}
		text = strings.Join(texts, "\n")
	}
	return env.Print(text)
}
