package seancecmd

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/search"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/place/git"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type seeking struct {
	Words   []string `arg:"" optional:"" help:"Words that were said, run or changed after one request, or are in the title; in any order and case. '\"two words\"' must stand side by side."`
	Touched string   `placeholder:"FILE" help:"Where this file was changed."`
	Ran     string   `placeholder:"COMMAND" help:"Where a command with these words side by side was run."`
	Limit   int      `short:"n" default:"10" placeholder:"N" help:"The best N sessions (default 10); 0 lists all."`
	JSON    bool     `name:"json" help:"One JSON object per session."`

	selection
}

func (c *seeking) Validate() error {
	err := cli.CheckAtLeast("--limit", c.Limit, 0)
	if err == nil && strings.TrimSpace(strings.Join(c.Words, "")+c.Touched+c.Ran) == "" {
		err = errors.New("give words to search for, --touched or --ran")
	}
	return err
}

// Run prints the best exchange of each session. It returns cli.Silent if none was found.
func (c *seeking) Run(env *cli.Env) error {
	all, places, err := c.findTargets(env)
	if err != nil {
		return err
	}
	// A deleted conversation left only its prompts, which have no files and no commands.
	if words := strings.Fields(strings.ToLower(strings.Join(c.Words, " "))); c.Touched+c.Ran == "" {
		defer c.hintDeleted(env, all, func(prompt string) bool {
			prompt = strings.ToLower(prompt)
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(prompt, strings.Trim(word, `"`)) })
		})
	}
	bar := term.NewProgress(env.Stderr, env.Getenv, "searching", env.Now)
	q := c.query(env)
	found, instead, failed := q.Search(conversationsOf(places), titlesOf(env, places), bar.Show)
	bar.Finish()
	switch {
	case failed != nil && len(found) == 0:
		return failed
	case failed != nil:
		env.WarnError(failed)
	case len(found) == 0:
		return cli.Silent
	}
	for _, typed := range slices.Sorted(maps.Keys(instead)) {
		env.Hint("'%s' was not found; searched for '%s'", env.Line(typed, maxActor), env.Line(instead[typed], maxActor))
	}
	if missing := found[0].Missing; len(missing) > 0 {
		env.Hint("nothing has all words; these have most (the first without '%s')", env.Line(strings.Join(missing, "', '"), 60))
	}
	return c.print(env, q, all, places, bestOfEach(places, found))
}

const renamePatience = 10 * time.Second // how long git may take to tell what a file was called

// query returns the search. What was touched or ran need not have words.
func (c *seeking) query(env *cli.Env) *search.Words {
	q := search.NewWords(strings.Join(c.Words, " "))
	if q == nil {
		q = &search.Words{}
	}
	q.Clean = func(s string) string { return env.Text(s) }
	if c.Touched != "" {
		q.Touched(pathsOf(env, c.Touched)...)
	}
	if c.Ran != "" {
		q.Ran(c.Ran)
	}
	return q
}

// pathsOf returns the paths by which a conversation can name a file: its own, from the top of
// its repository, and those that it had before it was renamed.
func pathsOf(env *cli.Env, name string) []string {
	abs := env.Abs(name)
	if !pathExists(abs) && !filepath.IsAbs(name) {
		return []string{name}
	}
	top := git.Top(filepath.Dir(abs))
	if git.Branch(top) == "" { // in no repository
		top = git.Top(env.Dir)
	}
	paths := []string{abs}
	if inside, err := filepath.Rel(top, abs); err == nil && filepath.IsLocal(inside) && strings.Contains(inside, "/") {
		paths = []string{inside} // in any of its worktrees
	}
	former, _ := git.PathsOf(filepath.Dir(abs), filepath.Base(abs), renamePatience) // none outside git
	for _, path := range former {
		if !strings.Contains(path, "/") { // or any file of that name would do
			path = filepath.Join(top, path)
		}
		paths = append(paths, path)
	}
	return paths
}

func conversationsOf(places []target) []conversation.Conversation {
	all := make([]conversation.Conversation, len(places))
	for i, at := range places {
		all[i] = at.conversation
	}
	return all
}

