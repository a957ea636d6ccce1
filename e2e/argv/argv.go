// Package argv watches the command lines of a test's processes, for what must
// not be seen there: anyone on a machine can read them.
package argv

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Process is a process with the arguments that it had at some moment.
type Process struct {
	PID  int
	PPID int
	Args []string
}

// String is the command line, cut where it is long.
func (p Process) String() string {
	return fmt.Sprintf("%d (of %d) %.300q", p.PID, p.PPID, p.Args)
}

// ContainsText reports whether text stands in one of the arguments.
func (p Process) ContainsText(text string) bool {
	return slices.ContainsFunc(p.Args, func(a string) bool { return strings.Contains(a, text) })
}

// Watcher reads /proc again and again and keeps each command line it sees of
// the processes of one world: those that have its HOME in their environment,
// and what descends from them.
type Watcher struct {
	mark []byte // HOME=… as it stands in an environment
	stop chan struct{}
	done chan struct{}

	foreign map[int]bool // looked at, and not of this world
	ours    map[int]bool
	seen    map[string]bool
	found   []Process
	rounds  int
}

// Shortest is the pause between two looks that sees most of the short processes. It
// takes most of a processor.
const Shortest = 500 * time.Microsecond

// Watch starts watching the processes whose HOME is home, with a pause between two
// looks.
func Watch(home string, pause time.Duration) *Watcher {
	w := &Watcher{
		mark: []byte("\x00HOME=" + home + "\x00"), stop: make(chan struct{}), done: make(chan struct{}),
		foreign: map[int]bool{}, ours: map[int]bool{}, seen: map[string]bool{},
	}
	go func() {
		defer close(w.done)
		for {
			select {
			case <-w.stop:
				return
			default:
				w.look()
				time.Sleep(pause) // leaves the processor to those it watches
			}
		}
	}()
	return w
}

// Stop ends the watch and returns what was seen, each command line once, and
// how often it looked.
func (w *Watcher) Stop() (found []Process, rounds int) {
	close(w.stop)
	<-w.done
	return w.found, w.rounds
}

func (w *Watcher) look() {
	w.rounds++
	proc, err := os.Open("/proc")
	if err != nil {
		return
	}
	names, _ := proc.Readdirnames(-1)
	proc.Close()
	foreign, ours := map[int]bool{}, map[int]bool{} // those that are still there
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if w.foreign[pid] {
			foreign[pid] = true
			continue
		}
		dir := "/proc/" + name
		ppid := parent(dir)
		if ppid == 0 {
			continue // gone, or the kernel's own
		}
		if !w.ours[pid] && !w.ours[ppid] && !w.hasProcess(dir) {
			// A process shows its parent's environment until it has become
			// the program that it is to be: the young ones are looked at
			// again.
			if !young(dir) {
				foreign[pid] = true
			}
			continue
		}
		ours[pid] = true
		cmdline, err := os.ReadFile(dir + "/cmdline")
		if err != nil || len(cmdline) == 0 {
			continue
		}
		key := name + " " + string(cmdline)
		if !w.seen[key] {
			w.seen[key] = true
			args := strings.Split(strings.TrimSuffix(string(cmdline), "\x00"), "\x00")
			w.found = append(w.found, Process{pid, ppid, args})
		}
	}
	w.foreign, w.ours = foreign, ours
}

// hasProcess reports whether a process has this world's HOME.
func (w *Watcher) hasProcess(dir string) bool {
	env, err := os.ReadFile(dir + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, env...), w.mark)
}

// parent is the number of a process's parent, 0 when it cannot be known.
func parent(dir string) int {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return 0
	}
	// The name stands in parentheses and may hold anything.
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(") "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(string(fields[1]))
	return ppid
}

// young reports whether a process began within the last second.
func young(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && time.Since(info.ModTime()) < time.Second
}
