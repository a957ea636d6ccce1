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

// form is what is known of a struct whose objects are read or written.
type form struct {
	names  []string // of its fields as JSON has them, and of the structs that it embeds
	fields []field
	quick  bool // its objects can be read and written without encoding/json
}

// field is a field of a struct.
type field struct {
	index    int
	kind     kind // as it is read
	writes   kind
	exported bool
	// When it is not written: where it is empty, or zero, as encoding/json has these.
	omitEmpty, omitZero bool
}

type kind byte

const (
	other kind = iota // encoding/json reads it
	text
	number
	truth
	moment
	texts // as it is written only
	inner // a pointer to a struct that can be written quickly, too
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
		fi := field{index: i, exported: one.IsExported()}
		if fi.exported {
			fi.kind = kindOf(one.Type, reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]())
			fi.writes = written(one.Type)
		}
		for option := range strings.SplitSeq(options, ",") {
			fi.omitEmpty = fi.omitEmpty || option == "omitempty"
			fi.omitZero = fi.omitZero || option == "omitzero"
		}
		f.fields = append(f.fields, fi)
		if one.IsExported() && (name == "" || name == "-") || one.Anonymous || strings.Contains(options, "string") {
			f.quick = false
		}
	}
	forms.Store(t, f)
	return f
}

// kindOf returns how a field of the type is read or written: one that does so itself, in
// one of these ways, is left to encoding/json.
func kindOf(t reflect.Type, itself ...reflect.Type) kind {
	if t == reflect.TypeFor[time.Time]() {
		return moment
	}
	if p := reflect.PointerTo(t); p.Implements(itself[0]) || p.Implements(itself[1]) {
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

// written returns how a field of the type is written.
func written(t reflect.Type) kind {
	marshaler, textMarshaler := reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()
	k := kindOf(t, marshaler, textMarshaler)
	switch {
	case k != other:
	case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[string]() && !t.Implements(marshaler) && !t.Implements(textMarshaler):
		return texts
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && !t.Implements(marshaler) && !t.Implements(textMarshaler):
		return inner
	}
	return k
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

// appendQuick writes the object of a struct that can be set, as encoding/json does, with <
// and & as they are. ok is false where encoding/json has to.
func appendQuick(to []byte, v reflect.Value) (_ []byte, ok bool) {
	f := formOf(v.Type())
	if !f.quick {
		return to, false
	}
	to = append(to, '{')
	first := true
	for i, fi := range f.fields {
		value := v.Field(fi.index)
		if !fi.exported || fi.omitEmpty && empty(value) || fi.omitZero && zero(value) {
			continue
		}
		if !first {
			to = append(to, ',')
		}
		first = false
		to = append(append(append(to, '"'), f.names[i]...), `":`...)
		if to, ok = fi.append(to, value); !ok {
			return to, false
		}
	}
	return append(to, '}'), true
}

// append writes the value of a field.
func (f field) append(to []byte, value reflect.Value) (_ []byte, ok bool) {
	switch f.writes {
	case text:
		return appendText(to, value.String())
	case number:
		return strconv.AppendInt(to, value.Int(), 10), true
	case truth:
		return strconv.AppendBool(to, value.Bool()), true
	case moment:
		text, err := value.Addr().Interface().(*time.Time).MarshalJSON()
		return append(to, text...), err == nil
	case texts:
		if value.IsNil() {
			break
		}
		to = append(to, '[')
		for i := range value.Len() {
			if i > 0 {
				to = append(to, ',')
			}
			if to, ok = appendText(to, value.Index(i).String()); !ok {
				return to, false
			}
		}
		return append(to, ']'), true
	case inner:
		if value.IsNil() {
			break
		}
		return appendQuick(to, value.Elem())
	}
	text, err := reflected(value.Addr().Interface())
	return append(to, text...), err == nil
}

// empty reports what encoding/json leaves out for omitempty.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// zero reports what encoding/json leaves out for omitzero.
func zero(v reflect.Value) bool {
	if t, ok := v.Addr().Interface().(interface{ IsZero() bool }); ok && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		return t.IsZero()
	}
	return v.IsZero()
}

// appendText writes a text.
func appendText(to []byte, s string) (_ []byte, ok bool) {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] < utf8.RuneSelf
	}
	if plain {
		return append(append(append(to, '"'), s...), '"'), true
	}
	text, err := reflected(s)
	return append(to, text...), err == nil
}
