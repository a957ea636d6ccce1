package conversation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"gt/lib/state/session"
)

// Copy is a conversation that another client will go on with.
type Copy struct {
	ID         session.ID // the new one
	FromClient string     // the client of the original
	CWD        string
	Branch     string
	Title      string // the original's title, or ""
	Model      string // the model that goes on with it, for an Importer
	Now        time.Time
	Settled
}

// TimeOrNow returns the time of an entry, or Now if it has none.
func (c *Copy) TimeOrNow(at time.Time) time.Time {
	if at.IsZero() {
		return c.Now
	}
	return at
}

// JSTimestamp returns the time of an entry, or Now if it has none, as JavaScript writes it.
func (c *Copy) JSTimestamp(at time.Time) string {
	return c.TimeOrNow(at).UTC().Format("2006-01-02T15:04:05.000Z")
}

// NewEncoder returns an encoder of lines of JSON, in which <, > and & are as they are.
func NewEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// Object is a JSON object: keys and values by turns, in the order in which they are written.
type Object []any

// MarshalJSON keeps the order of the keys. The encoder of the whole removes Encode's line feeds.
func (o Object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	enc := NewEncoder(&b)
	for i, v := range o {
		if i > 0 {
			b.WriteByte(",:"[i%2])
		}
		if err := enc.Encode(v); err != nil {
			return nil, err
		}
	}
	return append(b.Bytes(), '}'), nil
}

// ClientFolder is a client's folder on this machine, where it looks for conversations.
type ClientFolder struct {
	Dir      string
	Sessions string // the folder that the person chose for all conversations, or ""
}

// Writer writes a conversation in one client's format, so that the client resumes it.
type Writer interface {
	// Client returns the client's name, as in lib/client/agent.
	Client() string

	// NewID returns an id in the client's form for a new conversation.
	NewID(now time.Time) session.ID

	// TranscriptPath returns the file in which the client looks for the conversation, or "" if the
	// client imports conversations itself (Importer).
	TranscriptPath(a ClientFolder, c *Copy) (path string, err error)

	// Write writes the conversation. It holds only one Step of it in memory.
	Write(w io.Writer, c *Copy) error
}

// Companion is a Writer whose client needs a second file for a conversation.
type Companion interface {
	// CompanionFile returns that file's path and content. path is the conversation's.
	CompanionFile(path string, c *Copy) (file string, content []byte, err error)
}

// Importer is a Writer whose client keeps conversations where no other program may write,
// and imports a file.
type Importer interface {
	// Import returns the client's arguments that import the file.
	Import(file string) []string

	// Model returns the model that the person used last, by the client's name for it, or
	// "" if that is unknown. It looks in the client's stores and in config, the folder of
	// the person's settings. Models returns the client's arguments that list its models,
	// one a line. The client goes on with the model that is named in the conversation.
	Model(stores []string, config string) string
	Models() []string
}

// Mover is a Writer whose client resumes a conversation whose own files were copied from
// another machine.
type Mover interface {
	// MovedFiles returns the files of a conversation, the transcript first.
	MovedFiles(transcript string, id session.ID) ([]MovedFile, error)

	// Destination returns where the client looks for the file of that name if the
	// conversation goes on in cwd, or "" if no file of a conversation has that name, which
	// may be hostile.
	Destination(a ClientFolder, cwd string, id session.ID, name string) string

	// Restrict copies a file of a conversation, line by line, without what would have the
	// client ask less than it does here. A repeated copy changes nothing.
	Restrict(w io.Writer, r io.Reader) error
}

// MovedFile is a file of a conversation. The name is the same on all machines.
type MovedFile struct{ Name, Path string }

// Transcript is the name of the file that a Reader reads.
const Transcript = "transcript.jsonl"

// Source calls each for the entries of a conversation, in order, until it returns false.
// It begins with the entry whose Offset is from, or with the first one if from is 0.
type Source func(from int64, each func(Entry) bool) error

// Settled is a conversation in a form that any client can go on with; see PairResults.
type Settled struct {
	// MaxEntries is the largest possible number of entries; 0 if the conversation is empty.
	MaxEntries int
	// Entries returns the entries. It can be called more than once.
	Entries iter.Seq2[Entry, error]
}

