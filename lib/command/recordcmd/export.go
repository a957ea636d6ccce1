package recordcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"

	"gt/lib/cli"
	"gt/lib/record"
	"gt/lib/record/otlp"
	"gt/lib/state/session"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

type export struct {
	ID     string          `arg:"" optional:"" help:"The record."`
	Chain  string          `placeholder:"ID" help:"Those of all sessions of a chain, the oldest first: its id, or that of a session in it."`
	Format string          `enum:"s3,markdown,html,otlp" default:"s3" placeholder:"FORM" help:"s3 (default: one JSON file, see docs/record.md), markdown, html (one page, which loads nothing) or otlp (traces for OpenTelemetry, without a word of the conversation)."`
	Since  duration.Moment `placeholder:"WHEN" help:"Only what happened then or later: 24h, '2 weeks ago', yesterday, 2026-01-17, or a time in RFC 3339."`
	To     string          `placeholder:"ADDRESS" help:"With --format otlp: send it to the collector there (http://localhost:4318, https://collector.example.com/v1/traces), with the headers in OTEL_EXPORTER_OTLP_HEADERS."`

	Insecure bool `help:"With --to: allow http to another machine. Others can read it on the way."`
}

func (c *export) Validate() error {
	switch {
	case (c.ID == "") == (c.Chain == ""):
		return errors.New("give the id of a record, or --chain")
	case c.To != "" && c.Format != "otlp":
		return errors.New("--to needs --format otlp")
	case c.Insecure && c.To == "":
		return errors.New("--insecure needs --to")
	}
	return nil
}

// Run prints the records: as HTML or OTLP in one document, in other formats one after another.
func (c *export) Run(env *cli.Env) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	var ids []record.ID
	if c.Chain != "" {
		ids, err = inChain(env, s, c.Chain)
	} else {
		var from source
		from, err = findContinuable(env, c.ID)
		s, ids = from.Store, []record.ID{from.id}
	}
	if err != nil {
		return err
	}
	s.Since = c.Since.TimeBefore(env.Now())
	switch c.Format {
	case "otlp":
		return c.writeTraces(env, s, ids)
	case "html":
		return writeHTML(env, s, ids)
	}
	for i, id := range ids {
		if c.Format == "s3" {
			err = s.WriteS3(id, env.Stdout)
		} else {
			if i > 0 {
				fmt.Fprintln(env.Stdout)
			}
			err = writeMarkdown(env, s, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeTraces prints the records as one OTLP document, or with --to sends it once it is complete.
func (c *export) writeTraces(env *cli.Env, s record.Store, ids []record.ID) error {
	var body bytes.Buffer
	to := env.Stdout
	if c.To != "" {
		to = &body
	}
	w := otlp.NewWriter(to, Program().Name, cli.Number, func(text string) string { return term.Clean(env.Redact(text)) })
	for _, id := range ids {
		if err := w.Add(s, id); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil || c.To == "" {
		return err
	}
	return sendTraces(env, c.To, c.Insecure, body.Bytes())
}

// inChain returns the records of a chain, oldest first. name is its id, or that of a session in it.
func inChain(env *cli.Env, s record.Store, name string) (ids []record.ID, err error) {
	name = term.TrimEllipsis(name)
	all, err := listInfos(env, s)
	if err != nil {
		return nil, err
	}
	sessions := readLogged(env, all)
	chain, err := sessions.Chain(name)
	if err != nil {
		return nil, cli.Fail(cli.AnswerNo, err, "gt-seance chain shows the chains; a session that no event log knows is exported by its own id")
	}
	in := map[session.ID]bool{}
	for one := range sessions.Sessions() {
		if one.ChainID == chain || one.ID == chain {
			in[one.ID] = true
		}
	}
	for _, i := range slices.Backward(all) {
		if in[session.ID(i.Session)] && i.Gone == "" {
			ids = append(ids, i.ID)
		}
	}
	if len(ids) == 0 {
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("no session of the chain '%s' is recorded", chain), "gt-record sync takes one in by its id")
	}
	return ids, nil
}

func writeMarkdown(env *cli.Env, s record.Store, id record.ID) error {
	i, err := s.Info(id)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(env.Stdout)
	fmt.Fprintf(out, "# %s\n\n%s's session %s", escapeTags(term.Clean(env.Redact(i.Title))), i.Agent, inlineCode(i.Session))
	if i.CWD != "" {
		fmt.Fprintf(out, " in %s", inlineCode(i.CWD))
	}
	fmt.Fprintln(out)
	p := &markdownPage{env: env, w: out, agent: i.Agent}
	if err := s.Lines(id, func(l record.Line) bool { p.putEntry(&l); return p.err == nil }); err != nil {
		return err
	}
	return errors.Join(p.err, out.Flush())
}
