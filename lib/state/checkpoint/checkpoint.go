// Package checkpoint keeps what a session saves while it works, for its successor if it dies
// without a hand-over. The file is checkpoint.json in the home's state (docs/checkpoint.md).
//
// While another session of the home may still need that file, a session writes
// checkpoint-<id>.json beside it. Each has three earlier generations (atomicfile.Rolling).
//
// In a trusted town, Gas Town's file .polecat-checkpoint.json in the role's folder is
// updated too. If another program wrote that file, it is a claim.
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
	"sort"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/count"
	"gt/lib/text/openjson"
	"gt/lib/text/term"
)

const File = "checkpoint.json"

// StaleAfter is the age from which a checkpoint is ignored.
const StaleAfter = 24 * time.Hour

// forget is the age at which a checkpoint beside the home's own is removed. A clock that is
// wrong for an hour can make all checkpoints stale, but must not delete them.
const forget = 7 * StaleAfter

// maxSize bounds a checkpoint, and maxFiles its list of files, in bytes.
const (
	maxSize  = 4 << 20
	maxFiles = 256 << 10
)

// Checkpoint is what a session saves. Empty fields are omitted. Fields of a newer gt survive.
type Checkpoint struct {
	MoleculeID    string     `json:"molecule_id,omitempty"`
	CurrentStep   string     `json:"current_step,omitempty"`
	StepTitle     string     `json:"step_title,omitempty"`
	ModifiedFiles []string   `json:"modified_files,omitempty"` // in the form of git.Quote
	MoreFiles     int        `json:"more_files,omitempty"`     // count of the unlisted ones
	LastCommit    string     `json:"last_commit,omitempty"`
	Branch        string     `json:"branch,omitempty"`
	HookedBead    string     `json:"hooked_bead,omitempty"`
	Timestamp     time.Time  `json:"timestamp"`
	SessionID     session.ID `json:"session_id,omitempty"`
	Notes         string     `json:"notes,omitempty"`
	LastAnswer    string     `json:"last_answer,omitempty"` // at its last stop
	TakenBy       session.ID `json:"taken_by,omitempty"`    // the session that was told about it

	// Claimed reports that it comes from the role's folder, where other programs can write.
	Claimed bool `json:"-"`

	// hidden reports that Gas Town's file holds a claim that no session was told about yet,
	// so that this checkpoint must not replace it.
	hidden bool

	file    atomicfile.Rolling
	unknown openjson.Unknown
}

type plain Checkpoint

// UnmarshalJSON keeps unknown fields.
func (c *Checkpoint) UnmarshalJSON(data []byte) (err error) {
	var p plain
	p.unknown, err = openjson.Unmarshal(data, &p)
	*c = Checkpoint(p)
	return err
}

// MarshalJSON writes the unknown fields last.
func (c *Checkpoint) MarshalJSON() ([]byte, error) {
	return openjson.Marshal((*plain)(c), c.unknown)
}

// Stale reports whether the checkpoint is too old to use. The same distance in the future,
// from a wrong clock, counts too.
func (c *Checkpoint) Stale(now time.Time) bool { return now.Sub(c.Timestamp).Abs() >= StaleAfter }

// List returns the checkpoints of the home and its sessions, newest first. If some are
// damaged, it returns the others and an error that names the replacement.
func List(h home.Home) ([]*Checkpoint, error) { return list(h, atomicfile.Rolling.Read) }

// Repair is List, but also sets damaged files aside and restores the generation in use. The
// caller must hold the home's lock.
func Repair(h home.Home) ([]*Checkpoint, error) { return list(h, atomicfile.Rolling.Repair) }

// list finds checkpoints by the ids of the session records, so that other files cost nothing.
func list(h home.Home, load func(atomicfile.Rolling) ([]byte, error)) ([]*Checkpoint, error) {
	ids, failed := session.Store{Home: h}.IDs() // on error, the home's own is still returned
	paths := []string{h.Path(File), separatePath(h, byHand)}
	for _, id := range ids {
		paths = append(paths, separatePath(h, id))
	}
	var all []*Checkpoint
	for _, path := range paths {
		c, err := read(rollingFile(path), load)
		if c != nil {
			all = append(all, c)
		}
		failed = errors.Join(failed, err)
	}
	// A copy that gt wrote there itself (see show) is no claim.
	c, err := readClaimed(h)
	if c != nil && !slices.ContainsFunc(all, func(o *Checkpoint) bool {
		return o.SessionID == c.SessionID && o.Timestamp.Equal(c.Timestamp)
	}) {
		all = append(all, c)
	}
	failed = errors.Join(failed, err)
	sort.SliceStable(all, func(a, b int) bool { return all[a].Timestamp.After(all[b].Timestamp) })
	return all, failed
}

