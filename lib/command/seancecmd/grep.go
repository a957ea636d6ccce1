package seancecmd

import (
	"bufio"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/catalog"
	"gt/lib/catalog/search"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/fold"
	"gt/lib/text/term"
	"gt/lib/view/transcript"
)

type grep struct {
	Pattern string `arg:"" help:"A regular expression (RE2), which must match within a line."`
	Fixed   bool   `short:"F" name:"fixed-strings" xor:"how" help:"PATTERN is plain text, not a regular expression."`
	Regexp  bool   `short:"E" xor:"how" help:"PATTERN is a regular expression (the default)."`
	Fold    bool   `short:"i" name:"ignore-case" help:"Ignore case."`
	Tools   bool   `help:"Also search tool calls, their results, and thoughts."`
	After   int    `short:"A" name:"after-context" placeholder:"N" help:"Print N lines after each match."`
	Before  int    `short:"B" name:"before-context" placeholder:"N" help:"Print N lines before each match."`
	Context int    `short:"C" placeholder:"N" help:"Print N lines before and after each match."`
	List    bool   `short:"l" name:"list" xor:"form" help:"Print only the ids of the sessions."`
	Count   bool   `short:"c" xor:"form" help:"Print only the number of matching lines of each session that has any."`
	Color   string `enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Highlight matches: auto (on a terminal), always, never."`
	JSON    bool   `name:"json" help:"One JSON object per matching line."`
	Width   int    `hidden:"" help:"For gt-seance mcp: cut a longer line around its match, without a terminal too."`

	selection
}

func (c *grep) Validate() error {
	if c.After < 0 || c.Before < 0 || c.Context < 0 {
		return fmt.Errorf("-A, -B and -C need a number of at least 0")
	}
	return nil
}

// Run prints matches as it finds them. If there are none, it hints at flags that find some.
func (c *grep) Run(env *cli.Env) error {
	query, err := search.New(c.Pattern, c.Fixed, c.Fold)
	if err != nil {
		return cli.Fail(cli.Usage, fmt.Errorf("invalid pattern: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: ")), "-F treats the pattern as plain text")
	}
	query.Tools, query.First = c.Tools, c.List
	query.Clean = func(s string) string { return env.Text(s) }
	if !c.List && !c.Count {
		query.Before, query.After = max(c.Before, c.Context), max(c.After, c.Context)
	}
	all, places, err := c.findTargets(env)
	if err != nil {
		return err
	}
	defer c.hintDeleted(env, all, func(prompt string) bool {
		return slices.ContainsFunc(strings.Split(fold.Name(prompt), "\n"), query.Pattern.MatchString)
	})
	if len(places) == 0 {
		return cli.Silent
	}
	p := c.printer(env, query, all)
	defer p.bar.Finish()
	failed := query.Search(conversationsOf(places), func(i int, h search.Hit) bool {
		p.bar.Finish()
		p.hit(places[i], h)
		_, err := p.out.Write(nil) // the error of an earlier write
		return err == nil
	}, func(done, total int64) {
		p.out.Flush()
		p.bar.Show(done, total)
	})
	p.printCount()
	if err := p.out.Flush(); err != nil {
		return err
	}
	switch {
	case failed != nil && p.session == nil:
		return failed
	case failed != nil:
		env.WarnError(failed)
	case p.session == nil:
		c.hintOther(env, places)
		return cli.Silent
	}
	return nil
}

const maxRetried = 1 << 30 // the number of bytes of conversations that are searched in another way

