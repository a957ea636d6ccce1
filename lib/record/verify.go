package record

import (
	"errors"
	"fmt"

	"gt/lib/sys/atomicfile"
)

// Fault is the first wrong line of a record.
type Fault struct {
	Line int // from 1
	Why  string
}

func (f *Fault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Why) }

// Seal is the size and digest of a record when its session ended. A log elsewhere keeps it.
type Seal struct {
	ID     ID     `json:"record"`
	Size   int64  `json:"size"`   // of the record, in bytes
	Digest string `json:"digest"` // of the last line
}

// Seal returns the size and digest by which Verify sees later whether the record was changed or cut
// off. The Seal of a record that was removed is zero.
func (s Store) Seal(id ID) (Seal, error) {
	o, err := s.openRecord(id)
	if err != nil {
		return Seal{}, err
	}
	defer o.Close()
	end, err := o.readEnd()
	if err != nil || end.removedAs != "" {
		return Seal{}, atomicfile.Error("read", o.f.Name(), err)
	}
	return Seal{id, end.size, digest(end.last)}, nil
}

// Verify checks a record and returns the number of its lines and the digest of the last
// one. The error is a Fault if a line was changed, or if the record does not match the
// seal, if one is given. torn reports that an incomplete line follows, as while one is
// being written. A result kept aside must be unchanged or cleared.
func (s Store) Verify(id ID, seal *Seal) (lines int, head string, torn bool, err error) {
	o, err := s.openRecord(id)
	if err != nil {
		return 0, "", false, err
	}
	defer o.Close()
	removed := false
	var fault, aside *Fault // of a line, and the first of a result
	checked := map[string]bool{}
	prev := digest(nil)
	next, err := o.forEachLine(0, func(line []byte, at int64) bool {
		lines++
		fail := func(why string) bool {
			fault = &Fault{lines, why}
			return false
		}
		l, err := Parse(line)
		switch {
		case lineBody(line) == nil || err != nil:
			return fail("it is no line of a record")
		case l.Prev != prev && lines == 1:
			return fail("something stood before it")
		case l.Prev != prev:
			return fail("it does not fit the line before: one of the two was changed, or something between them is missing")
		case lines == 1 && (l.Kind != Head || l.Head == nil):
			return fail("it does not say whose conversation it is")
		case lines == 1 && l.Head.ID != id:
			return fail("it is of the record " + string(l.Head.ID))
		}
		prev = digest(line)
		removed = removed || l.Gone != nil
		if seal != nil && !removed && at+int64(len(line))+1 == seal.Size {
			if prev != seal.Digest {
				return fail("another line stood here when the session ended")
			}
			seal = nil // it fits; one that is left at the end was not reached
		}
		if c := l.Context; c != nil && aside == nil && !checked[c.Ref] {
			checked[c.Ref] = true
			if _, err := s.ReadContext(*c); err != nil && !errors.Is(err, ErrCleared) {
				aside = &Fault{lines, err.Error()}
			}
		}
		return true
	})
	torn = next < o.unpackedSize()
	switch {
	case err != nil:
		return lines, "", false, err
	case fault != nil:
		return lines, "", false, fault
	case lines == 0:
		return 0, "", torn, &Fault{1, "the record is empty"}
	case seal != nil && !removed:
		return lines, "", false, &Fault{lines + 1, fmt.Sprintf("lines are missing: the record had %d bytes when the session ended, and has %d", seal.Size, next)}
	case aside != nil:
		return lines, prev, torn, aside
	}
	return lines, prev, torn, nil
}
