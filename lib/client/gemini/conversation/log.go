package gemini

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// MaxMessages limits the messages of one conversation. Only their places are held, some
// hundred bytes each.
const MaxMessages = 1 << 18

// position is where a message is in the file.
type position struct {
	line     int64 // where its record begins
	at, size int64 // its JSON
}

const (
	live             = iota // the model still has it
	forgottenByModel        // part of the conversation, but the model no longer has it
	takenBack               // the person took it back
	duplicate               // a copy that the client made of an earlier message
)

type message struct {
	key       uint64   // the hash of its id
	first     int64    // where its first record begins
	last, old position // of its last record, and of the one that an earlier Read gave, if another
	state     int
	goneAt    int64  // where the record is that took it back
	kind      string // user, gemini, or "" for anything else
	summary   bool   // a compaction's summary
	original  int    // of a copy: 1 + the index of the original, or 0 if unknown
}

// log rebuilds a conversation as the client does. A repeated message replaces the first
// one, $rewindTo takes messages back, and a list of messages in a $set is all that the
// model has from then on.
type log struct {
	from         int64
	recordOffset int64 // where the present record begins
	next         int64 // where the next Read begins
	messages     []message
	live         []int // indexes of messages, in the model's order
	byKey        map[uint64]int
	restart      bool // a header is repeated: the client resumed the session
	skipped      int  // messages that are too long, or more than MaxMessages
}

// scanFile finds the messages of a file in either format. from is where the last Read ended.
func scanFile(path string, from int64) (*log, error) {
	log := &log{from: from, next: from, byKey: map[uint64]int{}}
	if strings.HasSuffix(path, ".json") {
		err := conversation.ReadDocument(path, 0, nil, func(raw []byte, at int64) bool {
			if raw == nil {
				log.skipped++
				return true
			}
			if id := gjson.GetBytes(raw, "id"); id.Type == gjson.String {
				size := int64(len(raw))
				log.addMessage(id.Str, kindOf(gjson.GetBytes(raw, "type").Str), position{at, at, size})
				log.next = max(log.next, at+size)
			}
			return true
		})
		return log, err
	}
	begun := false
	next, err := conversation.LinesWithin(path, 0, conversation.MaxRecord, func(line []byte, at int64) bool {
		if !gjson.ValidBytes(line) {
			return true
		}
		v := gjson.ParseBytes(line)
		if log.recordOffset = at; !v.IsObject() {
			return true
		}
		var rewindID gjson.Result
		if !bytes.HasPrefix(line, []byte(`{"id":`)) { // as a message begins, of which most are
			rewindID = v.Get("$rewindTo")
		}
		var list gjson.Result
		switch id, set := v.Get("id"), v.Get("$set"); {
		case rewindID.Type == gjson.String:
			log.takeBackFrom(rewindID.Str)
		case id.Type == gjson.String:
			log.addMessage(id.Str, kindOf(v.Get("type").Str), position{at, at, int64(len(line))})
		case set.IsObject():
			list = set.Get("messages")
		case v.Get("sessionId").Type == gjson.String && v.Get("projectHash").Type == gjson.String:
			log.restart, begun = begun, true
			list = v.Get("messages")
		}
		if list.IsArray() {
			log.replaceLive(line, at, list)
		}
		return true
	}, func(_, _ []byte, _ int64) bool {
		log.skipped++
		return true
	})
	log.next = max(log.next, next)
	return log, err
}

// addMessage adds a message's record, or replaces the record of a known one. A message that was taken
// back and is written again is a new one.
func (l *log) addMessage(id string, kind string, at position) {
	key := conversation.HashID(id)
	if i, known := l.byKey[key]; known && l.messages[i].state != takenBack {
		m := &l.messages[i]
		// The last Read gave this version. Now only what is new in the message is given.
		if m.last.line < l.from && at.line >= l.from {
			m.old = m.last
		}
		m.last = at
		if m.state == forgottenByModel {
			m.state = live
			l.live = append(l.live, i)
		}
		return
	}
	if i, added := l.appendMessage(key, kind, at); added {
		l.live = append(l.live, i)
	}
}

// kindOf returns the kind of a message's type. Qwen Code's first versions called the
// model's "qwen".
func kindOf(kind string) string {
	switch kind {
	case "user":
		return "user"
	case "gemini", "qwen":
		return "gemini"
	}
	return ""
}

// appendMessage adds a new message and returns its index. More than MaxMessages are only counted.
func (l *log) appendMessage(key uint64, kind string, at position) (int, bool) {
	if len(l.messages) == MaxMessages {
		l.skipped++
		return 0, false
	}
	l.messages = append(l.messages, message{key: key, kind: kind, first: at.line, last: at})
	l.byKey[key] = len(l.messages) - 1
	return len(l.messages) - 1, true
}

// takeBackFrom takes back a message and all later ones, or all if it is unknown.
func (l *log) takeBackFrom(id string) {
	from := 0
	if i, known := l.byKey[conversation.HashID(id)]; known {
		from = max(0, slices.Index(l.live, i))
	}
	for _, i := range l.live[from:] {
		l.takeBack(i)
	}
	l.live = l.live[:from]
}

