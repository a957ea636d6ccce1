package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/sys/atomicfile"
)

// Each host gives each other one the key of its logs, by a grant. In a small fleet the hub keeps
// all grants, so that one reaches a host that never is there together with its giver. They are
// as many as the square of the hosts: in a larger fleet, a host that is there gets its grant
// without the hub keeping it, and only for one that was not heard for long it is kept. So that
// none is lost, each host tells each other one which grant it has: once over a connection, and
// when it has got another.

// grants is what a relay knows of the grants for another host, over this connection.
type grants struct {
	done bool      // it has the current one, or the hub has
	kept bool      // the hub keeps one: it would come again, so a later one takes its place
	held int64     // when the one that it has was made
	sent string    // the name of the last one that was given
	at   time.Time // when
}

// grant gives the key of this host's logs to each host that does not have it.
func (r *Relay) grant(ctx context.Context) error {
	if r.pending[streams.Fleet] > 0 {
		return nil
	}
	now := r.Now()
	acks := map[*remote]jetstream.PubAckFuture{}
	for key, m := range r.remotes {
		g := &m.grants
		if g.done || m.host.Box == "" ||
			m.trust.Revoked { // mutant never: TestBlockedReader
			continue
		}
		keep := len(r.remotes) < r.Small || m.host.Knows < reportsGrants || m.silence > r.LostAfter ||
			g.kept // mutant never: TestKeptGrant
		if !keep && !m.pulse.came {
			continue
		}
		id := r.grantID(m)
		if g.done = m.host.Holds == id; g.done {
			continue
		}
		if g.sent == id && now.Sub(g.at).Abs() < askAgain { // mutant never: TestGreedy
			continue
		}
		h := r.newest("grant", key, id)
		// This host's clock may have been set back.
		h.At = max(h.At, g.held+1) // mutant without max: TestLostGrants
		msg, err := r.keys.ForHost(m.host.Box, h, []byte(r.grantText(m)))
		if err != nil {
			r.refuse("a host with an unusable key")
			g.done = true
			continue
		}
		g.sent, g.at = id, now
		if !keep {
			if err := r.nc.Publish(r.subject("chunk", key), msg); err != nil {
				return err
			}
			g.done = true
			continue
		}
		ack, err := r.js.PublishAsync(r.subject("grant", key), msg)
		if err != nil {
			return err
		}
		acks[m] = ack
	}
	for m, ack := range acks {
		select {
		case <-ack.Ok():
			m.grants.done, m.grants.kept = true, true
			r.beatSoon = r.beatSoon || !m.pulse.answers // a newcomer wants to know how far the logs have grown
		case err := <-ack.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(publishWait):
			return errSilent
		}
	}
	return nil
}

// grantText is the text of a grant: the key of this host's logs, and what the host may do here.
func (r *Relay) grantText(m *remote) string {
	if m.host.Knows < 2 {
		return r.keys.Feed
	}
	return r.keys.Feed + "\n" + strings.Join(m.trust.Allowed, " ")
}

// grantID names a grant by what it says and by whom it is for.
func (r *Relay) grantID(m *remote) string { return grantID(r.grantText(m), m.host.Box) }

func grantID(text, box string) string {
	sum := sha256.Sum256([]byte(text + box))
	return hex.EncodeToString(sum[:8])
}

// report returns what this host has of another one, for a message to it; nil before it is known.
func (r *Relay) report(to *remote) *holds {
	if r.pending[streams.Fleet] > 0 || to.host.Knows < reportsGrants {
		return nil
	}
	to.pulse.reported = true
	if to.feedKey == "" {
		return &holds{}
	}
	text := to.feedKey
	if to.host.Allows != nil {
		text += "\n" + strings.Join(to.host.Allows, " ")
	}
	return &holds{grantID(text, r.keys.Recipient()), to.host.Latest["grant"]}
}

// takeHolds takes what a host says that it has of this one. If that is not the current grant, it
// gets it again.
func (r *Relay) takeHolds(from *remote, h *holds) {
	if h == nil || len(h.ID) > maxVersion {
		return
	}
	from.grants.held = h.At
	from.grants.done = h.ID == r.grantID(from)
	if from.host.Holds != h.ID {
		from.host.Holds, from.changed = h.ID, true
	}
}

func (r *Relay) takeGrant(from *remote, m seal.Message) error {
	if r.older(from, m) {
		return nil
	}
	body, err := r.keys.Body(m, 1024)
	if err != nil {
		r.refuse("a grant that cannot be opened")
		return nil
	}
	took(from, m)
	key, allowed, says := strings.Cut(string(body), "\n")
	var allows []string
	if says {
		allows = append([]string{}, strings.Fields(allowed)...)
	}
	if !slices.Equal(from.host.Allows, allows) || (from.host.Allows == nil) != (allows == nil) {
		from.host.Allows, from.changed, from.pulse.reported = allows, true, false
	}
	if key == from.feedKey {
		return nil
	}
	from.feedKey = key
	from.pulse = pulse{answers: from.pulse.answers} // ask how long its logs are: what came of them could not be opened
	// Each session begins with what the hub keeps, and with what this host says that it has.
	if err := atomicfile.Write(r.hosts.Path(from.host.Name, "feed.key"), []byte(key+"\n"), atomicfile.Unsynced); err != nil {
		return err
	}
	return r.takeEarly(m.From)
}
