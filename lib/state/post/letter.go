package post

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/state/work"
)

// Refusal is the error for a letter that will never be delivered. The sender should be
// told. All other errors of Deliver may pass: the letter should be delivered again later.
type Refusal struct{ Err error }

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(format string, args ...any) error { return &Refusal{fmt.Errorf(format, args...)} }

// maxSender bounds the sender's name, in bytes.
const maxSender = 200

// Deliver puts a note from another host into the box of the agent that it is for. It is on
// disk when Deliver returns. A note that the box has already is not delivered again, in
// whatever state it is; the caller knows those that were removed.
//
// Only the text, subject and date are the sender's. The name of the file, the name of the
// host in From and X-Gt-Host, and the recipient are this host's. A note never arrives as
// given work or as a hand-over.
//
// The error is a Refusal if the letter can never be delivered, with ErrNone if there is no
// such agent.
func Deliver(state place.State, from peer.Host, l peer.Letter, text []byte) error {
	note, err := parseLetter(state, from, l, peer.Note, text)
	if err != nil {
		return err
	}
	to, err := FindRecipient(state, note.To)
	switch {
	case errors.Is(err, ErrNone):
		return &Refusal{err}
	case err != nil:
		return err
	}
	known, err := to.Box.Known()
	arriving := mail.Arriving{Name: mail.NameFrom(from.Name, l.ID), Fresh: true}
	if err != nil || known(arriving) { // mutant never: TestDeliver
		return err
	}
	note.To = to.Address
	message, err := note.Message(arriving.Name)
	if err != nil {
		return &Refusal{err}
	}
	return to.Box.Take(arriving, message)
}

// Give is Deliver for work: any session of the template may claim it. The person must allow
// the host to give work. stores returns the places that have a template. still returns an
// error if work that is not here yet comes too late.
func Give(state place.State, from peer.Host, l peer.Letter, text []byte, stores Stores, still func() error) error {
	n, err := parseLetter(state, from, l, peer.Work, text)
	if err != nil {
		return err
	}
	in, err := storeOf(stores, n.To)
	if err != nil {
		return err
	}
	name := mail.NameFrom(from.Name, l.ID)
	message, err := n.Message(name)
	if err != nil {
		return &Refusal{err}
	}
	return work.NewWork(in).Take(n.To, name, message, still)
}

// Stores returns the places that have a template.
type Stores func(template string) ([]instance.Store, error)

// storeOf returns the only place that has the template. It returns a Refusal for none or several.
func storeOf(stores Stores, template string) (in instance.Store, err error) {
	found, err := stores(template)
	switch {
	case err != nil:
		return in, err
	case len(found) == 0:
		return in, refuse("no template is called '%.80s' here", template)
	case len(found) > 1:
		return in, refuse("%d templates are called '%.80s' here", len(found), template)
	}
	return found[0], nil
}

// Held returns in which state work of another host is here, for which lease asks: peer.Missing if
// this host does not have it any more. With lease.Recall the work is taken back.
func Held(from peer.Host, lease peer.Lease, stores Stores) (peer.Try, error) {
	t := peer.Try{Letter: lease.Letter, State: peer.Missing}
	in, err := storeOf(stores, lease.Template)
	if errors.As(err, new(*Refusal)) {
		return t, nil // it has no sessions any more
	} else if err != nil {
		return t, err
	}
	var h work.Held
	name := mail.NameFrom(from.Name, lease.Letter)
	if lease.Recall {
		h, err = work.NewWork(in).Recall(lease.Template, name, lease.Late)
	} else {
		h, err = work.NewWork(in).Held(lease.Template, name)
	}
	if state, ok := states[h.State]; ok {
		t.State, t.Session = state, h.Session
	}
	return t, err
}

// states are the states of an offer, by those of work.
var states = map[string]string{"new": peer.Open, "cur": peer.Claimed, "blocked": peer.Blocked, "done": peer.Finished, "recalled": peer.Recalled}

// parseLetter returns the note in a letter of a kind, as it may be kept here. To is the name that
// the sender gave, without the host.
func parseLetter(state place.State, from peer.Host, letter peer.Letter, kind string, text []byte) (mail.Note, error) {
	if err := errors.Join(peer.CheckName(from.Name), peer.CheckID(letter.ID)); err != nil {
		return mail.Note{}, &Refusal{err}
	}
	hosts := peer.NewHosts(state)
	own, _ := hosts.LocalHost()
	switch trust, err := hosts.Trust(from); {
	case err != nil:
		return mail.Note{}, err
	case trust.Revoked:
		return mail.Note{}, refuse("nothing of %s is taken here", from.Name)
	case kind == peer.Work && from.Name != own.Name && !slices.Contains(trust.Allowed, peer.Work): // mutant never: TestGive
		return mail.Note{}, refuse("%s may not give work here", from.Name)
	case letter.Kind != kind && !(kind == peer.Work && letter.Kind == peer.Offer):
		return mail.Note{}, refuse("not a letter with a %s: %.40s", kind, letter.Kind)
	}
	note, err := mail.Parse(bytes.NewReader(text))
	if err != nil {
		return note, &Refusal{err}
	}
	to, _, ok := peer.SplitAddress(note.To)
	if !ok {
		return note, refuse("invalid recipient '%.80s'", note.To)
	}
	name, _, _ := peer.SplitAddress(note.From)
	if name = cmp.Or(name, note.From); len(name) > maxSender {
		return note, refuse("the sender's name has %d bytes, over %d", len(name), maxSender)
	}
	note.Type, note.Chain = mail.Plain, ""
	note.To, note.From, note.Host = to, name+"@"+from.Name, from.Name
	if _, err := session.ParseID(note.Session); err != nil {
		note.Session = ""
	}
	return note, nil
}
