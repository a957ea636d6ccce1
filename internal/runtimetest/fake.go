// Package runtimetest has a runtime that runs nothing, with faults on demand, and the
// checks that every runtime has to pass.
package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/tick"
)

// Fake is a runtime that only notes what runs. The zero value is none; see New.
type Fake struct {
	// Now is the clock. Start takes no time by it.
	Now func() time.Time
	// Faults is asked before each call, with the word that Exec has for it; nil for none.
	// It is called without a lock and may change the fake. Of alive the ref is empty.
	Faults func(word string, r runtime.Ref) Fault

	mu   sync.Mutex
	runs map[string]*Run // by server and name
}

// Fault is what goes wrong with a call.
type Fault struct {
	Err error
	// Done reports whether the call does its work all the same, and its answer is lost.
	Done bool
	// Late is after what time an agent that is started runs. Until then nothing tells of it.
	Late time.Duration
	// Ends reports whether an agent that is started ends at once.
	Ends bool
}

// Run is what runs.
type Run struct {
	runtime.Agent
	Since    time.Time // from when it is seen
	Hidden   bool      // nothing tells whether it runs
	Attached bool
}

// New returns a fake in which nothing runs.
func New(now func() time.Time) *Fake {
	return &Fake{Now: now, runs: map[string]*Run{}}
}

func key(r runtime.Ref) string { return r.Server + "\t" + r.Name }

// begin asks for a call's fault. The lock is held when it returns.
func (f *Fake) begin(word string, r runtime.Ref) Fault {
	var fault Fault
	if f.Faults != nil {
		fault = f.Faults(word, r)
	}
	f.mu.Lock()
	return fault
}

// Start notes that an agent runs.
func (f *Fake) Start(ctx context.Context, a runtime.Agent) error {
	if err := errors.Join(a.Check(), ctx.Err()); err != nil {
		return err
	}
	fault := f.begin("start", a.Ref)
	defer f.mu.Unlock()
	if fault.Err != nil && !fault.Done {
		return fault.Err
	}
	switch had := f.runs[key(a.Ref)]; {
	case had == nil:
	case had.ID == a.ID:
		return fault.Err
	default:
		return fmt.Errorf("%w: %s", runtime.ErrTaken, a.Name)
	}
	if fault.Ends {
		return errors.New("the agent ended at once")
	}
	f.runs[key(a.Ref)] = &Run{Agent: a, Since: f.Now().Add(fault.Late)}
	return fault.Err
}

// Stop notes that an agent does not run.
func (f *Fake) Stop(ctx context.Context, r runtime.Ref) error {
	if err := errors.Join(r.Check(), ctx.Err()); err != nil {
		return err
	}
	fault := f.begin("stop", r)
	defer f.mu.Unlock()
	if run := f.runs[key(r)]; run != nil && run.ID == r.ID && (fault.Err == nil || fault.Done) {
		delete(f.runs, key(r))
	}
	return fault.Err
}

// Status tells what runs.
func (f *Fake) Status(ctx context.Context, refs []runtime.Ref) []runtime.Status {
	fault := f.begin("alive", runtime.Ref{})
	defer f.mu.Unlock()
	all := make([]runtime.Status, len(refs))
	for i, r := range refs {
		run := f.runs[key(r)]
		switch err := errors.Join(fault.Err, r.Check(), ctx.Err()); {
		case err != nil:
			all[i].Err = err
		case run == nil, run.ID != r.ID, run.Since.After(f.Now()):
			all[i].Alive = tick.Dead
		case run.Hidden:
			all[i].Err = runtime.ErrUnknown
		default:
			all[i] = runtime.Status{Alive: tick.Alive, Attached: run.Attached}
		}
	}
	return all
}

// Running returns a copy of what runs, by the ids of the sessions; what is late counts.
func (f *Fake) Running() map[string]Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string]Run{}
	for _, run := range f.runs {
		all[run.ID] = *run
	}
	return all
}

// Change changes what runs under a name, and reports whether anything does.
func (f *Fake) Change(r runtime.Ref, do func(*Run)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[key(r)]
	if run != nil {
		do(run)
	}
	return run != nil
}

// Crash ends what runs under a name, and reports whether anything did.
func (f *Fake) Crash(r runtime.Ref) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ran := f.runs[key(r)]
	delete(f.runs, key(r))
	return ran
}

// Reboot ends all that runs.
func (f *Fake) Reboot() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.runs)
}
