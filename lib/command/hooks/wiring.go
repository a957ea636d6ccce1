package hooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gt/lib/text/jsonedit"
)

// binaries are the ones that any version of gt has wired. A handler that runs
// one of them is ours, wherever the binary lies and however it is written.
var binaries = []string{"gt-prime", "gt-handoff", "gt-checkpoint", "gt-keepalive"}

// A handler is one command that an agent runs at one event; of a script of ours,
// all that it does.
type handler struct {
	event   string
	matcher string // of its group
	binary  string // which of ours it runs; empty for somebody else's
	command string
	args    []string // nil in shell form
	timeout float64  // in the client's unit; 0 where none is set
	raw     []byte   // as it is written
	line    int

	node *jsonedit.Node // nil for a script
}

// String is the command line as it is written.
func (h handler) String() string {
	return strings.Join(append([]string{h.command}, h.args...), " ")
}

// brief is the command line with the binary first, which tells more than the
// folder that it lies in.
func (h handler) brief() string {
	switch {
	case h.node == nil:
		return h.command
	case h.args == nil:
		return bare(h.command)
	}
	return strings.Join(append([]string{h.binary}, h.args...), " ")
}

// program is the file that the command runs: all of the command in exec form,
// the first word of it in shell form.
func (h handler) program() string {
	if h.args != nil {
		return h.command
	}
	program, _ := split(h.command)
	return program
}

// short names a hook within its event: the binary and what it is to do.
func (h handler) short() string {
	words := h.args
	if words == nil {
		_, rest := split(h.command)
		words = strings.Fields(rest)
	}
	if h.node != nil && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return h.binary + " " + words[0]
	}
	return h.binary
}

// same says whether h does what w does: everything equal but its place in the
// text and the folder of the program.
func (h handler) same(w handler) bool {
	return h.sameGroup(w) && reflect.DeepEqual(h.settings(bare), w.settings(bare))
}

// equal says whether h is w, folder and all.
func (h handler) equal(w handler) bool {
	as := func(line string) string { return line }
	return h.sameGroup(w) && reflect.DeepEqual(h.settings(as), w.settings(as))
}

// sameGroup says whether the agent runs both on the same occasions.
func (h handler) sameGroup(w handler) bool {
	all := func(matcher string) string { return strings.Replace(matcher, "*", "", 1) } // "*" and "" are one
	return h.event == w.event && all(h.matcher) == all(w.matcher)
}

// settings are what is set of a handler, its command lines as the function
// takes them.
func (h handler) settings(take func(line string) string) map[string]any {
	var m map[string]any
	json.Unmarshal(h.raw, &m) // valid: it stood in a document that was read
	for _, key := range lines {
		if line, ok := m[key].(string); ok && h.args == nil {
			m[key] = take(line)
		} else if ok {
			m[key] = take(quote(line))
		}
	}
	return m
}

