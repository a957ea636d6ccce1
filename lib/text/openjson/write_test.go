package openjson

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// sample has a field of each kind that is written in a way of its own.
type sample struct {
	ID      name            `json:"id"`
	Title   string          `json:"title,omitempty"`
	Count   int             `json:"count"`
	Small   int8            `json:"small,omitempty"`
	Live    bool            `json:"live"`
	Full    bool            `json:"full,omitempty"`
	At      time.Time       `json:"at"`
	Ended   time.Time       `json:"ended,omitzero"`
	Args    []string        `json:"args"`
	Told    []string        `json:"told,omitempty"`
	Under   *inside         `json:"under"`
	Below   *inside         `json:"below,omitempty"`
	Runs    []inside        `json:"runs,omitempty"`
	Value   inside          `json:"value,omitzero"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	Loud    shout           `json:"loud,omitempty"`
	Spoken  said            `json:"spoken"`
	Names   names           `json:"names,omitempty"`
	Numbers map[string]int  `json:"numbers,omitempty"`
	Pair    [2]int          `json:"pair,omitempty"`
	Share   float64         `json:"share,omitempty"`

	_ string
}

type (
	inside struct {
		Key string    `json:"key"`
		At  time.Time `json:"at,omitzero"`
	}
	shout string
	said  struct{ Text string }
	names []string
)

func (s shout) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(s))), nil }
func (s *said) MarshalJSON() ([]byte, error) { return json.Marshal("said " + s.Text) }
func (i *inside) IsZero() bool               { return i.Key == "" }

// What is written without encoding/json is what that writes, and so is what comes of a
// file.
func TestWritten(t *testing.T) {
	values := rapid.MakeCustom[sample](rapid.MakeConfig{Types: map[reflect.Type]*rapid.Generator[any]{
		reflect.TypeFor[time.Time](): rapid.Custom(func(r *rapid.T) time.Time {
			if rapid.Bool().Draw(r, "zero") {
				return time.Time{}
			}
			return time.Unix(rapid.Int64Range(0, 1<<39).Draw(r, "seconds"), rapid.Int64Range(0, 1e9-1).Draw(r, "ns")).UTC()
		}).AsAny(),
		reflect.TypeFor[string]():          rapid.SampledFrom([]string{"", "", "a", "a b", `"<&>\`, "ä\n\u2028", "\xff", "\x01\x7f", "null"}).AsAny(),
		reflect.TypeFor[json.RawMessage](): rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"a": [1, "<"]}`), json.RawMessage(`{`)}).AsAny(),
	}})
	quickly := 0
	rapid.Check(t, func(r *rapid.T) {
		v := values.Draw(r, "value")
		for _, indent := range []string{"", "  "} {
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", indent)
			want := enc.Encode(&v)
			got, err := Marshal(&v, nil)
			got = append(got, '\n')
			if indent != "" {
				got, err = File(&v)
			}
			if (err == nil) != (want == nil) || err == nil && string(got) != b.String() {
				r.Fatalf("written\n%s (%v)\nand by encoding/json\n%s (%v)", got, err, b.String(), want)
			}
		}
		if _, ok := appendQuick(nil, reflect.ValueOf(&v).Elem()); ok {
			quickly++
		}
	})
	if quickly == 0 {
		t.Error("nothing was written quickly")
	}
}
