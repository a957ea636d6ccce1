// Package jsonedit changes single values of a JSON text in place. What an edit
// is not about stays as it was, byte for byte: order, spacing, line ends,
// numbers, unknown keys, and comments where the reader of the text allows them.
//
// github.com/tailscale/hujson reads the text and tells comments from it. The edits
// are made here, since its own break this promise: Patch lays out nothing that it
// adds and takes away the comments beside what it removes, and Format lays out all
// of the text anew. And what it reads on at is refused here, with its line: a
// duplicate key, of which two programs may take different ones, a comma with nothing
// behind it, and nesting without end, at which its parser would end the process. A
// byte order mark is allowed.
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

// A Doc is a JSON text that was read. An edit leaves the Doc alone and returns
// a new text; to edit that one too, parse it.
type Doc struct {
	Root *Node

	text     []byte
	start    int // of the text behind a byte order mark
	value    hujson.Value
	comments bool
	lines    int // line ends in text[:counted]
	count    int
}

// A Node is one value in the text.
type Node struct {
	Key    string  // its name, where it is a member of an object
	Line   int     // where it begins, counted from 1
	Items  []*Node // the elements of an array, the members of an object
	Parent *Node   // the array or object that holds it; nil for the root

	kind       hujson.Kind // the first byte: { [ " t f n, or 0 of a number
	begin      int         // where its key begins, or the value itself
	start, end int         // the value
	comma      int         // behind it; of the last item, of nothing
}

// IsObject reports whether the value is an object.
func (n *Node) IsObject() bool { return n != nil && n.kind == '{' }

// IsArray reports whether the value is an array.
func (n *Node) IsArray() bool { return n != nil && n.kind == '[' }

// Get returns the member of an object, nil when there is none or n is nil or
// not an object.
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

// Raw returns the bytes of a value, with blanks in the place of comments: it is
// strict JSON.
func (d *Doc) Raw(n *Node) []byte {
	raw := d.text[n.start:n.end]
	if d.HasComments() {
		return Strip(raw)
	}
	return raw
}

// Text returns the value of a string, "" of any other.
func (d *Doc) Text(n *Node) (s string) {
	if json.Unmarshal(d.Raw(n), &s) != nil {
		return ""
	}
	return s
}

// Alone reports whether nothing else, not even a comment, is in the array or
// object that holds a value.
func (d *Doc) Alone(n *Node) bool {
	around := slices.Concat(d.text[n.Parent.start+1:n.begin], d.text[n.end:n.Parent.end-1])
	return len(bytes.TrimSpace(around)) == 0
}

// HasComments reports whether there is a comment anywhere in the text.
func (d *Doc) HasComments() bool { return d.comments }

// Strip returns a text with blanks in the place of comments. A text that is not
// JSON stays as it is.
func Strip(text []byte) []byte {
	if !bytes.ContainsRune(text, '/') || deep(text) >= 0 {
		return text
	}
	if strict, err := hujson.Standardize(bytes.Clone(ended(text))); err == nil {
		return strict
	}
	return text
}

// ended returns a text in which a comment that is the last line has an end, which
// the parser asks for.
func ended(text []byte) []byte {
	if bytes.Contains(text[bytes.LastIndexByte(text, '\n')+1:], []byte("//")) {
		return append(bytes.Clone(text), '\n')
	}
	return text
}

const (
	byteOrderMark = "\ufeff"

	// maxOpen is how many arrays and objects a text may have: the parser calls
	// itself for each that is within another.
	maxOpen = 10000
)

// deep returns where a text opens one array or object too many, -1 where it does
// not.
func deep(text []byte) int {
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

// Parse reads a text. A byte order mark before it is allowed and kept, comments
// only where comments is set. An error names the line and column.
func Parse(text []byte, comments bool) (*Doc, error) {
	d := &Doc{text: text}
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		d.start = len(byteOrderMark)
	}
	if at := deep(text); at >= 0 {
		return nil, d.errorAt(at, "more than %d arrays and objects", maxOpen)
	}
	var err error
	switch d.value, err = hujson.Parse(ended(text[d.start:])); {
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

// node reads a value and whatever it holds.
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

// comment returns where the first comment is, -1 where there is none.
func comment(v *hujson.Value) int {
	first := -1
	look := func(e hujson.Extra, at int) {
		if at += bytes.IndexByte(e, '/'); !e.IsStandard() && (first < 0 || at < first) {
			first = at
		}
	}
	for v := range v.All() {
		look(v.BeforeExtra, v.StartOffset-len(v.BeforeExtra))
		look(inner(v), v.EndOffset-1-len(inner(v)))
		look(v.AfterExtra, v.EndOffset)
	}
	return first
}

// inner is what stands before the closing bracket of an array or object.
func inner(v *hujson.Value) hujson.Extra {
	switch v := v.Value.(type) {
	case *hujson.Object:
		return v.AfterExtra
	case *hujson.Array:
		return v.AfterExtra
	}
	return nil
}

// line is the line that pos is in. It counts on from the last call where it can.
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
