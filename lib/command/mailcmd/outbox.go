package mailcmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/post"
	"gt/lib/text/term"
)

// sendToHost leaves a note, or work for a template, in the outbox, from which gt-relay sends it.
func (a agent) sendToHost(env *cli.Env, host peer.Host, kind, to string, m message, asJSON bool) error {
	state := a.home.Town.State
	own, err := peer.NewHosts(state).LocalHost()
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Failf(cli.AnswerNo, "this host belongs to no fleet, so nothing can be sent to %s", host.Name)
	} else if err != nil {
		return err
	}
	if err := peer.NewHosts(state).Blocked(host); err != nil {
		return err
	}
	body, err := m.readBody(env)
	if err != nil {
		return err
	}
	n := a.signNote(env, mail.Note{Type: mail.Plain, To: to + "@" + host.Name, Subject: m.Subject, Body: body})
	// The other host needs a name to answer to: this folder's path means nothing there.
	name, err := post.Return(a.home)
	if err != nil {
		return err
	}
	n.From = name + "@" + own.Name
	text, err := n.Message("")
	if err != nil {
		return explainRefusal(err)
	}
	l, err := peer.OutboxOf(state).Put(host.Name, kind, text, env.Now())
	if err != nil {
		return err
	}
	w := pendingLetter{Note: n, Letter: l}
	w.ID, w.Host, w.Kind = mail.IDOf(l.ID), l.Host, l.Kind
	if asJSON {
		w.Body = ""
		return env.JSON(w)
	}
	waits, why := host.Name, ""
	if now := env.Now(); kind == peer.Work && host.Name == peer.AnyHost {
		waits = fmt.Sprintf("a session of %s on any host", to)
		why, err = whyWaits(env, to)
		env.WarnError(err)
	} else if host.IsAway(now) {
		waits += ", " + host.Seen(now)
	}
	if err = env.Printf("%s  waits for %s\n", w.ID, waits); err != nil {
		return err
	}
	if why != "" {
		env.Warn("%s", env.Line(why, maxReason))
		env.Hint("it goes once that changes; gt-mail unsend %s takes it back", w.ID)
	}
	return nil
}

// whyWaits returns why no host gets work of a template that any host may do, "" if one can get it.
func whyWaits(env *cli.Env, template string) (string, error) {
	scope := place.ScopeOf(env.Getenv)
	here, err := config.StoresWith(scope, template)
	if err != nil {
		return "", err
	}
	return post.WaitsFor(scope.State, here, template, env.Now())
}

// pendingLetter is a letter that another host does not have yet, or does not take.
type pendingLetter struct {
	mail.Note
	Kind    string      `json:"kind"`
	Refused string      `json:"refused,omitempty"` // why the host does not take it
	Tries   []peer.Try  `json:"tries,omitempty"`   // of work for any host: who was offered it
	Waits   string      `json:"waits,omitempty"`   // why no host gets it
	Letter  peer.Letter `json:"-"`
}

const maxReason = 200 // bounds why a letter was refused, in characters

// outboxLetters returns what is in the outbox, waiting or refused, the oldest first.
func outboxLetters(env *cli.Env) (all []pendingLetter, box peer.Outbox, err error) {
	box = peer.OutboxOf(town.Personal(env.Getenv).State)
	waiting, err := box.ReadLetters()
	if err != nil {
		return nil, box, err
	}
	refused, err := box.Refused()
	if err != nil {
		return nil, box, err
	}
	for _, l := range waiting {
		if l.Kind == peer.Offer {
			continue // the work is listed
		}
		if text, err := box.Read(l); !errors.Is(err, fs.ErrNotExist) { // otherwise the host has it by now
			w := pendingOf(env, l, text, err)
			if l.Host == peer.AnyHost {
				tries, err := box.Tries(l.ID)
				env.WarnError(err)
				// No host has it now, or is offered it.
				if w.Tries = tries.Tries; tries.LastTry() == nil || tries.LastTry().IsOver() {
					template, _, _ := peer.SplitAddress(w.To)
					w.Waits, err = whyWaits(env, template)
					env.WarnError(err)
				}
			}
			all = append(all, w)
		}
	}
	for _, l := range refused {
		text, err := box.ReadRefused(l.Letter)
		w := pendingOf(env, l.Letter, text, err)
		w.Refused = cmp.Or(env.Line(l.Reason, maxReason), "refused")
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b pendingLetter) int { return a.Letter.Sent().Compare(b.Letter.Sent()) })
	return all, box, nil
}

