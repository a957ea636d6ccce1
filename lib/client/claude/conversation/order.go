package claude

import "gt/lib/conversation"

// ordering gives records in the order of their parents until a prompt was given and nothing
// is held. Claude Code can append the first turn's answer, results and notes to a new file
// while the prompt that they follow is still in its queue. Its own resume goes by parentUuid.
type ordering struct {
	giveRecord func(record, int64) bool
	given      map[uint64]bool // by the hash of the id
	held       []*heldRecord   // their parents were not given
	size       int             // the length of their lines
	isOrdered  bool            // a prompt was given, or too much was held
}

type heldRecord struct {
	rec record
	at  int64
}

// The limits of what waits for a parent, which may never come.
const (
	maxHeldRecords = 64
	maxHeldSize    = 4 << 20
)

// inOrder reports whether the records that come are given as they come.
func (o *ordering) inOrder() bool { return o.isOrdered && len(o.held) == 0 }

// add gives a record and what waited for it, or holds it, and reports whether more are wanted. Its
// line has size bytes. A prompt is never held: who wants only the first one reads no further.
func (o *ordering) add(rec record, at int64, size int) bool {
	if o.inOrder() {
		return o.giveRecord(rec, at)
	}
	switch {
	case rec.id == "" || rec.parent == "" || rec.Sidechain || o.given[conversation.HashID(rec.parent)]: // it waits for nothing
	case rec.personRequest().Text != "": // a prompt; what is held is of the turn before
		if !o.flush() {
			return false
		}
	default:
		o.held, o.size = append(o.held, &heldRecord{rec, at}), o.size+size
		return len(o.held) < maxHeldRecords && o.size < maxHeldSize || o.flush()
	}
	return o.release(rec, at)
}

// release gives a record and then, in the file's order, the held ones that follow it.
func (o *ordering) release(rec record, at int64) bool {
	if o.given == nil {
		o.given = map[uint64]bool{}
	}
	o.given[conversation.HashID(rec.id)] = true
	o.isOrdered = o.isOrdered || rec.personRequest().Text != ""
	if !o.giveRecord(rec, at) {
		return false
	}
	for i := 0; rec.id != "" && i < len(o.held); i++ {
		if o.held[i].rec.parent == rec.id {
			if !o.releaseHeld(i) {
				return false
			}
			i = -1 // others went with it
		}
	}
	return true
}

func (o *ordering) releaseHeld(i int) bool {
	next := o.held[i]
	o.held = append(o.held[:i], o.held[i+1:]...) // slices.Delete links all methods of gjson.Result
	return o.release(next.rec, next.at)
}

// flush gives what is held, and holds nothing from then on. It begins with the first record whose
// parent is not held, or with the first of all if the parents form a circle.
func (o *ordering) flush() bool {
	o.isOrdered = true
	for len(o.held) > 0 {
		first := 0
		for i := len(o.held) - 1; i >= 0; i-- {
			if !o.holds(o.held[i].rec.parent) {
				first = i
			}
		}
		if !o.releaseHeld(first) {
			return false
		}
	}
	return true
}

func (o *ordering) holds(id string) bool {
	for _, h := range o.held {
		if h.rec.id == id {
			return true
		}
	}
	return false
}
