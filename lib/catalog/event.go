package catalog

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"gt/lib/log/eventlog"
	"gt/lib/state/session"
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
	Host       string          `json:"host"`
	Outcome    string          `json:"outcome"`
	Reason     string          `json:"reason"`
	Subject    string          `json:"subject"`
	Note       string          `json:"note"`
	Kind       string          `json:"kind"`
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
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume, eventlog.SessionEnd, eventlog.Handoff:
	default:
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
	if len(line) > maxPlain || bytes.IndexByte(line, '\\') >= 0 || hasControl(line) || !utf8.Valid(line) {
		return false
	}
	rest, ok := object(string(line), e.set, &e.Payload)
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
		return exact(key)
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
	case "to_session":
		if text {
			value = `"` + value + `"`
		}
		p.ToSession = json.RawMessage(value)
	default:
		return exact(key)
	}
	return true
}

func set(to *string, value string, text bool) {
	if text {
		*to = value
	}
}

// exact says that encoding/json takes the key, which is none of ours, for none
// of ours: it does not look at the case of letters.
func exact(key string) bool {
	for _, c := range []byte(key) {
		if c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// object goes through the members of the JSON object that text begins with, and
// returns what follows it. It knows texts, whole numbers, true, false and null,
// without white space and escapes; and p, where it is not nil, takes an object in
// it called payload. It is false where it meets anything else, or each is.
func object(text string, each func(key, value string, text bool) bool, p *payload) (rest string, ok bool) {
	if len(text) < 2 || text[0] != '{' {
		return "", false
	}
	if text[1] == '}' {
		return text[2:], true
	}
	for rest = text[1:]; ; rest = rest[1:] {
		if len(rest) == 0 || rest[0] != '"' {
			return "", false
		}
		rest = rest[1:]
		end := strings.IndexByte(rest, '"')
		if end < 0 || len(rest) < end+3 || rest[end+1] != ':' {
			return "", false
		}
		key := rest[:end]
		rest = rest[end+2:]
		switch rest[0] {
		case '"':
			rest = rest[1:]
			if end = strings.IndexByte(rest, '"'); end < 0 || !each(key, rest[:end], true) {
				return "", false
			}
			rest = rest[end+1:]
		case '{':
			if p == nil || key != "payload" {
				return "", false
			}
			if rest, ok = object(rest, p.set, nil); !ok {
				return "", false
			}
		default:
			if end = strings.IndexAny(rest, ",}"); end < 0 || !scalar(rest[:end]) || !each(key, rest[:end], false) {
				return "", false
			}
			rest = rest[end:]
		}
		if rest == "" {
			return "", false
		}
		switch rest[0] {
		case '}':
			return rest[1:], true
		case ',':
		default:
			return "", false
		}
	}
}

// scalar says whether text is a JSON value of the simple kinds.
func scalar(text string) bool {
	switch text {
	case "true", "false", "null", "0":
		return true
	}
	if text == "" || text[0] < '1' || text[0] > '9' {
		return false
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// hasControl says whether there is a control character in the line, which JSON
// forbids. Of eight bytes at once, each below 0x20 leaves its highest bit when
// 0x20 is taken from it; one that has that bit itself does not count.
func hasControl(line []byte) bool {
	for ; len(line) >= 8; line = line[8:] {
		v := binary.LittleEndian.Uint64(line)
		if (v-0x2020202020202020)&^v&0x8080808080808080 != 0 {
			return true
		}
	}
	for _, c := range line {
		if c < 0x20 {
			return true
		}
	}
	return false
}

// toSession reads a hand-over's to_session: Gas Town writes true or false.
func (e *event) toSession() bool {
	v := string(e.Payload.ToSession)
	return v != "" && v != "false" && v != "null" && v != `""`
}
