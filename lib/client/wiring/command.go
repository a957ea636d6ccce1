package wiring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/conversation"
)

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

// request is the prompt. ARGS and PROGRAM are replaced.
const request = conversation.HandoffCommand + `

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
	program := quote(filepath.Join(dir, "gt-handoff"))
	fill := strings.NewReplacer("PROGRAM", program, "ARGS", c.Args)
	files := map[string][]byte{c.Path(folder): []byte(fill.Replace(c.Head+request) + c.Foot)}
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
	if dryRun {
		old, err := settings.Read(path)
		if err == nil {
			_, err = edit(old)
		}
		return own, changed, err
	}
	for range 5 {
		// Another gt-hooks may remove the empty folder meanwhile.
		if _, err = settings.Update(path, edit); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return own, changed, err
}

// PruneFolders removes the empty folders between a command's files and the client's
// folder.
func (c Command) PruneFolders(folder string) {
	for name := range c.Extra {
		prune(filepath.Dir(filepath.Join(folder, filepath.Dir(c.File), name)), folder)
	}
	prune(filepath.Dir(c.Path(folder)), folder)
}

// prune removes a folder and its parents below top while they are empty.
func prune(dir, top string) {
	for ; len(dir) > len(top); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil { // not empty, or missing
			return
		}
	}
}
