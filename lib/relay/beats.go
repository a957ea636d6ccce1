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
	beatLatest  = time.Hour
	maxBeatAsks = 3 // for a beat, until its host was heard
)

// beatMessage says that the host is there, and how far its logs have grown.
type beatMessage struct {
	Process string               `json:"process"`
	Heads   map[string]feed.Head `json:"heads,omitempty"`
	// Every is how often the host beats, in seconds; peer.Ended says that this was the last one.
	Every int `json:"every,omitempty"`
}

// beatState is what a relay knows of the beats of another host.
type beatState struct {
	// mustAsk reports that a beat has to be asked for: an old message came, which the hub sends
	// again unless the clock of its host was set back, or its host has just connected.
	mustAsk  bool
	nonce    string    // of the last question
	asked    time.Time // when it was asked
	askCount int       // since the host was last heard
}

// beatInterval returns how often this host beats: each Beat with up to Small hosts, and with more
// less often in proportion.
func (r *Relay) beatInterval(now time.Time) time.Duration {
	hosts := 1
	for _, m := range r.remotes {
		if !m.trust.Revoked && !m.host.IsAway(now) {
			hosts++
		}
	}
	return min(r.Beat*time.Duration(max(hosts, r.Small))/time.Duration(r.Small), beatLatest)
}

// sendBeat says that this host is there, if it is time to: not later than its last beat has said.
func (r *Relay) sendBeat(_ context.Context, now time.Time) error {
	every := r.beatInterval(now)
	if now.Sub(r.lastBeat).Abs() < min(every, r.promisedEvery) {
		return nil
	}
	r.promisedEvery, r.lastBeat = every, now
	return r.publishBeat("", "")
}

// publishBeat says that this host is there: to the host with the key that has asked, or to all.
func (r *Relay) publishBeat(to, nonce string) error {
	body, err := json.Marshal(beatMessage{Process: r.process, Heads: r.source.Heads(), Every: int(r.promisedEvery / time.Second)})
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
	r.promisedEvery = peer.Ended * time.Second
	if r.publishBeat("", "") == nil {
		_ = r.nc.FlushTimeout(time.Second)
	}
}

// takeBeat takes a beat that is not older than what came of its host before. live reports
// whether it came just now.
func (r *Relay) takeBeat(from *remoteHost, m seal.Message, live bool) error {
	var b beatMessage
	if err := json.Unmarshal(m.PlainBody(), &b); err != nil {
		return refusal("a beat that cannot be read")
	}
	if len(b.Heads) > feed.MaxFeeds {
		return refusal("too many logs of " + from.host.Name)
	}
	claimed := len(b.Heads)
	maps.DeleteFunc(b.Heads, func(name string, head feed.Head) bool { return feed.CheckName(name) != nil || head.Size < 0 })
	if len(b.Heads) < claimed {
		r.countRefused("an invalid name or size of a log of " + from.host.Name)
	}
	wasEvery := from.host.Every
	if from.host.Every = min(max(b.Every, peer.Ended), int(beatLatest/time.Second)); (wasEvery == peer.Ended) != (from.host.Every == peer.Ended) {
		from.isUnsaved, from.savedAt = true, time.Time{} // whether it is away is known at once
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
	from.beats.mustAsk = false
	r.noteCompleteLogs(from)
	return nil
}

// askForBeats asks the hosts for a beat of which one is wanted.
func (r *Relay) askForBeats(_ context.Context, now time.Time) error {
	if r.pending[streams.Fleet] || r.pending[streams.PresenceStream] {
		return nil
	}
	for _, m := range r.remotes {
		if m.beats.mustAsk && !m.trust.Revoked {
			if err := r.askForBeat(m, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// askForBeat asks a host for a beat, a few times until it is heard.
func (r *Relay) askForBeat(m *remoteHost, now time.Time) error {
	p := &m.beats
	wait := min(askAgain, r.Beat/10) << p.askCount / 2 // twice as long each time
	if p.askCount > maxBeatAsks || now.Sub(p.asked).Abs() < wait {
		return nil
	}
	p.nonce, p.asked = newNonce(), now
	p.askCount++
	return r.publish(r.subject("ask", m.host.Key), r.header("beat", m.host.Key, p.nonce), nil)
}

// noteSeen records that a host was seen, age ago. An old message proves nothing, because a hub can
// send it again, unless it answers this host's question. current is false for one that is older
// than the last one.
func (r *Relay) noteSeen(from *remoteHost, h seal.Header, live bool, age time.Duration) (current bool) {
	p := &from.beats
	at, answer := h.Time(), p.nonce != "" && h.ID == p.nonce
	if !at.After(from.host.Clock) && !answer { // mutant never: TestReplayedBeats
		p.mustAsk = p.mustAsk || live && at.Before(from.host.Clock)
		return at.Equal(from.host.Clock)
	}
	if answer {
		p.nonce = ""
	}
	if at.Before(from.host.Clock) {
		from.clocks = nil
	}
	// How far its logs have grown is known from a beat alone.
	p.mustAsk = p.mustAsk && from.heads == nil
	if from.host.Clock, from.isUnsaved = at, true; live {
		p.askCount, from.silence = 0, 0
	}
	if seen := r.Now().Add(-age); seen.After(from.host.LastSeen) || live {
		from.host.LastSeen = seen
	}
	return true
}