// handlers lists every command that a file of this format wires, in the order
// of the file. What does not have the shape that the agent asks for is passed
// over.
func (f format) handlers(doc *jsonedit.Doc) []handler {
	var all []handler
	events := doc.Root.Get("hooks")
	if !events.IsObject() {
		return nil
	}
	for _, event := range events.Items {
		if !event.IsArray() {
			continue
		}
		for _, n := range event.Items {
			if f.shape == flat {
				if h, ok := handlerOf(doc, n); ok && (h.typ == "" || h.typ == "command") {
					h.event = event.Key
					all = append(all, h.handler)
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
				if h, ok := handlerOf(doc, n); ok && h.typ == "command" {
					h.event, h.matcher = event.Key, matcher
					all = append(all, h.handler)
				}
			}
		}
	}
	return all
}

// typed is a handler with the type that it says it has.
type typed struct {
	handler
	typ string
}

// handlerOf reads one handler, of which event and matcher are yet to be told.
func handlerOf(doc *jsonedit.Doc, n *jsonedit.Node) (typed, bool) {
	var f struct {
		Type                      string
		Command, Bash, PowerShell string
		Args                      []string
		Timeout, TimeoutSec       float64
	}
	raw := doc.Raw(n)
	if !n.IsObject() || json.Unmarshal(raw, &f) != nil {
		return typed{}, false
	}
	h := handler{
		command: cmp.Or(f.Bash, f.Command, f.PowerShell), args: f.Args,
		timeout: cmp.Or(f.Timeout, f.TimeoutSec), raw: raw, line: n.Line, node: n,
	}
	if name := filepath.Base(h.program()); slices.Contains(binaries, name) {
		h.binary = name
	}
	return typed{h, f.Type}, true
}

func (f format) ours(doc *jsonedit.Doc) []handler {
	return slices.DeleteFunc(f.handlers(doc), func(h handler) bool { return h.binary == "" })
}

// wanted is our wiring for an agent with the binaries in dir, in the order of
// the file that it is made from.
func (t target) wanted(dir string) ([]handler, error) {
	if t.format.shape == script {
		return []handler{scripted(t.format, t.script(dir))}, nil
	}
	doc, err := jsonedit.Parse(t.format.wiring())
	if err != nil {
		return nil, err
	}
	want := t.format.handlers(doc)
	for i := range want {
		w := &want[i]
		if err := t.place(w, dir); err != nil {
			return nil, err
		}
	}
	return want, nil
}

// place puts the binary's path into a handler of the wiring, and what the agent
// is called.
func (t target) place(w *handler, dir string) error {
	set := func(key string, value any) error {
		entry, err := jsonedit.Parse(w.raw)
		if err != nil {
			return err
		}
		w.raw, err = entry.Replace(entry.Root.Get(key), value)
		return err
	}
	path := filepath.Join(dir, w.binary)
	if w.args != nil {
		if i := slices.Index(w.args, "--agent"); i >= 0 && len(t.flags()) > 2 {
			w.args = slices.Concat(w.args[:i], t.flags(), w.args[i+2:])
			if err := set("args", w.args); err != nil {
				return err
			}
		}
		w.command = path
		return set("command", path)
	}
	var fields map[string]any
	if err := json.Unmarshal(w.raw, &fields); err != nil {
		return err
	}
	for _, key := range lines {
		line, ok := fields[key].(string)
		if !ok {
			continue
		}
		_, rest := split(line)
		var flags []string
		for _, f := range t.flags() {
			flags = append(flags, quote(f))
		}
		rest = strings.Replace(rest, "--agent "+t.format.name, strings.Join(flags, " "), 1)
		program := quote(path)
		if key == "powershell" {
			program = quotePowerShell(path)
		}
		if err := set(key, program+rest); err != nil {
			return err
		}
	}
	entry, err := jsonedit.Parse(w.raw)
	if err != nil {
		return err
	}
	placed, _ := handlerOf(entry, entry.Root)
	w.command = placed.command
	return nil
}

// A change is one handler that goes into a file or comes out of it.
type change struct {
	added bool
	handler
}

// rewire makes the wiring of text ours to be exactly want, and returns the new
// text with what was changed. Somebody else's handlers, and all else in the
// text, stay as they are. Each edit is a small one on a text that is read anew:
// settings are short, and nothing can go stale.
func (f format) rewire(text []byte, want []handler) ([]byte, []change, error) {
	var changes []change
	for {
		doc, err := jsonedit.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		next, made, err := f.step(doc, want)
		if err != nil || next == nil {
			return text, changes, err
		}
		text, changes = next, append(changes, made...)
	}
}

// step takes the first handler that is not as wanted to where it should be. It
// makes no change when there is none.
func (f format) step(doc *jsonedit.Doc, want []handler) ([]byte, []change, error) {
	missing := slices.Clone(want)
	for _, h := range f.ours(doc) {
		i := slices.IndexFunc(missing, func(w handler) bool {
			return h.sameGroup(w) && h.binary == w.binary
		})
		if i < 0 {
			return f.remove(doc, h.node), []change{{false, h}}, nil
		}
		w := missing[i]
		if missing = slices.Delete(missing, i, i+1); !h.equal(w) {
			text, err := doc.Replace(h.node, json.RawMessage(w.raw))
			return text, []change{{false, h}, {true, w}}, err
		}
	}
	if len(want) > 0 && (len(missing) == 0 || len(doc.Root.Items) == 0) {
		if text, err := f.head(doc); text != nil || err != nil || len(missing) == 0 {
			return text, nil, err
		}
	}
	if len(missing) > 0 {
		return f.add(doc, missing)
	}
	return nil, nil, nil
}

// head adds what else the client asks for at the top of its file, such as the
// version of its format, where it is not there.
func (f format) head(doc *jsonedit.Doc) ([]byte, error) {
	if f.shape != flat || !doc.Root.IsObject() {
		return nil, nil
	}
	model, err := jsonedit.Parse(f.wiring())
	if err != nil {
		return nil, err
	}
	for _, m := range model.Root.Items {
		if m.Key != "hooks" && doc.Root.Get(m.Key) == nil {
			return doc.Append(doc.Root, m.Key, json.RawMessage(model.Raw(m)))
		}
	}
	return nil, nil
}

// remove takes out a handler, and with it each array and object that would be
// left empty by that, up to "hooks" itself.
func (f format) remove(doc *jsonedit.Doc, n *jsonedit.Node) []byte {
	if len(n.Parent.Items) > 1 {
		return doc.Remove(n)
	}
	if f.shape == grouped {
		n = n.Parent.Parent // the group, with its matcher
	}
	for n.Parent != doc.Root && len(n.Parent.Items) == 1 {
		n = n.Parent
	}
	return doc.Remove(n)
}

// add appends what is missing to the event of the first that is: a group with
// all that miss there, or, where there are no groups, that one.
func (f format) add(doc *jsonedit.Doc, missing []handler) ([]byte, []change, error) {
	type group struct {
		Matcher string            `json:"matcher,omitempty"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	first := missing[0]
	var item any = json.RawMessage(first.raw)
	changes := []change{{true, first}}
	if f.shape == grouped {
		g := group{Matcher: first.matcher}
		changes = nil
		for _, w := range missing {
			if w.sameGroup(first) {
				g.Hooks = append(g.Hooks, w.raw)
				changes = append(changes, change{true, w})
			}
		}
		item = g
	}

	var text []byte
	var err error
	root := doc.Root
	all := root.Get("hooks")
	event := all.Get(first.event)
	switch {
	case !root.IsObject():
		err = shapeError(root, "the settings are no object")
	case all == nil:
		text, err = doc.Append(root, "hooks", map[string][]any{first.event: {item}})
	case !all.IsObject():
		err = shapeError(all, `"hooks" is no object`)
	case event == nil:
		text, err = doc.Append(all, first.event, []any{item})
	case !event.IsArray():
		err = shapeError(event, fmt.Sprintf("%q is no array", first.event))
	default:
		text, err = doc.Append(event, "", item)
	}
	return text, changes, err
}

func shapeError(n *jsonedit.Node, reason string) error {
	return fmt.Errorf("line %d: %s", n.Line, reason)
}
