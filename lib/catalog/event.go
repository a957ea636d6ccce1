package catalog

import (
	"bytes"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/log/eventlog"
	"gt/lib/state/session"
	"gt/lib/text/openjson"
)

// event holds the fields of a log line that can concern a session.
type event struct {
	Time    string  `json:"ts"`
	Type    string  `json:"type"`
	Actor   string  `json:"actor"`
	Payload payload `json:"payload"`

	at time.Time // Time, in UTC
}

type payload struct {
	SessionID  string `json:"session_id"`
	Role       string `json:"role"`
	CWD        string `json:"cwd"`
	Topic      string `json:"topic"`
	Agent      string `json:"agent"`
	Source     string `json:"source"`
	ParentID   string `json:"parent_id"`
	ChainID    string `json:"chain_id"`
	Transcript string `json:"transcript_path"`
	Branch     string `json:"branch"`
	Tmux       string `json:"tmux_session"`
	WorkUnit   string `json:"work_unit"`
	MoleculeID string `json:"molecule_id"`
	StepRef    string `json:"step_ref"`
	Host       string `json:"host"`
	Outcome    string `json:"outcome"`
	Reason     string `json:"reason"`
	Subject    string `json:"subject"`
	Note       string `json:"note"`
	Kind       string `json:"kind"`
	LastSeen   string `json:"last_seen"`
	ToSession  bool   `json:"to_session"` // Gas Town writes true or false
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
func (e *event) parse(line []byte) bool { return openjson.Valid(line) && e.read(line) }

// read parses a line that was valid before.
func (e *event) read(line []byte) bool {
	*e = event{}
	if !utf8.Valid(line) {
		line = bytes.ToValidUTF8(line, []byte("\ufffd"))
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
			if value.IsObject() {
				value.ForEach(e.Payload.take)
			}
		}
		return true
	})
	return e.valid()
}

func (e *event) valid() bool {
	if !eventlog.Lifecycle(e.Type) {
		return false
	}
	at, err := time.Parse(time.RFC3339, e.Time)
	if err != nil || at.Before(earliest) || at.After(latest) {
		return false
	}
	e.at = at.UTC()
	if e.Payload.SessionID == "" && e.Type == eventlog.Handoff {
		// A hand-over of gt has a kind. It names no session if a person handed over.
		return e.Payload.Kind == ""
	}
	_, err = session.ParseID(e.Payload.SessionID)
	return err == nil
}

// unnamed reports whether the event names no session: it is a hand-over of Gas Town's.
func (e *event) unnamed() bool { return e.Payload.SessionID == "" }

func (p *payload) take(key, value gjson.Result) bool {
	switch key.Str {
	case "session_id":
		set(&p.SessionID, value)
	case "role":
		set(&p.Role, value)
	case "cwd":
		set(&p.CWD, value)
	case "topic":
		set(&p.Topic, value)
	case "agent":
		set(&p.Agent, value)
	case "source":
		set(&p.Source, value)
	case "parent_id":
		set(&p.ParentID, value)
	case "chain_id":
		set(&p.ChainID, value)
	case "transcript_path":
		set(&p.Transcript, value)
	case "branch":
		set(&p.Branch, value)
	case "tmux_session":
		set(&p.Tmux, value)
	case "work_unit":
		set(&p.WorkUnit, value)
	case "molecule_id":
		set(&p.MoleculeID, value)
	case "step_ref":
		set(&p.StepRef, value)
	case "host":
		set(&p.Host, value)
	case "outcome":
		set(&p.Outcome, value)
	case "reason":
		set(&p.Reason, value)
	case "subject":
		set(&p.Subject, value)
	case "note":
		set(&p.Note, value)
	case "kind":
		set(&p.Kind, value)
	case "last_seen":
		set(&p.LastSeen, value)
	case "to_session":
		p.ToSession = !slices.Contains([]string{"false", "null", `""`}, value.Raw)
	}
	return true
}

func set(to *string, value gjson.Result) {
	if value.Type == gjson.String {
		*to = value.Str
	}
}
