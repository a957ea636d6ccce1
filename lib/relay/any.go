package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gt/lib/state/peer"
	"gt/lib/sys/atomicfile"
)

// Work for any host. The giver's relay offers it to one host at a time, and asks that host
// where it is. Each offer is a letter of its own, which the host refuses if it comes late, so
// an offer that was given up cannot be taken up later. A host that is silent for too long loses
// its work: the next offer goes to another host, and the first one learns that when it is back.
// If the first one did the work meanwhile, it is done twice: a dead host looks like one that is
// cut off.

const (
	// LostAfter is the usual time after which a host that is not heard loses work.
	LostAfter   = 10 * time.Minute
	mostLeases  = 200 // in a question
	maxLeases   = 256 << 10
	leasesEvery = 5 * time.Second
	// maxStep bounds the silence that one scan counts: this machine may have slept.
	maxStep = 10 * time.Second
)

// leases are the works of this host for any host, by the IDs of their letters.
type leases struct {
	tries     map[string]*peer.Tries // by the letter's id
	scannedAt time.Time              // when the work was last gone through
	askedAt   time.Time              // when hosts were last asked where it is
}

// offerWork looks after this host's work that any host may do. It offers what waits, asks the hosts
// that have an offer where the work is now, and forgets what is done or was taken back. It also
// counts for how long each host was silent.
func (r *Relay) offerWork(_ context.Context, now time.Time) error {
	step := min(now.Sub(r.leases.scannedAt).Abs(), maxStep)
	r.leases.scannedAt = now
	for _, m := range r.remotes {
		m.silence += step // it was not heard meanwhile, though this host listened
	}
	all, err := r.outbox.ReadLetters()
	if err != nil {
		return err
	}
	waits := map[string]peer.Letter{}
	for _, letter := range all {
		if letter.Host == peer.AnyHost {
			waits[letter.ID] = letter
			if r.leases.tries[letter.ID] == nil {
				r.leases.tries[letter.ID] = &peer.Tries{}
			}
		}
	}
	ask := now.Sub(r.leases.askedAt).Abs() >= min(leasesEvery, r.LostAfter/4)
	if ask {
		r.leases.askedAt = now
	}
	questions := map[string][]peer.Lease{}
	for _, id := range slices.Sorted(maps.Keys(r.leases.tries)) { // the oldest first
		work := r.leases.tries[id]
		letter, wanted := waits[id]
		if wanted && r.isWorkDone(work) {
			if err := r.outbox.Remove(letter); err != nil {
				return err
			}
			wanted = false
		}
		if last := work.LastTry(); wanted && (last == nil || r.isGivenUp(last)) {
			if err := r.offerTo(work, letter, now); err != nil {
				return err
			}
		}
		if !wanted && !slices.ContainsFunc(work.Tries, func(t peer.Try) bool { return !t.IsOver() && r.reachableHost(t.Key) != nil }) { // no host has it
			delete(r.leases.tries, id)
			if err := r.outbox.RemoveTries(id); err != nil {
				return err
			}
			continue
		}
		// Recall takes back an offer that no session has. Late tells one that has it, at its end.
		for i, t := range work.Tries {
			late := i < len(work.Tries)-1 || !wanted // another host has it, or nobody wants it
			if ask && !t.IsOver() {
				questions[t.Key] = append(questions[t.Key], peer.Lease{Letter: t.Letter, Template: work.Template, Recall: late || work.Late != "", Late: late})
			}
		}
	}
	for key, q := range questions {
		if err := r.askLeases(key, q); err != nil {
			return err
		}
	}
	return nil
}

// reachableHost returns a host, this one included, or nil if nothing can be sent to it any more.
func (r *Relay) reachableHost(key string) *remoteHost {
	if key == r.self.Key {
		return &remoteHost{host: r.self}
	}
	if m := r.remotes[key]; m != nil && !m.trust.Revoked {
		return m
	}
	return nil
}

// isWorkDone reports whether a work is done: by the last host that got it or, if no session has it
// from that last offer, by an earlier host that was taken for lost (w.Late).
func (r *Relay) isWorkDone(w *peer.Tries) bool {
	last := w.LastTry()
	return last != nil && (last.State == peer.Finished || w.Late != "" && r.isGivenUp(last))
}

