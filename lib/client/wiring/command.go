package wiring

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/client/settings"
)

// A Command is what a person types in a client to have its agent write a hand-over note
// and hand over. It is a file of ours in the client's folder.
type Command struct {
	File  string // below the client's folder
	Typed string // what the person types
	// Head and Foot stand around the text that all clients share; PROGRAM in Head becomes
	// the program's path. Args is what the client puts the rest of the typed line in the
	// place of.
	Head, Args, Foot string
	// Extra are other files that the client wants beside it, by their names.
	Extra map[string]string
}

// commandMark is the line by which a file of a command is ours.
const commandMark = "# gt: written by gt-hooks"

// request is what the agent is asked to do. ARGS and PROGRAM are replaced.
const request = `The person asks you to hand this session's work over to a fresh session, now.

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

What the person adds, if anything: ARGS
`

// Path returns the file of the command in a client's folder.
func (c Command) Path(folder string) string { return filepath.Join(folder, c.File) }

// Files returns what the command consists of in a client's folder, by path, with the
// binaries in dir.
func (c Command) Files(folder, dir string) map[string][]byte {
	program := quote(filepath.Join(dir, "gt-handoff"))
	fill := strings.NewReplacer("PROGRAM", program, "ARGS", c.Args)
	files := map[string][]byte{c.Path(folder): []byte(fill.Replace(c.Head+request) + c.Foot)}
	for name, text := range c.Extra {
		files[filepath.Join(folder, filepath.Dir(c.File), name)] = []byte(text)
	}
	return files
}

// IsCommand reports whether gt wrote the text of a command's file.
func IsCommand(text []byte) bool {
	head := text[:min(len(text), 1024)]
	return bytes.HasPrefix(head, []byte(commandMark+"\n")) || bytes.Contains(head, []byte("\n"+commandMark+"\n"))
}

// WriteCommand makes a file of a command what it should be, or removes it where text is
// nil. A file that gt did not write stays: own is false then. changed reports whether
// anything was changed, or would be where dryRun is set.
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
		// Another gt-hooks may remove the folder as an empty one meanwhile.
		if _, err = settings.Update(path, edit); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return own, changed, err
}

// PruneFolders removes the folders between a command's files and the client's folder that
// are empty.
func (c Command) PruneFolders(folder string) {
	for name := range c.Extra {
		prune(filepath.Dir(filepath.Join(folder, filepath.Dir(c.File), name)), folder)
	}
	prune(filepath.Dir(c.Path(folder)), folder)
}

// prune removes a folder and those above it, below top, as far as they are empty.
func prune(dir, top string) {
	for ; len(dir) > len(top); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil { // it is not empty, or not there
			return
		}
	}
}
