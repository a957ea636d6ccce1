// Package retention says how long events are kept and how much they are worth until then:
// Gas Town's Key Record Chronicle.
//
// Each type of event has a time to live (TTL) and a curve by which its value falls from 1
// to 0 over that time. After its TTL an event may be pruned.
package retention

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/duration"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/openjson"
)

// Policy says how long events are kept. Its file is <town>/.krc.yaml, in Gas Town's format:
// JSON, which is YAML too, with durations in nanoseconds. Texts such as "3d" or "12h" are
// accepted. What the file leaves out is as in Default.
type Policy struct {
	// DefaultTTL is for types that no pattern matches.
	DefaultTTL TTL `json:"default_ttl"`
	// TTLs is by type. A * in a type matches any characters.
	TTLs map[string]TTL `json:"ttls"`
	// Interval is the minimum time between automatic prunes.
	Interval TTL `json:"prune_interval"`
	// Keep is how many events stay regardless of their age.
	Keep int `json:"min_retain_count"`

	unknown openjson.Unknown
}

// TTL is a positive duration.
type TTL time.Duration

func (t TTL) String() string { return duration.Format(time.Duration(t)) }

// MarshalJSON writes nanoseconds, as Gas Town does.
func (t TTL) MarshalJSON() ([]byte, error) { return json.Marshal(int64(t)) }

// UnmarshalJSON reads nanoseconds, or a text such as "3d".
func (t *TTL) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return t.UnmarshalText([]byte(text))
	}
	var ns int64
	if err := json.Unmarshal(data, &ns); err != nil {
		return err
	}
	*t = TTL(ns)
	return t.check()
}

func (t *TTL) UnmarshalText(text []byte) error {
	d, err := duration.Parse(string(text))
	if err != nil {
		return err
	}
	*t = TTL(d)
	return t.check()
}

func (t TTL) check() error {
	if t <= 0 {
		return errors.New("a time to live must be longer than zero")
	}
	return nil
}

const day = TTL(24 * time.Hour)

// Default returns the policy of a town without a file.
func Default() Policy {
	return Policy{
		DefaultTTL: 7 * day,
		Interval:   TTL(time.Hour),
		Keep:       100,
		TTLs: map[string]TTL{
			"patrol_*": day, "polecat_checked": day, "polecat_nudged": day,
			"session_start": 3 * day, "session_resume": 3 * day, "session_chain": 3 * day, "session_end": 3 * day, "nudge": 3 * day,
			"handoff": 7 * day,
			"hook":    14 * day, "unhook": 14 * day, "sling": 14 * day, "done": 14 * day,
			"mail": 30 * day, "session_death": 30 * day, "merge_*": 30 * day,
			"mass_death":  90 * day,
			"record_head": 3650 * day, // as long as the record may be looked at
		},
	}
}

// TTL returns how long events of a type are kept. An exact type counts before the longest
// matching pattern, and that before the default.
func (p *Policy) TTL(kind string) time.Duration {
	return time.Duration(lookUpPattern(p.TTLs, kind, p.DefaultTTL))
}

func (p *Policy) IsExpired(kind string, age time.Duration) bool { return age > p.TTL(kind) }

// Curve is how the value of an event falls over its TTL.
type Curve string

const (
	Rapid  Curve = "rapid"  // halves with each quarter of the TTL: heartbeats, patrols
	Steady Curve = "steady" // linear: sessions, nudges, hand-overs
	Slow   Curve = "slow"   // halves in three quarters of the TTL: work, errors
	Flat   Curve = "flat"   // constant for nine tenths of the TTL, then linear: audits
)

var curves = map[string]Curve{
	"patrol_*": Rapid, "polecat_checked": Rapid, "polecat_nudged": Rapid, "heartbeat": Rapid, "ping": Rapid,
	"session_start": Steady, "session_resume": Steady, "session_chain": Steady, "session_end": Steady, "nudge": Steady, "handoff": Steady, "handoff_cancelled": Steady,
	"hook": Slow, "unhook": Slow, "sling": Slow, "done": Slow,
	"hook_error": Slow, "error": Slow, "recovery": Slow, "escalation": Slow,
	"mail": Flat, "session_death": Flat, "mass_death": Flat, "merge_*": Flat, "record_head": Flat,
}

// CurveOf returns the curve of a type, by default Steady.
func CurveOf(kind string) Curve { return lookUpPattern(curves, kind, Steady) }

