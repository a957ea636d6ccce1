// Package cli connects each gt program to its caller: input (Env), arguments (Run), and errors,
// which are one line on standard error and an exit code with the same meaning in every program.
//
// The messages follow git's and age's:
//
//	gt-prime: error: cannot read '/x/handoff': permission denied
//	gt-prime: hint: the folder belongs to another user
//
// They are lower case, name the error before its subject, and have no full stop. Text from
// outside is cleaned of control characters. Each message is one write.
package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/frame"
	"gt/lib/text/plain"
	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// Env is a program's only access to arguments, environment, clock and standard streams, so
// that a test can run it like a shell does.
type Env struct {
	Name       string   // the program's name, for messages
	Args       []string // without the name
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
	Environ    []string // "KEY=value", as from os.Environ
	Dir        string   // the working directory, absolute
	DirDeleted bool     // it was deleted, and Dir is the nearest remaining parent
	Now        func() time.Time

	// Started is the environment that the agent was started with which runs this program.
	// It is nil if a person runs it.
	Started []string

	cleaning sync.Once
	clean    func(string) string
}

// OS returns the Env of this process.
func OS() *Env {
	dir, err := os.Getwd()
	gone := err != nil
	if gone {
		dir = nearestParent(os.Getenv("PWD"))
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

// nearestParent returns the nearest existing parent of a deleted working directory.
func nearestParent(dir string) string {
	for filepath.IsAbs(dir) && dir != filepath.Dir(dir) {
		if dir = filepath.Dir(dir); atomicfile.IsFolder(dir) {
			return dir
		}
	}
	return "/"
}

// Getenv returns the value of a variable, or "". Like in a shell, the last of two settings counts.
func (e *Env) Getenv(key string) string { return process.Variable(e.Environ, key) }

// ChildEnviron returns the person's environment, for what is started for them: notify
// commands, checks, editors, clients. A project's client settings can add variables to
// Environ that name programs (BASH_ENV, NODE_OPTIONS); this leaves them out. Other gt
// programs get Environ, which identifies their session.
func (e *Env) ChildEnviron() []string {
	if e.Started != nil {
		return e.Started
	}
	return e.Environ
}

// Redact removes secrets, including secret values of this environment. Redact text from
// outside before writing it to a file, and before cutting it, because half a secret is not
// recognized. For printing, use Text, Line or Quoted.
func (e *Env) Redact(s string) string {
	e.cleaning.Do(func() { e.clean = redact.NewRedactor(e.Environ) })
	return e.clean(s)
}

// Text returns somebody's text for printing: redacted, and plain (see package plain).
func (e *Env) Text(s string) string { return plain.Text(e.Redact(s)) }

// Line is Text for one line of at most most characters.
func (e *Env) Line(s string, most int) string { return plain.Cut(plain.Line(e.Redact(s)), most) }

const maxQuoted = 120

const maxPlace = 400

// DisplayPath returns a path for a sentence: unchanged if it has only usual characters,
// else like Quoted.
func (e *Env) DisplayPath(path string) string {
	for _, r := range path {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+@~:", r) {
			return e.Quoted(path)
		}
	}
	return e.Line(path, maxPlace)
}

// Abs returns the absolute path of one that may be relative to the working directory.
func (e *Env) Abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(e.Dir, path)
}

// Quoted returns a name that others chose, such as a branch or subject, for a sentence of gt: one
// line in quotes, without quotes inside and without a tag that a model could take for its client's.
func (e *Env) Quoted(s string) string {
	return `"` + quotes.Replace(frame.Line(e.Line(s, maxQuoted))) + `"` // mutant without frame.Line: TestTold
}

// quotes replaces what ends a quoted name, or looks like it.
var quotes = strings.NewReplacer(`"`, "'", "“", "'", "”", "'", "„", "'", "‟", "'", "＂", "'")

func (e *Env) Warn(format string, args ...any) { e.printMessage("warning", format, args...) }

// WarnError writes err as a warning, joined errors as a line each. It writes nothing for nil.
func (e *Env) WarnError(err error) {
	if err != nil {
		e.printMessages("warning", splitJoined(err))
	}
}

