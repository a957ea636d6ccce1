// Package mail is the gt-mail command: the notes that agents leave for each
// other and for themselves, and the work that is hooked to an agent.
package mail

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gt/lib/cli"
	hooks "gt/lib/client/hook"
	"gt/lib/client/registry"
	"gt/lib/place/home"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

const summary = `
Reads and writes the notes of an agent, and hooks work to it. Work that is
hooked is what the agent's next session starts on, without being asked.

  gt-mail                                        what waits for this agent
  gt-mail read 3f9a
  gt-mail send gastown/crew/max -s "Tests are red" -m "since 4f2c1"
  gt-mail hook --new -s "Port the parser" -m - <plan.md

The notes are a Maildir, which any mail reader opens: in a town the folder
mail/<address>, elsewhere mail in what gt keeps of the agent's own folder.
`

const exitCodes = `
   0  done
   1  no such note, or no such recipient
`

// Main runs gt-mail and returns its exit code.
func Main(env *cli.Env) int {
	hooks.AsStarted(env)
	return cli.Run(env, cli.Program{Name: "gt-mail", Summary: summary, Exits: exitCodes, Grammar: &grammar{}})
}

type grammar struct {
	cli.Flags
	Inbox  inbox  `cmd:"" default:"withargs" help:"List the notes that are hooked or unread (the default)."`
	Read   read   `cmd:"" help:"Print a note, and mark it as read."`
	Send   send   `cmd:"" help:"Leave a note for an agent."`
	Hook   hook   `cmd:"" help:"Make a note this agent's work, or write one that is."`
	Unhook unhook `cmd:"" help:"Take a note off this agent's work; it stays."`
	Done   done   `cmd:"" help:"Close a note: it is dealt with."`
}

// agent is who runs the command.
type agent struct {
	home home.Home
	box  mail.Box
}

func self(env *cli.Env) agent {
	h := home.Find(env.Getenv, env.Dir, "")
	if h.Ignored != "" {
		env.Warn("GT_ROLE '%s' is no address and was ignored", h.Ignored)
	}
	if h.Town.Unread != nil {
		env.Warn("%v", h.Town.Unread)
	}
	return agent{h, mail.Of(h, h.Identity.Address())}
}

// signed adds to a note who writes it, and in which session, and takes secrets
// out of it: a note is read by others, and kept.
func (a agent) signed(env *cli.Env, n mail.Note) mail.Note {
	n.From, n.Date = a.home.Identity.Address(), env.Now()
	n.Subject, n.Body = env.Redact(n.Subject), env.Redact(n.Body)
	store := session.Store{Home: a.home, Warn: func(err error) { env.Warn("%v", err) }}
	id := store.Current(env.Getenv, registry.SessionVars(), false)
	if id == "" {
		return n
	}
	n.Session = string(id)
	// A record that cannot be read costs the note its chain, no more.
	if r, err := store.Get(id); err == nil && r != nil {
		n.Chain = string(r.ChainID)
	}
	return n
}

// message is the text of a note as every command takes it.
type message struct {
	Subject string  `short:"s" placeholder:"TEXT" help:"What it is about, in a line."`
	Message *string `short:"m" placeholder:"TEXT" help:"What it says; - reads it from standard input."`
}

// body is the note's text: -m, or standard input where there is none and that
// is no terminal.
func (m message) body(env *cli.Env) (string, error) {
	if m.Message != nil && *m.Message != "-" {
		return *m.Message, nil
	}
	if m.Message == nil && term.IsTerminal(env.Stdin) {
		return "", cli.Fail(cli.Usage, errors.New("no message"),
			"give it with -m TEXT, or as standard input; -m '' sends the subject alone")
	}
	text, err := io.ReadAll(io.LimitReader(env.Stdin, mail.MaxBody+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the message: %w", err)
	}
	return string(text), nil
}

// checkSubject refuses what is no subject.
func (m message) checkSubject() error {
	if strings.TrimSpace(m.Subject) == "" {
		return cli.Failf(cli.Usage, "no subject: give it with -s TEXT")
	}
	return nil
}

// refused words why a note was not delivered: what is too large is the
// caller's to shorten.
func refused(err error) error {
	if errors.Is(err, mail.ErrTooLarge) {
		return cli.Fail(cli.Usage, err, "leave the text in a file and name the file in the note")
	}
	return err
}

// unfound gives an ID that names no note, or several, its exit code and its
// candidates.
func unfound(err error) error {
	var many *mail.Ambiguous
	switch {
	case errors.As(err, &many):
		err = cli.Fail(cli.No, err)
		for _, n := range many.Notes {
			err = cli.WithHint(err, "%s  %s", n.ID, n.Subject)
		}
	case errors.Is(err, mail.ErrNotFound):
		err = cli.Fail(cli.No, err, "gt-mail inbox --all lists every note")
	}
	return err
}

// say answers for a note that was changed: its ID and what became of it.
func say(env *cli.Env, asJSON bool, n mail.Note, format string, args ...any) error {
	n = n.Clean(env.Redact) // another program may have written it
	if asJSON {
		n.Body = ""
		return env.JSON(n)
	}
	_, err := fmt.Fprintf(env.Stdout, "%s  %s\n", n.ID, term.Clean(env.Redact(fmt.Sprintf(format, args...))))
	return err
}
