package catalog

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// started is a session_start as gt writes it.
const started = `{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start","actor":"a/crew/b","payload":{"session_id":"s","role":"crew","actor_pid":"a-1","cwd":"/x y","topic":"t","agent":"claude","source":"startup","parent_id":"p","chain_id":"c","transcript_path":"/t","branch":"b","tmux_session":"m","work_unit":"w","host":"h","pid":12},"visibility":"feed"}`

// An event is parsed in any form. A field of the wrong type is absent.
func TestParse(t *testing.T) {
	for line, want := range map[string]payload{
		started: {SessionID: "s", ParentID: "p", ChainID: "c", Role: "crew", CWD: "/x y", Topic: "t", Agent: "claude", Source: "startup", Transcript: "/t", Branch: "b", Tmux: "m", WorkUnit: "w", Host: "h"},
		`{"ts":"2026-01-17T01:00:00Z","type":"session_end","payload":{"session_id":"s","outcome":"done","reason":"r"}}`:         {SessionID: "s", Outcome: "done", Reason: "r"},
		` { "type" : "session_end", "payload": {"session_id":"\u0073", "topic": "a\n\"b"}, "ts":"2026-01-17T01:00:00+02:00" } `: {SessionID: "s", Topic: "a\n\"b"},
		`{"ts":"2026-01-17T01:00:00Z","type":"handoff","payload":{"subject":"Grüße","note":"n","to_session":true}}`:             {Subject: "Grüße", Note: "n", ToSession: "yes"},
		`{"ts":"2026-01-17T01:00:00Z","type":"handoff","payload":{"to_session":{"a":{}},"kind":[1]}}`:                           {ToSession: "yes"},
		`{"ts":"2026-01-17T01:00:00Z","type":"handoff","payload":{"session_id":"s"},"payload":{"subject":"more"}}`:              {SessionID: "s", Subject: "more"},
		`{"ts":"2026-01-17T01:00:00Z","type":"session_start","actor":7,"payload":{"session_id":"s","role":-0.5e3,"cwd":null}}`:  {SessionID: "s"},
		`{"ts":"2026-01-17T01:00:00Z","type":"session_start","payload":{"session_id":"s","topic":"` + "a\xffb" + `"}}`:          {SessionID: "s", Topic: "a\ufffdb"},
	} {
		var e event
		if !e.parse([]byte(line)) || !reflect.DeepEqual(e.Payload, want) {
			t.Errorf("%s: %+v", line, e.Payload)
		}
	}
	for _, none := range []string{
		``, `{`, `{}`, `[]`, started[:len(started)-1], started + "x", started + started, strings.Replace(started, "session_start", "Session_start", 1),
		strings.Replace(started, `"session_id"`, `"id"`, 1), strings.Replace(started, `"s"`, `"../s"`, 1), strings.Replace(started, "2026-01", "2026-13", 1),
		strings.Replace(started, "2026", "9999", 1), strings.Replace(started, `"t"`, "\"\x01\"", 1), strings.Replace(started, ":12", ":012", 1),
		`{"ts":"2026-01-17T01:00:00Z","type":"handoff","payload":{"kind":"cycle"}}`, `{"ts":"2026-01-17T01:00:00Z","type":"session_end","payload":"session_id"}`,
	} {
		var e event
		if e.parse([]byte(none)) {
			t.Errorf("%s tells of a session", none)
		}
	}
}

// FuzzParse checks that parse accepts only valid JSON.
func FuzzParse(f *testing.F) {
	f.Add(started)
	f.Fuzz(func(t *testing.T, line string) {
		var e event
		if e.parse([]byte(line)) && !json.Valid([]byte(line)) {
			t.Fatalf("%q is no JSON", line)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	line := []byte(started)
	var e event
	b.ReportAllocs()
	for b.Loop() {
		e.parse(line)
	}
}
