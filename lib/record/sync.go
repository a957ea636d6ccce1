package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/record/secretfile"
	"gt/lib/sys/atomicfile"
)

// Syncer updates records from the clients' files. It is safe for concurrent use.
type Syncer struct {
	Store  Store
	Index  Index               // as of when it was made
	Redact func(string) string // removes secrets from a text
	Now    func() time.Time
	// Stop, if not nil, is called now and then and returns true to stop. The lines
	// written so far stay, and the next sync continues there.
	Stop func() bool
	// Bulk means not to wait for the disk.
	Bulk bool
}

type Synced struct {
	ID        ID
	New       bool // the record was created
	Lines     int  // the number of lines of the conversation that were written
	Rewritten bool // the client has rewritten its file
	Stopped   bool
	Gone      Kind // nothing was done, because the record was forgotten or pruned
}

// Sync updates the record of a conversation. It appends new entries. It keeps what the
// client has changed or removed.
func (y *Syncer) Sync(r conversation.Reader, c conversation.Conversation) (done Synced, err error) {
	c.Metadata = y.clean(c.Metadata)
	k := KeyOf(c)
	id, suffix, err := y.Store.Find(y.Index, k)
	if err == nil {
		done.ID = id
		if current, err := y.current(id, c, &done); err != nil || current {
			return done, err
		}
	} else if !errors.Is(err, ErrNone) {
		return done, err
	}
	if err := y.Store.Prepare(); err != nil {
		return done, err
	}
	lock, err := y.Store.lock(suffix)
	if err != nil {
		return done, err
	}
	defer lock.Remove()
	if id == "" {
		id = newID(c.Metadata.Started, suffix)
	}
	done.ID = id
	p := &pass{y: y, c: c, key: k, id: id, done: &done}
	defer func() {
		if p.w != nil {
			err = cmp.Or(err, p.w.close(!y.Bulk && done.Lines > 0))
		}
	}()
	if ok, err := atomicfile.Present(y.Store.File(id)); err != nil {
		return done, err // an error does not count as missing, because the record would be begun anew
	} else if ok {
		if err := p.open(); err != nil || done.Gone != "" {
			return done, err
		}
	}
	err = p.read(r)
	if p.w == nil {
		done.ID = "" // the conversation is empty
	}
	return done, err
}

// parts returns how many files have what came before a conversation's own.
func parts(f conversation.File) int { return len(f.Files()) - 1 }

// KeyOf returns the key of the record that a client's conversation has.
func KeyOf(c conversation.Conversation) Key {
	return Key{Agent: c.File.Client, Session: cmp.Or(c.Metadata.ID, c.File.ID), Parent: cmp.Or(c.Metadata.Parent, c.File.Parent)}
}

// clean returns the metadata with invalid UTF-8 and secrets removed.
func (y *Syncer) clean(m conversation.Metadata) conversation.Metadata {
	for _, s := range []*string{&m.CWD, &m.MovedTo, &m.Branch, &m.Model, &m.Version, &m.Title, &m.Prompt} {
		*s = y.Redact(valid(*s))
	}
	return m
}

// current reports whether a record has everything that the client's file had when it was found.
func (y *Syncer) current(id ID, c conversation.Conversation, done *Synced) (bool, error) {
	o, err := y.Store.open(id)
	if err != nil {
		return false, nil // opening it under the lock returns the error
	}
	defer o.Close()
	end, err := o.end()
	if err != nil {
		return false, atomicfile.Error("read", o.f.Name(), err)
	}
	if done.Gone = end.gone; end.gone != "" {
		return true, nil
	}
	m := end.mark
	return m != nil && !end.torn && end.after == end.size && m.Source == c.File.Path && m.Size == c.File.Size && m.Changed == c.File.Changed && m.Parts == parts(c.File), nil
}

type pass struct {
	y    *Syncer
	c    conversation.Conversation
	key  Key
	id   ID
	w    *writer
	done *Synced

	from   int64     // offset in the conversation from which it is read
	old    *Position // the last mark, if nothing was written after it
	at     Position  // the content of the next mark
	begin  int64     // where the lines after the last mark begin
	seen   map[[16]byte]int
	hidden []string          // calls whose results are left out
	tools  map[string]string // the tool of each call in this pass
	spent  string            // the last TokenUsage
	err    error
}