// readClaimed returns the checkpoint in .runtime of the role's folder in a trusted town, or nil if
// there is none. Another program may have written it, so it only claims to be one.
func readClaimed(h home.Home) (*Checkpoint, error) {
	m := h.Mirror()
	data, err := atomicfile.IfExists(m.Read(place.Checkpoint, maxSize))
	if err != nil || data == nil {
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

// toldFile records the last claim that a session was told about, and that session.
const toldFile = "checkpoint.told"

// claim returns a text that identifies a claimed checkpoint.
func (c *Checkpoint) claim() string {
	return string(c.SessionID) + " " + c.Timestamp.UTC().Format(time.RFC3339Nano) + "\n"
}

// separatePath returns the path of a session's checkpoint while the home's own file is another's.
// What a person writes belongs to no session.
func separatePath(h home.Home, id session.ID) string {
	return h.Path(prefix + string(cmp.Or(id, byHand)) + ".json")
}

const (
	prefix = "checkpoint-"
	byHand = "by-hand"
)

const maxForget = 256

// sweep removes old checkpoints of sessions without a record.
func sweep(h home.Home, now time.Time) error {
	dir, err := atomicfile.IfExists(os.Open(h.Runtime()))
	if err != nil || dir == nil {
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
			failed = errors.Join(failed, rollingFile(h.Path(name)).Remove())
		}
	}
	return failed
}

func rollingFile(path string) atomicfile.Rolling {
	return atomicfile.Rolling{Path: path, Limit: maxSize, Judge: atomicfile.CheckFileOwner, Valid: func(data []byte) error {
		_, err := parse(data)
		return err
	}}
}

// read returns the checkpoint, or nil. The error may be a warning that accompanies a checkpoint.
func read(file atomicfile.Rolling, load func(atomicfile.Rolling) ([]byte, error)) (*Checkpoint, error) {
	var warned error
	var c *Checkpoint
	of := file
	of.Warn = func(err error) { warned = errors.Join(warned, err) }
	of.Valid = func(data []byte) (err error) { // parse only once
		c, err = parse(data)
		return err
	}
	data, err := atomicfile.IfExists(load(of))
	if err != nil || data == nil {
		return nil, errors.Join(warned, err)
	}
	c.file = file
	return c, warned
}

// parse refuses a checkpoint without a timestamp, because its age decides whether it counts.
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

// Open returns the checkpoint of a session, to be changed and written: its last one or a
// new one. It also sets damaged files aside and removes old ones. It always returns a
// checkpoint, even with an error. The caller must hold the home's lock.
func Open(h home.Home, id session.ID, now time.Time) (*Checkpoint, error) {
	all, err := Repair(h)
	err = errors.Join(err, sweep(h, now))
	path := h.Path(File)
	if info, lerr := os.Lstat(path); lerr == nil && !info.Mode().IsRegular() {
		path = separatePath(h, id) // setting it aside failed
	}
	var own *Checkpoint
	hidden := false
	for _, c := range all {
		switch {
		case c.Claimed:
			hidden = c.TakenBy == "" && isWanted(h, c, id, now)
		case c.SessionID == id && own == nil:
			own = c
		case filepath.Base(c.file.Path) != File: // another session's, beside the home's own file
			if _, pending := holderState(h, c, id); !pending && now.Sub(c.Timestamp) > forget {
				err = errors.Join(err, c.file.Remove())
			}
		case isWanted(h, c, id, now): // the home's own file stays as it is
			path = separatePath(h, id)
		}
	}
	if own == nil {
		own = &Checkpoint{SessionID: id, file: rollingFile(path)}
	}
	own.hidden = hidden
	return own, err
}

// isWanted reports whether another session than id may still need the checkpoint. Its holder,
// the session that was told about it or else wrote it, needs it until it has ended. An
// unknown holder may need it unless a session was told.
func isWanted(h home.Home, c *Checkpoint, id session.ID, now time.Time) bool {
	if c.Stale(now) {
		return false
	}
	known, pending := holderState(h, c, id)
	return pending || !known && c.TakenBy == ""
}

// holderState reports whether the checkpoint's holder has a record (known), and whether it has not
// ended (pending). For the session id itself, which needs no protection, pending is false.
func holderState(h home.Home, c *Checkpoint, id session.ID) (known, pending bool) {
	holder := cmp.Or(c.TakenBy, c.SessionID)
	if holder == id {
		return true, false
	}
	r, err := session.Store{Home: h}.Get(holder)
	switch {
	case err != nil:
		return true, true // assume that it is needed
	case r == nil:
		return false, false
	}
	return true, !r.Ended()
}

// Write saves a checkpoint from Open, atomically and synced. The caller must hold the home's lock.
func (c *Checkpoint) Write(h home.Home) error {
	return errors.Join(c.put(atomicfile.Synced), c.show(h))
}

// show writes the checkpoint where Gas Town reads it (home.Home.Mirror), if it has the usual name.
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

// Replace makes the content that of another checkpoint of the session, which comes from
// another machine. No session here was told about it.
func (c *Checkpoint) Replace(with *Checkpoint) {
	id, file, hidden := c.SessionID, c.file, c.hidden
	*c = *with
	c.SessionID, c.file, c.hidden, c.TakenBy, c.Claimed = id, file, hidden, "", false
}

// Clean passes what people and agents wrote through clean, such as Env.Redact.
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

// SetFiles lists the changed files until their names have maxFiles bytes, and counts the others.
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

// Take records that the session by was told about the checkpoint. It does nothing if the file has
// another checkpoint now, or another session was told. The caller must hold the home's lock.
func Take(h home.Home, c *Checkpoint, by session.ID) error {
	if c.Claimed {
		return atomicfile.Write(h.Path(toldFile), []byte(c.claim()+string(by)+"\n"), atomicfile.Unsynced)
	}
	stored, err := read(c.file, atomicfile.Rolling.Read)
	if stored == nil || stored.SessionID != c.SessionID || stored.TakenBy != c.TakenBy {
		return err
	}
	stored.TakenBy = by
	return errors.Join(err, stored.put(atomicfile.Unsynced)) // losing this only repeats a message
}

// put writes the checkpoint. It returns warnings as errors.
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

// Clear removes a session's checkpoint, or all of the home's if id is "". It sets damaged files
// aside, because their owner is unknown, and calls warn. The caller must hold the home's lock.
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
	own := rollingFile(h.Path(File))
	if _, err := os.Lstat(own.Path); errors.Is(err, fs.ErrNotExist) {
		failed = errors.Join(failed, own.Remove()) // generations of a file that somebody else removed
	}
	return failed
}

