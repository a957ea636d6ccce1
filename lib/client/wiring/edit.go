package wiring

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/text/jsonedit"
)

// A Change is a handler that was added to a file or removed from it.
type Change struct {
	Added bool
	Handler
}

// Edit makes want gt's only wiring in the client's file at path. It returns the new
// content and the changes. old is nil if the file does not exist. The old content is to be
// backed up if nothing of gt's was in it. A file without content is to be removed.
func (c Client) Edit(path string, old []byte, want []Handler) (settings.Edit, []Change, error) {
	if c.Shape == Script {
		return c.rewriteScript(old, want)
	}
	rewire := c.rewire
	if c.Format != nil {
		rewire = c.Format.Rewire
	}
	text, changes, err := rewire(old, want)
	if err != nil || len(changes) == 0 {
		return settings.Edit{Text: old}, changes, err
	}
	return settings.Edit{Text: c.remainingText(path, text, want), Backup: onlyAdd(changes)}, changes, nil
}

// onlyAdd reports whether the file had none of our hooks, so that it is as its owner made it.
func onlyAdd(changes []Change) bool {
	return !slices.ContainsFunc(changes, func(ch Change) bool { return !ch.Added })
}

// remainingText returns the text that a settings file gets. It is nil, and the file is removed, if
// an uninstallation (want is nil) leaves nothing in a file that gt created: one without a backup.
func (c Client) remainingText(path string, text []byte, want []Handler) []byte {
	if c.Format != nil {
		if len(text) == 0 && !settings.HasBackup(path) {
			return nil
		}
		return text
	}
	doc, err := jsonedit.Parse(text, c.Comments)
	if err != nil || want != nil || !doc.Root.IsObject() || doc.HasComments() || settings.HasBackup(path) {
		return text
	}
	for _, m := range doc.Root.Items {
		if c.Shape != Flat || m.Key != "version" { // addHead may have added that
			return text
		}
	}
	return nil
}

// rewire makes want gt's only wiring in text, and returns the new text and the changes.
// Other handlers and the rest of the text stay. It parses the text anew for each small
// edit: settings are short, and no position goes stale.
func (c Client) rewire(text []byte, want []Handler) ([]byte, []Change, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		text = []byte("{}\n")
	}
	var changes []Change
	for {
		doc, err := jsonedit.Parse(text, c.Comments)
		if err != nil {
			return nil, nil, err
		}
		next, made, err := c.correctFirst(doc, want)
		if err != nil || next == nil {
			return text, changes, err
		}
		text, changes = next, append(changes, made...)
	}
}

// correctFirst makes the first edit that is needed, and returns the text and the changes to
// handlers. The text is nil if all is as wanted. A new file gets its head (see addHead) before
// the handlers, another one after them.
func (c Client) correctFirst(doc *jsonedit.Doc, want []Handler) ([]byte, []Change, error) {
	missing := slices.Clone(want)
	for _, h := range c.ownHandlers(doc) {
		i := slices.IndexFunc(missing, func(w Handler) bool {
			return h.sameGroup(w) && h.Binary == w.Binary
		})
		if i < 0 {
			return c.removeHandler(doc, h.Node), []Change{{false, h}}, nil
		}
		w := missing[i]
		if missing = slices.Delete(missing, i, i+1); !h.Equal(w) {
			text, err := doc.Replace(h.Node, json.RawMessage(w.Raw))
			return text, []Change{{false, h}, {true, w}}, err
		}
	}
	if len(want) > 0 && (len(missing) == 0 || len(doc.Root.Items) == 0) {
		if text, err := c.addHead(doc); text != nil || err != nil || len(missing) == 0 {
			return text, nil, err
		}
	}
	if len(missing) > 0 {
		return c.addHandlers(doc, missing)
	}
	return nil, nil, nil
}

// addHead adds the other keys that the client requires at the top of its file, such as the
// format's version.
func (c Client) addHead(doc *jsonedit.Doc) ([]byte, error) {
	if c.Shape != Flat || !doc.Root.IsObject() {
		return nil, nil
	}
	model, err := jsonedit.Parse(c.Text, false)
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

// removeHandler removes a handler with all arrays and objects that it would leave empty, below
// the top. Those with a comment stay.
func (c Client) removeHandler(doc *jsonedit.Doc, n *jsonedit.Node) []byte {
	if len(n.Parent.Items) > 1 {
		return doc.Remove(n)
	}
	if c.Shape == Grouped {
		n = n.Parent.Parent // the group with its matcher
	}
	for n.Parent != doc.Root && doc.IsOnlyChild(n) {
		n = n.Parent
	}
	return doc.Remove(n)
}

const ownName = "gt"

// addHandlers adds the first missing handler to its event. With groups, it adds a group with all
// missing handlers of that event and matcher.
func (c Client) addHandlers(doc *jsonedit.Doc, missing []Handler) ([]byte, []Change, error) {
	type group struct {
		Matcher string            `json:"matcher,omitempty"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	first := missing[0]
	var item any = json.RawMessage(first.Raw)
	changes := []Change{{true, first}}
	if c.Shape == Grouped {
		g := group{Matcher: first.Matcher}
		changes = nil
		for _, w := range missing {
			if w.sameGroup(first) {
				g.Hooks = append(g.Hooks, w.Raw)
				changes = append(changes, Change{true, w})
			}
		}
		item = g
	}

	var text []byte
	var err error
	root, key := doc.Root, "hooks"
	if c.Shape == Named {
		key = ownName
	}
	all := root.Get(key)
	event := all.Get(first.Event)
	switch {
	case !root.IsObject():
		err = shapeError(root, "the settings are no object")
	case all == nil:
		text, err = doc.Append(root, key, map[string][]any{first.Event: {item}})
	case !all.IsObject():
		err = shapeError(all, fmt.Sprintf("%q is not an object", key))
	case event == nil:
		text, err = doc.Append(all, first.Event, []any{item})
	case !event.IsArray():
		err = shapeError(event, fmt.Sprintf("%q is not an array", first.Event))
	default:
		text, err = doc.Append(event, "", item)
	}
	return text, changes, err
}

func shapeError(n *jsonedit.Node, reason string) error {
	return fmt.Errorf("line %d: %s", n.Line, reason)
}
