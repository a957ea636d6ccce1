package relay

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"gt/lib/relay/feed"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
)

// Each host of a small fleet beats every 40 seconds, and one that was not heard for 90 is
// away. What all hosts receive of that grows with the square of their number. So in a larger
// fleet each beats less often, and its beat says how long the next one may take: what a host
// receives stays the same. The host before it in the order of keys watches it instead: it asks
// for a beat every 40 seconds, and tells all hosts if none comes.

const (
	beatEvery  = 40 * time.Second // under half of peer.AwayAfter
	smallFleet = 20               // hosts that all beat so often
	// beatLatest bounds what is believed: for so long a hub can hide that a host has died.
	beatLatest = time.Hour
	mostAsks   = 3 // for a beat, before its host counts as missed
	mostMissed = 8 // in a beat
)

// beat says that the host is there, and how far its logs have grown.
type beat struct {
	Process string               `json:"process"`
	Heads   map[string]feed.Head `json:"heads,omitempty"`
	// Every is how often the host beats, in seconds. Before protocol 2 it was 40.
	Every int `json:"every,omitempty"`
	// Missed are the keys of hosts that do not answer this one.
	Missed []string `json:"missed,omitempty"`
	// Holds is what the host has of the one that the beat is for, if it says so.
	Holds *holds `json:"holds,omitempty"`
}

// holds is the grant that a host has of another one.
type holds struct {
	ID string `json:"id,omitempty"`
	At int64  `json:"at,omitempty"` // of its header
}

// pulse is what a relay knows of the beats of another host.
type pulse struct {
	answers bool // whoever asks for a beat: protocol 2
	came    bool // a beat, over this connection
	// doubt reports that an old message came. Either the hub sends it again, or the clock of
	// its host was set back.
	doubt    bool
	reported bool      // what this host has of its grants, over this connection
	nonce    string    // of the last question
	asked    time.Time // when it was asked
	asks     int       // since the host was last seen
}

// every returns how often this host beats.
func (r *Relay) every(now time.Time) time.Duration {
	hosts := 1
	for _, m := range r.remotes {
		if m.trust.Revoked || m.host.Away(now) {
			continue
		}
		if !m.pulse.answers {
			return r.Beat // it expects no other interval
		}
		hosts++
	}
	return min(r.Beat*time.Duration(max(hosts, r.Small))/time.Duration(r.Small), beatLatest)
}

// beat says that this host is there, if it is time to.
func (r *Relay) beat(now time.Time) error {
	every := r.every(now)
	if now.Sub(r.lastBeat).Abs() < min(every, r.promised) && !(r.beatSoon && r.beats.AllowN(now, 1)) {
		return nil
	}
	r.promised = every
	n := min(len(r.missed), mostMissed)
	msg, err := r.beatFor(nil, "", r.missed[:n])
	if err != nil {
		return err
	}
	r.lastBeat, r.missed = now, r.missed[n:]
	r.beatSoon = len(r.missed) > 0
	return r.nc.Publish(r.subject("beat"), msg)
}

// beatFor returns a beat, for one host or for all.
func (r *Relay) beatFor(to *remote, nonce string, missed []string) ([]byte, error) {
	b, key := beat{Process: r.process, Heads: r.source.Heads(), Every: int(r.promised / time.Second), Missed: missed}, ""
	if to != nil {
		b.Holds, key = r.report(to), to.host.Key
	}
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return r.keys.Plain(r.header("beat", key, nonce), body)
}

// takeBeat takes a beat that is newer than what came of its host before.
func (r *Relay) takeBeat(from *remote, m seal.Message) error {
	var b beat
	if err := json.Unmarshal(m.PlainBody(), &b); err != nil {
		r.refuse("a beat that cannot be read")
		return nil
	}
	if len(b.Heads) > feed.MaxFeeds {
		r.refuse("too many logs of " + from.host.Name)
		return nil
	}
	from.pulse.came, from.pulse.answers = true, b.Every > 0
	r.takeHolds(from, b.Holds)
	from.host.Every = min(max(b.Every, 0), int(beatLatest/time.Second))
	for _, key := range b.Missed[:min(len(b.Missed), mostMissed)] {
		r.takeMissed(key)
	}
	from.heads = b.Heads
	if from.heads == nil { // it has no log yet
		from.heads = map[string]feed.Head{}
	}
	for name, head := range from.heads {
		from.copies.Heads(name, head)
	}
	r.judge(from)
	if from.clocks = append(from.clocks, r.Now().Sub(m.Time())); len(from.clocks) > clocksKept {
		from.clocks = from.clocks[1:]
	}
	return nil
}

