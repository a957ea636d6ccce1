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

type SyncResult struct {
	ID        ID
	New       bool // the record was created
	Lines     int  // the number of lines of the conversation that were written
	Rewritten bool // the client has rewritten its file
	Stopped   bool
	Gone      Kind // nothing was done, because the record was forgotten or pruned
}

// Sync updates the record of a conversation. It appends new entries. It keeps what the
// client has changed or removed.
func (y *Syncer) Sync(r conversation.Reader, c conversation.Conversation) (done SyncResult, err error) {
	c.Metadata = y.cleanMetadata(c.Metadata)
	k := KeyOf(c)
	id, suffix, err := y.Store.Find(y.Index, k)
	if err == nil {
		done.ID = id
		if current, err := y.isCurrent(id, c, &done); err != nil || current {
			return done, err
		}
	} else if !errors.Is(err, ErrNone) {
		return done, err
	}
	if err := y.Store.Prepare(); err != nil {
		return done, err
	}
	lock, err := y.Store.lockSuffix(suffix)
	if err != nil {
		return done, err
	}
	defer lock.Remove()
	if id == "" {
		id = newID(c.Metadata.Started, suffix)
	}
	done.ID = id
	p := &syncPass{syncer: y, conv: c, key: k, id: id, done: &done}
	defer func() {
		if p.w != nil {
			err = cmp.Or(err, p.w.close(!y.Bulk && done.Lines > 0))
		}
	}()
	if ok, err := atomicfile.IsPresent(y.Store.File(id)); err != nil {
		return done, err // an error does not count as missing, because the record would be begun anew
	} else if ok {
		if err := p.resumeRecord(); err != nil || done.Gone != "" {
			return done, err
		}
	}
	err = p.readNew(r)
	if p.w == nil {
		done.ID = "" // the conversation is empty
	}
	return done, err
}

// countParts returns how many files have what came before a conversation's own.
func countParts(f conversation.File) int { return len(f.Files()) - 1 }

// KeyOf returns the key of the record that a client's conversation has.
func KeyOf(c conversation.Conversation) Key {
	return Key{Agent: c.File.Client, Session: cmp.Or(c.Metadata.ID, c.File.ID), Parent: cmp.Or(c.Metadata.Parent, c.File.Parent)}
}

// cleanMetadata returns the metadata with invalid UTF-8 and secrets removed.
func (y *Syncer) cleanMetadata(m conversation.Metadata) conversation.Metadata {
	for _, s := range []*string{&m.CWD, &m.MovedTo, &m.Branch, &m.Model, &m.Version, &m.Title, &m.Prompt} {
		*s = y.Redact(validUTF8(*s))
	}
	return m
}

// isCurrent reports whether a record has everything that the client's file had when it was found. A
// removed record is current, too: isCurrent notes that in done.Gone.
func (y *Syncer) isCurrent(id ID, c conversation.Conversation, done *SyncResult) (bool, error) {
	o, err := y.Store.openRecord(id)
	if err != nil {
		return false, nil // opening it under the lock returns the error
	}
	defer o.Close()
	end, err := o.readEnd()
	if err != nil {
		return false, atomicfile.Error("read", o.f.Name(), err)
	}
	if done.Gone = end.removedAs; end.removedAs != "" {
		return true, nil
	}
	// The record ends with a whole mark, and the file has not changed since then.
	m := end.mark
	return m != nil && !end.torn && end.after == end.size && m.Source == c.File.Path && m.Size == c.File.Size && m.Changed == c.File.Changed && m.Parts == countParts(c.File), nil
}

type syncPass struct {
	syncer *Syncer
	conv   conversation.Conversation
	key    Key
	id     ID
	w      *writer
	done   *SyncResult

	from      int64     // offset in the conversation from which it is read
	lastMark  *Position // the last mark, if nothing was written after it
	nextMark  Position  // the content of the next mark
	afterMark int64     // where the lines after the last mark begin
	leftover  map[[16]byte]int
	hidden    []string          // calls whose results are left out
	tools     map[string]string // the tool of each call in this pass
	lastUsage string            // the last TokenUsage
	err       error
}