// Value returns the value of an event of that age. An event in the future is worth 1.
func (c Curve) Value(age, ttl time.Duration) float64 {
	switch {
	case age <= 0:
		return 1
	case age >= ttl:
		return 0
	}
	x := float64(age) / float64(ttl)
	switch c {
	case Rapid:
		return math.Exp2(-4 * x) // it halves with each quarter of the TTL
	case Slow:
		return math.Exp2(-x / 0.75) // it halves in three quarters
	case Flat:
		if x < 0.9 {
			return 1
		}
		return (1 - x) / 0.1
	}
	return 1 - x // Steady
}

// MatchesType reports whether a pattern, which may contain *, matches a type.
func MatchesType(pattern, kind string) bool {
	ok, _ := path.Match(pattern, kind)
	return ok
}

// lookUpPattern returns the value of the exact key, else that of the longest pattern, else otherwise.
func lookUpPattern[T any](table map[string]T, kind string, otherwise T) T {
	if v, ok := table[kind]; ok {
		return v
	}
	best := ""
	for pattern := range table {
		// Of the same length the first in the alphabet counts, because a map has no order.
		longer := len(pattern) > len(best) || len(pattern) == len(best) && pattern < best
		if longer && strings.Contains(pattern, "*") && MatchesType(pattern, kind) {
			best = pattern
		}
	}
	if best == "" {
		return otherwise
	}
	return table[best]
}

// Patterns returns the keys of TTLs, sorted by TTL.
func (p *Policy) Patterns() []string {
	return slices.SortedFunc(maps.Keys(p.TTLs), func(a, b string) int {
		return cmp.Or(cmp.Compare(p.TTLs[a], p.TTLs[b]), cmp.Compare(a, b))
	})
}

// townTypes are the types that only the programs of a town log.
var townTypes = []string{"patrol_*", "polecat_checked", "polecat_nudged", "nudge", "sling", "merge_*", "mass_death"}

// OnlyInTowns reports whether a type only occurs in towns and has its default TTL.
func (p *Policy) OnlyInTowns(kind string) bool {
	return slices.Contains(townTypes, kind) && p.TTLs[kind] == Default().TTLs[kind]
}

var validPattern = lazyregexp.New(`^[A-Za-z0-9_.*-]{1,100}$`)

// Set sets the TTL of a type or pattern.
func (p *Policy) Set(kind string, ttl TTL) error {
	if !validPattern().MatchString(kind) {
		return fmt.Errorf("'%s' is not an event type: use letters, digits, _ and -, and * to match any characters", kind)
	}
	if err := ttl.check(); err != nil {
		return err
	}
	p.TTLs[kind] = ttl
	return nil
}

// Overrides returns the types and patterns that a pattern matches too but that count before
// it.
func (p *Policy) Overrides(kind string) []string {
	if !strings.Contains(kind, "*") {
		return nil
	}
	return slices.DeleteFunc(p.Patterns(), func(other string) bool {
		return other == kind || !MatchesType(kind, other) || strings.Contains(other, "*") && len(other) <= len(kind)
	})
}

// Unset resets a type to its default, and reports whether that changed anything.
func (p *Policy) Unset(kind string) bool {
	ttl, known := Default().TTLs[kind]
	was, had := p.TTLs[kind]
	if known {
		p.TTLs[kind] = ttl
		return was != ttl
	}
	delete(p.TTLs, kind)
	return had
}

func policyFile(root string, warn func(error)) atomicfile.Rolling {
	return rollingFile(filepath.Join(root, ".krc.yaml"), warn, parse)
}

func rollingFile[T any](path string, warn func(error), parse func([]byte) (T, error)) atomicfile.Rolling {
	return atomicfile.Rolling{Path: path, Limit: 1 << 20, Warn: warn, Valid: func(data []byte) error {
		_, err := parse(data)
		return err
	}}
}

// parse parses the policy's file. The TTLs of Default stay for types that it does not name.
func parse(data []byte) (Policy, error) {
	p := Default()
	unknown, err := openjson.Unmarshal(data, &p)
	if err != nil {
		return p, err
	}
	p.unknown = unknown
	if p.TTLs == nil { // "ttls": null
		p.TTLs = Default().TTLs
	}
	for kind := range p.TTLs {
		if !validPattern().MatchString(kind) {
			return p, fmt.Errorf("'%s' is not an event type", kind)
		}
	}
	if p.Keep < 0 || p.Keep > MaxKeep {
		return p, fmt.Errorf("min_retain_count must be a number from 0 to %d", MaxKeep)
	}
	return p, nil
}

// MaxKeep bounds Policy.Keep, because that many events are held in memory while the log is
// read.
const MaxKeep = 1_000_000

