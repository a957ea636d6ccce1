package catalog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/log/eventlog"
	"gt/lib/place/identity"
	"gt/lib/state/session"
	"gt/lib/text/openjson"
)

// event holds the fields of a log line that can concern a session.
type event struct {
	Time, Type, Actor string
	Payload           payload

	loggedAt time.Time // Time, in UTC
}

// payload has the texts of an event's payload, of which names are the keys. ToSession, which
// Gas Town writes as true or false, is "" for no.
type payload struct {
	SessionID, Outcome, Reason, Subject, Note, Kind, ToSession    string
	Role, CWD, Topic, Agent, Source, ParentID, ChainID            string
	Transcript, Branch, Tmux, WorkUnit, MoleculeID, StepRef, Host string
	LastSeen                                                      string
}

// names are the keys of a payload, in the order of texts.
var names = [...]string{
	"session_id", "outcome", "reason", "subject", "note", "kind", "to_session", "role", "cwd", "topic", "agent", "source", "parent_id", "chain_id",
	"transcript_path", "branch", "tmux_session", "work_unit", "molecule_id", "step_ref", "host", "last_seen",
}

func (p *payload) texts() [len(names)]*string {
	return [...]*string{
		&p.SessionID, &p.Outcome, &p.Reason, &p.Subject, &p.Note, &p.Kind, &p.ToSession, &p.Role, &p.CWD, &p.Topic, &p.Agent, &p.Source, &p.ParentID, &p.ChainID,
		&p.Transcript, &p.Branch, &p.Tmux, &p.WorkUnit, &p.MoleculeID, &p.StepRef, &p.Host, &p.LastSeen,
	}
}

// The range of event times that can be counted in nanoseconds.
var (
	earliest = time.Unix(0, math.MinInt64+1)
	latest   = time.Unix(0, math.MaxInt64)
)

// parse parses an event. It returns false for a line that does not concern a session:
// without valid JSON, type, time or session_id. A field of the wrong type counts as
// absent. It accepts what encoding/json does, in half the time.
//
// Its texts keep the line in memory.
func (e *event) parse(line []byte) bool {
	if !openjson.Valid(line) {
		return false
	}
	*e = event{}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
	}
	texts := e.Payload.texts()
	set := func(to *string, value gjson.Result) {
		if value.Type == gjson.String {
			*to = value.Str
		}
	}
	gjson.ParseBytes(line).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "ts":
			set(&e.Time, value)
		case "type":
			set(&e.Type, value)
		case "actor":
			set(&e.Actor, value)
		case "payload":
			if !value.IsObject() {
				break
			}
			value.ForEach(func(key, value gjson.Result) bool {
				if key.Str == "to_session" {
					if e.Payload.ToSession = "yes"; slices.Contains([]string{"false", "null", `""`}, value.Raw) {
						e.Payload.ToSession = ""
					}
				} else if i := slices.Index(names[:], key.Str); i >= 0 {
					set(texts[i], value)
				}
				return true
			})
		}
		return true
	})
	return e.checkFields()
}

// checkFields reports whether the catalog can use the event, and sets its time.
func (e *event) checkFields() bool {
	if !eventlog.IsLifecycle(e.Type) {
		return false
	}
	at, err := time.Parse(time.RFC3339, e.Time)
	if err != nil || at.Before(earliest) || at.After(latest) {
		return false
	}
	e.loggedAt = at.UTC()
	if e.Payload.SessionID == "" && e.Type == eventlog.Handoff {
		// Without a kind it is Gas Town's, and of its actor's session. gt's has a kind, and names
		// no session if a person handed over.
		return e.Payload.Kind == ""
	}
	_, err = session.ParseID(e.Payload.SessionID)
	return err == nil
}

// unnamed reports whether the event names no session: it is a hand-over of Gas Town's.
func (e *event) unnamed() bool { return e.Payload.SessionID == "" }

// pack appends an event to a session's row, as unpack reads it.
func (e *event) pack(to []byte) []byte {
	texts, has := e.packed(), uint64(0) // a bit for each that is not empty
	for i, text := range texts {
		if *text != "" {
			has |= 1 << i
		}
	}
	to = binary.AppendUvarint(binary.AppendVarint(to, e.loggedAt.UnixNano()), has)
	for _, text := range texts {
		if *text != "" {
			to = append(binary.AppendUvarint(to, uint64(len(*text))), *text...)
		}
	}
	return to
}