// resumeRecord opens a record that exists and finds where the last sync stopped.
func (p *syncPass) resumeRecord() error {
	w, end, err := p.syncer.Store.openWriter(p.id)
	if err != nil {
		return err
	}
	p.w = w
	if p.done.Gone = end.removedAs; end.removedAs != "" {
		return nil
	}
	if end.size == 0 {
		return p.writeHead()
	}
	after := end.after
	p.afterMark = after
	if m := end.mark; m != nil {
		p.nextMark, p.from, p.hidden = *m, m.Next, m.Hidden
		same, err := isUnchanged(p.conv.File, m)
		if err != nil {
			return err
		}
		if more := m.Parts != countParts(p.conv.File); !same || more {
			// Read from the start, and skip what the record already has.
			p.from, p.hidden, after = 0, nil, 0
			p.done.Rewritten = m.Tail != "" && !more
		}
	}
	p.nextMark.Ended = end.ended
	if after == end.size {
		p.lastMark = end.mark
		return nil
	}
	// Lines from after on may come again: a sync that was killed wrote them, or after is 0, which
	// means all. writeEntry skips those.
	p.leftover = map[[16]byte]int{}
	p.nextMark.Messages, p.nextMark.Events = 0, 0
	if after > 0 {
		p.nextMark.Messages, p.nextMark.Events = end.mark.Messages, end.mark.Events
	}
	_, err = p.syncer.Store.ForEachLine(p.id, after, func(line []byte, _ int64) bool {
		body := lineBody(line)
		if body != nil && isConversation(line) {
			p.leftover[bodyKey(body)]++
			if l, err := Parse(line); err == nil {
				p.countLine(&l)
			}
		}
		return true
	})
	return err
}

// isConversation reports whether a line is part of the conversation, without parsing it.
func isConversation(line []byte) bool {
	rest := string(lineBody(line)[:min(len(lineBody(line)), 40)])
	rest, ok := strings.CutPrefix(rest, `"kind":"`)
	kind, _, _ := strings.Cut(rest, `"`)
	return ok && Kind(kind).InConversation()
}

func bodyKey(body []byte) (key [16]byte) {
	sum := sha256.Sum256(body)
	copy(key[:], sum[:])
	return key
}

// tailSize is how many bytes before Next tell whether the client has changed its file.
const tailSize = 4 << 10

// isUnchanged reports whether the part of a file that was read is unchanged. A file that is
// not lines is always read from its start. A database tells itself what is new.
func isUnchanged(f conversation.File, m *Position) (bool, error) {
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
	tail, err := tailDigest(f, m.Next)
	return tail == m.Tail, err
}