// titlesOf returns for each conversation what is searched besides what was said.
func titlesOf(env *cli.Env, places []target) []string {
	all := make([]string, len(places))
	for i, at := range places {
		s := cmp.Or(at.subagent, at.session)
		s.Clean(env.Redact) // another program may have written it
		all[i] = strings.Join(slices.DeleteFunc([]string{s.Title, s.Topic, s.Subject, s.WorkUnit, s.Branch, filepath.Base(s.CWD)},
			func(word string) bool { return word == "" || word == "." }), " · ")
	}
	return all
}

// bestOfEach returns the first of each session's hits. found has the best first.
func bestOfEach(places []target, found []search.Found) (best []search.Found) {
	seen := map[session.ID]bool{}
	for _, f := range found {
		if id := places[f.Index].session.ID; !seen[id] {
			seen[id] = true
			best = append(best, f)
		}
	}
	return best
}

type sought struct {
	found
	Chain   session.ID `json:"chain_id,omitempty"`
	Score   float64    `json:"score"`
	Missing []string   `json:"missing,omitempty"` // words that it does not have
	Read    string     `json:"read"`              // the command that prints the exchange
}

const maxPrinted = 1000 // how many columns of a line are printed without a terminal

// print prints the first c.Limit of best, a line each, and hints at what reads on.
func (c *seeking) print(env *cli.Env, q *search.Words, all catalog.Catalog, places []target, best []search.Found) error {
	out, style := bufio.NewWriter(env.Stdout), term.StyleFor(env.Stdout, env.Getenv)
	width, terminal, short := term.Width(env.Stdout, env.Getenv), term.IsTerminal(env.Stdout), all.IDShortener()
	more := 0
	if c.Limit > 0 && len(best) > c.Limit {
		best, more = best[:c.Limit], len(best)-c.Limit
	}
	for _, f := range best {
		at := places[f.Index]
		line := f.Lines[0]
		who := speaker(env, at.session, at.subagent, f.Hit)
		switch {
		case c.JSON:
			j := sought{newFound(at.session), at.session.ChainID, f.Score, f.Missing, readCommand(at, f.Turn, nil)}
			j.setLine(env, at.subagent, f.Hit, line)
			for _, p := range q.Places(line.Text) {
				j.Matches = append(j.Matches, line.Text[p[0]:p[1]])
			}
			if err := term.WriteJSON(out, j); err != nil {
				return err
			}
		case terminal:
			when := cmp.Or(f.Time, at.session.StartedAt)
			front := fmt.Sprintf("%-8s  %-12s %4d %-9s", short(at.readID()), term.FormatDay(when.Local(), env.Now()), f.Turn, term.Cut(who, 9))
			if width >= wide {
				front += " " + term.Pad(term.CutFront(term.Clean(at.session.Address()), maxActor), maxActor)
			}
			text := strings.TrimLeft(term.Clean(line.Text), " ")
			fmt.Fprintln(out, style.Dim(front)+" "+highlight(style, text, q.Places(text), max(width-term.Columns(front)-1, minText)))
		default:
			text := term.Clean(line.Text)
			text = highlight(term.Styled(false), text, q.Places(text), maxPrinted)
			fmt.Fprintln(out, strings.Join([]string{string(at.readID()), strconv.Itoa(f.Turn), who, formatUTC(f.Time), text}, "\t"))
		}
	}
	if err := out.Flush(); err != nil || c.JSON {
		return err
	}
	if more > 0 {
		env.Hint("the best %d of %s; -n 0 lists all", c.Limit, count.Plural(c.Limit+more, "session"))
	}
	env.Hint("%s reads on", readCommand(places[best[0].Index], best[0].Turn, short))
	return nil
}

// readID returns the id of the conversation, whose turns are counted.
func (at target) readID() session.ID { return cmp.Or(at.subagent, at.session).ID }

func readCommand(at target, turn int, short func(session.ID) string) string {
	id := string(at.readID())
	if short != nil {
		id = short(at.readID())
	}
	return fmt.Sprintf("gt-seance read %s --turns %d", id, max(turn, 1))
}
