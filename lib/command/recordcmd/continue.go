package recordcmd

import (
	"bufio"
	"errors"
	"fmt"

	"gt/lib/cli"
	"gt/lib/record"
	"gt/lib/text/count"
	"gt/lib/text/frame"
	"gt/lib/text/term"
)

type continueCmd struct {
	ID   string `arg:"" optional:"" help:"The record (default: the latest of a session in this folder)."`
	JSON bool   `name:"json" help:"One JSON object, in the form of docs/record.md."`
}

// Run prints what a session knew: its messages and events with their times. It marks
// results that were cleared.
func (c *continueCmd) Run(env *cli.Env) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	var id record.ID
	if c.ID != "" {
		id, err = findUpdated(env, s, c.ID)
	} else {
		id, err = latestHere(env, s)
	}
	switch {
	case err != nil:
		return err
	case id == "":
		env.Hint("no session is recorded here: this one starts fresh")
		return nil
	case c.JSON:
		return s.WriteS3(id, env.Stdout)
	}
	i, err := s.Info(id)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(env.Stdout)
	clean := func(text string) string { return frame.Line(env.Redact(text)) }
	fmt.Fprintf(out, "# %s, %s's session %s, from %s to %s\n\n## Messages\n", i.ID, clean(i.Agent), clean(i.Session), formatTime(i.Started), formatTime(i.Ended))
	if err := s.Messages(id, func(m record.Message) error {
		_, err := fmt.Fprintf(out, "\n[%s] %s:\n%s\n", formatTime(m.Time), m.Role, frame.WrapText(m.Role, env.Redact(m.Content)))
		return err
	}); err != nil {
		return err
	}
	fmt.Fprint(out, "\n## Events\n\n")
	if err := s.Events(id, func(h record.Event) error {
		_, err := fmt.Fprintf(out, "[%s] %s\n", formatTime(h.Time), clean(eventLine(h)))
		return err
	}); err != nil {
		return err
	}
	all, err := s.ContextsOf(id)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		fmt.Fprint(out, "\n## Results that were kept aside\n\n")
	}
	for _, c := range all {
		state := "there: gt-record context get " + c.Ref
		if _, err := s.ReadContext(c); errors.Is(err, record.ErrCleared) {
			state = "gone: run the tool again if it is needed"
		} else if err != nil {
			state = err.Error()
		}
		fmt.Fprintf(out, "%s, %s, %s\n", c.Ref, term.FormatSize(c.Size), clean(state))
	}
	return out.Flush()
}

// eventLine describes an event of the record in one line.
func eventLine(h record.Event) string {
	line := h.Type
	ms := func(label string, n *int64) {
		if n != nil {
			line += fmt.Sprintf(" %s %d ms", label, *n)
		}
	}
	switch h.Type {
	case record.LLMCall:
		line += " " + h.Model
		if h.Usage != nil {
			line += fmt.Sprintf(" prompt %d, completion %d tokens", h.Usage.Prompt, h.Usage.Completion)
		}
		ms("latency", h.LatencyMs)
	case record.ToolCall:
		const most = 120
		line += " " + h.Name + ": " + term.Cut(term.OneLine(h.Args), most)
		switch {
		case h.Success == nil:
			line += " (no result)"
		case *h.Success:
			line += " (worked)"
		default:
			line += " (failed)"
		}
		ms("in", h.DurationMs)
	case record.Error, record.Commit:
		const most = 200
		line += " " + h.Name + ": " + term.Cut(term.OneLine(h.Message), most)
	default: // a step has a name, an end a reason
		line += " " + h.Name + h.Reason
		ms("after", h.DurationMs)
	}
	return line
}

// latestHere returns the record of this folder that ended last, or "". It skips subagents.
func latestHere(env *cli.Env, s record.Store) (record.ID, error) {
	all, err := listInfos(env, s)
	if err != nil {
		return "", err
	}
	var found record.Info
	for _, i := range all {
		if i.CWD == env.Dir && i.Gone == "" && i.Parent == "" && (found.ID == "" || i.Ended.After(found.Ended)) {
			found = i
		}
	}
	return found.ID, nil
}

type contexts struct {
	List  contextList  `cmd:"" help:"List the results that were kept aside of a session, and which are gone."`
	Get   contextGet   `cmd:"" help:"Print a result that is kept aside."`
	Clear contextClear `cmd:"" help:"Remove what is kept aside of a session, and of no other."`
}

type contextList struct {
	ID   string `arg:"" help:"The record."`
	JSON bool   `name:"json" help:"One JSON object per line."`
}

func (c *contextList) Run(env *cli.Env) error {
	s, id, err := openRecord(env, c.ID)
	if err != nil {
		return err
	}
	all, err := s.ContextsOf(id)
	if err != nil {
		return err
	}
	rows := [][]string{{"SIZE", "STATE", "REFERENCE"}}
	for _, a := range all {
		state := "there"
		if _, err := s.ReadContext(a); errors.Is(err, record.ErrCleared) {
			state = "cleared"
		} else if err != nil {
			state = "damaged"
		}
		if c.JSON {
			if err := env.JSON(struct {
				record.Context
				State string `json:"state"`
			}{a, state}); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{term.FormatSize(a.Size), state, a.Ref})
	}
	if c.JSON || len(all) == 0 {
		return nil
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil)
}

type contextGet struct {
	Ref string `arg:"" help:"The file's name, as the record has it."`
}

func (c *contextGet) Run(env *cli.Env) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	id, err := record.IDOfContext(c.Ref)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	all, err := s.ContextsOf(id)
	if err != nil {
		return cli.Fail(cli.AnswerNo, err)
	}
	for _, a := range all {
		if a.Ref != c.Ref {
			continue
		}
		text, err := s.ReadContext(a)
		if errors.Is(err, record.ErrCleared) {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' was cleared", c.Ref), "the record has the first and the last 4 KB of it; run the tool again if it is needed")
		} else if err != nil {
			return err
		}
		if term.IsTerminal(env.Stdout) {
			text = term.CleanText(text)
		}
		return env.Print(env.Redact(text))
	}
	return cli.Failf(cli.AnswerNo, "the record '%s' has no '%s'", id, c.Ref)
}

type contextClear struct {
	ID string `arg:"" help:"The record."`
}

func (c *contextClear) Run(env *cli.Env) error {
	s, id, err := openRecord(env, c.ID)
	if err != nil {
		return err
	}
	gone, err := s.ClearContexts(id, env.Now())
	if err != nil {
		return err
	}
	return env.Printf("%s cleared\n", count.Plural(len(gone), "result"))
}
