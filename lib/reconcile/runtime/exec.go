package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/lib/launch/launcher"
	"gt/lib/reconcile/tick"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

// Exec runs agents with a program that is called with a word (start, stop, alive, attach,
// peek, send, command, last) and reads JSON from its standard input. docs/reconcile-exec.md
// describes the protocol.
type Exec struct {
	Program string // absolute
	Dir     string // its working folder
	Environ []string
	Limits  Limits
}

// Limits bound each call.
type Limits struct {
	Start, Stop, Alive, Other time.Duration
}

// Deadlines are the usual Limits. A start may have to fetch an image.
var Deadlines = Limits{Start: 2 * time.Minute, Stop: 30 * time.Second, Alive: 10 * time.Second, Other: 30 * time.Second}

// NewExec finds the program of "exec:PROGRAM", a name on the PATH or an absolute path. It
// refuses a program in the town's folder or in a project, because others could write there
// and so decide what gt runs.
func NewExec(program, town string, environ []string) (Exec, error) {
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		return Exec{}, fmt.Errorf("the runtime '%s' is neither a name nor an absolute path", program)
	}
	path, err := process.LookPath(program, town, environ)
	if err != nil {
		return Exec{}, err
	}
	if process.LeadsThroughProject(path, town, environ) {
		return Exec{}, fmt.Errorf("the runtime '%s' lies in a project; install it outside", path)
	}
	return Exec{Program: path, Dir: town, Environ: environ, Limits: Deadlines}, nil
}

// Version is the protocol's version.
const Version = 1

type request struct {
	Version  int          `json:"version"`
	Session  *sessionRef  `json:"session,omitempty"`
	Sessions []sessionRef `json:"sessions,omitempty"`
	Agent    *agentSpec   `json:"agent,omitempty"`
	Grace    int          `json:"grace,omitempty"` // of stop, in seconds
	Text     string       `json:"text,omitempty"`
}

type sessionRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type agentSpec struct {
	Client string            `json:"client"`
	Dir    string            `json:"dir"`
	Args   []string          `json:"args"`
	Env    map[string]string `json:"env"`
}

// Exit statuses of the program.
const (
	codeNo   = 1  // it does not run; for start, another has its name
	codeBusy = 75 // it cannot be known now
	codeWord = 80 // unsupported word
)

// maxOutput bounds the program's output, in bytes.
const maxOutput = 8 << 20

// run calls the program and returns its output. Exit statuses become the errors of Runtime.
func (e Exec) run(ctx context.Context, word string, within time.Duration, c request) (string, error) {
	c.Version = Version
	input, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	r, err := bounded.Program{
		Path: e.Program, Args: []string{word}, Dir: e.Dir, Env: e.Environ, Input: append(input, '\n'), Within: within, Most: maxOutput,
	}.Run(ctx)
	var failed *bounded.Failed
	switch {
	case err == nil:
		return string(r.Out), nil
	case !errors.As(err, &failed):
		return "", fmt.Errorf("%w: '%s %s': %w", ErrUnknown, e.Program, word, err)
	case failed.Code == codeNo && word == "start":
		return "", fmt.Errorf("%w: '%s %s': %w", ErrTaken, e.Program, word, err)
	case failed.Code == codeNo:
		return "", fmt.Errorf("%w: '%s %s': %w", ErrNone, e.Program, word, err)
	case failed.Code == codeBusy:
		return "", fmt.Errorf("%w: '%s %s': %w", ErrUnknown, e.Program, word, err)
	case failed.Code == codeWord && (word == "command" || word == "last"):
		return "", fmt.Errorf("%w: '%s' knows no '%s'", ErrCannot, e.Program, word)
	}
	return "", fmt.Errorf("'%s %s': %w", e.Program, word, err)
}

// runFor runs the program for one session.
func (e Exec) runFor(ctx context.Context, word string, within time.Duration, r Ref, c request) (string, error) {
	if err := r.Check(); err != nil {
		return "", err
	}
	c.Session = &sessionRef{r.ID, r.Name}
	return e.run(ctx, word, within, c)
}