// hintOther hints at the flag or command that finds what was not found.
func (c *grep) hintOther(env *cli.Env, places []target) {
	var size int64
	for i, at := range places {
		if size += at.conversation.File.Size; size > maxRetried {
			places = places[:i] // the newest
			break
		}
	}
	searched := conversationsOf(places)
	isRegexp := !c.Fixed && regexp.QuoteMeta(c.Pattern) != c.Pattern
	for _, o := range []struct {
		flags              string
		fixed, fold, tools bool
		wanted             bool
	}{
		{"-i", c.Fixed, true, c.Tools, !c.Fold},
		{"--tools", c.Fixed, c.Fold, true, !c.Tools},
		{"-F", true, c.Fold, c.Tools, isRegexp},
		{"-i --tools", c.Fixed, true, true, !c.Fold && !c.Tools},
		{"-F -i --tools", true, true, true, isRegexp && !(c.Fold && c.Tools)},
	} {
		q, err := search.New(c.Pattern, o.fixed, o.fold)
		if !o.wanted || err != nil {
			continue
		}
		there := false
		q.Tools, q.First, q.Clean = o.tools, true, func(s string) string { return env.Text(s) }
		_ = q.Search(searched, func(int, search.Hit) bool { there = true; return false }, func(int64, int64) {}) // errors were reported
		if there {
			env.Hint("%s finds it", o.flags)
			return
		}
	}
	words := seeking{Words: []string{c.Pattern}}
	if found, _, _ := words.query(env).SearchExact(searched, titlesOf(env, places), func(int64, int64) {}); len(found) > 0 {
		env.Hint("gt-seance search finds its words")
	}
}

// target is a conversation and the session under which its hits are listed. For a
// subagent's conversation that is the parent.
type target struct {
	session      *catalog.Session
	subagent     *catalog.Session // nil for the session's own conversation
	conversation conversation.Conversation
}

// findTargets returns the conversations of the selected sessions, newest first, each followed by
// those of its subagents. A subagent whose parent is gone is listed as a session. It warns of
// conversations that only a log attributes to the person, and leaves them out.
func (c *selection) findTargets(env *cli.Env) (all catalog.Catalog, found []target, err error) {
	all, f, err := c.openCatalog(env)
	if err != nil {
		return all, nil, err
	}
	ours := newStoreGuard(env)
	var lost conversation.ReadErrors
	take := func(owner, s, subagent *catalog.Session) {
		file, err := s.Conversation(ours)
		lost.Add(err)
		if file.Path != "" {
			found = append(found, target{owner, subagent, conversation.Conversation{
				File: file, Metadata: conversation.Metadata{ID: s.ID, ForkOf: s.ForkOf, Started: s.StartedAt},
			}})
		}
	}
	var fit []*catalog.Session
	below := map[session.ID]bool{}
	withSubagents := f // all subagents, because one without a parent is listed anyway
	withSubagents.Subagents = true
	for s := range all.MatchingSessions(withSubagents) {
		if s.SubagentOf != "" && !f.Subagents && !all.IsOrphan(s) {
			continue
		}
		workers := all.Subagents(s.ID)
		for _, sub := range workers {
			below[sub.ID] = true
		}
		if at, err := s.Conversation(ours); err != nil || at.Path != "" || len(workers) > 0 {
			fit = append(fit, s)
		}
	}
	for _, s := range fit {
		if below[s.ID] {
			continue // comes with its parent
		}
		take(s, s, nil)
		for _, sub := range all.Subagents(s.ID) {
			take(s, sub, sub)
		}
	}
	warnUnread(env, all)
	env.WarnError(lost.Err())
	if all.CountSessions() == 0 {
		env.Hint(noSessions)
	}
	return all, found, nil
}

type printer struct {
	*grep
	env      *cli.Env
	query    *search.Query
	out      *bufio.Writer
	bar      *term.Progress
	style    term.Style
	terminal bool
	width    int
	short    func(session.ID) string

	session  *catalog.Session // of the latest hit
	subagent *catalog.Session
	count    int // matching lines of the session
	lines    int // printed lines of the session
	headings int
}

func (c *grep) printer(env *cli.Env, q *search.Query, all catalog.Catalog) *printer {
	p := &printer{
		grep: c, env: env, query: q, out: bufio.NewWriterSize(env.Stdout, 64<<10),
		bar:   term.NewProgress(env.Stderr, env.Getenv, "searching", env.Now),
		style: term.StyleFor(env.Stdout, env.Getenv), terminal: term.IsTerminal(env.Stdout),
	}
	if c.Color != "auto" {
		p.style = term.Styled(c.Color == "always")
	}
	if p.terminal && !c.JSON {
		p.width, p.short = term.Width(env.Stdout, env.Getenv), all.IDShortener()
	}
	return p
}

