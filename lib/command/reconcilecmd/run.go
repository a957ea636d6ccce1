package reconcilecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/lifecycle"
	"gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

// unknownAgents returns the templates whose agent is in no table, which config does not check.
func unknownAgents(env *cli.Env, t town.Town, c *config.Config) (problems []template.Problem) {
	table, err := agent.Load(place.Config(env.Getenv), t)
	env.WarnError(err)
	for _, one := range c.Templates {
		if !table.HasClient(one.Provider) {
			err := fmt.Errorf("no agent is called '%.80s' (gt-hooks status lists them)", one.Provider)
			problems = append(problems, template.Problem{File: c.File, Line: one.ProviderLine, Key: "agent.provider", Err: err})
		}
	}
	return problems
}

type run struct {
	profileFlag
	Every      duration.Flag `default:"5s" placeholder:"DURATION" help:"Wait so long between two passes (default: 5s)."`
	MaxChanges int           `placeholder:"N" help:"Start, drain and suspend at most N sessions in a pass."`
	JSON       bool          `name:"json" help:"One JSON object per line."`
}

func (c *run) Validate() error {
	switch {
	case time.Duration(c.Every) < 100*time.Millisecond || time.Duration(c.Every) > 24*time.Hour:
		return errors.New("--every: invalid duration (100ms to 24h)")
	case c.MaxChanges < 0:
		return fmt.Errorf("--max-changes: invalid number %d", c.MaxChanges)
	}
	return nil
}

// Run runs ticks until it is interrupted. It stops between two changes.
func (c *run) Run(env *cli.Env) error {
	w, err := c.openWorld(env)
	if err != nil {
		return err
	}
	w.MaxChanges = c.MaxChanges
	lock, err := lockTicks(w)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	defer w.Wait(ctx)
	told, none := "", "" // the last error, and the file without templates: each is printed once
	for {
		p, _, err := makeTick(ctx, env, w, c.JSON)
		if ctx.Err() != nil {
			return nil
		}
		now := ""
		if err != nil {
			now = abortedError(err).Error()
		}
		if now != told {
			if told = now; now != "" {
				env.Error("%s", now)
			} else {
				env.Hint("ticks are made again")
			}
		}
		if err == nil {
			if file := p.NoTemplates(); file != none {
				none = file
				hintNoTemplates(env, file)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(c.Every)):
		}
	}
}

type status struct {
	profileFlag
	JSON bool `name:"json" help:"One JSON object per line."`
}

type poolStatus struct {
	Template string         `json:"template"`
	Wanted   *int           `json:"wanted"` // nil if nothing scales it, or before the first tick
	Min      *int           `json:"min,omitempty"`
	Max      *int           `json:"max,omitempty"`
	There    map[string]int `json:"there"`
	Why      []string       `json:"why"` // what keeps it from its wanted state
}

// Run prints how many sessions each template wants and has, why, and the last change of a tick.
func (c *status) Run(env *cli.Env) error {
	w, err := c.openWorld(env)
	if err != nil {
		return err
	}
	p, err := w.Plan(context.Background())
	if err != nil {
		return abortedError(err)
	}
	memory := p.Memory()
	pools := groupPools(p, memory)
	if c.JSON {
		return cli.JSONLines(env, pools)
	}
	if len(pools) == 0 {
		hintNoTemplates(env, p.NoTemplates())
		return nil
	}
	cells := [][]string{{"TEMPLATE", "WANTED", "THERE"}}
	for _, one := range pools {
		want := "-"
		if one.Wanted != nil {
			want = fmt.Sprint(*one.Wanted)
		}
		var there []string
		states := slices.Sorted(maps.Keys(one.There))
		slices.SortStableFunc(states, func(a, b string) int { return stateOrder(a) - stateOrder(b) })
		for _, state := range states {
			there = append(there, env.Line(fmt.Sprintf("%d %s", one.There[state], state), 64))
		}
		cells = append(cells, []string{env.Line(one.Template, 64), want, cmp.Or(strings.Join(there, ", "), "0")})
	}
	if err := term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), cells, nil); err != nil {
		return err
	}
	for _, one := range pools {
		if more := len(one.Why) - mostWhy; more > 0 {
			one.Why = append(one.Why[:mostWhy], fmt.Sprintf("and %d more (--json)", more))
		}
		for _, why := range one.Why {
			if err := printWrapped(env, "%s: %s", one.Template, why); err != nil {
				return err
			}
		}
	}
	if memory.Changed.IsZero() {
		env.Hint("no tick has changed anything yet")
		return nil
	}
	return printWrapped(env, "last change %s ago: %d", duration.Format(max(env.Now().Sub(memory.Changed), 0)), memory.Changes)
}