// open opens a record that exists and finds where the last sync stopped.
func (p *pass) open() error {
	w, end, err := p.y.Store.openWriter(p.id)
	if err != nil {
		return err
	}
	p.w = w
	if p.done.Gone = end.gone; end.gone != "" {
		return nil
	}
	if end.size == 0 {
		return p.head()
	}
	after := end.after
	p.begin = after
	if m := end.mark; m != nil {
		p.at, p.from, p.hidden = *m, m.Next, m.Hidden
		same, err := unchanged(p.c.File, m)
		if err != nil {
			return err
		}
		if more := m.Parts != parts(p.c.File); !same || more {
			// Read from the start, and skip what the record already has.
			p.from, p.hidden, after = 0, nil, 0
			p.done.Rewritten = m.Tail != "" && !more
		}
	}
	p.at.Ended = end.ended
	if after == end.size {
		p.old = end.mark
		return nil
	}
	// A sync that was killed wrote these lines.
	p.seen = map[[16]byte]int{}
	p.at.Messages, p.at.Events = 0, 0
	if after > 0 {
		p.at.Messages, p.at.Events = end.mark.Messages, end.mark.Events
	}
	_, err = p.y.Store.ForEachLine(p.id, after, func(line []byte, _ int64) bool {
		body := bodyOf(line)
		if body != nil && isSaid(line) {
			p.seen[keyOfBody(body)]++
			if l, err := Parse(line); err == nil {
				p.count(&l)
			}
		}
		return true
	})
	return err
}

// isSaid reports whether a line is part of the conversation, without parsing it.
func isSaid(line []byte) bool {
	rest := string(bodyOf(line)[:min(len(bodyOf(line)), 40)])
	rest, ok := strings.CutPrefix(rest, `"kind":"`)
	kind, _, _ := strings.Cut(rest, `"`)
	return ok && Kind(kind).InConversation()
}

func keyOfBody(body []byte) (key [16]byte) {
	sum := sha256.Sum256(body)
	copy(key[:], sum[:])
	return key
}

// tailSize is how many bytes before Next tell whether the client has changed its file.
const tailSize = 4 << 10

// unchanged reports whether the part of a file that was read is unchanged. A file that is
// not lines is always read from its start. A database tells itself what is new.
func unchanged(f conversation.File, m *Position) (bool, error) {
	switch filepath.Ext(f.Path) {
	case ".jsonl":
	case ".json":
		return false, nil
	default:
		return true, nil
	}
	if f.Size < m.Next {
		return false, nil
	}
	tail, err := tailOf(f, m.Next)
	return tail == m.Tail, err
}

// tailOf returns a digest of the last tailSize bytes before an offset of a client's file, which
// tells later whether the client has rewritten what was read. It is "" for a file that has no
// lines or was truncated.
func tailOf(f conversation.File, offset int64) (string, error) {
	if filepath.Ext(f.Path) != ".jsonl" || offset < 0 {
		return "", nil
	}
	file, err := atomicfile.OpenFollowing(f.Path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	buf := make([]byte, min(offset, tailSize))
	if n, err := file.ReadAt(buf, offset-int64(len(buf))); err != nil && err != io.EOF {
		return "", atomicfile.Error("read", f.Path, err)
	} else if n < len(buf) {
		return "", nil // it was truncated meanwhile
	}
	return digest(buf)[:32], nil
}

// head begins a record at the first entry, because an empty conversation gets none.
func (p *pass) head() error {
	if p.w == nil {
		w, _, err := p.y.Store.openWriter(p.id)
		if err != nil {
			return err
		}
		p.w = w
	}
	p.done.New = true
	m := p.c.Metadata
	return p.w.add(&Line{Kind: Head, Time: p.y.Now().UTC(), Head: &Session{
		Form: form, ID: p.id, Agent: p.key.Agent, Session: p.key.Session, Parent: p.key.Parent, ForkOf: m.ForkOf,
		Started: m.Started.UTC(), CWD: m.CWD, Branch: m.Branch, Version: m.Version,
	}})
}

// read continues to read the client's file, and writes what is new.
func (p *pass) read(r conversation.Reader) error {
	n, until := 0, p.begin
	unknown := p.begin > 0 && p.at.TakenBack == nil // an older gt wrote the last mark
	back := p.done.Rewritten || unknown || p.begin > 0 && conversation.ErasesTakenBack(p.c.File.Path) && (p.from == 0 || len(p.at.TakenBack) > 0)
	if unknown {
		until = 0 // what was taken back ended before
	}
	o := conversation.Options{From: p.from, Patient: true}
	if p.from > 0 {
		o.TakenBack = func(e conversation.Entry) { back = back || e.Offset < p.from }
	}
	next, err := conversation.ReadAll(r, p.c.File, o, func(e conversation.Entry) bool {
		if n++; n%64 == 0 && p.y.Stop != nil && p.y.Stop() {
			p.done.Stopped = true
			return false
		}
		p.err = p.writeEntry(e)
		return p.err == nil
	})
	switch {
	case p.err != nil:
		return p.err
	case err != nil:
		return err
	case p.w == nil || p.done.Stopped: // the conversation is empty, or the next sync continues after these lines
		return nil
	}
	if back {
		if err := p.findTakenBack(r, until); err != nil {
			return err
		}
	}
	return p.mark(next)
}

// maxTakenBack limits the prompts that a mark names.
const maxTakenBack = 1024

// findTakenBack reads the whole conversation to find the prompts that the person took back. One
// that is neither there nor taken back any more stays as it was. What a prompt began ends before
// an offset.
func (p *pass) findTakenBack(r conversation.Reader, until int64) error {
	var found, live []string
	o := conversation.Options{Patient: true, TakenBack: func(e conversation.Entry) { found = append(found, p.y.Redact(valid(e.ID))) }}
	_, err := conversation.ReadAll(r, p.c.File, o, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			live = append(live, p.y.Redact(valid(e.ID)))
		}
		return true
	})
	if err != nil {
		return err
	}
	if conversation.ErasesTakenBack(p.c.File.Path) && p.at.Source == p.c.File.Path {
		had, err := p.prompts()
		if err != nil {
			return err
		}
		found = append(found, conversation.ErasedPrompts(had, live)...)
	}
	var taken []string
	var ends []int64
	add := func(id string, at int64) {
		if id != "" && !slices.Contains(live, id) && !slices.Contains(taken, id) {
			taken, ends = append(taken, id), append(ends, at)
		}
	}
	for i, id := range p.at.TakenBack {
		add(id, p.at.takenUntil(i))
	}
	for _, id := range found {
		add(id, until)
	}
	first := max(0, len(taken)-maxTakenBack)
	p.at.TakenBack, p.at.TakenUntil = taken[first:], ends[first:] // nil without any, as a mark is read
	return nil
}

