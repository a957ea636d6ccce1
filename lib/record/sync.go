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

// Syncer brings records up to date from what clients keep. It is safe for concurrent use.
type Syncer struct {
	Store  Store
	Index  Index               // as of when it was made
	Redact func(string) string // takes the secrets out of a text
	Now    func() time.Time
	// Stop, where it is set, is asked now and then whether to stop. What was written by
	// then stays, and the next sync goes on from there.
	Stop func() bool
	// Bulk does not wait for the disk.
	Bulk bool
}

// Synced is what a sync did.
type Synced struct {
	ID        ID
	New       bool // the record was made
	Lines     int  // of the conversation, that were written
	Bytes     int64
	Rewritten bool // the client had changed what had been read
	Stopped   bool
	Gone      Kind // nothing was done, for a person had the record removed, or it was pruned
}

// Sync brings the record of a conversation up to date. What its client has said since the
// last time is appended; what the client has changed or removed stays as it was.
func (y *Syncer) Sync(r conversation.Reader, c conversation.Conversation) (done Synced, err error) {
	c.Metadata = y.clean(c.Metadata)
	k := keyOf(c)
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
			if cerr := p.w.close(!y.Bulk && done.Lines > 0); err == nil {
				err = cerr
			}
		}
	}()
	if ok, err := y.Store.has(id); err != nil {
		return done, err
	} else if ok {
		if err := p.open(); err != nil || done.Gone != "" {
			return done, err
		}
	}
	err = p.read(r)
	if p.w == nil {
		done.ID = "" // nothing was ever said
	}
	return done, err
}

// keyOf returns what tells a conversation from all others.
func keyOf(c conversation.Conversation) Key {
	k := Key{Agent: c.File.Client, Session: c.Metadata.ID, Parent: c.Metadata.Parent}
	if k.Session == "" {
		k.Session = c.File.ID
	}
	if k.Parent == "" {
		k.Parent = c.File.Parent
	}
	return k
}

// clean is the metadata as it may stand in a record.
func (y *Syncer) clean(m conversation.Metadata) conversation.Metadata {
	for _, s := range []*string{&m.CWD, &m.Moved, &m.Branch, &m.Model, &m.Version, &m.Title, &m.Prompt} {
		*s = y.Redact(valid(*s))
	}
	return m
}

