package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/settings"
)

// scriptMark begins a script of ours, and nobody else's.
const scriptMark = "// gt: written by gt-hooks"

// programs finds the binaries in a script: words of their own in double quotes.
var programs = regexp.MustCompile(`"((?:[^"\\\n]|\\.)*/)?(` + strings.Join(binaries, "|") + `)"`)

// script is the wiring of a client that takes hooks from a program of ours, with
// the binaries in dir.
func (t target) script(dir string) []byte {
	text := programs.ReplaceAllFunc(t.format.wiring(), func(word []byte) []byte {
		name := programs.FindSubmatch(word)[2]
		return literal(filepath.Join(dir, string(name)))
	})
	var flags [][]byte
	for _, f := range t.flags() {
		flags = append(flags, literal(f))
	}
	named := []byte(`"--agent", "` + t.format.name + `"`)
	return bytes.ReplaceAll(text, named, bytes.Join(flags, []byte(", ")))
}

// literal writes a string as JavaScript has it.
func literal(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return text
}

// scripted is a script as the one hook that it is.
func scripted(f format, text []byte) handler {
	return handler{event: f.word(), binary: "gt", command: "the whole file", args: []string{}, raw: text, line: 1}
}

// word is what a client calls such a script.
func (f format) word() string {
	if f.name == "pi" {
		return "extension"
	}
	return "plugin"
}

// scriptPrograms are the binaries that a script runs, each once.
func scriptPrograms(text []byte) []string {
	var all []string
	for _, word := range programs.FindAll(text, -1) {
		var path string
		if json.Unmarshal(word, &path) == nil && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// sameScript says whether two scripts differ in nothing but where the binaries
// lie.
func sameScript(a, b []byte) bool {
	bare := func(text []byte) []byte { return programs.ReplaceAll(text, []byte(`"$2"`)) }
	return bytes.Equal(bare(a), bare(b))
}

func isScript(text []byte) bool { return bytes.HasPrefix(text, []byte(scriptMark)) }

// rewrite makes text the script that is wanted, or nothing where none is.
func (f format) rewrite(old []byte, want []handler) (settings.Edit, []change, error) {
	switch {
	case old != nil && !isScript(old) && want != nil:
		return settings.Edit{}, nil, cli.Fail(cli.IO, errors.New("the file is there, and gt did not write it"))
	case old != nil && !isScript(old), old == nil && want == nil:
		return settings.Edit{Text: old}, nil, nil
	case want == nil:
		return settings.Edit{}, []change{{false, scripted(f, old)}}, nil
	case old == nil:
		return settings.Edit{Text: want[0].raw}, []change{{true, want[0]}}, nil
	case bytes.Equal(old, want[0].raw):
		return settings.Edit{Text: old}, nil, nil
	}
	return settings.Edit{Text: want[0].raw}, []change{{false, scripted(f, old)}, {true, want[0]}}, nil
}
