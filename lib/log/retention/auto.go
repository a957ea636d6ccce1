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

// Due reports whether the interval has passed since the last prune. A last prune in the
// future, from a wrong clock, prevents none.
func (s *State) Due(now time.Time, interval TTL) bool {
	since := now.Sub(s.LastPrune)
	return since >= time.Duration(interval) || since < 0
}

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

// LoadState returns the town's state, zero before the first prune.
func LoadState(root string, warn func(error)) (State, error) {
	return stateOf(stateFile(root, warn).Read())
}

// MendState is LoadState, but also sets a damaged file aside. The caller holds the lock.
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

// Store writes the town's state and keeps three earlier generations. The caller holds the
// lock.
func (s *State) Store(root string, warn func(error)) error {
	data, err := content(s, s.unknown)
	if err != nil {
		return err
	}
	return stateFile(root, warn).Write(data, atomicfile.Synced)
}

// Lock takes the lock for changing the town's policy or state, pruning and rotating, or
// returns flock.ErrBusy. It creates the town's folder if necessary, and removes temporary
// files of killed processes. The folder must belong to the caller: otherwise root would
// leave files that its owner can neither read nor lock.
func Lock(root string) (*flock.Lock, error) {
	dir := root
	if real, err := filepath.EvalSymlinks(root); err == nil {
		dir = real
	}
	if err := atomicfile.EnsurePrivateDir(dir); err != nil {
		return nil, err
	}
	lock, err := flock.Acquire(filepath.Join(root, ".krc.lock"), 500*time.Millisecond)
	if err == nil {
		atomicfile.Sweep(dir, time.Now())
	}
	return lock, err
}
