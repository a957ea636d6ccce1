package recordcmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/record"
	"gt/lib/text/count"
	"gt/lib/text/term"
	"gt/lib/view/transcript"
)

type show struct {
	ID    string `arg:"" help:"The record: its id, the agent's id of the session, or the beginning of either."`
	Tools bool   `help:"Tool calls and their results in full."`
	Steps bool   `help:"Only the steps that were noted, and how long each took."`
	JSON  bool   `name:"json" help:"The lines of the record, as they are."`
}

func (c *show) Run(env *cli.Env) error {
	s, err := findReadable(env, c.ID)
	if err != nil {
		return err
	}
	id := s.id
	if c.Steps {
		return showSteps(env, s.Store, id)
	}
	out := bufio.NewWriter(env.Stdout)
	if c.JSON {
		p := &recordPage{Page: transcript.Page{W: out}, raw: s.printLine}
		if _, err := s.ForEachLine(id, 0, p.putLine); err != nil {
			return err
		}
		return errors.Join(p.Err, out.Flush())
	}
	i, err := s.Info(id)
	if err != nil {
		return err
	}
	// The event logs here know nothing of a record that was copied from another host.
	topic := i.Title
	if s.host == "" {
		topic = topicsOf(env, []record.Info{i})(i)
	}
	clean := func(text string) string { return term.Clean(env.Redact(text)) }
	style := term.StyleFor(env.Stdout, env.Getenv)
	removed := ""
	if i.Gone != "" {
		removed = "it was " + string(i.Gone)
	}
	for _, fact := range [][2]string{
		{"record", string(i.ID)}, {"host", s.host}, {"session", i.Agent + " " + i.Session}, {"subagent of", i.Parent}, {"folder", i.CWD},
		{"started", term.FormatDay(i.Started, env.Now())}, {"last", term.FormatDay(i.Ended, env.Now())}, {"topic", topic},
		{"size", fmt.Sprintf("%s, %s", count.Plural(i.Messages, "message"), count.Plural(i.Events, "event"))},
		{"removed", removed},
	} {
		if fact[1] != "" {
			fmt.Fprintln(out, style.Dim(term.Pad(fact[0], 12))+clean(fact[1]))
		}
	}
	fmt.Fprintln(out)
	p := &recordPage{Page: transcript.Page{W: out, Style: style, Now: env.Now, Width: term.Width(env.Stdout, env.Getenv)}, env: env, agent: i.Agent, tools: c.Tools}
	if err := s.Lines(id, func(l record.Line) bool { p.putEntry(&l); return p.Err == nil }); err != nil {
		return err
	}
	return errors.Join(p.Err, out.Flush())
}

type tail struct {
	ID     string `arg:"" help:"The record: its id, the agent's id of the session, or the beginning of either."`
	Lines  int    `short:"n" default:"10" placeholder:"N" help:"Begin with the last N entries (default 10)."`
	Follow bool   `short:"f" help:"Go on as the record grows, until interrupted."`
	Tools  bool   `help:"Tool calls and their results in full."`
	JSON   bool   `name:"json" help:"The lines of the record, as they are."`
}

func (c *tail) Validate() error { return cli.CheckAtLeast("-n", c.Lines, 0) }

