package fastjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

var lines = []string{
	`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start","payload":{"session_id":"s","pid":12,"live":true},"visibility":"feed"}`,
	`{"a":"Grüße","b":null,"c":{},"d":0}`,
	`{}`, `{"a":{}}`, `{"a":1,}`, `{"a":1} `, `{"a"x":1}`, `{"a":"1"`, `{"a":tru}`, `{"":""}`, `{"a":1}{`, `{"ts"`, `{"ts":`, `{`, ``, `{"a":"` + "\x01" + `"}`, `{"a":"` + "\xff" + `"}`,
	`{"a":01}`, `{"a":-1}`, `{"a":[1]}`, `{"a":"\u0062"}`, `{ "a":1}`,
}

// read makes of a line what encoding/json makes of one in a map. deep is whether an
// object in the object is read as well.
func read(line string, deep bool) (all map[string]any, ok bool) {
	into := func(m map[string]any) Member {
		return func(key, value string, text bool) bool {
			if text {
				m[key] = value
				return true
			}
			var v any
			if json.Unmarshal([]byte(value), &v) != nil {
				return false
			}
			m[key] = v
			return true
		}
	}
	all = map[string]any{}
	var within func(string) Member
	if deep {
		within = func(key string) Member {
			inner := map[string]any{}
			all[key] = inner
			return into(inner)
		}
	}
	rest, ok := Object(line, into(all), within)
	return all, ok && rest == "" && Plain([]byte(line))
}

// What Object takes of a plain line, it reads as encoding/json does.
func FuzzObject(f *testing.F) {
	for _, line := range lines {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := read(line, true)
		if !ok {
			return
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatalf("%q is not JSON: %v", line, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %v\nnot %v", line, got, want)
		}
	})
}

func TestObject(t *testing.T) {
	for i, taken := range []bool{true, true, true} {
		if _, ok := read(lines[i], true); ok != taken {
			t.Errorf("%s: %v", lines[i], ok)
		}
	}
	if _, ok := read(lines[0], false); ok {
		t.Error("an object was passed over that nobody reads")
	}
	if _, ok := Object(`{"a":1,"b":2}`, func(key, _ string, _ bool) bool { return key != "b" }, nil); ok {
		t.Error("a member that was refused counts")
	}
}

// records are lines of conversations, whole and broken.
var records = []string{
	`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"a \"b\" \\\\"},{}]},"ok":true,"n":-1.5e3,"none":null,"list":[1,[2],"}"]}`,
	`{}`, `[]`, `[1]`, `[{"a":"]"},"\\",[],null]`, `{"a":"}","b":["]"]}`, `{"a":"\\"}`, `{"a":"\\\"}`, `{"a":{"b":"\\\""}}`, `{"Grüße":"Grüße"}`,
	`{"a":1,}`, `{"a":1}x`, `{"a":1`, `{"a":"1`, `{"a":[1}`, `{"a" :1}`, `{"\u0061":1}`, `{"a":}`, `{"a"`, `{"`, `{`, `[`, `[1,]`, `[,1]`, `[1`, ``, `"a"`, `{"a":[{]}`, `{"a":1]`, `[1}`,
}

// told is what a function told of an object's members, or of a list's elements.
func told(text string) (all []string, ok bool) {
	if strings.HasPrefix(text, "[") {
		ok = Elements([]byte(text), func(value []byte) bool { all = append(all, string(value)); return true })
	} else {
		ok = Members([]byte(text), func(key, value []byte) bool { all = append(all, string(key), string(value)); return true })
	}
	return all, ok
}

// What Members and Elements tell of JSON is what a whole parser tells, and of what a
// program writes they tell all.
func FuzzMembers(f *testing.F) {
	for _, text := range records {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := told(text)
		if !json.Valid([]byte(text)) {
			return // it has only to end
		}
		var want []string
		if whole := gjson.Parse(text); ok {
			whole.ForEach(func(key, v gjson.Result) bool {
				if whole.IsObject() {
					want = append(want, key.Str)
				}
				want = append(want, v.Raw)
				return true
			})
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %q\nnot %q", text, got, want)
			}
		}
		var short bytes.Buffer
		if err := json.Compact(&short, []byte(text)); err != nil {
			t.Fatal(err)
		}
		plain := short.Len() > 0 && (short.Bytes()[0] == '[' || short.Bytes()[0] == '{' && !strings.Contains(text, `\`))
		if _, ok := told(short.String()); plain && !ok {
			t.Fatalf("%s is not understood", short.String())
		}
	})
}

func TestMembers(t *testing.T) {
	for i, text := range records {
		if _, ok := told(text); ok != (i < 10 && i != 7) {
			t.Errorf("%s: %v", text, ok)
		}
	}
	n := 0
	if !Members([]byte(`{"a":1,"b":2,…`), func(key, _ []byte) bool { n++; return string(key) != "b" }) || n != 2 {
		t.Errorf("%d members before the end", n)
	}
	if !Elements([]byte(`[1,2,…`), func(value []byte) bool { return string(value) != "2" }) {
		t.Error("an element too much")
	}
}

// What is appended is what encoding/json reads as the text.
func FuzzAppendText(f *testing.F) {
	for _, text := range []string{"", "a", `a"b`, `a\b`, "a\nb", "Grüße", "\x7f<>&\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got, want string
		quoted, _ := json.Marshal(text)
		if json.Unmarshal(quoted, &want) != nil || json.Unmarshal(AppendText(nil, text), &got) != nil || got != want {
			t.Errorf("%q: %s", text, AppendText(nil, text))
		}
	})
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{`a","b"`: "a", `"`: "", `a\"b"`: "none", `a`: "none", ``: "none", `a\\"`: "none"} {
		value, _, ok := Text([]byte(in))
		if got := string(value); ok != (want != "none") || ok && got != want {
			t.Errorf("%s: %q, %v", in, got, ok)
		}
	}
}

// BenchmarkObject is what it saves to read a line of the event log by hand.
func BenchmarkObject(b *testing.B) {
	line := []byte(lines[0])
	b.Run("object", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all, payload := 0, 0
			count := func(n *int) Member { return func(string, string, bool) bool { *n++; return true } }
			if _, ok := Object(string(line), count(&all), func(string) Member { return count(&payload) }); !ok || !Plain(line) {
				b.Fatal()
			}
		}
	})
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		var v struct {
			TS, Source, Type string
			Payload          struct {
				SessionID string `json:"session_id"`
			}
		}
		for b.Loop() {
			if err := json.Unmarshal(line, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMembers is what it saves to pass over the long values of a conversation's
// record by hand.
func BenchmarkMembers(b *testing.B) {
	result, _ := json.Marshal(strings.Repeat("\tif err := settle(row); err != nil { return \"err\" }\n", 200))
	line := []byte(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":` + string(result) + `}]},"toolUseResult":{"stdout":` + string(result) + `},"uuid":"u"}`)
	b.Run("members", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			n := 0
			if !Members(line, func(_, _ []byte) bool { n++; return true }) || n != 4 {
				b.Fatal(n)
			}
		}
	})
	b.Run("gjson", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			n := 0
			gjson.ParseBytes(line).ForEach(func(_, _ gjson.Result) bool { n++; return true })
			if n != 4 {
				b.Fatal(n)
			}
		}
	})
}
