package openjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gt/lib/text/fastjson"
)

// form is what is known of a struct whose objects are read.
type form struct {
	names  []string // of its fields as JSON has them, and of the structs that it embeds
	fields []field
	quick  bool // its objects can be read without encoding/json
}

// field is a field of a struct.
type field struct {
	index int
	kind  kind
}

type kind byte

const (
	other kind = iota // encoding/json reads it
	text
	number
	truth
	moment
)

// maxFields bounds how many fields a struct has that is read quickly.
const maxFields = 64

// forms are the structs that were read, by type.
var forms sync.Map

func formOf(t reflect.Type) *form {
	if known, ok := forms.Load(t); ok {
		return known.(*form)
	}
	f := &form{quick: t.NumField() <= maxFields}
	for i := range t.NumField() {
		one := t.Field(i)
		tag := one.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if one.Anonymous && name == "" && one.Type.Kind() == reflect.Struct {
			f.names = append(f.names, formOf(one.Type).names...)
		}
		f.names = append(f.names, name)
		what := other
		if one.IsExported() {
			what = kindOf(one.Type)
		}
		f.fields = append(f.fields, field{i, what})
		if one.IsExported() && (name == "" || name == "-") || one.Anonymous || strings.Contains(options, "string") {
			f.quick = false
		}
	}
	forms.Store(t, f)
	return f
}

func kindOf(t reflect.Type) kind {
	if t == reflect.TypeFor[time.Time]() {
		return moment
	}
	if p := reflect.PointerTo(t); p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return other
	}
	switch t.Kind() {
	case reflect.String:
		return text
	case reflect.Bool:
		return truth
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return number
	}
	return other
}

// quick is Unmarshal for an object as programs write it: each name once and as the struct
// has it, without an escape. It takes a third of the time of encoding/json
// (BenchmarkUnmarshal), which first has to learn each type, too. ok is false where the
// object has anything else, or is none; what v has then means nothing.
func quick(data []byte, v reflect.Value) (u Unknown, ok bool) {
	f := formOf(v.Type())
	if !f.quick || !utf8.Valid(data) {
		return nil, false
	}
	u = Unknown{}
	var seen [maxFields]bool
	next := 0 // most objects have their fields in the struct's order
	ok = fastjson.Fields(data, func(key, value []byte) bool {
		at := f.find(key, next)
		if at < 0 {
			name := string(key)
			if _, twice := u[name]; twice || name == "" || has(f.names, name) || !json.Valid(value) {
				return false
			}
			u[name] = json.RawMessage(bytes.Clone(value))
			return true
		}
		if seen[at] {
			return false
		}
		seen[at], next = true, at+1
		return f.fields[at].set(v, value)
	})
	return u, ok
}

// find returns the field of that name, -1 where there is none, and looks from next on.
func (f *form) find(key []byte, next int) int {
	for i := range f.names {
		if i += next; i >= len(f.names) {
			i -= len(f.names)
		}
		if f.names[i] == string(key) && len(key) > 0 {
			return i
		}
	}
	return -1
}

// set gives a field of v a value.
func (f field) set(v reflect.Value, value []byte) bool {
	to := v.Field(f.index)
	if f.kind != other && string(value) == "null" {
		return true // and changes nothing
	}
	plain := len(value) > 1 && value[0] == '"' && fastjson.Plain(value)
	switch f.kind {
	case text:
		if plain {
			to.SetString(string(value[1 : len(value)-1]))
			return true
		}
	case moment:
		return plain && to.Addr().Interface().(*time.Time).UnmarshalJSON(value) == nil
	case number:
		n, err := strconv.ParseInt(string(value), 10, to.Type().Bits())
		if err != nil || strconv.FormatInt(n, 10) != string(value) {
			return false
		}
		to.SetInt(n)
		return true
	case truth:
		to.SetBool(string(value) == "true")
		return string(value) == "true" || string(value) == "false"
	}
	return to.CanSet() && json.Unmarshal(value, to.Addr().Interface()) == nil
}
