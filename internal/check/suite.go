package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A suite is tests that one call of go test runs.
type suite struct {
	flags    []string // of go test
	packages []string
	args     []string // of the tests themselves
	env      []string // variables beside those of check
	run      []string // only these tests, or subtests such as TestScripts/prime_alone; all if empty
}

// A failure is a test that failed, or its subtest where it has some that failed.
type failure struct {
	pkg, name string
	said      string // all output of it and of its subtests
}

func (f failure) String() string { return f.pkg + " " + f.name }

// An outcome is what one run of a suite came to.
type outcome struct {
	passed  int // tests, not their subtests
	failed  []failure
	outside string // what was printed outside of tests: figures, results of packages, why it does not build
	err     error
}

// test runs a suite. It prints what failed first, in short, for what comes first in a log
// is what people see of it; then the figures. Tests that fail run once more, because in
// many of them programs run at once, or clients of other people's making, and other work
// of the machine can make one fail. Both outcomes are printed, and a second failure
// counts. What the race detector reports counts the first time: a race that shows once is
// there.
func (p *printer) test(s suite) error {
	first := p.once(s)
	p.report(first)
	if first.err == nil || len(first.failed) == 0 || first.raced() || p.ctx.Err() != nil {
		return first.err
	}
	again := s
	again.flags = append(slices.Clone(s.flags), "-count", "1")
	again.packages, again.run = nil, nil
	for _, f := range first.failed {
		again.run = append(again.run, f.name)
		if !slices.Contains(again.packages, f.pkg) {
			again.packages = append(again.packages, f.pkg)
		}
	}
	fmt.Fprintf(p, "once more: %s\n", join(first.failed))
	second := p.once(again)
	for _, f := range first.failed {
		failed := slices.ContainsFunc(second.failed, func(g failure) bool { return g.String() == f.String() })
		if !failed && (second.err == nil || len(second.failed) > 0) {
			fmt.Fprintf(p, "failed, then passed: %s\n", f)
		}
	}
	if second.err != nil {
		p.report(second)
		return fmt.Errorf("failed twice: %s", cmp.Or(join(second.failed), second.err.Error()))
	}
	return nil
}

// raced reports whether the race detector found something.
func (o outcome) raced() bool {
	const report = "WARNING: DATA RACE"
	return strings.Contains(o.outside, report) || slices.ContainsFunc(o.failed, func(f failure) bool { return strings.Contains(f.said, report) })
}

func join(all []failure) string {
	var names []string
	for _, f := range all {
		names = append(names, f.String())
	}
	return strings.Join(names, ", ")
}

// report prints an outcome.
func (p *printer) report(o outcome) {
	fmt.Fprintf(p, "%d tests passed", o.passed)
	if len(o.failed) > 0 {
		fmt.Fprintf(p, "; failed: %s", join(o.failed))
	}
	p.WriteString("\n")
	for _, f := range o.failed {
		p.WriteString(clip(f.said))
	}
	p.WriteString(o.outside)
}

// clip leaves out the middle of a long text.
func clip(text string) string {
	const begin, end = 10, 40
	lines := strings.SplitAfter(text, "\n")
	if len(lines) <= begin+end {
		return text
	}
	return strings.Join(lines[:begin], "") + fmt.Sprintf("        ... %d lines\n", len(lines)-begin-end) + strings.Join(lines[len(lines)-end:], "")
}

// once runs a suite once.
func (p *printer) once(s suite) outcome {
	args := append([]string{"test", "-json", "-vet", "off"}, s.flags...)
	if len(s.run) > 0 {
		args = append(args, "-run", pattern(s.run))
	}
	out := &printer{ctx: p.ctx}
	err := out.command(".", s.env, "go", append(append(args, s.packages...), s.args...)...)
	p.cpu += out.cpu
	o := read(out.String())
	o.err = err
	return o
}

// pattern is what go test -run takes for tests that are called so.
func pattern(names []string) string {
	var all []string
	for _, name := range names {
		var elems []string
		for elem := range strings.SplitSeq(name, "/") {
			elems = append(elems, "^"+regexp.QuoteMeta(elem)+"$")
		}
		all = append(all, strings.Join(elems, "/"))
	}
	return strings.Join(all, "|")
}

// read reads what go test -json wrote, see go doc test2json.
func read(out string) (o outcome) {
	said := map[failure]*strings.Builder{} // by test and by direct subtest
	var outside strings.Builder
	for line := range strings.Lines(out) {
		var e struct{ Action, Package, ImportPath, Test, Output string }
		if json.Unmarshal([]byte(line), &e) != nil {
			outside.WriteString(line)
			continue
		}
		if e.Test == "" {
			if text := e.Output; text != "PASS\n" && text != "FAIL\n" && !strings.HasPrefix(text, "=== ") {
				outside.WriteString(text)
			}
			continue
		}
		elems := strings.SplitN(e.Test, "/", 3)
		test := failure{pkg: e.Package, name: strings.Join(elems[:min(2, len(elems))], "/")}
		switch e.Action {
		case "output":
			if strings.HasPrefix(e.Output, "=== ") {
				continue
			}
			if said[test] == nil {
				said[test] = new(strings.Builder)
			}
			said[test].WriteString(e.Output)
		case "fail":
			inside := func(f failure) bool { return f.pkg == test.pkg && strings.HasPrefix(f.name, test.name+"/") }
			if len(elems) == 2 || len(elems) == 1 && !slices.ContainsFunc(o.failed, inside) {
				if b := said[test]; b != nil {
					test.said = b.String()
				}
				o.failed = append(o.failed, test)
			}
		case "pass":
			if len(elems) == 1 {
				o.passed++
			}
		}
	}
	o.outside = outside.String()
	return o
}
