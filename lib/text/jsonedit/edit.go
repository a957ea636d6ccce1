package jsonedit

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Append adds a value behind the last one of an array, or a member of that key
// behind the last one of an object, and lays it out as its neighbours are.
// value is anything that encoding/json can write.
func (d *Doc) Append(to *Node, key string, value any) ([]byte, error) {
	name, err := d.name(to, key)
	if err != nil {
		return nil, err
	}
	if len(to.Items) == 0 {
		return d.fill(to, name, value)
	}
	last := to.Items[len(to.Items)-1]
	before := d.text[to.start+1 : to.Items[0].begin]
	if i := bytes.LastIndexByte(before, '\n'); i >= 0 { // one item a line
		indent := before[i+1:]
		item, err := d.render(value, indent)
		if err != nil {
			return nil, err
		}
		return d.splice(last.end, last.end, []byte(","), d.eol(), indent, name, item), nil
	}
	gap := []byte(", ")
	if d.unit() == nil {
		gap = []byte(",")
	}
	item, err := d.render(value, nil)
	if err != nil {
		return nil, err
	}
	return d.splice(last.end, last.end, gap, name, item), nil
}

// fill gives an empty array or object its first item.
func (d *Doc) fill(to *Node, name []byte, value any) ([]byte, error) {
	unit, outer := d.unit(), d.indentAt(to.start)
	inner := slices.Concat(outer, unit)
	if unit == nil {
		inner = nil
	}
	item, err := d.render(value, inner)
	switch {
	case err != nil:
		return nil, err
	case unit == nil:
		return d.splice(to.start+1, to.end-1, name, item), nil
	default:
		return d.splice(to.start+1, to.end-1, d.eol(), inner, name, item, d.eol(), outer), nil
	}
}

// Replace puts another value in the place of n, over as many lines as suits
// the place.
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

// Remove takes a value out of the array or object that holds it, with its key
// and its comma. What Append added, Remove takes away without a trace.
func (d *Doc) Remove(n *Node) []byte {
	items := n.Parent.Items
	i := slices.Index(items, n)
	switch {
	case len(items) == 1:
		return d.splice(n.Parent.start+1, n.Parent.end-1)
	case i > 0:
		return d.splice(items[i-1].end, n.end)
	default:
		return d.splice(n.begin, items[1].begin)
	}
}

// name writes the key of a new member, nothing for an element of an array.
func (d *Doc) name(to *Node, key string) ([]byte, error) {
	if to.kind == '[' {
		return nil, nil
	}
	name, err := encode(key)
	name = append(name, ':')
	if d.unit() != nil {
		name = append(name, ' ')
	}
	return name, err
}

// render writes a value with its second and later lines indented by indent, or
// in one line where indent is nil.
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

// encode is json.Marshal for a text that people read: < > & stay as they are.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// unit is one step of indentation: that of the first member of the document,
// two blanks where it is empty, nil where all stands in one line.
func (d *Doc) unit() []byte {
	if len(d.Root.Items) == 0 {
		return []byte("  ")
	}
	before := d.text[d.Root.start+1 : d.Root.Items[0].begin]
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return nil
	}
	return append([]byte{}, before[i+1:]...) // never nil
}

// indentAt is the white space that the line of pos begins with.
func (d *Doc) indentAt(pos int) []byte {
	line := d.text[bytes.LastIndexByte(d.text[:pos], '\n')+1 : pos]
	return line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
}

// eol is the line end of the document.
func (d *Doc) eol() []byte {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return []byte("\r\n")
	}
	return []byte("\n")
}

// splice returns the text with the parts in the place of text[from:to].
func (d *Doc) splice(from, to int, parts ...[]byte) []byte {
	return slices.Concat(d.text[:from], slices.Concat(parts...), d.text[to:])
}
