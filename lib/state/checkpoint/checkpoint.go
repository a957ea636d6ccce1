// Package checkpoint keeps what a session saves while it works, so that its
// successor has it when the session dies without a word. The file is
// checkpoint.json of what the state keeps of the home (docs/checkpoint.md).
//
// While that holds what another session of the home may still be missed for,
// a session's checkpoint is checkpoint-<id>.json beside it, so neither overwrites
// the other's.
//
// What the file held before stands beside it, three times, and is used where
// the file is no use (atomicfile.Rolling).
//
// In a trusted town Gas Town's file, .polecat-checkpoint.json in the role's
// folder, is kept the same, and one that another program wrote there is read as
// its claim.
package checkpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
	"gt/lib/text/term"
)

// File is the checkpoint's name in the home.
const File = "checkpoint.json"

// StaleAfter is the age from which on a checkpoint says nothing any more.
const StaleAfter = 24 * time.Hour

// forget is the age from which on a checkpoint beside the home's own is removed.
// It is far over StaleAfter: a clock that is wrong for an hour makes all of them
// stale, and must not cost any.
const forget = 7 * StaleAfter

// maxSize bounds a checkpoint, and maxFiles the bytes of it that list files.
const (
	maxSize  = 4 << 20
	maxFiles = 256 << 10
)

// Checkpoint is what a session saves. Fields that are empty do not stand in
// the file, and fields that a newer version wrote survive.
type Checkpoint struct {
	MoleculeID    string     `json:"molecule_id,omitempty"`
	CurrentStep   string     `json:"current_step,omitempty"`
	StepTitle     string     `json:"step_title,omitempty"`
	ModifiedFiles []string   `json:"modified_files,omitempty"` // as git.Quote writes them
	MoreFiles     int        `json:"more_files,omitempty"`     // modified ones that are not listed
	LastCommit    string     `json:"last_commit,omitempty"`
	Branch        string     `json:"branch,omitempty"`
	HookedBead    string     `json:"hooked_bead,omitempty"`
	Timestamp     time.Time  `json:"timestamp"`
	SessionID     session.ID `json:"session_id,omitempty"`
	Notes         string     `json:"notes,omitempty"`
	LastAnswer    string     `json:"last_answer,omitempty"` // the agent's, at its last stop
	TakenBy       session.ID `json:"taken_by,omitempty"`    // the session that was told of it

	// Claimed reports that another program of the town wrote it, or whoever else
	// can write to the role's folder.
	Claimed bool `json:"-"`

	// hidden reports that what another program of the town left is still to be
	// told of, and stands where this one would be shown.
	hidden bool

	file    atomicfile.Rolling
	unknown openjson.Unknown
}

// plain is Checkpoint without its methods.
type plain Checkpoint

// UnmarshalJSON reads a checkpoint and keeps the fields that it does not know.
func (c *Checkpoint) UnmarshalJSON(data []byte) (err error) {
	var p plain
	p.unknown, err = openjson.Unmarshal(data, &p)
	*c = Checkpoint(p)
	return err
}

// MarshalJSON writes the checkpoint and the unknown fields after it.
func (c *Checkpoint) MarshalJSON() ([]byte, error) {
	return openjson.Marshal((*plain)(c), c.unknown)
}

// Stale reports whether the checkpoint is too old to go by. One from so far in
// the future was written under another clock, and is no better.
func (c *Checkpoint) Stale(now time.Time) bool { return now.Sub(c.Timestamp).Abs() >= StaleAfter }

// List returns the checkpoints of the home and of its sessions, the newest first. It
// changes nothing: one that cannot be read or understood is reported, with what
// is used in its place, and the others are returned all the same.
func List(h home.Home) ([]*Checkpoint, error) { return list(h, atomicfile.Rolling.Read) }

// Repair is List, and sets right what cannot be read: it is set aside, and what
// is used in its place becomes the checkpoint. The caller holds the home's
// lock.
func Repair(h home.Home) ([]*Checkpoint, error) { return list(h, atomicfile.Rolling.Repair) }

