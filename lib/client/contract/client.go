// Package contract is the form in which what the hooks know of a client is
// written down. It knows no client itself: lib/client/<agent>/hook fills it in,
// and lib/client/registry lists those.
//
// A hook runs at every prompt and tool call, so a Client is data and plain
// functions, laid out when the program is linked: nothing here is made at a start.
package contract

import "iter"

// Default is the name of the client that is meant where none is named.
const Default = "claude"

// Client is what the hooks know of one client.
type Client struct {
	Name string

	// Processes are the names under which it runs.
	Processes []string

	// SessionVars are the variables in which it tells its commands the id of
	// their session.
	SessionVars []string

	// SharedVar is the variable in which others read that id in the environment of a
	// tmux session, by default the first of SessionVars.
	SharedVar string

	// StoreVars are the variables that name the folders in which it keeps what
	// is its own. They count as the client was started with them.
	StoreVars []string

	// ProjectVar is the variable in which it tells its hooks the project's folder.
	ProjectVar string

	// Accounts returns the folders in which it keeps what is its own, nil where
	// gt cannot read what is there. It is a sequence, since the last ones can
	// take a listing of the home folder.
	Accounts func(getenv func(string) string) iter.Seq[Place]

	// RunsForeignHooks reports whether this client runs us, and calls the hooks
	// that are wired for another; nil for one that never does. named reports
	// that the wiring names the client that it is for.
	RunsForeignHooks func(getenv func(string) string, named bool) bool

	// Fields, Events and Implied are the words of its input, those that stand in
	// no other client's list before it.
	Fields  []FieldName
	Events  []EventName
	Implied []ImpliedEvent

	// Notices, Limits and Prompting are what its notifications, the failures of a turn
	// and its tools are called, of those that tell what a session does. Limits are the
	// failures of an account that has used up a limit.
	Notices   []NoticeName
	Limits    []string
	Prompting []Prompting

	Dialect Dialect
}
