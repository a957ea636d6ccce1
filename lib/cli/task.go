package cli

import "runtime/debug"

// Task is work that is done beside its caller; see Go.
type Task struct {
	done   chan struct{}
	failed *failed
}

// failed is what a task panicked with, and where.
type failed struct {
	value any
	stack []byte
}

// Go runs f in a goroutine of its own. A panic in it would end the process with code
// 2, which an agent takes for "block"; here it waits for the caller, in Wait.
func Go(f func()) *Task {
	t := &Task{done: make(chan struct{})}
	go func() {
		defer close(t.done)
		defer func() {
			if r := recover(); r != nil {
				t.failed = &failed{r, debug.Stack()}
			}
		}()
		f()
	}()
	return t
}

// Done is closed when f has ended.
func (t *Task) Done() <-chan struct{} { return t.done }

// Wait waits for the end of f, and panics where f did.
func (t *Task) Wait() {
	<-t.done
	if t.failed != nil {
		panic(t.failed)
	}
}
