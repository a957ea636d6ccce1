package parcel

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch/ask"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/checkpoint"
	"gt/lib/state/handover"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/tmux"
)

// movesFiles reports whether the agent goes on in the same client, whose own files the parcel has.
func (w *unpacking) movesFiles() bool {
	_, can := writers.FindWriter(w.client.Name).(conversation.Mover)
	return can && w.client.Name == w.reader.Session.Agent && len(w.reader.Session.Conversation) > 0
}

// checkKnown fails if this machine knows the session or its thread, unless they were here before or
// a person insists: a hostile parcel would write into them. It also plans the id that the session
// gets from another client, and drops a parent that is of another chain here.
func (w *unpacking) checkKnown() error {
	s := w.reader.Session
	if s == nil {
		return nil
	}
	if !w.movesFiles() {
		if writer := writers.FindWriter(w.client.Name); writer != nil {
			w.plan.Session = writer.NewID(w.Env.Now())
		} else if len(s.Conversation) > 0 || s.Entries != "" {
			return w.failWithFlags(fmt.Errorf("gt cannot give %s the conversation", w.client.Name), "--agent names another client")
		}
	}
	state := w.Store.State
	err := instance.Walk(state, func(store instance.Store, in *instance.Instance) error {
		if in.ID != w.Instance.ID && store.Session(in) == s.ID {
			return cli.Failf(cli.AnswerNo, "the conversation %s is %s's here", s.ID, in.Name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if session.AtWork(state, s.ID, w.Env.Now()) {
		return cli.Failf(cli.AnswerNo, "the session %s runs here", s.ID)
	}
	if w.Forced {
		return nil
	}
	const insist = "--force takes it over"
	if is, err := w.isOthers(s.ID); err != nil {
		return err
	} else if is {
		return w.failWithFlags(fmt.Errorf("the session %s is known here", s.ID), insist)
	}
	if _, err := thread.Read(state, s.Chain, nil); err == nil && s.Chain != w.ownChain() { // mutant never: TestKnown
		return w.failWithFlags(fmt.Errorf("the thread %s is known here", s.Chain), insist)
	}
	if is, err := w.isOthers(s.Parent); err != nil {
		return err
	} else if is { // nobody here vouches for it
		s.Parent = ""
	}
	return nil
}

// ownChain returns the chain with which the instance left, or "" if it was never here.
func (w *unpacking) ownChain() session.ID {
	if w.oldInstance == nil {
		return ""
	}
	id := w.Store.Session(w.oldInstance)
	if r, err := session.Lookup(w.Store.State, id); err == nil && r != nil {
		return r.Chain()
	}
	return cmp.Or(w.oldInstance.ChainID, id)
}

// isOthers reports whether this machine knows a session that is not of the instance's own chain.
func (w *unpacking) isOthers(id session.ID) (bool, error) {
	if id == "" {
		return false, nil
	}
	r, err := session.Lookup(w.Store.State, id)
	return err == nil && r != nil && (w.oldInstance == nil || r.Chain() != w.ownChain()), err
}

// inspectSession reads the thread and the checkpoint into w, and checks the files of the
// conversation, before anything is made.
func (w *unpacking) inspectSession() error {
	s := w.reader.Session
	if s == nil {
		return nil
	}
	if s.Thread != "" {
		data, err := atomicfile.Read(w.memberPath(s.Thread), maxSmall)
		if err == nil {
			w.thread, err = thread.Parse(s.Chain, data)
		}
		if err != nil {
			return fmt.Errorf("its thread: %w", err)
		}
	}
	if s.Checkpoint != "" {
		data, err := atomicfile.Read(w.memberPath(s.Checkpoint), maxSmall)
		if err == nil {
			w.checkpoint = new(checkpoint.Checkpoint)
			err = json.Unmarshal(data, w.checkpoint)
		}
		if err != nil {
			return fmt.Errorf("its checkpoint: %w", err)
		}
	}
	if !w.movesFiles() {
		return nil
	}
	mover, transcripts := writers.FindWriter(w.client.Name).(conversation.Mover), 0
	own, _ := account.FindCurrent(w.client.Name, w.Env.Getenv)
	made := map[string]bool{}
	for _, n := range s.Conversation {
		to := mover.Destination(own, w.Path, s.ID, n.Name)
		if to == "" || made[to] {
			return fmt.Errorf("its conversation has a file %.80q", n.Name)
		}
		made[to] = true
		if n.Name == conversation.Transcript {
			transcripts++
		}
		if ext := filepath.Ext(n.Name); ext == ".json" || ext == ".jsonl" {
			if err := checkJSON(w.memberPath(n.Member)); err != nil {
				return fmt.Errorf("its conversation: %s: %w", n.Name, err)
			}
		}
	}
	if transcripts != 1 {
		return errors.New("its conversation's file is missing")
	}
	return nil
}

// makeSession puts the session's conversation, record, thread, notes and checkpoint where
// they belong, and returns the session that the agent goes on with.
func (w *unpacking) makeSession() (session.ID, error) {
	s := w.reader.Session
	if s == nil {
		return "", nil
	}
	transcript, current, err := w.makeConversation()
	if err != nil {
		return "", err
	}
	if w.thread != nil {
		if err := thread.Replace(w.Store.State, w.thread.Cleaned(w.Env.Redact), w.Env.WarnError); err != nil {
			return "", err
		}
	}
	h := home.FindOtherHome(place.ScopeOf(w.Env.Getenv), w.Path)
	if err := w.makeNotes(h); err != nil {
		return "", err
	}
	lock, err := h.Lock()
	if err != nil {
		return "", err
	}
	defer lock.Unlock()
	if err := w.makeCheckpoint(h); err != nil {
		return "", err
	}
	return current, w.makeRecords(h, current, transcript)
}

// makeConversation writes the conversation, and returns where it is and its session. The
// session is "" if there is no conversation.
func (w *unpacking) makeConversation() (transcript string, current session.ID, err error) {
	s := w.reader.Session
	if w.movesFiles() {
		transcript, err = w.moveFiles()
		return transcript, s.ID, err
	}
	source, err := w.conversationSource()
	if source == nil || err != nil {
		return "", "", err
	}
	settled, err := conversation.PairResults(source)
	if err != nil || settled.MaxEntries == 0 {
		return "", "", err
	}
	writer := writers.FindWriter(w.client.Name)
	to := &conversation.Copy{ID: w.plan.Session, FromClient: s.Agent, CWD: w.Path, Branch: w.Branch, Now: w.Env.Now(), Settled: settled}
	own, err := account.FindCurrent(w.client.Name, w.Env.Getenv)
	if err != nil {
		return "", "", err
	}
	if transcript, err = writer.TranscriptPath(own, to); err != nil {
		return "", "", err
	}
	write := func(out io.Writer) error { return writer.Write(out, to) }
	if i, ok := writer.(conversation.Importer); ok {
		return transcript, to.ID, ask.Import(w.Env, w.Table, w.client, i, to, write)
	}
	if atomicfile.Exists(transcript) { // an unpacking that was killed wrote it
		return transcript, to.ID, nil
	}
	if err := os.MkdirAll(filepath.Dir(transcript), 0o700); err != nil {
		return "", "", err
	}
	return transcript, to.ID, atomicfile.Stream(transcript, write)
}

// conversationSource returns the conversation for another client, or nil if there is none.
func (w *unpacking) conversationSource() (conversation.Source, error) {
	s := w.reader.Session
	if s.Entries != "" {
		return w.entriesSource(w.memberPath(s.Entries)), nil
	}
	i := slices.IndexFunc(s.Conversation, func(n Named) bool { return n.Name == conversation.Transcript })
	if i < 0 {
		return nil, nil
	}
	r := readers.FindReader(s.Agent)
	if r == nil {
		return nil, cli.Failf(cli.AnswerNo, "gt does not read the conversations of %s", w.Env.Quoted(s.Agent))
	}
	path := w.memberPath(s.Conversation[i].Member)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := conversation.File{Client: s.Agent, Store: filepath.Dir(path), Path: path, ID: s.ID, Size: info.Size(), Changed: info.ModTime().UnixNano()}
	return func(from int64, each func(conversation.Entry) bool) error {
		_, err := r.Read(f, conversation.Options{From: from}, each)
		return err
	}, nil
}

// entriesSource reads a member with an entry a line. An entry's Offset is that of its line.
func (w *unpacking) entriesSource(path string) conversation.Source {
	return func(from int64, each func(conversation.Entry) bool) error {
		f, err := atomicfile.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, maxEntry)
		for at := from; lines.Scan(); at += int64(len(lines.Bytes())) + 1 {
			var e conversation.Entry
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				return fmt.Errorf("its conversation: %w", err)
			}
			e.Offset = at
			if !each(e) {
				return nil
			}
		}
		return lines.Err()
	}
}

// moveFiles puts the client's own files where the client looks for them, the transcript
// last.
func (w *unpacking) moveFiles() (transcript string, err error) {
	s := w.reader.Session
	mover := writers.FindWriter(w.client.Name).(conversation.Mover)
	own, err := account.FindCurrent(w.client.Name, w.Env.Getenv)
	if err != nil {
		return "", err
	}
	for _, n := range slices.Backward(s.Conversation) {
		to := mover.Destination(own, w.Path, s.ID, n.Name)
		if err := w.moveFile(n, to); err != nil {
			return "", err
		}
		if n.Name == conversation.Transcript {
			transcript = to
		}
	}
	return transcript, nil
}

// moveFile puts a file of the conversation at its place. Without --force, another file there is
// replaced only if the agent returns, and a transcript only if the parcel's continues it.
func (w *unpacking) moveFile(n Named, to string) error {
	from := w.memberPath(n.Member)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	read := func(path string) (io.ReadCloser, error) { return w.openRestricted(n.Name, path) }
	if atomicfile.Exists(to) {
		begins, same, err := CompareFiles(read, to, from) // begins: from begins with to
		switch {
		case err != nil:
			return err
		case same:
			return nil
		case !begins && !w.Forced && (!w.Returns || n.Name == conversation.Transcript), !w.Returns && !w.Forced:
			return w.failWithFlags(fmt.Errorf("'%s' is here already, with other content", to), "--force sets it aside")
		case !begins && n.Name == conversation.Transcript:
			if err := atomicfile.Rename(to, to+replacedSuffix, atomicfile.Synced); err != nil {
				return err
			}
		}
	}
	return PutFile(read, from, to)
}

// PutFile puts a copy of a file of a conversation at its place, whole or not at all.
func PutFile(open func(path string) (io.ReadCloser, error), from, to string) error {
	tmp := to + ".gt-moving"
	if err := atomicfile.Remove(tmp); err != nil {
		return err
	}
	f, err := open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := atomicfile.Copy(tmp, f); err != nil {
		return err
	}
	return atomicfile.Rename(tmp, to, atomicfile.Synced)
}

// openRestricted opens a file of a conversation. Of one with lines it reads them without the
// permissions that their client took on the other host, and does not have here.
func (w *unpacking) openRestricted(name, path string) (io.ReadCloser, error) {
	f, err := atomicfile.Open(path)
	if err != nil || filepath.Ext(name) != ".jsonl" {
		return f, err
	}
	mover := writers.FindWriter(w.client.Name).(conversation.Mover)
	r, to := io.Pipe()
	cli.Go(func() {
		defer f.Close()
		defer to.CloseWithError(io.ErrClosedPipe) // of a panic; an error that is no end of the file
		to.CloseWithError(mover.Restrict(to, f))
	})
	return r, nil
}

// checkJSON returns an error for a byte that no JSON has: a client could print an escape
// sequence as it is.
func checkJSON(path string) error {
	f, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.Read(buf)
		i := bytes.IndexFunc(buf[:n], func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
		if i >= 0 { // mutant never: TestHostile
			return fmt.Errorf("it has the byte 0x%02x, which is not JSON", buf[i])
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// CompareFiles reports whether a file is the beginning of another, or the same.
func CompareFiles(open func(path string) (io.ReadCloser, error), path, other string) (begins, same bool, err error) {
	a, err := open(path)
	if err != nil {
		return false, false, err
	}
	defer a.Close()
	b, err := open(other)
	if err != nil {
		return false, false, err
	}
	defer b.Close()
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	isFailure := func(err error) bool { return err != nil && err != io.EOF && err != io.ErrUnexpectedEOF }
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y[:n])
		switch {
		case isFailure(errA):
			return false, false, errA
		case isFailure(errB):
			return false, false, errB
		case !bytes.Equal(x[:n], y[:m]):
			return false, false, nil
		case errA != nil: // the end
			_, errB = io.ReadFull(b, y[:1])
			if isFailure(errB) {
				return false, false, errB
			}
			return true, errB == io.EOF, nil
		}
	}
}

// makeNotes delivers the notes that the box does not have yet. None is work: nobody here
// vouches for it.
func (w *unpacking) makeNotes(h home.Home) error {
	box := mail.NewBox(h, h.Identity.Address())
	known, err := box.Known()
	if err != nil {
		return err
	}
	for _, n := range w.reader.Session.Notes {
		a := mail.Arriving{Name: n.Name, Fresh: n.Fresh}
		if known(a) {
			continue
		}
		text, err := atomicfile.Read(w.memberPath(n.Member), mail.MaxMessage)
		if err == nil && w.From != "" {
			var odd error
			if text, odd = w.attributeNote(a.Name, text, h.Identity.Address()); odd != nil {
				w.Env.Warn("a note of %s is left out: %v", w.From, odd)
				continue
			}
		}
		if err == nil {
			err = box.Take(a, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attributeNote returns a note as one from the parcel's host, with @HOST behind its sender. A
// hand-over of another chain than the session's becomes a plain note. A hand-over that the session
// itself sent, by its name here or its address, keeps its sender.
func (w *unpacking) attributeNote(file string, text []byte, address string) ([]byte, error) {
	n, err := mail.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	n.Host = w.From
	if n.Type != mail.Handoff || n.Chain != string(w.reader.Session.Chain) {
		n.Type, n.Chain = mail.Plain, ""
	}
	if n.Type != mail.Handoff || n.From != w.plan.Name && n.From != address {
		n.From = cmp.Or(strings.TrimSuffix(n.From, "@"+w.From), "unknown") + "@" + w.From
	}
	return n.Message(file)
}

// makeCheckpoint makes the parcel's checkpoint the session's. The caller holds the home's lock.
func (w *unpacking) makeCheckpoint(h home.Home) error {
	if w.checkpoint == nil {
		return nil
	}
	w.checkpoint.Clean(w.Env.Redact)
	c, err := checkpoint.Open(h, w.reader.Session.ID, w.Env.Now())
	w.Env.WarnError(err)
	c.Replace(w.checkpoint)
	return c.Write(h)
}

// makeRecords writes the record of the session, as one that was killed a moment ago, and in which
// home it is. If another client goes on, current is a new session, and gets a record and a home,
// too. A hand-over that waits gets its marker. The caller holds the home's lock.
func (w *unpacking) makeRecords(h home.Home, current session.ID, transcript string) error {
	s, at := w.reader.Session, w.Env.Now().UTC()
	store := session.Store{Home: h, Warn: w.Env.WarnError}
	r := &session.Record{
		ID: s.ID, Actor: h.Identity.Address(), Agent: s.Agent, ChainID: s.Chain, ParentID: s.Parent, CWD: w.Path, Branch: w.Branch,
		Commits: s.Commits, Note: s.Note, DeliveredNotes: s.Delivered,
		StartedAt: plausibleTime(s.Started, at), EndedAt: at, Outcome: session.Killed, Reason: takenReason,
	}
	if o := s.Handoff; o != nil && (o.Kind == session.KindHandoff || o.Kind == session.KindAuto) {
		r.Handoff = &handover.Handover{Kind: o.Kind, Note: o.Note, Reason: w.Env.Line(o.Reason, 200), At: plausibleTime(o.At, at)}
		if o.Marker {
			from, before := cmp.Or(w.plan.Name, string(s.ID)), ""
			if kept, err := store.Get(s.ID); err == nil && kept != nil && kept.Handoff != nil {
				before = kept.Handoff.Marker // an unpacking that was killed has written it
			}
			r.Handoff.Marker = marker.NameFor(h, s.ID, before)
			if err := marker.Write(h, r.Handoff.Marker, from, r.Handoff.Reason, atomicfile.Synced); err != nil {
				return err
			}
		}
	}
	all := []*session.Record{r}
	switch {
	case current == s.ID:
		r.Transcript = transcript
	case current != "":
		next := *r
		next.ID, next.Agent, next.ParentID, next.Transcript, next.Handoff = current, w.client.Name, s.ID, transcript, nil
		next.StartedAt, next.Commits = at, nil
		r.Outcome, r.ChildID = session.Handoff, current
		all = append(all, &next)
	}
	for _, one := range all {
		if err := store.Put(one, atomicfile.Synced); err != nil {
			return err
		}
		if kept, err := w.Store.State.FixedPlace(string(one.ID)); err != nil {
			return err
		} else if kept != "" && kept != h.Runtime() {
			w.Store.State.UnfixHome(string(one.ID)) // it worked in another folder here
		}
		if err := w.Store.State.FixHome(string(one.ID), h.Runtime()); err != nil {
			return err
		}
	}
	return nil
}

// plausibleTime returns a time that another host says, in UTC, or now if that is later than now or before
// 1970: it may be unknown, or a time that JSON cannot hold.
func plausibleTime(said, now time.Time) time.Time {
	if said = said.UTC(); said.Year() < 1970 || said.After(now) { // mutant never: TestFields
		return now
	}
	return said
}

// makeInstance writes the instance, last, because only then can its agent be started. It returns
// done with the arguments of the agent, and those of the parcel that it does not get.
func (w *unpacking) makeInstance(done Result) (Result, error) {
	from, at := w.Instance, w.Env.Now().UTC()
	set := func(in *instance.Instance) {
		in.Name, in.Path, in.Agent = w.plan.Name, w.Path, w.client.Name
		if !w.InPlace {
			in.Folder, in.Worktree = nil, nil
		}
		if w.Worktree != "" && !w.InPlace {
			in.Worktree = &instance.Worktree{Path: w.Worktree, Branch: w.Branch, Repository: w.Repository, Ready: true}
		}
		in.Desired, in.Moved, in.Generation, in.Arrived = instance.Stopped, nil, w.Generation, w.ID
		in.Departures, in.ArchivedAt = from.Departures, time.Time{}
		if from.Archived {
			in.Archive(at)
		}
		in.SessionID, in.SessionAt, in.ChainID, in.ForkOf = done.Session, plausibleTime(w.At, at), "", ""
		if s := w.reader.Session; s != nil {
			in.ChainID = s.Chain
		}
		if w.Launcher != nil {
			in.Launcher = *w.Launcher
		}
	}
	if w.oldInstance != nil {
		held, err := w.Store.Hold(from.ID, lockWait)
		if err != nil {
			return done, err
		}
		defer held.Release()
		Packer{Env: w.Env, Store: w.Store}.markMoved(held.Instance)
		if held.Moved == nil { // it was taken back meanwhile
			return done, cli.Failf(cli.AnswerNo, "%s has not moved away", held.Name)
		}
		if held.Agent != w.client.Name {
			held.Args, held.Account = nil, ""
		}
		held.StartedAt = at // what its hooks told before is over
		set(held.Instance)
		done.Args = held.Args
		return done, held.Put(at)
	}
	in := &instance.Instance{
		ID: from.ID, Title: w.Env.Line(from.Title, 200), Group: from.Group, Remain: from.Remain, Respawn: from.Respawn, TmuxServer: string(tmux.CurrentServer()),
	}
	in.Args = w.startArgs()
	if w.client.Name == from.Agent && !w.Args {
		_, done.ArgsLeft = w.client.SplitHarmless(from.Args)
	}
	done.Args = in.Args
	set(in)
	return done, w.Store.Create(in, at)
}
