// Package checkpoint keeps what a session saves while it works, so that its
// successor has it when the session dies without a word. The file is
// <home>/.polecat-checkpoint.json, which Gas Town reads and writes too
// (docs/checkpoint.md).
//
// Where two sessions of one home live at once, the second's checkpoint is
// <home>/.runtime/checkpoint-<id>.json, so neither overwrites the other's.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/git"
	"gt/lib/home"
	"gt/lib/session"
	"gt/lib/term"
)

// File is the checkpoint's name in the home.
const File = ".polecat-checkpoint.json"

// StaleAfter is the age from which on a checkpoint says nothing any more.
const StaleAfter = 24 * time.Hour

// maxSize bounds a checkpoint, which lists the files that differ.
const maxSize = 4 << 20

// Checkpoint is what a session saves. Fields that are empty do not stand in
// the file, and fields that a newer version wrote survive.
type Checkpoint struct {
	MoleculeID    string     `json:"molecule_id,omitempty"`
	CurrentStep   string     `json:"current_step,omitempty"`
	StepTitle     string     `json:"step_title,omitempty"`
	ModifiedFiles []string   `json:"modified_files,omitempty"` // as git.Quote writes them
	LastCommit    string     `json:"last_commit,omitempty"`
	Branch        string     `json:"branch,omitempty"`
	HookedBead    string     `json:"hooked_bead,omitempty"`
	Timestamp     time.Time  `json:"timestamp"`
	SessionID     session.ID `json:"session_id,omitempty"`
	Notes         string     `json:"notes,omitempty"`
	LastAnswer    string     `json:"last_answer,omitempty"` // the agent's, at its last stop
	TakenBy       session.ID `json:"taken_by,omitempty"`    // the session that was told of it

	path    string
	unknown map[string]json.RawMessage
}

// plain is Checkpoint without its methods.
type plain Checkpoint

// UnmarshalJSON reads a checkpoint and keeps the fields that it does not know.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var p plain
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &p.unknown); err != nil {
		return err
	}
	for f := range reflect.TypeFor[plain]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		delete(p.unknown, name)
	}
	*c = Checkpoint(p)
	return nil
}

// MarshalJSON writes the checkpoint and the unknown fields after it.
func (c *Checkpoint) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal((*plain)(c))
	if err != nil || len(c.unknown) == 0 {
		return data, err
	}
	extra, err := json.Marshal(c.unknown)
	if err != nil {
		return nil, err
	}
	return append(append(data[:len(data)-1], ','), extra[1:]...), nil
}

// Stale says whether the checkpoint is too old to go by.
func (c *Checkpoint) Stale(now time.Time) bool { return now.Sub(c.Timestamp) >= StaleAfter }

// List returns the checkpoints that lie in the home, the newest first. One
// that cannot be parsed is set aside and reported; the others are returned all
// the same.
func List(h home.Home) ([]*Checkpoint, error) {
	paths := []string{filepath.Join(h.Dir, File)}
	entries, err := os.ReadDir(h.Runtime())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Error("read", h.Runtime(), err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "checkpoint-") && strings.HasSuffix(e.Name(), ".json") {
			paths = append(paths, h.Path(e.Name()))
		}
	}
	var all []*Checkpoint
	var failed error
	for _, path := range paths {
		c, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b *Checkpoint) int { return b.Timestamp.Compare(a.Timestamp) })
	return all, failed
}

func read(path string) (*Checkpoint, error) {
	data, err := atomicfile.Read(path, maxSize)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{path: path}
	if err := json.Unmarshal(data, c); err != nil || c.Timestamp.IsZero() {
		aside, aerr := atomicfile.SetAside(path)
		if aerr != nil {
			return nil, aerr
		}
		return nil, fmt.Errorf("the checkpoint is no JSON that we understand and was set aside as '%s'", aside)
	}
	c.path = path
	return c, nil
}

// Of returns the checkpoint that the session wrote last, nil where there is
// none.
func Of(h home.Home, id session.ID) (*Checkpoint, error) {
	all, err := List(h)
	for _, c := range all {
		if c.SessionID == id {
			return c, err
		}
	}
	return nil, err
}

// Write saves the checkpoint of c.SessionID. It survives a loss of power. The
// caller holds the home's lock.
func Write(h home.Home, c *Checkpoint) error {
	path := filepath.Join(h.Dir, File)
	store := session.Store{Home: h}
	if old, err := read(path); err == nil && old.SessionID != c.SessionID {
		if r, err := store.Get(old.SessionID); err == nil && r != nil && r.Live() {
			path = h.Path("checkpoint-" + string(c.SessionID) + ".json")
		}
	}
	if c.path != "" && c.path != path && c.path != filepath.Join(h.Dir, File) {
		path = c.path // it has a place of its own already
	}
	if filepath.Base(path) == File {
		// With its temporary file. A worktree that shows them is no reason not to
		// save.
		_ = git.Exclude(h.Dir, "*"+File+"*")
	}
	return c.put(path)
}

// Take notes that a successor was told of the checkpoint.
func Take(c *Checkpoint, by session.ID) error {
	c.TakenBy = by
	return c.put(c.path)
}

func (c *Checkpoint) put(path string) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	c.path = path
	return atomicfile.Write(path, append(data, '\n'), atomicfile.Synced)
}

// Clear removes the session's checkpoint; without an id the home's.
func Clear(h home.Home, id session.ID) error {
	all, err := List(h)
	for _, c := range all {
		if c.SessionID == id || id == "" {
			err = errors.Join(err, atomicfile.Remove(c.path))
		}
	}
	return err
}

// Text says what the checkpoint holds, a line each.
func (c *Checkpoint) Text() string {
	var b strings.Builder
	say := func(what, text string) {
		if text = strings.TrimSpace(term.CleanText(text)); text != "" {
			fmt.Fprintf(&b, "- %s: %s\n", what, strings.ReplaceAll(text, "\n", "\n  "))
		}
	}
	say("written", c.Timestamp.UTC().Format("2006-01-02 15:04 MST"))
	say("molecule", c.MoleculeID)
	step := c.CurrentStep
	if c.StepTitle != "" {
		step = strings.TrimSpace(step + " (" + c.StepTitle + ")")
	}
	say("step", step)
	say("notes", c.Notes)
	say("hooked", c.HookedBead)
	say("branch", c.Branch)
	say("last commit", c.LastCommit)
	say("the agent's last words", c.LastAnswer)
	if n := len(c.ModifiedFiles); n > 0 {
		shown := c.ModifiedFiles[:min(n, 20)]
		text := strings.Join(shown, ", ")
		if n > len(shown) {
			text += fmt.Sprintf(" and %d more", n-len(shown))
		}
		say(fmt.Sprintf("%d modified %s", n, plural(n, "file")), text)
	}
	return b.String()
}

// Found is one line about the checkpoint: "Found checkpoint from 5m ago:
// molecule mol-7, step p2, 3 modified files".
func (c *Checkpoint) Found(now time.Time) string {
	text := fmt.Sprintf("Found checkpoint from %s ago:", ago(now.Sub(c.Timestamp)))
	if c.MoleculeID != "" {
		text += " molecule " + c.MoleculeID + ","
	}
	if c.CurrentStep != "" {
		text += " step " + c.CurrentStep + ","
	}
	return term.Clean(fmt.Sprintf("%s %d modified %s", text, len(c.ModifiedFiles), plural(len(c.ModifiedFiles), "file")))
}

func ago(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}
