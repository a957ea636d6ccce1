package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// apart lists the test packages that have their own step.
var apart = []string{"gt", "gt/attacks", "gt/faults", "gt/mutants"}

// steps returns all checks, the longest first.
func steps(how mode) []step {
	// A newcomer's run leaves out some of the many cases of the same kind, which CI has.
	sample := func(args ...string) []string {
		switch how {
		case all:
			return append(args, "-full")
		case quick:
			return append(args, "-short")
		}
		return args
	}
	packages, raced, err := packages()
	return []step{
		{name: "stories", proves: "with the real clients", waits: true, figures: true, run: func(p *printer) error { return stories(p, how) }},
		{name: "faults", proves: "every command, killed and failed at its system calls", figures: true, run: func(p *printer) error {
			points := map[mode]string{quick: "quick", ci: "ci", all: "full"}[how]
			return figures(p, "-timeout", "120m", "./faults", "-sample", points, "-turn", fmt.Sprint(day()))
		}},
		{name: "scenarios", proves: "hostile places, many at once, the installation (.)", figures: true, run: func(p *printer) error {
			return twice(p, sample("-timeout", "40m", ".")...)
		}},
		{name: "attacks", proves: "what a stranger can bring", figures: true, run: func(p *printer) error {
			args := []string{"-timeout", "20m"}
			if how == quick {
				args = append(args, "-short")
			}
			return twice(p, append(args, "./attacks")...)
		}},
		{name: "mutants", proves: "mistakes, put back one at a time", from: ci, figures: true, run: func(p *printer) error {
			// All of them take half an hour, so CI runs a twelfth: another one each day.
			of, turn := 12, day()%12
			if how == all {
				of, turn = 1, 0
			}
			fmt.Fprintf(p, "mistakes: those of turn %d of %d\n", turn+1, of)
			return figures(p, "-timeout", "90m", "./mutants", "-mutants", "-sample", fmt.Sprint(of), "-turn", fmt.Sprint(turn))
		}},
		{name: "packages", proves: fmt.Sprintf("the tests of %d", len(packages)), run: func(p *printer) error {
			if err != nil {
				return err
			}
			return p.goTest(append([]string{"-timeout", "20m"}, packages...)...)
		}},
		{name: "race", from: ci, proves: fmt.Sprintf("%d packages with goroutines, under the race detector", len(raced)), missing: func() string {
			if _, err := exec.LookPath(compiler()); err != nil {
				return "the race detector needs a C compiler"
			}
			return ""
		}, run: func(p *printer) error {
			// What takes many cases to prove was proved without the detector, which is
			// ten times slower: -short. Each process of the detector's waits for a second
			// before it ends, and some tests start hundreds.
			return p.command(".", []string{"CGO_ENABLED=1", "GORACE=atexit_sleep_ms=10"}, "go", append([]string{"test", "-race", "-short", "-vet", "off", "-timeout", "20m"}, raced...)...)
		}},
		{name: "staticcheck", missing: cannotHave("staticcheck", ".", "run", staticcheck, "-version"), run: func(p *printer) error {
			return p.command(".", nil, "go", "run", staticcheck, "-tags", "e2e", "./...")
		}},
		{name: "bench/redact", proves: "the table of secrets, judged by the rules of a scanner", missing: cannotHave("the scanner", "bench/redact", "mod", "download"), run: module("bench/redact")},
		{name: "bench/sqlite", proves: "the reader of SQLite files, judged by SQLite", missing: cannotHave("SQLite", "bench/sqlite", "mod", "download"), run: module("bench/sqlite")},
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

// failing finds the tests that failed, in the output of go test.
var failing = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// twice runs tests in which many programs run at once, or one has a few seconds, so that
// other work of the machine can make one fail. Those that fail run once more; both
// outcomes are printed, and a second failure counts.
func twice(p *printer, args ...string) error {
	first := &printer{ctx: p.ctx}
	err := first.goTest(args...)
	p.Write(first.Bytes())
	var names []string
	for _, m := range failing.FindAllStringSubmatch(first.String(), -1) {
		names = append(names, m[1])
	}
	if err == nil || len(names) == 0 || p.ctx.Err() != nil {
		return err
	}
	fmt.Fprintf(p, "failed: %s; once more\n", strings.Join(names, ", "))
	if err := p.goTest(append(args, "-count", "1", "-run", "^("+strings.Join(names, "|")+")$")...); err != nil {
		return errors.New("tests failed twice")
	}
	fmt.Fprintf(p, "%s: failed, then passed\n", strings.Join(names, ", "))
	return nil
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

// figures runs tests whose figures are shown even if they pass, without the other output of
// go test -v.
func figures(p *printer, args ...string) error {
	all := &printer{ctx: p.ctx}
	err := all.goTest(append([]string{"-v"}, args...)...)
	for line := range strings.Lines(all.String()) {
		passing := strings.HasPrefix(strings.TrimSpace(line), "--- PASS") || strings.HasPrefix(line, "=== ")
		detail := strings.HasPrefix(line, "    ") // of a test, which a passing one's sum is made of
		if !passing && (err != nil || !detail) {
			p.WriteString(line)
		}
	}
	return err
}

// begun finds a goroutine that is begun, in the code or in a test.
var begun = regexp.MustCompile(`(?m)^\s*(?:defer )?go (?:func\(|[\w.]+\()|\bcli\.Go\(|\bt\.Parallel\(\)`)

// packages are all that have tests and no step of their own, and those of lib that have
// goroutines, in the code or in a test.
func packages() (all, raced []string, err error) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}|{{.Dir}}|{{join .GoFiles " "}}|{{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}`, "./...").Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		path, dir, code, tests := fields[0], fields[1], strings.Fields(fields[2]), strings.Fields(fields[3])
		if len(tests) == 0 || slices.Contains(apart, path) {
			continue
		}
		all = append(all, path)
		if !strings.HasPrefix(path, "gt/lib/") {
			continue // programs that check and measure, whose tests start no goroutine
		}
		goroutines := false
		for _, file := range append(code, tests...) {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return nil, nil, err
			}
			goroutines = goroutines || begun.Match(data)
		}
		if goroutines {
			raced = append(raced, path)
		}
	}
	return all, raced, nil
}
