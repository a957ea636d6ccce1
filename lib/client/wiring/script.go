package wiring

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/conversation"
	"gt/lib/text/lazyregexp"
)

const scriptMark = "// gt: written by gt-hooks"

// programWords matches the binaries in a script, which are words in double quotes.
var programWords = lazyregexp.New(`"((?:[^"\\\n]|\\.)*/)?(` + strings.Join(Binaries, "|") + `)"`)

// renderScript returns the client's script: c.Text with the folder dir before the binaries' names,
// and with flags in place of "--agent", "NAME".
func (c Client) renderScript(dir string, flags []string) []byte {
	text := programWords().ReplaceAllFunc(c.Text, func(word []byte) []byte {
		name := programWords().FindSubmatch(word)[2]
		return jsonString(filepath.Join(dir, string(name)))
	})
	var words [][]byte
	for _, f := range flags {
		words = append(words, jsonString(f))
	}
	named := []byte(`"--agent", "` + c.Name + `"`)
	return bytes.ReplaceAll(text, named, bytes.Join(words, []byte(", ")))
}

func jsonString(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return text
}

func (c Client) scriptHandler(text []byte) Handler {
	return Handler{Event: c.ScriptKind, Binary: "gt", Command: "the whole file", Args: []string{}, Raw: text, Line: 1, script: true}
}

// scriptPrograms returns the binaries that a script runs, each once.
func scriptPrograms(text []byte) []string {
	var all []string
	for _, word := range programWords().FindAll(text, -1) {
		var path string
		if json.Unmarshal(word, &path) == nil && !slices.Contains(all, path) {
			all = append(all, path)
		}
	}
	return all
}

// sameScript reports whether two scripts differ only in the binaries' folder.
func sameScript(a, b []byte) bool {
	bare := func(text []byte) []byte { return programWords().ReplaceAll(text, []byte(`"$2"`)) }
	return bytes.Equal(bare(a), bare(b))
}

func isScript(text []byte) bool { return bytes.HasPrefix(text, []byte(scriptMark)) }

// errForeign keeps gt from overwriting another program's file.
var errForeign = errors.New("the file exists, and gt did not write it")

// rewriteScript replaces the script old by want[0], or removes it if want is nil. It returns the
// edit of the file, which leaves another program's as it is, and the changes to report.
func (c Client) rewriteScript(old []byte, want []Handler) (settings.Edit, []Change, error) {
	switch {
	case old != nil && !isScript(old) && want != nil:
		return settings.Edit{}, nil, errForeign
	case old != nil && !isScript(old), old == nil && want == nil: // none of ours to remove
		return settings.Edit{Text: old}, nil, nil
	case want == nil:
		return settings.Edit{}, []Change{{false, c.scriptHandler(old)}}, nil
	case old == nil:
		return settings.Edit{Text: want[0].Raw}, []Change{{true, want[0]}}, nil
	case bytes.Equal(old, want[0].Raw):
		return settings.Edit{Text: old}, nil, nil
	}
	return settings.Edit{Text: want[0].Raw}, []Change{{false, c.scriptHandler(old)}, {true, want[0]}}, nil
}