// PairResults converts a conversation to the form that any client can go on with:
// prompts, answers, and tool calls, each followed by its result. The first entry is a
// prompt, and no text is empty. CallID is a number, the same for a call and its result.
// What some clients have no record for becomes text that says what it was. TokenUsage
// entries are left out.
//
// The conversation may be larger than memory: PairResults remembers only where the
// results are.
func PairResults(all Source) (Settled, error) {
	source := func(from int64, each func(Entry) bool) error { // without what subagents did
		return all(from, func(e Entry) bool { return e.Aside && e.Kind != TokenUsage || each(e) })
	}
	pairs, err := pairCalls(source)
	if err != nil || pairs.textCount == 0 {
		return Settled{}, err
	}
	return Settled{pairs.entries + 1, func(yield func(Entry, error) bool) {
		s := pairing{source: source, pairs: pairs, yield: yield}
		err := source(0, s.addEntry)
		for len(s.ahead) > 0 && !s.stopped { // those that still wait for a result
			s.emitNext()
		}
		if err != nil && !s.stopped {
			yield(Entry{}, err)
		}
	}}, nil
}

// pairs says which result belongs to which call. Both are counted from the beginning.
type pairs struct {
	entries       int     // the number of entries; later ones are ignored
	textCount     int     // how many of them have text or are calls
	resultOffsets []int64 // for each call the offset of its result, or -1
	hasCall       []bool  // for each result, whether it has a call
}

// pairCalls reads a conversation once. A result belongs to the first call with its id that has
// none yet. If the client gives no ids, it belongs to the first such call of the same
// turn, and of the same tool if both name one.
func pairCalls(source Source) (found pairs, err error) {
	type waiting struct {
		call int
		tool string
	}
	waitingCalls := map[string][]waiting{}
	err = source(0, func(e Entry) bool {
		found.entries++
		if e.Kind == Call || strings.TrimSpace(e.Text) != "" {
			found.textCount++
		}
		switch e.Kind {
		case Prompt:
			delete(waitingCalls, "")
		case Call:
			waitingCalls[e.CallID] = append(waitingCalls[e.CallID], waiting{len(found.resultOffsets), e.Tool})
			found.resultOffsets = append(found.resultOffsets, -1)
		case Result:
			all := waitingCalls[e.CallID]
			i := slices.IndexFunc(all, func(w waiting) bool {
				return e.CallID != "" || e.Tool == "" || w.tool == "" || w.tool == e.Tool
			})
			found.hasCall = append(found.hasCall, i >= 0)
			if i < 0 {
				break
			}
			found.resultOffsets[all[i].call] = e.Offset
			if all = slices.Delete(all, i, i+1); len(all) == 0 {
				delete(waitingCalls, e.CallID)
			} else {
				waitingCalls[e.CallID] = all
			}
		}
		return true
	})
	return found, err
}

// pairing is one pass over a conversation that PairResults converts.
type pairing struct {
	source Source
	pairs
	yield          func(Entry, error) bool
	ahead          []Entry // read, but not yet given
	size           int     // the length of their texts
	seen           int     // the number of entries read
	nextCall       int
	nextResult     int
	begun, stopped bool
}

// How far addEntry reads ahead of a call for its result. Results are mostly close by; a more
// distant one needs a call of Source.
const (
	maxAhead     = 256
	maxAheadSize = 4 << 20
)

// addEntry adds an entry to ahead, and emits the first ones of ahead until one is a call whose
// result may still come. It returns false if no more entries are wanted.
func (s *pairing) addEntry(e Entry) bool {
	if s.seen++; s.seen > s.entries {
		return false
	}
	s.ahead, s.size = append(s.ahead, e), s.size+len(e.Text)
	for len(s.ahead) > 0 && !s.stopped {
		far := len(s.ahead) >= maxAhead || s.size >= maxAheadSize
		if first := s.ahead[0]; first.Kind == Call && s.resultOffsets[s.nextCall] > e.Offset && !far {
			break // its result comes
		}
		s.emitNext()
	}
	return !s.stopped
}

// emitNext converts the first entry in ahead and gives it to the caller.
func (s *pairing) emitNext() {
	e := s.ahead[0]
	s.ahead[0] = Entry{} // frees its text, which the slice would hold until it is reallocated
	s.ahead, s.size = s.ahead[1:], s.size-len(e.Text)
	switch e.Kind {
	case Prompt, Reply:
		s.yieldText(Prompt, e, "")
	case Answer:
		label := ""
		if e.Failed {
			label = "said by the client itself"
		}
		s.yieldText(Answer, e, label)
	case Message:
		s.yieldText(Prompt, e, "a message from "+e.Tool)
	case Thought:
		s.yieldText(Answer, e, "a thought")
	case Summary:
		s.yieldText(Prompt, e, "a summary of what came before")
	case Call:
		s.yieldCall(e)
	case Result:
		if s.nextResult++; !s.hasCall[s.nextResult-1] {
			s.yieldText(Prompt, e, "the result of a tool, whose call is not known")
		}
	}
}

