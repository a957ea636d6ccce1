package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

// Kind is what a line is: one of conversation's kinds, or one of these.
type Kind string

// The lines that a record has beside those of the conversation.
const (
	Head      Kind = "session"   // the first line: whose conversation it is
	Mark      Kind = "read"      // where reading of the client's file stopped
	Rewritten Kind = "rewritten" // the client has changed what had been read; what follows is what is new in it
	Forgotten Kind = "forgotten" // a person had the record removed; nothing else is left
	Pruned    Kind = "pruned"    // it was too old; nothing else is left
	Cleared   Kind = "cleared"   // results that had been kept aside are gone
	End       Kind = "end"       // of the session, as its client told
	Failure   Kind = "error"     // something that went wrong in the session
	StepBegun Kind = "step_started"
	StepDone  Kind = "step_completed"
)

// Line is a line of a record.
type Line struct {
	// Prev is the SHA-256 of the line before, without its line feed, and of nothing in
	// the first line.
	Prev string    `json:"prev,omitempty"`
	Kind Kind      `json:"kind"`
	Time time.Time `json:"ts,omitzero"`

	// What an Entry of the conversation says.
	Text     string              `json:"text,omitempty"`
	Tool     string              `json:"tool,omitempty"`
	CallID   string              `json:"call,omitempty"`
	Target   string              `json:"target,omitempty"`
	Failed   bool                `json:"failed,omitempty"`
	Rejected bool                `json:"rejected,omitempty"`
	Message  string              `json:"message,omitempty"` // the message's id
	Model    string              `json:"model,omitempty"`
	Usage    *conversation.Usage `json:"usage,omitempty"`
	Aside    bool                `json:"aside,omitempty"`  // see conversation.Entry
	Window   int64               `json:"window,omitempty"` // of the context, in tokens
	Hidden   string              `json:"hidden,omitempty"` // why the text was left out
	Context  *Context            `json:"context,omitempty"`

	Head  *Session  `json:"session,omitempty"`
	Mark  *Position `json:"read,omitempty"`
	Gone  *Gone     `json:"gone,omitempty"`
	Clear []Context `json:"cleared,omitempty"`
	Name  string    `json:"name,omitempty"`  // of a step
	Cause string    `json:"cause,omitempty"` // of an end or an error
}

// Context is a result that is kept aside, because it is large.
type Context struct {
	Ref    string `json:"ref"`    // the file's name in the folder context
	Size   int64  `json:"size"`   // of the text, in bytes
	Digest string `json:"sha256"` // of the text
}

// Session is whose conversation a record is.
type Session struct {
	Form    int        `json:"form"`
	ID      ID         `json:"id"`
	Agent   string     `json:"agent"`
	Session session.ID `json:"session_id"`
	Parent  session.ID `json:"subagent_of,omitempty"`
	ForkOf  session.ID `json:"fork_of,omitempty"`
	Started time.Time  `json:"started_at,omitzero"`
	CWD     string     `json:"cwd,omitempty"`
	Branch  string     `json:"branch,omitempty"`
	Version string     `json:"version,omitempty"` // of the client
}

// form is the version of the lines' form.
const form = 1

// Position is where reading stopped, and what was known by then.
type Position struct {
	Source  string `json:"source"` // the client's file
	Next    int64  `json:"next"`   // see conversation.Reader's Read
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"`        // in nanoseconds since 1970
	Tail    string `json:"tail,omitempty"` // the digest of what stands before Next

	Messages int       `json:"messages"`
	Events   int       `json:"events"`
	Last     time.Time `json:"last,omitzero"`
	Title    string    `json:"title,omitempty"`
	Prompt   string    `json:"prompt,omitempty"`
	Model    string    `json:"model,omitempty"`
	Moved    string    `json:"moved,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Headless bool      `json:"headless,omitempty"`
	Ended    time.Time `json:"ended,omitzero"` // as its client told, where nothing was said since

	// Hidden are calls whose results are left out, and have not come yet.
	Hidden []string `json:"hidden,omitempty"`
}

// Gone is what was removed.
type Gone struct {
	Lines  int    `json:"lines"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // of the last line
}

// Entry returns a line of the conversation as its reader gave it.
func (l *Line) Entry() conversation.Entry {
	e := conversation.Entry{
		Kind: conversation.Kind(l.Kind), Text: l.Text, Tool: l.Tool, CallID: l.CallID, Target: l.Target,
		Failed: l.Failed, Rejected: l.Rejected, Time: l.Time, ID: l.Message, Model: l.Model, Aside: l.Aside, Size: l.Window,
	}
	if l.Usage != nil {
		e.Usage = *l.Usage
	}
	return e
}

// InConversation reports whether a line is of the conversation itself.
func (k Kind) InConversation() bool {
	switch conversation.Kind(k) {
	case conversation.Prompt, conversation.Reply, conversation.Answer, conversation.Thought, conversation.Call,
		conversation.Result, conversation.Summary, conversation.TokenUsage:
		return true
	}
	return false
}

// message reports whether a line is a message, in S3's words; an event otherwise.
func (k Kind) message() bool {
	switch conversation.Kind(k) {
	case conversation.Prompt, conversation.Reply, conversation.Answer, conversation.Summary:
		return true
	}
	return false
}

// Every line begins with the digest of the one before.
const (
	prevKey  = `{"prev":"`
	prevSize = len(prevKey) + 2*sha256.Size + len(`",`)
)

func digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// encoder makes the bytes of lines.
type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

// body returns a line without its digest: what is the same whatever stands before it. The
// bytes are valid until the next call.
func (e *encoder) body(l *Line) ([]byte, error) {
	if e.enc == nil {
		e.enc = json.NewEncoder(&e.buf)
		e.enc.SetEscapeHTML(false)
	}
	e.buf.Reset()
	l.Prev = ""
	if err := e.enc.Encode(l); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(e.buf.Bytes(), []byte("\n")), nil
}

// bodyOf is body of a line that stands in a record; nil of what has no digest.
func bodyOf(line []byte) []byte {
	if len(line) < prevSize || !bytes.HasPrefix(line, []byte(prevKey)) {
		return nil
	}
	return line[prevSize:]
}

// isKind reports whether a line is of a kind, without reading it.
func isKind(line []byte, kind Kind) bool {
	rest, ok := bytes.CutPrefix(bodyOf(line), []byte(`"kind":"`+string(kind)))
	return ok && len(rest) > 0 && rest[0] == '"'
}

// Parse reads a line.
func Parse(line []byte) (l Line, err error) {
	err = json.Unmarshal(line, &l)
	return l, err
}

// valid is a text as it may stand in a line.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
