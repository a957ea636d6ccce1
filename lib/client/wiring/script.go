package wiring

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/text/lazyregexp"
)

const scriptMark = "// gt: written by gt-hooks"

// programs matches the binaries in a script, which are words in double quotes.
var programs = lazyregexp.New(`"((?:[^"\\\n]|\\.)*/)?(` + strings.Join(Binaries, "|") + `)"`)

// script returns the client's text with the binaries' folder and the agent's flags.
func (c Client) script(dir string, flags []string) []byte {
	text := programs().ReplaceAllFunc(c.Text, func(word []byte) []byte {
		name := programs().FindSubmatch(word)[2]
		return literal(filepath.Join(dir, string(name)))
	})
	var words [][]byte
	for _, f := range flags {
		words = append(words, literal(f))
	}
	named := []byte(`"--agent", "` + c.Name + `"`)
	return bytes.ReplaceAll(text, named, bytes.Join(words, []byte(", ")))
}

func literal(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return text
}

func (c Client) scripted(text []byte) Handler {
	return Handler{Event: c.ScriptKind, Binary: "gt", Command: "the whole file", Args: []string{}, Raw: text, Line: 1, script: true}
}

// scriptPrograms returns the binaries that a script runs, each once.
func scriptPrograms(text []byte) []string {
	var all []string
	for _, word := range programs().FindAll(text, -1) {
		var path string
		if json.Unmarshal(word, &path) == nil && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// sameScript reports whether two scripts differ only in the binaries' folder.
func sameScript(a, b []byte) bool {
	bare := func(text []byte) []byte { return programs().ReplaceAll(text, []byte(`"$2"`)) }
	return bytes.Equal(bare(a), bare(b))
}

func isScript(text []byte) bool { return bytes.HasPrefix(text, []byte(scriptMark)) }

// errForeign keeps gt from overwriting another program's file.
var errForeign = errors.New("the file exists, and gt did not write it")

// rewrite replaces the script by want, or removes it if want is nil.
func (c Client) rewrite(old []byte, want []Handler) (settings.Edit, []Change, error) {
	switch {
	case old != nil && !isScript(old) && want != nil:
		return settings.Edit{}, nil, errForeign
	case old != nil && !isScript(old), old == nil && want == nil:
		return settings.Edit{Text: old}, nil, nil
	case want == nil:
		return settings.Edit{}, []Change{{false, c.scripted(old)}}, nil
	case old == nil:
		return settings.Edit{Text: want[0].Raw}, []Change{{true, want[0]}}, nil
	case bytes.Equal(old, want[0].Raw):
		return settings.Edit{Text: old}, nil, nil
	}
	return settings.Edit{Text: want[0].Raw}, []Change{{false, c.scripted(old)}, {true, want[0]}}, nil
}
