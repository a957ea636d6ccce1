// Check runs every check that gt has, as test.sh starts it: the steps beside one
// another where the machine has room, a line for each with its time, and of one
// that failed all that it printed, in one piece.
//
//	check        what a newcomer runs: all that needs no client from npm, a sample
//	             of the sweeps, and Claude's main story where Claude Code is there
//	check -ci    what has to pass before a change lands
//	check -all   everything: all stories, all points, all mistakes
//
// -only 'vet|gofmt' runs the steps with such names.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"gt/internal/world"
)

// mode is how much is checked.
type mode int

const (
	quick mode = iota
	ci
	all
)

// A step is one check.
type step struct {
	name    string
	from    mode                   // the least mode that has it
	run     func(*printer) error   // prints what it has to say
	figures bool                   // what it printed is shown where all is well, too
	missing func() (reason string) // why it cannot be run here; with CI=true that is a failure
	spare   bool                   // … and is none
	waits   bool                   // it waits for most of its time, so it takes nobody's turn
}

// printer takes what a step prints.
type printer struct {
	bytes.Buffer
	ctx context.Context
}

// command runs a program in a folder of the project.
func (p *printer) command(dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(p.ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &p.Buffer, &p.Buffer
	// One that is told to end takes with it what it started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd.Run()
}

func (p *printer) goTest(args ...string) error {
	return p.command(".", nil, "go", append([]string{"test"}, args...)...)
}

func main() {
	landing := flag.Bool("ci", false, "what has to pass before a change lands")
	only := flag.String("only", "", "only the steps whose names match this expression")
	everything := flag.Bool("all", false, "all stories, all points, all mistakes")
	flag.Parse()
	how := quick
	switch {
	case *everything:
		how = all
	case *landing:
		how = ci
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(check(ctx, how, regexp.MustCompile(*only)))
}

func check(ctx context.Context, how mode, only *regexp.Regexp) int {
	began := time.Now()
	dir, err := os.MkdirTemp("", "gt-check-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	if !do(ctx, step{name: "the programs are built", run: func(*printer) error {
		for _, tag := range []string{"", "faults"} {
			if err := world.Build(".", filepath.Join(dir, tag), tag); err != nil {
				return err
			}
		}
		return nil
	}}) {
		return 1
	}
	os.Setenv(world.Built, dir)

	turns := make(chan bool, runtime.NumCPU())
	var done sync.WaitGroup
	var mu sync.Mutex
	var failed []string
	ran := 1
	start := func(s step) {
		defer done.Done()
		ok := do(ctx, s)
		mu.Lock()
		defer mu.Unlock()
		if ran++; !ok {
			failed = append(failed, s.name)
		}
	}
	for _, s := range steps(how) {
		if s.from > how || !only.MatchString(s.name) {
			continue
		}
		done.Add(1)
		if s.waits {
			go start(s)
			continue
		}
		turns <- true
		go func() {
			defer func() { <-turns }()
			start(s)
		}()
	}
	done.Wait()
	took := time.Since(began).Round(time.Second)
	if len(failed) > 0 {
		fmt.Printf("FAILED after %v: %s\n", took, strings.Join(failed, "; "))
		return 1
	}
	fmt.Printf("all %d checks passed in %v\n", ran, took)
	return 0
}

var printing sync.Mutex

// do runs a step and prints its line, and reports whether all is well.
func do(ctx context.Context, s step) bool {
	outcome, ok, p := "ok", true, &printer{ctx: ctx}
	began := time.Now()
	if s.missing != nil {
		if reason := s.missing(); reason != "" {
			outcome, ok = "left out", s.spare || os.Getenv("CI") != "true"
			p.WriteString(reason + "\n")
			s.figures = true
		}
	}
	if outcome == "ok" {
		if err := s.run(p); err != nil {
			outcome, ok = "FAILED", false
			fmt.Fprintln(p, err)
		}
	}
	printing.Lock()
	defer printing.Unlock()
	fmt.Printf("%-8s %6.1f s  %s\n", outcome, time.Since(began).Seconds(), s.name)
	for line := range strings.Lines(p.String()) {
		// What go test says of a package is wanted by who reads of a machine's run.
		if !ok || s.figures || strings.HasPrefix(line, "ok  \t") && os.Getenv("CI") == "true" {
			fmt.Print("    ", strings.TrimSuffix(line, "\n"), "\n")
		}
	}
	return ok
}
