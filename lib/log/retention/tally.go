package retention

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gt/lib/log/eventlog"
)

// Tally sums up the lines of a log.
type Tally struct {
	Events int   // complete lines that are events
	Other  int   // other complete lines
	Bytes  int64 // of all complete lines
	Oldest time.Time
	Newest time.Time
	Ages   Ages

	policy *Policy
	now    time.Time
	types  map[string]*Kind
}

// Ages counts events by age.
type Ages struct {
	Day   int `json:"0-1d"`
	Week  int `json:"1-7d"`
	Month int `json:"7-30d"`
	Older int `json:"30d+"`
}

// Kind sums up the events of a type.
type Kind struct {
	Type    string
	TTL     time.Duration
	Curve   Curve
	Events  int
	Bytes   int64
	Expired int       // past their TTL
	Waning  int       // worth more than nothing, but less than waningBelow
	Oldest  time.Time // zero if none has a time
	Value   float64   // sum
	Lowest  float64   // of those that have not expired; 1 if there are none
}

// Mean returns the average value of an event.
func (k *Kind) Mean() float64 { return k.Value / float64(k.Events) }

const waningBelow = 0.25 // an event is worth 1 at first, and 0 at its TTL

// maxKinds bounds the types, because a hostile log can have any number. The rest count as
// "other".
const maxKinds = 1000

func NewTally(p *Policy, now time.Time) *Tally {
	return &Tally{policy: p, now: now, types: map[string]*Kind{}}
}

// AddLine counts a line of size bytes. One without a type or a time is no event (Tally.Other).
func (t *Tally) AddLine(h eventlog.Head, size int64) {
	t.Bytes += size
	if h.Type == "" || h.Time.IsZero() {
		t.Other++
		return
	}
	t.Events++
	keepEarliest(&t.Oldest, h.Time)
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
	keepEarliest(&k.Oldest, h.Time)
	value := k.Curve.Value(age, k.TTL)
	k.Value += value
	switch {
	// One that counts as "other" expires by its own type.
	case t.policy.IsExpired(h.Type, age):
		k.Expired++
	case value < waningBelow:
		k.Waning++
		fallthrough
	default:
		k.Lowest = min(k.Lowest, value)
	}
}

// Kinds returns the types, sorted by name.
func (t *Tally) Kinds() []*Kind {
	return slices.SortedFunc(maps.Values(t.types), func(a, b *Kind) int { return cmp.Compare(a.Type, b.Type) })
}

// KindsByValue returns the types, sorted by mean value.
func (t *Tally) KindsByValue() []*Kind {
	return slices.SortedFunc(maps.Values(t.types), func(a, b *Kind) int {
		return cmp.Or(cmp.Compare(a.Mean(), b.Mean()), cmp.Compare(a.Type, b.Type))
	})
}

func keepEarliest(to *time.Time, at time.Time) {
	if to.IsZero() || at.Before(*to) {
		*to = at
	}
}
