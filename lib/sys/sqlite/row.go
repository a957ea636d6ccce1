package sqlite

import (
	"encoding/binary"
	"math"
	"strconv"
)

// field is one column of a record: SQLite's serial type and the bytes.
type field struct {
	kind uint64
	data []byte
}

type fields []field

// sizes are the sizes of the serial types below 12, in bytes; -1 for reserved ones.
var sizes = [...]int{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, -1, -1}

// record splits a payload into its columns.
func record(payload []byte) (fields, error) {
	size, n := varint(payload)
	if n == 0 || size > uint64(len(payload)) || size < uint64(n) {
		return nil, corrupt("the header of a row is not valid")
	}
	head, body := payload[n:size], payload[size:]
	all := make(fields, 0, min(len(head), 64))
	for len(head) > 0 {
		kind, n := varint(head)
		if n == 0 {
			return nil, corrupt("the header of a row is not valid")
		}
		head = head[n:]
		length := (kind - 12) / 2
		if kind < 12 {
			if sizes[kind] < 0 {
				return nil, corrupt("a column has the type %d", kind)
			}
			length = uint64(sizes[kind])
		}
		if length > uint64(len(body)) {
			return nil, corrupt("a column exceeds its row")
		}
		all = append(all, field{kind, body[:length:length]})
		body = body[length:]
	}
	return all, nil
}

// int returns the value of an integer column, or 0 for any other.
func (f field) int() int64 {
	var b [8]byte
	switch f.kind {
	case 1, 2, 3, 4, 5, 6:
		if f.data[0] >= 0x80 {
			b = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
		}
		copy(b[8-len(f.data):], f.data)
		return int64(binary.BigEndian.Uint64(b[:]))
	case 9:
		return 1
	}
	return 0
}

// value returns the value of a column: nil, an int64, a float64, a string or bytes.
func (f field) value() any {
	switch {
	case f.kind == 0:
		return nil
	case f.kind == 7:
		return math.Float64frombits(binary.BigEndian.Uint64(f.data))
	case f.kind < 12:
		return f.int()
	case f.kind%2 == 1:
		return string(f.data)
	}
	return append([]byte{}, f.data...)
}

// Row is a row of a table. It is valid only during the call that it is passed to.
type Row struct {
	ID     int64 // the rowid
	table  *table
	fields fields
}

// Value returns the value of a column: nil, an int64, a float64, a string or bytes. It
// returns nil for a column that the table does not have.
func (r Row) Value(column string) any {
	c := r.table.column(column)
	switch {
	case c == nil:
		return nil
	case c == r.table.rowid:
		return r.ID
	case c.place < 0:
		return nil // a generated column
	case c.place >= len(r.fields):
		return c.missing // the column was added after the row
	}
	v := r.fields[c.place].value()
	if i, ok := v.(int64); ok && c.real {
		return float64(i)
	}
	return v
}

// Text returns a column as text, "" for NULL.
func (r Row) Text(column string) string {
	switch v := r.Value(column).(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// Int returns a column as an integer, or 0 if it is not a number.
func (r Row) Int(column string) int64 {
	switch v := r.Value(column).(type) {
	case int64:
		return v
	case float64:
		if v >= -1<<62 && v <= 1<<62 {
			return int64(v)
		}
	}
	return 0
}

// Float returns a column as a number, or 0 if it is not one.
func (r Row) Float(column string) float64 {
	switch v := r.Value(column).(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}