// Summary returns what the session itself wrote, one line each: molecule, step and notes.
func (c *Checkpoint) Summary() string {
	step := c.CurrentStep
	if c.StepTitle != "" {
		step = strings.TrimSpace(step + " (" + c.StepTitle + ")")
	}
	return item("molecule", c.MoleculeID) + item("step", step) + item("notes", c.Notes)
}

func item(what, text string) string {
	text = strings.TrimSpace(term.CleanText(text))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("- %s: %s\n", what, strings.ReplaceAll(text, "\n", "\n  "))
}

// Text returns all that a checkpoint says, as a list of items.
func (c *Checkpoint) Text() string {
	var b strings.Builder
	say := func(what, text string) { b.WriteString(item(what, text)) }
	say("written", c.Timestamp.UTC().Format("2006-01-02 15:04 MST"))
	b.WriteString(c.Summary())
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
		say(count.Plural(n, "modified file"), text)
	}
	return b.String()
}

// Headline returns one line about the checkpoint: "Found checkpoint from 5m ago: molecule
// mol-7, step p2, 3 modified files".
func (c *Checkpoint) Headline(now time.Time) string {
	text := fmt.Sprintf("Found checkpoint from %s ago:", formatAge(now.Sub(c.Timestamp)))
	if c.MoleculeID != "" {
		text += " molecule " + c.MoleculeID + ","
	}
	if c.CurrentStep != "" {
		text += " step " + c.CurrentStep + ","
	}
	return term.Clean(text + " " + count.Plural(c.files(), "modified file"))
}

func (c *Checkpoint) files() int { return len(c.ModifiedFiles) + max(c.MoreFiles, 0) }

func formatAge(d time.Duration) string {
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
