// Package runtime runs the agents of sessions: in tmux, or by a program of the person's
// that reaches a container, another machine or a scheduler (see Exec).
//
// Every call may be made again after one that was cut short. What cannot be found out is
// not known, which is never the same as no.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/launch/respawn"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
)

// Ref names what runs the agent of a session. The session's record holds all of it before
// the agent is started, so that a start that was cut short is found again.
type Ref struct {
	// ID is the session's, as instance.Variable has it: the store's Name of its id.
	ID string
	// Name is what runs it is called: the session of tmux. Nothing else on the server has
	// it.
	Name   string
	Server string // of tmux: its socket, "" for tmux's own default
	Agent  string // the client's name
}

// Agent is an agent that is to be started.
type Agent struct {
	Ref
	// Run is how it is started on this machine, with its whole environment.
	Run respawn.Run
	// Vars are the variables that are its own, such as its template's. A runtime that starts
	// it somewhere else passes on no others.
	Vars [][2]string
	// Shared are those that what else is started in its session of tmux has as well. None
	// is secret.
	Shared [][2]string
	// Environ is the environment of a tmux server that has to be started.
	Environ []string
	// HookReported reports whether a hook of the agent has told that it runs; nil where none does.
	HookReported func() bool
}

// Status is what a Remote tells of an agent.
type Status struct {
	Alive    tick.Liveness
	Attached bool  // somebody looks at it
	Err      error // why it is not known

	// What a runtime tells of an agent that does not tell it itself.
	Waits   bool // it has had nothing to do for Idle
	Idle    time.Duration
	Asks    bool      // it waits for somebody's answer
	Limited bool      // its account is at a limit
	Until   time.Time // when that ends; zero where it is not told
}

// Runtime runs agents. Its methods may be called at the same time.
type Runtime interface {
	// Start starts an agent and returns when it was seen to run. That the session's agent
	// runs already is no error; ErrTaken says that something else has its name.
	Start(context.Context, Agent) error
	// Stop ends the agent and all that it started: it is asked to, and after Grace it is
	// killed. That it does not run is no error, and what is not the session's stays.
	Stop(context.Context, Ref) error
}

// Remote is a Runtime whose agents have neither a pane nor a process on this machine, for
// all that is known: it alone tells what they do.
type Remote interface {
	Runtime
	// Status finds out which of them run, however many in the same number of calls. The
	// statuses are in the order of the refs.
	Status(context.Context, []Ref) []Status
	// Attach becomes what shows the agent in this terminal. It returns only an error.
	Attach(Ref) error
	// Peek returns what the agent shows; ErrNone where it does not run.
	Peek(context.Context, Ref) (string, error)
	// Send gives a prompt to the agent; ErrNone where it does not run.
	Send(context.Context, Ref, string) error
	// Command gives the agent a command of its client's own, such as /compact. Like Last it
	// returns ErrCannot if the runtime does not know how.
	Command(context.Context, Ref, string) error
	// Last returns what the agent said last; "" where it has said nothing.
	Last(context.Context, Ref) (string, error)
}

// Grace is how long an agent has to end by itself.
const Grace = 5 * time.Second

// Errors of a runtime.
var (
	ErrNone  = errors.New("it is not running")
	ErrTaken = errors.New("something else has its name")
	// ErrUnknown says that nothing is known, also not whether anything was done.
	ErrUnknown = errors.New("it is not known")
	// ErrCannot says that the runtime does not know how.
	ErrCannot = errors.New("its runtime cannot do that")
)

// Check reports what is wrong with a ref.
func (r Ref) Check() error {
	if err := instance.CheckName(r.Name); err != nil {
		return err
	}
	if r.ID == "" || strings.ContainsAny(r.ID, " \t\n:\x00") {
		return fmt.Errorf("invalid session '%.100s'", r.ID)
	}
	return nil
}

// unknown are the statuses of refs of which nothing is known.
func unknown(n int, err error) []Status {
	all := make([]Status, n)
	for i := range all {
		all[i].Err = err
	}
	return all
}
