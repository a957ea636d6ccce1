package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/text/term"
)

// A board tells a person how far the checks are: a line for each step with its time,
// and in between which steps run and for how long. In a terminal that is a status
// line, rewritten each second; elsewhere a step has a line when it begins, too, and
// the status comes once a minute.
type board struct {
	out      io.Writer
	width    int  // of the terminal
	terminal bool // out is one

	mu      sync.Mutex
	began   time.Time
	running []*started
	done    int
	of      int // steps in all
}

// started is a step that runs.
type started struct {
	name  string
	since time.Time
}

func newBoard(out io.Writer, steps int) *board {
	b := &board{out: out, began: time.Now(), of: steps}
	if b.terminal = term.IsTerminal(out) && os.Getenv("TERM") != "dumb"; b.terminal {
		if b.width = term.Width(out, os.Getenv); b.width == 0 {
			b.width = 80
		}
	}
	return b
}

// every is the time from one status to the next.
func (b *board) every() time.Duration {
	if b.terminal {
		return time.Second
	}
	return time.Minute
}

// begin notes that a step runs now.
func (b *board) begin(s step) *started {
	b.mu.Lock()
	defer b.mu.Unlock()
	run := &started{s.name, time.Now()}
	b.running = append(b.running, run)
	if !b.terminal {
		fmt.Fprintf(b.out, "%-8s %6s    %s\n", "begun", "", s)
	}
	return run
}

// end prints the line of a step that is over, with its time and the time of CPU that its
// programs used, and what it has to show.
func (b *board) end(run *started, s step, outcome string, cpu time.Duration, lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done++
	b.running = slices.DeleteFunc(b.running, func(r *started) bool { return r == run })
	var all strings.Builder
	if b.terminal {
		all.WriteString("\r\x1b[K") // over the status
	}
	fmt.Fprintf(&all, "%-8s %6.1f s  %s", outcome, time.Since(run.since).Seconds(), s)
	if cpu > 0 {
		fmt.Fprintf(&all, " (%.0f s of CPU)", cpu.Seconds())
	}
	all.WriteString("\n")
	for _, line := range lines {
		fmt.Fprint(&all, "    ", line, "\n")
	}
	io.WriteString(b.out, all.String())
}

// tell prints the status.
func (b *board) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	var names []string
	for _, r := range b.running {
		names = append(names, fmt.Sprintf("%s %v", r.name, now.Sub(r.since).Round(time.Second)))
	}
	text := fmt.Sprintf("%-8s %6.0f s  %d of %d done; %s", "running", now.Sub(b.began).Seconds(), b.done, b.of, strings.Join(names, ", "))
	if b.terminal {
		text = "\r\x1b[K" + term.Cut(text, b.width-1)
	} else {
		text += "\n"
	}
	io.WriteString(b.out, text)
}

// follow prints the status again and again, until the function that it returns is
// called.
func (b *board) follow() (stop func()) {
	tick := time.NewTicker(b.every())
	over, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-tick.C:
				b.tell()
			case <-over:
				return
			}
		}
	}()
	return func() {
		tick.Stop()
		close(over)
		<-ended
		if b.terminal {
			io.WriteString(b.out, "\r\x1b[K")
		}
	}
}