// prompts returns the ids of the prompts that the record had before this sync.
func (p *pass) prompts() (ids []string, err error) {
	_, err = p.y.Store.ForEachLine(p.id, 0, func(line []byte, at int64) bool {
		if at >= p.begin {
			return false
		}
		if isKind(line, Kind(conversation.Prompt)) {
			if l, err := Parse(line); err == nil {
				ids = append(ids, l.Message)
			}
		}
		return true
	})
	return ids, err
}

// mark adds a mark at the offset next, unless the last mark says the same.
func (p *pass) mark(next int64) error {
	tail, err := tailOf(p.c.File, next)
	if err != nil {
		return err
	}
	m := p.c.Metadata
	at := p.at
	at.Parts = parts(p.c.File)
	if at.TakenBack == nil {
		// nil would say that no sync has looked for them.
		at.TakenBack = []string{}
	}
	at.Source, at.Next, at.Size, at.Changed, at.Tail, at.Hidden = p.c.File.Path, next, p.c.File.Size, p.c.File.Changed, tail, p.hidden
	at.Title, at.Prompt, at.Model, at.Moved, at.Branch, at.Headless = m.Title, m.Prompt, m.Model, m.MovedTo, m.Branch, m.Headless
	if old := p.old; old != nil && p.done.Lines == 0 {
		before := *old
		before.Size, before.Changed, before.Hidden = at.Size, at.Changed, at.Hidden
		if reflect.DeepEqual(before, at) {
			return nil // only the file's time changed
		}
	}
	return p.w.add(&Line{Kind: Mark, Time: p.y.Now().UTC(), Mark: &at})
}

// writeEntry adds an entry, unless an earlier sync has written it.
func (p *pass) writeEntry(e conversation.Entry) error {
	if !Kind(e.Kind).InConversation() {
		return nil
	}
	l, large := p.line(e)
	if e.Kind == conversation.TokenUsage && e.ID != "" {
		// A client may repeat it with every part of a message.
		usage := fmt.Sprint(e.ID, e.Request, e.Model, e.Usage)
		if usage == p.spent {
			return nil
		}
		p.spent = usage
	}
	if p.w == nil {
		if err := p.head(); err != nil {
			return err
		}
	}
	body, err := p.w.enc.body(l)
	if err != nil {
		return err
	}
	if p.seen != nil {
		if key := keyOfBody(body[1:]); p.seen[key] > 0 { // mutant never: TestSyncAfterAKillAnywhere
			p.seen[key]--
			return nil
		}
		if p.done.Rewritten && p.done.Lines == 0 {
			// add overwrites the encoder's buffer, which holds body.
			body = slices.Clone(body)
			if err := p.w.add(&Line{Kind: Rewritten, Time: p.y.Now().UTC()}); err != nil {
				return err
			}
		}
	}
	if l.Context != nil {
		if err := p.keepAside(l, large); err != nil {
			return err
		}
	}
	p.done.Lines++
	p.at.Ended = time.Time{} // it goes on
	p.count(l)
	return p.w.addBody(body)
}

