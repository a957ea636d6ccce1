package retention

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gt/lib/log/eventlog"
)

// Tally is what the lines of a log come to.
type Tally struct {
	Events int   // whole lines that are events
	Other  int   // whole lines that are none
	Bytes  int64 // of all whole lines
	Oldest time.Time
	Newest time.Time
	Ages   Ages

	policy *Policy
	now    time.Time
	types  map[string]*Kind
}

// Ages is how many events are how old.
type Ages struct {
	Day   int `json:"0-1d"`
	Week  int `json:"1-7d"`
	Month int `json:"7-30d"`
	Older int `json:"30d+"`
}

// Kind is what the events of one type come to.
type Kind struct {
	Type    string
	TTL     time.Duration
	Curve   Curve
	Events  int
	Bytes   int64
	Expired int       // that have outlived their TTL
	Waning  int       // that are worth less than a quarter, and something
	Oldest  time.Time // zero where none has a time
	Value   float64   // of all of them together
	Lowest  float64   // of those that have not expired, 1 where there are none
}

// Mean is what an event of this type is worth on average.
func (k *Kind) Mean() float64 {
	if k.Events == 0 {
		return 0
	}
	return k.Value / float64(k.Events)
}

// waning is the value under which an event has lost most of its worth.
const waning = 0.25

// maxKinds bounds how many types are told apart; a hostile log has more, which
// are counted as "other".
const maxKinds = 1000

// NewTally counts by a policy.
func NewTally(p *Policy, now time.Time) *Tally {
	return &Tally{policy: p, now: now, types: map[string]*Kind{}}
}

// Add counts a line.
func (t *Tally) Add(h eventlog.Head, size int64) {
	t.Bytes += size
	if h.Type == "" || h.Time.IsZero() {
		t.Other++
		return
	}
	t.Events++
	earliest(&t.Oldest, h.Time)
	if h.Time.After(t.Newest) {
		t.Newest = h.Time
	}
	age := t.now.Sub(h.Time)
	switch day := 24 * time.Hour; {
	case age < day:
		t.Ages.Day++
	case age < 7*day:
		t.Ages.Week++
	case age < 30*day:
		t.Ages.Month++
	default:
		t.Ages.Older++
	}
	k := t.types[h.Type]
	if k == nil {
		name := h.Type
		if len(t.types) >= maxKinds {
			name = "other"
		}
		if k = t.types[name]; k == nil {
			k = &Kind{Type: name, TTL: t.policy.TTL(name), Curve: CurveOf(name), Lowest: 1}
			t.types[name] = k
		}
	}
	k.Events++
	k.Bytes += size
	earliest(&k.Oldest, h.Time)
	value := k.Curve.Value(age, k.TTL)
	k.Value += value
	switch {
	case t.policy.Expired(h.Type, age):
		k.Expired++
	case value < waning:
		k.Waning++
		fallthrough
	default:
		k.Lowest = min(k.Lowest, value)
	}
}

// Kinds returns the types, in the order of their names.
func (t *Tally) Kinds() []*Kind {
	return slices.SortedFunc(maps.Values(t.types), func(a, b *Kind) int { return cmp.Compare(a.Type, b.Type) })
}

// Fading returns the types, those first whose events are worth the least.
func (t *Tally) Fading() []*Kind {
	return slices.SortedFunc(maps.Values(t.types), func(a, b *Kind) int {
		return cmp.Or(cmp.Compare(a.Mean(), b.Mean()), cmp.Compare(a.Type, b.Type))
	})
}

func earliest(to *time.Time, at time.Time) {
	if to.IsZero() || at.Before(*to) {
		*to = at
	}
}
