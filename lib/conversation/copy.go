package conversation

import (
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"gt/lib/state/session"
)

// Copy is a conversation that another client is to go on with.
type Copy struct {
	ID     session.ID // the new one
	From   string     // the client that held it
	CWD    string
	Branch string
	Title  string // what the client that held it called it; "" where it had none
	Model  string // that goes on with it, where the client is an Importer
	Now    time.Time
	Settled
}

// Writer writes conversations as one client keeps them, so that it resumes them.
type Writer interface {
	// Client returns the client's name, as in lib/client/agent.
	Client() string

	// NewID returns an id for a conversation that is written now, as the client gives them.
	NewID(now time.Time) session.ID

	// Place returns the file in which the client looks for a conversation, below a
	// folder that is the client's own. path is "" of a client that takes conversations
	// in by itself (Importer). getenv is the environment, HOME in it.
	Place(getenv func(string) string, c *Copy) (path, folder string, err error)

	// Write writes the conversation. It holds no more of it than what an agent said and
	// did at once.
	Write(w io.Writer, c *Copy) error
}

// Importer is a Writer of a client that keeps conversations where nobody else may write,
// and takes in a file.
type Importer interface {
	// Import returns the client's arguments to take in the file.
	Import(file string) []string

	// Model returns the model with which the person worked last, as the client names it,
	// "" where that is not known. Models returns the client's arguments to name those that
	// there are, one a line. It goes on with the model that stands in the conversation.
	Model(getenv func(string) string) string
	Models() []string
}

// Source gives the entries of a conversation, in order, until each returns false: from the
// one whose At from is, or all of them from 0.
type Source func(from int64, each func(Entry) bool) error

// Settled is a conversation in a form that any client can go on with, see Settle.
type Settled struct {
	// Len is how many entries there are at the most; 0 where nothing was said.
	Len int
	// Entries gives them. It can be asked more than once.
	Entries iter.Seq2[Entry, error]
}

// PairResults makes of a conversation what any client can go on with: prompts, answers, and
// calls of tools, each followed by its result, and no empty text. It begins with a prompt.
// CallID is a number, the same for a call and its result. What has no counterpart in every
// client becomes text that says what it was. What requests cost is left out.
//
// The conversation may be larger than memory: what is held of it is where results are.
func PairResults(source Source) (Settled, error) {
	pairs, err := pair(source)
	if err != nil || pairs.said == 0 {
		return Settled{}, err
	}
	return Settled{pairs.entries + 1, func(yield func(Entry, error) bool) {
		s := settling{source: source, pairs: pairs, yield: yield}
		err := source(0, s.take)
		if s.drain(); err != nil && !s.over {
			yield(Entry{}, err)
		}
	}}, nil
}

// pairs tells which results belong to which calls.
type pairs struct {
	entries int     // how many there are; what is added later is not taken in
	said    int     // of those, the ones of which something is told
	calls   []int64 // where the result of each call is, -1 for one without
	taken   []bool  // of each result, whether it has a call
}

// pair goes through a conversation once. A result belongs to the first call with its id
// that has none yet. Where the client gives no ids, it is the first in the same turn, of
// the same tool where both say which.
func pair(source Source) (p pairs, err error) {
	type waiting struct {
		call int
		tool string
	}
	open := map[string][]waiting{}
	err = source(0, func(e Entry) bool {
		p.entries++
		if e.Kind == Call || strings.TrimSpace(e.Text) != "" {
			p.said++
		}
		switch e.Kind {
		case Prompt:
			delete(open, "")
		case Call:
			open[e.CallID] = append(open[e.CallID], waiting{len(p.calls), e.Tool})
			p.calls = append(p.calls, -1)
		case Result:
			all := open[e.CallID]
			i := slices.IndexFunc(all, func(w waiting) bool {
				return e.CallID != "" || e.Tool == "" || w.tool == "" || w.tool == e.Tool
			})
			p.taken = append(p.taken, i >= 0)
			if i < 0 {
				break
			}
			p.calls[all[i].call] = e.Offset
			if all = slices.Delete(all, i, i+1); len(all) == 0 {
				delete(open, e.CallID)
			} else {
				open[e.CallID] = all
			}
		}
		return true
	})
	return p, err
}

// settling is one pass over a conversation that is settled.
type settling struct {
	source Source
	pairs
	yield       func(Entry, error) bool
	ahead       []Entry // read, and not told yet
	size        int     // of their texts
	seen        int     // entries
	nextCall    int
	nextResult  int
	begun, over bool
}

// How far is read ahead of a call, for its result: it mostly stands near, and to look for
// one that stands farther takes a Source that begins there.
const (
	maxAhead     = 256
	maxAheadSize = 4 << 20
)

