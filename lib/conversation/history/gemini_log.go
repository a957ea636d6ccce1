package history

import (
	"bufio"
	"bytes"
	"errors"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// maxMessages is how many messages of one conversation are taken in. Of each
// only its place is held, some hundred bytes.
const maxMessages = 1 << 18

// geminiPlace is where a state of a message is.
type geminiPlace struct {
	line     int64 // where its record begins
	at, size int64 // its JSON
}

// What became of a message.
const (
	geminiLive = iota // the model still knows of it
	geminiPast        // it was said, though the model no longer knows of it
	geminiGone        // the person took it back
	geminiCopy        // the client's own copy of what stands before
)

// geminiMessage is what the first reading notes of a message.
type geminiMessage struct {
	key       uint64 // of its id
	first     int64  // where its first record begins
	last, old geminiPlace
	state     int
	kind      string // user, gemini, or "" for what is neither's
	summary   bool   // of what was compacted
	of        int    // of a copy: 1 + where the original is, 0 where that is not known
}

// geminiLog puts a conversation together as the client does: a message that
// stands again takes the place of the first, $rewindTo takes back, and a list of
// messages in a $set is from there on all that the model knows.
type geminiLog struct {
	from     int64
	next     int64 // where the next Read goes on
	messages []geminiMessage
	live     []int // of messages, in the model's order
	byKey    map[uint64]int
	restart  bool // a header stood again: the client went on
}

// geminiKey is an id in eight bytes.
func geminiKey(id string) uint64 {
	h := fnv.New64a()
	io.WriteString(h, id)
	return h.Sum64()
}

// geminiScan reads where the messages of a file are.
func geminiScan(path string, from int64) (*geminiLog, error) {
	log := &geminiLog{from: from, next: from, byKey: map[uint64]int{}}
	if strings.HasSuffix(path, ".json") {
		err := geminiDocument(path, 0, nil, func(raw []byte, at int64) bool {
			if id := gjson.GetBytes(raw, "id"); id.Type == gjson.String {
				size := int64(len(raw))
				log.message(id.Str, geminiKind(gjson.GetBytes(raw, "type").Str), geminiPlace{at, at, size})
				log.next = max(log.next, at+size)
			}
			return true
		})
		return log, err
	}
	begun := false
	next, err := Lines(path, 0, func(line []byte, at int64) bool {
		if !gjson.ValidBytes(line) {
			return true
		}
		v := gjson.ParseBytes(line)
		if !v.IsObject() {
			return true
		}
		// The first key tells most records apart.
		if id := v.Get("id"); bytes.HasPrefix(line, []byte(`{"id":`)) && id.Type == gjson.String {
			log.message(id.Str, geminiKind(v.Get("type").Str), geminiPlace{at, at, int64(len(line))})
			return true
		}
		if to := v.Get("$rewindTo"); to.Type == gjson.String {
			log.rewind(to.Str)
		} else if id := v.Get("id"); id.Type == gjson.String {
			log.message(id.Str, geminiKind(v.Get("type").Str), geminiPlace{at, at, int64(len(line))})
		} else if set := v.Get("$set"); set.IsObject() {
			if list := set.Get("messages"); list.IsArray() {
				log.set(line, at, list)
			}
		} else if v.Get("sessionId").Type == gjson.String && v.Get("projectHash").Type == gjson.String {
			log.restart = begun
			begun = true
			if list := v.Get("messages"); list.IsArray() {
				log.set(line, at, list)
			}
		}
		return true
	})
	log.next = max(log.next, next)
	return log, err
}

// message takes in a record of a message.
func (l *geminiLog) message(id string, kind string, at geminiPlace) {
	key := geminiKey(id)
	if i, known := l.byKey[key]; known && l.messages[i].state != geminiGone {
		m := &l.messages[i]
		if m.last.line < l.from && at.line >= l.from {
			m.old = m.last
		}
		m.last = at
		if m.state == geminiPast {
			m.state = geminiLive
			l.live = append(l.live, i)
		}
		return
	}
	if i, added := l.add(key, kind, at); added {
		l.live = append(l.live, i)
	}
}

// geminiKind is what a message's type says: Qwen Code's first versions called
// the model's by its own name.
func geminiKind(kind string) string {
	switch kind {
	case "user":
		return "user"
	case "gemini", "qwen":
		return "gemini"
	}
	return ""
}

func (l *geminiLog) add(key uint64, kind string, at geminiPlace) (int, bool) {
	if len(l.messages) == maxMessages {
		return 0, false
	}
	l.messages = append(l.messages, geminiMessage{key: key, kind: kind, first: at.line, last: at})
	l.byKey[key] = len(l.messages) - 1
	return len(l.messages) - 1, true
}

// rewind takes back a message and all after it; all there are, where it is not
// known.
func (l *geminiLog) rewind(id string) {
	from := 0
	if i, known := l.byKey[geminiKey(id)]; known {
		from = max(0, slices.Index(l.live, i))
	}
	for _, i := range l.live[from:] {
		l.gone(i)
	}
	l.live = l.live[:from]
}

func (l *geminiLog) gone(i int) {
	switch m := &l.messages[i]; {
	case m.state != geminiCopy:
		m.state = geminiGone
	case m.of > 0:
		l.messages[m.of-1].state = geminiGone
	}
}

// set takes in a list of all that the model knows from here on. It is written
// when the client starts or goes on (then it has what stands before in it), when
// a turn was broken off (then the end is missing), and after a compaction: then
// it has a summary in it, and copies of the last messages under new ids.
func (l *geminiLog) set(line []byte, at int64, list gjson.Result) {
	const (
		known = iota
		own   // the client's words to the model
		new
	)
	type member struct {
		key     uint64
		place   geminiPlace
		from    int
		kind    string
		summary bool
	}
	var members []member
	in := map[uint64]bool{}
	fresh := false
	list.ForEach(func(_, m gjson.Result) bool {
		id := m.Get("id")
		if id.Type != gjson.String || len(members) == maxMessages {
			return true
		}
		e := member{key: geminiKey(id.Str), kind: geminiKind(m.Get("type").Str)}
		// Where it is in the file, which only says itself.
		if i := geminiIndex(line, list, m); i >= 0 {
			e.place = geminiPlace{at, at + int64(i), int64(len(m.Raw))}
		}
		in[e.key] = true
		if i, ok := l.byKey[e.key]; !ok || l.messages[i].state == geminiGone {
			e.from = new
			if e.kind == "user" && geminiAsked(m) == "" {
				e.from = own
			} else {
				e.summary = e.kind == "user" && strings.Contains(geminiText(m.Get("content")), "<state_snapshot>")
				fresh = true
			}
		}
		members = append(members, e)
		return true
	})

	said := slices.ContainsFunc(l.messages, func(m geminiMessage) bool { return m.state != geminiCopy })
	last := -1 // of live, what is in the list
	for j, i := range l.live {
		if in[l.messages[i].key] {
			last = j
		}
	}
	for j, i := range l.live {
		switch m := &l.messages[i]; {
		case in[m.key] || m.state != geminiLive:
		case fresh || l.restart || j < last:
			m.state = geminiPast
		default:
			m.state = geminiGone
		}
	}
	l.restart = false
	before := l.live
	l.live = make([]int, 0, len(members))
	for _, e := range members {
		i, ok := l.byKey[e.key]
		if e.from != known {
			if i, ok = l.add(e.key, e.kind, e.place); ok {
				m := &l.messages[i]
				m.summary = e.summary
				if e.from == own || said && !e.summary {
					m.state = geminiCopy
				}
			}
		}
		if ok {
			if m := &l.messages[i]; m.state == geminiPast {
				m.state = geminiLive
			}
			l.live = append(l.live, i)
		}
	}
	if fresh && said {
		l.pair(before)
	}
}

// pair finds what the copies at the end of a new list are copies of: of what
// was at the end of the list before.
func (l *geminiLog) pair(before []int) {
	for j := len(l.live) - 1; j >= 0; j-- {
		m := &l.messages[l.live[j]]
		if m.state != geminiCopy || m.of > 0 || m.kind == "" {
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
		if l.messages[o].state == geminiCopy {
			m.of = l.messages[o].of
		} else {
			m.of = o + 1
		}
	}
}

// geminiIndex is where an element of a list stands in a line.
func geminiIndex(line []byte, list, element gjson.Result) int {
	i := element.Index
	if i <= 0 || i+len(element.Raw) > len(line) || string(line[i:i+len(element.Raw)]) != element.Raw {
		i += list.Index
	}
	if i <= 0 || i+len(element.Raw) > len(line) || string(line[i:i+len(element.Raw)]) != element.Raw {
		return -1
	}
	return i
}

// geminiDocument goes through a file that is one JSON object: it calls meta for
// what stands in the object itself, but for what is long, and message for each
// object in its list "messages", with where it begins, until that returns false.
// It goes no further than limit, where that is not 0, and holds one message.
func geminiDocument(path string, limit int64, meta func(key string, v gjson.Result), message func(raw []byte, at int64) bool) error {
	f, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if limit > 0 {
		in = io.LimitReader(f, limit)
	}
	d := geminiDoc{r: bufio.NewReaderSize(in, 64<<10), meta: meta, message: message}
	if err := d.run(); !errors.Is(err, io.EOF) && !errors.Is(err, errStop) {
		return atomicfile.Error("read", path, err)
	}
	return nil
}

// errStop ends a geminiDoc that has nothing left to say.
var errStop = errors.New("enough")

type geminiDoc struct {
	r       *bufio.Reader
	at      int64 // of the next byte
	meta    func(string, gjson.Result)
	message func([]byte, int64) bool
	buf     []byte
}

// run reads the object's keys and values; it ends with an error.
func (d *geminiDoc) run() error {
	if c, err := d.token(); err != nil || c != '{' {
		return cmpErr(err)
	}
	for {
		c, err := d.token()
		if err != nil || c == '}' {
			return cmpErr(err)
		}
		if c == ',' {
			continue
		}
		raw, err := d.value(c, end)
		if err != nil {
			return err
		}
		key := gjson.ParseBytes(raw)
		if c != '"' || !gjson.ValidBytes(raw) {
			return errStop // no object of JSON
		}
		name := strings.Clone(key.Str)
		if c, err = d.token(); err != nil || c != ':' {
			return cmpErr(err)
		}
		if c, err = d.token(); err != nil {
			return err
		}
		if name == "messages" && c == '[' {
			if err := d.list(); err != nil {
				return err
			}
			continue
		}
		if raw, err = d.value(c, end); err != nil {
			return err
		}
		if d.meta != nil && gjson.ValidBytes(raw) {
			d.meta(name, gjson.ParseBytes(raw))
		}
	}
}

// cmpErr is the error, or that there is no more to read.
func cmpErr(err error) error {
	if err == nil {
		return errStop
	}
	return err
}

func (d *geminiDoc) list() error {
	for {
		c, err := d.token()
		if err != nil || c == ']' {
			return err
		}
		if c == ',' {
			continue
		}
		at := d.at - 1
		raw, err := d.value(c, maxRecord)
		if err != nil {
			return err
		}
		if c == '{' && gjson.ValidBytes(raw) && !d.message(raw, at) {
			return errStop
		}
	}
}

// token is the next byte that is no blank.
func (d *geminiDoc) token() (byte, error) {
	for {
		c, err := d.r.ReadByte()
		if err != nil {
			return 0, err
		}
		d.at++
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return c, nil
		}
	}
}

// value reads the value that begins with a byte that was taken. One that is
// longer than most is passed over, and nothing is returned of it. The bytes are
// valid until the next call.
func (d *geminiDoc) value(c byte, most int) ([]byte, error) {
	d.buf = append(d.buf[:0], c)
	if c != '"' && c != '{' && c != '[' {
		return d.word()
	}
	depth, text, escaped := 0, c == '"', false
	if !text {
		depth = 1
	}
	for text || depth > 0 {
		b, err := d.r.ReadByte()
		if err != nil {
			return nil, err
		}
		d.at++
		if len(d.buf) <= most {
			d.buf = append(d.buf, b)
		}
		switch {
		case escaped:
			escaped = false
		case text:
			escaped, text = b == '\\', b != '"'
		case b == '"':
			text = true
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			depth--
		}
	}
	if len(d.buf) > most {
		return nil, nil
	}
	return d.buf, nil
}

// word reads the rest of a number, or of true, false or null: up to what cannot
// be of it.
func (d *geminiDoc) word() ([]byte, error) {
	for {
		next, err := d.r.Peek(1)
		if err != nil {
			return nil, err
		}
		if len(d.buf) > 64 || strings.IndexByte(",]} \n\t\r", next[0]) >= 0 {
			return d.buf, nil
		}
		d.r.Discard(1)
		d.at++
		d.buf = append(d.buf, next[0])
	}
}
