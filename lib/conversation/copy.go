package conversation

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gt/lib/state/session"
)

// Copy is a conversation that another client is to go on with.
type Copy struct {
	ID      session.ID // the new one
	From    string     // the client that held it
	CWD     string
	Branch  string
	Entries []Entry // as Settle makes them
	Now     time.Time
}

// Writer writes conversations as one client keeps them, so that it resumes them.
type Writer interface {
	// Client returns the client's name, as in lib/client/agent.
	Client() string

	// Place returns the file in which the client looks for a conversation, below a
	// folder that is the client's own. getenv is the environment, HOME in it.
	Place(getenv func(string) string, c *Copy) (path, folder string, err error)

	// Write writes the conversation.
	Write(w io.Writer, c *Copy) error
}

// Settle makes of a conversation what any client can go on with: prompts, answers, and
// calls of tools, each followed by its result, and no empty text. CallID is a number,
// the same for a call and its result. What has no counterpart in every client becomes
// text that says what it was. What requests cost is left out.
func Settle(entries []Entry) (all []Entry) {
	text := func(kind Kind, e Entry, label string) {
		e.Kind, e.CallID = kind, ""
		if strings.TrimSpace(e.Text) == "" {
			return
		}
		if label != "" {
			e.Text = "[" + label + "]\n" + e.Text
		}
		all = append(all, e)
	}
	taken := make([]bool, len(entries)) // results that stand behind their calls
	n := 0
	for i, e := range entries {
		switch e.Kind {
		case Prompt, Reply:
			text(Prompt, e, "")
		case Answer:
			label := ""
			if e.Failed {
				label = "said by the client itself"
			}
			text(Answer, e, label)
		case Thought:
			text(Answer, e, "a thought")
		case Summary:
			text(Prompt, e, "a summary of what came before")
		case Call:
			n++
			r := Entry{Kind: Result, Text: "[no result was recorded]", Failed: true, Time: e.Time}
			if at := resultOf(entries, taken, i); at >= 0 {
				taken[at], r = true, entries[at]
			}
			if strings.TrimSpace(r.Text) == "" {
				r.Text = "[no output]"
			}
			e.CallID, r.CallID = fmt.Sprint(n), fmt.Sprint(n)
			if e.Text == "" {
				e.Text = e.Target
			}
			r.Tool = e.Tool
			all = append(all, e, r)
		case Result:
			if !taken[i] {
				text(Prompt, e, "the result of a tool, whose call is not known")
			}
		}
	}
	if len(all) > 0 && all[0].Kind != Prompt {
		all = slices.Insert(all, 0, Entry{Kind: Prompt, Text: "[the beginning of the conversation is not known]", Time: all[0].Time})
	}
	return all
}

// resultOf returns where the result of a call is: the next with its id, or, where the
// client says none, the next that no other call has. -1 is none.
func resultOf(entries []Entry, taken []bool, call int) int {
	id := entries[call].CallID
	for i := call + 1; i < len(entries); i++ {
		if e := entries[i]; e.Kind == Result && !taken[i] && e.CallID == id {
			return i
		}
	}
	return -1
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
	return name[:min(len(name), most)]
}

// ToolInput is what a call's tool was called with, as an object.
func ToolInput(e Entry) map[string]string {
	if e.Target != "" && (e.Text == e.Target || strings.HasPrefix(e.Text, "command: "+e.Target)) {
		return map[string]string{"command": e.Target}
	}
	return map[string]string{"arguments": e.Text}
}
