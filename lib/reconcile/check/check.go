// Package check asks how many sessions pools should have: it runs the check of each
// template, a command of a trusted town.toml that prints a number.
//
// A check that fails, takes too long or prints something else tells nothing, which is
// never taken for a number: the pool keeps what it has.
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

// How long one check, and all of a tick together, may take.
const (
	Each = 10 * time.Second
	All  = 30 * time.Second
)

// AtOnce is how many checks run at the same time. They mostly wait.
const AtOnce = 16

// most is how many bytes a check may print.
const most = 4 << 10

// Checks are how checks are run.
type Checks struct {
	Dir string // that they run in, and relative paths are meant in
	// Environ is the person's environment, of which a check has a part; see Environment.
	Environ []string
	// Clean makes what a check printed fit to be shown: without secrets, in one line.
	Clean func(string) string

	Each, All time.Duration // 0 for the defaults
	AtOnce    int           // 0 for the default
}

// Demand runs the checks of all templates that have one, AtOnce at a time, and returns what
// they say by the template's name.
func (c Checks) Demand(ctx context.Context, templates []template.Template) map[string]tick.Demand {
	each, all := cmp.Or(c.Each, Each), cmp.Or(c.All, All)
	deadline := time.Now().Add(all)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	turns := make(chan bool, cmp.Or(c.AtOnce, AtOnce))
	demand := map[string]tick.Demand{}
	var mu sync.Mutex
	var tasks []*cli.Task
	for _, t := range templates {
		if t.Pool == nil || t.Check == "" {
			continue
		}
		tasks = append(tasks, cli.Go(func() {
			d := tick.Demand{Err: fmt.Errorf("its check was not asked: all together took over %v", all)}
			select {
			case turns <- true:
				if ctx.Err() == nil {
					d = c.run(ctx, t, each)
				}
				<-turns
			case <-ctx.Done():
			}
			mu.Lock()
			defer mu.Unlock()
			demand[t.Name] = d
		}))
	}
	for _, task := range tasks {
		task.Wait()
	}
	return demand
}

// run runs one check.
func (c Checks) run(ctx context.Context, t template.Template, within time.Duration) tick.Demand {
	n, err := c.number(ctx, t, within)
	if err != nil {
		// An error may quote what the check printed.
		return tick.Demand{Err: errors.New("its check tells nothing: " + c.Clean(err.Error()))}
	}
	return tick.Demand{Wanted: n}
}

func (c Checks) number(ctx context.Context, t template.Template, within time.Duration) (int, error) {
	environ := Environment(c.Environ, c.Dir, t)
	sh, err := process.LookPath("sh", c.Dir, environ)
	if err != nil {
		return 0, err
	}
	r, err := bounded.Program{Path: sh, Args: []string{"-c", t.Check}, Dir: c.Dir, Env: environ, Within: within, Most: most}.Run(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return 0, fmt.Errorf("it took too long (all checks together over %v)", cmp.Or(c.All, All))
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

// passed begin the names of variables, besides who and where the person is, that a
// command of a template gets: bd finds its database by them.
var passed = []string{"BEADS_DOLT_", "GT_DOLT_"}

// Environment is what a command gets that works for a template and is not its agent: who
// and where the person is, a PATH on which no project's programs are found, and the
// template's own variables. Keys that happen to be in the environment of whoever made the
// tick are not in it.
func Environment(environ []string, dir string, t template.Template) []string {
	env := process.PersonEnviron(environ)
	for _, kv := range environ {
		if slices.ContainsFunc(passed, func(front string) bool { return strings.HasPrefix(kv, front) }) {
			env = append(env, kv)
		}
	}
	env = append(env, "PATH="+process.SearchPath(dir, environ), "GT_ROOT="+dir, "GT_TEMPLATE="+t.Name)
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		env = append(env, name+"="+t.Env[name])
	}
	return env
}
