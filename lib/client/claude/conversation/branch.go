package claude

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

// takenBackRecords returns the offsets of the records that the person took back (/rewind): the
// next prompt follows the record before them. Most conversations have none, so the links of
// all records are read only where a prompt does not follow the record before it. o.TakenBack is
// told of those that an earlier Read gave.
func takenBackRecords(path string, o conversation.Options) (gone map[int64]bool, err error) {
	isStraightPath, err := isStraight(path, o.From)
	if isStraightPath || err != nil {
		return nil, err
	}
	var links conversation.Branch
	count := 0 // of links up to the last message: the path back begins there, not at a note
	add := func(rec record, at int64) bool {
		if rec.id != "" && !rec.Sidechain {
			begins := rec.Kind == "user" && rec.toRequest().Text != ""
			links = append(links, conversation.Link{Offset: at, ID: conversation.HashID(rec.id), Parent: conversation.HashID(rec.parent), Retractable: begins, ParentUnknown: !rec.namesParent})
			if rec.Kind == "user" || rec.Kind == "assistant" {
				count = len(links)
			}
		}
		return true
	}
	_, err = conversation.LinesWithin(path, 0, conversation.MaxHeld, func(line []byte, at int64) bool {
		return add(parseRecord(line), at)
	}, func(front, back []byte, at int64) bool { return add(recordOfEnds(front, back), at) })
	if err != nil {
		return nil, err
	}
	links = links[:count]
	gone = links.TakenBackOffsets()
	links.ReportEarlier(o, gone)
	return gone, nil
}

// stretch is a part of a conversation, from an offset on to its end.
type stretch struct {
	path                string
	from, size, changed int64 // changed in nanoseconds since 1970
}

// nearEnd is how far from a record's end its id mostly is, in bytes.
const nearEnd = 512

// lastStraight is the last stretch that isStraight was true of: a summary of a long conversation asks twice.
var lastStraight atomic.Pointer[stretch]

// isStraight reports whether each prompt from an offset on follows the record before it.
func isStraight(path string, from int64) (straightSoFar bool, err error) {
	now := stretch{path: path, from: from}
	if info, err := os.Stat(path); err == nil {
		now.size, now.changed = info.Size(), info.ModTime().UnixNano()
	}
	if known := lastStraight.Load(); known != nil && *known == now {
		return true, nil
	}
	before, err := idBefore(path, from)
	if err != nil {
		return false, err
	}
	straightSoFar = true
	_, err = conversation.LinesWithin(path, from, conversation.MaxHeld, func(line []byte, _ int64) bool {
		if bytes.Contains(line[:min(len(line), 128)], []byte(`"isSidechain":true`)) {
			return true
		}
		if isAsking(line) && len(before) > 0 {
			rec := parseRecord(line)
			straightSoFar = rec.id == "" || rec.follows(string(before)) || rec.toRequest().Text == ""
		}
		id := findID(line[max(len(line)-nearEnd, 0):])
		if len(id) == 0 {
			id = findID(line)
		}
		if len(id) > 0 {
			before = append(before[:0], id...)
		}
		return straightSoFar
	}, func(front, back []byte, _ int64) bool {
		before = append(before[:0], recordOfEnds(front, back).id...)
		return true
	})
	if straightSoFar && err == nil {
		lastStraight.Store(&now)
	}
	return straightSoFar && err == nil, err
}

// recordOfEnds returns the record of a line of which only both ends are known, with its ids.
func recordOfEnds(front, back []byte) record {
	rec := parseEnds(front, back)
	rec.parent, rec.namesParent = gjson.GetBytes(front, "parentUuid").Str, true
	rec.Sidechain = gjson.GetBytes(front, "isSidechain").Bool()
	rec.id = string(findID(back))
	return rec
}

// toRequest returns what a person or another agent asks in the record; a reply begins no turn.
func (rec record) toRequest() request {
	q := rec.personRequest()
	if q.Reply {
		return request{}
	}
	if sent := rec.othersMessages(); q.Text == "" && len(sent) > 0 {
		q.Text = sent[0].Text
	}
	return q
}

func (rec record) follows(id string) bool { return !rec.namesParent || rec.parent == id }

// findID returns the first id in a line, which may be that of an object in its record, or nil. It
// parses the line only if another program wrote it.
func findID(line []byte) []byte {
	const key = `"uuid":"`
	_, after, ok := bytes.Cut(line, []byte(key))
	if !ok {
		if !bytes.Contains(line, []byte(`"uuid"`)) {
			return nil
		} else if rec := parseRecord(line); rec.id != "" { // another program wrote it
			return []byte(strings.Clone(rec.id))
		}
		return nil
	}
	id, _, _ := bytes.Cut(after, []byte(`"`))
	return id
}

// idBefore returns the id of the last record before an offset that is no subagent's, or nil if
// there is none within MaxHeld bytes.
func idBefore(path string, from int64) (id []byte, err error) {
	if from == 0 {
		return nil, nil
	}
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, most := range []int64{16 << 10, conversation.MaxHeld} {
		if id != nil {
			break
		}
		near := make([]byte, min(from, most))
		if _, err := f.ReadAt(near, from-int64(len(near))); err != nil && err != io.EOF {
			return nil, atomicfile.Error("read", path, err)
		}
		for len(near) > 0 && id == nil {
			i := bytes.LastIndexByte(bytes.TrimRight(near, "\n"), '\n') + 1
			if line := bytes.TrimSpace(near[i:]); bytes.HasPrefix(line, []byte("{")) && !bytes.Contains(line[:min(len(line), 128)], []byte(`"isSidechain":true`)) {
				id = bytes.Clone(findID(line))
			}
			near = near[:i]
		}
	}
	return id, nil
}
