// Package check runs the check of each pool: a command of a trusted town.toml that prints
// how many sessions the pool should have.
//
// A check that fails, times out or prints anything else gives no number, and the pool keeps
// its size.
package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

// Deadlines of one check and of all checks of a tick.
const (
	CheckTimeout = 10 * time.Second
	TotalTimeout = 30 * time.Second
)

const MaxAtOnce = 16

// maxOutput bounds a check's output, in bytes.
const maxOutput = 4 << 10

type Checks struct {
	Dir string // the folder of checks
	// Environ is the person's environment. Environment passes on a part of it.
	Environ []string
	// Clean redacts a check's output and makes it one line.
	Clean func(string) string

	EachTimeout, AllTimeout time.Duration
	AtOnce                  int
}

// Demand runs the checks of all templates and returns the results by template name.
func (c Checks) Demand(ctx context.Context, templates []template.Template) map[string]tick.Demand {
	each, all := cmp.Or(c.EachTimeout, CheckTimeout), cmp.Or(c.AllTimeout, TotalTimeout)
	ctx, cancel := context.WithTimeout(ctx, all)
	defer cancel()
	var checked []*template.Template
	for i := range templates {
		if t := &templates[i]; t.Pool != nil && t.Check != "" {
			checked = append(checked, t)
		}
	}
	demand := map[string]tick.Demand{}
	var mu sync.Mutex
	cli.ParallelAtMost(cmp.Or(c.AtOnce, MaxAtOnce), checked, func(t *template.Template) {
		d := tick.Demand{Err: fmt.Errorf("its check did not run: all checks together took over %v", all)}
		if ctx.Err() == nil {
			d.Wanted, d.Err = c.runCheck(ctx, *t, each)
			if d.Err != nil { // it may quote the check's output
				d.Err = errors.New("its check gave no number: " + c.Clean(d.Err.Error()))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		demand[t.Name] = d
	})
	return demand
}

// runCheck runs one check for a limited time, and returns the number that it prints.
func (c Checks) runCheck(ctx context.Context, t template.Template, within time.Duration) (int, error) {
	environ := Environment(c.Environ, c.Dir, t)
	sh, err := process.LookPath("sh", c.Dir, environ)
	if err != nil {
		return 0, err
	}
	r, err := bounded.Program{Path: sh, Args: []string{"-c", t.Check}, Dir: c.Dir, Env: environ, Within: within, Most: maxOutput}.Run(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fmt.Errorf("it took too long (all checks together over %v)", cmp.Or(c.AllTimeout, TotalTimeout))
	} else if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(r.Out))
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("'%.100s' is not a number of sessions", text)
	}
	return n, nil
}

// passedPrefixes are the prefixes of variables that bd needs to find its database.
var passedPrefixes = []string{"BEADS_DOLT_", "GT_DOLT_"}

// Environment returns the environment of a template's commands other than its agent: who
// and where the person is, a PATH without projects, and the template's own variables. It
// leaves out keys that are in the environment of the tick's caller.
func Environment(environ []string, dir string, t template.Template) []string {
	env := process.PersonEnviron(environ)
	for _, kv := range environ {
		if slices.ContainsFunc(passedPrefixes, func(front string) bool { return strings.HasPrefix(kv, front) }) {
			env = append(env, kv)
		}
	}
	env = append(env, "PATH="+process.SearchPath(dir, environ), "GT_ROOT="+dir, "GT_TEMPLATE="+t.Name)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		env = append(env, name+"="+t.Env[name])
	}
	return env
}
