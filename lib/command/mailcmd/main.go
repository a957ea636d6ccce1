// Package mailcmd is the gt-mail command: the notes that agents leave for each other and
// for themselves, and the work that is given to an agent.
package mailcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/names"
	"gt/lib/client/startenv"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

const summary = `
Reads and writes the notes that sessions leave for each other, and gives a
session work. The next session starts on such work without being asked.

  gt-mail                                        what waits for this agent
  gt-mail read 3f9a
  gt-mail send ~/src/api -s "Tests are red" -m "since 4f2c1"
  gt-mail hook --new -s "Port the parser" -m - <plan.md

The notes are a Maildir in gt's state folder, which any mail reader can open.
`

const exitCodes = `
   0  done
   1  no such note, recipient or template
`

func Program() cli.Program {
	return cli.Program{Name: "gt-mail", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}, NotHook: true, UnusedGroups: town.UnusedHelp}
}

type grammar struct {
	cli.Flags
	Inbox  inbox   `cmd:"" default:"withargs" help:"List the notes that are given as work or unread (the default)."`
	Read   readCmd `cmd:"" help:"Print a note, and mark it as read."`
	Send   send    `cmd:"" help:"Leave a note for an agent."`
	Hook   hook    `cmd:"" help:"Make a note this agent's work, or write a new one."`
	Unhook unhook  `cmd:"" help:"Take a note off this agent's work; the note stays."`
	Rule   rule    `cmd:"" help:"List, add or drop the rules that every later session of this work is told."`
	Done   doneCmd `cmd:"" help:"Close a note that is dealt with."`
	Outbox outbox  `cmd:"" help:"List what waits to be sent to other hosts, or was refused there, the oldest first."`
	Unsend unsend  `cmd:"" help:"Take back what waits to be sent to another host, or remove what was refused."`
	Work   workCmd `cmd:"" help:"Work for any session of a template." group:"Sessions of templates:"`
}

type agent struct {
	home home.Home
	box  mail.Box
	id   session.ID // "" for a person
}

// currentAgent returns who runs this command. An agent's box hides notes for others of its folder.
func currentAgent(env *cli.Env) agent {
	h := home.Find(env.Getenv, env.Dir, "")
	if h.Ignored != "" {
		env.Warn("GT_ROLE '%s' is not an address and was ignored", h.Ignored)
	}
	env.WarnError(h.Town.TrustErr)
	id := session.Store{Home: h, Warn: env.WarnError}.Current(env.Getenv, names.SessionVars(), false)
	box := mail.NewBox(h, h.Identity.Address())
	if own := env.Getenv(instance.Variable); id != "" || own != "" {
		box = box.ReadBy(instance.MatchOtherAgents(h.Town.State, own, id))
	}
	return agent{h, box, id}
}

// signNote adds the sender and the session to a note and redacts it, because it is kept and
// read by others.
func (a agent) signNote(env *cli.Env, n mail.Note) mail.Note {
	n.From, n.Date = a.home.Identity.Address(), env.Now()
	n.Subject, n.Body = env.Redact(n.Subject), env.Redact(n.Body)
	if a.id == "" {
		return n
	}
	n.Session = string(a.id)
	// without the record the note only lacks its chain
	store := session.Store{Home: a.home, Warn: env.WarnError}
	if r, err := store.Get(a.id); err == nil && r != nil {
		n.Chain = string(r.ChainID)
	}
	return n
}

type message struct {
	Subject string  `short:"s" placeholder:"TEXT" help:"The subject, one line."`
	Message *string `short:"m" placeholder:"TEXT" help:"The text; - reads it from standard input."`
}

// readBody returns the text of -m, or else standard input unless that is a terminal.
func (m message) readBody(env *cli.Env) (string, error) {
	if m.Message != nil && *m.Message != "-" {
		return *m.Message, nil
	}
	if m.Message == nil && term.IsTerminal(env.Stdin) {
		return "", cli.Fail(cli.Usage, errors.New("no message"),
			"give it with -m TEXT or on standard input; -m '' sends only the subject")
	}
	text, err := io.ReadAll(io.LimitReader(env.Stdin, mail.MaxBody+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the message: %w", err)
	}
	return string(text), nil
}

func (m message) checkSubject() error {
	if strings.TrimSpace(m.Subject) == "" {
		return cli.Failf(cli.Usage, "no subject: give it with -s TEXT")
	}
	return nil
}

func explainRefusal(err error) error {
	if errors.Is(err, mail.ErrTooLarge) {
		return cli.Fail(cli.Usage, err, "put the text into a file and name the file in the note")
	}
	return err
}

// findError adds hints to the error for a note's ID, such as the notes that it can mean.
func findError(err error) error {
	var many *mail.Ambiguous
	switch {
	case errors.As(err, &many):
		err = cli.Fail(cli.AnswerNo, err)
		for _, n := range many.Notes {
			err = cli.WithHint(err, "%s  %s", n.ID, n.Subject)
		}
	case errors.Is(err, mail.ErrNotFound):
		err = cli.Fail(cli.AnswerNo, err, "gt-mail inbox --all lists every note")
	}
	return err
}

// printNote prints a note without its text: as JSON, or its ID and a line in this format.
func printNote(env *cli.Env, asJSON bool, n mail.Note, format string, args ...any) error {
	n = n.Clean(env.Redact) // another program may have written it
	if asJSON {
		n.Body = ""
		return env.JSON(n)
	}
	return env.Printf("%s  %s\n", n.ID, term.Clean(env.Redact(fmt.Sprintf(format, args...))))
}
