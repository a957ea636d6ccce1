package local

import (
	"errors"
	"io"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/reconcile/config"
	"gt/lib/relay"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
	"gt/lib/state/post"
)

// notes puts the notes and the work of other hosts where this host's programs look.
type notes struct {
	env   *cli.Env
	state place.State
}

func (n notes) deliverNote(from relay.Sender, l peer.Letter, text io.Reader) error {
	return readLetter(text, func(data []byte) error { return post.Deliver(n.state, from.Host, l, data) })
}

// deliverWork stores work that another host gives, for any session of its template. An offer
// that comes too late is refused, because its sender no longer counts on it.
func (n notes) deliverWork(from relay.Sender, l peer.Letter, text io.Reader) error {
	checkOffer := func() error {
		if l.Kind != peer.Offer {
			return nil
		}
		return checkTimely(from, n.env.Now())
	}
	return readLetter(text, func(data []byte) error { return post.Give(n.state, from.Host, l, data, n.stores, checkOffer) })
}

func (n notes) stores(template string) ([]instance.Store, error) {
	return config.Stores(place.ScopeIn(n.state, n.env.Getenv), template)
}

func (n notes) held(from peer.Host, l peer.Lease) (peer.Try, error) {
	return post.Held(from, l, n.stores)
}

// checkTimely returns an error for a letter that came too late to be acted on: its sender does not
// count on it any more.
func checkTimely(from relay.Sender, now time.Time) error {
	if from.Sent.IsZero() {
		return &relay.Refused{Reason: "it does not say how old it is: update gt where it was sent"}
	}
	if age := now.Sub(from.Sent); age.Abs() > peer.CommandFor { // one of a time to come has a wrong age
		return &relay.Refused{Reason: "it came too late; nothing was done"}
	}
	return nil
}

// readLetter reads a letter and passes it to do. The sender learns of a permanent refusal.
func readLetter(text io.Reader, do func([]byte) error) error {
	data, err := io.ReadAll(io.LimitReader(text, mail.MaxMessage+1)) // what is longer is refused
	if err != nil {
		return err
	}
	err = do(data)
	if refused := new(post.Refusal); errors.As(err, &refused) {
		return &relay.Refused{Reason: refused.Error()}
	}
	return err
}
