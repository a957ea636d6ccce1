package hooks

import (
	"path/filepath"
	"strings"

	"gt/hooks"
)

// A format is how one client takes its hooks: the shape of its file, and what a
// number in it means. Its wiring is the file of that name in the folder hooks.
type format struct {
	name   string
	shape  shape
	millis bool // its limits are in milliseconds
	either bool // its limits are in seconds, and from 1000 on in milliseconds
	// off is the setting that switches all hooks off when it is true, or, with
	// offByFalse, when it is not.
	off        string
	offByFalse bool
	compact    string // what a person types for a compaction
	comments   bool   // it takes a file that has comments, which gt refuses to change
	// next is what a person has to do before the hooks run.
	next string
}

type shape int

const (
	grouped shape = iota // {"hooks":{EVENT:[{"matcher":…,"hooks":[{…}]}]}}
	flat                 // {"version":1,"hooks":{event:[{…}]}}
	script               // a program of ours, the whole file
)

var formats = []format{
	{name: "claude", compact: "/compact", off: "disableAllHooks"},
	{name: "codex", compact: "/compact"},
	{name: "gemini", compact: "/compress", millis: true, off: "hooksConfig.enabled", offByFalse: true, comments: true},
	{name: "qwen", compact: "/compress", either: true, off: "disableAllHooks", comments: true},
	{name: "copilot", compact: "/compact", shape: flat, off: "disableAllHooks"},
	{name: "cursor", compact: "/compress", shape: flat},
	{name: "opencode", compact: "/compact", shape: script, next: "OpenCode loads a plugin when it starts: start it anew"},
	{name: "pi", compact: "/compact", shape: script, next: "pi loads an extension when it starts: start it anew, or type /reload"},
}

func formatOf(name string) (format, bool) {
	for _, f := range formats {
		if f.name == name {
			return f, true
		}
	}
	return format{}, false
}

// wiring is what the folder hooks has for the format.
func (f format) wiring() []byte {
	_, text := hooks.Of(f.name)
	return text
}

// lines are the keys under which a hook may have a command line, the one that
// is run here before the others.
var lines = []string{"bash", "command", "powershell"}

// limits are the keys under which a hook may have its time limit.
var limits = []string{"timeout", "timeoutSec"}

// quote writes a word for a shell.
func quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quotePowerShell writes a program for PowerShell, to which a quoted word is
// none.
func quotePowerShell(program string) string {
	if strings.Trim(program, plain) == "" {
		return program
	}
	return "& '" + strings.ReplaceAll(program, "'", "''") + "'"
}

// plain is what a word is made of that means itself to every shell.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,"

// split takes a command line apart: the file that it runs, and what stands
// behind that, as it is written.
func split(line string) (program, rest string) {
	var word strings.Builder
	var quoted byte
	line = strings.TrimLeft(line, "& \t\n") // PowerShell's & runs a quoted word
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == quoted:
			quoted = 0
		case quoted == 0 && (c == '"' || c == '\''):
			quoted = c
		case c == '\\' && quoted != '\'' && i+1 < len(line):
			i++
			word.WriteByte(line[i])
		case quoted == 0 && strings.IndexByte(" \t\n;&|<>()", c) >= 0:
			return word.String(), line[i:]
		default:
			word.WriteByte(c)
		}
	}
	return word.String(), ""
}

// bare is the command line with the name of the program in the place of its
// path: what it does, wherever the program lies.
func bare(line string) string {
	program, rest := split(line)
	return filepath.Base(program) + rest
}
