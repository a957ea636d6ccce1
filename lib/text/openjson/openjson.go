// Package openjson reads and writes JSON objects that other programs, and
// newer versions of this one, may add fields to: what is not known is kept and
// written back.
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
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/text/plain"
	"gt/lib/text/redact"
)

// Unknown holds the fields of an object that its type does not have.
type Unknown map[string]json.RawMessage

// Unmarshal reads an object into v, a pointer to a struct without an
// UnmarshalJSON of its own, and returns the fields that the struct does not
// have. As in encoding/json, a name in other capitals is the same field.
func Unmarshal(data []byte, v any) (Unknown, error) {
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // whose words are about Go
		return nil, fmt.Errorf("%s cannot be a JSON %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	} else if err != nil {
		return nil, err
	}
	return unknown(data, names(reflect.TypeOf(v).Elem()))
}

// names returns those that the fields of a struct have in JSON, and the fields of the
// structs that it embeds.
func names(t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			all = append(all, names(f.Type)...)
		}
		all = append(all, name)
	}
	return all
}

// unknown returns the fields of an object, which is valid, that have none of the names.
// Most objects have no others: hooks read many, and a map of all fields is slow to make.
func unknown(data []byte, names []string) (Unknown, error) {
	object := gjson.ParseBytes(data)
	if !object.IsObject() || !utf8.Valid(data) || bytes.Contains(data, []byte(`\u`)) { // which encoding/json puts right
		return mapped(data, names)
	}
	others := Unknown{}
	object.ForEach(func(key, value gjson.Result) bool {
		if !has(names, key.Str) {
			others[strings.Clone(key.Str)] = json.RawMessage(value.Raw)
		}
		return true
	})
	return others, nil
}

// mapped is unknown for any object.
func mapped(data []byte, names []string) (Unknown, error) {
	var all Unknown
	err := json.Unmarshal(data, &all)
	maps.DeleteFunc(all, func(key string, _ json.RawMessage) bool { return has(names, key) })
	return all, err
}

func has(names []string, key string) bool {
	return slices.Contains(names, key) || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(key, name) })
}

// maxDepth is how many brackets gjson may see. It calls itself for each that is open, and
// has no limit of its own: four million take a gigabyte of stack, and some more end the
// process with code 2.
const maxDepth = 10_000

// Valid reports whether data is one JSON value, in a quarter of the time that encoding/json
// needs for it.
func Valid(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > maxDepth {
		return json.Valid(data) // which stops at a depth of 10,000
	}
	return gjson.ValidBytes(data)
}

// Clean has an object go through clean, as it stands and as it reads: characters
// that are escaped in it hide no secret. An object without one stays as it is.
func Clean(object []byte, clean func(string) string) json.RawMessage {
	text := clean(unescape(string(object), clean))
	if text == unescape(string(object), same) {
		return object
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	var fields Unknown
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

// Clean has every field go through clean, by its name and value as they stand
// in JSON. What is no JSON any more after that is replaced whole.
func (u Unknown) Clean(clean func(string) string) {
	for key, raw := range u {
		cleaned := clean(fmt.Sprintf("%q:%s", key, unescape(string(raw), clean)))
		if cleaned == fmt.Sprintf("%q:%s", key, unescape(string(raw), same)) {
			continue
		}
		value, ok := strings.CutPrefix(cleaned, fmt.Sprintf("%q:", key))
		if !ok || !json.Valid([]byte(value)) {
			value = `"` + redact.Mark + `"`
		}
		u[key] = json.RawMessage(value)
	}
}

// unescape returns JSON with what is escaped in it by a number as it reads: what
// nobody sees is left out, and the rest stands as it is where JSON lets it.
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
		word := rest[begin : end+1]
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

func same(s string) string { return s }

// Marshal writes v, a struct or a pointer to one, as an object, and the unknown
// fields after its own.
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

// File writes v as a file that a person reads: indented, with < and & as they
// are, and with a line end.
func File(v any) ([]byte, error) { return encode(v, "  ") }

// object writes v without spaces and a line end, with < and & as they are.
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
