// Check runs gt's checks for test.sh. It runs as many steps at a time as there are
// processors, prints a line with the time for each, and all output of a step that fails.
// The last lines name what failed; the very last is the result.
//
//	check        for newcomers: everything that needs no client from npm, a sample of
//	             the sweeps, and Claude's main story if Claude Code is installed
//	check -ci    what must pass before a change lands
//	check -all   everything: all stories, all points, all mistakes
//
// -only 'vet|gofmt' runs only the steps whose names match.
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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gt/internal/testenv"
	"gt/lib/text/term"
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
	name    string                 // a word or two
	proves  string                 // what it checks, for a reader who does not know the name
	from    mode                   // the smallest mode that includes it
	run     func(*printer) error   // writes its output to the printer
	figures bool                   // its output is shown even if it passes
	missing func() (reason string) // why it cannot run here; with CI=true that is a failure
	spare   bool                   // it may be missing even with CI=true
	waits   bool                   // it mostly waits, so it does not occupy a processor
}

func (s step) String() string {
	if s.proves == "" {
		return s.name
	}
	return s.name + ": " + s.proves
}

// printer collects the output of a step.
type printer struct {
	bytes.Buffer
	ctx context.Context
	cpu time.Duration // that its programs have used
}

// command runs a program in a folder of the project.
func (p *printer) command(dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(p.ctx, name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	return p.run(cmd)
}

// run runs a program that was made with the printer's context.
func (p *printer) run(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = &p.Buffer, &p.Buffer
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A process group, so that the programs which it started are stopped, too.
	cmd.SysProcAttr.Setpgid = true
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if s := cmd.ProcessState; s != nil {
		p.cpu += s.UserTime() + s.SystemTime()
	}
	return err
}

func main() {
	landing := flag.Bool("ci", false, "run what must pass before a change lands")
	only := flag.String("only", "", "run only the steps whose names match this regular expression")
	everything := flag.Bool("all", false, "run all stories, all points, all mistakes")
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
	dir, err := os.MkdirTemp("", "gt-check-")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // for an ordinary user's tests
		fmt.Println(err)
		return 1
	}
	// As install.sh builds them. So what the tests link is compiled once, not with C and
	// again without, and a binary of tests that is also the clients it starts by the
	// thousand is there in two thirds of the time.
	os.Setenv("CGO_ENABLED", "0")
	all := slices.DeleteFunc(steps(how), func(s step) bool { return s.from > how || !only.MatchString(s.String()) })

	b := newBoard(os.Stdout, len(all)+1)
	stop := b.follow()
	results := []result{b.do(ctx, step{name: "build", proves: "the programs of all suites", run: func(*printer) error {
		for _, tag := range []string{"", "faults"} {
			if err := testenv.Build(filepath.Join(dir, tag), tag, "gt/cmd/..."); err != nil {
				return err
			}
		}
		return nil
	}})}
	if results[0].outcome == ok {
		os.Setenv(testenv.Built, dir)
		results = append(results, runAll(ctx, b, all)...)
	}
	stop()

	took := time.Since(b.began).Round(time.Second)
	if names := named(results, failed); len(names) > 0 {
		for _, r := range results { // again, because a log may be cut in the middle
			for _, line := range r.failures {
				fmt.Printf("%s: %s\n", r.step, line)
			}
		}
		fmt.Printf("FAILED after %v: %s\n", took, strings.Join(names, ", "))
		return 1
	}
	closing := fmt.Sprintf("%d checks passed in %v", len(named(results, ok)), took)
	if names := named(results, leftOut); len(names) > 0 {
		closing += "; left out: " + strings.Join(names, ", ")
	}
	fmt.Println(closing)
	return 0
}

// runAll runs steps, as many at a time as there are processors; those that mostly wait
// run beside them.
func runAll(ctx context.Context, b *board, all []step) []result {
	turns := make(chan bool, runtime.NumCPU())
	results := make([]result, len(all))
	var done sync.WaitGroup
	for i, s := range all {
		if !s.waits {
			turns <- true
		}
		done.Go(func() {
			results[i] = b.do(ctx, s)
			if !s.waits {
				<-turns
			}
		})
	}
	done.Wait()
	return results
}

// The outcomes of steps.
const (
	ok      = "ok"
	failed  = "FAILED"
	leftOut = "left out"
)

type result struct {
	step     string
	outcome  string
	failures []string // lines that name what failed
}

// failure matches a line that names what failed, as gotestsum and go test print it, and
// where matches one that says why.
var (
	failure = regexp.MustCompile(`^(=== FAIL: |FAIL\t|panic: |WARNING: DATA RACE)`)
	where   = regexp.MustCompile(`^\s*\w+_test\.go:\d+: `)
)

// maxWhere bounds the lines that say why one test failed.
const maxWhere = 3

// failuresIn returns the lines of an output that name what failed, each with a few that say
// why.
func failuresIn(output string) (failures []string) {
	whys := 0
	for line := range strings.Lines(output) {
		switch {
		case failure.MatchString(line):
			whys = 0
		case where.MatchString(line) && whys < maxWhere:
			whys++
		default:
			continue
		}
		failures = append(failures, term.Cut(strings.TrimSpace(line), 300))
	}
	return failures
}

// named returns the names of the steps with an outcome.
func named(results []result, outcome string) (names []string) {
	for _, r := range results {
		if r.outcome == outcome {
			names = append(names, r.step)
		}
	}
	return names
}

// do runs a step, which it shows on the board.
func (b *board) do(ctx context.Context, s step) result {
	run := b.begin(s)
	outcome, p, show := ok, &printer{ctx: ctx}, s.figures
	if s.missing != nil {
		if reason := s.missing(); reason != "" {
			outcome, show = leftOut, true
			if !s.spare && os.Getenv("CI") == "true" {
				outcome = failed
			}
			p.WriteString(reason + "\n")
		}
	}
	if outcome == ok {
		if err := s.run(p); err != nil {
			outcome, show = failed, true
			fmt.Fprintln(p, err)
		}
	}
	var lines, failures []string
	if outcome == failed {
		failures = failuresIn(p.String())
	}
	for line := range strings.Lines(p.String()) {
		// In CI, the log also lists the packages that passed.
		if show || strings.HasPrefix(line, "ok  \t") && os.Getenv("CI") == "true" {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	b.end(run, s, outcome, p.cpu, lines)
	return result{s.name, outcome, failures}
}