// packed are the texts of an event that a session's row has.
func (e *event) packed() (all [len(names) + 1]*string) {
	texts := e.Payload.texts()
	copy(all[:], texts[1:]) // the row has the session's id
	all[len(names)-1], all[len(names)] = &e.Type, &e.Actor
	return all
}

// unpack iterates over the events of a session's row, each of which is written as its time,
// a bit for each text that is not empty, and these texts. Each event is valid only until
// the next one.
func unpack(row []byte) iter.Seq[*event] {
	whole := string(row) // one copy, of which the texts are parts
	return func(yield func(*event) bool) {
		var e event
		texts := e.packed()
		for at := 0; at < len(row); {
			nanos, n := binary.Varint(row[at:])
			has, m := binary.Uvarint(row[at+n:])
			e.loggedAt, at = time.Unix(0, nanos).UTC(), at+n+m
			for i, text := range texts {
				if *text = ""; has&(1<<i) != 0 {
					size, n := binary.Uvarint(row[at:])
					at += n
					*text, at = whole[at:at+int(size)], at+int(size)
				}
			}
			if !yield(&e) {
				return
			}
		}
	}
}

// sessionOf returns the session of which events tell, or nil without one.
func sessionOf(id session.ID, events iter.Seq[*event]) (s *Session) {
	for e := range events {
		if s == nil {
			s = &Session{ID: id, Actor: e.Actor, StartedAt: e.loggedAt}
			if who, err := identity.Parse(s.Actor); err == nil {
				s.Role, s.Rig = string(who.Role), who.Rig
			}
		}
		s.applyEvent(e)
	}
	return s
}

// applyEvent adds an event to the session. The events come in the order of their times. Of what a
// session begins with, the first value counts, and of what changes, the last.
func (s *Session) applyEvent(e *event) {
	p := &e.Payload
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume:
		setIfEmpty(&s.Role, p.Role)
		setIfEmpty(&s.Topic, p.Topic)
		setIfEmpty(&s.Agent, p.Agent)
		setIfEmpty(&s.CWD, p.CWD)
		setIfEmpty(&s.Branch, p.Branch)
		setIfEmpty(&s.WorkUnit, p.WorkUnit)
		setIfEmpty(&s.MoleculeID, p.MoleculeID)
		setIfEmpty(&s.StepRef, p.StepRef)
		setIfEmpty(&s.Received, p.Subject)
		setIfEmpty(&s.Host, p.Host)
		setIfEmpty(&s.ParentID, validID(p.ParentID))
		setIfEmpty(&s.ChainID, validID(p.ChainID))
		setIfGiven(&s.Source, p.Source)
		setIfGiven(&s.Transcript, p.Transcript)
		setIfGiven(&s.TmuxSession, p.Tmux)
		s.EndedAt, s.Outcome, s.Reason = time.Time{}, "", "" // it goes on
		s.handedOver = time.Time{}
	case eventlog.SessionChain: // it begins its own chain
		s.ParentID = ""
		setIfGiven(&s.ChainID, validID(p.ChainID))
	case eventlog.SessionEnd:
		s.EndedAt, s.Outcome, s.Reason = e.loggedAt, cmp.Or(session.Outcome(p.Outcome), session.Done), p.Reason
		// Whoever finds a crash logs it later than it happened.
		if seen, err := time.Parse(time.RFC3339, p.LastSeen); err == nil && seen.Before(e.loggedAt) && !seen.Before(s.StartedAt) {
			s.EndedAt = seen.UTC()
		}
	case eventlog.Handoff:
		setIfGiven(&s.Subject, p.Subject)
		setIfGiven(&s.Note, p.Note)
		if p.ToSession != "" && p.Kind != session.KindCycle { // a cycle goes on in a new process
			s.handedOver = e.loggedAt
		}
	case eventlog.HandoffCancelled:
		s.Subject, s.Note, s.handedOver = "", "", time.Time{}
	}
	s.LastAt = e.loggedAt
}

func validID(id string) session.ID {
	checked, _ := session.ParseID(id)
	return checked
}

func setIfEmpty[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}

func setIfGiven[T ~string](to *T, value T) {
	if value != "" {
		*to = value
	}
}
