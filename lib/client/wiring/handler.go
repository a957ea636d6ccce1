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

// A Handler is a command that an agent runs at an event. For our script, it is the whole
// file.
type Handler struct {
	Event   string
	Matcher string // its group's
	Binary  string // which of ours it runs; empty for others
	Command string
	Args    []string // nil in shell form
	Timeout float64  // in the client's unit; 0 if not set
	Raw     []byte   // as it is in the file
	Line    int

	Node *jsonedit.Node // nil if the file is not JSON

	script bool // see Script
}

// commandKeys are the keys that can have a handler's command line. The first that is set is the
// one that runs on this system.
var commandKeys = []string{"bash", "command", "powershell"}

// hiddenTail follows the call of a program whose absence the client must not hear of.
const hiddenTail = " 2>/dev/null ||"

// String returns the command line as it is in the file.
func (h Handler) String() string {
	return strings.Join(append([]string{h.Command}, h.Args...), " ")
}

// Brief returns the command line with the binary's name in place of its path, and without what
// hides a failure.
func (h Handler) Brief() string {
	switch {
	case h.script:
		return h.Command
	case h.Args == nil:
		line := strings.TrimSuffix(bareLine(h.Command), " || :")
		return strings.TrimSuffix(line, " 2>/dev/null")
	}
	return strings.Join(append([]string{h.Binary}, h.Args...), " ")
}

// Program returns the file that the handler runs: the command in exec form, its first
// word in shell form.
func (h Handler) Program() string {
	if h.Args != nil {
		return h.Command
	}
	program, _ := SplitCommand(h.Command)
	return program
}

// Duty returns what the handler does: the binary and its subcommand.
func (h Handler) Duty() string {
	words := h.Args
	if words == nil {
		_, rest := SplitCommand(h.Command)
		words = strings.Fields(rest)
	}
	if !h.script && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return h.Binary + " " + words[0]
	}
	return h.Binary
}

// sameExceptPlace reports whether two handlers differ only in position, in the program's folder,
// in what hides that it is missing, and in the name that Gemini CLI shows for a hook.
func (h Handler) sameExceptPlace(w Handler) bool {
	call := func(line string) string {
		if call, _, hidden := strings.Cut(line, hiddenTail); hidden {
			line = call + " || :"
		}
		return bareLine(line)
	}
	a, b := h.settingsWith(call), w.settingsWith(call)
	delete(a, "name")
	delete(b, "name")
	return h.sameGroup(w) && reflect.DeepEqual(a, b)
}

// Equal reports whether two handlers differ only in position.
func (h Handler) Equal(w Handler) bool {
	as := func(line string) string { return line }
	return h.sameGroup(w) && reflect.DeepEqual(h.settingsWith(as), w.settingsWith(as))
}

func (h Handler) sameGroup(w Handler) bool {
	all := func(matcher string) string { return strings.Replace(matcher, "*", "", 1) } // "*" and "" mean the same
	return h.Event == w.Event && all(h.Matcher) == all(w.Matcher)
}

// settingsWith returns a handler's settings, with each command line replaced by what take makes
// of it. A command with a list of arguments is a path and no shell line, so take gets it quoted.
func (h Handler) settingsWith(take func(line string) string) map[string]any {
	var m map[string]any
	json.Unmarshal(h.Raw, &m) // valid: it is part of a parsed document
	for _, key := range commandKeys {
		if line, ok := m[key].(string); ok && h.Args == nil {
			m[key] = take(line)
		} else if ok {
			m[key] = take(quoteShell(line))
		}
	}
	return m
}

// handlers returns all handlers in a file, in order. It skips what does not have the
// client's format.
func (c Client) handlers(doc *jsonedit.Doc) []Handler {
	var all []Handler
	var events []*jsonedit.Node
	if c.Shape == Named && doc.Root.IsObject() {
		for _, named := range doc.Root.Items {
			if named.IsObject() {
				events = append(events, named.Items...)
			}
		}
	} else if hooks := doc.Root.Get("hooks"); c.Shape != Named && hooks.IsObject() {
		events = hooks.Items
	}
	for _, event := range events {
		if !event.IsArray() {
			continue
		}
		for _, n := range event.Items {
			items, matcher := []*jsonedit.Node{n}, ""
			if c.Shape == Grouped {
				list := n.Get("hooks")
				if !list.IsArray() {
					continue
				}
				items = list.Items
				if m := n.Get("matcher"); m != nil {
					matcher = doc.Text(m)
				}
			}
			for _, n := range items {
				// A handler of another type runs no command. Outside of groups the type may be missing.
				if h, typ, ok := handlerOf(doc, n); ok && (typ == "command" || typ == "" && c.Shape != Grouped) {
					h.Event, h.Matcher = event.Key, matcher
					all = append(all, h)
				}
			}
		}
	}
	return all
}

// NewHandler returns a handler of a file that is not JSON. settings is what the file says of
// it, as a JSON object. If that is none, ok is false.
func NewHandler(event string, settings []byte, line int) (h Handler, ok bool) {
	doc, err := jsonedit.Parse(settings, false)
	if err != nil {
		return Handler{}, false
	}
	h, _, ok = handlerOf(doc, doc.Root)
	h.Event, h.Line, h.Node = event, line, nil
	return h, ok
}

// handlerOf parses a handler without its event and matcher. typ is its "type".
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

func (c Client) ownHandlers(doc *jsonedit.Doc) []Handler { return filterOwn(c.handlers(doc)) }

func filterOwn(all []Handler) []Handler {
	return slices.DeleteFunc(slices.Clone(all), func(h Handler) bool { return h.Binary == "" })
}
