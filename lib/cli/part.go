package cli

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// selectGrammar returns the grammar with only the selected command, because kong takes eight times
// as long for ten commands as for one (BenchmarkParse), which is longer than most commands
// take. It returns nil if the selection is not obvious, for example for --help, which lists
// all commands. If the result cannot parse the arguments, the whole grammar parses them
// again, so that errors have one source.
func selectGrammar(grammar any, args []string) any {
	t := reflect.TypeOf(grammar).Elem()
	if reflect.PointerTo(t).NumMethod() > 0 {
		return nil // kong would miss them
	}
	var names []string
	selected := -1
	for i := range t.NumField() {
		f := t.Field(i)
		tag, is := f.Tag.Lookup("cmd")
		if !is || tag != "" || f.Tag.Get("aliases") != "" {
			continue
		}
		name := cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name))
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
		if arg == "-h" || arg == "--help" || i > 0 && slices.Contains(names, arg) {
			return nil
		}
	}
	var fields []reflect.StructField
	for i := range t.NumField() {
		f := t.Field(i)
		if _, command := f.Tag.Lookup("cmd"); !command || i == selected {
			if !f.IsExported() {
				return nil // no other package can set such a field
			}
			fields = append(fields, f)
		}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}