// current reports whether a record has all that its client's file had when it was found.
func (y *Syncer) current(id ID, c conversation.Conversation, done *Synced) (bool, error) {
	o, err := y.Store.open(id)
	if err != nil {
		return false, nil // the lock's holder says why
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
	return m != nil && !end.torn && end.after == end.size && m.Source == c.File.Path && m.Size == c.File.Size && m.Changed == c.File.Changed, nil
}

// pass is one sync of one record.
type pass struct {
	y    *Syncer
	c    conversation.Conversation
	key  Key
	id   ID
	w    *writer
	done *Synced

	from   int64
	old    *Position // the last mark, where what was read since is known
	at     Position  // what the next mark says
	seen   map[[16]byte]int
	hidden []string          // calls whose results are left out
	tools  map[string]string // of the calls of this pass
	spent  string            // what the last TokenUsage said
	err    error
}

// open opens the record, and finds out where to go on.
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
	p.at.Ended = end.ended
	if m := end.mark; m != nil {
		p.at, p.from, p.hidden = *m, m.Next, m.Hidden
		p.at.Ended = end.ended
		same, err := unchanged(p.c.File, m)
		if err != nil {
			return err
		}
		if !same {
			// It is read from the start, and what the record has is passed over.
			p.from, p.hidden, after = 0, nil, 0
			p.done.Rewritten = m.Tail != ""
		}
	}
	if after == end.size {
		p.old = end.mark
		return nil
	}
	// What stands there was written by a sync that did not get to its end.
	p.seen = map[[16]byte]int{}
	p.at.Messages, p.at.Events = 0, 0
	if after > 0 {
		p.at.Messages, p.at.Events = end.mark.Messages, end.mark.Events
	}
	_, err = p.y.Store.Each(p.id, after, func(line []byte, _ int64) bool {
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

// isSaid reports whether a line is of the conversation itself, without reading it.
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

// tailSize is how much of what had been read tells whether the client has changed it.
const tailSize = 4 << 10

// unchanged reports whether what had been read of a file stands there as it did. A file
// that is no list of lines is never read from within, and a database says itself what is
// new.
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

// tailOf returns the digest of what stands before an offset of a client's file.
func tailOf(f conversation.File, next int64) (string, error) {
	if filepath.Ext(f.Path) != ".jsonl" || next < 0 {
		return "", nil
	}
	file, err := atomicfile.OpenFollowing(f.Path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	buf := make([]byte, min(next, tailSize))
	if n, err := file.ReadAt(buf, next-int64(len(buf))); err != nil && err != io.EOF {
		return "", atomicfile.Error("read", f.Path, err)
	} else if n < len(buf) {
		return "", nil // it was cut short meanwhile
	}
	return digest(buf)[:32], nil
}

// head writes the first line.
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

// read reads the client's file on, and writes what is new.
func (p *pass) read(r conversation.Reader) error {
	n := 0
	next, err := r.Read(p.c.File, conversation.Options{From: p.from}, func(e conversation.Entry) bool {
		if n++; n%64 == 0 && p.y.Stop != nil && p.y.Stop() {
			p.done.Stopped = true
			return false
		}
		p.err = p.take(e)
		return p.err == nil
	})
	switch {
	case p.err != nil:
		return p.err
	case err != nil:
		return err
	case p.w == nil || p.done.Stopped: // nothing was ever said; or the next sync finds out what stands here
		return nil
	}
	return p.mark(next)
}

// mark writes where reading stopped.
func (p *pass) mark(next int64) error {
	tail, err := tailOf(p.c.File, next)
	if err != nil {
		return err
	}
	m := p.c.Metadata
	at := p.at
	at.Source, at.Next, at.Size, at.Changed, at.Tail, at.Hidden = p.c.File.Path, next, p.c.File.Size, p.c.File.Changed, tail, p.hidden
	at.Title, at.Prompt, at.Model, at.Moved, at.Branch, at.Headless = m.Title, m.Prompt, m.Model, m.Moved, m.Branch, m.Headless
	if old := p.old; old != nil && p.done.Lines == 0 {
		before := *old
		before.Size, before.Changed, before.Hidden = at.Size, at.Changed, at.Hidden
		if reflect.DeepEqual(before, at) {
			return nil // the file was touched
		}
	}
	return p.w.add(&Line{Kind: Mark, Time: p.y.Now().UTC(), Mark: &at})
}

// take writes an entry, unless the record has it.
func (p *pass) take(e conversation.Entry) error {
	if !Kind(e.Kind).InConversation() {
		return nil
	}
	l, large := p.line(e)
	if e.Kind == conversation.TokenUsage && e.ID != "" {
		// A client may say it again with every part of a message.
		now := fmt.Sprint(e.ID, e.Model, e.Usage)
		if now == p.spent {
			return nil
		}
		p.spent = now
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
		if key := keyOfBody(body[1:]); p.seen[key] > 0 {
			p.seen[key]--
			return nil
		}
		if p.done.Rewritten && p.done.Lines == 0 {
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
	p.done.Bytes += int64(len(body))
	p.count(l)
	return p.w.addBody(body)
}

// count takes a line into what the next mark says.
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

// line is an entry as it is written, and the text of a result that is kept aside.
func (p *pass) line(e conversation.Entry) (l *Line, large string) {
	clean := func(s string) string { return p.y.Redact(valid(s)) }
	l = &Line{
		Kind: Kind(e.Kind), Time: e.Time.UTC(), Tool: clean(e.Tool), CallID: clean(e.CallID), Failed: e.Failed, Rejected: e.Rejected,
		Message: clean(e.ID), Model: clean(e.Model), Aside: e.Aside, Window: e.Size,
	}
	if e.Time.IsZero() {
		l.Time = time.Time{}
	}
	switch e.Kind {
	case conversation.TokenUsage:
		l.Usage = &e.Usage
		return l, ""
	case conversation.Call:
		p.call(l, e, clean)
		return l, ""
	case conversation.Result:
		if p.isHidden(e.CallID) {
			l.Hidden = "the file is secret by its name"
			return l, ""
		}
	}
	l.Text = clean(e.Text)
	if e.Kind == conversation.Result && len(l.Text) > MaxInline {
		large = l.Text
		sum := sha256.Sum256([]byte(large))
		l.Context = &Context{Size: int64(len(large)), Digest: hex.EncodeToString(sum[:])}
		// Not every client says it again of which tool a result is.
		l.Context.Ref = contextName(p.id, cmp.Or(l.Tool, p.tools[l.CallID]), sum[:])
		l.Text = ends(large, l.Context)
	}
	return l, large
}

// noCall stands among the hidden calls for one without an id: the next result is its.
const noCall = "-"

// call is what a tool was called with, and whether its result is left out.
func (p *pass) call(l *Line, e conversation.Entry, clean func(string) string) {
	p.hidden = slices.DeleteFunc(p.hidden, func(id string) bool { return id == noCall })
	if l.CallID != "" && l.Tool != "" {
		if p.tools == nil || len(p.tools) > maxHidden {
			p.tools = map[string]string{}
		}
		p.tools[l.CallID] = l.Tool
	}
	file := secretfile.Of(e)
	if file == "" {
		l.Text, l.Target = clean(e.Text), clean(e.Target)
		return
	}
	l.Hidden = "'" + file + "' is secret by its name"
	// Of a command the first line says what it does; more of it may be a file's content.
	first, _, _ := strings.Cut(e.Target, "\n")
	l.Target = clean(first)
	if l.Target == "" {
		first, _, _ = strings.Cut(e.Text, "\n")
		l.Text = clean(first)
	}
	id := noCall
	if e.CallID != "" {
		id = strings.Clone(e.CallID)
	}
	if p.hidden = append(p.hidden, id); len(p.hidden) > maxHidden {
		p.hidden = p.hidden[1:]
	}
}

// maxHidden bounds the calls whose results have not come.
const maxHidden = 256

// isHidden reports whether the result of a call is left out.
func (p *pass) isHidden(call string) bool {
	if call == "" {
		call = noCall
	}
	n := len(p.hidden)
	p.hidden = slices.DeleteFunc(p.hidden, func(id string) bool { return id == call })
	return len(p.hidden) < n
}

const (
	// MaxInline is the longest result that stands in a line.
	MaxInline = 64 << 10
	// endSize is how much of each end of a longer one does.
	endSize = 4 << 10
)

// ends returns both ends of a text, and between them what is missing.
func ends(s string, c *Context) string {
	front, back := strings.ToValidUTF8(s[:endSize], ""), strings.ToValidUTF8(s[len(s)-endSize:], "")
	return front + "\n[" + strconv.FormatInt(c.Size-int64(len(front)+len(back)), 10) + " bytes are kept aside in " + c.Ref + "]\n" + back
}