// stateOrder returns the position of a state, -1 for one of a newer gt.
func stateOrder(state string) int {
	return slices.IndexFunc(lifecycle.States, func(s lifecycle.Row) bool { return string(s.State) == state })
}

const mostWhy = 5 // limits the lines of status for a template

// groupPools counts the sessions of each template, those of the file first, and says what keeps
// each from its wanted state: the notes about it, and that the next tick changes it.
func groupPools(p *perform.Plan, memory *perform.Memory) (pools []poolStatus) {
	at := map[string]int{}
	add := func(name string) *poolStatus {
		if _, ok := at[name]; !ok {
			at[name] = len(pools)
			pools = append(pools, poolStatus{Template: name, There: map[string]int{}, Why: []string{}})
		}
		return &pools[at[name]]
	}
	for _, t := range p.Facts.Templates {
		one := add(t.Name)
		if t.Pool != nil {
			one.Min, one.Max = &t.Pool.Min, &t.Pool.Max
			if n, ok := memory.Wanted[t.Name]; ok {
				one.Wanted = &n
			}
		}
	}
	for _, s := range p.Facts.Sessions {
		if s.State != lifecycle.Closed {
			add(s.Template).There[string(s.State)]++
		}
	}
	for _, n := range p.Notes {
		if n.Template == "" {
			continue
		}
		text := n.Text
		if name := p.Names[n.Session]; name != "" {
			text = name + ": " + text
		}
		if one := add(n.Template); !slices.Contains(one.Why, text) {
			one.Why = append(one.Why, text)
		}
	}
	for _, t := range p.Facts.Templates {
		if n := len(slices.DeleteFunc(slices.Clone(p.Actions), func(a tick.Action) bool { return a.Session.Template != t.Name })); n > 0 {
			one := add(t.Name)
			one.Why = append(one.Why, fmt.Sprintf("the next tick makes %s (gt-reconcile plan)", count.Plural(n, "change")))
		}
	}
	return pools
}

type service struct {
	profileFlag
	Systemd bool `xor:"kind" required:"" help:"A user unit of systemd."`
	Launchd bool `xor:"kind" required:"" help:"An agent of launchd (macOS)."`
	Cron    bool `xor:"kind" required:"" help:"A line of crontab: a tick each minute."`
}

// Run prints a unit that runs in the town's folder, because a town is found from the folder.
func (c *service) Run(env *cli.Env) error {
	t, err := c.findTown(env)
	if err != nil {
		return err
	}
	self, err := ownPath()
	if err != nil {
		return err
	}
	dir, args := t.Root, []string{self, "run"}
	if t.Personal {
		dir = env.Getenv("HOME")
	}
	if c.Profile != "" {
		args = append(args, "--profile", c.Profile)
	}
	var text string
	switch {
	case c.Systemd:
		text = systemdUnit(dir, args, env.Getenv("PATH"))
	case c.Launchd:
		text = launchdList(dir, args, env.Getenv("PATH"))
	default:
		args[1] = "tick"
		text = cronLine(dir, args)
	}
	return env.Print(text)
}
