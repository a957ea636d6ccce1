package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Append adds a value to an array, or a member with that key to an object, in the layout of
// its neighbours. encoding/json must be able to marshal value.
func (d *Doc) Append(to *Node, key string, value any) ([]byte, error) {
	name, err := d.name(to, key)
	if err != nil {
		return nil, err
	}
	if len(to.Items) == 0 {
		return d.appendFirst(to, name, value)
	}
	last := to.Items[len(to.Items)-1]
	before := d.text[to.start+1 : to.Items[0].begin]
	gap, at, indent := []byte(", "), last.end, []byte(nil)
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 { // one item per line
		at = d.endOfLine(last.end, to.end-1) // its comment stays beside it
		indent = blanks(before[i+1:])
		gap = slices.Concat([]byte(","), d.text[last.end:at], d.eol(), indent)
	} else if d.unit() == nil { // all is in one line
		gap = []byte(",")
	}
	item, err := d.render(value, indent)
	if err != nil {
		return nil, err
	}
	return d.splice(last.end, at, gap, name, item), nil
}

// appendFirst adds the first item to an empty array or object, after its comments.
func (d *Doc) appendFirst(to *Node, name []byte, value any) ([]byte, error) {
	unit, outer := d.unit(), d.indentAt(to.start)
	inner := slices.Concat(outer, unit)
	if unit == nil {
		inner = nil
	}
	item, err := d.render(value, inner)
	comments := bytes.TrimRight(d.text[to.start+1:to.end-1], " \t\r\n")
	switch {
	case err != nil:
		return nil, err
	case unit == nil && len(comments) == 0:
		return d.splice(to.start+1, to.end-1, name, item), nil
	default:
		return d.splice(to.start+1, to.end-1, comments, d.eol(), inner, name, item, d.eol(), outer), nil
	}
}

// endOfLine returns where the comments after a value end, up to the end of the line.
func (d *Doc) endOfLine(pos, end int) int {
	at := pos
	for rest := d.text[pos:end]; ; rest = d.text[at:end] {
		rest = bytes.TrimLeft(rest, " \t")
		begin := end - len(rest)
		switch {
		case bytes.HasPrefix(rest, []byte("/*")):
			at = begin + 2 + bytes.Index(rest[2:], []byte("*/")) + 2
		case bytes.HasPrefix(rest, []byte("//")):
			line, _, _ := bytes.Cut(rest, []byte("\n"))
			return begin + len(bytes.TrimSuffix(line, []byte("\r")))
		default:
			return at
		}
	}
}

// Replace replaces the value n. The new value has several lines if the old one has.
func (d *Doc) Replace(n *Node, value any) ([]byte, error) {
	var indent []byte
	if bytes.IndexByte(d.Raw(n), '\n') >= 0 {
		indent = d.indentAt(n.start)
	}
	item, err := d.render(value, indent)
	if err != nil {
		return nil, err
	}
	return d.splice(n.start, n.end, item), nil
}

// Remove removes a value with its key and comma. Comments stay. Remove undoes Append
// completely.
func (d *Doc) Remove(n *Node) []byte {
	items := n.Parent.Items
	i := slices.Index(items, n)
	from, to := n.Parent.start+1, n.Parent.end-1 // between its neighbours
	if i > 0 {
		from = items[i-1].end
	}
	last := i+1 == len(items)
	if !last {
		to = items[i+1].begin
	}
	before, after := d.text[from:n.begin], d.text[n.end:to]
	switch {
	case bytes.IndexByte(before, '/') >= 0 || bytes.IndexByte(after, '/') >= 0:
		// There are comments beside it, so only the value and one comma go.
		if !last {
			after = slices.Concat(after[:n.comma-n.end], after[n.comma-n.end+1:])
		} else if i > 0 {
			before = slices.Concat(before[:items[i-1].comma-from], before[items[i-1].comma-from+1:])
		}
		if line, _, more := bytes.Cut(after, []byte("\n")); more && len(bytes.TrimSpace(line)) == 0 {
			before = bytes.TrimRight(before, " \t\r\n") // otherwise a comment could continue there
		} else {
			after = bytes.TrimLeft(after, " \t")
		}
		return d.splice(from, to, before, after)
	case len(items) == 1:
		return d.splice(from, to)
	case i > 0: // with the comma before it
		return d.splice(from, n.end)
	default: // the first, with the comma behind it
		return d.splice(n.begin, to)
	}
}

// name returns the key of a new member, or nothing for an array.
func (d *Doc) name(to *Node, key string) ([]byte, error) {
	if to.IsArray() {
		return nil, nil
	}
	name, err := encode(key)
	name = append(name, ':')
	if d.unit() != nil {
		name = append(name, ' ')
	}
	return name, err
}

// render returns a value with its further lines indented, or in one line if indent is nil.
func (d *Doc) render(value any, indent []byte) ([]byte, error) {
	compact, err := encode(value)
	unit := d.unit()
	if err != nil || indent == nil || unit == nil {
		return compact, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, string(indent), string(unit)); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("\n"), d.eol()), nil
}

// encode is json.Marshal without escaping <, > and &, because people read the text.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// unit returns one step of indentation: the first member's, two blanks for an empty
// document, nil if all is in one line.
func (d *Doc) unit() []byte {
	if len(d.Root.Items) == 0 {
		return []byte("  ")
	}
	before := d.text[d.Root.start+1 : d.Root.Items[0].begin]
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return nil
	}
	return append([]byte{}, blanks(before[i+1:])...) // never nil
}

func (d *Doc) indentAt(pos int) []byte {
	return blanks(d.text[bytes.LastIndexByte(d.text[:pos], '\n')+1 : pos])
}

// blanks returns the white space at the beginning of a line.
func blanks(line []byte) []byte { return line[:len(line)-len(bytes.TrimLeft(line, " \t"))] }

func (d *Doc) eol() []byte {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return []byte("\r\n")
	}
	return []byte("\n")
}

func (d *Doc) splice(from, to int, parts ...[]byte) []byte {
	return slices.Concat(d.text[:from], slices.Concat(parts...), d.text[to:])
}