// yieldEntry yields an entry. If the first one is not a prompt, it yields one before it.
func (s *pairing) yieldEntry(e Entry, err error) {
	if !s.begun {
		s.begun = true
		if e.Kind != Prompt && err == nil {
			s.yieldEntry(Entry{Kind: Prompt, Text: "[the beginning of the conversation is not known]", Time: e.Time}, nil)
		}
	}
	s.stopped = s.stopped || !s.yield(e, err) || err != nil
}

// yieldText yields an entry as a prompt or an answer. A label, unless it is "", says what it was.
func (s *pairing) yieldText(kind Kind, e Entry, label string) {
	e.Kind, e.CallID = kind, ""
	if strings.TrimSpace(e.Text) == "" {
		return
	}
	if label != "" {
		e.Text = "[" + label + "]\n" + e.Text
	}
	s.yieldEntry(e, nil)
}

// yieldCall yields a call and its result. A result that is not in ahead is read at its offset.
func (s *pairing) yieldCall(e Entry) {
	result := Entry{Kind: Result, Text: "[no result was recorded]", Failed: true, Time: e.Time}
	if at := s.resultOffsets[s.nextCall]; at >= 0 {
		if i := slices.IndexFunc(s.ahead, func(e Entry) bool { return e.Offset == at }); i >= 0 {
			result = s.ahead[i]
		} else if err := s.source(at, func(found Entry) bool { result = found; return false }); err != nil {
			s.yieldEntry(Entry{}, err)
			return
		}
	}
	s.nextCall++
	if strings.TrimSpace(result.Text) == "" {
		result.Text = "[no output]"
	}
	e.Text = cmp.Or(e.Text, e.Target)
	e.CallID = fmt.Sprint(s.nextCall)
	result.Kind, result.CallID, result.Tool = Result, e.CallID, e.Tool
	if s.yieldEntry(e, nil); !s.stopped {
		s.yieldEntry(result, nil)
	}
}

// Step is a prompt, or the agent's texts with the call that ended them and its result:
// what a client keeps together.
type Step struct {
	Prompt       *Entry
	Texts        []Entry
	Call, Result *Entry
}

func (s *Step) Time() time.Time {
	switch {
	case s.Prompt != nil:
		return s.Prompt.Time
	case len(s.Texts) > 0:
		return s.Texts[0].Time
	}
	return s.Call.Time
}

// Model returns the step's model, or "" if it is unknown.
func (s *Step) Model() string {
	for _, e := range s.Texts {
		if e.Model != "" {
			return e.Model
		}
	}
	if s.Call != nil {
		return s.Call.Model
	}
	return ""
}

// Steps groups the entries: a prompt alone, or the agent's texts up to a call with its result.
func (s Settled) Steps() iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		step := &Step{}
		for e, err := range s.Entries {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case e.Kind == Answer:
				step.Texts = append(step.Texts, e)
			case e.Kind == Call:
				step.Call = &e
			case e.Kind == Result:
				step.Result = &e
				if !yield(step, nil) {
					return
				}
				step = &Step{}
			case e.Kind == Prompt:
				if len(step.Texts) > 0 && !yield(step, nil) || !yield(&Step{Prompt: &e}, nil) {
					return
				}
				step = &Step{}
			}
		}
		if len(step.Texts) > 0 {
			yield(step, nil)
		}
	}
}

// ToolName converts a tool's name to one that every provider accepts.
func ToolName(name string) string {
	const most = 64
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "tool"
	}
	if c := name[0]; c >= '0' && c <= '9' || c == '-' {
		name = "_" + name // Gemini's names begin with a letter
	}
	return name[:min(len(name), most)]
}

// ToolInput returns a call's arguments as an object: a shell's command line as "command", anything
// else, which an Entry has only as text, as "arguments".
func ToolInput(e Entry) map[string]string {
	if e.Target != "" && (e.Text == e.Target || strings.HasPrefix(e.Text, "command: "+e.Target)) {
		return map[string]string{"command": e.Target}
	}
	return map[string]string{"arguments": e.Text}
}
