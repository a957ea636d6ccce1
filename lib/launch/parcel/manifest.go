// Package parcel moves an instance with its session to another machine: Packer writes it
// into one file, the parcel, and Unpacker makes it anew from that file. docs/session.md
// has the format.
//
// A session runs in one place. Pack marks the instance as moving before the first byte, and
// as moved before the last one, without which no parcel is unpacked. So a parcel that can
// be unpacked belongs to an instance that does not start where it was. Unpack does nothing
// for a parcel that it has unpacked before, and completes one that it was killed in.
//
// A parcel may be hostile. Its members have names that the manifest makes up, so that no
// path is in a tar header. It decides what is in new files of the new worktree, of the
// home's state and of the conversation, and nothing else: the program that runs is of this
// machine's table of agents, the launcher is the person's, and so are the arguments unless
// they accept those that it has.
package parcel

import (
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gt/lib/place/git"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/plain"
)

const (
	format = 1 // the version of the manifest

	// Names of members. All others are member-<n>.
	manifestName = "manifest.json"
	endName      = "end" // its content is the parcel's id; without it the parcel is incomplete

	planName       = "plan.json"
	receiptSuffix  = ".json"      // behind the folder's name: what was made of a parcel
	replacedSuffix = ".gt-before" // of a file that was in the way
)

// Limits of a parcel, in bytes unless the name is a plural.
const (
	maxManifest = 64 << 20
	maxMembers  = 200_000
	maxValues   = 16 * maxMembers // in the manifest: each takes more memory than room there
	maxListed   = 10_000          // notes, commits and others of a session
	maxTotal    = 8 << 30
	maxSmall    = 4 << 20 // of what is read into memory: a thread, a checkpoint
	maxEntry    = 64 << 20
	maxMoves    = 1 << 20
	maxArgs     = 128 << 10
	maxAgent    = 64
	mostWaiting = 8 // parcels of one host that wait
)

// Manifest is the first member of a parcel. It describes the others.
type Manifest struct {
	Format     int       `json:"format"`
	ID         string    `json:"id"` // a random UUID
	At         time.Time `json:"at"`
	Host       string    `json:"host,omitempty"`
	Generation int       `json:"generation"` // counts the moves of the instance

	Instance Instance `json:"instance"`
	Session  *Session `json:"session,omitempty"` // nil if it had none yet
	Git      *Git     `json:"git,omitempty"`     // nil if its folder is in no repository
	Members  []Member `json:"members"`           // in their order
}

// Instance is what a person chose for the instance.
type Instance struct {
	ID       instance.ID `json:"id"`
	Name     string      `json:"name"`
	Title    string      `json:"title,omitempty"`
	Group    string      `json:"group,omitempty"`
	Agent    string      `json:"agent"`
	Args     []string    `json:"args,omitempty"` // without secrets
	Launcher []string    `json:"launcher,omitempty"`
	Remain   bool        `json:"remain,omitempty"`
	Respawn  bool        `json:"respawn,omitempty"`
	Archived bool        `json:"archived,omitempty"`

	Departures []instance.Departure `json:"departures,omitempty"`
}

// Session is the session that the instance has, and what waits for it. Entries, Thread and
// Checkpoint name members, and are "" if there is nothing.
type Session struct {
	ID        session.ID `json:"id"`
	Agent     string     `json:"agent"`
	Chain     session.ID `json:"chain_id"`
	Parent    session.ID `json:"parent_id,omitempty"`
	Started   time.Time  `json:"started_at"`
	Commits   []string   `json:"commits,omitempty"`
	Note      string     `json:"note,omitempty"` // see session.Record
	Delivered []string   `json:"delivered,omitempty"`
	Handoff   *Handoff   `json:"handoff,omitempty"` // one that waits

	// Conversation has the client's own files. Of a client whose files cannot be moved, it
	// is empty, and Entries is a member with a conversation.Entry a line.
	Conversation []Named `json:"conversation,omitempty"`
	Entries      string  `json:"entries,omitempty"`

	Thread     string  `json:"thread,omitempty"`
	Checkpoint string  `json:"checkpoint,omitempty"`
	Notes      []Named `json:"notes,omitempty"` // unread, by their file names
}

// Handoff is a prepared hand-over that no session has taken up.
type Handoff struct {
	Kind   string    `json:"kind"`
	Note   string    `json:"note,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at"`
	Marker bool      `json:"marker,omitempty"` // there is a marker
}

// Named is a member and the name that its content has for its client or mailbox.
type Named struct {
	Name   string `json:"name"`
	Fresh  bool   `json:"fresh,omitempty"` // of a note: it was in new
	Member string `json:"member"`
}

