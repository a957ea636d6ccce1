package openjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type thing struct {
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`

	unknown Unknown
}

type simple thing

func (t *thing) UnmarshalJSON(data []byte) (err error) {
	var p simple
	p.unknown, err = Unmarshal(data, &p)
	*t = thing(p)
	return err
}

func (t *thing) MarshalJSON() ([]byte, error) { return Marshal((*simple)(t), t.unknown) }

// What is not known comes back as it was, behind what is known; what is known
// is written once, also where it was read in other capitals.
func TestUnknown(t *testing.T) {
	for before, after := range map[string]string{
		`{"name":"x"}`: `{"name":"x"}`,
		`{}`:           `{"name":""}`,
		`{"new":[1, 2],"name":"x","count":3,"also":{"a":null}}`: `{"name":"x","count":3,"also":{"a":null},"new":[1,2]}`,
		`{"count":0,"name":"x"}`:                                `{"name":"x"}`,
		`{"NAME":"x","Count":1}`:                                `{"name":"x","count":1}`,
		`{"name":"<&>","a":"<&>"}`:                              `{"name":"<&>","a":"<&>"}`,
		`{"unknown":1,"n":1e400}`:                               `{"name":"","n":1e400,"unknown":1}`,
	} {
		var v thing
		if err := json.Unmarshal([]byte(before), &v); err != nil {
			t.Errorf("%s: %v", before, err)
			continue
		}
		got, err := Marshal((*simple)(&v), v.unknown)
		if err != nil || string(got) != after {
			t.Errorf("%s became %s (%v), not %s", before, got, err, after)
		}
	}
	for _, bad := range []string{``, `[]`, `"x"`, `{"name":1}`, `{"name":"x"} {}`} {
		var v thing
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

// An object without known fields has its unknown ones all the same.
func TestEmpty(t *testing.T) {
	got, err := Marshal(struct{}{}, Unknown{"a": json.RawMessage("1")})
	if err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestFile(t *testing.T) {
	got, err := File(&thing{Name: "a < b & c", unknown: Unknown{"x": json.RawMessage(`{"y":1}`)}})
	want := "{\n  \"name\": \"a < b & c\",\n  \"x\": {\n    \"y\": 1\n  }\n}\n"
	if err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

// FuzzUnknown holds that what was read and written is read again the same.
func FuzzUnknown(f *testing.F) {
	f.Add([]byte(`{"name":"x","new":[1,{"a":"<"}]}`))
	f.Add([]byte(`{"NAME":"x","name":"y","count":1}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, again thing
		if json.Unmarshal(data, &v) != nil {
			return
		}
		written, err := File(&v)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%q became %q: %v", data, written, err)
		}
		if v.Name != again.Name || v.Count != again.Count || len(v.unknown) != len(again.unknown) {
			t.Errorf("%q became %q", data, written)
		}
		twice, err := File(&again)
		if err != nil || !reflect.DeepEqual(written, twice) {
			t.Errorf("%q, then %q", written, twice)
		}
	})
}

// FuzzWithoutMap holds that the fields that are not known are those that encoding/json
// finds.
func FuzzWithoutMap(f *testing.F) {
	for _, text := range []string{
		`{"name":"x","new":[1, {"a":"<"}],"new":2}`, ` {"NAME":"x","\"q\\":{ } , "count" : 1} `, `{"a\u0041":1,"a\ud800":2}`,
		`null`, `{}`, "{\"\xff\":1}", `{"a":1,"a":{"b":[]},"A":3}`, `{"":"","n":1e400,"t":true,"x":"\n"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v simple
		if json.Unmarshal(data, &v) != nil {
			return
		}
		names := []string{"name", "count"}
		got, err := unknown(data, names)
		want, err2 := mapped(data, names)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q (%v), want %q (%v)", data, got, err, want, err2)
		}
	})
}

// record has a field of each kind.
type record struct {
	ID    name            `json:"id"`
	Count int             `json:"count,omitempty"`
	Small int8            `json:"small"`
	Live  bool            `json:"live"`
	At    time.Time       `json:"at,omitzero"`
	Args  []string        `json:"args"`
	Under *simple         `json:"under"`
	Raw   json.RawMessage `json:"raw"`
	Loud  loud            `json:"loud"`
	Any   any             `json:"any"`

	_ string
}

type (
	name string
	loud string
)

func (n name) Long() bool { return len(n) > 8 }

func (l *loud) UnmarshalText(text []byte) error {
	*l = loud(bytes.ToUpper(text))
	return nil
}

var records = []string{
	`{"id":"a","count":-3,"small":127,"live":true,"at":"2026-01-17T01:00:00.123Z","args":["x"],"under":{"name":"n"},"raw":[1, 2],"loud":"x","any":{"a":1}}`,
	"{\n  \"id\": \"a\",\n  \"args\": [\n    \"x\"\n  ],\n  \"new\": { \"a\": [1.5] },\n  \"count\": 0\n}\n",
	`{"at":"2026-13-17T01:00:00Z"}`, `{"at":null,"id":null,"args":null}`, `{"small":128}`, `{"count":1.0}`, `{"count":-0}`, `{"count":01}`, `{"count":1e3}`,
	`{"id":"a","id":"b"}`, `{"ID":"a"}`, `{"new":1,"new":2}`, `{"":1}`, `{"hidden":"x"}`, `{"id":"\u0041\n"}`, `{"id":"\ud800"}`, `{"i\u0064":"x"}`,
	`{}`, ` { } `, `null`, `[]`, `{"id":"a",}`, `{"id":"a"} x`, `{"a":[}`, `{"a":tru}`, `{"a":--1}`, `{"a":-}`, `{"live":1}`, `{"live":"true"}`, "{\"id\":\"\t\"}", "{\"\xff\":1}",
	`{"id":null,"count":null,"live":null,"at":null,"args":null,"under":null,"raw":null,"any":null}`, `{"loud":null}`, `{"under":{"name":1}}`, `{"any":null}`, `{"a" :"x" , "b":{"}":"\""}}`,
}

// FuzzQuick holds that what is read without encoding/json is what that reads.
func FuzzQuick(f *testing.F) {
	for _, text := range records {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, want record
		got, ok := quick(data, reflect.ValueOf(&v).Elem())
		if !ok {
			return
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%q was read: %v", data, err)
		}
		others, err := mapped(data, formOf(reflect.TypeOf(v)).names)
		if err != nil || !reflect.DeepEqual(v, want) || len(got) != len(others) || len(got) > 0 && !reflect.DeepEqual(got, others) {
			t.Errorf("%q: %+v %q, want %+v %q (%v)", data, v, got, want, others, err)
		}
	})
}

// What programs write is read without encoding/json.
func TestQuick(t *testing.T) {
	for _, text := range records[:2] {
		var v record
		if _, ok := quick([]byte(text), reflect.ValueOf(&v).Elem()); !ok || v.ID != "a" {
			t.Errorf("%s is not read: %+v", text, v)
		}
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	data, err := File(&record{ID: "0b0b2c4e-7a55-4c0f-9e07-3f5f6a3f0a11", Count: 3, Live: true, At: time.Now().UTC(), Loud: "X"})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("quick", func(b *testing.B) {
		for b.Loop() {
			var v record
			if _, err := Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		for b.Loop() {
			var v record
			if err := json.Unmarshal(data, &v); err != nil {
				b.Fatal(err)
			}
			if _, err := unknown(data, formOf(reflect.TypeOf(v)).names); err != nil {
				b.Fatal(err)
			}
		}
	})
}
