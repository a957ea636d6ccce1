package cli

import (
	"reflect"
	"slices"
	"strings"
)

// part returns the grammar with the one command that the arguments select, and
// without all others: kong takes eight times as long to build a grammar of ten
// commands as that of one (BenchmarkParse), and most commands take less than that
// themselves. It returns nil where the selection is not plain, as when help is asked
// for, which names all commands.
//
// What part cannot read, the whole grammar reads again, so that there is one
// place that says what is wrong.
func part(grammar any, args []string) any {
	t := reflect.TypeOf(grammar).Elem()
	if reflect.PointerTo(t).NumMethod() > 0 {
		return nil // the parser would miss them
	}
	var names []string
	selected := -1
	for i := range t.NumField() {
		f := t.Field(i)
		tag, is := f.Tag.Lookup("cmd")
		if !is || tag != "" || f.Tag.Get("aliases") != "" {
			continue
		}
		name := f.Tag.Get("name")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		names = append(names, name)
		_, first := f.Tag.Lookup("default")
		if len(args) > 0 && args[0] == name || first && selected < 0 && (len(args) == 0 || strings.HasPrefix(args[0], "-")) {
			selected = i
		}
	}
	if selected < 0 || len(names) < 2 {
		return nil
	}
	for i, arg := range args {
		if arg == "-h" || arg == "--help" || arg == "--version" || i > 0 && slices.Contains(names, arg) {
			return nil
		}
	}
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if _, command := f.Tag.Lookup("cmd"); !command || i == selected {
			if !f.IsExported() {
				return nil // no other package can make such a field
			}
			fields = append(fields, f)
		}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}
