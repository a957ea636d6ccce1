package seancecmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/launch/entries"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/term"
	"gt/lib/view/transcript"
)

type turns struct{ from, to int }

// UnmarshalText parses a range of turns. In "3-" to is 0, which is no limit.
func (t *turns) UnmarshalText(text []byte) error {
	word := string(text)
	a, b, several := strings.Cut(word, "-")
	number := func(s string, none int) int {
		if s == "" {
			return none
		}
		if n, err := strconv.Atoi(s); err == nil && n > 0 {
			return n
		}
		return -1 // invalid
	}
	*t = turns{number(a, 1), number(b, 0)}
	if !several {
		t.to = t.from
	}
	if t.from < 0 || t.to < 0 || word == "" || word == "-" || t.to != 0 && t.to < t.from {
		return fmt.Errorf("invalid turns '%s' (try 3, 3-7, 3- or -7)", word)
	}
	return nil
}

type read struct {
	ID    string `arg:"" optional:"" help:"The session, by its id or the beginning of it."`
	Turns turns  `placeholder:"A-B" xor:"part" help:"Only these turns: 3, 3-7, 3- or -7. A turn begins with what the person asked."`
	Last  int    `placeholder:"N" xor:"part" help:"Only the last N turns."`
	Chain string `placeholder:"ID" xor:"what" help:"All sessions of this chain, from the beginning."`
	Work  string `placeholder:"UNIT" xor:"what" help:"All sessions that worked on this task, from the beginning."`
	Tools bool   `help:"Tool calls and their results in full."`
	Think bool   `help:"The agent's thoughts, too."`
	JSON  bool   `name:"json" help:"One JSON object per line, with everything."`
}

func (c *read) Validate() error {
	switch {
	case (c.ID != "") == (c.Chain+c.Work != ""):
		return errors.New("give a session's id, --chain or --work")
	case c.Last < 0:
		return errors.New("--last needs a number of at least 1")
	}
	return nil
}

// Run prints conversations. If one of several cannot be read, it warns and goes on.
func (c *read) Run(env *cli.Env) error {
	found, all, err := c.sessions(env)
	if err != nil {
		return err
	}
	out, own := bufio.NewWriter(env.Stdout), newStoreGuard(env)
	for i, s := range found {
		f, err := transcriptOf(env, own, s)
		if err != nil {
			if len(found) == 1 {
				return err
			}
			env.WarnError(err)
			continue
		}
		hintCopied(env, s)
		from, to := max(c.Turns.from, 1), c.Turns.to
		if c.Last > 0 {
			n, err := turnsIn(f)
			if err != nil {
				return err
			}
			from = max(n-c.Last+1, 1)
		}
		if origin := all.ExternalFork(s); origin != nil && from == 1 && c.Last == 0 {
			env.Hint("it continues session %s; gt-seance read %s prints the conversation before", origin.ID, origin.ID)
		}
		p := c.page(env, s, out)
		if len(found) > 1 && !c.JSON {
			if i > 0 {
				fmt.Fprintln(out)
			}
			fmt.Fprintln(out, p.Style.Bold(term.Clean(env.Redact(heading(s, env.Now())))))
		}
		if _, err = p.printTurns(f, conversation.Options{}, from, to); err != nil {
			return err
		}
		env.WarnError(scan.CheckRead(s.ID, f))
		if len(found) == 1 && from > max(p.Turn, 1) { // no such turn, so nothing was printed
			return cli.Failf(cli.AnswerNo, "session '%s' has %s", s.ID, count.Plural(p.Turn, "turn"))
		}
	}
	return out.Flush()
}

// sessions returns the session, or those of the chain or task, oldest first, and the catalog.
func (c *read) sessions(env *cli.Env) (found []*catalog.Session, all catalog.Catalog, err error) {
	if c.ID != "" {
		s, all, err := findSession(env, c.ID)
		return []*catalog.Session{s}, all, err
	}
	those := selection{Chain: c.Chain, Work: c.Work}
	all, f, err := those.openCatalog(env)
	if err == nil {
		found, err = selectOldest(env, all, f, func(*catalog.Session) bool { return true })
	}
	return found, all, err
}

func heading(s *catalog.Session, now time.Time) string {
	parts := []string{"=== " + string(s.ID), s.Agent, s.Actor, term.FormatDay(s.StartedAt, now)}
	return term.OneLine(strings.Join(parts, " ")) + " ==="
}

// turnsIn counts the prompts of a conversation. It skips all other records, which is much faster.
func turnsIn(f conversation.File) (n int, err error) {
	_, err = conversation.ReadAll(scan.ReaderOf(f.Client), f, conversation.Options{Skip: func([]byte) bool { return true }}, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			n++
		}
		return true
	})
	return n, err
}

// transcriptOf returns the file of a session's conversation, or why it cannot be read.
func transcriptOf(env *cli.Env, guard account.StoreGuard, s *catalog.Session) (conversation.File, error) {
	switch f, err := s.Conversation(guard); {
	case s.IsForeign() && f.Path == "":
		return f, checkLocal(s)
	case err != nil:
		return f, foreignStoreError(env, s, err)
	case f.Path != "" && scan.ReaderOf(f.Client) != nil:
		return f, nil
	case s.Agent != "" && readers.FindReader(s.Agent) == nil:
		return f, cli.Fail(cli.AnswerNo, fmt.Errorf("cannot read session '%s': gt does not know the format of %s's conversations", s.ID, term.Clean(s.Agent)))
	default:
		return f, cli.Fail(cli.AnswerNo, fmt.Errorf("session '%s' has left no conversation here", s.ID),
			"the client may have removed it, or it ran on another machine")
	}
}

