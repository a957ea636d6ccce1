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

// Due reports whether the interval has passed since the last prune. A last prune
// in the future comes from a wrong clock, and does not prevent one now.
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

// MendState is LoadState for a caller who holds the lock: it sets aside what is unusable.
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

// Lock takes the lock for changing the town's policy or state, pruning or rotating;
// it returns flock.ErrBusy while another process holds it. It makes the town's folder
// where that is missing. The folder must be the user's own: its owner could neither
// read nor lock what root left there. Lock clears away the half-written files of
// processes that were killed.
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