// Load returns the town's policy. It calls warn if the file is damaged and an earlier
// generation is used.
func Load(root string, warn func(error)) (Policy, error) {
	return policyOf(policyFile(root, warn).Read())
}

// Repair is Load, but also sets a damaged file aside. The caller holds the lock.
func Repair(root string, warn func(error)) (Policy, error) {
	return policyOf(policyFile(root, warn).Repair())
}

func policyOf(data []byte, err error) (Policy, error) {
	if data, err = atomicfile.IfExists(data, err); err != nil || data == nil {
		return Default(), err
	}
	return parse(data)
}

// Store writes the town's policy and keeps three earlier generations. The caller holds the
// lock (Lock).
func (p *Policy) Store(root string, warn func(error)) error {
	return writeRolling(policyFile(root, warn), p, p.unknown)
}

// writeRolling stores v as JSON, with the fields of the file that this version does not know.
func writeRolling(f atomicfile.Rolling, v any, unknown openjson.Unknown) error {
	data, err := openjson.Marshal(v, unknown)
	if err == nil {
		data, err = openjson.File(json.RawMessage(data))
	}
	if err != nil {
		return err
	}
	return f.Write(data, atomicfile.Synced)
}

// Reset removes the town's policy. The caller holds the lock.
func Reset(root string, warn func(error)) error { return policyFile(root, warn).Remove() }

// State is what the town remembers of its prunes: <town>/.krc-autoprune.json, in Gas Town's
// format.
type State struct {
	LastPrune  time.Time       `json:"last_prune_time"`
	LastResult json.RawMessage `json:"last_result,omitempty"`
	Prunes     int             `json:"prune_count"`
	Removed    int             `json:"total_pruned"`
	Freed      int64           `json:"total_bytes_freed"`

	unknown openjson.Unknown
}

// Result is the result of a prune in a State.
type Result struct {
	Processed int            `json:"events_processed"`
	Pruned    int            `json:"events_pruned"`
	Retained  int            `json:"events_retained"`
	Before    int64          `json:"bytes_before"`
	After     int64          `json:"bytes_after"`
	ByType    map[string]int `json:"pruned_by_type"`
	Carried   int            `json:"sessions_carried,omitempty"` // lines moved to the archive
	Duration  time.Duration  `json:"duration"`                   // in nanoseconds
}

// IsDue reports whether the interval has passed since the last prune. A last prune in the
// future, from a wrong clock, prevents none.
func (s *State) IsDue(now time.Time, interval TTL) bool {
	since := now.Sub(s.LastPrune)
	return since >= time.Duration(interval) || since < 0
}

// RecordPrune adds a prune that was made now. Only Store writes it to the file.
func (s *State) RecordPrune(now time.Time, r Result) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.LastPrune, s.LastResult = now.UTC(), data
	s.Prunes++
	s.Removed += r.Pruned
	s.Freed += r.Before - r.After
	return nil
}

func stateFile(root string, warn func(error)) atomicfile.Rolling {
	return rollingFile(filepath.Join(root, ".krc-autoprune.json"), warn, parseState)
}

func parseState(data []byte) (s State, err error) {
	s.unknown, err = openjson.Unmarshal(data, &s)
	return s, err
}

// LoadState returns the town's state, zero before the first prune.
func LoadState(root string, warn func(error)) (State, error) {
	return stateOf(stateFile(root, warn).Read())
}

// MendState is LoadState, but also sets a damaged file aside. The caller holds the lock.
func MendState(root string, warn func(error)) (State, error) {
	return stateOf(stateFile(root, warn).Repair())
}

func stateOf(data []byte, err error) (State, error) {
	if data, err = atomicfile.IfExists(data, err); err != nil || data == nil {
		return State{}, err
	}
	return parseState(data)
}

// Store writes the town's state and keeps three earlier generations. The caller holds the
// lock.
func (s *State) Store(root string, warn func(error)) error {
	return writeRolling(stateFile(root, warn), s, s.unknown)
}

// Lock takes the lock for changing the town's policy or state, pruning and rotating, or
// returns flock.ErrBusy. It creates the town's folder if necessary, and removes temporary
// files of killed processes. The folder must belong to the caller: otherwise root would
// leave files that its owner can neither read nor lock.
func Lock(root string) (*flock.Lock, error) {
	dir := atomicfile.ResolveLinks(root)
	if err := atomicfile.EnsurePrivateDir(dir); err != nil {
		return nil, err
	}
	lock, err := flock.Acquire(filepath.Join(root, ".krc.lock"), 500*time.Millisecond)
	if err == nil {
		atomicfile.Sweep(dir, time.Now())
	}
	return lock, err
}