// isGivenUp reports whether no session of an offer's host has the work or will get it, as far as
// is known: a host that was not heard for too long has lost it.
func (r *Relay) isGivenUp(t *peer.Try) bool {
	m := r.reachableHost(t.Key)
	return t.IsOver() || m == nil || m.silence > r.LostAfter
}

// offerTo offers a work, whose text is in letter, to the host that has most free sessions for it,
// if there is one, and notes that in work.Tries. It delivers an offer to this host itself at once.
func (r *Relay) offerTo(work *peer.Tries, letter peer.Letter, now time.Time) error {
	text, err := atomicfile.IfExists(r.outbox.Read(letter))
	if err != nil || text == nil {
		return err
	}
	if work.Template == "" {
		if work.Template, err = peer.TemplateOf(text); err != nil {
			r.Warn(fmt.Errorf("cannot offer %s: %w", letter.ID, err))
			return nil
		}
	}
	to := r.findFreeHost(work, now)
	if to == nil {
		return nil
	}
	host := to.host.Name
	offer, err := r.outbox.NewLetter(host, peer.Offer, now)
	if err != nil {
		return err
	}
	// The new offer takes the place of those to the same host that are over.
	again := 0 // how often that host has declined the work
	tries := slices.DeleteFunc(slices.Clone(work.Tries), func(t peer.Try) bool {
		is := t.IsOver() && t.Key == to.host.Key
		if is && t.State == peer.Declined {
			again = t.Again + 1
		}
		return is
	})
	tries = append(tries, peer.Try{Host: host, Key: to.host.Key, Letter: offer.ID, At: now, State: peer.Offered, Again: again})
	if err := r.outbox.SetTries(letter.ID, peer.Tries{Template: work.Template, Tries: tries, Late: work.Late}); err != nil {
		return err
	}
	work.Tries = tries // now the host counts as having it, even if the next step fails
	if to.host.Key != r.self.Key {
		return r.outbox.PutAs(offer, text)
	}
	answer := peer.Try{Letter: offer.ID, State: peer.Open}
	err = r.Kinds[peer.Offer].Deliver(Sender{Host: r.self, Sent: now}, offer, bytes.NewReader(text))
	if refused := new(Refused); errors.As(err, &refused) {
		answer.State, answer.Reason = peer.Declined, refused.Reason
	} else if err != nil {
		return err
	}
	return r.recordAnswer(r.self.Key, answer)
}

// findFreeHost returns the host with the most sessions that can get this work, or nil: this host, or
// one that is there, takes work and has said how to seal letters to it (Box).
func (r *Relay) findFreeHost(w *peer.Tries, now time.Time) (to *remoteHost) {
	most := 0
	for _, m := range r.remotes {
		if m.trust.Revoked || m.host.Box == "" || m.host.IsAway(now) || m.host.Denies(peer.Work) {
			continue
		}
		agents, err := r.hosts.Agents(m.host, now)
		r.Warn(err)
		if n := r.countFree(w, m.host.Key, agents, now); n > most {
			to, most = m, n
		}
	}
	own := &remoteHost{host: r.self}
	own.host.LastSeen = now
	if n := r.countFree(w, r.self.Key, peer.ParseAgents(own.host, r.states, now), now); n > most {
		to = own
	}
	return to
}

// countFree returns how many sessions of the host with key could get a work: those that run and
// have its template, less this host's open offers to it. After a refusal it is 0 for a while.
func (r *Relay) countFree(w *peer.Tries, key string, agents []peer.Agent, now time.Time) (n int) {
	for _, a := range agents {
		if a.Template == w.Template && a.Routable && a.Runs() {
			n++
		}
	}
	for _, other := range r.leases.tries {
		for _, t := range other.Tries {
			switch {
			case t.Key != key:
			case other == w && t.State == peer.Declined && now.Sub(t.At).Abs() < refusalWait(t.Again): // mutant never: TestAnyRefused
				return 0
			case other.Template == w.Template && !t.IsOver():
				n--
			}
		}
	}
	return n
}

// refusalWait is how long a host that refused work is not asked again: ten seconds, and twice as
// long each time. Its person can allow more meanwhile, or make the template.
func refusalWait(again int) time.Duration { return min(10*time.Second<<min(again, 10), LostAfter) }

