package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// ownSteps lists the test packages that have their own step.
var ownSteps = []string{"gt", "gt/attacks", "gt/faults", "gt/mutants"}

// waiting is how many tests of a suite run at a time that spends half of its time waiting:
// for tmux, for what a client is given, for strace, for another host.
var waiting = strconv.Itoa(2 * runtime.NumCPU())

// fewer is the flag with which tests leave out some of many cases of the same kind, which
// CI has.
const fewer = "-short"

// steps returns all checks, the longest first.
func steps(how mode) []step {
	packages, err := listPackages()
	raced := packages.raced
	if how == ci { // every second one, the others on the next day
		raced = nil
		for i := day() % 2; i < len(packages.raced); i += 2 {
			raced = append(raced, packages.raced[i])
		}
	}
	newest := &newestTmux{}
	return []step{
		{name: "stories", proves: "with the real clients", waits: true, figures: true, run: func(p *printer) error { return stories(p, how) }},
		{name: "faults", proves: "every command, killed and failed at its system calls", figures: true, missing: func() string {
			if _, err := exec.LookPath("strace"); err != nil && runtime.GOOS == "linux" {
				return "strace is not here"
			}
			return ""
		}, run: func(p *printer) error {
			points := map[mode]string{quick: "quick", ci: "ci", all: "full"}[how]
			return p.test(suite{flags: []string{"-timeout", "120m", "-parallel", waiting}, packages: []string{"./faults"}, args: []string{"-sample", points, "-turn", fmt.Sprint(day())}})
		}},
		{name: "scenarios", proves: "hostile places, many at once, the installation (.)", figures: true, run: func(p *printer) error {
			s := suite{flags: []string{"-timeout", "40m", "-parallel", waiting}, packages: []string{"."}}
			switch how {
			case quick:
				s.flags = append(s.flags, fewer)
			case all:
				s.args = []string{"-full"}
			}
			return p.test(s)
		}},
		{name: "attacks", proves: "what a stranger can bring", figures: true, run: func(p *printer) error {
			s := suite{flags: []string{"-timeout", "20m", "-parallel", waiting}, packages: []string{"./attacks"}}
			if how == quick {
				s.flags = append(s.flags, fewer)
			}
			return p.test(s)
		}},
		// Many a test notices a mistake by waiting in vain.
		{name: "mutants", proves: "mistakes in lines that keep a promise, one at a time", from: ci, waits: true, figures: true, run: func(p *printer) error {
			// All of them take ten minutes and more, so CI runs one in 24: another one each day.
			of, turn := 24, day()%24
			if how == all {
				of, turn = 1, 0
			}
			fmt.Fprintf(p, "mistakes: those of turn %d of %d\n", turn+1, of)
			return p.test(suite{flags: []string{"-timeout", "90m"}, packages: []string{"./mutants"}, args: []string{"-mutants", "-sample", fmt.Sprint(of), "-turn", fmt.Sprint(turn)}})
		}},
		{name: "year", proves: "a simulated year of a town of ten templates", from: all, run: func(p *printer) error {
			return p.test(suite{flags: []string{"-timeout", "30m", "-run", "TestYear"}, packages: []string{"./lib/reconcile/perform"}, args: []string{"-year", "1"}})
		}},
		{name: "soak", proves: "an hour of pools whose agents fail in each way, alone", from: all, figures: true, run: func(p *printer) error {
			return p.test(suite{flags: []string{"-timeout", "90m", "-v", "-run", "TestSoak"}, packages: []string{"."}, args: []string{"-soak", "1h"}})
		}},
		{name: "storm", proves: "notes and logs between hosts, ten minutes of cuts, delays and duplicates", from: all, run: func(p *printer) error {
			return p.test(suite{flags: []string{"-timeout", "30m", "-run", "TestStorm"}, packages: []string{"./lib/relay"}, args: []string{"-storm", "10m"}})
		}},
		{name: "newest tmux", proves: "sessions and hand-overs with the newest that Debian has", from: all, figures: true, spare: true, missing: newest.fetch, run: newest.run},
		{name: "packages", proves: fmt.Sprintf("the tests of %d", len(packages.alone)+len(packages.tmux)), run: func(p *printer) error {
			if err != nil {
				return err
			}
			// Nothing that others have made runs in the first: one that fails now and then is
			// a mistake of ours.
			return errors.Join(
				p.test(suite{flags: []string{"-timeout", "20m", "-parallel", waiting}, packages: packages.alone, once: how == ci}),
				p.test(suite{flags: []string{"-timeout", "20m"}, packages: packages.tmux}))
		}},
		{name: "race", from: ci, proves: fmt.Sprintf("%d packages with goroutines, under the race detector", len(raced)), missing: func() string {
			if _, err := exec.LookPath(compiler()); err != nil {
				return "the race detector needs a C compiler"
			}
			return ""
		}, run: func(p *printer) error {
			// What takes many cases to prove was proved without the detector, which is
			// ten times slower. Each process of the detector's waits for a second before
			// it ends, and some tests start hundreds.
			return p.test(suite{flags: []string{"-race", fewer, "-timeout", "20m", "-parallel", waiting}, packages: raced, env: []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=10"}})
		}},
		{name: "ordinary user", proves: "what root may do anyway", from: ci, spare: true, missing: notOrdinary, run: ordinary},
		{name: "staticcheck", missing: cannotHave("staticcheck", ".", "run", staticcheck, "-version"), run: func(p *printer) error {
			return p.command(".", nil, "go", "run", staticcheck, "-tags", "e2e", "./...")
		}},
		{name: "bench/redact", proves: "the table of secrets, judged by the rules of a scanner", missing: cannotHave("the scanner", "bench/redact", "mod", "download"), run: module("bench/redact")},
		{name: "bench/otlp", from: ci, proves: "gt-record's traces, read by OpenTelemetry's collector", missing: cannotHave("the collector's reader", "bench/otlp", "mod", "download"), run: module("bench/otlp")},
		{name: "go vet", proves: "for this system and for macOS", run: func(p *printer) error {
			// With the tag, because no file is excluded by it.
			return errors.Join(p.command(".", nil, "go", "vet", "-tags", "e2e", "./..."),
				p.command(".", []string{"GOOS=darwin"}, "go", "vet", "./..."))
		}},
		{name: "gofmt", run: func(p *printer) error {
			if err := p.command(".", nil, "gofmt", "-l", "."); err != nil || p.Len() > 0 {
				return errors.Join(errors.New("these files are not formatted"), err)
			}
			return nil
		}},
		{name: "shellcheck", spare: true, missing: func() string {
			if _, err := exec.LookPath("shellcheck"); err != nil {
				return "shellcheck is not here"
			}
			return ""
		}, run: func(p *printer) error {
			return p.command(".", nil, "shellcheck", "install.sh", "test.sh", ".ci/run")
		}},
	}
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

// cannotHave returns a function that runs a go command which fetches something. The
// function returns why that failed, or "".
func cannotHave(what, dir string, args ...string) func() string {
	return func() string {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Sprintf("cannot fetch %s: %v\n%s", what, err, out)
		}
		return ""
	}
}

// module returns a check of a separate module, so that gt does not depend on the programs
// that it is compared with.
func module(dir string) func(*printer) error {
	return func(p *printer) error {
		return errors.Join(p.command(dir, nil, "go", "vet", "./..."), p.command(dir, nil, "go", "test", "./..."))
	}
}

// goroutine matches code that starts a goroutine.
var goroutine = regexp.MustCompile(`(?m)^\s*(?:defer )?go (?:func\(|[\w.]+\()|\bcli\.Go\(|\bt\.Parallel\(\)`)

// packageList has the packages that have tests.
type packageList struct {
	alone []string // nothing but their own code runs in their tests
	tmux  []string // tmux does as well
	raced []string // of both, those with goroutines
}

// listPackages lists the packages whose tests are no step of their own.
func listPackages() (l packageList, err error) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}|{{.Dir}}|{{join .GoFiles " "}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}`, "./...").Output()
	if err != nil {
		return l, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		path, dir, code, tests := fields[0], fields[1], strings.Fields(fields[2]), strings.Fields(fields[3])
		if len(tests) == 0 || slices.Contains(ownSteps, path) {
			continue
		}
		inCode, err := contains(dir, code, goroutine)
		inTests, terr := contains(dir, tests, goroutine)
		withTmux, merr := contains(dir, tests, tmuxTest)
		if err := errors.Join(err, terr, merr); err != nil {
			return l, err
		}
		if withTmux {
			l.tmux = append(l.tmux, path)
		} else {
			l.alone = append(l.alone, path)
		}
		// Of those outside of lib, which check and measure, no test starts a goroutine.
		if strings.HasPrefix(path, "gt/lib/") && (inCode || inTests) {
			l.raced = append(l.raced, path)
		}
	}
	return l, nil
}

// contains reports whether one of a folder's files has a match of an expression.
func contains(dir string, files []string, expression *regexp.Regexp) (bool, error) {
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return false, err
		}
		if expression.Match(data) {
			return true, nil
		}
	}
	return false, nil
}

// tmuxTest matches a test that runs tmux.
var tmuxTest = regexp.MustCompile(`"gt/lib/sys/tmux"|testenv\.Tmux\(|"tmux"|^package tmux`)
