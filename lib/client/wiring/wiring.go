// Package wiring puts gt into a coding agent's hooks: it reads the hooks in a
// settings file, changes those that run a binary of gt, and leaves all else as it
// is. What one client does in its own way, lib/client/<agent>/wiring says in a
// Client.
package wiring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gt/lib/text/jsonedit"
)

// Binaries are the ones that any version of gt has wired. A handler that runs
// one of them is ours, wherever the binary lies and however it is written.
var Binaries = []string{"gt-prime", "gt-handoff", "gt-checkpoint", "gt-keepalive"}

// A Client is what gt-hooks knows of a client besides its block in the table: how
// it takes hooks, and what keeps it from running them.
type Client struct {
	// Name is the client's folder. Other agents that take the same hooks name it
	// in their block as format or dialect.
	Name string

	// Text is the wiring in the client's own form. A binary is named as it is
	// found on PATH, and the agent by Name, behind --agent: Wanted puts a path and
	// the name of the agent in their places. In a script the first is a word of
	// its own in double quotes, "gt-prime", and so is the second: "--agent", "pi".
	Text  []byte
	Shape Shape
	Unit  Unit // of time limits

	// OffKey is the setting that switches all hooks off when its value is OffValue;
	// a dot parts the keys of nested objects. Empty where there is none.
	OffKey   string
	OffValue bool

	// Comments reports whether the client reads settings that have comments.
	Comments bool

	// TurnEnds are the names that the end of a turn has in the client's input.
	TurnEnds []string

	// Compact is what a person types for a compaction.
	Compact string

	// ScriptKind is what the client calls a script of ours: plugin, extension.
	ScriptKind string
	// AfterInstall says what a person has to do before the hooks run; empty where
	// that is nothing.
	AfterInstall string

	// Command is what a person types to hand over; nil where the client has no commands
	// of a person's own.
	Command *Command

	// Allow is where its person lists what it runs without asking; nil where there is no
	// such list, where it asks for nothing anyway, or where a rule would let an agent out
	// of its sandbox.
	Allow *Allow

	// Forget takes out of the client's own files what it noted of our hooks in a source,
	// once they are gone, and returns the file that it changed; nil where it notes nothing.
	Forget func(Agent, Source) (file string, err error)

	// HookVars are variables that only the client's hooks have.
	HookVars []string

	// RunsHooksOf names the clients whose hooks of a project this one runs too.
	RunsHooksOf []string

	// Deletes returns after how many days without a word the client deletes a
	// conversation, as its settings have it; nil of a client that keeps them.
	Deletes func(Agent) int

	// Sources reads the places that the client takes hooks from besides the files
	// of the three scopes; nil where there are none.
	Sources func(Agent) []Source

	// Blockers finds what in the client's own settings keeps its hooks from
	// running, besides OffKey; nil where nothing is known.
	Blockers func(Agent) []Blocker
}

// Shape is the form of the file that a client takes its hooks from.
type Shape int

const (
	Grouped Shape = iota // {"hooks":{EVENT:[{"matcher":…,"hooks":[{…}]}]}}
	Flat                 // {"version":1,"hooks":{event:[{…}]}}
	Script               // a program of ours, the whole file
)

// Unit is what a number means as a time limit.
type Unit int

const (
	Seconds Unit = iota
	Milliseconds
	Either // seconds below 1000, milliseconds from there on
)

// The scopes of settings.
const (
	User    = "user"    // of all projects
	Project = "project" // shared with the project
	Local   = "local"   // of one person in a project
)

// An Agent is a client on this machine, or an agent that takes the same hooks.
type Agent struct {
	Name    string // as the table calls it
	Command string // what a person types to start it
	Folder  string // its own, with its settings
	Project string // the top folder of the project that gt-hooks was started in
	Sources []Source
}

// Wired reports whether the settings of a scope have a hook of ours.
func (a Agent) Wired(scope string) bool {
	return slices.ContainsFunc(a.Sources, func(s Source) bool { return s.Scope == scope && len(s.Ours()) > 0 })
}

// A Blocker keeps hooks from running that are wired as they should be.
type Blocker struct {
	Reason string
	Remedy string // what to type or to do; empty where Reason says it
}

// Untrusted is the Blocker of a client that runs hooks only of folders that a
// person trusts.
func (a Agent) Untrusted() Blocker {
	return Blocker{a.Name + " does not trust this folder, and runs no hooks of it", "start " + a.Command + " here and say that you do"}
}

// UnlikelyLimit returns what is wrong with a time limit that nobody can mean,
// which is one in the other unit: over a quarter of an hour in seconds, or a tenth
// of a second. It is empty for any other.
func (c Client) UnlikelyLimit(limit float64) string {
	switch {
	case limit == 0 || c.Unit == Either:
	case c.Unit == Seconds && limit >= 1000:
		return fmt.Sprintf("its timeout of %v is in seconds, %.1f hours", limit, limit/3600)
	case c.Unit == Milliseconds && limit <= 100:
		return fmt.Sprintf("its timeout of %v is in milliseconds, too short for any program", limit)
	}
	return ""
}

// switchedOff returns what a settings file says of the client's switch for all
// hooks, nil where it says nothing.
func (c Client) switchedOff(doc *jsonedit.Doc) *bool {
	if c.OffKey == "" {
		return nil
	}
	n := doc.Root
	for _, key := range strings.Split(c.OffKey, ".") {
		if n = n.Get(key); n == nil {
			return nil
		}
	}
	var v bool
	if json.Unmarshal(doc.Raw(n), &v) != nil {
		return nil
	}
	off := v == c.OffValue
	return &off
}
