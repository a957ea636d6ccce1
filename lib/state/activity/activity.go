// Package activity keeps how a session stands: sessions/<id>.state beside its record in
// the home's state. The end of a turn writes it, and the hook of the next prompt reads it.
//
//	{"tokens":148000,"window":200000,"warning":"due"}
//
// A file that is lost or cannot be read counts as none: at the worst an agent is told
// twice how full its context is.
package activity

import (
	"encoding/json"
	"fmt"

	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// State is what the file holds.
type State struct {
	Tokens      int64   `json:"tokens,omitempty"` // that the model was given last
	Window      int64   `json:"window,omitempty"` // how many it can be given
	Compactions int     `json:"compactions,omitempty"`
	Warning     Warning `json:"warning,omitempty"`
}

// Warning is whether the agent is told how full its context is.
type Warning string

const (
	None Warning = ""     // it is not that full
	Due  Warning = "due"  // with the next prompt
	Told Warning = "told" // it was told
)

// Suffix ends the name of such a file.
const Suffix = ".state"

// maxSize bounds the file, which has some hundred bytes.
const maxSize = 64 << 10

// DefaultShare is the share of the context, in percent, from which on the agent is told.
const DefaultShare = 70

func path(h home.Home, id session.ID) string { return h.Path("sessions", string(id)+Suffix) }

// Read returns the state of a session, the zero State where there is none.
func Read(h home.Home, id session.ID) (s State) {
	data, err := atomicfile.Read(path(h, id), maxSize)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return State{}
	}
	return s
}

// Write replaces the state of a session that has a record: the file goes when that goes.
func (s State) Write(h home.Home, id session.ID) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(path(h, id), append(data, '\n'), atomicfile.Unsynced)
}

// Measure takes in what the end of a turn has measured: the tokens that the model was
// given last, how many it can be given, 0 where that is not known, and how often the
// conversation was compacted. From share percent on the agent is told, once until the
// context was emptier or was compacted.
func (s State) Measure(tokens, window int64, compactions, share int) State {
	next := State{Tokens: tokens, Window: window, Compactions: compactions}
	switch {
	case share <= 0 || window <= 0 || tokens < window/100*int64(share):
	case s.Warning == Told && s.Compactions == compactions:
		next.Warning = Told
	default:
		next.Warning = Due
	}
	return next
}

// Text tells the agent how full its context is.
func (s State) Text() string {
	return fmt.Sprintf(`Your context window is %d %% full: %d of %d tokens. When it runs out, your client compacts the conversation, and details are lost; a hand-over to a fresh session keeps more. First do what the person asks for now. Then, at the next point where a piece of work is finished and you have no open question, hand over:
gt-handoff -s SUBJECT -m 'what is done, what is next, what to watch out for'
`, min(s.Tokens*100/max(s.Window, 1), 100), s.Tokens, s.Window)
}
