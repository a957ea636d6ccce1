package hooks

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"gt/hooks"
	"gt/lib/jsonedit"
)

// binaries are the ones that any version of gt has wired. A handler that runs
// one of them is ours, wherever the binary lies and however it is written.
var binaries = []string{"gt-prime", "gt-handoff", "gt-checkpoint", "gt-keepalive"}

// A handler is one command that an agent runs at one event.
type handler struct {
	event   string
	matcher string // of its group
	binary  string // which of ours it runs; empty for somebody else's
	command string
	args    []string // nil in shell form
	timeout float64  // seconds; 0 where none is set
	raw     json.RawMessage
	line    int

	node *jsonedit.Node
}

// String is the command line as it is written.
func (h handler) String() string {
	return strings.Join(append([]string{h.command}, h.args...), " ")
}

// brief is the command line with the binary first, which tells more than the
// folder that it lies in.
func (h handler) brief() string {
	if h.args == nil {
		return h.command
	}
	return strings.Join(append([]string{h.binary}, h.args...), " ")
}

// same says whether h does what w does: everything equal but its place in the
// text and the folder of the command.
func (h handler) same(w handler) bool {
	return h.sameGroup(w) && reflect.DeepEqual(h.settings(), w.settings())
}

// sameGroup says whether the agent runs both on the same occasions.
func (h handler) sameGroup(w handler) bool {
	all := func(matcher string) string { return strings.Replace(matcher, "*", "", 1) } // "*" and "" are one
	return h.event == w.event && all(h.matcher) == all(w.matcher)
}

func (h handler) settings() map[string]any {
	var m map[string]any
	json.Unmarshal(h.raw, &m) // valid: it stood in a document that was read
	if h.args != nil {
		delete(m, "command")
	}
	return m
}

// handlers lists every command that a settings or plugin file wires, in the
// order of the file. What does not have the shape that the agent asks for is
// passed over.
func handlers(doc *jsonedit.Doc) []handler {
	var all []handler
	events := doc.Root.Get("hooks")
	if !events.IsObject() {
		return nil
	}
	for _, event := range events.Items {
		if !event.IsArray() {
			continue
		}
		for _, group := range event.Items {
			list := group.Get("hooks")
			if !list.IsArray() {
				continue
			}
			var matcher string
			if m := group.Get("matcher"); m != nil {
				json.Unmarshal(doc.Raw(m), &matcher)
			}
			for _, node := range list.Items {
				var f struct {
					Type    string
					Command string
					Args    []string
					Timeout float64
				}
				raw := doc.Raw(node)
				if json.Unmarshal(raw, &f) != nil || f.Type != "command" {
					continue
				}
				h := handler{event.Key, matcher, "", f.Command, f.Args, f.Timeout, raw, node.Line, node}
				if name := filepath.Base(h.program()); slices.Contains(binaries, name) {
					h.binary = name
				}
				all = append(all, h)
			}
		}
	}
	return all
}

func ours(doc *jsonedit.Doc) []handler {
	return slices.DeleteFunc(handlers(doc), func(h handler) bool { return h.binary == "" })
}

// program is the file that the command runs: all of the command in exec form,
// the first word of it in shell form.
func (h handler) program() string {
	if h.args != nil {
		return h.command
	}
	var word strings.Builder
	var quote byte
	line := strings.TrimLeft(h.command, " \t\n")
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && quote != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case quote == 0 && strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return word.String()
		default:
			word.WriteByte(c)
		}
	}
	return word.String()
}

// wanted is our wiring for Claude Code with the binaries in dir, in the order
// of the file that the plugin uses too.
func wanted(dir string) ([]handler, error) {
	doc, err := jsonedit.Parse(hooks.Claude)
	if err != nil {
		return nil, err
	}
	want := handlers(doc)
	for i := range want {
		w := &want[i]
		entry, err := jsonedit.Parse(w.raw)
		if err != nil {
			return nil, err
		}
		w.command = filepath.Join(dir, w.binary)
		if w.raw, err = entry.Replace(entry.Root.Get("command"), w.command); err != nil {
			return nil, err
		}
	}
	return want, nil
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
func rewire(text []byte, want []handler) ([]byte, []change, error) {
	var changes []change
	for {
		doc, err := jsonedit.Parse(text)
		if err != nil {
			return nil, nil, err
		}
		next, made, err := step(doc, want)
		if err != nil || made == nil {
			return text, changes, err
		}
		text, changes = next, append(changes, made...)
	}
}

// step takes the first handler that is not as wanted to where it should be. It
// makes no change when there is none.
func step(doc *jsonedit.Doc, want []handler) ([]byte, []change, error) {
	missing := slices.Clone(want)
	for _, h := range ours(doc) {
		i := slices.IndexFunc(missing, func(w handler) bool {
			return h.sameGroup(w) && h.binary == w.binary
		})
		if i < 0 {
			return remove(doc, h.node), []change{{false, h}}, nil
		}
		w := missing[i]
		if missing = slices.Delete(missing, i, i+1); h.command != w.command || !h.same(w) {
			text, err := doc.Replace(h.node, w.raw)
			return text, []change{{false, h}, {true, w}}, err
		}
	}
	if len(missing) == 0 {
		return nil, nil, nil
	}
	return add(doc, missing)
}

// remove takes out a handler, and with it each array and object that would be
// left empty by that, up to "hooks" itself.
func remove(doc *jsonedit.Doc, n *jsonedit.Node) []byte {
	list := n.Parent
	if len(list.Items) > 1 {
		return doc.Remove(n)
	}
	n = list.Parent // the group, with its matcher
	for n.Parent != doc.Root && len(n.Parent.Items) == 1 {
		n = n.Parent
	}
	return doc.Remove(n)
}

// add appends to the event of the first missing handler a group with all that
// miss there.
func add(doc *jsonedit.Doc, missing []handler) ([]byte, []change, error) {
	type group struct {
		Matcher string            `json:"matcher,omitempty"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	first := missing[0]
	event, g := first.event, group{Matcher: first.matcher}
	var changes []change
	for _, w := range missing {
		if w.sameGroup(first) {
			g.Hooks = append(g.Hooks, w.raw)
			changes = append(changes, change{true, w})
		}
	}

	var text []byte
	var err error
	root := doc.Root
	all := root.Get("hooks")
	groups := all.Get(event)
	switch {
	case !root.IsObject():
		err = shapeError(root, "the settings are no object")
	case all == nil:
		text, err = doc.Append(root, "hooks", map[string][]group{event: {g}})
	case !all.IsObject():
		err = shapeError(all, `"hooks" is no object`)
	case groups == nil:
		text, err = doc.Append(all, event, []group{g})
	case !groups.IsArray():
		err = shapeError(groups, fmt.Sprintf("%q is no array", event))
	default:
		text, err = doc.Append(groups, "", g)
	}
	return text, changes, err
}

func shapeError(n *jsonedit.Node, reason string) error {
	return fmt.Errorf("line %d: %s", n.Line, reason)
}