// list reads the home's checkpoint, and of those beside it the ones that a record
// of a session vouches for, by their names: however many others lie there, none
// is looked at.
func list(h home.Home, load func(atomicfile.Rolling) ([]byte, error)) ([]*Checkpoint, error) {
	ids, failed := session.Store{Home: h}.IDs() // without them the home's own is still told
	paths := []string{h.Path(File)}
	for _, id := range ids {
		paths = append(paths, beside(h, id))
	}
	var all []*Checkpoint
	for _, path := range paths {
		c, err := read(rolling(path), load)
		if c != nil {
			all = append(all, c)
		}
		failed = errors.Join(failed, err)
	}
	c, err := claimed(h)
	if c != nil && !slices.ContainsFunc(all, func(o *Checkpoint) bool {
		return o.SessionID == c.SessionID && o.Timestamp.Equal(c.Timestamp)
	}) {
		all = append(all, c)
	}
	failed = errors.Join(failed, err)
	slices.SortStableFunc(all, func(a, b *Checkpoint) int { return b.Timestamp.Compare(a.Timestamp) })
	return all, failed
}

// claimed is the checkpoint that stands in the role's folder of a trusted town,
// nil where there is none.
func claimed(h home.Home) (*Checkpoint, error) {
	m := h.Mirror()
	data, err := m.Read(place.Checkpoint, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c, err := parse(data)
	if err != nil {
		return nil, atomicfile.Error("understand", m.Path(place.Checkpoint), err)
	}
	c.Claimed, c.TakenBy = true, ""
	if _, err := session.ParseID(string(c.SessionID)); err != nil {
		c.SessionID = ""
	}
	if told, err := atomicfile.Read(h.Path(toldFile), 4096); err == nil {
		if by, ok := strings.CutPrefix(string(told), c.claim()); ok {
			c.TakenBy = session.ID(strings.TrimSpace(by))
		}
	}
	return c, nil
}

// toldFile names the claim that a session was told of last, and the session.
const toldFile = "checkpoint.told"

// claim tells a claimed checkpoint from every other.
func (c *Checkpoint) claim() string {
	return string(c.SessionID) + " " + c.Timestamp.UTC().Format(time.RFC3339Nano) + "\n"
}

// beside is where a session's checkpoint is while the home's holds another's.
func beside(h home.Home, id session.ID) string { return h.Path(prefix + string(id) + ".json") }

const prefix = "checkpoint-"

// maxForget bounds how many files of the folder are looked at for what is to be
// forgotten, each time that a checkpoint is written.
const maxForget = 256

// sweep removes what is forgotten beside the home's checkpoint and nobody vouches
// for: the session's record went long ago.
func sweep(h home.Home, now time.Time) error {
	dir, err := os.Open(h.Runtime())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return atomicfile.Error("read", h.Runtime(), err)
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxForget)
	var failed error
	for _, name := range names {
		id, ok := strings.CutPrefix(strings.TrimSuffix(name, ".json"), prefix)
		if !ok || !strings.HasSuffix(name, ".json") || (session.Store{Home: h}).Exists(session.ID(id)) {
			continue
		}
		if info, err := os.Lstat(h.Path(name)); err == nil && info.Mode().IsRegular() && now.Sub(info.ModTime()) > forget {
			failed = errors.Join(failed, rolling(h.Path(name)).Remove())
		}
	}
	return failed
}

// rolling is the checkpoint of that path.
func rolling(path string) atomicfile.Rolling {
	return atomicfile.Rolling{Path: path, Limit: maxSize, Judge: atomicfile.Ours, Valid: func(data []byte) error {
		_, err := parse(data)
		return err
	}}
}

// read returns the checkpoint, nil where there is none, and what had to be got
// over.
func read(file atomicfile.Rolling, load func(atomicfile.Rolling) ([]byte, error)) (*Checkpoint, error) {
	var warned error
	file.Warn = func(err error) { warned = errors.Join(warned, err) }
	data, err := load(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, warned
	} else if err != nil {
		return nil, errors.Join(warned, err)
	}
	c, err := parse(data)
	if err != nil { // it was valid a moment ago
		return nil, atomicfile.Error("understand", file.Path, err)
	}
	file.Warn = nil
	c.file = file
	return c, warned
}

func parse(data []byte) (*Checkpoint, error) {
	var c Checkpoint
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if c.Timestamp.IsZero() {
		return nil, errors.New("it has no timestamp")
	}
	return &c, nil
}

