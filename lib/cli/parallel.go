package cli

import (
	"runtime"
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
