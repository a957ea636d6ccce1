//go:build linux

package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// lasting are the errors that stay once they have come: a disk that is full, one
// that breaks, a file system that the kernel has made read-only.
var lasting = []struct {
	err   string
	calls []string
}{
	{"ENOSPC", []string{"fsync", "mkdirat", "linkat", "renameat"}},
	{"EIO", []string{"fsync", "mkdirat", "linkat", "renameat", "unlinkat", "openat", "read", "pread64", "getdents64"}},
	{"EROFS", []string{"fchmod", "mkdirat", "linkat", "renameat", "unlinkat"}},
}

// TestLastingErrors lets all calls fail from one of a command's calls on.
func TestLastingErrors(t *testing.T) {
	sweep(t, scenarios, func(t *tried, s scenario) {
		p := newPlan(t.T, s)
		for j, c := range p.calls {
			if !c.changes() {
				continue
			}
			for k, l := range lasting {
				if slices.Contains(l.calls, c.name) && nth(t.i+j+k, 8) && p.tries("lasting "+l.err+" "+p.shape(c)) {
					t.fault(fmt.Sprintf("%s from %v on", l.err, c), p.failFrom(t.T, j, l.err, l.calls))
				}
			}
		}
	})
}

func (p *plan) failFrom(t *testing.T, from int, err string, calls []string) (problems []string) {
	t.Helper()
	defer p.set(t)()
	expressions := []string{"trace=" + strings.Join(calls, ",")}
	begin := slices.IndexFunc(p.clean.calls, func(c call) bool { return c.at == p.calls[from].at })
	for _, name := range calls {
		n := 1
		for _, c := range p.clean.calls[:begin] {
			if c.name == name {
				n = c.nth + 1
			}
		}
		expressions = append(expressions, fmt.Sprintf("inject=%s:error=%s:when=%d+", name, err, n))
	}
	r := p.trace(t, expressions...)
	now, problems := p.sound()
	problems = append(problems, p.lost(now)...)
	problems = append(problems, p.delivered(now, r.stdout)...)
	missing := p.missing(now, r)
	switch {
	case r.code != 0 && (r.code != 74 && r.code != p.unsure || p.hook()):
		problems = append(problems, fmt.Sprintf("exit code %d", r.code))
	case (r.code != 0 || len(missing) > 0) && !said.MatchString(r.stderr):
		problems = append(problems, "nothing is said of it, and this is missing:\n"+strings.Join(missing, "\n"))
	}
	_, more := p.runsAgain(t, now)
	problems = append(problems, more...)
	if len(problems) > 0 {
		problems = append(problems, r.String())
	}
	return problems
}