// Git is the state of the worktree.
type Git struct {
	Roots   []string     `json:"roots"`
	Head    string       `json:"head"`
	Branch  string       `json:"branch,omitempty"`
	Index   string       `json:"index"` // a commit in the bundle; see git.Carried
	Remotes []git.Remote `json:"remotes,omitempty"`
	Within  string       `json:"within,omitempty"` // the agent's folder, relative to the top

	Bundle   string   `json:"bundle"`
	Files    []File   `json:"files,omitempty"`
	Deleted  []string `json:"deleted,omitempty"`
	Intended []string `json:"intended,omitempty"` // files that git add -N put into the index
}

// File is a file that differs from the index, or that git does not track.
type File struct {
	Path   string `json:"path"` // relative to the top
	Exec   bool   `json:"exec,omitempty"`
	Link   string `json:"link,omitempty"` // where it leads, if it is a link
	Member string `json:"member,omitempty"`
}

// Member is a file of the tar.
type Member struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// check returns an error for a manifest that is not as Pack writes it. Names that it has
// for clients, branches and folders are checked where they are used as well.
func (m *Manifest) check() error {
	if err := m.checkInstance(); err != nil {
		return err
	}
	return errors.Join(m.checkMembers(), m.Session.check(), m.Git.check())
}

// checkInstance checks the format first: a newer gt's manifest may fail the other checks.
func (m *Manifest) checkInstance() error {
	switch {
	case m.Format > format:
		return fmt.Errorf("it has the format %d, of a newer gt", m.Format)
	case m.Format != format:
		return errors.New("it is not a parcel of gt")
	case !isUUID(m.ID):
		return errors.New("its id is not a UUID")
	case m.Generation < 1 || m.Generation > maxMoves:
		return errors.New("its generation is not a number of moves")
	case !isUUID(string(m.Instance.ID)):
		return errors.New("its agent's id is not a UUID")
	case m.Instance.Agent == "":
		return errors.New("it names no agent")
	case m.Instance.Group != "" && instance.CheckGroup(m.Instance.Group) != nil:
		return instance.CheckGroup(m.Instance.Group)
	case strings.ContainsRune(strings.Join(slices.Concat(m.Instance.Args, m.Instance.Launcher), ""), 0):
		return errors.New("its arguments contain a zero byte")
	case len(strings.Join(slices.Concat(m.Instance.Args, m.Instance.Launcher), " "))+len(m.Instance.Title) > maxArgs:
		return fmt.Errorf("its arguments have over %d bytes", maxArgs)
	case len(m.Instance.Departures) > peer.MostDepartures, slices.ContainsFunc(m.Instance.Departures, func(d instance.Departure) bool { return len(d.Proof) > 128 }):
		return errors.New("it has too many proofs of where it was")
	}
	return instance.CheckName(m.Instance.Name)
}

// checkMembers returns an error unless the members are those that the manifest uses, and
// within the limits.
func (m *Manifest) checkMembers() error {
	if len(m.Members) > maxMembers {
		return fmt.Errorf("it has more than %d members", maxMembers)
	}
	used := map[string]bool{"": true, endName: true} // "" stands for no member
	if s := m.Session; s != nil {
		for _, name := range []string{s.Entries, s.Thread, s.Checkpoint} {
			used[name] = true
		}
		for _, n := range slices.Concat(s.Conversation, s.Notes) {
			used[n.Member] = true
		}
	}
	if g := m.Git; g != nil {
		used[g.Bundle] = true
		for _, f := range g.Files {
			used[f.Member] = true
		}
	}
	total := int64(0)
	for i, one := range m.Members {
		digest, err := hex.DecodeString(one.SHA256)
		last := i == len(m.Members)-1
		switch {
		case last != (one.Name == endName), !last && one.Name != memberName(i), !used[one.Name]:
			return fmt.Errorf("it has a member %.80q that it does not describe", one.Name)
		case err != nil || len(digest) != 32:
			return fmt.Errorf("invalid digest of %s", one.Name)
		case one.Size < 0 || one.Size > maxTotal-total: // mutant always: TestHostile
			return fmt.Errorf("it has more than %d bytes", int64(maxTotal))
		}
		total += one.Size
		delete(used, one.Name)
	}
	if delete(used, ""); len(used) > 0 {
		return errors.New("it lacks a member that it describes")
	}
	return nil
}

func memberName(i int) string { return fmt.Sprintf("member-%d", i) }

// isUUID reports whether a text is a UUID with no capital letter: it names a folder.
func isUUID(s string) bool { return session.IsUUID(s) && s == strings.ToLower(s) }

