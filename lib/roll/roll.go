// Package roll is the roll of a town's sessions: all that the event log says
// of each, put together from its events.
//
// It is read from the log each time and kept nowhere, so it is never out of
// date. What it holds in memory grows with the sessions, not with the events.
package roll

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/beacon"
	"gt/lib/eventlog"
	"gt/lib/identity"
	"gt/lib/session"
)

// The outcomes of a session that has not ended, besides those of one that has.
const (
	Active session.Outcome = "active" // its process runs
	Gone   session.Outcome = "gone"   // nothing is known of its process
)

// Session is what is known of one session.
type Session struct {
	ID       session.ID `json:"id"`
	Actor    string     `json:"actor,omitempty"`
	Agent    string     `json:"agent,omitempty"` // the client
	Role     string     `json:"role,omitempty"`
	Rig      string     `json:"rig,omitempty"`
	Source   string     `json:"source,omitempty"`
	ChainID  session.ID `json:"chain_id,omitempty"`
	ParentID session.ID `json:"parent_id,omitempty"`
	ChildID  session.ID `json:"child_id,omitempty"` // the first that followed

	StartedAt time.Time       `json:"started_at,omitzero"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
	Outcome   session.Outcome `json:"outcome,omitempty"`
	Reason    string          `json:"reason,omitempty"` // of the end

	CWD         string `json:"cwd,omitempty"`
	Branch      string `json:"branch,omitempty"`
	WorkUnit    string `json:"work_unit,omitempty"`
	Topic       string `json:"topic,omitempty"`
	Subject     string `json:"subject,omitempty"` // of its hand-over
	Note        string `json:"note,omitempty"`    // the hand-over note's ID
	Transcript  string `json:"transcript_path,omitempty"`
	TmuxSession string `json:"tmux_session,omitempty"`
	Host        string `json:"host,omitempty"`

	seen       time.Time // its last event
	handedOver time.Time // to a successor, by its last event
}

// event is what a line of the log may say of a session.
type event struct {
	Time    string `json:"ts"`
	Type    string `json:"type"`
	Actor   string `json:"actor"`
	Payload struct {
		SessionID  string          `json:"session_id"`
		Role       string          `json:"role"`
		CWD        string          `json:"cwd"`
		Topic      string          `json:"topic"`
		Agent      string          `json:"agent"`
		Source     string          `json:"source"`
		ParentID   string          `json:"parent_id"`
		ChainID    string          `json:"chain_id"`
		Transcript string          `json:"transcript_path"`
		Branch     string          `json:"branch"`
		Tmux       string          `json:"tmux_session"`
		WorkUnit   string          `json:"work_unit"`
		Host       string          `json:"host"`
		Outcome    string          `json:"outcome"`
		Reason     string          `json:"reason"`
		Subject    string          `json:"subject"`
		Note       string          `json:"note"`
		Kind       string          `json:"kind"`
		ToSession  json.RawMessage `json:"to_session"`
	} `json:"payload"`
}

// Roll is the sessions of a town, the newest first.
type Roll []*Session

// Read puts the roll together from the log, and from the archive to which a
// prune or a rotation carried over what told of sessions. A session whose start
// is no longer there is known by what is. An event whose session_id is no id is
// passed over, as is one of a type that says nothing of a session's life.
func Read(log eventlog.Log) (Roll, error) {
	// The log is opened first: what leaves it from now on is still in this file,
	// and what left it before is in the archive.
	var files []*os.File
	for _, path := range []eventlog.Log{log, log.Archive()} {
		f, err := atomicfile.Open(string(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		defer f.Close()
		files = append(files, f)
	}
	// In the order of their times: what tells of sessions leaves the log for the
	// archive by its type, and so not in the order in which it happened.
	var told []spot
	for _, f := range slices.Backward(files) {
		err := eventlog.ScanHeads(f, func(h eventlog.Head, at, size int64) {
			if h.Lifecycle() && !h.Time.IsZero() {
				told = append(told, spot{h.Time.UnixNano(), f, at, size, h.Type == eventlog.Handoff && h.Session == ""})
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(told, func(a, b spot) int {
		switch {
		case a.time != b.time:
			return cmp.Compare(a.time, b.time)
		case a.unnamed != b.unnamed && a.unnamed:
			return -1
		case a.unnamed != b.unnamed:
			return 1
		}
		return 0
	})
	r := reader{byID: map[session.ID]*Session{}, last: map[string]*Session{}}
	var line []byte
	for _, s := range told {
		line = slices.Grow(line[:0], int(s.size))[:s.size]
		if _, err := s.file.ReadAt(line, s.at); err != nil && err != io.EOF {
			return nil, atomicfile.Error("read", s.file.Name(), err)
		}
		r.line(line)
	}
	return r.finish(), nil
}

// spot is where a line lies that tells of a session.
type spot struct {
	time     int64 // in nanoseconds
	file     *os.File
	at, size int64
	// unnamed is a hand-over of Gas Town's, whose times are of a second: it is
	// of the session that was there before those that begin in that second, which
	// may have left the log before it.
	unnamed bool
}

// reader collects sessions while it meets their events.
type reader struct {
	order Roll // as they are met
	byID  map[session.ID]*Session
	last  map[string]*Session // of each actor, the one that was met last
}

func (r *reader) line(line []byte) {
	var e event
	var wrongType *json.UnmarshalTypeError // the rest of the event is there all the same
	if err := json.Unmarshal(line, &e); err != nil && !errors.As(err, &wrongType) {
		return
	}
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume, eventlog.SessionEnd, eventlog.Handoff:
	default:
		return
	}
	at, err := time.Parse(time.RFC3339, e.Time)
	if err != nil {
		return
	}
	s := r.session(e, at)
	if s == nil {
		return
	}
	p := &e.Payload
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume:
		fill(&s.Role, p.Role)
		fill(&s.Topic, p.Topic)
		fill(&s.Agent, p.Agent)
		fill(&s.CWD, p.CWD)
		fill(&s.Branch, p.Branch)
		fill(&s.WorkUnit, p.WorkUnit)
		fill(&s.Host, p.Host)
		fill(&s.ParentID, session.ID(p.ParentID))
		fill(&s.ChainID, session.ID(p.ChainID))
		replace(&s.Source, p.Source)
		replace(&s.Transcript, p.Transcript)
		replace(&s.TmuxSession, p.Tmux)
		if !at.Before(s.EndedAt) { // it goes on
			s.EndedAt, s.Outcome, s.Reason = time.Time{}, "", ""
		}
		s.handedOver = time.Time{}
	case eventlog.SessionEnd:
		s.EndedAt, s.Outcome, s.Reason = at, session.Outcome(p.Outcome), p.Reason
		if s.Outcome == "" {
			s.Outcome = session.Done
		}
	case eventlog.Handoff:
		replace(&s.Subject, p.Subject)
		replace(&s.Note, p.Note)
		if toSession(p.ToSession) && p.Kind != session.KindCycle { // which goes on in a new process
			s.handedOver = at
		}
	}
	if at.After(s.seen) {
		s.seen = at
	}
}

// session finds the session that an event is about. Gas Town's hand-over names
// none; it is the latest of its actor. Ours, which has a kind, names none where
// a person handed over.
func (r *reader) session(e event, at time.Time) *Session {
	if e.Payload.SessionID == "" && e.Type == eventlog.Handoff {
		if e.Payload.Kind != "" {
			return nil
		}
		return r.last[e.Actor]
	}
	id, err := session.ParseID(e.Payload.SessionID)
	if err != nil {
		return nil
	}
	s := r.byID[id]
	if s == nil {
		s = &Session{ID: id, Actor: e.Actor, StartedAt: at}
		if who, err := identity.Parse(e.Actor); err == nil {
			s.Role, s.Rig = string(who.Role), who.Rig
		}
		r.byID[id] = s
		r.order = append(r.order, s)
	}
	r.last[s.Actor] = s
	return s
}

// finish sorts the sessions, the newest first, and tells parents of their
// children.
func (r *reader) finish() Roll {
	for _, s := range r.order {
		if p := r.byID[s.ParentID]; p != nil && p != s && p.ChildID == "" {
			p.ChildID = s.ID
		}
	}
	slices.Reverse(r.order)
	slices.SortStableFunc(r.order, func(a, b *Session) int { return b.StartedAt.Compare(a.StartedAt) })
	return r.order
}

// fill keeps what was said first.
func fill[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}

// replace takes what was said last.
func replace(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// toSession reads a hand-over's to_session: Gas Town writes true or false.
func toSession(raw json.RawMessage) bool {
	v := string(raw)
	return v != "" && v != "false" && v != "null" && v != `""`
}

// Settle looks up what the log does not say: whether a session that has not
// ended still runs. Its own record knows, in the folder that it worked from;
// the record also says how it ended where the log missed that. A session whose
// record is gone or not on this machine cannot be seen to run, and is Gone; if
// it handed over last, it ended by that.
func (s *Session) Settle() {
	if s.Outcome != "" {
		return
	}
	if r := session.Lookup(s.CWD, s.ID); r != nil {
		fill(&s.Transcript, r.Transcript)
		fill(&s.ChildID, r.ChildID)
		fill(&s.Note, r.Note)
		switch {
		case r.Ended():
			s.EndedAt, s.Outcome, s.Reason = r.EndedAt, r.Outcome, r.Reason
			return
		case r.Live():
			s.Outcome = Active
			return
		}
	}
	s.Outcome = Gone
	if !s.handedOver.IsZero() {
		s.EndedAt, s.Outcome = s.handedOver, session.Handoff
	}
}

// Clean has every text that an event can bring go through clean. Ids, times and
// outcomes are no texts, and folders have to stay what they are.
func (s *Session) Clean(clean func(string) string) {
	for _, text := range []*string{
		&s.Actor, &s.Agent, &s.Role, &s.Rig, &s.Source, &s.Reason, &s.Branch, &s.WorkUnit, &s.Topic, &s.Subject,
		&s.Note, &s.TmuxSession, &s.Host,
	} {
		*text = clean(*text)
	}
}

// Filter says which sessions are wanted: those that fit every field that is
// set.
type Filter struct {
	Agent string    // the client's name, the address, or the address's end (crew/max)
	Role  string    // crew, polecat, witness, …
	Rig   string    // gastown
	Since time.Time // at work then or later
}

// Fits says whether the session is wanted. It settles the session where that
// decides.
func (f Filter) Fits(s *Session) bool {
	switch {
	case f.Agent != "" && s.Agent != f.Agent && s.Actor != f.Agent && !strings.HasSuffix(s.Actor, "/"+f.Agent),
		f.Role != "" && s.Role != f.Role,
		f.Rig != "" && s.Rig != f.Rig:
		return false
	case f.Since.IsZero() || !s.seen.Before(f.Since):
		return true
	}
	s.Settle()
	return s.Outcome == Active || !s.EndedAt.Before(f.Since)
}

// Select returns the newest sessions that fit, at most limit of them (0: all),
// and settles each.
func (r Roll) Select(f Filter, limit int) Roll {
	var found Roll
	for _, s := range r {
		if limit > 0 && len(found) == limit {
			break
		}
		if f.Fits(s) {
			s.Settle()
			found = append(found, s)
		}
	}
	return found
}

// Find returns the session with that id, else all whose id begins with it.
func (r Roll) Find(prefix string) Roll {
	var found Roll
	for _, s := range r {
		switch {
		case string(s.ID) == prefix:
			return Roll{s}
		case prefix != "" && strings.HasPrefix(string(s.ID), prefix):
			found = append(found, s)
		}
	}
	return found
}

// minShort is how short an id gets.
const minShort = 8

// Short returns for each id in the roll its shortest beginning, of eight
// characters at least, that no other id in the roll shares.
func (r Roll) Short() map[session.ID]string {
	ids := make([]string, len(r))
	for i, s := range r {
		ids[i] = string(s.ID)
	}
	slices.Sort(ids)
	shared := func(i, j int) int {
		if i < 0 || j == len(ids) {
			return 0
		}
		a, b := ids[i], ids[j]
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		return n
	}
	short := make(map[session.ID]string, len(ids))
	for i, id := range ids {
		n := max(minShort, shared(i-1, i)+1, shared(i, i+1)+1)
		short[session.ID(id)] = id[:min(n, len(id))]
	}
	return short
}

// Title is what a session was about, in a line: why it began (that it began
// with nothing says little), the subject of its hand-over or else its work, and
// the branch.
func (s *Session) Title() string {
	var parts []string
	about := cmp.Or(s.Subject, s.WorkUnit)
	if s.Topic != "" && (s.Topic != beacon.ColdStart || about == "") {
		parts = append(parts, s.Topic)
	}
	if about != "" {
		parts = append(parts, about)
	}
	title := strings.Join(parts, ": ")
	if s.Branch != "" {
		title = strings.TrimSpace(title + " (" + s.Branch + ")")
	}
	return title
}