// hit prints a hit. A session's hits come in a row, below its heading and before its count.
func (p *printer) hit(at target, h search.Hit) {
	if at.session != p.session {
		p.printCount()
		at.session.Clean(p.env.Redact) // another program may have written it
		p.session, p.subagent, p.count, p.lines = at.session, nil, 0, 0
		switch {
		case p.List:
			if p.JSON {
				term.WriteJSON(p.out, newFound(p.session))
			} else {
				p.out.WriteString(string(at.session.ID) + "\n")
			}
		case p.terminal && !p.JSON && !p.Count:
			p.heading()
		}
	}
	for _, l := range h.Lines {
		if l.Match {
			p.count++
		}
	}
	if p.List || p.Count {
		return
	}
	if at.subagent != p.subagent {
		p.lines = 0
		if p.subagent = at.subagent; p.subagent != nil {
			p.subagent.Clean(p.env.Redact)
			if p.terminal && !p.JSON {
				p.out.WriteString(p.style.Dim(term.Cut(term.Clean("subagent "+p.short(p.subagent.ID)+"  "+p.subagent.Headline()), p.width)) + "\n")
			}
		}
	}
	if p.JSON {
		for _, l := range h.Lines {
			f := newFound(p.session)
			f.setLine(p.env, p.subagent, h, l)
			if l.Match {
				f.Matches = p.query.Pattern.FindAllString(l.Text, -1)
			}
			term.WriteJSON(p.out, f)
		}
		return
	}
	for i, l := range h.Lines {
		if apart := i == 0 || l.Number > h.Lines[i-1].Number+1; apart && p.lines > 0 && p.query.Before+p.query.After > 0 {
			p.out.WriteString(p.style.Dim("--") + "\n")
		}
		p.lines++
		p.text(h, l)
	}
}

// printCount prints the number of matching lines of the latest session, for --count.
func (p *printer) printCount() {
	if p.session == nil || !p.Count {
		return
	}
	if p.JSON {
		f := newFound(p.session)
		f.Count = p.count
		term.WriteJSON(p.out, f)
		return
	}
	p.out.WriteString(string(p.session.ID) + "\t" + strconv.Itoa(p.count) + "\n")
}

func (p *printer) heading() {
	s := p.session
	gap := "\n"
	if p.headings++; p.headings == 1 {
		gap = ""
	}
	id := p.short(s.ID)
	rest := strings.Join(slices.DeleteFunc([]string{term.Clean(s.Agent), term.Clean(s.Address()), term.FormatDay(s.StartedAt.Local(), p.env.Now()), term.Clean(s.Headline())},
		func(word string) bool { return word == "" }), "  ")
	p.out.WriteString(gap + p.style.Bold(p.style.Cyan(id)) + p.style.Bold(term.Cut("  "+rest, max(p.width-len(id), 1))) + "\n")
}

// text prints a line, in columns on a terminal and separated by tabs elsewhere.
func (p *printer) text(h search.Hit, l search.Line) {
	mark := ":"
	if !l.Match {
		mark = "-"
	}
	speaker := speaker(p.env, p.session, p.subagent, h)
	if !p.terminal {
		turn := strconv.Itoa(h.Turn)
		if !l.Match {
			turn += "-"
		}
		p.out.WriteString(strings.Join([]string{string(cmp.Or(p.subagent, p.session).ID), turn, speaker, formatUTC(h.Time), p.marked(l, l.Text, p.Width)}, "\t") + "\n")
		return
	}
	when := "     "
	switch {
	case h.Time.IsZero():
	case p.width >= wide:
		when = h.Time.Local().Format("2006-01-02 15:04")
	default:
		when = h.Time.Local().Format("15:04")
	}
	front := fmt.Sprintf("%4d %-9s %s%s ", h.Turn, term.Cut(speaker, 9), when, mark)
	p.out.WriteString(p.style.Dim(front) + p.marked(l, term.Clean(l.Text), max(p.width-len([]rune(front)), minText)) + "\n")
}

