// Package openjson reads and writes JSON objects to which other programs and newer versions
// may add fields. Unknown fields are kept and written back.
package openjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/text/plain"
	"gt/lib/text/redact"
)

type Unknown map[string]json.RawMessage

// Unmarshal reads an object into v, a pointer to a struct without its own UnmarshalJSON,
// and returns the unknown fields. As in encoding/json, field names match without regard to
// case.
func Unmarshal(data []byte, v any) (Unknown, error) {
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its message is about Go
		return nil, fmt.Errorf("%s cannot be a JSON %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	} else if err != nil {
		return nil, err
	}
	return unknown(data, names(reflect.TypeOf(v).Elem()))
}

// known caches names: a list of agents reads thousands of objects of a few types.
var known sync.Map // of []string, by reflect.Type

// names returns the JSON names of a struct's fields, including those of embedded structs. The
// caller must not change them.
func names(t reflect.Type) []string {
	if all, ok := known.Load(t); ok {
		return all.([]string)
	}
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			all = append(all, names(f.Type)...)
		}
		all = append(all, name)
	}
	known.Store(t, all)
	return all
}

// unknown returns the fields of a valid object with none of the names. Most objects have
// none, and hooks read many, so it avoids a map of all fields.
func unknown(data []byte, names []string) (Unknown, error) {
	object := gjson.ParseBytes(data)
	if !object.IsObject() || !utf8.Valid(data) || bytes.Contains(data, []byte(`\u`)) { // encoding/json normalizes these
		return unmarshalUnknown(data, names)
	}
	others := Unknown{}
	object.ForEach(func(key, value gjson.Result) bool {
		if !containsKey(names, key.Str) {
			others[strings.Clone(key.Str)] = json.RawMessage(value.Raw)
		}
		return true
	})
	return others, nil
}

func unmarshalUnknown(data []byte, names []string) (Unknown, error) {
	var all Unknown
	err := json.Unmarshal(data, &all)
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return containsKey(names, key) })
	return all, err
}

func containsKey(names []string, key string) bool {
	return slices.Contains(names, key) || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(key, name) })
}

// maxDepth bounds the brackets that gjson parses. It recurses without a limit: four million
// need a gigabyte of stack, and some more end the process with code 2.
const maxDepth = 10_000

// Valid reports whether data is one JSON value, four times as fast as encoding/json.
func Valid(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxDepth {
		return json.Valid(data) // it stops at a depth of 10,000
	}
	return gjson.ValidBytes(data)
}

// Clean applies clean to an object, both escaped and unescaped, so that escapes hide no
// secret. It returns an object without secrets unchanged, and null for one that cannot be read.
func Clean(object []byte, clean func(string) string) json.RawMessage {
	text := clean(unescape(string(object), clean))
	if text == unescape(string(object), keepText) {
		return object
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	var fields Unknown // cleaned one by one, because clean has broken the whole
	if json.Unmarshal(object, &fields) != nil {
		return json.RawMessage("null")
	}
	fields.Clean(clean)
	data, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// Clean applies clean to the JSON of every field. A value that is not valid JSON afterwards
// is replaced.
func (u Unknown) Clean(clean func(string) string) {
	for key, raw := range u {
		cleaned := clean(fmt.Sprintf("%q:%s", key, unescape(string(raw), clean)))
		if cleaned == fmt.Sprintf("%q:%s", key, unescape(string(raw), keepText)) {
			continue
		}
		value, ok := strings.CutPrefix(cleaned, fmt.Sprintf("%q:", key))
		if !ok || !json.Valid([]byte(value)) {
			value = `"` + redact.Mark + `"`
		}
		u[key] = json.RawMessage(value)
	}
}

// unescape replaces \u escapes in JSON by their characters, except where JSON needs them. It
// applies clean to each string that has such escapes, and then drops invisible characters.
func unescape(raw string, clean func(string) string) string {
	if !strings.Contains(raw, `\u`) {
		return raw
	}
	var b strings.Builder
	for rest := raw; ; {
		begin := strings.IndexByte(rest, '"')
		end := begin + 1
		for end > 0 && end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		if begin < 0 || end >= len(rest) {
			return b.String() + rest
		}
		b.WriteString(rest[:begin])
		word := rest[begin : end+1] // the next string, with its quotes
		var text string
		if strings.Contains(word, `\u`) && json.Unmarshal([]byte(word), &text) == nil {
			text, _ = plain.Visible(clean(text), plain.Keep{})
			if quoted, err := object(text); err == nil {
				word = string(quoted)
			}
		}
		b.WriteString(word)
		rest = rest[end+1:]
	}
}

func keepText(s string) string { return s }

// Marshal writes v, a struct or a pointer to one, as an object, followed by the unknown
// fields.
func Marshal(v any, unknown Unknown) ([]byte, error) {
	data, err := object(v)
	if err != nil || len(unknown) == 0 {
		return data, err
	}
	extra, err := object(unknown)
	if err != nil {
		return nil, err
	}
	// {"id":…} and {"new":…} become {"id":…,"new":…}
	data = data[:len(data)-1]
	if len(data) > 1 {
		data = append(data, ',')
	}
	return append(data, extra[1:]...), nil
}

// File writes v for people: indented, without escaping < and &, and with a line end.
func File(v any) ([]byte, error) { return encode(v, "  ") }

// object writes v compactly, without escaping < and &.
func object(v any) ([]byte, error) {
	data, err := encode(v, "")
	return bytes.TrimSuffix(data, []byte("\n")), err
}

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}
