// Package town finds the folder that sessions share. It holds the event log, the PID
// files and the notes between agents.
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

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Town is the folder that sessions share.
type Town struct {
	Root string
	// Personal reports that this is the user's own town, outside any project. It
	// has no roles, and notes stay in each home.
	Personal bool
	// State is the state folder of the person's gt, the same for all towns.
	State place.State
	// Trust is the person's trust in the town. It is nil for the personal town and
	// for a town that only a variable names.
	Trust *place.Trust
	// Untrusted is the nearest folder that would be the town if the person trusted
	// it, or "".
	Untrusted string
	// Unread is the error of reading the person's trust in a town, or nil.
	Unread error
}

// Tables are all that may stand in a town.toml: templates (agent, session), the table of
// agents (agents, tools, role_agents) and rigs. Each program reads its own and passes over
// the others.
var Tables = []string{"agent", "session", "agents", "tools", "role_agents", "rigs"}

// Find returns the town of dir. It is the first of these: the folder that GT_ROOT or
// GT_TOWN_ROOT names; the nearest folder at or above dir that the person trusts and that
// has town.toml or Gas Town's mayor/town.json; the personal town, which is the state
// folder and may not exist yet.
//
// A file that comes with a project does not make a town by itself: its author could read
// what we log and decide what our agents are told. A variable is set by the person, so
// it is believed; but what the town's files say to run still needs trust.
func Find(getenv func(string) string, dir string) Town {
	return FindIn(place.StateOf(getenv), getenv, dir)
}

// FindIn is Find with a given state folder.
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

// Above returns the trusted towns that contain any of the folders, each once. The
// folders need not exist any more.
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

// Personal returns the user's own town, to which every folder belongs that is in no
// other town.
func Personal(getenv func(string) string) Town {
	state := place.StateOf(getenv)
	return Town{Root: string(state), State: state, Personal: true}
}

// Read returns a file of the town that can name a program, a variable or a prompt, as
// it was when the person trusted it. It returns fs.ErrNotExist if the town has no such
// file and for the personal town. It fails if the town is not trusted or the file has
// changed.
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

// NotTrusted returns the folder whose town.toml a person means here and has not trusted, or
// "": the town that a variable names, or the one that dir would be in.
func (t Town) NotTrusted() string {
	if t.Personal {
		return t.Untrusted
	}
	if _, err := t.Read("town.toml"); errors.Is(err, place.ErrUntrusted) {
		return t.Root
	}
	return ""
}

// UntrustedError is returned for a file of a town that the person has not trusted.
type UntrustedError struct{ Root string }

func (e *UntrustedError) Error() string {
	return "the town '" + e.Root + "' is not trusted: gt-hooks trust shows what that means"
}

// Unwrap returns place.ErrUntrusted.
func (e *UntrustedError) Unwrap() error { return place.ErrUntrusted }

// shared returns the folder of the town's shared files: the town itself, or, if git
// would show or track them there, the town's folder in the state.
func (t Town) shared() string {
	if t.Trust != nil && t.Trust.Shows {
		return t.State.Town(t.Root)
	}
	return t.Root
}

// Transcripts returns the path of the cache of the clients' transcripts. It is in the
// state folder because it covers all folders of the user.
func (t Town) Transcripts() string { return t.State.Path(".sessions", "transcripts.jsonl") }

// Events returns the path of the event log.
func (t Town) Events() string { return filepath.Join(t.shared(), ".events.jsonl") }

// Spare returns the path of the log for events that cannot be written to Events. So
// sessions are recorded even if an agent of a trusted town replaces the town's log or
// its lock. It is "" if Events is in the state itself, or if the town is not trusted.
func (t Town) Spare() string {
	if t.Personal || t.Trust == nil || t.Trust.Shows {
		return ""
	}
	return filepath.Join(t.State.Town(t.Root), ".events.jsonl")
}

// Feed returns the path of Gas Town's excerpt of the event log, which is for people.
func (t Town) Feed() string { return filepath.Join(t.shared(), ".feed.jsonl") }

// Pids returns the folder of the PID files. It is in the state, because whoever can
// write there decides which process is signalled.
func (t Town) Pids() string {
	if t.Personal {
		return t.State.Path(".runtime", "pids")
	}
	return filepath.Join(t.State.Town(t.Root), "pids")
}

// SharedPids returns the folder in which other programs of the town write and look for
// PID files. What is read there proves nothing. The folder is the zero Shared if the
// town is not trusted, or if git would show the files.
func (t Town) SharedPids() place.Shared {
	if t.Personal || t.Trust == nil || t.Trust.Shows {
		return place.Shared{}
	}
	return place.PidsIn(t.Root)
}

// Retention returns the folder of the retention policy of the log.
func (t Town) Retention() string { return t.shared() }

// Mail returns the mailbox of the role with this address.
func (t Town) Mail(address string) place.Shared {
	return place.SharedIn(t.shared(), append([]string{"mail"}, strings.Split(address, "/")...)...)
}

// Given returns the path of the file, in the state, which records that this person's gt
// gave a note in one of the town's boxes to its agent as work.
func (t Town) Given(note string) string { return filepath.Join(t.State.Town(t.Root), "given", note) }

// Vouches reports whether an agent may start on a note as work. It may if gt has
// recorded that it gave this note with exactly this text, or if the person trusts the
// town's mail. Otherwise anybody who can write to the town could add or change a note.
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

// Digest returns the SHA-256 of a text, in hex.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Unused returns the groups of a program's help that mean nothing to a person without a
// town and without templates.
func Unused(env *cli.Env) []string {
	if !Find(env.Getenv, env.Dir).Personal {
		return nil
	}
	unused := []string{"In a town:"}
	for _, name := range []string{"town.toml", "profiles"} {
		if _, err := os.Stat(place.Config(env.Getenv, name)); err == nil {
			return unused
		}
	}
	return append(unused, "Sessions of templates:", "From a template:")
}