// Start implements Runtime. The program gets only the agent's own variables, none of this machine's.
func (e Exec) Start(ctx context.Context, a Agent) error {
	d := agentSpec{Client: a.Agent, Dir: a.Run.Dir, Args: launcher.WrapCommand(a.Run.Launcher, a.Run.Args), Env: map[string]string{}}
	for _, kv := range a.Vars {
		d.Env[kv[0]] = kv[1]
	}
	_, err := e.runFor(ctx, "start", e.Limits.Start, a.Ref, request{Agent: &d})
	return err
}

// Stop implements Runtime.
func (e Exec) Stop(ctx context.Context, r Ref) error {
	_, err := e.runFor(ctx, "stop", e.Limits.Stop, r, request{Grace: int(Grace / time.Second)})
	if errors.Is(err, ErrNone) {
		return nil
	}
	return err
}

// Status implements Remote with one call for all.
func (e Exec) Status(ctx context.Context, refs []Ref) []Status {
	if len(refs) == 0 {
		return nil
	}
	var c request
	for _, r := range refs {
		if err := r.Check(); err != nil {
			return unknownStatuses(len(refs), err)
		}
		c.Sessions = append(c.Sessions, sessionRef{r.ID, r.Name})
	}
	out, err := e.run(ctx, "alive", e.Limits.Alive, c)
	if err != nil {
		return unknownStatuses(len(refs), err)
	}
	reported := map[string]Status{}
	for line := range strings.Lines(out) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		s := Status{}
		for _, word := range words[2:] {
			s.applyWord(word)
		}
		switch words[1] {
		case "yes":
			s.Alive = tick.Alive
		case "no":
			s.Alive = tick.Dead
		}
		if before, twice := reported[words[0]]; twice && before.Alive != s.Alive {
			s = Status{} // unknown: the lines contradict each other
		}
		reported[words[0]] = s
	}
	all := make([]Status, len(refs))
	for i, r := range refs {
		s, ok := reported[r.ID]
		if !ok || s.Alive == tick.Unknown {
			s.Err = fmt.Errorf("%w: '%s alive' does not say", ErrUnknown, e.Program)
		}
		all[i] = s
	}
	return all
}

// applyWord sets what one word behind the "yes" or "no" of a session says. It ignores unknown
// words, and numbers that are too large for a Duration or a date.
func (s *Status) applyWord(word string) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "attached":
		s.Attached = true
	case "asks":
		s.Asks, s.Busy = true, "its turn waits for an answer"
	case "busy":
		s.Busy = "its turn runs"
	case "limited":
		s.Limited = true
		if seconds, err := strconv.ParseInt(value, 10, 40); err == nil && seconds > 0 {
			s.Until = time.Unix(seconds, 0).UTC()
		}
	case "idle":
		if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
			s.Waits, s.Idle = true, time.Duration(seconds)*time.Second
		}
	}
}

// Attach implements Remote.
func (e Exec) Attach(r Ref) error {
	if err := r.Check(); err != nil {
		return err
	}
	return process.Exec(e.Dir, []string{e.Program, "attach", r.ID, r.Name}, e.Environ)
}

// Peek implements Remote.
func (e Exec) Peek(ctx context.Context, r Ref) (string, error) {
	return e.runFor(ctx, "peek", e.Limits.Other, r, request{})
}

// Send implements Remote.
func (e Exec) Send(ctx context.Context, r Ref, text string) error {
	_, err := e.runFor(ctx, "send", e.Limits.Other, r, request{Text: text})
	return err
}

// Command implements Remote.
func (e Exec) Command(ctx context.Context, r Ref, text string) error {
	_, err := e.runFor(ctx, "command", e.Limits.Other, r, request{Text: text})
	return err
}

// LastAnswer implements Remote.
func (e Exec) LastAnswer(ctx context.Context, r Ref) (string, error) {
	return e.runFor(ctx, "last", e.Limits.Other, r, request{})
}