func (c *tail) Run(env *cli.Env) error {
	s, err := findReadable(env, c.ID)
	if err != nil {
		return err
	}
	id := s.id
	h, err := s.Head(id)
	if err != nil {
		return err
	}
	from, err := c.findStart(s.Store, id)
	if err != nil {
		return err
	}
	p := &recordPage{Page: transcript.Page{W: env.Stdout, Style: term.StyleFor(env.Stdout, env.Getenv), Now: env.Now, Width: term.Width(env.Stdout, env.Getenv)}, env: env, agent: h.Agent, tools: c.Tools}
	if c.JSON {
		p.raw = s.printLine
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(stop)
	const glance = 250 * time.Millisecond
	for {
		if from, err = s.ForEachLine(id, from, p.putLine); err != nil || p.Err != nil || !c.Follow {
			return errors.Join(err, p.Err)
		}
		select {
		case <-stop:
			return nil
		case <-time.After(glance):
		}
	}
}

// findStart returns the offset from which the record's last c.Lines entries follow. It reads the
// end of the record, and more of it as long as it has found too few.
func (c *tail) findStart(s record.Store, id record.ID) (int64, error) {
	size, err := s.Size(id)
	if err != nil {
		return 0, err
	}
	for back := int64(1 << 20); ; back *= 8 {
		at := max(size-back, 0)
		within := at > 0 // at may be in the middle of a line
		var begins []int64
		next, err := s.ForEachLine(id, at, func(line []byte, at int64) bool {
			switch {
			case within:
				within = false
			case c.JSON || isShown(line, c.Tools):
				if begins = append(begins, at); len(begins) > c.Lines {
					begins = begins[1:]
				}
			}
			return true
		})
		switch {
		case err != nil:
			return 0, err
		case at > 0 && len(begins) < c.Lines: // not enough entries yet
		case len(begins) > 0:
			return begins[0], nil
		default:
			return next, nil
		}
	}
}

func isShown(line []byte, tools bool) bool {
	p := &recordPage{Page: transcript.Page{W: io.Discard}, env: &cli.Env{}, tools: tools}
	p.putLine(line, 0)
	return p.Speaker != ""
}

func openRecord(env *cli.Env, name string) (record.Store, record.ID, error) {
	s, err := openStore(env)
	if err != nil {
		return s, "", err
	}
	id, err := findRecord(env, s, name)
	return s, id, err
}

type recordPage struct {
	transcript.Page
	env   *cli.Env
	agent string
	tools bool
	raw   func(out io.Writer, line []byte) error // nil: a page
}

// putLine prints a line of a record, and reports whether more can be printed.
func (p *recordPage) putLine(line []byte, _ int64) bool {
	if p.raw != nil {
		p.Err = p.raw(p.W, line)
	} else if l, err := record.Parse(line); err == nil {
		p.putEntry(&l)
	}
	return p.Err == nil
}

// putEntry prints a line of a record. Without tools, calls are one line each and results are left out.
func (p *recordPage) putEntry(l *record.Line) {
	text := strings.TrimSpace(term.CleanText(p.env.Redact(l.Text)))
	switch l.Kind {
	case record.Kind(conversation.Prompt):
		p.Turn++
		p.putMessage("you", p.Style.Cyan, l, text)
	case record.Kind(conversation.Reply):
		p.putMessage("you", p.Style.Cyan, l, text)
	case record.Kind(conversation.Message):
		p.putMessage("message from "+term.OneLine(term.Clean(p.env.Redact(l.Tool))), p.Style.Yellow, l, text)
	case record.Kind(conversation.Answer):
		p.putMessage(p.agent, p.Style.Green, l, text)
	case record.Kind(conversation.Summary):
		p.putMessage("summary", p.Style.Yellow, l, text)
	case record.Kind(conversation.Call):
		tool := term.Clean(p.env.Redact(l.Tool))
		if p.tools {
			if l.Target != "" && text == "" {
				text = term.CleanText(p.env.Redact(l.Target))
			}
			p.putMessage(transcript.Tool(tool), p.Style.Dim, l, text)
			return
		}
		if l.Target != "" {
			text = term.Clean(p.env.Redact(l.Target))
		}
		p.Called(p.agent, p.Style.Green, l.Time, tool, text)
	case record.Kind(conversation.Result):
		if p.tools {
			p.putMessage("result", p.Style.Dim, l, text)
		}
	case record.Rewritten:
		p.Note("the client has rewritten the lines above; the new ones follow")
	case record.StepBegun:
		p.Note("step " + term.Clean(p.env.Redact(l.Name)) + " begins")
	case record.StepDone:
		p.Note("step " + term.Clean(p.env.Redact(l.Name)) + " is done")
	case record.End:
		p.Note("the session ended" + term.Clean(p.env.Redact(reasonSuffix(l))))
	case record.Cleared:
		p.Note(count.PluralForm(len(l.Clear), "result was cleared", "results were cleared") + " that had been kept aside")
	case record.Forgotten, record.Pruned:
		if l.Gone != nil {
			p.Note(fmt.Sprintf("%s were %s on %s", count.Plural(l.Gone.Lines, "line"), l.Kind, term.FormatDay(l.Time, p.env.Now())))
		}
	}
}

func reasonSuffix(end *record.Line) string {
	if said := catalog.FormatReason(end.Cause); said != "" {
		return ": " + said
	}
	return ""
}

// putMessage prints a message, or only its heading if the record has no text of it.
func (p *recordPage) putMessage(who string, color func(string) string, l *record.Line, text string) {
	switch {
	case text != "":
		p.Say(who, color, l.Time, text)
	case l.Hidden != "":
		p.Head(who, color, l.Time)
	}
	if l.Hidden != "" {
		p.LeftOut(term.Clean(l.Hidden))
	}
}
