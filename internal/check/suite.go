package main

import (
	"regexp"
	"strings"
)

// gotestsum runs the tests.
const gotestsum = "gotest.tools/gotestsum@v1.13.0"

// A suite is tests that one call of go test runs.
type suite struct {
	flags    []string // of go test
	packages []string
	args     []string // of the tests themselves
	env      []string // variables beside those of check
	once     bool     // a failure counts the first time
	run      []string // only these tests, or subtests such as TestScripts/prime_alone; all if empty
}

// test runs a suite. Tests that fail run once more, because in many of them programs run at
// once, or clients of other people's making, and other work of the machine can make one
// fail. Both outcomes are printed and counted, and a second failure counts. What the race
// detector reports counts the first time: a race that shows once is there. So does each failure
// of a suite that runs once. No result is taken from go test's cache: it does not know which
// programs a test runs.
func (p *printer) test(s suite) error {
	args := []string{"run", gotestsum, "--format", "standard-quiet", "--hide-summary", "skipped"}
	if !s.once {
		args = append(args, "--rerun-fails=1", "--rerun-fails-abort-on-data-race")
	}
	args = append(args, "--packages", strings.Join(s.packages, " "), "--", "-vet", "off", "-count", "1")
	args = append(args, s.flags...)
	if len(s.run) > 0 {
		args = append(args, "-run", pattern(s.run))
	}
	if len(s.args) > 0 {
		args = append(append(args, "-args"), s.args...)
	}
	return p.command(".", s.env, "go", args...)
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