const minText = 20 // the smallest width of a text, in columns

// speaker returns a hit's speaker for a column. A tool named like another speaker gets a mark.
func speaker(env *cli.Env, s, subagent *catalog.Session, h search.Hit) string {
	agent := term.Clean(s.Agent)
	if subagent != nil {
		agent = "subagent"
	}
	switch h.Kind {
	case conversation.Prompt, conversation.Reply:
		if subagent != nil {
			return "task"
		}
		return "you"
	case conversation.Message:
		return "message"
	case conversation.Answer, conversation.Thought:
		return agent
	case conversation.Call:
		tool := term.Cut(term.Clean(env.Redact(h.Tool)), maxActor)
		if tool == "you" || tool == "task" || tool == agent {
			tool = transcript.Tool(tool)
		}
		return tool
	}
	return string(h.Kind)
}

// marked returns a line with its matches highlighted, cut around the first match to width
// columns; 0 is no limit.
func (p *printer) marked(l search.Line, text string, width int) string {
	var spans [][]int
	if l.Match && len(text) == len(l.Text) {
		spans = p.query.Pattern.FindAllStringIndex(l.Text, -1) // text has the same byte offsets
	}
	return highlight(p.style, text, spans, width)
}

// highlight highlights places in a text and cuts it around the first to width columns; 0 is no limit.
func highlight(style term.Style, text string, spans [][]int, width int) string {
	shift, end := 0, len(text)
	if width > 0 {
		begin := 0
		if len(spans) > 0 {
			begin = spans[0][0]
		}
		// If the line must be cut, a third of the width goes to the text before the match.
		if cut := term.Cut(text, width); cut != text && len(term.Cut(text, width*2/3)) < begin {
			front := term.CutFront(text[:begin], width/3)
			shift = len(front) - begin
			text = front + text[begin:]
		}
		cut := term.Cut(text, width)
		if end = len(cut); cut != text {
			end -= len("…")
		}
		text = cut
	}
	var b strings.Builder
	written := 0
	for _, s := range spans {
		from, to := s[0]+shift, min(s[1]+shift, end)
		if from >= to || from < written {
			continue
		}
		b.WriteString(text[written:from])
		b.WriteString(style.Match(text[from:to]))
		written = to
	}
	return b.String() + text[written:]
}

type found struct {
	Session  string            `json:"session_id"`
	Subagent string            `json:"subagent_id,omitempty"`
	Agent    string            `json:"agent,omitempty"`
	CWD      string            `json:"cwd,omitempty"`
	Title    string            `json:"title,omitempty"`
	Host     string            `json:"host,omitempty"` // another one, of whose record it is a copy
	Turn     *int              `json:"turn,omitempty"`
	Kind     conversation.Kind `json:"kind,omitempty"`
	Tool     string            `json:"tool,omitempty"`
	Time     time.Time         `json:"time,omitzero"`
	Line     int               `json:"line,omitempty"` // of the text, from 1
	Text     *string           `json:"text,omitempty"`
	Matches  []string          `json:"matches,omitempty"` // empty for a line of context
	Count    int               `json:"count,omitempty"`
}

func newFound(s *catalog.Session) found {
	host, _ := s.Copied()
	return found{Session: string(s.ID), Agent: s.Agent, CWD: s.CWD, Title: s.Title, Host: host}
}

// setLine adds what is known of a line of a hit.
func (f *found) setLine(env *cli.Env, subagent *catalog.Session, h search.Hit, l search.Line) {
	f.Turn, f.Kind, f.Tool, f.Time, f.Line, f.Text = &h.Turn, h.Kind, env.Redact(h.Tool), h.Time, l.Number, &l.Text
	if subagent != nil {
		f.Subagent = string(subagent.ID)
	}
}

// formatUTC returns a time as other programs read it, "" for none.
func formatUTC(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