// Open returns the checkpoint of a session, to be changed and written: what
// the session wrote last, or a new one. What cannot be read is set aside, and
// what is forgotten beside the home's own file removed; an error says so, and a
// checkpoint is returned all the same. The caller holds the home's lock.
func Open(h home.Home, id session.ID, now time.Time) (*Checkpoint, error) {
	all, err := Repair(h)
	err = errors.Join(err, sweep(h, now))
	path := h.Path(File)
	if info, lerr := os.Lstat(path); lerr == nil && !info.Mode().IsRegular() {
		path = beside(h, id) // it could not be set aside either
	}
	var own *Checkpoint
	hidden := false
	for _, c := range all {
		switch {
		case c.Claimed:
			hidden = c.TakenBy == "" && wanted(h, c, id, now)
		case c.SessionID == id && own == nil:
			own = c
		case filepath.Base(c.file.Path) != File:
			if _, pending := pending(h, c, id); !pending && now.Sub(c.Timestamp) > forget {
				err = errors.Join(err, c.file.Remove())
			}
		case wanted(h, c, id, now):
			path = beside(h, id)
		}
	}
	if own == nil {
		own = &Checkpoint{SessionID: id, file: rolling(path)}
	}
	own.hidden = hidden
	return own, err
}

// wanted reports whether somebody other than the session id may still need the
// checkpoint: the session that holds it, which is the one that was told of it
// or else the one that wrote it, has not ended, or nobody knows it and nobody
// was told.
func wanted(h home.Home, c *Checkpoint, id session.ID, now time.Time) bool {
	if c.Stale(now) {
		return false
	}
	known, pending := pending(h, c, id)
	return pending || !known && c.TakenBy == ""
}

// pending reports whether the session that holds the checkpoint, other than the
// session id, is known here and has not ended: nobody has found it dead, and
// nobody was told.
func pending(h home.Home, c *Checkpoint, id session.ID) (known, pending bool) {
	holder := cmp.Or(c.TakenBy, c.SessionID)
	if holder == id {
		return true, false
	}
	r, err := session.Store{Home: h}.Get(holder)
	switch {
	case err != nil:
		return true, true // for all we know
	case r == nil:
		return false, false
	}
	return true, !r.Ended()
}

// Write saves a checkpoint that Open returned. It survives a loss of power.
// The caller holds the home's lock.
func (c *Checkpoint) Write(h home.Home) error {
	return errors.Join(c.put(atomicfile.Synced), c.show(h))
}

// show puts the home's checkpoint where other programs of a town look for it.
func (c *Checkpoint) show(h home.Home) error {
	if filepath.Base(c.file.Path) != File || c.hidden {
		return nil
	}
	data, err := openjson.File(c)
	if err != nil {
		return err
	}
	return h.Mirror().Write(place.Checkpoint, data)
}

// Clean has every text of the checkpoint go through clean.
func (c *Checkpoint) Clean(clean func(string) string) {
	for _, text := range []*string{
		&c.MoleculeID, &c.CurrentStep, &c.StepTitle, &c.Branch, &c.HookedBead, &c.Notes, &c.LastAnswer,
	} {
		*text = clean(*text)
	}
	for i, name := range c.ModifiedFiles {
		c.ModifiedFiles[i] = clean(name)
	}
	c.unknown.Clean(clean)
}

// SetFiles lists the files that differ, as many as a checkpoint may hold, and
// counts the others.
func (c *Checkpoint) SetFiles(changes []git.Change) {
	c.ModifiedFiles, c.MoreFiles = nil, 0
	size := 0
	for i, change := range changes {
		name := git.Quote(change.Path)
		if size += len(name); size > maxFiles {
			c.MoreFiles = len(changes) - i
			return
		}
		c.ModifiedFiles = append(c.ModifiedFiles, name)
	}
}

// MaxSize bounds a checkpoint's file.
const MaxSize = maxSize

// Parse reads what a checkpoint's file holds.
func Parse(data []byte) (*Checkpoint, error) { return parse(data) }

