// Package town finds the folder that sessions share. It holds the event log, the PID
// files and the notes between agents.
package town

import (
	"cmp"
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
	// Personal reports that this is the person's own town, outside any project. It has no
	// roles, and notes stay in each home.
	Personal bool
	// State is the person's state folder, the same for all towns.
	State place.State
	// Trust is nil for the personal town and for an untrusted one that a variable names.
	Trust *place.Trust
	// Untrusted is the nearest folder that would be the town if the person trusted it, or "".
	Untrusted string
	// TrustErr is the error of reading the trust in a town.
	TrustErr error
}

// Tables are the tables of a town.toml: templates (agent, session), the table of agents
// (agents, tools, role_agents) and rigs. Each program reads its own.
var Tables = []string{"agent", "session", "agents", "tools", "role_agents", "rigs"}

// Find returns the town of dir. The first of these counts: the folder that GT_ROOT or GT_TOWN_ROOT
// names; the nearest trusted folder at or above dir with town.toml or Gas Town's mayor/town.json;
// the personal town, which is the state folder and may not exist yet.
//
// A project's files alone do not make a town: their author could read gt's log and decide
// what agents are told. A variable comes from the person, so it does; but running what the
// town's files say still needs trust.
func Find(getenv func(string) string, dir string) Town {
	return FindIn(place.ScopeOf(getenv), dir)
}

// FindIn is Find in a scope.
func FindIn(s place.Scope, dir string) Town {
	state := s.State
	for _, root := range s.Roots {
		if atomicfile.IsFolder(root) {
			t := Town{Root: root, State: state}
			t.Trust, _ = state.TrustOf(t.Root)
			return t
		}
	}
	untrusted := ""
	var unread error
	for d := dir; ; d = filepath.Dir(d) {
		if HasTownFile(d) {
			trust, err := state.TrustOf(d)
			if err == nil { // mutant always: TestUntrusted
				return Town{Root: d, State: state, Trust: trust, Untrusted: untrusted}
			}
			untrusted = cmp.Or(untrusted, d)
			if !errors.Is(err, place.ErrUntrusted) {
				unread = err
			}
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return Town{Root: string(state), State: state, Personal: true, Untrusted: untrusted, TrustErr: unread}
}

// HasTownFile reports whether a folder claims to be a town.
func HasTownFile(dir string) bool {
	for _, path := range []string{filepath.Join(dir, "town.toml"), filepath.Join(dir, "mayor", "town.json")} {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// FindContaining returns the trusted towns that contain the folders, each once. The folders need
// not exist.
func FindContaining(state place.State, dirs iter.Seq[string]) []Town {
	var towns []Town
	seen := map[string]bool{}
	for dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for d := filepath.Clean(dir); !seen[d]; d = filepath.Dir(d) {
			seen[d] = true
			if !HasTownFile(d) {
				continue
			}
			if trust, err := state.TrustOf(d); err == nil {
				towns = append(towns, Town{Root: d, State: state, Trust: trust})
				break
			}
		}
	}
	return towns
}

// Personal returns the person's own town.
func Personal(getenv func(string) string) Town { return PersonalIn(place.StateOf(getenv)) }

// PersonalIn is Personal with a given state folder.
func PersonalIn(state place.State) Town {
	return Town{Root: string(state), State: state, Personal: true}
}

// Read returns a deciding file of the town, as the person trusted it. It returns
// fs.ErrNotExist if there is none and for the personal town. It fails if the town is not
// trusted or the file has changed.
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

// UntrustedRoot returns the folder whose town.toml the person means but has not trusted, or "".
func (t Town) UntrustedRoot() string {
	if t.Personal {
		return t.Untrusted
	}
	if _, err := t.Read("town.toml"); errors.Is(err, place.ErrUntrusted) {
		return t.Root
	}
	return ""
}

// UntrustedError reports a file of an untrusted town.
type UntrustedError struct{ Root string }

func (e *UntrustedError) Error() string {
	return "the town '" + e.Root + "' is not trusted: gt-hooks trust shows what that means"
}

func (e *UntrustedError) Unwrap() error { return place.ErrUntrusted }

// sharedFolder returns the folder of the town's shared files: the town, or its folder in the
// state if git would show or track them.
func (t Town) sharedFolder() string {
	if t.Trust != nil && t.Trust.GitShows {
		return t.State.Town(t.Root)
	}
	return t.Root
}

// Transcripts returns the path of the cache of transcripts. It covers all folders of the
// person, so it is in the state folder.
func (t Town) Transcripts() string { return t.State.Path(".sessions", "transcripts.db") }

func (t Town) Events() string { return filepath.Join(t.sharedFolder(), ".events.jsonl") }

// SpareEvents returns the log for events that Events cannot take: another process holds its lock,
// or an agent of the town has replaced it. It is always in the state.
func (t Town) SpareEvents() string {
	if state := t.State.Town(t.Root); !t.Personal && t.sharedFolder() != state {
		return filepath.Join(state, ".events.jsonl")
	}
	return filepath.Join(t.sharedFolder(), "spare", ".events.jsonl")
}

// Feed returns the path of Gas Town's excerpt of the event log, for people.
func (t Town) Feed() string { return filepath.Join(t.sharedFolder(), ".feed.jsonl") }

// Pids returns the folder of the PID files. It is in the state, because its content decides
// which processes are signalled.
func (t Town) Pids() string {
	if t.Personal {
		return t.State.Path(".runtime", "pids")
	}
	return filepath.Join(t.State.Town(t.Root), "pids")
}

// SharedPids returns the folder with PID files that the town's programs share, as in Gas Town. They
// prove nothing. It is the zero Shared if the town is not trusted, or if git would show the files.
func (t Town) SharedPids() place.SharedFolder {
	if t.Personal || t.Trust == nil || t.Trust.GitShows {
		return place.SharedFolder{}
	}
	return place.SharedIn(t.Root, place.Runtime, "pids")
}

// Retention returns the folder of the log's retention policy.
func (t Town) Retention() string { return t.sharedFolder() }

// Mailbox returns the mailbox of a role's address.
func (t Town) Mailbox(address string) place.SharedFolder {
	return place.SharedIn(t.sharedFolder(), append([]string{"mail"}, strings.Split(address, "/")...)...)
}

// GivenPath returns the path of the record that gt gave a note in the town's boxes as work.
func (t Town) GivenPath(note string) string {
	return filepath.Join(t.State.Town(t.Root), "given", note)
}

// VouchesFor reports whether an agent may start on a note as work: gt has recorded that it
// gave this note with exactly this text, or the person trusts the town's mail. Anybody who
// can write to the town could have added or changed the note.
func (t Town) VouchesFor(note string, text func() ([]byte, error)) bool {
	if t.Personal || t.Trust != nil && t.Trust.Mail {
		return true
	}
	want, err := atomicfile.Read(t.GivenPath(note), 256)
	if err != nil {
		return false
	}
	data, err := text()
	return err == nil && strings.TrimSuffix(string(want), "\n") == place.Digest(data) // mutant always: . TestScripts/town_trust
}

// UnusedHelp returns the help groups that mean nothing without a town or templates.
func UnusedHelp(env *cli.Env) []string {
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