// Hint writes what the reader can do about the message before.
func (e *Env) Hint(format string, args ...any) { e.printMessage("hint", format, args...) }

// Error writes an error. It does not change the exit code.
func (e *Env) Error(format string, args ...any) { e.printMessage("error", format, args...) }

// maxMessage bounds a message, in characters.
const maxMessage = 5000

// printMessage writes a message as a line, and joined errors as a line each, without duplicates.
func (e *Env) printMessage(kind, format string, args ...any) {
	if len(args) == 1 && format == "%v" {
		if err, ok := args[0].(error); ok {
			if all := splitJoined(err); len(all) > 1 {
				e.printMessages(kind, all)
				return
			}
			args = []any{describeFileError(err)}
		}
	}
	text := e.Line(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), maxMessage)
	io.WriteString(e.Stderr, e.Name+": "+kind+": "+text+"\n")
}

func (e *Env) printMessages(kind string, all []error) {
	printed := map[string]bool{}
	for _, err := range all {
		if !printed[err.Error()] {
			printed[err.Error()] = true
			e.printMessage(kind, "%v", err)
		}
	}
}

// describeFileError returns a system's error about a file in gt's own form, any other as it is.
func describeFileError(err error) error {
	bare := err
	if f, ok := err.(*failure); ok {
		bare = f.err
	}
	e, ok := bare.(*fs.PathError)
	if !ok {
		return err
	}
	verb, known := systemVerbs[e.Op]
	if !known {
		verb = "read"
	}
	return atomicfile.Error(verb, e.Path, e)
}

// systemVerbs are what calls of the system do that do not read.
var systemVerbs = map[string]string{
	"open": "open", "fork/exec": "run", "chdir": "enter", "mkdir": "create", "mkdirat": "create", "remove": "remove", "unlinkat": "remove",
	"write": "write", "truncate": "write", "sync": "write", "chmod": "change", "chown": "change", "lchown": "change", "chtimes": "change",
}

// splitJoined returns the errors that were joined into err, at any depth, or err alone.
func splitJoined(err error) []error {
	if f, ok := err.(*failure); ok && strings.Contains(f.err.Error(), "\n") { // joined, with a hint
		return splitJoined(f.err)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, err := range joined.Unwrap() {
		all = append(all, splitJoined(err)...)
	}
	return all
}

// Print writes text to standard output as it is.
func (e *Env) Print(text string) error {
	_, err := io.WriteString(e.Stdout, text)
	return err
}

// Printf formats to standard output.
func (e *Env) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(e.Stdout, format, args...)
	return err
}

// Println prints its arguments, and the end of a line, to standard output.
func (e *Env) Println(args ...any) error {
	_, err := fmt.Fprintln(e.Stdout, args...)
	return err
}

// JSON writes v to standard output as one line, for --json.
func (e *Env) JSON(v any) error { return term.WriteJSON(e.Stdout, v) }

// JSONLines writes each of all as JSON does, on a line of its own.
func JSONLines[T any](env *Env, all []T) error {
	for _, v := range all {
		if err := env.JSON(v); err != nil {
			return err
		}
	}
	return nil
}

// Confirm asks the person at the terminal. Unless the answer is yes, it returns an error with the
// text refusal. Without a terminal it returns that error, too, and hints that flag answers.
func (e *Env) Confirm(question, refusal, flag string) error {
	if !term.IsTerminal(e.Stdin) {
		return Fail(AnswerNo, errors.New(refusal+": there is no terminal to ask on"), flag+" answers for you")
	}
	fmt.Fprint(e.Stdout, question)
	answer, _ := bufio.NewReader(e.Stdin).ReadString('\n')
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return Failf(AnswerNo, "%s", refusal)
	}
	return nil
}

// ConfirmBusy asks the person before something that is at work is ended; lines say at what. Without
// a terminal it refuses. refusal says what was not done; --now answers for the person.
func (e *Env) ConfirmBusy(lines []string, refusal string) error {
	if !term.IsTerminal(e.Stdin) {
		return Fail(AnswerNo, errors.New(refusal+": "+strings.Join(lines, "; ")), "--now does it all the same")
	}
	return e.Confirm(strings.Join(lines, "\n")+"\nGo on? [y/N] ", refusal, "--now")
}