// Newer reports whether the home has nothing from the checkpoint's session that is
// as new.
func (c *Checkpoint) Newer(h home.Home) bool {
	all, _ := List(h) // what cannot be read is no checkpoint
	return !slices.ContainsFunc(all, func(o *Checkpoint) bool {
		return !o.Claimed && o.SessionID == c.SessionID && !o.Timestamp.Before(c.Timestamp)
	})
}

// Bring puts a checkpoint from elsewhere into the home, where it is Newer than what
// its session has there. The caller holds the home's lock.
func (c *Checkpoint) Bring(h home.Home, now time.Time) error {
	own, err := Open(h, c.SessionID, now)
	if !own.Timestamp.Before(c.Timestamp) {
		return err
	}
	brought := *c
	brought.file, brought.Claimed = own.file, false
	return errors.Join(err, brought.put(atomicfile.Synced))
}

// Take notes that a successor was told of the checkpoint. One that is gone by
// now, another's, or told to another, is left as it is. The caller holds the home's lock.
func Take(h home.Home, c *Checkpoint, by session.ID) error {
	if c.Claimed {
		return atomicfile.Write(h.Path(toldFile), []byte(c.claim()+string(by)+"\n"), atomicfile.Unsynced)
	}
	now, err := read(c.file, atomicfile.Rolling.Read)
	if now == nil || now.SessionID != c.SessionID || now.TakenBy != c.TakenBy {
		return err
	}
	now.TakenBy = by
	return errors.Join(err, now.put(atomicfile.Unsynced)) // it was told; at the worst it is told again
}

// put writes the checkpoint. Also what was got over on the way is an error.
func (c *Checkpoint) put(d atomicfile.Durability) error {
	data, err := openjson.File(c)
	if err != nil {
		return err
	}
	var warned error
	file := c.file
	file.Warn = func(err error) { warned = errors.Join(warned, err) }
	return errors.Join(warned, file.Write(data, d))
}

// Clear removes the session's checkpoint; without an id the home's. What it
// held before goes first, so that nothing comes back. What cannot be read is
// set aside, for nobody knows whose it is, and warn is told. The caller holds
// the home's lock.
func Clear(h home.Home, id session.ID, warn func(error)) error {
	all, err := Repair(h)
	warn(err)
	var failed error
	for _, c := range all {
		if c.SessionID != id && id != "" {
			continue
		}
		if c.Claimed || filepath.Base(c.file.Path) == File {
			failed = errors.Join(failed, h.Mirror().Remove(place.Checkpoint))
		}
		if !c.Claimed {
			failed = errors.Join(failed, c.file.Remove())
		}
	}
	own := rolling(h.Path(File))
	if _, err := os.Lstat(own.Path); errors.Is(err, fs.ErrNotExist) {
		failed = errors.Join(failed, own.Remove()) // what is left of one that somebody else took away
	}
	return failed
}

// Said is what the session itself put into the checkpoint, a line each: its
// molecule, step and notes.
func (c *Checkpoint) Said() string {
	step := c.CurrentStep
	if c.StepTitle != "" {
		step = strings.TrimSpace(step + " (" + c.StepTitle + ")")
	}
	return item("molecule", c.MoleculeID) + item("step", step) + item("notes", c.Notes)
}

// item is one line of a list, or more for a text of several; nothing for none.
func item(what, text string) string {
	text = strings.TrimSpace(term.CleanText(text))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("- %s: %s\n", what, strings.ReplaceAll(text, "\n", "\n  "))
}

// Text says what the checkpoint holds, a line each.
func (c *Checkpoint) Text() string {
	var b strings.Builder
	say := func(what, text string) { b.WriteString(item(what, text)) }
	say("written", c.Timestamp.UTC().Format("2006-01-02 15:04 MST"))
	b.WriteString(c.Said())
	say("hooked", c.HookedBead)
	say("branch", c.Branch)
	say("last commit", c.LastCommit)
	say("the agent's last words", c.LastAnswer)
	if n := c.files(); n > 0 {
		shown := c.ModifiedFiles[:min(len(c.ModifiedFiles), 20)]
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
	return term.Clean(fmt.Sprintf("%s %d modified %s", text, c.files(), plural(c.files(), "file")))
}

func (c *Checkpoint) files() int { return len(c.ModifiedFiles) + max(c.MoreFiles, 0) }

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
