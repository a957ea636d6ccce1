//go:build linux

package faults

import (
	"fmt"
	"strings"
	"testing"
)

// tried counts what a test tries of one scenario, and what came of it.
type tried struct {
	*testing.T
	i                         int // of the scenario
	kills, faults, violations int
}

// sweep runs a test for each scenario.
func sweep(t *testing.T, all []scenario, test func(t *tried, s scenario)) {
	t.Helper()
	needsTrace(t)
	if testing.Short() {
		all = oneScenarioEach(all)
	}
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			n := &tried{T: t, i: i}
			test(n, s)
			n.logTotals()
		})
	}
}

// kill counts a run that was killed, and says what does not hold after it.
func (t *tried) kill(c call, problems []string) {
	t.Helper()
	t.kills++
	t.violated(fmt.Sprintf("killed before %v", c), problems)
}

// fault counts a run with a fault, and says what does not hold after it.
func (t *tried) fault(what any, problems []string) {
	t.Helper()
	t.faults++
	t.violated(fmt.Sprint(what), problems)
}

func (t *tried) violated(what string, problems []string) {
	t.Helper()
	if len(problems) > 0 {
		t.violations++
		t.Errorf("%s:\n%s", what, strings.Join(problems, "\n"))
	}
}

func (t *tried) logTotals() {
	totals.add(t.kills, t.faults, t.violations)
	t.Logf("%d kill points, %d faults, %d violations", t.kills, t.faults, t.violations)
}

// sweepKills kills each command before each of its system calls, of which pick returns those
// that are tried, and holds what is left against what has to hold.
func sweepKills(t *testing.T, all []scenario, pick func(*plan, []call) []call, check func(*plan, *testing.T, result) []string) {
	t.Helper()
	sweep(t, all, func(t *tried, s scenario) {
		p := newPlan(t.T, s)
		for _, c := range pick(p, p.killPoints()) {
			r, stop, met := p.disturb(t.T, c, "signal=KILL")
			if stop(); !met {
				t.Logf("it was not killed before %v in %d runs", c, tries)
			}
			t.kill(c, check(p, t.T, r))
		}
	})
}

// sweepFaults is sweepKills for calls that fail. check also gets whether the fault was met.
func sweepFaults(t *testing.T, all []scenario, pick func(*plan, []fault) []fault, check func(p *plan, t *testing.T, r result, met bool) []string) {
	t.Helper()
	sweep(t, all, func(t *tried, s scenario) {
		p := newPlan(t.T, s)
		for _, f := range pick(p, p.errorPoints()) {
			r, stop, met := p.disturb(t.T, f.call, "error="+f.err)
			if stop(); !met {
				t.Logf("there was no %v in %d runs", f, tries)
			}
			t.fault(f, check(p, t.T, r, met))
		}
	})
}

// faultsOf are the errors of those calls that pick takes: of each all, or one by turns.
func faultsOf(calls []call, pick func(i int, c call) bool) (points []fault) {
	for i, c := range calls {
		errs := c.failures()
		if len(errs) == 0 || !pick(i, c) {
			continue
		}
		if !full {
			errs = pickErr(errs, i)
		}
		for _, err := range errs {
			points = append(points, fault{c, err})
		}
	}
	return points
}