// takeMissed takes what another host says of one that does not answer it. Who has heard that
// one lately knows better. A lie costs the fleet a beat of the one it is about.
func (r *Relay) takeMissed(key string) {
	now := r.Now()
	if key == r.own.Key {
		if now.Sub(r.lastBeat).Abs() >= r.Beat/2 {
			r.beatSoon = true
		}
		return
	}
	if m := r.remotes[key]; m != nil && now.Sub(m.host.LastSeen).Abs() >= r.Beat {
		m.impatient()
	}
}

// impatient makes a host away once it was silent for as long as one of a small fleet may be.
func (m *remote) impatient() { m.host.Every, m.changed = int(beatEvery/time.Second), true }

// next returns the host that this one watches, or nil.
func (r *Relay) next(now time.Time) *remote {
	if r.promised <= r.Beat {
		return nil
	}
	var all []*remote
	for _, m := range r.remotes {
		if m.pulse.answers && m.pulse.asks <= mostAsks && !m.trust.Revoked && !m.host.Away(now) {
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil
	}
	after := func(m *remote) int { // hosts with smaller keys follow those with larger ones
		if m.host.Key > r.own.Key {
			return 0
		}
		return 1
	}
	return slices.MinFunc(all, func(a, b *remote) int {
		return cmp.Or(cmp.Compare(after(a), after(b)), cmp.Compare(a.host.Key, b.host.Key))
	})
}

// askForBeats asks the hosts for a beat of which none has come, and the one that this host
// watches.
func (r *Relay) askForBeats(now time.Time) error {
	if r.pending[streams.Fleet] > 0 {
		return nil
	}
	next := r.next(now)
	for _, m := range r.remotes {
		p := &m.pulse
		silent := m == next && now.Sub(m.host.LastSeen).Abs() >= r.Beat
		wait := min(askAgain, r.Beat/10) << p.asks / 2 // twice as long each time
		known := p.came && !p.doubt && (p.reported || m.host.Knows < reportsGrants)
		if !p.answers || m.trust.Revoked || known && !silent || p.asks > mostAsks || now.Sub(p.asked).Abs() < wait {
			continue
		}
		p.asks++
		if p.asks > mostAsks {
			m.impatient()
			if m == next { // mutant never: TestLargeFleet
				r.missed, r.beatSoon = append(r.missed, m.host.Key), true
			}
			continue
		}
		var nonce [8]byte
		rand.Read(nonce[:])
		p.nonce, p.asked = hex.EncodeToString(nonce[:]), now
		body, err := json.Marshal(beat{Holds: r.report(m)})
		if err != nil {
			return err
		}
		msg, err := r.keys.Plain(r.header("beat", m.host.Key, p.nonce), body)
		if err != nil {
			return err
		}
		if err := r.nc.Publish(r.subject("ask", m.host.Key), msg); err != nil {
			return err
		}
	}
	return nil
}

// answerBeat answers who asks for a beat.
func (r *Relay) answerBeat(to *remote, nonce string) error {
	msg, err := r.beatFor(to, nonce, nil)
	if err != nil {
		return err
	}
	return r.nc.Publish(r.subject("chunk", to.host.Key), msg)
}

// see records that a host was seen just now. An old message proves nothing, because a hub can
// send it again, unless it answers this host's question.
func (r *Relay) see(from *remote, h seal.Header) (seen bool) {
	p := &from.pulse
	at, answer := h.Time(), p.nonce != "" && h.ID == p.nonce
	if !at.After(from.host.Clock) && p.answers && !answer { // mutant never: TestReplayedBeats
		p.doubt = p.doubt || at.Before(from.host.Clock)
		return false
	}
	if answer {
		p.nonce = ""
	}
	p.doubt, p.asks = false, 0
	from.host.Clock, from.host.LastSeen, from.silence, from.changed = at, r.Now(), 0, true
	return true
}
