package relay

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"gt/lib/relay/feed"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
)

// Each host says that it is there by a message that the hub keeps for some hours, so that one
// that connects knows at once who is there. In a small fleet it says so every 40 seconds, and one
// that was not heard for 90 is away. What all hosts receive of that grows with the square of their
// number. So in a larger fleet each beats less often, and its beat says how long the next one may
// take: what a host receives stays the same.

const (
	beatEvery  = 40 * time.Second // under half of peer.AwayAfter
	smallFleet = 20               // hosts that all beat so often
	// beatLatest bounds what is believed: the hub keeps a beat for over twice as long.
	beatLatest = time.Hour
	mostAsks   = 3 // for a beat, until its host was heard
)

// beat says that the host is there, and how far its logs have grown.
type beat struct {
	Process string               `json:"process"`
	Heads   map[string]feed.Head `json:"heads,omitempty"`
	// Every is how often the host beats, in seconds; peer.Ended says that this was the last one.
	Every int `json:"every,omitempty"`
}

// pulse is what a relay knows of the beats of another host.
type pulse struct {
	// wanted reports that a beat has to be asked for: an old message came, which the hub sends
	// again unless the clock of its host was set back, or its host has just connected.
	wanted bool
	nonce  string    // of the last question
	asked  time.Time // when it was asked
	asks   int       // since the host was last heard
}

// beatInterval returns how often this host beats.
func (r *Relay) beatInterval(now time.Time) time.Duration {
	hosts := 1
	for _, m := range r.remotes {
		if !m.trust.Revoked && !m.host.IsAway(now) {
			hosts++
		}
	}
	return min(r.Beat*time.Duration(max(hosts, r.Small))/time.Duration(r.Small), beatLatest)
}

// beat says that this host is there, if it is time to.
func (r *Relay) beat(_ context.Context, now time.Time) error {
	every := r.beatInterval(now)
	if now.Sub(r.lastBeat).Abs() < min(every, r.promised) {
		return nil
	}
	r.promised, r.lastBeat = every, now
	return r.publishBeat("", "")
}

// publishBeat says that this host is there: to the host with the key that has asked, or to all.
func (r *Relay) publishBeat(to, nonce string) error {
	body, err := json.Marshal(beat{Process: r.process, Heads: r.source.Heads(), Every: int(r.promised / time.Second)})
	if err != nil {
		return err
	}
	subject := r.subject("beat")
	if to != "" {
		subject = r.subject("chunk", to)
	}
	return r.publish(subject, r.header("beat", to, nonce), body)
}

// publishEnd says that this host is not there any more.
func (r *Relay) publishEnd() {
	r.promised = peer.Ended * time.Second
	if r.publishBeat("", "") == nil {
		_ = r.nc.FlushTimeout(time.Second)
	}
}

// takeBeat takes a beat that is not older than what came of its host before. live reports
// whether it came just now.
func (r *Relay) takeBeat(from *remote, m seal.Message, live bool) error {
	var b beat
	if err := json.Unmarshal(m.PlainBody(), &b); err != nil {
		return refusal("a beat that cannot be read")
	}
	if len(b.Heads) > feed.MaxFeeds {
		return refusal("too many logs of " + from.host.Name)
	}
	said := len(b.Heads)
	maps.DeleteFunc(b.Heads, func(name string, head feed.Head) bool { return feed.CheckName(name) != nil || head.Size < 0 })
	if len(b.Heads) < said {
		r.refuse("an invalid name or size of a log of " + from.host.Name)
	}
	was := from.host.Every
	if from.host.Every = min(max(b.Every, peer.Ended), int(beatLatest/time.Second)); (was == peer.Ended) != (from.host.Every == peer.Ended) {
		from.changed, from.saved = true, time.Time{} // whether it is away is known at once
	}
	from.heads = b.Heads
	if from.heads == nil { // it has no log yet
		from.heads = map[string]feed.Head{}
	}
	maps.DeleteFunc(from.asked, func(name string, _ question) bool {
		log, ok := strings.CutPrefix(name, logFile+"/")
		_, has := from.heads[log]
		return ok && !has
	})
	if live {
		for name, head := range from.heads {
			from.logs.Compare(name, head)
		}
		if from.clocks = append(from.clocks, r.Now().Sub(m.Time())); len(from.clocks) > clocksKept {
			from.clocks = from.clocks[1:]
		}
	}
	from.pulse.wanted = false
	r.noteCompleteLogs(from)
	return nil
}

// askForBeats asks the hosts for a beat of which one is wanted.
func (r *Relay) askForBeats(_ context.Context, now time.Time) error {
	if r.pending[streams.Fleet] || r.pending[streams.PresenceStream] {
		return nil
	}
	for _, m := range r.remotes {
		if m.pulse.wanted && !m.trust.Revoked {
			if err := r.askForBeat(m, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// askForBeat asks a host for a beat, a few times until it is heard.
func (r *Relay) askForBeat(m *remote, now time.Time) error {
	p := &m.pulse
	wait := min(askAgain, r.Beat/10) << p.asks / 2 // twice as long each time
	if p.asks > mostAsks || now.Sub(p.asked).Abs() < wait {
		return nil
	}
	p.nonce, p.asked = newNonce(), now
	p.asks++
	return r.publish(r.subject("ask", m.host.Key), r.header("beat", m.host.Key, p.nonce), nil)
}

// noteSeen records that a host was seen, age ago. An old message proves nothing, because a hub can
// send it again, unless it answers this host's question. current is false for one that is older
// than the last one.
func (r *Relay) noteSeen(from *remote, h seal.Header, live bool, age time.Duration) (current bool) {
	p := &from.pulse
	at, answer := h.Time(), p.nonce != "" && h.ID == p.nonce
	if !at.After(from.host.Clock) && !answer { // mutant never: TestReplayedBeats
		p.wanted = p.wanted || live && at.Before(from.host.Clock)
		return at.Equal(from.host.Clock)
	}
	if answer {
		p.nonce = ""
	}
	if at.Before(from.host.Clock) {
		from.clocks = nil
	}
	// How far its logs have grown is known from a beat alone.
	p.wanted = p.wanted && from.heads == nil
	if from.host.Clock, from.changed = at, true; live {
		p.asks, from.silence = 0, 0
	}
	if seen := r.Now().Add(-age); seen.After(from.host.LastSeen) || live {
		from.host.LastSeen = seen
	}
	return true
}