// tailDigest returns a digest of the last tailSize bytes before an offset of a client's file, which
// tells later whether the client has rewritten what was read. It is "" for a file that has no
// lines or was truncated.
func tailDigest(f conversation.File, offset int64) (string, error) {
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

// writeHead begins a record at the first entry, because an empty conversation gets none.
func (p *syncPass) writeHead() error {
	if p.w == nil {
		w, _, err := p.syncer.Store.openWriter(p.id)
		if err != nil {
			return err
		}
		p.w = w
	}
	p.done.New = true
	m := p.conv.Metadata
	return p.w.addLine(&Line{Kind: Head, Time: p.syncer.Now().UTC(), Head: &Session{
		Form: formatVersion, ID: p.id, Agent: p.key.Agent, Session: p.key.Session, Parent: p.key.Parent, ForkOf: m.ForkOf,
		Started: m.Started.UTC(), CWD: m.CWD, Branch: m.Branch, Version: m.Version,
	}})
}

// readNew reads the client's file from p.from on, and writes what is new. Then it writes a mark,
// which notes how far it read, and which prompts the person took back.
func (p *syncPass) readNew(r conversation.Reader) error {
	n, until := 0, p.afterMark
	neverSearched := p.afterMark > 0 && p.nextMark.TakenBack == nil // an older gt wrote the last mark
	// Prompts that were taken back are searched for if the file was rewritten, or nobody has
	// searched yet, or the client erases them without a trace.
	searchBack := p.done.Rewritten || neverSearched || p.afterMark > 0 && conversation.ErasesTakenBack(p.conv.File.Path) && (p.from == 0 || len(p.nextMark.TakenBack) > 0)
	if neverSearched {
		until = 0 // what was taken back ended before
	}
	o := conversation.Options{From: p.from, Patient: true}
	if p.from > 0 {
		o.TakenBack = func(e conversation.Entry) { searchBack = searchBack || e.Offset < p.from }
	}
	next, err := conversation.ReadAll(r, p.conv.File, o, func(e conversation.Entry) bool {
		if n++; n%64 == 0 && p.syncer.Stop != nil && p.syncer.Stop() {
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
	if searchBack {
		if err := p.findTakenBack(r, until); err != nil {
			return err
		}
	}
	return p.writeMark(next)
}

// maxTakenBack limits the prompts that a mark names.
const maxTakenBack = 1024

// findTakenBack reads the whole conversation and notes in the next mark which prompts the person
// took back. One that the last mark has stays noted unless the client shows it again. until is the
// offset before which the turns of new ones end; 0 means at the first mark.
func (p *syncPass) findTakenBack(r conversation.Reader, until int64) error {
	var found, live []string
	o := conversation.Options{Patient: true, TakenBack: func(e conversation.Entry) { found = append(found, p.syncer.Redact(validUTF8(e.ID))) }}
	_, err := conversation.ReadAll(r, p.conv.File, o, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			live = append(live, p.syncer.Redact(validUTF8(e.ID)))
		}
		return true
	})
	if err != nil {
		return err
	}
	if conversation.ErasesTakenBack(p.conv.File.Path) && p.nextMark.Source == p.conv.File.Path {
		had, err := p.recordedPrompts()
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
	for i, id := range p.nextMark.TakenBack {
		add(id, p.nextMark.takenUntil(i))
	}
	for _, id := range found {
		add(id, until)
	}
	first := max(0, len(taken)-maxTakenBack)
	p.nextMark.TakenBack, p.nextMark.TakenUntil = taken[first:], ends[first:] // nil without any, as a mark is read
	return nil
}

// recordedPrompts returns the ids of the prompts that the record had before this sync.
func (p *syncPass) recordedPrompts() (ids []string, err error) {
	_, err = p.syncer.Store.ForEachLine(p.id, 0, func(line []byte, at int64) bool {
		if at >= p.afterMark {
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

// writeMark adds a mark at the offset next, unless the last mark says the same.
func (p *syncPass) writeMark(next int64) error {
	tail, err := tailDigest(p.conv.File, next)
	if err != nil {
		return err
	}
	m := p.conv.Metadata
	at := p.nextMark
	at.Parts = countParts(p.conv.File)
	if at.TakenBack == nil {
		// nil would say that no sync has looked for them.
		at.TakenBack = []string{}
	}
	at.Source, at.Next, at.Size, at.Changed, at.Tail, at.Hidden = p.conv.File.Path, next, p.conv.File.Size, p.conv.File.Changed, tail, p.hidden
	at.Title, at.Prompt, at.Model, at.Moved, at.Branch, at.Headless = m.Title, m.Prompt, m.Model, m.MovedTo, m.Branch, m.Headless
	if old := p.lastMark; old != nil && p.done.Lines == 0 {
		before := *old
		before.Size, before.Changed, before.Hidden = at.Size, at.Changed, at.Hidden
		if reflect.DeepEqual(before, at) {
			return nil // only the file's time changed
		}
	}
	return p.w.addLine(&Line{Kind: Mark, Time: p.syncer.Now().UTC(), Mark: &at})
}

// writeEntry adds an entry, unless an earlier sync has written it or it repeats a TokenUsage.
// Before the first one it writes the head of a new record, or that the client rewrote its file.
func (p *syncPass) writeEntry(e conversation.Entry) error {
	if !Kind(e.Kind).InConversation() {
		return nil
	}
	l, large := p.makeLine(e)
	if e.Kind == conversation.TokenUsage && e.ID != "" {
		// A client may repeat it with every part of a message.
		usage := fmt.Sprint(e.ID, e.Request, e.Model, e.Usage)
		if usage == p.lastUsage {
			return nil
		}
		p.lastUsage = usage
	}
	if p.w == nil {
		if err := p.writeHead(); err != nil {
			return err
		}
	}
	body, err := p.w.enc.encodeBody(l)
	if err != nil {
		return err
	}
	if p.leftover != nil {
		if key := bodyKey(body[1:]); p.leftover[key] > 0 { // mutant never: TestSyncAfterAKillAnywhere
			p.leftover[key]--
			return nil
		}
		if p.done.Rewritten && p.done.Lines == 0 {
			// addLine overwrites the encoder's buffer, which holds body.
			body = slices.Clone(body)
			if err := p.w.addLine(&Line{Kind: Rewritten, Time: p.syncer.Now().UTC()}); err != nil {
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
	p.nextMark.Ended = time.Time{} // it goes on
	p.countLine(l)
	return p.w.addBody(body)
}

// countLine adds a line to what the next mark will say.
func (p *syncPass) countLine(l *Line) {
	switch {
	case l.Kind.isMessage():
		p.nextMark.Messages++
	case l.Kind == Kind(conversation.Call), l.Kind == Kind(conversation.TokenUsage):
		p.nextMark.Events++
	}
	if l.Time.After(p.nextMark.Last) {
		p.nextMark.Last = l.Time
	}
}

// makeLine returns an entry as a line, and the text of a result that is kept aside.
func (p *syncPass) makeLine(e conversation.Entry) (l *Line, large string) {
	clean := func(s string) string { return p.syncer.Redact(validUTF8(s)) }
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
func (p *syncPass) setCallText(l *Line, e conversation.Entry, clean func(string) string) {
	// A result without an id belongs to the latest call.
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

// isHidden reports whether the result of a call is left out, and forgets the call.
func (p *syncPass) isHidden(call string) bool {
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
