package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// The kinds of pages in a tree.
const (
	indexInner = 2
	tableInner = 5
	indexLeaf  = 10
	tableLeaf  = 13
)

// errStop ends a walk early.
var errStop = errors.New("enough")

// node is a page of a tree.
type node struct {
	data  []byte
	kind  byte
	cells []byte // the offsets of the cells, two bytes each
	right uint32 // the last child of an inner node
}

func (db *DB) node(n uint32, budget *int64) (node, error) {
	data, err := db.take(n, budget)
	if err != nil {
		return node{}, err
	}
	data = data[:db.usable]
	h := data
	if n == 1 {
		h = data[headerSize:]
	}
	p := node{data: data, kind: h[0]}
	size := 8
	switch p.kind {
	case indexInner, tableInner:
		size = 12
		p.right = binary.BigEndian.Uint32(h[8:])
	case indexLeaf, tableLeaf:
	default:
		return node{}, corrupt("page %d is not part of a tree", n)
	}
	count := 2 * int(binary.BigEndian.Uint16(h[3:]))
	if count > len(h)-size {
		return node{}, corrupt("page %d claims to have %d cells", n, count/2)
	}
	p.cells = h[size : size+count]
	return p, nil
}

func (p node) len() int { return len(p.cells) / 2 }

// cell returns the bytes from the beginning of a cell to the end of the page.
func (p node) cell(i int) ([]byte, error) {
	at := int(binary.BigEndian.Uint16(p.cells[2*i:]))
	if at+4 > len(p.data) {
		return nil, corrupt("a cell begins at byte %d of its page", at)
	}
	return p.data[at:], nil
}

// inner returns the child of an inner cell, and the bytes after it.
func inner(cell []byte) (child uint32, rest []byte) {
	return binary.BigEndian.Uint32(cell), cell[4:]
}

// varint decodes a number of one to nine bytes. n is 0 if there is none.
func varint(b []byte) (v uint64, n int) {
	for i, c := range b[:min(len(b), 9)] {
		if i == 8 {
			return v<<8 | uint64(c), 9
		}
		if v = v<<7 | uint64(c&0x7f); c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// payload returns the payload of a cell, including the part on overflow pages, or nil if
// it is longer than MaxRow. The caller must not change the bytes.
func (db *DB) payload(cell []byte, size uint64, kind byte, budget *int64) ([]byte, error) {
	if size > MaxRow {
		return nil, nil
	}
	u, p := db.usable, int(size)
	most := u - 35
	if kind != tableLeaf {
		most = (u-12)*64/255 - 23
	}
	if p <= most {
		if p > len(cell) {
			return nil, corrupt("a row exceeds its page")
		}
		return cell[:p:p], nil
	}
	least := (u-12)*32/255 - 23
	local := least + (p-least)%(u-4)
	if local > most {
		local = least
	}
	if local+4 > len(cell) {
		return nil, corrupt("a row exceeds its page")
	}
	// The length that a row claims is not allocated at once, but as its pages are read.
	all := append(make([]byte, 0, min(p, local+4*u)), cell[:local]...)
	for next := binary.BigEndian.Uint32(cell[local:]); len(all) < p; {
		data, err := db.take(next, budget)
		if err != nil {
			return nil, err
		}
		next = binary.BigEndian.Uint32(data)
		all = append(all, data[4:min(u, 4+p-len(all))]...)
	}
	return all, nil
}

// walk calls each for the rows of a table's tree whose rowid is at least from, in the
// order of their rowids.
func (db *DB) walk(root uint32, from int64, budget *int64, depth int, each func(rowid int64, payload []byte) error) error {
	if depth > maxDepth {
		return corrupt("a tree is too deep")
	}
	p, err := db.node(root, budget)
	if err != nil {
		return err
	}
	if p.kind == indexInner || p.kind == indexLeaf {
		return corrupt("an index is in the place of a table")
	}
	for i := range p.len() {
		cell, err := p.cell(i)
		if err != nil {
			return err
		}
		if p.kind == tableInner {
			child, rest := inner(cell)
			key, n := varint(rest)
			if n == 0 {
				return corrupt("a number has no end")
			}
			if int64(key) >= from {
				if err := db.walk(child, from, budget, depth+1, each); err != nil {
					return err
				}
			}
			continue
		}
		size, n := varint(cell)
		rowid, m := varint(cell[n:])
		if n == 0 || m == 0 {
			return corrupt("a number has no end")
		}
		if int64(rowid) < from {
			continue
		}
		payload, err := db.payload(cell[n+m:], size, tableLeaf, budget)
		if err != nil {
			return err
		}
		if payload == nil {
			continue
		}
		if err := each(int64(rowid), payload); err != nil {
			return err
		}
	}
	if p.kind == tableInner {
		return db.walk(p.right, from, budget, depth+1, each)
	}
	return nil
}

// seek calls each for the rowids of the index entries whose first column is the text, in
// the order of the index.
func (db *DB) seek(root uint32, text []byte, budget *int64, depth int, each func(rowid int64) error) error {
	if depth > maxDepth {
		return corrupt("a tree is too deep")
	}
	p, err := db.node(root, budget)
	if err != nil {
		return err
	}
	if p.kind == tableInner || p.kind == tableLeaf {
		return corrupt("a table is in the place of an index")
	}
	for i := range p.len() {
		cell, err := p.cell(i)
		if err != nil {
			return err
		}
		var child uint32
		if p.kind == indexInner {
			child, cell = inner(cell)
		}
		size, n := varint(cell)
		if n == 0 {
			return corrupt("a number has no end")
		}
		payload, err := db.payload(cell[n:], size, p.kind, budget)
		if err != nil {
			return err
		}
		if payload == nil {
			return corrupt("a key has %d bytes", size)
		}
		r, err := record(payload)
		if err != nil {
			return err
		}
		order := r.compare(text)
		if order < 0 {
			continue // everything before it is smaller, too
		}
		if p.kind == indexInner {
			if err := db.seek(child, text, budget, depth+1, each); err != nil {
				return err
			}
		}
		if order > 0 {
			return errStop
		}
		if len(r) < 2 {
			return corrupt("a key has no row")
		}
		if err := each(r[len(r)-1].int()); err != nil {
			return err
		}
	}
	if p.kind == indexInner {
		return db.seek(p.right, text, budget, depth+1, each)
	}
	return nil
}

// compare compares the first column of a key with a text, in SQLite's order: NULL,
// numbers, text, blobs.
func (r fields) compare(text []byte) int {
	switch {
	case len(r) == 0 || r[0].kind < 12:
		return -1
	case r[0].kind%2 == 0:
		return 1
	}
	return bytes.Compare(r[0].data, text)
}