// takeBack marks a message as taken back, and for a copy its original: Read gives no copies.
func (l *log) takeBack(i int) {
	switch m := &l.messages[i]; {
	case m.state != duplicate:
		m.state, m.goneAt = takenBack, l.recordOffset
	case m.original > 0:
		l.messages[m.original-1].state, l.messages[m.original-1].goneAt = takenBack, l.recordOffset
	}
}

// replaceLive makes list what the model has from now on. The messages that it no longer has were
// forgotten by the model, or taken back by the person (see markLeft).
//
// The client writes such a list when it starts or resumes (with the earlier messages), when a
// turn was interrupted (without the end), and after a compaction (with a summary, and with copies
// of the last messages under new ids, which findOriginals matches with the messages themselves).
func (l *log) replaceLive(line []byte, at int64, list gjson.Result) {
	members := l.members(line, at, list)
	hasNew := slices.ContainsFunc(members, func(e member) bool { return e.added && !e.byClient })
	hadMessages := slices.ContainsFunc(l.messages, func(m message) bool { return m.state != duplicate })
	liveBefore := l.live
	l.markLeft(members, hasNew)
	l.live = make([]int, 0, len(members))
	for _, e := range members {
		if i, ok := l.putMember(e, hadMessages); ok {
			l.live = append(l.live, i)
		}
	}
	if hasNew && hadMessages {
		l.findOriginals(liveBefore)
	}
}

type member struct {
	key      uint64
	place    position // zero if only the message itself says where it is
	kind     string
	added    bool // no record before has it
	byClient bool // added, and written by the client for the model
	summary  bool // added, and a compaction's summary
}

// members returns the messages in a list of the record at an offset, and which of them are new.
func (l *log) members(line []byte, at int64, list gjson.Result) (members []member) {
	list.ForEach(func(_, m gjson.Result) bool {
		id := m.Get("id")
		if id.Type != gjson.String || len(members) == MaxMessages {
			return true
		}
		e := member{key: conversation.HashID(id.Str), kind: kindOf(m.Get("type").Str)}
		if i := indexOf(line, list, m); i >= 0 {
			e.place = position{at, at + int64(i), int64(len(m.Raw))}
		}
		if i, ok := l.byKey[e.key]; !ok || l.messages[i].state == takenBack {
			e.added = true
			e.byClient = e.kind == "user" && personText(m) == ""
			e.summary = e.kind == "user" && !e.byClient && strings.Contains(PartsText(m.Get("content")), "<state_snapshot>")
		}
		members = append(members, e)
		return true
	})
	return members
}

// markLeft marks the live messages that a list no longer has. The model has forgotten them if the
// list has something new (hasNew), if the client was restarted, or if they precede the last live
// message that the list has. Otherwise the person took them back.
func (l *log) markLeft(members []member, hasNew bool) {
	in := map[uint64]bool{}
	for _, e := range members {
		in[e.key] = true
	}
	last := -1 // the last index in live that the list has
	for j, i := range l.live {
		if in[l.messages[i].key] {
			last = j
		}
	}
	for j, i := range l.live {
		switch m := &l.messages[i]; {
		case in[m.key] || m.state != live:
		case hasNew || l.restart || j < last:
			m.state = forgottenByModel
		default:
			m.state, m.goneAt = takenBack, l.recordOffset
		}
	}
	l.restart = false
}

// putMember returns the index of a list's member. hadMessages reports whether there were messages
// before the list: an added member is then a copy of one of them, unless it is a summary.
func (l *log) putMember(e member, hadMessages bool) (i int, ok bool) {
	if !e.added {
		i, ok = l.byKey[e.key]
	} else if i, ok = l.appendMessage(e.key, e.kind, e.place); ok {
		m := &l.messages[i]
		m.summary = e.summary
		if e.byClient || hadMessages && !e.summary {
			m.state = duplicate
		}
	}
	if ok && l.messages[i].state == forgottenByModel {
		l.messages[i].state = live
	}
	return i, ok
}

// findOriginals finds the originals of the copies at the end of a new list: they are at the end of
// the list before. It goes back through both, and stops where the kinds differ.
func (l *log) findOriginals(before []int) {
	for j := len(l.live) - 1; j >= 0; j-- {
		m := &l.messages[l.live[j]]
		if m.state != duplicate || m.original > 0 || m.kind == "" {
			return
		}
		for len(before) > 0 && l.messages[before[len(before)-1]].kind == "" {
			before = before[:len(before)-1]
		}
		if len(before) == 0 || l.messages[before[len(before)-1]].kind != m.kind {
			return
		}
		o := before[len(before)-1]
		before = before[:len(before)-1]
		if l.messages[o].state == duplicate {
			m.original = l.messages[o].original
		} else {
			m.original = o + 1
		}
	}
}

// indexOf returns where a list's element begins in the line, or -1. It compares the text, and does
// not rely on what gjson counts Index from.
func indexOf(line []byte, list, element gjson.Result) int {
	for _, i := range [...]int{element.Index, element.Index + list.Index} {
		if end := i + len(element.Raw); i > 0 && end <= len(line) && string(line[i:end]) == element.Raw {
			return i
		}
	}
	return -1
}