// askLeases asks the host with key where the works are that it was offered; each question is a
// Lease. If that is this host itself, it takes the answers at once.
func (r *Relay) askLeases(key string, q []peer.Lease) error {
	to := r.reachableHost(key)
	if to == nil {
		return nil
	}
	if key == r.self.Key {
		for _, l := range q {
			t, err := r.FindWork(r.self, l)
			if t.State == peer.Missing { // killed before Deliver: recordAnswer ends the offer
				t.State = peer.Offered
			}
			if err != nil {
				r.Warn(err)
			} else if err := r.recordAnswer(key, t); err != nil {
				return err
			}
		}
		return nil
	}
	for part := range slices.Chunk(q, mostLeases) {
		if err := r.sendJSON(to, "ask", "leases", "", part); err != nil {
			return err
		}
	}
	return nil
}

// answerLeases tells a host where the work is that it gave. Work that it takes back before the
// letter with it arrived here is refused when it arrives.
func (r *Relay) answerLeases(from *remoteHost, body []byte) error {
	var q []peer.Lease
	if json.Unmarshal(body, &q) != nil || len(q) > mostLeases || r.FindWork == nil {
		return refusal("a question that cannot be read")
	}
	var answers []peer.Try
	for _, l := range q {
		if peer.CheckID(l.Letter) != nil {
			continue
		}
		t, err := r.heldHere(from, l)
		if err != nil {
			return err
		}
		if t.State != "" {
			answers = append(answers, t)
		}
	}
	return r.sendJSON(from, "chunk", "leases", "", answers)
}

// heldHere returns where a work is that another host offered to this one: its letter has not come
// (Offered), was refused (Declined), or what FindWork finds. With l.Recall, a letter that has not
// come is refused from now on. A Try without a state is no answer yet: its giver asks again.
func (r *Relay) heldHere(from *remoteHost, l peer.Lease) (peer.Try, error) {
	reason, came := from.letters.arrived[l.Letter]
	if !came && l.Recall {
		if !from.letterRate.AllowN(r.Now(), 1) {
			return peer.Try{}, nil
		}
		if t, err := r.FindWork(from.host, l); err != nil || t.State != peer.Missing { // it came: a kill prevented its note
			return t, err
		}
		came, reason = true, "it was taken back"
		if err := from.letters.addLetter(l.Letter, reason); err != nil {
			return peer.Try{}, err
		}
	}
	switch {
	case !came:
		return peer.Try{Letter: l.Letter, State: peer.Offered}, nil
	case reason != "":
		return peer.Try{Letter: l.Letter, State: peer.Declined, Reason: reason}, nil
	}
	return r.FindWork(from.host, l)
}

// takeLeases takes a host's answers to askLeases.
func (r *Relay) takeLeases(from *remoteHost, body []byte) error {
	var answers []peer.Try
	if json.Unmarshal(body, &answers) != nil || len(answers) > mostLeases {
		return refusal("an answer that cannot be read")
	}
	for _, t := range answers {
		if err := r.recordAnswer(from.host.Key, t); err != nil {
			return err
		}
	}
	return nil
}

// recordAnswer records what the host with key says of a work that it was offered: answer has the
// letter of the offer and its state. An answer that says nothing new, or is about an offer that is
// over, changes nothing. A host that finished an offer before the last one becomes the work's Late.
func (r *Relay) recordAnswer(key string, answer peer.Try) error {
	for id, w := range r.leases.tries {
		i := slices.IndexFunc(w.Tries, func(t peer.Try) bool { return t.Key == key && t.Letter == answer.Letter })
		if i < 0 {
			continue
		}
		t := &w.Tries[i]
		offer := peer.Letter{Host: t.Host, ID: t.Letter, Kind: peer.Offer}
		if answer.State == peer.Offered && t.State == peer.Offered && !atomicfile.Exists(r.outbox.Path(offer)) {
			answer.State = peer.Recalled // a kill came before it was sent
		}
		if t.IsOver() || answer.State == peer.Offered || t.State == answer.State && t.Session == answer.Session {
			return nil
		}
		if !slices.Contains(peer.OfferStates, answer.State) {
			r.countRefused("an answer that cannot be read")
			return nil
		}
		t.State, t.Session, t.Reason = answer.State, fmt.Sprintf("%.128s", answer.Session), fmt.Sprintf("%.1000s", answer.Reason)
		if t.State == peer.Finished && i < len(w.Tries)-1 { // mutant never: TestAnyLate
			w.Late = t.Host
		}
		return r.outbox.SetTries(id, *w)
	}
	return nil
}
