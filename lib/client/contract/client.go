// Package contract defines what a hook knows about a client. lib/client/<agent>/hook
// fills it in, and lib/client/registry lists the clients.
//
// A hook runs at every prompt and tool call. A Client is therefore data and plain
// functions that the linker lays out: nothing is built at the start of a program.
package contract

import (
	"iter"

	"gt/lib/client/names"
)

// Default is the client if no other is named.
const Default = names.Default

// Client is what the hooks know about one client.
type Client struct {
	*names.Client

	// TellsMore reports that hooks are told what the conversation lacks, such as the results of
	// tools: then that is recorded in its place.
	TellsMore bool

	// Accounts returns the client's own folders. It is nil if gt cannot read their
	// content. It is a sequence, because finding the last ones can need a listing of the
	// home folder.
	Accounts func(getenv func(string) string) iter.Seq[Place]

	// HasConversations reports whether an account has conversations; nil if it has some whenever the folder
	// for them exists.
	HasConversations func(dir string) bool

	// RunsForeignHooks reports whether this client runs the current program as a hook
	// that is wired for another client; nil means never. named reports that the wiring
	// names its client.
	RunsForeignHooks func(getenv func(string) string, named bool) bool

	// Fields, Events and Implied are the names in its hooks' input, without those that an
	// earlier client of the registry has.
	Fields  []FieldName
	Events  []EventName
	Implied []ImpliedEvent

	// RunsElsewhere reports that the client runs its hooks in a folder of its own. A hook
	// whose input names no folder is then in that of its session, and does nothing if the
	// session is not known.
	RunsElsewhere bool

	// OwnsTranscript reports whether a conversation is the client's; nil if no other program runs its
	// hooks. A hook of another program does nothing.
	OwnsTranscript func(transcript string) bool

	// ParentSession returns the session whose subagent has this conversation, "" if it is none's;
	// nil if the input of a hook tells it. It is called once for a session of the person's,
	// and at every hook of a subagent.
	ParentSession func(transcript string) string

	// MainAgent is the id that it gives the session's own agent where another client
	// gives only a subagent's.
	MainAgent string

	// Notices, Limits and Prompting are its names of the notifications, failed turns and
	// tools that tell what a session does. Limits are the failures of an account that has
	// used up a limit.
	Notices []NoticeName
	Limits  []string
	// Logins are the failures of an account that has to log in anew.
	Logins    []string
	Prompting []Prompting

	Dialect Dialect
}
