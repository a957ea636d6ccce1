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

// Kind is the kind of a line: one of conversation's kinds, or one of these.
type Kind string

// The kinds of lines that are not part of the conversation.
const (
	Head      Kind = "session"   // the first line: whose conversation it is
	Mark      Kind = "read"      // where the last sync stopped reading
	Rewritten Kind = "rewritten" // the client has rewritten its file; new entries follow
	Forgotten Kind = "forgotten" // a person had the record removed; nothing else is left
	Pruned    Kind = "pruned"    // the record was too old; nothing else is left
	Cleared   Kind = "cleared"   // results that were kept aside are removed
	End       Kind = "end"       // of the session, according to its client
	StepBegun Kind = "step_started"
	StepDone  Kind = "step_completed"
)

type Line struct {
	// Prev is the SHA-256 of the line before without its line feed, or of nothing in the
	// first line.
	Prev string    `json:"prev,omitempty"`
	Kind Kind      `json:"kind"`
	Time time.Time `json:"ts,omitzero"`

	// The fields of a conversation.Entry.
	Text     string              `json:"text,omitempty"`
	Tool     string              `json:"tool,omitempty"`
	CallID   string              `json:"call,omitempty"`
	Target   string              `json:"target,omitempty"`
	Failed   bool                `json:"failed,omitempty"`
	Rejected bool                `json:"rejected,omitempty"`
	Message  string              `json:"message,omitempty"` // the message's id
	Request  string              `json:"request,omitempty"`
	Sum      string              `json:"sum,omitempty"`
	Model    string              `json:"model,omitempty"`
	Usage    *conversation.Usage `json:"usage,omitempty"`
	CWD      string              `json:"cwd,omitempty"` // of a Usage
	Branch   string              `json:"branch,omitempty"`
	Aside    bool                `json:"aside,omitempty"`  // see conversation.Entry
	Window   int64               `json:"window,omitempty"` // the context window in tokens
	Hidden   string              `json:"hidden,omitempty"` // why the text was left out
	Context  *Context            `json:"context,omitempty"`

	Head  *Session  `json:"session,omitempty"`
	Mark  *Position `json:"read,omitempty"`
	Gone  *Removal  `json:"gone,omitempty"`
	Clear []Context `json:"cleared,omitempty"`
	Name  string    `json:"name,omitempty"`  // of a step
	Cause string    `json:"cause,omitempty"` // of an end
}

// Context is a large result that is kept aside.
type Context struct {
	Ref    string `json:"ref"`    // the name of its file
	Size   int64  `json:"size"`   // of the text, in bytes
	Digest string `json:"sha256"` // of the text
}

// Session identifies the conversation of a record.
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
	Version string     `json:"version,omitempty"` // the client's
}

const formatVersion = 1

// Position is where a sync stopped reading, and the metadata at that time.
type Position struct {
	Source  string `json:"source"` // the client's file
	Next    int64  `json:"next"`   // see conversation.Reader's Read
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"`         // in nanoseconds since 1970
	Tail    string `json:"tail,omitempty"`  // the digest of the bytes before Next
	Parts   int    `json:"parts,omitempty"` // how many other files have what came before

	Messages int       `json:"messages"`
	Events   int       `json:"events"`
	Last     time.Time `json:"last,omitzero"`
	Title    string    `json:"title,omitempty"`
	Prompt   string    `json:"prompt,omitempty"`
	Model    string    `json:"model,omitempty"`
	Moved    string    `json:"moved,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Headless bool      `json:"headless,omitempty"`
	Ended    time.Time `json:"ended,omitzero"` // according to the client, if no entry followed

	// Hidden are calls whose results will be left out when they come.
	Hidden []string `json:"hidden,omitempty"`
	// TakenBack are the ids of the prompts that the person took back after the record had them.
	// It is nil if no sync looked for them. What such a prompt began ends before the offset in
	// TakenUntil, which has the same order; if there is none or 0, at the first mark.
	TakenBack  []string `json:"taken_back,omitzero"`
	TakenUntil []int64  `json:"taken_until,omitempty"`
}

// takenUntil returns the offset in TakenUntil for a prompt in TakenBack.
func (p *Position) takenUntil(i int) int64 {
	if i < len(p.TakenUntil) {
		return p.TakenUntil[i]
	}
	return 0
}

type Removal struct {
	Lines  int    `json:"lines"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"` // of the last line
}

// Entry returns the line as the Entry that the client's reader gave.
func (l *Line) Entry() conversation.Entry {
	e := conversation.Entry{
		Kind: conversation.Kind(l.Kind), Text: l.Text, Tool: l.Tool, CallID: l.CallID, Target: l.Target,
		Failed: l.Failed, Rejected: l.Rejected, Time: l.Time, ID: l.Message, Request: l.Request, Sum: l.Sum, Model: l.Model, Aside: l.Aside, Size: l.Window,
	}
	if l.Usage != nil {
		e.Usage, e.Origin = *l.Usage, conversation.Origin{CWD: l.CWD, Branch: l.Branch}
	}
	return e
}

// InConversation reports whether a line is part of the conversation.
func (k Kind) InConversation() bool {
	switch conversation.Kind(k) {
	case conversation.Prompt, conversation.Reply, conversation.Message, conversation.Answer, conversation.Thought, conversation.Call,
		conversation.Result, conversation.Summary, conversation.TokenUsage:
		return true
	}
	return false
}

// isMessage reports whether a line is a message of an S3File; else it is an event.
func (k Kind) isMessage() bool {
	switch conversation.Kind(k) {
	case conversation.Prompt, conversation.Reply, conversation.Message, conversation.Answer, conversation.Summary:
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

type encoder struct {
	buf bytes.Buffer
	enc *json.Encoder
}

// encodeBody clears the line's Prev and encodes the rest, which is the same wherever the line is.
// The bytes are valid until the next call.
func (e *encoder) encodeBody(l *Line) ([]byte, error) {
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

// lineBody returns the body of a line in a record, or nil if the line has no digest.
func lineBody(line []byte) []byte {
	if len(line) < prevSize || !bytes.HasPrefix(line, []byte(prevKey)) {
		return nil
	}
	return line[prevSize:]
}

// isKind reports whether a line is of a kind, without parsing it.
func isKind(line []byte, kind Kind) bool {
	rest, ok := bytes.CutPrefix(lineBody(line), []byte(`"kind":"`+string(kind)))
	return ok && len(rest) > 0 && rest[0] == '"'
}

func Parse(line []byte) (l Line, err error) {
	err = json.Unmarshal(line, &l)
	return l, err
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
