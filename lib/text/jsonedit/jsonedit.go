// Package jsonedit changes single values of a JSON text in place. What an edit
// is not about stays as it was, byte for byte: order, spacing, line ends,
// numbers, unknown keys.
//
// Only strict JSON is taken: a comment, a trailing comma or a duplicate key is
// an error that names its line, since a program that reads such a text may see
// in it something else than we do.
package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Doc is a JSON text that was read. An edit leaves the Doc alone and returns
// a new text; to edit that one too, parse it.
type Doc struct {
	Root *Node
	text []byte
}

// A Node is one value in the text.
type Node struct {
	Key    string  // its name, where it is a member of an object
	Line   int     // where it begins, counted from 1
	Items  []*Node // the elements of an array, the members of an object
	Parent *Node   // the array or object that holds it; nil for the root

	kind       byte // its first byte: { [ " t f n - or a digit
	begin      int  // where its key begins, or the value itself
	start, end int  // the value
}

// IsObject says whether the value is an object.
func (n *Node) IsObject() bool { return n != nil && n.kind == '{' }

// IsArray says whether the value is an array.
func (n *Node) IsArray() bool { return n != nil && n.kind == '[' }

// Get returns the member of an object, nil when there is none or n is nil or
// no object.
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

// Raw returns the bytes of a value.
func (d *Doc) Raw(n *Node) []byte { return d.text[n.start:n.end] }

// A SyntaxError says where and why a text is no strict JSON.
type SyntaxError struct {
	Line, Column int // counted from 1; a column is a character
	Reason       string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

const byteOrderMark = "\ufeff"

// Parse reads a text. A byte order mark before it is allowed and kept. The
// error is a *SyntaxError.
func Parse(text []byte) (*Doc, error) {
	p := &parser{text: text}
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		p.pos = len(byteOrderMark)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.space()
	root, err := p.value()
	if err != nil {
		return nil, err
	}
	return &Doc{root, text}, nil
}

type parser struct {
	text    []byte
	pos     int
	counted int // up to here line has counted
	lines   int // line ends before that
}

// check leaves the grammar to the standard library, so that the rest of the
// parser may take it for granted.
func (p *parser) check() error {
	var raw json.RawMessage
	err := json.Unmarshal(p.text[p.pos:], &raw)
	if err == nil {
		return nil
	}
	at, reason := len(p.text), err.Error()
	// The offset is behind the byte that is wrong, or at the end.
	if se := (*json.SyntaxError)(nil); errors.As(err, &se) && !strings.HasPrefix(reason, "unexpected end") {
		at = p.pos + int(se.Offset) - 1
	}
	rest, before := p.text[at:], bytes.TrimRight(p.text[:at], " \t\r\n")
	switch {
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
		reason = "a comment, which JSON does not have"
	case bytes.HasSuffix(before, []byte(",")) && len(rest) > 0 && (rest[0] == '}' || rest[0] == ']'):
		at, reason = len(before)-1, "a comma with nothing behind it"
	}
	return p.errorAt(at, "%s", reason)
}

// value reads the value at pos and whatever it holds.
func (p *parser) value() (*Node, error) {
	n := &Node{Line: p.line(p.pos), kind: p.text[p.pos], begin: p.pos, start: p.pos}
	switch n.kind {
	case '{', '[':
		if err := p.items(n); err != nil {
			return nil, err
		}
	case '"':
		p.string()
	default:
		for p.pos < len(p.text) && !strings.ContainsRune(" \t\r\n,]}", rune(p.text[p.pos])) {
			p.pos++
		}
	}
	n.end = p.pos
	return n, nil
}

func (p *parser) items(n *Node) error {
	seen := map[string]int{} // the line of each key
	for p.pos++; ; {
		p.space()
		switch p.text[p.pos] {
		case '}', ']':
			p.pos++
			return nil
		case ',':
			p.pos++
			continue
		}
		begin, key := p.pos, ""
		if n.kind == '{' {
			key = p.string()
			if line, twice := seen[key]; twice {
				return p.errorAt(begin, "the key %q stands already in line %d", key, line)
			}
			seen[key] = p.line(begin)
			p.space()
			p.pos++ // the colon
			p.space()
		}
		item, err := p.value()
		if err != nil {
			return err
		}
		item.Key, item.Parent, item.begin = key, n, begin
		n.Items = append(n.Items, item)
	}
}

// string reads the string at pos.
func (p *parser) string() string {
	start := p.pos
	for p.pos++; p.text[p.pos] != '"'; p.pos++ {
		if p.text[p.pos] == '\\' {
			p.pos++
		}
	}
	p.pos++
	var s string
	json.Unmarshal(p.text[start:p.pos], &s) // valid: check has seen it
	return s
}

func (p *parser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// line is the line that pos is in. It counts on from the last call, so pos must
// not be before that one's.
func (p *parser) line(pos int) int {
	p.lines += bytes.Count(p.text[p.counted:pos], []byte("\n"))
	p.counted = pos
	return p.lines + 1
}

func (p *parser) errorAt(pos int, format string, args ...any) error {
	lineStart := bytes.LastIndexByte(p.text[:pos], '\n') + 1
	return &SyntaxError{
		Line:   p.line(pos),
		Column: utf8.RuneCount(bytes.TrimPrefix(p.text[lineStart:pos], []byte(byteOrderMark))) + 1,
		Reason: fmt.Sprintf(format, args...),
	}
}