// check checks what becomes a path or an argument here. A parcel without a session has nil.
func (s *Session) check() error {
	if s == nil {
		return nil
	}
	if len(s.Delivered) > maxListed || len(s.Commits) > maxListed || len(s.Notes) > maxListed {
		return fmt.Errorf("its session names more than %d notes or commits", maxListed)
	}
	ids := append(slices.Clone(s.Delivered), string(s.Parent), s.Note, string(s.ID), string(s.Chain))
	if s.Handoff != nil {
		ids = append(ids, s.Handoff.Note)
	}
	for _, id := range ids {
		if _, err := session.ParseID(id); err != nil && (id != "" || s.ID == "" || s.Chain == "") { // of the ids only these two must be there
			return err
		}
	}
	if len(s.Agent) > maxAgent || plain.Line(s.Agent) != s.Agent { // mutant never: TestHostile
		return fmt.Errorf("invalid client %.80q", s.Agent)
	}
	for _, id := range s.Commits {
		if !git.IsHash(id) {
			return fmt.Errorf("invalid commit %.80q", id)
		}
	}
	for _, n := range s.Notes {
		if n.Name != filepath.Base(n.Name) || strings.HasPrefix(n.Name, ".") || !plainName(n.Name) {
			return fmt.Errorf("invalid name of a note %.80q", n.Name)
		}
	}
	return nil
}

// check checks what becomes a path or git's argument here. A parcel without a repository has nil.
func (g *Git) check() error {
	if g == nil {
		return nil
	}
	if len(g.Roots) == 0 || g.Bundle == "" {
		return errors.New("its repository has no first commit")
	}
	if max(len(g.Files), len(g.Deleted), len(g.Intended), len(g.Roots)+len(g.Remotes)) > maxMembers {
		return fmt.Errorf("its repository has more than %d changed files", maxMembers)
	}
	if g.Branch != "" && !plainName(g.Branch) { // mutant never: TestFields
		return fmt.Errorf("invalid branch %.80q", g.Branch)
	}
	for _, id := range append(slices.Clone(g.Roots), g.Head, g.Index) {
		if !git.IsHash(id) {
			return fmt.Errorf("invalid commit %.80q", id)
		}
	}
	for _, f := range g.Files {
		if (f.Link == "") == (f.Member == "") || strings.ContainsRune(f.Link, 0) {
			return fmt.Errorf("the file %.80q is neither a file nor a link", f.Path)
		}
	}
	for _, name := range slices.Concat(g.pathsWithFolder(), g.Deleted, g.Intended) {
		if err := checkPath(name); err != nil {
			return err
		}
	}
	return g.checkPlaces(func(name string) string { return name })
}

// filePaths returns the paths of the files.
func (g *Git) filePaths() (all []string) {
	for _, f := range g.Files {
		all = append(all, f.Path)
	}
	return all
}

// pathsWithFolder returns the paths of the files, and one below the agent's folder, to be checked as well.
func (g *Git) pathsWithFolder() []string {
	if g.Within == "" {
		return g.filePaths()
	}
	return append(g.filePaths(), g.Within+"/*")
}

// checkPlaces returns an error if a file is below a link or another file of the parcel itself, or
// where another one is. asCompared returns a path as the file system compares it.
func (g *Git) checkPlaces(asCompared func(string) string) error {
	files := map[string]File{}
	for _, f := range g.Files {
		if files[asCompared(f.Path)].Path != "" { // mutant never: TestHostile
			return fmt.Errorf("two files have the path %.80q", f.Path)
		}
		files[asCompared(f.Path)] = f
	}
	for _, name := range g.pathsWithFolder() {
		for at := path.Dir(name); at != "."; at = path.Dir(at) {
			switch f := files[asCompared(at)]; {
			case f.Link != "":
				return fmt.Errorf("%.80q: %w: %.80q", name, atomicfile.ErrLink, f.Path)
			case f.Path != "":
				return fmt.Errorf("%.80q is below the file %.80q", name, f.Path)
			}
		}
	}
	return nil
}

// checkPath returns an error unless a path is one below the top of a worktree that git
// would have there: no way out, and not git's own folder, however a file system spells it.
func checkPath(name string) error {
	if !filepath.IsLocal(name) || path.Clean(name) != name || name == "." || !plainName(name) {
		return fmt.Errorf("invalid path %.80q", name)
	}
	for elem := range strings.SplitSeq(name, "/") {
		if isGitName(elem) { // mutant never: TestHostile
			return fmt.Errorf("invalid path %.80q: it is git's own", name)
		}
	}
	return nil
}

func plainName(name string) bool {
	return name != "" && len(name) <= 4096 && utf8.ValidString(name) && !strings.ContainsRune(name, 0)
}

// isGitName reports whether some file system takes a name for .git: one that ignores case, HFS+,
// which ignores invisible characters as well, or NTFS (git~1, ".git. ", .git:stream, a\.git).
func isGitName(elem string) bool {
	elem, _, _ = strings.Cut(foldedName(elem), ":")
	for part := range strings.SplitSeq(elem, `\`) {
		if part = strings.TrimRight(part, " ."); part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}

// foldedName returns a name as file systems compare it that ignore case and invisible characters.
func foldedName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(unicode.ToUpper(r)) // also of U+017F, which is another s
	}, name)
}