// take takes in an entry, and gives what can be told by now.
func (s *settling) take(e Entry) bool {
	if s.seen++; s.seen > s.entries {
		return false
	}
	s.ahead, s.size = append(s.ahead, e), s.size+len(e.Text)
	for len(s.ahead) > 0 && !s.over {
		far := len(s.ahead) >= maxAhead || s.size >= maxAheadSize
		if first := s.ahead[0]; first.Kind == Call && s.calls[s.nextCall] > e.Offset && !far {
			break // its result comes
		}
		s.emit()
	}
	return !s.over
}

// drain gives what is left.
func (s *settling) drain() {
	for len(s.ahead) > 0 && !s.over {
		s.emit()
	}
}

// emit gives what becomes of the first entry that was not told.
func (s *settling) emit() {
	e := s.ahead[0]
	s.ahead[0] = Entry{} // its text is not held until the list is made anew
	s.ahead, s.size = s.ahead[1:], s.size-len(e.Text)
	switch e.Kind {
	case Prompt, Reply:
		s.text(Prompt, e, "")
	case Answer:
		label := ""
		if e.Failed {
			label = "said by the client itself"
		}
		s.text(Answer, e, label)
	case Thought:
		s.text(Answer, e, "a thought")
	case Summary:
		s.text(Prompt, e, "a summary of what came before")
	case Call:
		s.call(e)
	case Result:
		if s.nextResult++; !s.taken[s.nextResult-1] {
			s.text(Prompt, e, "the result of a tool, whose call is not known")
		}
	}
}

// give gives an entry, before the first a prompt where it is none.
func (s *settling) give(e Entry, err error) {
	if !s.begun {
		s.begun = true
		if e.Kind != Prompt && err == nil {
			s.give(Entry{Kind: Prompt, Text: "[the beginning of the conversation is not known]", Time: e.Time}, nil)
		}
	}
	s.over = s.over || !s.yield(e, err) || err != nil
}

func (s *settling) text(kind Kind, e Entry, label string) {
	e.Kind, e.CallID = kind, ""
	if strings.TrimSpace(e.Text) == "" {
		return
	}
	if label != "" {
		e.Text = "[" + label + "]\n" + e.Text
	}
	s.give(e, nil)
}

// call gives a call and its result, wherever that stands.
func (s *settling) call(e Entry) {
	r := Entry{Kind: Result, Text: "[no result was recorded]", Failed: true, Time: e.Time}
	if at := s.calls[s.nextCall]; at >= 0 {
		if i := slices.IndexFunc(s.ahead, func(e Entry) bool { return e.Offset == at }); i >= 0 {
			r = s.ahead[i]
		} else if err := s.source(at, func(found Entry) bool { r = found; return false }); err != nil {
			s.give(Entry{}, err)
			return
		}
	}
	s.nextCall++
	if strings.TrimSpace(r.Text) == "" {
		r.Text = "[no output]"
	}
	if e.Text == "" {
		e.Text = e.Target
	}
	e.CallID = fmt.Sprint(s.nextCall)
	r.Kind, r.CallID, r.Tool = Result, e.CallID, e.Tool
	if s.give(e, nil); !s.over {
		s.give(r, nil)
	}
}

// Step is what was said and done at once: what the person asked, or what an agent said,
// with the call that it ended with, and what came of that.
type Step struct {
	Asked        *Entry
	Said         []Entry
	Call, Result *Entry
}

// Time is when the step began.
func (s *Step) Time() time.Time {
	switch {
	case s.Asked != nil:
		return s.Asked.Time
	case len(s.Said) > 0:
		return s.Said[0].Time
	}
	return s.Call.Time
}

// Model is the model that spoke, "" where it is not known.
func (s *Step) Model() string {
	for _, e := range s.Said {
		if e.Model != "" {
			return e.Model
		}
	}
	if s.Call != nil {
		return s.Call.Model
	}
	return ""
}

// Steps puts entries together that a client keeps together.
func (s Settled) Steps() iter.Seq2[*Step, error] {
	return func(yield func(*Step, error) bool) {
		step := &Step{}
		for e, err := range s.Entries {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case e.Kind == Answer:
				step.Said = append(step.Said, e)
			case e.Kind == Call:
				step.Call = &e
			case e.Kind == Result:
				step.Result = &e
				if !yield(step, nil) {
					return
				}
				step = &Step{}
			case e.Kind == Prompt:
				if len(step.Said) > 0 && !yield(step, nil) || !yield(&Step{Asked: &e}, nil) {
					return
				}
				step = &Step{}
			}
		}
		if len(step.Said) > 0 {
			yield(step, nil)
		}
	}
}

// ToolName is a tool's name as every provider takes it.
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
		name = "_" + name // Gemini's begin with a letter
	}
	return name[:min(len(name), most)]
}

// ToolInput is what a call's tool was called with, as an object.
func ToolInput(e Entry) map[string]string {
	if e.Target != "" && (e.Text == e.Target || strings.HasPrefix(e.Text, "command: "+e.Target)) {
		return map[string]string{"command": e.Target}
	}
	return map[string]string{"arguments": e.Text}
}
