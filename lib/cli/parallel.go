package cli

import (
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// MaxWaitingTasks is how many tasks run at once that mostly wait, such as starts of agents. It is a
// variable for tests that need them one after the other.
var MaxWaitingTasks = 4

// Parallel calls do for each value, on all processors, and waits. It panics if do did.
func Parallel[T any](all []T, do func(T)) { ParallelAtMost(runtime.GOMAXPROCS(0), all, do) }

// ParallelAtMost is Parallel with at most so many calls at once. Below two it is sequential.
func ParallelAtMost[T any](most int, all []T, do func(T)) {
	workers := min(most, len(all))
	if workers < 2 {
		for _, v := range all {
			do(v)
		}
		return
	}
	var next atomic.Int64
	var tasks []*Task
	for range workers {
		tasks = append(tasks, Go(func() {
			for i := next.Add(1) - 1; i < int64(len(all)); i = next.Add(1) - 1 {
				do(all[i])
			}
		}))
	}
	for _, t := range tasks {
		t.Wait()
	}
}

// Numbers returns 0 to n-1.
func Numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Task is a running goroutine; see Go.
type Task struct {
	done     chan struct{}
	panicked *taskPanic
}

type taskPanic struct {
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
				t.panicked = &taskPanic{r, debug.Stack()}
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
	if t.panicked != nil {
		panic(t.panicked)
	}
}
