// Package town finds the folder that sessions share: where the event log, the
// PID files and the notes between agents are.
package town

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Town is the folder that sessions share.
type Town struct {
	Root string
	// Personal reports that it is the user's own, outside any project: it has
	// no roles, and notes stay in each home.
	Personal bool
	// State is the folder in which the person's gt keeps what it knows, of all
	// towns.
	State place.State
	// Trust is the person's word on the town; nil for the personal one, and for
	// one that only a variable names.
	Trust *place.Trust
	// Untrusted is a folder that would be the town, had the person trusted it;
	// empty where none was passed over.
	Untrusted string
	// Unread is why the person's word on a town could not be read; nil where it
	// could, and where there is none.
	Unread error
}

// Find returns the town of dir, the first that holds: GT_ROOT, else
// GT_TOWN_ROOT, where it names a folder; the nearest folder at or above dir
// with town.toml or Gas Town's mayor/town.json that the person has trusted; the
// personal town, which is the state folder. The folder of a personal town may
// not exist yet.
//
// A file that anybody can bring along makes no town: who writes one would read
// what we log and say what our agents are told. A variable is the person's own
// word, and is taken; what the town's files say is run still has to be trusted.
func Find(getenv func(string) string, dir string) Town {
	return FindIn(place.StateOf(getenv), getenv, dir)
}

// FindIn is Find where the person's state folder is known.
func FindIn(state place.State, getenv func(string) string, dir string) Town {
	for _, key := range []string{"GT_ROOT", "GT_TOWN_ROOT"} {
		if root := getenv(key); root != "" {
			if info, err := os.Stat(root); err == nil && info.IsDir() && filepath.IsAbs(root) {
				t := Town{Root: filepath.Clean(root), State: state}
				t.Trust, _ = state.Trusted(t.Root)
				return t
			}
		}
	}
	untrusted := ""
	var unread error
	for d := dir; ; d = filepath.Dir(d) {
		if Marked(d) {
			trust, err := state.Trusted(d)
			if err == nil {
				return Town{Root: d, State: state, Trust: trust, Untrusted: untrusted}
			}
			if untrusted == "" {
				untrusted = d
			}
			if !errors.Is(err, place.ErrUntrusted) {
				unread = err
			}
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return Town{Root: string(state), State: state, Personal: true, Untrusted: untrusted, Unread: unread}
}

// Marked reports whether a folder claims to be a town.
func Marked(dir string) bool {
	for _, path := range []string{filepath.Join(dir, "town.toml"), filepath.Join(dir, "mayor", "town.json")} {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// Above returns the trusted towns that folders are in, each once. A folder may be
// gone.
func Above(state place.State, dirs iter.Seq[string]) []Town {
	var towns []Town
	seen := map[string]bool{}
	for dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for d := filepath.Clean(dir); !seen[d]; d = filepath.Dir(d) {
			seen[d] = true
			if !Marked(d) {
				continue
			}
			if trust, err := state.Trusted(d); err == nil {
				towns = append(towns, Town{Root: d, State: state, Trust: trust})
				break
			}
		}
	}
	return towns
}

// Personal is the town of this user, of which every folder is that is in no
// other.
func Personal(getenv func(string) string) Town {
	state := place.StateOf(getenv)
	return Town{Root: string(state), State: state, Personal: true}
}

// Read returns a file of the town that can name a program, a variable or a
// prompt: as it was when the person trusted it. It is fs.ErrNotExist in a town
// without one, and in the personal town, and an error where nobody trusted it or
// it has changed.
func (t Town) Read(name string) ([]byte, error) {
	switch {
	case t.Personal:
		return nil, fs.ErrNotExist
	case t.Trust != nil:
		return t.Trust.Read(name)
	}
	if _, err := os.Lstat(filepath.Join(t.Root, name)); errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	return nil, &UntrustedError{t.Root}
}

// UntrustedError is what a file of a town gives that nobody has trusted.
type UntrustedError struct{ Root string }

func (e *UntrustedError) Error() string {
	return "the town '" + e.Root + "' is not trusted: gt-hooks trust shows what that means"
}

// Unwrap makes it place.ErrUntrusted.
func (e *UntrustedError) Unwrap() error { return place.ErrUntrusted }

// shared is the folder in which the town's shared files stand: the town itself,
// but where git would show or keep them the state's folder of the town.
func (t Town) shared() string {
	if t.Trust != nil && t.Trust.Shows {
		return t.State.Town(t.Root)
	}
	return t.Root
}

// Transcripts is the cache of what is known of the clients' own transcripts. It
// lies in a personal town, for it is of all folders of the user's.
func (t Town) Transcripts() string { return t.State.Path(".sessions", "transcripts.jsonl") }

// Events is the path of the event log.
func (t Town) Events() string { return filepath.Join(t.shared(), ".events.jsonl") }

// Spare is the path of the log that takes the events which Events cannot: whatever
// an agent of a trusted town puts in the place of the town's log or of its lock,
// sessions are noted. It is "" where Events is in the state itself, or where nobody
// trusts the town.
func (t Town) Spare() string {
	if t.Personal || t.Trust == nil || t.Trust.Shows {
		return ""
	}
	return filepath.Join(t.State.Town(t.Root), ".events.jsonl")
}

// Feed is the path of Gas Town's excerpt of the event log, for people to read.
func (t Town) Feed() string { return filepath.Join(t.shared(), ".feed.jsonl") }

// Pids is the folder of the PID files. It stands in the state, for who can write
// there says which process is signalled.
func (t Town) Pids() string {
	if t.Personal {
		return t.State.Path(".runtime", "pids")
	}
	return filepath.Join(t.State.Town(t.Root), "pids")
}

// SharedPids is where other programs of the town note and look for the same. It is
// no proof of anything, and has no files where the town is not trusted or where git
// would show them.
func (t Town) SharedPids() place.Shared {
	if t.Personal || t.Trust == nil || t.Trust.Shows {
		return place.Shared{}
	}
	return place.PidsIn(t.Root)
}

// Retention is the folder of the policy by which the log is kept.
func (t Town) Retention() string { return t.shared() }

// Mail is the box of a role in the town, by the role's address.
func (t Town) Mail(address string) place.Shared {
	return place.SharedIn(t.shared(), append([]string{"mail"}, strings.Split(address, "/")...)...)
}

// Given is the file that says that this person's gt has given a note, which lies in
// a box of the town, to its agent as work. It stands in the state.
func (t Town) Given(note string) string { return filepath.Join(t.State.Town(t.Root), "given", note) }

// Vouches reports whether a note may be started on as work: where gt has noted that
// it gave it, with the text that it has, and in a town that the person has trusted
// with its mail. Anybody who can write to the town can put a note there, and change
// one.
func (t Town) Vouches(note string, text func() ([]byte, error)) bool {
	if t.Personal || t.Trust != nil && t.Trust.Mail {
		return true
	}
	want, err := atomicfile.Read(t.Given(note), 256)
	if err != nil {
		return false
	}
	data, err := text()
	return err == nil && strings.TrimSuffix(string(want), "\n") == Digest(data)
}

// Digest is the SHA-256 of a text, in hex.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
