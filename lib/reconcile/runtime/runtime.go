// Package runtime runs the agents of sessions: in tmux, or by a program of the person that
// reaches a container, another machine or a scheduler (see Exec).
//
// Every call may be repeated after it was interrupted. Unknown is never treated as no.
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

// Ref names a session's runtime. The session's record holds it before the agent starts, so
// that an interrupted start is found again.
type Ref struct {
	// ID is the session's, in the form of instance.Variable: the store's Name of its id.
	ID string
	// Name is the tmux session's, unique on the server.
	Name   string
	Server string // tmux's socket; "" for the default
	Agent  string // the client's name
}

// Agent is an agent to start.
type Agent struct {
	Ref
	// Run is the start on this machine, with the whole environment.
	Run respawn.Run
	// Vars are the agent's own variables, such as its template's. A runtime that starts it
	// elsewhere passes on no others.
	Vars [][2]string
	// Shared are variables for the whole tmux session. None is secret.
	Shared [][2]string
	// Environ is for a tmux server that has to be started.
	Environ []string
	// HookReported reports whether a hook of the agent has run; nil if it has no hooks.
	HookReported func() bool
}

// Status is what a Remote reports of an agent.
type Status struct {
	Alive    tick.Liveness
	Attached bool  // a person looks at it
	Err      error // why Alive is unknown

	// What the runtime reports for an agent without hooks:
	Waits   bool // it has been idle for Idle
	Idle    time.Duration
	Asks    bool      // it waits for a person's answer
	Busy    string    // what an end would cut off: a turn, a command; "" if nothing is known
	Limited bool      // its account is at a usage limit
	Until   time.Time // end of the limit; zero if unknown
}

// Runtime runs agents. Its methods are safe for concurrent use.
type Runtime interface {
	// Start starts an agent and returns once it runs. An agent that already runs is no
	// error. ErrTaken means that something else has its name.
	Start(context.Context, Agent) error
	// Stop ends the agent and its descendants, and kills them after Grace. An agent that
	// does not run is no error. Stop leaves everything else alone.
	Stop(context.Context, Ref) error
}

// Remote is a Runtime whose agents may have neither a pane nor a process on this machine.
// Only it knows what they do.
type Remote interface {
	Runtime
	// Status returns the status of each ref, in order. The number of calls does not depend
	// on the number of refs.
	Status(context.Context, []Ref) []Status
	// Attach replaces this process by one that shows the agent in this terminal. It returns
	// only on failure.
	Attach(Ref) error
	// Peek returns the agent's screen, or ErrNone.
	Peek(context.Context, Ref) (string, error)
	// Send gives the agent a prompt, or returns ErrNone.
	Send(context.Context, Ref, string) error
	// Command gives the agent a command of its client, such as /compact. Command and LastAnswer
	// return ErrCannot if the runtime does not support them.
	Command(context.Context, Ref, string) error
	// LastAnswer returns the agent's last message, or "".
	LastAnswer(context.Context, Ref) (string, error)
}

// Grace is how long an agent has to end by itself.
const Grace = 5 * time.Second

// Errors of a runtime.
var (
	ErrNone  = errors.New("it is not running")
	ErrTaken = errors.New("something else has its name")
	// ErrUnknown means that nothing is known, not even whether the call did anything.
	ErrUnknown = errors.New("it is not known")
	// ErrCannot means that the runtime does not support the call.
	ErrCannot = errors.New("its runtime cannot do that")
)

// Check returns an error for an invalid ref.
func (r Ref) Check() error {
	if err := instance.CheckName(r.Name); err != nil {
		return err
	}
	if r.ID == "" || strings.ContainsAny(r.ID, " \t\n:\x00") {
		return fmt.Errorf("invalid session '%.100s'", r.ID)
	}
	return nil
}

func unknownStatuses(n int, err error) []Status {
	all := make([]Status, n)
	for i := range all {
		all[i].Err = err
	}
	return all
}
