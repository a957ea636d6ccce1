package catalog

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/state/session"
	"gt/lib/text/fastjson"
)

// event is what a line of the log may say of a session.
type event struct {
	Time    string  `json:"ts"`
	Type    string  `json:"type"`
	Actor   string  `json:"actor"`
	Payload payload `json:"payload"`

	at time.Time // Time, in UTC
}

type payload struct {
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
	MoleculeID string          `json:"molecule_id"`
	StepRef    string          `json:"step_ref"`
	Host       string          `json:"host"`
	Outcome    string          `json:"outcome"`
	Reason     string          `json:"reason"`
	Subject    string          `json:"subject"`
	Note       string          `json:"note"`
	Kind       string          `json:"kind"`
	LastSeen   string          `json:"last_seen"`
	ToSession  json.RawMessage `json:"to_session"`
}

// The times that an event can have, so that they can be counted in nanoseconds.
var (
	earliest = time.Unix(0, math.MinInt64+1)
	latest   = time.Unix(0, math.MaxInt64)
)

// parse reads an event. It is false for a line that tells nothing of a session:
// whose JSON, type, time or session_id is none. What has the wrong type counts
// as not there.
func (e *event) parse(line []byte) bool {
	*e = event{}
	if !e.parsePlain(line) {
		*e = event{}
		var wrongType *json.UnmarshalTypeError // the rest of the event is there all the same
		if err := json.Unmarshal(line, e); err != nil && !errors.As(err, &wrongType) {
			return false
		}
	}
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
		// Ours, which has a kind, names no session where a person handed over.
		return e.Payload.Kind == ""
	}
	_, err = session.ParseID(e.Payload.SessionID)
	return err == nil
}

// unnamed says that the event names no session: it is a hand-over of Gas Town's.
func (e *event) unnamed() bool { return e.Payload.SessionID == "" }

// maxPlain is the longest line that parsePlain takes. Its strings are parts of
// one copy of the line, and a short one would keep all of a longer line in memory.
const maxPlain = 4 << 10

// parsePlain reads an event in the form that gt and Gas Town write, which has no
// white space and seldom an escape, many times faster than encoding/json. It is
// false where it cannot tell what that would read.
func (e *event) parsePlain(line []byte) bool {
	if len(line) > maxPlain || !fastjson.Plain(line) {
		return false
	}
	rest, ok := fastjson.Object(string(line), e.set, func(key string) fastjson.Member {
		if key != "payload" {
			return nil
		}
		return e.Payload.set
	})
	return ok && rest == ""
}

func (e *event) set(key, value string, text bool) bool {
	switch key {
	case "ts":
		set(&e.Time, value, text)
	case "type":
		set(&e.Type, value, text)
	case "actor":
		set(&e.Actor, value, text)
	case "payload": // what is of the wrong type
	default:
		return fastjson.Lower(key) // else it may be one of ours in other letters
	}
	return true
}

func (p *payload) set(key, value string, text bool) bool {
	switch key {
	case "session_id":
		set(&p.SessionID, value, text)
	case "role":
		set(&p.Role, value, text)
	case "cwd":
		set(&p.CWD, value, text)
	case "topic":
		set(&p.Topic, value, text)
	case "agent":
		set(&p.Agent, value, text)
	case "source":
		set(&p.Source, value, text)
	case "parent_id":
		set(&p.ParentID, value, text)
	case "chain_id":
		set(&p.ChainID, value, text)
	case "transcript_path":
		set(&p.Transcript, value, text)
	case "branch":
		set(&p.Branch, value, text)
	case "tmux_session":
		set(&p.Tmux, value, text)
	case "work_unit":
		set(&p.WorkUnit, value, text)
	case "molecule_id":
		set(&p.MoleculeID, value, text)
	case "step_ref":
		set(&p.StepRef, value, text)
	case "host":
		set(&p.Host, value, text)
	case "outcome":
		set(&p.Outcome, value, text)
	case "reason":
		set(&p.Reason, value, text)
	case "subject":
		set(&p.Subject, value, text)
	case "note":
		set(&p.Note, value, text)
	case "kind":
		set(&p.Kind, value, text)
	case "last_seen":
		set(&p.LastSeen, value, text)
	case "to_session":
		if text {
			value = `"` + value + `"`
		}
		p.ToSession = json.RawMessage(value)
	default:
		return fastjson.Lower(key) // else it may be one of ours in other letters
	}
	return true
}

func set(to *string, value string, text bool) {
	if text {
		*to = value
	}
}

// toSession reads a hand-over's to_session: Gas Town writes true or false.
func (e *event) toSession() bool {
	v := string(e.Payload.ToSession)
	return v != "" && v != "false" && v != "null" && v != `""`
}
