package cli

import "runtime/debug"

// Task is a running goroutine; see Go.
type Task struct {
	done   chan struct{}
	failed *failed
}

type failed struct {
	value any
	stack []byte
}

// Go runs f in a goroutine. A panic in it would end the process with code 2, which an agent
// takes for "block". Wait panics instead.
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

// Wait waits for f, and panics if it did.
func (t *Task) Wait() {
	<-t.done
	if t.failed != nil {
		panic(t.failed)
	}
}