// pendingOf describes a letter that was not sent yet, without its body. text is its content, err why
// that could not be read. Only notes and work have headers to parse; other letters are for programs.
func pendingOf(env *cli.Env, l peer.Letter, text []byte, err error) pendingLetter {
	w := pendingLetter{Letter: l, Kind: l.Kind}
	if w.isMail() {
		if err == nil {
			w.Note, err = mail.Parse(bytes.NewReader(text))
		}
		if err != nil {
			w.Problem = err.Error()
		}
		w.Note = w.Note.Clean(env.Redact)
	}
	w.ID, w.Host, w.Body = mail.IDOf(l.ID), l.Host, ""
	if w.Date.IsZero() {
		w.Date = l.Sent()
	}
	return w
}

// describeHosts says which host has work for any host, or why none has it; "" of other letters.
func (w pendingLetter) describeHosts() string {
	if len(w.Tries) == 0 || w.Waits != "" {
		return w.Waits
	}
	t := w.Tries[len(w.Tries)-1]
	switch t.State {
	case peer.Offered:
		return "offered to " + t.Host
	case peer.Open:
		return t.Host + " has it"
	case peer.Claimed:
		return t.Session + "@" + t.Host + " has it"
	case peer.Blocked:
		return "blocked: " + t.Session + "@" + t.Host + " had it"
	case peer.Declined:
		return t.Host + ": " + t.Reason
	case peer.Missing:
		return t.Host + " had it, and cannot find it"
	}
	return ""
}

func (w pendingLetter) isMail() bool { return w.Kind == peer.Note || w.Kind == peer.Work }

type outbox struct {
	JSON bool `name:"json" help:"One JSON object per line."`
}

func (c *outbox) Run(env *cli.Env) error {
	all, _, err := outboxLetters(env)
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.JSONLines(env, all)
	}
	if len(all) == 0 {
		env.Hint("nothing waits to be sent, and nothing was refused")
		return nil
	}
	now := env.Now()
	rows := term.Cells([]term.Column[pendingLetter]{
		{Heading: "ID", Cell: func(w pendingLetter) string { return w.ID }},
		{Heading: "KIND", Cell: func(w pendingLetter) string { return w.Kind }},
		{Heading: "TO", Cell: func(w pendingLetter) string { return term.CutFront(term.Clean(cmp.Or(w.To, w.Host)), maxFrom) }},
		{Heading: "FOR", Cell: func(w pendingLetter) string { return peer.Age(now.Sub(w.Letter.Sent())) }},
		{Heading: "SUBJECT", Cell: func(w pendingLetter) string { return cmp.Or(w.Subject, w.Problem) }},
		{Heading: "WHERE", Hidden: !slices.ContainsFunc(all, func(w pendingLetter) bool { return w.describeHosts() != "" }), Cell: func(w pendingLetter) string { return env.Line(w.describeHosts(), maxReason) }},
		{Heading: "REFUSED", Hidden: !slices.ContainsFunc(all, func(w pendingLetter) bool { return w.Refused != "" }), Cell: func(w pendingLetter) string { return w.Refused }},
	}, all)
	width := term.Width(env.Stdout, env.Getenv)
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, width, rows, nil)
}

type unsend struct {
	ID string `arg:"" help:"What waits, by its ID or the beginning of it."`
}

// Run takes a letter back, or removes one that was refused. If gt-relay has sent it
// already, it can still arrive.
func (c *unsend) Run(env *cli.Env) error {
	all, box, err := outboxLetters(env)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(w pendingLetter) bool { return !strings.HasPrefix(w.ID, strings.ToLower(c.ID)) })
	switch {
	case len(all) == 0:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing with the ID '%s' waits", c.ID), "gt-mail outbox lists what waits; the rest has arrived")
	case len(all) > 1:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' means %d that wait", c.ID, len(all)), "gt-mail outbox lists them")
	}
	w := all[0]
	if !w.isMail() {
		return cli.Failf(cli.AnswerNo, "%s is not a note", w.ID)
	}
	if w.Problem != "" {
		env.Warn("%s", w.Problem)
	}
	if w.Refused != "" {
		if err := box.Forget(w.Letter); err != nil {
			return err
		}
		return env.Printf("%s  removed: %s\n", w.ID, term.Clean(w.Subject))
	}
	if err := box.Remove(w.Letter); err != nil {
		return err
	}
	unless := "it is on its way to " + w.Host
	if w.Host == peer.AnyHost {
		unless = "a session has it"
	}
	return env.Printf("%s  taken back, unless %s: %s\n", w.ID, unless, term.Clean(w.Subject))
}