func quoteShell(word string) string {
	if word != "" && strings.Trim(word, unquotedChars) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// quotePowerShell quotes a program for PowerShell, for which a quoted word is a string
// unless & precedes it.
func quotePowerShell(program string) string {
	if strings.Trim(program, unquotedChars) == "" {
		return program
	}
	return "& '" + strings.ReplaceAll(program, "'", "''") + "'"
}

// unquotedChars are the characters that no shell interprets.
const unquotedChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+,"

// PluginSearch begins a command line of our plugins. A client that no shell started has a PATH
// without the folders that people install gt into, so the line looks there too. It leaves PATH as it
// is, by which the program tells how the agent can call it. In sh: Codex runs hooks with $SHELL.
const PluginSearch = `sh -c 'for d in "" "$HOME/.local/bin/" /opt/homebrew/bin/ /usr/local/bin/; do ` +
	`command -v "$d$0" >/dev/null && exec "$d$0" "$@"; done`

// SplitCommand returns the program of a command line without its quotes, and the rest unchanged.
// Behind PluginSearch, that is the program that PluginSearch looks for.
func SplitCommand(line string) (program, rest string) {
	if strings.HasPrefix(line, PluginSearch) {
		_, line, _ = strings.Cut(line, "' ")
	}
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

// bareLine returns a command line with the program's name in place of its path.
func bareLine(line string) string {
	program, rest := SplitCommand(line)
	return filepath.Base(program) + rest
}

// A Command is what a person types to have the agent write a hand-over note and hand
// over. It is a file of ours in the client's folder.
type Command struct {
	File  string // below the client's folder
	Typed string // what the person types
	// Head and Foot surround the text that all clients share. PROGRAM in Head becomes the
	// program's path. Args is the client's placeholder for the rest of the typed line.
	Head, Args, Foot string
	// Extra are other files that the client needs beside it, by name.
	Extra map[string]string
}

// commandMark is the line that marks a command's file as ours.
const commandMark = "# gt: written by gt-hooks"

// handoffPrompt is the prompt. ARGS and PROGRAM are replaced.
const handoffPrompt = conversation.HandoffCommand + `

Run one command with your shell tool, and nothing else:

    PROGRAM -s 'SUBJECT' -m 'NOTE'

It saves the note and puts a fresh agent into this terminal, which reads the note first
and knows nothing else of this session.

- SUBJECT is one line: what the work is, and how far it is.
- NOTE is all that the next session needs: what the person wants and what they ruled out;
  what is done; what comes next; what was decided, and why; what was tried and failed;
  which files, functions, tests and branches matter. No passwords and keys.
- Inside the quotes, write '\'' for a single quote.
- If the person names another agent below, such as codex, add: --to AGENT
- If the command fails, tell the person what it printed, and stop.

` + conversation.HandoffArguments + `ARGS
`

func (c Command) Path(folder string) string { return filepath.Join(folder, c.File) }

// Files returns the command's files in a client's folder, by path. dir is the binaries'
// folder.
func (c Command) Files(folder, dir string) map[string][]byte {
	program := quoteShell(filepath.Join(dir, "gt-handoff"))
	fill := strings.NewReplacer("PROGRAM", program, "ARGS", c.Args)
	files := map[string][]byte{c.Path(folder): []byte(fill.Replace(c.Head+handoffPrompt) + c.Foot)}
	for name, text := range c.Extra {
		files[filepath.Join(folder, filepath.Dir(c.File), name)] = []byte(text)
	}
	return files
}

// IsCommand reports whether gt wrote a command's file.
func IsCommand(text []byte) bool {
	head := text[:min(len(text), 1024)]
	return bytes.HasPrefix(head, []byte(commandMark+"\n")) || bytes.Contains(head, []byte("\n"+commandMark+"\n"))
}

// WriteCommand writes a command's file, or removes it if text is nil. It leaves a file
// that gt did not write; own is then false. changed reports whether the file changed, or
// would with dryRun.
func WriteCommand(path string, text []byte, dryRun bool) (own, changed bool, err error) {
	own = true
	edit := func(old []byte) (settings.Edit, error) {
		if own = old == nil || IsCommand(old); !own || bytes.Equal(old, text) {
			changed = false
			return settings.Edit{Text: old}, nil
		}
		changed = old != nil || text != nil
		return settings.Edit{Text: text}, nil
	}
	for range 5 {
		// Another gt-hooks may remove the empty folder meanwhile.
		if _, err = Update(path, edit, dryRun); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return own, changed, err
}

// Update is settings.Update; dryRun only calls edit.
func Update(path string, edit func([]byte) (settings.Edit, error), dryRun bool) (backup string, err error) {
	if !dryRun {
		return settings.Update(path, edit)
	}
	old, err := settings.Read(path)
	if err == nil {
		_, err = edit(old)
	}
	return "", err
}

// PruneFolders removes the empty folders between a command's files and the client's
// folder.
func (c Command) PruneFolders(folder string) {
	for name := range c.Extra {
		PruneFolders(filepath.Dir(filepath.Join(folder, filepath.Dir(c.File), name)), folder)
	}
	PruneFolders(filepath.Dir(c.Path(folder)), folder)
}

// PruneFolders removes a folder and its parents below top while they are empty.
func PruneFolders(dir, top string) {
	for ; len(dir) > len(top); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil { // not empty, or missing
			return
		}
	}
}
