package openjson

import (
	"encoding/json"
	"reflect"
	"testing"
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
		want, err2 := unmarshalUnknown(data, names)
		if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q (%v), want %q (%v)", data, got, err, want, err2)
		}
	})
}
