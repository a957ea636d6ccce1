package handoff

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"gt/lib/catalog/history"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/conversation/brief"
	"gt/lib/conversation/transcript"
	"gt/lib/place/git"
	"gt/lib/place/town"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/text/redact"
)

// compose writes the note.
func (h *handover) compose(work string) error {
	message, err := h.g.message(h.env)
	if err != nil {
		return err
	}
	if h.remote && message == "" && h.g.Subject == "" {
		message = "You were handed over by " + h.call.Home.Identity.Address() + "."
	}
	var failed error
	asked := cli.Go(func() { // git takes longest; the rest is read meanwhile
		h.state, failed = git.Status(h.home.Dir, gitWait)
	})
	clean := h.redact()
	b := brief.Brief{Message: message}
	if h.g.Collect {
		h.collect(&b, clean)
	}
	asked.Wait()
	if failed != nil && !errors.Is(failed, git.ErrNotRepository) {
		h.env.Warn("%v", failed)
	}
	if h.g.Collect {
		b.State = h.state
	}
	b = b.Clean(clean)
	h.essentials = b.Essentials()
	id := h.home.Identity.Address()
	h.note = mail.Note{
		Type: mail.Handoff, From: h.call.Home.Identity.Address(), To: id,
		Subject: clean(h.g.Subject), Date: h.env.Now(), Body: b.Text(),
	}
	if h.record != nil {
		h.note.Session, h.note.Chain = string(h.record.ID), string(h.record.ChainID)
	}
	if h.note.Subject == "" {
		h.note.Subject = b.Subject()
	}
	if h.hold != "" {
		line, _ := h.howToGoOn()
		h.note.Body += "\n\nThe agent was not replaced: " + h.hold + ". To go on in its pane, a person ends it there and types: " + line + "\n"
	}
	if work != "" {
		h.note.Body = "Hooked: " + work + "\n\n" + h.note.Body
	}
	// All was cleaned piece by piece, before it was cut; what comes together only
	// now is looked at as well.
	h.note.Subject = clean(h.note.Subject)
	h.note.Body = clean(h.note.Body)
	h.essentials = clean(h.essentials)
	return nil
}

// collect adds what the transcript, git and the box say. What cannot be read
// is left out: a hand-over with less is better than none. Secrets are taken out
// before a text is cut, for half of one is not known for one.
func (h *handover) collect(b *brief.Brief, clean func(string) string) {
	warn := func(err error) {
		if !errors.Is(err, fs.ErrNotExist) {
			h.warn(err)
		}
	}
	var err error
	if path := h.transcript(); path != "" {
		b.Session, err = history.Tail(h.form(), path, h.sessionID(), h.dir(), clean)
		warn(err)
	}
	if h.record != nil {
		all, err := checkpoint.List(h.home)
		warn(err)
		for _, c := range all {
			if c.SessionID == h.record.ID {
				b.Noted = c.Said()
			}
		}
		b.Commits = git.Commits(h.home.Dir, h.record.StartedAt)
	}
	box := mail.Of(h.home, h.home.Identity.Address())
	hooked, err := box.Hooked()
	warn(err)
	b.Hooked = slices.DeleteFunc(hooked, func(n mail.Note) bool { return n.Type == mail.Handoff })
	b.Unread, b.More, err = box.Unread()
	warn(err)
}

// gitWait bounds git, which may be slow in a huge worktree.
const gitWait = 3 * time.Second

// transcript is the path of the session's transcript, where that is one of the
// person's: what its client says, or its record. A client says what a project's own
// settings have told it, and that can be a folder in the project.
func (h *handover) transcript() string {
	if !h.remote && h.call.Input.Transcript != "" {
		return h.owned(h.call.Input.Transcript)
	}
	if h.record == nil {
		return ""
	}
	switch name := h.agentName(); { // a session that was met late, by a command, or whose client does not say
	case h.record.Transcript != "":
		return h.owned(h.record.Transcript)
	case name == hook.DefaultAgent:
		return h.owned(transcript.Path((&cli.Env{Environ: h.environ()}).Getenv, h.dir(), string(h.record.ID)))
	}
	return ""
}

// owned is a transcript without links; empty where it is none of the person's own.
// What counts is the environment that the client was started with, and what the
// person says of agents, but no town.
func (h *handover) owned(path string) string {
	getenv := (&cli.Env{Environ: h.environ()}).Getenv
	if getenv("HOME") != h.env.Getenv("HOME") {
		getenv = h.env.Getenv // a launcher stands between the client and us
	}
	own := account.Own{
		Getenv:   getenv,
		Projects: []string{h.home.Dir, h.dir()},
		Known: func(string) account.Known {
			known, _ := agent.Load(h.env.Getenv, town.Personal(h.env.Getenv)) // known tells what cannot be read
			c := known.Of(h.agentName())
			return account.Known{Accounts: c.Listed(h.env.Getenv), Variable: c.StoreEnv, Store: c.Store}
		},
	}
	// One's own agent has a store of its own, or the one whose dialect it speaks.
	_, real, err := own.File(h.agentName(), path)
	if form := h.form(); err != nil && form != h.agentName() {
		_, real, err = own.File(form, path)
	}
	if _, gone := os.Stat(path); err != nil && gone == nil {
		h.warn(err)
	}
	return real
}

// form is the client whose form the session's transcript has: one that gt does
// not know keeps it, as far as anything is known, as the one does whose dialect it
// speaks.
func (h *handover) form() string {
	if name := h.agentName(); history.Reads(name) {
		return name
	}
	return h.client().Dialect
}

// sessionID is the id of the session that is handed over, empty where none is
// known.
func (h *handover) sessionID() session.ID {
	if h.record != nil {
		return h.record.ID
	}
	return h.call.ID
}

// environ is the environment that the client was started with, or ours where
// that cannot be read.
func (h *handover) environ() []string {
	if h.vars == nil {
		h.vars = h.env.Environ
		if h.agent.IsSet() {
			if vars, err := h.agent.Environ(); err == nil && len(vars) > 0 {
				h.vars = vars
			}
		}
	}
	return h.vars
}

// redact takes secrets out of a text: those of the agent's environment, and of
// the one that we were called with, which a command may have added to.
func (h *handover) redact() func(string) string {
	if h.clean == nil {
		h.clean = redact.Of(slices.Concat(h.environ(), h.env.Environ))
	}
	return h.clean
}

// warnOfGit says what a successor will find half done. It is no reason to
// refuse: the files stay where they are.
func (h *handover) warnOfGit() {
	if h.g.NoGitCheck || h.g.Client.Hook {
		return
	}
	if s := h.state; len(s.Changes) > 0 || s.Ahead > 0 {
		h.env.Warn("the worktree is left as it is: %s", s.Summary())
	}
}
