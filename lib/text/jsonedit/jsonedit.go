// Package jsonedit changes single values of a JSON text in place. Everything else stays the
// same byte for byte: order, spacing, line ends, numbers, unknown keys and, if the text's
// reader allows them, comments.
//
// github.com/tailscale/hujson parses the text. Its own edits would break the promise: Patch
// does not format what it adds and removes comments beside what it removes, and Format
// reformats the whole text. This package also rejects what hujson accepts: duplicate keys,
// of which programs may use different ones, trailing commas, and unlimited nesting, which
// would end the process. A byte order mark is allowed.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Doc is a parsed JSON text. An edit returns a new text and does not change the Doc.
type Doc struct {
	Root *Node

	text     []byte
	start    int // after a byte order mark
	value    hujson.Value
	comments bool
	lines    int // line ends in text[:count]
	count    int
}

// Node is a value in the text.
type Node struct {
	Key    string  // the key of an object's member
	Line   int     // from 1
	Items  []*Node // an array's elements or an object's members
	Parent *Node   // nil for the root

	kind       hujson.Kind // first byte: { [ " t f n, or 0 for a number
	begin      int         // of the key, if there is one, else of the value
	start, end int         // of the value
	comma      int         // after the value, if any
}

func (n *Node) IsObject() bool { return n != nil && n.kind == '{' }

func (n *Node) IsArray() bool { return n != nil && n.kind == '[' }

// Get returns a member of an object, or nil. n may be nil or something else.
func (n *Node) Get(key string) *Node {
	if !n.IsObject() {
		return nil
	}
	for _, m := range n.Items {
		if m.Key == key {
			return m
		}
	}
	return nil
}

// Raw returns a value as strict JSON, with blanks for comments.
func (d *Doc) Raw(n *Node) []byte {
	raw := d.text[n.start:n.end]
	if d.HasComments() {
		return Strip(raw)
	}
	return raw
}

// Text returns the value of a string, or "".
func (d *Doc) Text(n *Node) (s string) {
	if json.Unmarshal(d.Raw(n), &s) != nil {
		return ""
	}
	return s
}

// IsOnlyChild reports whether the array or object of a value contains nothing else, not even a
// comment.
func (d *Doc) IsOnlyChild(n *Node) bool {
	around := slices.Concat(d.text[n.Parent.start+1:n.begin], d.text[n.end:n.Parent.end-1])
	return len(bytes.TrimSpace(around)) == 0
}

func (d *Doc) HasComments() bool { return d.comments }

// Strip replaces comments by blanks. Invalid JSON stays unchanged.
func Strip(text []byte) []byte {
	if !bytes.ContainsRune(text, '/') || findTooMany(text) >= 0 {
		return text
	}
	if strict, err := hujson.Standardize(bytes.Clone(endComment(text))); err == nil {
		return strict
	}
	return text
}

// endComment ends a comment in the last line, as hujson requires.
func endComment(text []byte) []byte {
	if bytes.Contains(text[bytes.LastIndexByte(text, '\n')+1:], []byte("//")) {
		return append(bytes.Clone(text), '\n')
	}
	return text
}

const (
	byteOrderMark = "\ufeff"

	// maxOpen bounds the arrays and objects of a text, and so their depth: hujson recurses.
	maxOpen = 10000
)

// findTooMany returns where a text has more than maxOpen arrays and objects, or -1.
func findTooMany(text []byte) int {
	open := 0
	for i, c := range text {
		if c == '[' || c == '{' {
			if open++; open > maxOpen {
				return i
			}
		}
	}
	return -1
}

// Marked reports whether the text begins with a byte order mark.
func (d *Doc) Marked() bool { return d.start > 0 }

// Parse parses a text. It keeps a byte order mark, and allows comments if comments is set.
// Errors name line and column.
func Parse(text []byte, comments bool) (*Doc, error) {
	d := &Doc{text: text}
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		d.start = len(byteOrderMark)
	}
	if at := findTooMany(text); at >= 0 {
		return nil, d.errorAt(at, "more than %d arrays and objects", maxOpen)
	}
	var err error
	switch d.value, err = hujson.Parse(endComment(text[d.start:])); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, d.errorAt(len(text), "unexpected end of JSON input")
	case err != nil:
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	at := comment(&d.value)
	if d.comments = at >= 0; d.comments && !comments {
		return nil, d.errorAt(d.start+at, "a comment, which JSON does not have")
	}
	d.Root, err = d.node(&d.value, nil)
	return d, err
}

// node converts a value. It refuses a repeated key and a trailing comma, which hujson allows.
func (d *Doc) node(v *hujson.Value, parent *Node) (*Node, error) {
	n := &Node{Parent: parent, kind: v.Value.Kind(), start: d.start + v.StartOffset, end: d.start + v.EndOffset}
	n.Line, n.begin, n.comma = d.line(n.start), n.start, n.end+len(v.AfterExtra)
	var last *hujson.Value
	switch v := v.Value.(type) {
	case *hujson.Object:
		seen := map[string]int{} // the line of each key
		for i := range v.Members {
			m := &v.Members[i]
			key, begin := m.Name.Value.(hujson.Literal).String(), d.start+m.Name.StartOffset
			if line, twice := seen[key]; twice {
				return n, d.errorAt(begin, "the key %q is already in line %d", key, line)
			}
			seen[key] = d.line(begin)
			item, err := d.node(&m.Value, n)
			if err != nil {
				return n, err
			}
			item.Key, item.begin = key, begin
			n.Items, last = append(n.Items, item), &m.Value
		}
	case *hujson.Array:
		for i := range v.Elements {
			item, err := d.node(&v.Elements[i], n)
			if err != nil {
				return n, err
			}
			n.Items, last = append(n.Items, item), &v.Elements[i]
		}
	}
	if last != nil && last.AfterExtra != nil {
		return n, d.errorAt(d.start+last.EndOffset+len(last.AfterExtra), "a comma with nothing behind it")
	}
	return n, nil
}

// comment returns the position of the first comment, or -1.
func comment(v *hujson.Value) int {
	first := -1
	look := func(e hujson.Extra, at int) {
		if at += bytes.IndexByte(e, '/'); !e.IsStandard() && (first < 0 || at < first) {
			first = at
		}
	}
	for v := range v.All() {
		look(v.BeforeExtra, v.StartOffset-len(v.BeforeExtra))
		look(closingSpace(v), v.EndOffset-1-len(closingSpace(v)))
		look(v.AfterExtra, v.EndOffset)
	}
	return first
}

// closingSpace returns what precedes the closing bracket of an array or object.
func closingSpace(v *hujson.Value) hujson.Extra {
	switch v := v.Value.(type) {
	case *hujson.Object:
		return v.AfterExtra
	case *hujson.Array:
		return v.AfterExtra
	}
	return nil
}

// line returns the line of pos. It continues from the last call if possible.
func (d *Doc) line(pos int) int {
	if pos < d.count {
		d.lines, d.count = 0, 0
	}
	d.lines += bytes.Count(d.text[d.count:pos], []byte("\n"))
	d.count = pos
	return d.lines + 1
}

func (d *Doc) errorAt(pos int, format string, args ...any) error {
	start := bytes.LastIndexByte(d.text[:pos], '\n') + 1
	column := utf8.RuneCount(bytes.TrimPrefix(d.text[start:pos], []byte(byteOrderMark))) + 1
	return fmt.Errorf("line %d, column %d: %s", d.line(pos), column, fmt.Sprintf(format, args...))
}
