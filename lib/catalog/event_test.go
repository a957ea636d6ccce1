package catalog

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// events are lines as gt and Gas Town write them, and such that only look it.
var events = []string{
	`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start","actor":"a/crew/b","payload":{"session_id":"s","role":"crew","actor_pid":"a-1","cwd":"/x y","topic":"t","agent":"claude","source":"startup","parent_id":"p","chain_id":"c","transcript_path":"/t","branch":"b","tmux_session":"m","work_unit":"w","host":"h","pid":12},"visibility":"feed"}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"session_end","actor":"a","payload":{"session_id":"s","outcome":"done","reason":"r"}}`,
	`{"ts":"2026-01-17T01:00:00+02:00","type":"handoff","actor":"a","payload":{"subject":"Grüße","note":"n","kind":"cycle","to_session":true}}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"handoff","actor":"a","payload":{"to_session":"x"}}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"handoff","actor":"a","payload":{"to_session":null,"session_id":null,"kind":{}}}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"handoff","actor":"a","payload":{"to_session":{"a":{}},"kind":[1]}}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"handoff","actor":"a","payload":{"to_session":false},"payload":{"subject":"more"}}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"session_start","payload":{"session_id":"s","Session_ID":"t","ROLE":"r","Kind":"K"},"TYPE":"handoff"}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"session_start","payload":{"session_id":"s","x":1,"role":-0.5e3,"cwd":01}}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"session_start","payload":"session_id","actor":7}`,
	`{"ts":"2026-01-17T01:00:00Z","type":"session_start","payload":{}}`, `{"payload":{"session_id":"a\u0062"}}`,
	`{}`, `{"a":{}}`, `{"a":1,}`, `{"a":1} `, `{"a"x":1}`, `{"a":"1"`, `{"a":tru}`, `{"":""}`, `{"a":1}{`, `{"ts"`, `{"ts":`, `{`, ``, `{"a":"` + "\x01" + `"}`, `{"a":"` + "\xff" + `"}`,
}

// What parsePlain takes, it reads as encoding/json does.
func FuzzParsePlain(f *testing.F) {
	for _, e := range events {
		f.Add(e)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var got, want event
		if !got.parsePlain([]byte(line)) {
			return
		}
		var wrongType *json.UnmarshalTypeError
		if err := json.Unmarshal([]byte(line), &want); err != nil && !errors.As(err, &wrongType) {
			t.Fatalf("%q is no JSON: %v", line, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v\nnot %+v", line, got, want)
		}
	})
}

// What gt writes is read without encoding/json.
func TestParsePlain(t *testing.T) {
	for i, plain := range []bool{true, true, true, true} {
		var e event
		if e.parsePlain([]byte(events[i])) != plain {
			t.Errorf("%s: %v", events[i], !plain)
		}
	}
	long := strings.Replace(events[1], `"r"`, `"`+strings.Repeat("r", maxPlain)+`"`, 1)
	var e event
	if e.parsePlain([]byte(long)) || !e.parse([]byte(long)) || len(e.Payload.Reason) != maxPlain {
		t.Error("a long line")
	}
}

func BenchmarkParse(b *testing.B) {
	line := []byte(events[0])
	var e event
	b.ReportAllocs()
	for b.Loop() {
		e.parse(line)
	}
}
