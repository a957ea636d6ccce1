// Package cli is how every gt binary meets its caller: what it is given (Env),
// how it is told what to do (Run), and how it answers when something is wrong
// (one line on standard error and an exit code that means the same in every
// binary).
//
// The voice on standard error follows git and age:
//
//	gt-prime: error: cannot read '/x/handoff': permission denied
//	gt-prime: hint: the folder belongs to another user
//
// in lower case, the error before its subject, no full stop, what came from
// outside cleaned of control characters, and each message in a single write.
package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"gt/lib/sys/process"
	"gt/lib/text/frame"
	"gt/lib/text/plain"
	"gt/lib/text/redact"
)

// Env is all that a binary knows of the world around it. A binary reads its
// arguments, environment, clock and standard streams from here and nowhere
// else, so that it can be run by a test as it is run by a shell.
type Env struct {
	Name       string   // the binary's name, as it stands in its messages
	Args       []string // the arguments, without the name
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
	Environ    []string         // "KEY=value", as os.Environ gives it
	Dir        string           // the working directory, absolute
	DirDeleted bool             // it was deleted, and Dir is what is left of it
	Now        func() time.Time // the clock

	// Started is the environment with which the agent was started that runs this program;
	// nil where a person does, whose environment Environ is.
	Started []string

	cleaning sync.Once
	clean    func(string) string
}

// OS is the world as the operating system presents it.
func OS() *Env {
	dir, err := os.Getwd()
	gone := err != nil
	if gone {
		dir = left(os.Getenv("PWD"))
	}
	process.Distrust(dir)
	return &Env{
		Args:       os.Args[1:],
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
		Environ:    os.Environ(),
		Dir:        dir,
		DirDeleted: gone,
		Now:        time.Now,
	}
}

// left is what is left of a working directory that was deleted: the nearest
// folder above it.
func left(dir string) string {
	for filepath.IsAbs(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
	}
	return "/"
}

// Getenv returns the value of a variable, empty when it is unset. As in a
// shell, the last of two settings wins.
func (e *Env) Getenv(key string) string {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(e.Environ[i], "="); ok && k == key {
			return v
		}
	}
	return ""
}

// ChildEnviron returns the environment of what is started for the person: notify commands,
// checks, editors, clients. It is the person's own. What a project's own settings of a
// client add to the environment of its hooks and commands is not in it, for that can name
// programs (BASH_ENV, NODE_OPTIONS). Other programs of gt's get Environ: it says which
// session they belong to.
func (e *Env) ChildEnviron() []string {
	if e.Started != nil {
		return e.Started
	}
	return e.Environ
}

// Redact removes the secrets from data, among them the secret values of this
// environment. Text from outside passes through it before it is written to a file, and
// before it is cut, because half a secret is not recognised. Data without a secret is
// unchanged; what is told or printed of it passes through Text, Line or Quoted.
func (e *Env) Redact(s string) string {
	e.cleaning.Do(func() { e.clean = redact.Of(e.Environ) })
	return e.clean(s)
}

// Text returns somebody else's text as it may be told: without secrets, and plain (see
// package plain).
func (e *Env) Text(s string) string { return plain.Text(e.Redact(s)) }

// Line is Text for one line of at most most characters, whatever room they take.
func (e *Env) Line(s string, most int) string { return plain.Cut(plain.Line(e.Redact(s)), most) }

// maxQuoted bounds a name within a sentence.
const maxQuoted = 120

// maxPlace bounds a path.
const maxPlace = 400

// DisplayPath returns a path as it stands in a sentence: as it is where no sentence could
// be made of it, else as Quoted does.
func (e *Env) DisplayPath(path string) string {
	for _, r := range path {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@~:", r) {
			return e.Quoted(path)
		}
	}
	return e.Line(path, maxPlace)
}

// Quoted returns a name that others chose, a branch's, a subject, as it stands in
// a sentence of gt's own: a line between quotes, of which none is within, nor a tag
// that a model takes for its client's.
func (e *Env) Quoted(s string) string {
	return `"` + quotes.Replace(frame.Line(e.Line(s, maxQuoted))) + `"`
}

// quotes are what ends a quoted name, or looks like it.
var quotes = strings.NewReplacer(`"`, "'", "“", "'", "”", "'", "„", "'", "‟", "'", "＂", "'")

// Warn writes a warning; the binary goes on.
func (e *Env) Warn(format string, args ...any) { e.printMessage("warning", format, args...) }

// Hint writes what the reader can do about the message before it.
func (e *Env) Hint(format string, args ...any) { e.printMessage("hint", format, args...) }

// Error writes an error; the caller decides what becomes of the exit code.
func (e *Env) Error(format string, args ...any) { e.printMessage("error", format, args...) }

// maxMessage bounds a message: it says what is wrong, and does not repeat a megabyte.
const maxMessage = 5000

// printMessage writes a message in a line, and several errors that were joined in a line
// each, but none twice.
func (e *Env) printMessage(kind, format string, args ...any) {
	if len(args) == 1 && format == "%v" {
		if err, ok := args[0].(error); ok {
			if all := split(err); len(all) > 1 {
				e.each(kind, all)
				return
			}
		}
	}
	text := e.Line(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), maxMessage)
	io.WriteString(e.Stderr, e.Name+": "+kind+": "+text+"\n")
}

func (e *Env) each(kind string, all []error) {
	said := map[string]bool{}
	for _, err := range all {
		if !said[err.Error()] {
			said[err.Error()] = true
			e.printMessage(kind, "%v", err)
		}
	}
}

// split returns the errors that were joined to err; itself where none were.
func split(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, split(err)...)
	}
	return all
}
