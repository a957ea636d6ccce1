//go:build linux

package faults

import (
	"strings"
	"testing"
)

// sweepKills kills each command before each of its system calls, of which pick returns those
// that are tried, and holds what is left against what has to hold.
func sweepKills(t *testing.T, all []scenario, pick func(*plan, []call) []call, check func(*plan, *testing.T, result) []string) {
	t.Helper()
	needsTrace(t)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, s)
			points, violations := pick(p, p.killPoints()), 0
			for _, c := range points {
				r, stop, met := p.disturb(t, c, "signal=KILL")
				if stop(); !met {
					t.Logf("it was not killed before %v in %d runs", c, tries)
				}
				if problems := check(p, t, r); len(problems) > 0 {
					violations++
					t.Errorf("killed before %v:\n%s", c, strings.Join(problems, "\n"))
				}
			}
			totals.add(len(points), 0, violations)
			t.Logf("%s: %d kill points, %d violations", s.name, len(points), violations)
		})
	}
}

// sweepFaults is sweepKills for calls that fail. check also gets whether the fault was met.
func sweepFaults(t *testing.T, all []scenario, pick func(*plan, []fault) []fault, check func(p *plan, t *testing.T, r result, met bool) []string) {
	t.Helper()
	needsTrace(t)
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, s)
			points, violations := pick(p, p.errorPoints()), 0
			for _, f := range points {
				r, stop, met := p.disturb(t, f.call, "error="+f.err)
				if stop(); !met {
					t.Logf("there was no %v in %d runs", f, tries)
				}
				if problems := check(p, t, r, met); len(problems) > 0 {
					violations++
					t.Errorf("%v:\n%s", f, strings.Join(problems, "\n"))
				}
			}
			totals.add(0, len(points), violations)
			t.Logf("%s: %d faults, %d violations", s.name, len(points), violations)
		})
	}
}
