// Package conversation is the model of a conversation between a person and a
// coding agent, whichever client kept it, and the contract of the readers that
// turn a client's own files into it. It knows no client: each has its Reader in
// lib/client/<agent>/conversation, and lib/client/readers lists them.
//
// The files are the clients' own and their form changes with any version. A
// reader takes what it understands and passes over the rest: records of a kind
// that did not exist when it was written, a torn last line, bytes that are not
// JSON, a file that grows while it is read. It never writes, locks or creates
// anything below a client's folder, and holds no more of a file in memory than a
// line.
//
// Beside the model stands what the readers share: Lines and Ends read files,
// Excerpt and Arguments make the texts of a list, ReadErrors sums up what could
// not be read. Package readertest holds the tests that every reader has to pass.
package conversation

import (
	"time"

	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// Reader reads what one client keeps. It is safe for concurrent use.
type Reader interface {
	// Client returns the client's name, as in lib/client/agent.
	Client() string

	// Stores returns the folders in which the client keeps its conversations
	// on this machine, those that exist, each once: a client can have several
	// accounts. getenv is the environment, HOME in it.
	Stores(getenv func(string) string) []string

	// Find calls each for every conversation in a store. It opens no transcript
	// and takes a listing and a stat of each (a client that keeps a database has
	// it read). What cannot be read is passed over, and the error names the
	// first of it.
	Find(store string, each func(File)) error

	// Metadata reads what a list shows of a conversation, from the front and
	// the end of it (Ends). A file without anything that is understood gives
	// the zero Metadata and no error. With an error comes what could be read of
	// it; the caller asks again the next time.
	Metadata(f File) (Metadata, error)

	// Read calls each for the entries of a conversation from o.From on, in
	// their order, until it returns false. It returns where the next Read goes
	// on: behind the last record that was whole, and had been taken in.
	Read(f File, o Options, each func(Entry) bool) (next int64, err error)
}

// Registry is a Reader whose client notes which of its sessions run.
type Registry interface {
	// Running calls each for what the client notes as running. The note can be
	// out of date: the caller checks that the process is there, and that it
	// started at start where that is given. The error names the first of what
	// could not be read.
	Running(store string, each func(id session.ID, pid int, start, status string)) error
}

// Watcher is a Reader whose client notes what each of its sessions does now, and since
// when.
type Watcher interface {
	// Doing returns what the client notes of the session that a process runs, the zero
	// State where it notes nothing.
	Doing(store string, id session.ID, p process.Proc) activity.State
}

// Stopper is a Reader whose client notes in a conversation that a turn came to nothing, of
// which no hook tells.
type Stopper interface {
	// Stopped returns when that was and why, where the end of a conversation tells of it and
	// it was later than a time; else the zero time. Done is for one that the person stopped.
	Stopped(path string, after time.Time) (time.Time, activity.Reason)
}

// Refuser is a Reader whose client notes in a conversation that it has dropped a prompt, of
// which no hook tells.
type Refuser interface {
	// Refused returns when that was, where the end of a conversation tells of it and it was
	// later than a time; else the zero time.
	Refused(path string, after time.Time) time.Time
}

// Limiter is a Reader whose client writes into a conversation when the limit ends that its
// account is at.
type Limiter interface {
	// Resets returns that, where the end of a conversation tells of it and it was told later
	// than a time; else the zero time.
	Resets(path string, after time.Time) time.Time
}

// Placer is a Reader whose client names a folder in a way that cannot be read back, and
// that can be compared.
type Placer interface {
	// Placed returns the function that says which of the folders a conversation is of,
	// "" for none of them or where that does not tell.
	Placed(dirs []string) func(File) string
}

// Teams is a Reader whose client keeps which agents work for a session.
type Teams interface {
	// Team returns the name of the team that the conversation's session leads, and then a
	// line for each agent of it; nil where it leads none.
	Team(f File) []string
}

// PlainText is a Reader of files of a record a line, in which a conversation's
// words stand as an encoder of JSON writes them: each run of characters without
// blanks that no encoder escapes, in an entry's text, stands in the entry's own
// record in the same way. Such a file is searched before it is read.
type PlainText interface {
	// PlainText reports whether the file is of that kind.
	PlainText(f File) bool
}

// Quieter is a PlainText reader that recognises, by the front of a record, those
// in which nothing is said.
type Quieter interface {
	// Quiet reports whether nothing is said in a record; with tools, nothing by
	// tools either. A record that may say something is not quiet.
	Quiet(record []byte, tools bool) bool
}

// File is where a conversation lies.
type File struct {
	Client string
	Store  string // the folder of Stores that it was found in
	Path   string // the transcript; of a client that keeps a database, that

	// ID is the conversation's id, as far as its place tells it; else Metadata
	// does. In a database it tells the conversations apart.
	ID session.ID

	// Parent is the session whose subagent this is, as far as its place tells it.
	Parent session.ID

	// Size in bytes and Changed, in nanoseconds since 1970, tell whether a file
	// has changed since its Metadata was read.
	Size, Changed int64
}

// Conversation is a conversation on this machine, and what a list shows of it.
type Conversation struct {
	File     File
	Metadata Metadata
}

// Metadata is what a list shows of a conversation.
type Metadata struct {
	ID     session.ID `json:"id,omitempty"`
	Parent session.ID `json:"subagent_of,omitempty"` // the session whose subagent it is
	ForkOf session.ID `json:"fork_of,omitempty"`     // the session whose history it begins with

	// Agent is the client whose conversation it is, where another keeps it.
	Agent string `json:"agent,omitempty"`

	// First is the ID of the first entry. The conversations of a client that have
	// the same one are forks: the one that started first is what the others copied.
	First string `json:"first,omitempty"`

	CWD     string `json:"cwd,omitempty"`    // the folder that it began in
	Moved   string `json:"moved,omitempty"`  // the folder that it was in last, where that is another: it went there, or the folder has another name now
	Branch  string `json:"branch,omitempty"` // of git
	Model   string `json:"model,omitempty"`
	Version string `json:"version,omitempty"` // of the client

	// Title is the conversation's name, the person's or else the client's; Prompt
	// is the beginning of the first thing that the person asked. Both are Excerpts:
	// one line of MaxExcerpt characters at most, not clean, and only without the
	// secrets that have a form of their own: a variable's value can be in them.
	Title  string `json:"title,omitempty"`
	Prompt string `json:"prompt,omitempty"`

	Started time.Time `json:"started,omitzero"` // the first record's time, of what a fork did not copy
	Last    time.Time `json:"last,omitzero"`    // the last record's

	// Headless means that no person sat in front of it: claude -p, codex exec.
	Headless bool `json:"headless,omitempty"`
}

// Options select what of a conversation is read.
type Options struct {
	// From is where to begin: 0, or what a Read returned.
	From int64

	// Skip, where it is set, is asked for every record as it stands in the file.
	// A record for which it returns true may be passed over, which is many times
	// faster than to read it. A record that can hold a Prompt is read all the
	// same, so that the turns can be counted.
	Skip func(record []byte) bool

	// ForSummary also gives what nothing but a summary needs: titles, folders, lists
	// of to-dos, tracked files. A hook waits for it, so a reader need not hold more
	// than both ends of a record that is longer than a megabyte, and need not give the
	// Text of a Result that has a CallID and has not failed, nor that of a Call whose
	// Target is the file that it changes.
	ForSummary bool
	// State, where it is set, is what a Read of the same conversation left there that
	// ended where this one begins, and this one leaves what the next needs; "" is not
	// known. With it a reader need not go over what came before From; without, what
	// depends on that is left out of a summary.
	State *string
}

// Kind is what an entry is.
type Kind string

// What a conversation is made of.
const (
	Prompt     Kind = "prompt"  // what the person asked: a turn begins
	Reply      Kind = "reply"   // what the person said within a turn: to a question, or to refuse a tool
	Answer     Kind = "answer"  // what the agent said
	Thought    Kind = "thought" // what it thought, where the client keeps it in words
	Call       Kind = "call"    // of a tool
	Result     Kind = "result"  // of a tool
	Summary    Kind = "summary" // what the client put in place of what it compacted
	TokenUsage Kind = "spent"   // what a request cost; it has no text

	// With Options.ForSummary:
	Title    Kind = "title"   // what the conversation is called
	Folder   Kind = "folder"  // where it began, as far as this Read knows
	TodoList Kind = "todos"   // what the agent has to do; see Entry.Todos
	Tracked  Kind = "tracked" // the files that the client has seen changed, a line each, the last one first
	Window   Kind = "window"  // of the context: its Size, 0 for one that the model's name tells, and whether the client Told the agent how full it is
)

// Entry is one thing that was said or done in a conversation.
type Entry struct {
	Kind Kind
	Text string // the words themselves, not JSON; of a call, its arguments as a person would write them
	Tool string // the tool's name, of a Call and, where the record tells it, of a Result
	// Failed reports of a Result that the record calls it an error. That a command
	// ended with another code than 0 some clients write in the text only.
	// Of an Answer it reports that the client wrote it, about an error.
	Failed    bool
	Rejected  bool // of a Result: the person did not let the Call happen
	Generated bool // of a Title: the client made it up

	// CallID tells which Result belongs to which Call, where the client says so. It
	// then says in Failed, too, what became of a command.
	CallID string
	// Target is of a Call the command line of a shell or the file that it changes,
	// where Text has other arguments too.
	Target string
	Todos  *Todos // of a TodoList
	Time   time.Time

	// ID is the message's, where it has one. It is the same in a fork's copy, and
	// for all entries of one message; of a TokenUsage it names what was counted,
	// so that what stands twice is counted once.
	ID    string
	Model string // of an Answer or a TokenUsage, where it is known
	Usage Usage  // of a TokenUsage
	// Aside reports of a TokenUsage that it tells nothing of how full the context is:
	// it is a subagent's, a compaction's or a sum.
	Aside       bool
	Size        int64 // of a Window or a TokenUsage: how many tokens the context can have, where the client records it
	ClientWarns bool  // of a Window: the client itself tells the agent how full it is
	Offset      int64 // where its record begins
}

// Usage is what was spent, in tokens, as the transcript reports it.
type Usage struct {
	Input      int64 `json:"input"`       // without what came from the cache
	CacheRead  int64 `json:"cache_read"`  // input that came from the cache
	CacheWrite int64 `json:"cache_write"` // input that was put there
	Output     int64 `json:"output"`      // what the model wrote, its thoughts among it

	// Cost is in US dollars, and 0 where the transcript states none: no price is
	// known here.
	Cost float64 `json:"cost_usd,omitempty"`
}

// Todos are what is said of the agent's list of things to do.
type Todos struct {
	Scope TodoScope
	Items []Todo
}

// TodoScope is how much of a list Todos are.
type TodoScope int

// There are lists that are written whole each time, and tasks that change one by one.
const (
	WholeList TodoScope = iota
	AllTasks
	SomeTasks // the others are as they were, and so is what is empty in these
	TaskFiles // all tasks, as the client keeps them in files of its own: these hold
)

// Todo is an item of the agent's list.
type Todo struct {
	ID     string `json:"id,omitempty"`
	Text   string `json:"text,omitempty"`
	Status string `json:"status,omitempty"` // pending, in_progress, completed or deleted
}

// HasReader reports whether gt reads the conversations of a client (lib/client/readers
// has the readers themselves, which a hook need not link).
func HasReader(client string) bool {
	switch client {
	case "claude", "codex", "copilot", "gemini", "qwen", "opencode", "pi":
		return true
	}
	return false
}
