// Package instance keeps the instances of gt-session: places for agents that outlive their
// processes and conversations.
//
// An instance is the file <id>.json, with three earlier generations. Whoever starts or stops its
// agent holds its lock, <id>.lock. The folder's lock, .lock, guards what concerns all instances:
// names, parents and groups, which are in groups.json. Take the instance's lock before the
// folder's. <id>.session names the agent's current session; the agent's hook writes it.
//
// The file of an instance that was made from a template (Managed) includes its state, and
// lies in the folder archived or closed in these states. The lifecycle lock, instances.lock
// beside the folder, guards the states of all of them.
//
// The folder is instances in a town's state. A profile is a personal town of its own,
// profiles/<name> in the state folder.
//
// What an instance does now is not stored but derived (lib/live/status).
package instance

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/fold"
	"gt/lib/text/openjson"
)

// ID is a random UUID that never changes.
type ID string

type Desired string

const (
	Running Desired = "running"
	Stopped Desired = "stopped"
)

// Instance is a place for an agent. Fields of a newer gt survive.
type Instance struct {
	ID    ID     `json:"id"`
	Name  string `json:"name"` // unique in the folder; see CheckName
	Title string `json:"title,omitempty"`
	Path  string `json:"path"` // the agent's folder
	// Folder identifies the folder at Path; see Store.Enter. It is nil if there was none
	// yet, or v0.1.0 made the instance.
	Folder *place.Folder `json:"folder,omitempty"`
	// Worktree is the git worktree that was made for the agent and is removed with the
	// instance; nil if it works in a folder of the person.
	Worktree *Worktree `json:"worktree,omitempty"`
	Group    string    `json:"group,omitempty"` // see CheckGroup; "" for none
	ParentID ID        `json:"parent_id,omitempty"`

	// Agent is the client's name in the table of agents. Args are the arguments that a
	// person chose, never a prompt or session id.
	Agent   string   `json:"agent"`
	Args    []string `json:"args,omitempty"`
	Account string   `json:"account,omitempty"` // the client's folder, if not the usual one
	// Launcher are the words before or around the agent's command line: a sandbox, another user.
	Launcher []string `json:"launcher,omitempty"`
	// Limits are the limits of the shell in which a person started the agent.
	Limits *process.Limits `json:"limits,omitempty"`

	// Of its tmux session: the style of the status line, whether the pane remains when the
	// agent ends, and whether a crashed agent is restarted.
	Theme   string `json:"theme,omitempty"`
	Remain  bool   `json:"remain,omitempty"`
	Respawn bool   `json:"respawn,omitempty"`

	Role  string `json:"role,omitempty"`  // address of a town's worker
	Topic string `json:"topic,omitempty"` // topic of the session that the last start began

	Desired Desired `json:"desired"`
	// SessionID is the session that the agent was given or had last, since SessionAt.
	SessionID session.ID `json:"session_id,omitempty"`
	SessionAt time.Time  `json:"session_at,omitzero"`
	ChainID   session.ID `json:"chain_id,omitempty"`
	// ForkOf is the session that the first start copies. It is cleared when the copy exists.
	ForkOf session.ID `json:"fork_of,omitempty"`

	TmuxServer  string    `json:"tmux_server,omitempty"` // socket; "" for the default
	TmuxSession string    `json:"tmux_session,omitempty"`
	TmuxPane    string    `json:"tmux_pane,omitempty"`
	StartedAt   time.Time `json:"started_at,omitzero"` // last start of the agent
	// StartedIn is where the last start was; nil before the first, and from gt before v0.3.0.
	StartedIn *Location `json:"started_in,omitempty"`
	// ShutDownAt is when the agent was ended to be restored, with all others.
	ShutDownAt time.Time `json:"shut_down_at,omitzero"`
	// ArchivedAt is when a person put the instance away; see IsArchived.
	ArchivedAt time.Time `json:"archived_at,omitzero"`

	// Adopted is the agent's process if gt did not start it.
	Adopted *Adopted `json:"adopted,omitempty"`

	Acknowledged time.Time `json:"acknowledged_at,omitzero"` // when a person last saw that it waits
	// Listed is the digest of the question whose options a person was shown last.
	Listed string `json:"listed_question,omitempty"`
	// LoadedMCPNames are the MCP servers in the folder's .mcp.json at the start.
	LoadedMCPNames []string `json:"loaded_mcp_names,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	// Moved is set while the instance is on its way to another machine or there; its agent
	// starts here only if a person insists. Generation counts the moves of the instance,
	// and Arrived is the parcel that brought it here.
	Moved      *Moved `json:"moved,omitempty"`
	Generation int    `json:"generation,omitempty"`
	Arrived    string `json:"arrived,omitempty"`
	// Departures prove to the hosts that it left that it did.
	Departures []Departure `json:"departures,omitempty"`

	// Managed is nil for an instance without a template.
	Managed *Managed `json:"lifecycle,omitempty"`

	unknown openjson.Unknown
}

// Adopted is a process.Proc in a file.
type Adopted struct {
	PID   int    `json:"pid"`
	Start string `json:"pid_start"`
	Boot  string `json:"boot_id"`
	NS    string `json:"pid_ns,omitempty"`
}

func Adopt(p process.Proc) *Adopted { return &Adopted{p.PID, p.Start, p.Boot, p.NS} }

func (a *Adopted) Process() process.Proc { return process.ProcFromRecord(a.PID, a.Start, a.Boot, a.NS) }

// Location is a machine, known by its boot, and a PID namespace there.
type Location struct {
	Boot string `json:"boot_id,omitempty"`
	NS   string `json:"pid_ns,omitempty"`
	Host string `json:"host,omitempty"`
	Disk string `json:"disk,omitempty"` // see place.State.Disk
}

// CurrentLocation returns where this program runs with that state.
func CurrentLocation(state place.State) *Location {
	host, _ := os.Hostname() // "" if the machine has no name
	boot, ns := process.CurrentNamespace()
	return &Location{boot, ns, host, state.Disk()}
}

// IsElsewhere reports whether an agent that was started at w at that time may run where it cannot
// be seen from here: on another machine, or in another PID namespace. A nil w, which says nothing,
// counts as here.
func (w *Location) IsElsewhere(started time.Time, state place.State) bool {
	if w == nil {
		return false
	}
	another := session.OtherMachine(w.Boot, w.Host) && !session.BeforeRestart(w.Boot, w.Disk, started, state)
	return another || process.InOtherNamespace(w.Boot, w.NS)
}

// Worktree is a git worktree that was made for an instance.
type Worktree struct {
	Path       string `json:"path"`
	Branch     string `json:"branch"`
	Repository string `json:"repository"`      // its repository's folder
	Start      string `json:"start,omitempty"` // the commit at which a new branch begins, or ""
	Ready      bool   `json:"ready,omitempty"` // it is complete
	// SetUp reports that the person's commands for a new one have yet to run.
	SetUp bool `json:"set_up,omitempty"`
}

// Departure is a move of an instance away from a host, which alone can make the proof.
type Departure struct {
	Moves int    `json:"moves"` // as Generation, where it went
	Proof string `json:"proof"`
}

// Moved says that an instance left for another machine.
type Moved struct {
	Parcel string    `json:"parcel"`        // the id of what it travels in
	To     string    `json:"to,omitempty"`  // the host, if known
	Key    string    `json:"key,omitempty"` // that host's key: nobody else brings it back
	Ran    bool      `json:"ran,omitempty"` // its agent was stopped for the move
	At     time.Time `json:"at"`
	// Complete reports that the parcel can be unpacked. Until then the instance is nowhere else.
	Complete bool `json:"complete,omitempty"`
	// Waits reports that the parcel is still here, in a letter; no file has it.
	Waits bool `json:"waits,omitempty"`
	// State is a digest of its files. While they are the same, it can come back to them.
	State string `json:"state,omitempty"`
}

// String says where the instance went, or how far its move is.
func (m *Moved) String() string {
	switch {
	case !m.Complete && m.To == "":
		return "moving"
	case m.Waits:
		return "moving to " + m.To + " (waits)"
	case !m.Complete:
		return "moving to " + m.To
	case m.To == "":
		return "moved"
	}
	return "moved to " + m.To
}

// WorktreePath returns the worktree's path, or "".
func (in *Instance) WorktreePath() string {
	if in.Worktree == nil {
		return ""
	}
	return in.Worktree.Path
}

// MarkStarted records a start of the agent, and the id of its session. id is "" if only a hook will
// report it; until then the last one stays. resumes says that the session existed before.
func (in *Instance) MarkStarted(at time.Time, id session.ID, resumes bool) {
	switch {
	case id == "":
	case !resumes:
		in.SessionID, in.SessionAt = id, at.UTC()
	case id != in.SessionID:
		in.SessionID, in.SessionAt = id, in.StartedAt // a session of the previous start, which a hook reported
	}
	in.StartedAt = at.UTC()
}

// ChangeAgent records that another client runs in the instance's place from now on. args
// are what a person chose, account is the client's folder if not the usual one, and id is
// its session, "" if only a hook will report it.
func (in *Instance) ChangeAgent(at time.Time, agent string, args []string, account string, id session.ID) {
	in.Agent, in.Args, in.Account = agent, args, account
	in.SessionID, in.SessionAt, in.StartedAt, in.ForkOf = id, at.UTC(), at.UTC(), ""
}

// maxName bounds names of instances and groups, in bytes.
const maxName = 64

// Archive puts the instance away: no list has it, and its name stays taken.
func (in *Instance) Archive(now time.Time) {
	if in.ArchivedAt = now.UTC(); !in.IsArchived() { // the clock was set back
		in.ArchivedAt = in.StartedAt.Add(1)
	}
}

// IsArchived reports whether the instance is put away. A later start brings it back, also that of
// a gt that does not know the field.
func (in *Instance) IsArchived() bool { return in.ArchivedAt.After(in.StartedAt) }

// CheckName returns an error unless a name has 1 to 64 bytes of letters, digits, '-' and '_' and
// begins with a letter or digit. tmux gives '.', ':', '=', '%', '@' and '$' a meaning.
func CheckName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("invalid name '%.80s' (it has 1 to %d bytes)", name, maxName)
	}
	for i, r := range name {
		alnum := unicode.IsLetter(r) || unicode.IsDigit(r)
		if !alnum && (i == 0 || r != '-' && r != '_' && !unicode.IsMark(r)) || r == utf8.RuneError {
			if r == '-' || r == '_' {
				return fmt.Errorf("invalid name '%s': it begins with %q (begin with a letter or digit)", name, r)
			}
			return fmt.Errorf("invalid name '%s': it contains %q (use letters, digits, - and _)", name, r)
		}
	}
	return nil
}

// NameFor makes a name from a text, such as a folder's name.
func NameFor(text string) string {
	var b strings.Builder
	for _, r := range fold.Name(text) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r), r == '_', unicode.IsMark(r) && b.Len() > 0:
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := Variant(strings.TrimLeft(b.String(), "_-"), "") // no longer than maxName
	return cmp.Or(strings.TrimRight(name, "-"), "agent")
}

// Variant returns a name with a suffix, shortened to maxName.
func Variant(name, suffix string) string {
	for len(name)+len(suffix) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name + suffix
}

const maxDepth = 16

// CheckGroup returns an error for an invalid group path. A valid one, such as
// work/backend/api, has at most 16 names, which may contain blanks.
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

// IsInGroup reports whether a group is other or below it.
func IsInGroup(group, other string) bool {
	group, other = fold.Name(group), fold.Name(other)
	return group == other || strings.HasPrefix(group, other+"/")
}

// validate returns an error unless gt can use the instance. id is that of its file's name.
func (in *Instance) validate(id ID) error {
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
		if _, err := session.ParseID(string(other.id)); other.id != "" && err != nil { // they become arguments and file names
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

// MarshalJSON keeps fields of a newer gt.
func (in *Instance) MarshalJSON() ([]byte, error) {
	type plain Instance
	return openjson.Marshal((*plain)(in), in.unknown)
}

const maxServers = 1 << 20

// Servers returns the names of the MCP servers in a folder's .mcp.json.
func Servers(dir string) (names []string) {
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if atomicfile.ReadJSON(filepath.Join(dir, ".mcp.json"), maxServers, &file) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(file.Servers))
}
