package peer

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/state/mail"
	"gt/lib/sys/atomicfile"
)

// AnyHost is the host in TEMPLATE@any: one session of any host. The work is a letter of the
// outbox for that host, and stays until a session has done it. The giver's relay offers it
// to one host at a time.
const AnyHost = "any"

// Offer is the kind of a letter with work that its host holds only as long as it is heard.
const Offer = "offer"

// States of an offer.
const (
	Offered  = "offered" // the host has not taken it yet
	Open     = "open"    // no session there has claimed it
	Claimed  = "claimed"
	Blocked  = "blocked" // the session that had claimed it is gone; a person there decides
	Finished = "done"
	Declined = "refused"  // the host does not take it
	Recalled = "recalled" // no session there gets it any more
	Missing  = "missing"  // the host had it, and cannot find it
)

// OfferStates are what a host can say of an offer that it has.
var OfferStates = []string{Open, Claimed, Blocked, Finished, Declined, Recalled, Missing}

// TemplateOf returns the template that a work for any host is for.
func TemplateOf(text []byte) (string, error) {
	n, err := mail.Parse(bytes.NewReader(text))
	template, _, ok := SplitAddress(n.To)
	if err == nil && !ok {
		err = fmt.Errorf("invalid recipient '%.80s'", n.To)
	}
	return template, err
}

// Try is an offer of work to a host.
type Try struct {
	Host    string    `json:"host"`
	Key     string    `json:"key"` // of the host
	Letter  string    `json:"letter"`
	At      time.Time `json:"at"`
	State   string    `json:"state"`
	Session string    `json:"session,omitempty"` // the one that has or had claimed it
	Reason  string    `json:"reason,omitempty"`  // of a refusal
	Again   int       `json:"again,omitempty"`   // how often the host had refused it before
}

// IsOver reports whether no session of the host has the work or will get it.
func (t Try) IsOver() bool {
	return t.State == Finished || t.State == Declined || t.State == Recalled
}

// Lease asks a host where the work is that it was offered.
type Lease struct {
	Letter   string `json:"letter"`
	Template string `json:"template"`
	Recall   bool   `json:"recall,omitempty"` // it is taken back, unless a session has it
	Late     bool   `json:"late,omitempty"`   // a session that has it is told, once it closes it
}

// Tries are the offers of a work, the one that counts last. Any host before it had the work
// and was not heard for too long.
type Tries struct {
	Template string `json:"template"`
	Tries    []Try  `json:"tries"`
	// Late names a host that was not heard, and had done the work all the same.
	Late string `json:"late,omitempty"`
}

// LastTry returns the offer that counts, or nil.
func (t *Tries) LastTry() *Try {
	if len(t.Tries) == 0 {
		return nil
	}
	return &t.Tries[len(t.Tries)-1]
}

func (o Outbox) triesPath(id string) string { return o.state.Path("relay", "any", id+".json") }

// Tries returns to which hosts the work of a letter for any host was offered. id is the letter's.
func (o Outbox) Tries(id string) (Tries, error) {
	var t Tries
	if err := CheckID(id); err != nil {
		return t, err
	}
	err := readIfExists(o.triesPath(id), &t)
	return t, err
}

// SetTries stores the offers of a work, synced to disk: an offer counts once it is there.
func (o Outbox) SetTries(id string, t Tries) error {
	return o.state.WriteJSON(o.triesPath(id), t, atomicfile.Synced)
}

// RemoveTries forgets the offers of a work.
func (o Outbox) RemoveTries(id string) error { return atomicfile.Remove(o.triesPath(id)) }

// AllTries returns the offers of all works that were offered, by the IDs of their letters.
func (o Outbox) AllTries() (map[string]*Tries, error) {
	all := map[string]*Tries{}
	entries, err := atomicfile.Entries(o.state.Path("relay", "any"))
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".json"); ok && CheckID(id) == nil {
			t, failed := o.Tries(id)
			all[id], err = &t, errors.Join(err, failed)
		}
	}
	return all, err
}
