// Package instance keeps the instances of gt-session: places for agents that outlive
// their processes and conversations.
//
// An instance is a file of its own, <id>.json, with the three contents that it had
// before, and a lock of its own, <id>.lock, which whoever starts or stops its agent
// holds. The folder's lock, .lock, guards what must be true of all instances together:
// their names, their parents and the groups, which are in groups.json. Who takes both
// takes the instance's first. Beside them, <id>.session names the session that the
// instance's agent has now; the agent's hook writes it.
//
// An instance that was made from a template (Managed) has its state in its file, and the
// file lies in a folder of its own, archived or closed, where that is the state. The lock
// of the lifecycle, instances.lock beside the folder, guards what must be true of the
// states of all of them together.
//
// The folder is instances in the state of a town. A profile is a personal town of its
// own, profiles/<name> in the state folder.
//
// What an instance does now is not kept: it is derived (lib/live/status).
package instance

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/openjson"
)

// ID names an instance and never changes: a random UUID.
type ID string

// Desired is what a person wants of an instance.
type Desired string

const (
	Running Desired = "running"
	Stopped Desired = "stopped"
)

// Instance is a place for an agent. Fields that a newer gt wrote survive.
type Instance struct {
	ID    ID     `json:"id"`
	Name  string `json:"name"` // see CheckName; no other instance of the folder has it
	Title string `json:"title,omitempty"`
	Path  string `json:"path"` // the folder that its agent works in
	// Folder is the folder that was there when this became known; see Store.Enter. nil
	// where nothing was there yet, or v0.1.0 made the instance.
	Folder *place.Folder `json:"folder,omitempty"`
	// Worktree is the git worktree that was made for its agent, and that its removal
	// removes; nil where the agent works in a folder of the person's.
	Worktree *Worktree `json:"worktree,omitempty"`
	Group    string    `json:"group,omitempty"` // see CheckGroup; "" for none
	ParentID ID        `json:"parent_id,omitempty"`

	// Agent is the client's name in the table of agents, Args the arguments behind its
	// program that a person chose; never a prompt or the id of a session.
	Agent   string   `json:"agent"`
	Args    []string `json:"args,omitempty"`
	Account string   `json:"account,omitempty"` // the client's folder, where it is not the usual one
	// Launcher are the words of what the agent is started in, before or around its command
	// line: a sandbox, another user. None where it is started by itself.
	Launcher []string `json:"launcher,omitempty"`
	// Limits are what it was given besides, by the shell in which a person started it.
	Limits *process.Limits `json:"limits,omitempty"`

	// How its session of tmux is made: the style of its status line, whether its pane stays
	// when the agent ends, and whether the agent is started again when it crashes.
	Theme   string `json:"theme,omitempty"`
	Remain  bool   `json:"remain,omitempty"`
	Respawn bool   `json:"respawn,omitempty"`

	Role  string `json:"role,omitempty"`  // of a town's worker, its address
	Topic string `json:"topic,omitempty"` // what the session is about that its last start began

	Desired Desired `json:"desired"`
	// SessionID is the session that its agent was given or had last, and SessionAt when
	// that became known.
	SessionID session.ID `json:"session_id,omitempty"`
	SessionAt time.Time  `json:"session_at,omitzero"`
	ChainID   session.ID `json:"chain_id,omitempty"`
	// ForkOf is the session of which its first start makes a copy, until it goes on with
	// that copy.
	ForkOf session.ID `json:"fork_of,omitempty"`

	TmuxServer  string    `json:"tmux_server,omitempty"` // its socket; "" for tmux's own default
	TmuxSession string    `json:"tmux_session,omitempty"`
	TmuxPane    string    `json:"tmux_pane,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"` // its agent, the last time

	// Adopted is the agent's process where gt did not start it.
	Adopted *Adopted `json:"adopted,omitempty"`

	Acknowledged time.Time `json:"acknowledged_at,omitzero"` // when a person last saw that it waits
	// LoadedMCPNames are the MCP servers that its folder's .mcp.json named at the start.
	LoadedMCPNames []string `json:"loaded_mcp_names,omitempty"`
	// Imported is the agent as an imported file has it, as JSON.
	Imported json.RawMessage `json:"imported,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// Managed is nil for an instance that was made from no template.
	Managed *Managed `json:"lifecycle,omitempty"`

	unknown openjson.Unknown
}

// Adopted is a process, as package process names it.
type Adopted struct {
	PID   int    `json:"pid"`
	Start string `json:"pid_start"`
	Boot  string `json:"boot_id"`
	NS    string `json:"pid_ns,omitempty"`
}

// Adopt notes a process.
func Adopt(p process.Proc) *Adopted { return &Adopted{p.PID, p.Start, p.Boot, p.NS} }

// Process is the process that was noted.
func (a *Adopted) Process() process.Proc { return process.Noted(a.PID, a.Start, a.Boot, a.NS) }

// Worktree is a git worktree that was made for an instance.
type Worktree struct {
	Path       string `json:"path"`
	Branch     string `json:"branch"`
	Repository string `json:"repository"`      // the folder of the repository that it belongs to
	Ready      bool   `json:"ready,omitempty"` // it was made to its end
}

// WorktreePath is the path of the worktree that was made for it, "" where none was.
func (in *Instance) WorktreePath() string {
	if in.Worktree == nil {
		return ""
	}
	return in.Worktree.Path
}

// MarkStarted notes that its agent is started, and the session that it gets, "" where only a
// hook will tell that. resumes reports that the conversation of the session goes on: it was
// there before.
func (in *Instance) MarkStarted(at time.Time, id session.ID, resumes bool) {
	switch {
	case id == "":
	case !resumes:
		in.SessionID, in.SessionAt = id, at.UTC()
	case id != in.SessionID:
		in.SessionID, in.SessionAt = id, in.StartedAt // a hook told of it since
	}
	in.StartedAt = at.UTC()
}

// maxName bounds a name, and each name in the path of a group, in bytes.
const maxName = 64

// CheckName reports what is wrong with a name: it has 1 to 64 bytes of letters, digits,
// '-' and '_', and begins with a letter or digit. tmux gives '.', ':', '=', '%', '@' and
// '$' a meaning.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("invalid name '%.80s' (it has 1 to %d bytes)", name, maxName)
	}
	for i, r := range name {
		alnum := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !alnum && (i == 0 || r != '-' && r != '_' && !unicode.Is(unicode.Mn, r)) || r == utf8.RuneError {
			if r == '-' || r == '_' {
				return fmt.Errorf("invalid name '%s': it begins with %q (begin with a letter or digit)", name, r)
			}
			return fmt.Errorf("invalid name '%s': it contains %q (use letters, digits, - and _)", name, r)
		}
	}
	return nil
}

// NameFor makes a name of a text, such as a folder's name.
func NameFor(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r), r == '_', unicode.Is(unicode.Mn, r) && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := strings.TrimLeft(b.String(), "_-")
	for len(name) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	if name = strings.TrimRight(name, "-"); name == "" {
		return "agent"
	}
	return name
}

// Variant is a name with something behind it, shortened where it would be too long.
func Variant(name, suffix string) string {
	for len(name)+len(suffix) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name + suffix
}

// maxDepth bounds how deep groups are nested.
const maxDepth = 16

// CheckGroup reports what is wrong with the path of a group, such as work/backend/api. It
// has at most 16 names of what CheckName allows, besides blanks within.
func CheckGroup(group string) error {
	elems := strings.Split(group, "/")
	if len(elems) > maxDepth {
		return fmt.Errorf("invalid group '%.80s' (at most %d levels)", group, maxDepth)
	}
	for _, elem := range elems {
		if strings.TrimSpace(elem) != elem {
			return fmt.Errorf("invalid group '%.80s': a name begins or ends with a blank", group)
		}
		if err := CheckName(strings.ReplaceAll(elem, " ", "-")); err != nil {
			return fmt.Errorf("invalid group '%.80s': %w", group, err)
		}
	}
	return nil
}

// In reports whether a group is another or below it.
func In(group, other string) bool {
	return group == other || strings.HasPrefix(group, other+"/")
}

// valid reports what is wrong with what was read.
func (in *Instance) valid(id ID) error {
	switch {
	case in.ID != id:
		return fmt.Errorf("it is the instance '%.40s'", in.ID)
	case !filepath.IsAbs(in.Path) || path.Clean(in.Path) != in.Path:
		return errors.New("its folder is not an absolute path")
	case in.Worktree != nil && !in.Worktree.valid():
		return errors.New("its worktree is not an absolute path")
	case in.Agent == "":
		return errors.New("it has no agent")
	case in.Account != "" && !filepath.IsAbs(in.Account):
		return errors.New("its account is not an absolute path")
	case strings.ContainsRune(in.Path+in.Account+strings.Join(in.Args, ""), 0):
		return errors.New("its folder, account or arguments contain a zero byte")
	case in.Group != "" && CheckGroup(in.Group) != nil:
		return CheckGroup(in.Group)
	}
	for _, other := range []struct {
		what string
		id   session.ID
	}{{"session", in.SessionID}, {"fork", in.ForkOf}, {"chain", in.ChainID}, {"parent", session.ID(in.ParentID)}} {
		if _, err := session.ParseID(string(other.id)); other.id != "" && err != nil { // they become arguments and names of files
			return fmt.Errorf("its %s: %w", other.what, err)
		}
	}
	if in.Managed != nil {
		return errors.Join(in.Managed.valid(), CheckName(in.Name))
	}
	return CheckName(in.Name)
}

func (w *Worktree) valid() bool {
	return filepath.IsAbs(w.Path) && path.Clean(w.Path) == w.Path && w.Path != "/" && filepath.IsAbs(w.Repository) && w.Branch != ""
}

// MarshalJSON keeps what a newer gt has written.
func (in *Instance) MarshalJSON() ([]byte, error) {
	type plain Instance
	return openjson.Marshal((*plain)(in), in.unknown)
}
