package retention

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/openjson"
)

// State is what the town remembers of its prunes, in <town>/.krc-autoprune.json,
// in Gas Town's form.
type State struct {
	LastPrune  time.Time       `json:"last_prune_time"`
	LastResult json.RawMessage `json:"last_result,omitempty"`
	Prunes     int             `json:"prune_count"`
	Removed    int             `json:"total_pruned"`
	Freed      int64           `json:"total_bytes_freed"`

	unknown openjson.Unknown
}

// Result is what a prune did, as the state has it.
type Result struct {
	Processed int            `json:"events_processed"`
	Pruned    int            `json:"events_pruned"`
	Retained  int            `json:"events_retained"`
	Before    int64          `json:"bytes_before"`
	After     int64          `json:"bytes_after"`
	ByType    map[string]int `json:"pruned_by_type"`
	Carried   int            `json:"sessions_carried,omitempty"` // lines, to the archive
	Duration  time.Duration  `json:"duration"`                   // in nanoseconds
}

// Due says whether the interval has passed since the last prune. A last prune
// in the future is a clock's mistake and hinders nobody.
func (s *State) Due(now time.Time, interval TTL) bool {
	since := now.Sub(s.LastPrune)
	return since >= time.Duration(interval) || since < 0
}

// Record adds a prune.
func (s *State) Record(now time.Time, r Result) error {
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
	return atomicfile.Rolling{Path: filepath.Join(root, ".krc-autoprune.json"), Limit: 1 << 20, Warn: warn, Valid: func(data []byte) error {
		_, err := parseState(data)
		return err
	}}
}

func parseState(data []byte) (s State, err error) {
	s.unknown, err = openjson.Unmarshal(data, &s)
	return s, err
}

// LoadState reads what the town remembers; nothing where no prune was yet.
func LoadState(root string, warn func(error)) (State, error) {
	return stateOf(stateFile(root, warn).Read())
}

// MendState is LoadState for who holds the lock: what is no use is set aside.
func MendState(root string, warn func(error)) (State, error) {
	return stateOf(stateFile(root, warn).Repair())
}

func stateOf(data []byte, err error) (State, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, nil
	} else if err != nil {
		return State{}, err
	}
	return parseState(data)
}

// Store writes what the town remembers, and keeps three generations of it. The
// caller holds the lock.
func (s *State) Store(root string, warn func(error)) error {
	data, err := content(s, s.unknown)
	if err != nil {
		return err
	}
	return stateFile(root, warn).Write(data, atomicfile.Synced)
}

// Lock is taken by who changes the town's policy or state, prunes or rotates.
// Another who comes meanwhile gets flock.ErrBusy. The town's folder is made
// where it is missing, and has to be the user's own: what root would leave in
// somebody else's, that user could neither read nor lock any more. What killed
// ones left half written in it is cleared away.
func Lock(root string) (*flock.Lock, error) {
	dir := root
	if real, err := filepath.EvalSymlinks(root); err == nil {
		dir = real
	}
	if err := atomicfile.Private(dir); err != nil {
		return nil, err
	}
	lock, err := flock.Acquire(filepath.Join(root, ".krc.lock"), 500*time.Millisecond)
	if err == nil {
		atomicfile.Sweep(dir, time.Now())
	}
	return lock, err
}