func (c *read) page(env *cli.Env, s *catalog.Session, w io.Writer) *page {
	return &page{
		Page: transcript.Page{W: w, Style: term.StyleFor(env.Stdout, env.Getenv), Now: env.Now, Numbered: true, Width: term.Width(env.Stdout, env.Getenv)},
		env:  env, session: s, tools: c.Tools, think: c.Think, json: c.JSON,
	}
}

type page struct {
	transcript.Page
	env                *cli.Env
	session            *catalog.Session
	tools, think, json bool
}

// printTurns prints a range of turns, and returns the offset at which the next call goes on. A to
// of 0 is no limit. What comes before the first prompt is printed with turn 1.
func (p *page) printTurns(f conversation.File, o conversation.Options, from, to int) (int64, error) {
	next, err := conversation.ReadAll(scan.ReaderOf(f.Client), f, o, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			p.Turn++
		}
		if to > 0 && p.Turn > to {
			return false
		}
		if p.Turn >= from || p.Turn == 0 && from == 1 {
			p.printEntry(e)
		}
		return p.Err == nil
	})
	if p.Err != nil {
		return next, p.Err
	}
	return next, err
}

type passage struct {
	Session string              `json:"session_id"`
	Turn    int                 `json:"turn"`
	Kind    conversation.Kind   `json:"kind"`
	ID      string              `json:"id,omitempty"` // of a Spent entry, to count repeated ones once
	Time    time.Time           `json:"time,omitzero"`
	Model   string              `json:"model,omitempty"`
	Tool    string              `json:"tool,omitempty"`
	Text    string              `json:"text,omitempty"`
	Usage   *conversation.Usage `json:"usage,omitempty"`
}

// printEntry prints an entry: all as JSON, as text only what the flags ask for. The error is in p.Err.
func (p *page) printEntry(e conversation.Entry) {
	clean := func(s string) string { return p.env.Redact(s) }
	if p.json {
		j := passage{string(p.session.ID), p.Turn, e.Kind, clean(e.ID), e.Time, clean(e.Model), clean(e.Tool), clean(e.Text), nil}
		if e.Kind == conversation.TokenUsage {
			j.Usage = &e.Usage
		}
		p.Err = term.WriteJSON(p.W, j)
		return
	}
	text := strings.TrimSpace(term.CleanText(clean(e.Text)))
	if text == "" && e.Kind != conversation.Call {
		return
	}
	agent := term.Clean(clean(p.session.Agent))
	switch e.Kind {
	case conversation.Prompt, conversation.Reply:
		p.Say("you", p.Style.Cyan, e.Time, text)
	case conversation.Message:
		p.Say("message from "+term.OneLine(term.Clean(clean(e.Tool))), p.Style.Yellow, e.Time, text)
	case conversation.Answer:
		p.Say(agent, p.Style.Green, e.Time, text)
	case conversation.Summary:
		p.Say("summary", p.Style.Yellow, e.Time, text)
	case conversation.Thought:
		if p.think {
			p.Say(agent+" thinks", p.Style.Dim, e.Time, text)
		}
	case conversation.Call:
		tool := term.Clean(clean(e.Tool))
		if p.tools {
			p.Say(transcript.Tool(tool), p.Style.Dim, e.Time, text)
			break
		}
		p.Called(agent, p.Style.Green, e.Time, tool, gist(text))
	case conversation.Result:
		if p.tools {
			p.Say("result", p.Style.Dim, e.Time, text)
		}
	}
}

// gist returns the first of a call's arguments, such as the command or the file. Several
// arguments are lines that begin with "name: ".
func gist(text string) string {
	name, value, ok := strings.Cut(text, ": ")
	if !ok || !isName(name) {
		return text
	}
	for at := 0; ; {
		i := strings.IndexByte(value[at:], '\n')
		if i < 0 {
			return text // the only argument, without a name
		}
		at += i + 1
		if next, _, ok := strings.Cut(value[at:], ": "); ok && isName(next) {
			return value[:at]
		}
	}
}

func isName(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// entriesOf reads a conversation for programs that run in hooks and therefore link no
// database (lib/launch/entries).
type entriesOf struct {
	Client string `arg:"" help:"Whose conversation it is."`
	ID     string `arg:"" help:"The session."`
	Path   string `help:"The database." placeholder:"FILE"`
	Store  string `help:"The folder that the database is of." placeholder:"DIR"`
	From   int64  `help:"Where the page before ended."`
}

func (c *entriesOf) Run(env *cli.Env) error {
	id, err := session.ParseID(c.ID)
	if err != nil {
		return err
	}
	r := readers.FindReader(c.Client)
	if r == nil {
		return cli.Failf(cli.AnswerNo, "gt reads no conversations of '%s'", c.Client)
	}
	page, err := entries.ReadPage(r, conversation.File{Client: c.Client, Store: c.Store, Path: c.Path, ID: id}, c.From, env.Redact)
	if err != nil {
		return err
	}
	return env.JSON(page)
}