// count adds a line to what the next mark will say.
func (p *pass) count(l *Line) {
	switch {
	case l.Kind.message():
		p.at.Messages++
	case l.Kind == Kind(conversation.Call), l.Kind == Kind(conversation.TokenUsage):
		p.at.Events++
	}
	if l.Time.After(p.at.Last) {
		p.at.Last = l.Time
	}
}

// line returns an entry as a line, and the text of a result that is kept aside.
func (p *pass) line(e conversation.Entry) (l *Line, large string) {
	clean := func(s string) string { return p.y.Redact(valid(s)) }
	l = &Line{
		Kind: Kind(e.Kind), Time: e.Time.UTC(), Tool: clean(e.Tool), CallID: clean(e.CallID), Failed: e.Failed, Rejected: e.Rejected,
		Message: clean(e.ID), Request: clean(e.Request), Sum: e.Sum, Model: clean(e.Model), Aside: e.Aside, Window: e.Size,
	}
	switch e.Kind {
	case conversation.TokenUsage:
		l.Usage, l.CWD, l.Branch = &e.Usage, clean(e.Origin.CWD), clean(e.Origin.Branch)
		return l, ""
	case conversation.Call:
		p.setCallText(l, e, clean)
		return l, ""
	case conversation.Result:
		if p.isHidden(e.CallID) {
			l.Hidden = "the file is secret by its name"
			return l, ""
		}
	}
	l.Text = clean(e.Text) // mutant without clean: TestSyncLeavesOutSecrets
	if e.Kind == conversation.Result && len(l.Text) > MaxInline {
		large = l.Text
		sum := sha256.Sum256([]byte(large))
		l.Context = &Context{Size: int64(len(large)), Digest: hex.EncodeToString(sum[:])}
		// Not every client repeats the tool in a result.
		l.Context.Ref = contextName(p.id, cmp.Or(l.Tool, p.tools[l.CallID]), sum[:])
		l.Text = shortenText(large, l.Context)
	}
	return l, large
}

// noCall is the hidden call without an id: its result is the next one.
const noCall = "-"

// setCallText sets a call's text, and notes whether its result is left out.
func (p *pass) setCallText(l *Line, e conversation.Entry, clean func(string) string) {
	p.hidden = slices.DeleteFunc(p.hidden, func(id string) bool { return id == noCall })
	if l.CallID != "" && l.Tool != "" {
		if p.tools == nil || len(p.tools) > maxHidden {
			p.tools = map[string]string{}
		}
		p.tools[l.CallID] = l.Tool
	}
	file := secretfile.FindInCall(e)
	if file == "" {
		l.Text, l.Target = clean(e.Text), clean(e.Target)
		return
	}
	l.Hidden = "'" + file + "' is secret by its name"
	// A command's first line says what it does; the rest may be a file's content.
	first, _, _ := strings.Cut(e.Target, "\n")
	l.Target = clean(first)
	if l.Target == "" {
		first, _, _ = strings.Cut(e.Text, "\n")
		l.Text = clean(first)
	}
	if p.hidden = append(p.hidden, strings.Clone(cmp.Or(e.CallID, noCall))); len(p.hidden) > maxHidden {
		p.hidden = p.hidden[1:]
	}
}

// maxHidden limits the calls that wait for their results.
const maxHidden = 256

// isHidden reports whether the result of a call is left out.
func (p *pass) isHidden(call string) bool {
	call = cmp.Or(call, noCall)
	n := len(p.hidden)
	p.hidden = slices.DeleteFunc(p.hidden, func(id string) bool { return id == call })
	return len(p.hidden) < n
}

const (
	// MaxInline is the longest result in a line, in bytes.
	MaxInline = 64 << 10
	// endSize is how much of each end of a longer result is in the line.
	endSize = 4 << 10
)

// shortenText returns both ends of a text, with a note about the missing part between them.
func shortenText(s string, c *Context) string {
	front, back := strings.ToValidUTF8(s[:endSize], ""), strings.ToValidUTF8(s[len(s)-endSize:], "")
	return front + "\n[" + strconv.FormatInt(c.Size-int64(len(front)+len(back)), 10) + " bytes are kept aside in " + c.Ref + "]\n" + back
}
