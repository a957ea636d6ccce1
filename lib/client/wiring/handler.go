package wiring

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gt/lib/text/jsonedit"
)

// A Handler is one command that an agent runs at one event; of a script of ours,
// all that it does.
type Handler struct {
	Event   string
	Matcher string // of its group
	Binary  string // which of ours it runs; empty for somebody else's
	Command string
	Args    []string // nil in shell form
	Timeout float64  // in the client's unit; 0 where none is set
	Raw     []byte   // as it is written
	Line    int

	Node *jsonedit.Node // nil for a script
}

// lines are the keys under which a handler may have a command line, the one that
// is run here before the others.
var lines = []string{"bash", "command", "powershell"}

// limits are the keys under which a handler may have its time limit.
var limits = []string{"timeout", "timeoutSec"}

// String returns the command line as it is written.
func (h Handler) String() string {
	return strings.Join(append([]string{h.Command}, h.Args...), " ")
}

// Brief returns the command line with the binary's name first, which tells more
// than the folder that it lies in.
func (h Handler) Brief() string {
	switch {
	case h.Node == nil:
		return h.Command
	case h.Args == nil:
		return bare(h.Command)
	}
	return strings.Join(append([]string{h.Binary}, h.Args...), " ")
}

// Program returns the file that the command runs: all of the command in exec form,
// the first word of it in shell form.
func (h Handler) Program() string {
	if h.Args != nil {
		return h.Command
	}
	program, _ := Split(h.Command)
	return program
}

// Duty names what the handler does at its event: the binary, and its subcommand.
func (h Handler) Duty() string {
	words := h.Args
	if words == nil {
		_, rest := Split(h.Command)
		words = strings.Fields(rest)
	}
	if h.Node != nil && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return h.Binary + " " + words[0]
	}
	return h.Binary
}

// same reports whether h does what w does: everything is equal but its place in
// the text and the folder of the program.
func (h Handler) same(w Handler) bool {
	return h.sameGroup(w) && reflect.DeepEqual(h.settings(bare), w.settings(bare))
}

// equal reports whether h is w, folder and all.
func (h Handler) equal(w Handler) bool {
	as := func(line string) string { return line }
	return h.sameGroup(w) && reflect.DeepEqual(h.settings(as), w.settings(as))
}

// sameGroup reports whether the agent runs both on the same occasions.
func (h Handler) sameGroup(w Handler) bool {
	all := func(matcher string) string { return strings.Replace(matcher, "*", "", 1) } // "*" and "" are one
	return h.Event == w.Event && all(h.Matcher) == all(w.Matcher)
}

// settings are what is set of a handler, its command lines as take returns them.
func (h Handler) settings(take func(line string) string) map[string]any {
	var m map[string]any
	json.Unmarshal(h.Raw, &m) // valid: it stood in a document that was read
	for _, key := range lines {
		if line, ok := m[key].(string); ok && h.Args == nil {
			m[key] = take(line)
		} else if ok {
			m[key] = take(quote(line))
		}
	}
	return m
}

// handlers lists every command that a file of the client wires, in the order of
// the file. What does not have the shape that the client asks for is passed over.
func (c Client) handlers(doc *jsonedit.Doc) []Handler {
	var all []Handler
	events := doc.Root.Get("hooks")
	if !events.IsObject() {
		return nil
	}
	for _, event := range events.Items {
		if !event.IsArray() {
			continue
		}
		for _, n := range event.Items {
			if c.Shape == Flat {
				if h, typ, ok := handlerOf(doc, n); ok && (typ == "" || typ == "command") {
					h.Event = event.Key
					all = append(all, h)
				}
				continue
			}
			list := n.Get("hooks")
			if !list.IsArray() {
				continue
			}
			var matcher string
			if m := n.Get("matcher"); m != nil {
				json.Unmarshal(doc.Raw(m), &matcher)
			}
			for _, n := range list.Items {
				if h, typ, ok := handlerOf(doc, n); ok && typ == "command" {
					h.Event, h.Matcher = event.Key, matcher
					all = append(all, h)
				}
			}
		}
	}
	return all
}

// handlerOf reads one handler, without its event and matcher, and the type that it
// says it has.
func handlerOf(doc *jsonedit.Doc, n *jsonedit.Node) (h Handler, typ string, ok bool) {
	var f struct {
		Type                      string
		Command, Bash, PowerShell string
		Args                      []string
		Timeout, TimeoutSec       float64
	}
	raw := doc.Raw(n)
	if !n.IsObject() || json.Unmarshal(raw, &f) != nil {
		return Handler{}, "", false
	}
	h = Handler{
		Command: cmp.Or(f.Bash, f.Command, f.PowerShell), Args: f.Args,
		Timeout: cmp.Or(f.Timeout, f.TimeoutSec), Raw: raw, Line: n.Line, Node: n,
	}
	if name := filepath.Base(h.Program()); slices.Contains(Binaries, name) {
		h.Binary = name
	}
	return h, f.Type, true
}

// ours are the handlers that run a binary of gt.
func (c Client) ours(doc *jsonedit.Doc) []Handler { return ours(c.handlers(doc)) }

func ours(all []Handler) []Handler {
	return slices.DeleteFunc(slices.Clone(all), func(h Handler) bool { return h.Binary == "" })
}
