// Package wiring puts gt into a coding agent's hooks: it edits the handlers in a settings
// file that run a binary of gt, and leaves the rest as it is. lib/client/<agent>/wiring
// describes what differs between clients in a Client.
package wiring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gt/lib/text/jsonedit"
)

// Binaries are all binaries that any version of gt has wired. A handler that runs one of
// them is ours, in whatever folder and form.
var Binaries = []string{"gt-prime", "gt-handoff", "gt-checkpoint", "gt-keepalive"}

// A Client describes a client's hooks to gt-hooks, beyond the block in the table.
type Client struct {
	// Name is the name of the client's folder. An agent with the same kind of hooks has
	// it as format or dialect in its block.
	Name string

	// Text is the wiring in the client's format. It has binaries without a path, and Name
	// after --agent; Wanted replaces them. In a script each is a word in double quotes:
	// "gt-prime", and "--agent", "pi".
	Text  []byte
	Shape Shape
	Unit  Unit // of time limits

	// Format reads and edits a settings file that is not JSON; nil for JSON.
	Format Format

	// Oldest is the first version of the client that gt can be wired into; Since has the first
	// one that takes an event. Empty if all do.
	Oldest string
	Since  map[string]string
	// Version is the version that is on this machine, or "". Set it for a wiring that fits.
	// VersionUnknown is why an installed client's version is not known, or "".
	Version, VersionUnknown string

	// Schema is what the client takes in its settings, see ParseSchema; empty if it skips no
	// file as a whole.
	Schema string

	// OffKey is the setting that switches all hooks off if its value is OffValue. Dots
	// separate the keys of nested objects. Empty if there is none.
	OffKey   string
	OffValue bool

	// Comments reports whether the client's settings may have comments.
	Comments bool

	// TurnEnds are the client's names for the end of a turn.
	TurnEnds []string

	// Compact is what a person types to compact.
	Compact string

	// ScriptKind is the client's word for our script: plugin, extension.
	ScriptKind string
	// AfterInstall says what a person has to do before the hooks run, if anything.
	AfterInstall string

	// Command is what a person types to hand over; nil if the client has no custom
	// commands.
	Command *Command

	// Allow is the list of commands that the client runs without asking. It is nil if
	// there is no such list, if the client never asks, or if a rule would let an agent
	// out of its sandbox.
	Allow *Allow

	// MCP adds an MCP server to the client; nil if gt does not know how.
	MCP *MCP

	// Forget removes what the client's own files record about our hooks of a source that
	// are gone, and returns the file that it changed. It is nil if the client records
	// nothing.
	Forget func(Agent, Source) (file string, err error)

	// RunsHooksOf names other clients whose project hooks this one runs, too.
	RunsHooksOf []string

	// DeletesAfter returns after how many idle days the client's settings make it delete a
	// conversation; nil if it never does.
	DeletesAfter func(Agent) int

	// Sources returns the files with hooks beyond the three scopes; nil if there are
	// none.
	Sources func(Agent) []Source

	// AsksTrust reports whether the client asks at its start whether to trust a folder, by
	// its own folder and the start's arguments and environment; nil if that is not known.
	AsksTrust func(folder, dir string, args, environ []string) bool

	// Successor is the client that its maker offers in its place; nil if there is none.
	Successor *Successor

	// Blockers returns what keeps the hooks from running in the client's own settings,
	// apart from OffKey; nil if nothing is known.
	Blockers func(Agent) []Blocker
}

// MCP says how the client is told of gt's MCP server, whose name is gt.
type MCP struct {
	Add    []string // the arguments of the client's command that adds a server, up to the server's own
	Remove []string
	Files  func(folder string) []string // those of the client that may list the servers
	// Program returns the server's program in such a file, or "".
	Program func(text []byte) string
}

// A Successor is a client that takes another one's place.
type Successor struct {
	Name   string
	Folder string // its own, below that of the other one, whose folder then proves nothing
	Ended  string // what became of the other one
}

// A Format is a kind of settings file other than JSON.
type Format interface {
	// Handlers returns all handlers in a file, in order (NewHandler).
	Handlers(text []byte) ([]Handler, error)
	// Rewire makes want gt's only handlers in a file. Everything else stays.
	Rewire(text []byte, want []Handler) ([]byte, []Change, error)
}

// Shape is the format of a file with hooks.
type Shape int

const (
	Grouped Shape = iota // {"hooks":{EVENT:[{"matcher":…,"hooks":[{…}]}]}}
	Flat                 // {"version":1,"hooks":{event:[{…}]}}
	Script               // a program, the whole file is ours
	Named                // {NAME:{EVENT:[{…}]}}
)

// Unit is the unit of a time limit.
type Unit int

const (
	Seconds Unit = iota
	Milliseconds
	EitherUnit // seconds below 1000, else milliseconds
)

const (
	User    = "user"    // for all projects
	Project = "project" // shared in the project
	Local   = "local"   // one person's, in a project
)

// An Agent is a client on this machine, or an agent with the same kind of hooks.
type Agent struct {
	Name    string // its name in the table
	Command string // what a person types to start it
	Folder  string // its own folder, with its settings
	Project string // the top folder of the project in which gt-hooks runs
	Sources []Source
}

// HasHooks reports whether one of its sources has hooks of ours.
func (a Agent) HasHooks() bool {
	return slices.ContainsFunc(a.Sources, func(s Source) bool { return len(s.OwnHandlers()) > 0 })
}

// HasHooksIn reports the same of the sources of a scope.
func (a Agent) HasHooksIn(scope string) bool {
	return slices.ContainsFunc(a.Sources, func(s Source) bool { return s.Scope == scope && len(s.OwnHandlers()) > 0 })
}

// A Blocker keeps correctly wired hooks from running.
type Blocker struct {
	Reason string
	Remedy string // what to type or to do; empty if Reason says it
}

// UntrustedBlocker returns the Blocker of a client that runs hooks only in folders that the
// person trusts.
func (a Agent) UntrustedBlocker() Blocker {
	return Blocker{a.Name + " does not trust this folder, and runs no hooks of it", "start " + a.Command + " here and say that you do"}
}

// UnlikelyLimit returns what is wrong with a time limit that was probably meant in the
// other unit: at least 1000 seconds, or at most 100 milliseconds. It is empty for other
// limits.
func (c Client) UnlikelyLimit(limit float64) string {
	switch {
	case limit == 0 || c.Unit == EitherUnit:
	case c.Unit == Seconds && limit >= 1000:
		return fmt.Sprintf("its timeout of %v is in seconds, %.1f hours", limit, limit/3600)
	case c.Unit == Milliseconds && limit <= 100:
		return fmt.Sprintf("its timeout of %v is in milliseconds, too short for any program", limit)
	}
	return ""
}

// switchedOff reports whether the file switches all hooks off, by the key OffKey; nil if it does
// not have that.
func (c Client) switchedOff(doc *jsonedit.Doc) *bool {
	if c.OffKey == "" {
		return nil
	}
	n := doc.Root
	for key := range strings.SplitSeq(c.OffKey, ".") {
		if n = n.Get(key); n == nil {
			return nil
		}
	}
	var value any
	json.Unmarshal(doc.Raw(n), &value) // it was parsed
	var on bool
	switch v := value.(type) { // as JavaScript does, in which most clients are written
	case nil:
		return nil
	case bool:
		on = v
	case float64:
		on = v != 0
	case string: // Gemini CLI, whose OffValue is false, reads the word
		on = v != "" && (c.OffValue || !strings.EqualFold(v, "false"))
	default:
		on = true
	}
	off := on == c.OffValue
	return &off
}
