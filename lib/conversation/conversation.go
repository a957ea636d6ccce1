// Package conversation is the model of a conversation between a person and a coding
// agent, and the interface of the readers of the clients' files. It knows no client: each
// one has its Reader in lib/client/<agent>/conversation, and lib/client/readers lists
// them.
//
// The files belong to the clients, and their format changes with any version. A reader
// skips what it does not understand: records of a new kind, an incomplete last line,
// bytes that are not JSON, a file that grows while it is read. It never writes, locks or
// creates anything in a client's folder, and holds at most one line of a file in memory.
//
// The readers share Lines and Ends to read files, Excerpt and Arguments to make the texts
// of a list, and ReadErrors to collect errors. Package readertest has the tests that
// every reader has to pass.
package conversation

import (
	"time"

	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// Reader reads the conversations of one client. It is safe for concurrent use.
type Reader interface {
	// Client returns the client's name, as in lib/client/agent.
	Client() string

	// Find calls each for every conversation in a store. It lists folders and stats files
	// but opens no transcript (only a database is read). It skips what it cannot read;
	// the error names the first failure.
	Find(store string, each func(File)) error

	// Metadata returns what a list shows of a conversation. It reads both ends of the
	// file (see Ends). A file in which it understands nothing gives the zero Metadata and
	// no error. If there is an error, the Metadata holds what could be read, and the
	// caller asks again later.
	Metadata(f File) (Metadata, error)

	// Read calls each for the entries of a conversation from o.From on, in order, until
	// it returns false. It returns where the next Read begins: after the last complete
	// record that each has taken in.
	Read(f File, o Options, each func(Entry) bool) (next int64, err error)
}

// ByClient returns the Reader or Writer of a client, or nil.
func ByClient[T interface{ Client() string }](all []T, client string) (found T) {
	for _, one := range all {
		if one.Client() == client {
			return one
		}
	}
	return found
}

// Registry is a Reader whose client records which of its sessions run.
type Registry interface {
	// Running calls each for every session that the client records as running. The record
	// can be out of date: the caller checks that the process exists and, if start is not
	// empty, that it started then. The error names the first failure.
	Running(store string, each func(id session.ID, pid int, start string)) error
}

// Watcher is a Reader whose client records what each of its sessions does and since when.
type Watcher interface {
	// ReadActivity returns the client's record of the session that a process runs, or the zero
	// State if there is none.
	ReadActivity(store string, id session.ID, p process.Proc) activity.State
}

// Stopper is a Reader whose client writes into a conversation that a turn failed or was
// interrupted, but calls no hook for it.
type Stopper interface {
	// TurnStopped returns when the last turn stopped and why, if that is at the end of the
	// conversation and later than after; else the zero time. The reason is Done if the
	// person stopped it.
	TurnStopped(path string, after time.Time) (time.Time, activity.Reason)
}

// Refuser is a Reader whose client writes into a conversation that it dropped a prompt,
// but calls no hook for it.
type Refuser interface {
	// PromptDropped returns when the client dropped a prompt, if that is at the end of the
	// conversation and later than after; else the zero time.
	PromptDropped(path string, after time.Time) time.Time
}

// Limiter is a Reader whose client writes into a conversation when the usage limit of its
// account ends.
type Limiter interface {
	// LimitEnd returns when the limit ends, if the client wrote that at the end of the
	// conversation and later than after; else the zero time.
	LimitEnd(path string, after time.Time) time.Time
}

// Placer is a Reader whose client encodes a folder's name in a way that cannot be decoded
// but can be compared.
type Placer interface {
	// FolderFinder returns a function that returns which of dirs a conversation belongs to, or
	// "" if that is none of them or the place does not tell.
	FolderFinder(dirs []string) func(File) string
}

// Teams is a Reader whose client keeps the agents that work for a session.
type Teams interface {
	// Team returns the name of the team that the conversation's session leads, then one
	// line for each agent in it, or nil if the session leads none.
	Team(f File) []string
}

// PlainText is a Reader of files with one record a line, whose texts are as a JSON
// encoder writes them: every run of characters of an entry's text that has no blanks and
// that no encoder escapes is in the entry's record unchanged. gt searches such a file
// before it parses it.
type PlainText interface {
	// PlainText reports whether the file is like that.
	PlainText(f File) bool
}

// Historian is a Reader whose client keeps the person's prompts when it deletes a conversation.
type Historian interface {
	// History calls each for the prompts in a store, with the session of each. It returns
	// the file that has them, which need not exist.
	History(store string, each func(id session.ID, prompt string)) (path string, err error)
}

// Keeper is a Reader whose client keeps large results in files beside the conversation.
type Keeper interface {
	// KeepsResults reports whether the client keeps any for the conversation.
	KeepsResults(f File) bool
}

// Quieter is a PlainText reader that recognises records without text by how they begin.
type Quieter interface {
	// IsSilent reports whether nobody speaks in a record; with tools, whether tools do not
	// either. It returns false if it is not sure.
	IsSilent(record []byte, tools bool) bool
}

// Skipper is a Reader that skips other things than too long lines (see Skipped).
type Skipper interface {
	// Skipped returns how many records no Read gives, because they are too long or too
	// many.
	Skipped(f File) (int, error)
}

// Classifier is a Reader that knows the kinds of its client's records: those that it reads
// and those without text for it.
type Classifier interface {
	// Unknown calls each with the kind of every record that it does not know. It reads the
	// whole conversation, so no hook calls it.
	Unknown(f File, each func(kind string)) error
}

// File is the place of a conversation.
type File struct {
	Client string
	Store  string // the folder of Stores that has it
	Path   string // the transcript, or the database

	// ID is the conversation's id if its place tells it; else Metadata has it. In a
	// database, ID tells the conversations apart.
	ID session.ID

	// Parent is the session whose subagent this is, if the place tells it.
	Parent session.ID

	// IsSyncCopy means that a sync tool made the file of another, under a name of its own.
	IsSyncCopy bool
	// Earlier is the file that has what came before in the same conversation, or nil.
	Earlier *File

	// Size (in bytes) and Changed (in nanoseconds since 1970) tell whether a file has
	// changed since its Metadata was read.
	Size, Changed int64
}

type Conversation struct {
	File     File
	Metadata Metadata
}

// Metadata is what a list shows of a conversation.
type Metadata struct {
	ID     session.ID `json:"id,omitempty"`
	Parent session.ID `json:"subagent_of,omitempty"` // the session whose subagent it is
	ForkOf session.ID `json:"fork_of,omitempty"`     // the session whose history it begins with

	// Agent is the client whose conversation it is, if another client keeps it.
	Agent string `json:"agent,omitempty"`

	// FirstID is the ID of the first entry. Conversations of a client in which it is the same
	// are forks: the others copied the one that started first.
	FirstID string `json:"first,omitempty"`

	CWD     string `json:"cwd,omitempty"`    // the folder in which it began
	MovedTo string `json:"moved,omitempty"`  // the folder in which it ended, if that is another one or has been renamed
	Branch  string `json:"branch,omitempty"` // the git branch
	Model   string `json:"model,omitempty"`
	Version string `json:"version,omitempty"` // the client's

	// Title is the name that the person, or else the client, gave the conversation.
	// Prompt is the beginning of the person's first request. Both are Excerpts: one line
	// of at most MaxExcerpt characters, not cleaned. Secrets that have a form of their
	// own are removed; the value of a variable may still be in them.
	Title  string `json:"title,omitempty"`
	Prompt string `json:"prompt,omitempty"`

	Started time.Time `json:"started,omitzero"` // the time of the first record that is not a fork's copy
	Last    time.Time `json:"last,omitzero"`    // the time of the last record

	// Headless means that no person was present: claude -p, codex exec.
	Headless bool `json:"headless,omitempty"`
}

// Options select what Read gives.
type Options struct {
	// From is where to begin: 0, or what an earlier Read returned.
	From int64

	// Skip, if not nil, is called with every record's bytes. Read may pass over a record
	// for which it returns true, which is many times faster than parsing it. Read still
	// parses records that can hold a Prompt, so that the turns can be counted.
	Skip func(record []byte) bool

	// TokensOnly says that only TokenUsage is used. A reader may leave out everything else.
	TokensOnly bool

	// ForSummary also asks for what only a summary needs: titles, folders, to-do lists,
	// tracked files. Because a hook waits for it, a reader may hold only both ends of a
	// record over a megabyte. It may leave out the Text of a Result that has a CallID and
	// has not failed, and the Text of a Call whose Target is the file that it changes.
	ForSummary bool
	// TakenBack, if not nil, is called with each prompt that the person took back, of the
	// records that Read passes. If those take back what comes before From, it is called
	// with an entry before From that may have no text.
	TakenBack func(Entry)
	// Patient says that nobody waits: Read looks for what was taken back in any file.
	Patient bool
	// State, if not nil, holds what the Read that ended at From left there, and gets what
	// the next Read needs; "" means unknown. With it, a reader need not read what comes
	// before From. Without it, a summary lacks what depends on that.
	State *string
}

type Kind string

const (
	Prompt     Kind = "prompt"  // the person's request: a turn begins
	Reply      Kind = "reply"   // what the person wrote within a turn: the answer to a question, or why they refused a tool
	Answer     Kind = "answer"  // the agent's text
	Thought    Kind = "thought" // the agent's thoughts, if the client keeps them as text
	Call       Kind = "call"    // a tool call
	Result     Kind = "result"  // a tool's result
	Message    Kind = "message" // what somebody else sent to the agent: another agent, a channel; Entry.Tool names who
	Summary    Kind = "summary" // what the client put in place of the conversation that it compacted
	TokenUsage Kind = "spent"   // the tokens of a request; no text

	// Only with Options.ForSummary:
	Title    Kind = "title"   // the name of the conversation
	Folder   Kind = "folder"  // where it began, as far as this Read knows
	TodoList Kind = "todos"   // the agent's to-do list, in Entry.Todos
	Tracked  Kind = "tracked" // the files that the client saw change, one a line, the last one first
	Window   Kind = "window"  // the context window: its Size, 0 if only the model's name tells it, and ClientWarns
)

// Entry is one text or action in a conversation.
type Entry struct {
	Kind Kind
	Text string // plain text, not JSON; of a Call, its arguments as a person would write them
	Tool string // the tool's name, of a Call and, if the record has it, of a Result
	// Failed reports that the record calls a Result an error. Some clients write a
	// command's exit code only into the text. Of an Answer, Failed reports that the
	// client wrote it, about an error.
	Failed    bool
	Rejected  bool // of a Result: the person refused the Call
	Generated bool // of a Title: the client made it up

	// CallID links a Result to its Call, if the client does. Failed is then also right
	// about commands.
	CallID string
	// Target is, of a Call, the shell's command line or the file that it changes, if Text
	// has other arguments too.
	Target string
	Todos  *Todos // of a TodoList
	Time   time.Time

	// ID is the message's id, if it has one. All entries of a message have the same one,
	// and so has a fork's copy. Of a TokenUsage it names what was counted, so that a
	// tally counts a repeated record once.
	ID string
	// Request tells a TokenUsage from others with the same ID, which a gateway can give to
	// many messages; "" if the client does not tell.
	Request string
	// Sum does the same within a conversation and those that may begin with its copy, by
	// numbers of tokens. "" if the ID is enough.
	Sum    string
	Model  string // of an Answer or a TokenUsage, if known
	Usage  Usage  // of a TokenUsage; if it has only a Cost, that is the sum of those with its ID so far
	Origin Origin // of a TokenUsage
	// Aside reports of a TokenUsage that it does not tell how full the context is: it is
	// a subagent's, a compaction's or a sum. Of a Call or Result, it reports that a subagent
	// whose conversation is in the same file made or had it.
	Aside       bool
	Size        int64 // of a Window or a TokenUsage: the context window in tokens, if the client records it
	ClientWarns bool  // of a Window: the client itself tells the agent how full it is
	Offset      int64 // where its record begins in the file
}

// Usage is a number of tokens, as the transcript reports it.
type Usage struct {
	Input      int64 `json:"input"`       // without the cached part
	CacheRead  int64 `json:"cache_read"`  // input that came from the cache
	CacheWrite int64 `json:"cache_write"` // input that went into the cache
	Output     int64 `json:"output"`      // what the model wrote, with its thoughts

	CacheWrite1h int64 `json:"cache_write_1h,omitempty"` // the part of CacheWrite that is kept for an hour, which costs more
	Fast         bool  `json:"fast,omitempty"`           // of one request: in a mode that costs more

	// Cost is in US dollars, as the client states it. It is 0 if the transcript has none.
	Cost float64 `json:"cost_usd,omitempty"`

	// Priced is the price in US dollars by a table of prices, Unpriced the tokens that are not
	// in it because the table lacks their model. Only a UsageTally with a Price sets them.
	Priced   float64 `json:"price_usd,omitempty"`
	Unpriced int64   `json:"unpriced,omitempty"`
}

// Todos is what an entry says about the agent's to-do list.
type Todos struct {
	Scope TodoScope
	Items []Todo
}

// TodoScope is the part of a list that Todos hold.
type TodoScope int

// Some clients write a whole list each time, others change tasks one by one.
const (
	WholeList TodoScope = iota
	AllTasks
	SomeTasks // the other tasks, and empty fields of these, stay as they were
	TaskFiles // all tasks, from the client's own files, which take precedence
)

// Todo is an item of the agent's to-do list.
type Todo struct {
	ID     string `json:"id,omitempty"`
	Text   string `json:"text,omitempty"`
	Status string `json:"status,omitempty"` // pending, in_progress, completed or deleted
}
