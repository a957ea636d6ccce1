package relay

import (
	"context"
	"errors"
	"fmt"

	"gt/lib/cli"
)

// Limits of what runs here at once for other hosts.
const (
	MostOfHost = 4
	MostOfAll  = 16
)

// SlowDelivery is what a Deliver returns whose work takes long. The relay goes on meanwhile, and
// answers the letter when Do has ended, as after a Deliver. The text can be read until then.
// Do ends soon after its context.
type SlowDelivery struct{ Do func(context.Context) error }

func (*SlowDelivery) Error() string { return "it goes on" }

// underway are the letters that are delivered beside the relay, by host and ID.
type underway map[[2]string]bool

// ended is a delivery that has ended.
type ended struct {
	from *remote
	id   string
	err  error
	done func() error
}

func (r *Relay) isUnderway(from *remote, id string) bool {
	return r.underway[[2]string{from.host.Key, id}]
}

// full reports whether nothing more can be begun for a host.
func (r *Relay) full(from *remote) bool {
	n := 0
	for u := range r.underway {
		if u[0] == from.host.Key {
			n++
		}
	}
	return n >= MostOfHost || len(r.underway) >= MostOfAll
}

// deliverSlowly delivers a letter beside the relay.
func (r *Relay) deliverSlowly(from *remote, id string, l *SlowDelivery, done func() error) {
	r.underway[[2]string{from.host.Key, id}] = true
	cli.Go(func() { r.ended <- ended{from, id, l.Do(r.ctx), done} })
}

// finish answers a letter that was delivered beside the relay.
func (r *Relay) finish(e ended) {
	delete(r.underway, [2]string{e.from.host.Key, e.id})
	if r.ctx.Err() != nil { // it was interrupted, and comes again
		return
	}
	if err := r.delivered(e.from, e.id, e.err, e.done); err != nil {
		r.Warn(err)
	}
}

// delivered answers a letter and calls done, unless the letter has to come again.
func (r *Relay) delivered(from *remote, id string, err error, done func() error) error {
	reason := ""
	if refused := new(Refused); errors.As(err, &refused) {
		if reason = refused.Reason; reason == "" {
			reason = "refused"
		}
	} else if err != nil {
		return fmt.Errorf("cannot deliver %s of %s: %w", id, from.host.Name, err)
	}
	if err := r.answered(from, id, reason); err != nil {
		return err
	}
	return done()
}
