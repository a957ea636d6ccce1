// Package reconcilecmd is the gt-reconcile command: it brings the sessions of a town to the
// state that its templates define, one tick at a time.
package reconcilecmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/launch/respawn"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/agents"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

const summary = `
Keeps as many agents running as your templates ask for. A template is an
[[agent]] block in ~/.config/gt/town.toml (in a town that you trust: its own).

  gt-reconcile check          what is wrong with the templates, by file and line
  gt-reconcile plan           what a tick would do, and why; nothing changes
  gt-reconcile tick           one pass: starts and ends what differs
  gt-reconcile run            a pass every 5 seconds, until it is stopped
  gt-reconcile status         how many agents each template wants, and has
  gt-reconcile accept NAME    keep what runs although its template has changed
  gt-reconcile service --systemd     the unit that runs it

If a tick is killed, the next one continues. gt-session lists the agents, and
suspends, resumes, drains and closes them. gt-mail work gives them work.
`

const exitCodes = `
   0  done; of plan, whether there is anything to do or not
   1  a change could not be made, and the next tick tries again; the templates are not right
`

func Program() cli.Program {
	return cli.Program{Name: "gt-reconcile", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}, FastPath: respawn.ParseExec}
}

type grammar struct {
	cli.Flags
	Status  status  `cmd:"" default:"withargs" help:"Show how many sessions each template wants and has, and why they differ (the default)."`
	Check   check   `cmd:"" help:"Check the templates, and print what is wrong."`
	Plan    plan    `cmd:"" help:"Print what a tick would do, and why; nothing is changed."`
	Tick    tickCmd `cmd:"" help:"Make one pass: start and end what differs from the templates."`
	Run     run     `cmd:"" help:"Make passes until it is stopped."`
	Accept  accept  `cmd:"" help:"Accept the configuration that sessions run with as their template's, until the template changes again."`
	Pin     pin     `cmd:"" help:"Keep sessions from being replaced when their template changes."`
	Service service `cmd:"" help:"Print the unit of a service that runs it."`
}

type profileFlag struct {
	Profile string `type:"given" short:"p" placeholder:"NAME" help:"Use the sessions of this profile, with ~/.config/gt/profiles/NAME/town.toml."`
}

// findTown returns the town whose templates count: a profile's are in the person's own town.
func (a profileFlag) findTown(env *cli.Env) (town.Town, error) {
	if a.Profile != "" {
		if err := instance.CheckName(a.Profile); err != nil {
			return town.Town{}, cli.Fail(cli.Usage, err)
		}
		return town.Personal(env.Getenv), nil
	}
	t := town.Find(env.Getenv, env.Dir)
	if t.TrustErr != nil {
		return t, t.TrustErr
	}
	if root := t.UntrustedRoot(); root != "" {
		return t, cli.Fail(cli.AnswerNo, fmt.Errorf("the town '%s' is not trusted", root), "gt-hooks trust shows what that means")
	}
	return t, nil
}

func (a profileFlag) openWorld(env *cli.Env) (*perform.World, error) {
	t, err := a.findTown(env)
	if err != nil {
		return nil, err
	}
	return agents.OpenWorld(env, t, a.Profile)
}

// lockTicks locks ticks for this process. The caller unlocks.
func lockTicks(w *perform.World) (*flock.Lock, error) {
	lock, err := w.Store.LockController()
	if errors.Is(err, flock.ErrBusy) {
		return nil, cli.Fail(cli.Busy, errors.New("another gt-reconcile makes the ticks here"), "gt-reconcile plan and status work beside it")
	}
	return lock, err
}

// abortedError says why a tick was not made, and what the person can do about it.
func abortedError(err error) error {
	var broken *config.BrokenError
	switch {
	case errors.As(err, &broken):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing was changed: %w", err), "gt-reconcile check lists what is wrong")
	case errors.Is(err, place.ErrChanged), errors.Is(err, place.ErrUntrusted):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing was changed: %w", err))
	case errors.Is(err, flock.ErrBusy):
		return cli.Fail(cli.Busy, fmt.Errorf("nothing was changed: %w", err), "try again")
	}
	err = fmt.Errorf("nothing was changed: %w", err)
	if errors.As(err, new(*json.SyntaxError)) || errors.Is(err, atomicfile.ErrNotRegular) {
		return cli.WithHint(err, "what cannot be read is not acted on: mend the file, or move it away")
	}
	return err
}

type check struct {
	profileFlag
	JSON bool `name:"json" help:"One JSON object per line."`
}

type problem struct {
	File  string `json:"file"`
	Line  int    `json:"line,omitempty"`
	Key   string `json:"key,omitempty"`
	Error string `json:"error"`
}

// Run prints what is wrong with the templates, and fails without a message if anything is.
func (c *check) Run(env *cli.Env) error {
	t, err := c.findTown(env)
	if err != nil {
		return err
	}
	read, err := config.NewSource(place.ScopeOf(env.Getenv), t, c.Profile).Read()
	var problems []template.Problem
	var broken *config.BrokenError
	switch {
	case errors.As(err, &broken):
		problems = broken.Problems
	case err != nil:
		return abortedError(err)
	default:
		problems = unknownAgents(env, t, read)
	}
	for _, p := range problems {
		if c.JSON {
			err = env.JSON(problem{p.File, p.Line, p.Key, p.Err.Error()})
		} else {
			err = printWrapped(env, "%v", p)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case len(problems) > 0:
		return cli.Silent
	case len(read.Templates) == 0:
		hintNoTemplates(env, read.File)
	case !c.JSON:
		return printWrapped(env, "%s: %s, nothing is wrong", read.File, count.Plural(len(read.Templates), "template"))
	}
	return nil
}

// hintNoTemplates hints where templates are defined, unless file is "".
func hintNoTemplates(env *cli.Env, file string) {
	if file != "" {
		env.Hint("there are no templates: an [[agent]] block in %s is one", env.DisplayPath(file))
	}
}

type plan struct {
	profileFlag
	Force bool `help:"As 'tick --force'."`
	JSON  bool `name:"json" help:"One JSON object per line."`
}

// Run prints what a tick would do: each change, and a note for what it leaves as it is.
func (c *plan) Run(env *cli.Env) error {
	w, err := c.openWorld(env)
	if err != nil {
		return err
	}
	w.Force = c.Force
	p, err := w.Plan(context.Background())
	if err != nil {
		return abortedError(err)
	}
	var lines []planLine
	for _, s := range p.Strays {
		lines = append(lines, planLine{Change: "remove-marker", Session: s.Name, Why: "no session may have the marker of " + s.Label})
	}
	for _, o := range p.Orphans {
		why := fmt.Sprintf("it has claimed %s and cannot do it", piecesText(o.Claims))
		lines = append(lines, planLine{Change: "free-work", Session: o.Name, Work: o.Claims, Why: why})
	}
	for _, a := range p.Actions {
		l := planLineOf(a, p.Names[a.Before.ID])
		// Ending a session frees its claimed work: it is given back, or blocked for a reason.
		if l.Work, l.Blocked = p.FreedClaims(a); l.Work == 0 {
			l.Blocked = ""
		} else if l.Blocked == "" {
			l.Why += "; frees " + piecesText(l.Work)
		} else {
			l.Why += "; blocks " + piecesText(l.Work)
		}
		lines = append(lines, l)
	}
	for _, n := range p.Notes {
		lines = append(lines, planLine{Change: "nothing", Session: p.Names[n.Session], Template: n.Template, Why: n.Text})
	}
	for _, l := range lines {
		if err := printLine(env, c.JSON, l); err != nil {
			return err
		}
	}
	none := p.NoTemplates()
	hintNoTemplates(env, none)
	if len(lines) == 0 && none == "" && !c.JSON {
		env.Hint("nothing to do")
	}
	return nil
}

func piecesText(n int) string { return count.PluralForm(n, "piece of work", "pieces of work") }

type planLine struct {
	Change   string `json:"change"`
	Session  string `json:"session,omitempty"`
	Template string `json:"template,omitempty"`
	Slot     int    `json:"slot,omitempty"`
	From     string `json:"from,omitempty"`
	State    string `json:"state,omitempty"`
	Reason   string `json:"state_reason,omitempty"`
	Why      string `json:"why"`
	Work     int    `json:"work,omitempty"`        // amount of claimed work that the change releases
	Blocked  string `json:"work_reason,omitempty"` // why that work becomes blocked; without a reason it is given back
	Error    string `json:"error,omitempty"`
}

// planLineOf returns an action's line. name is the session's, "" before it is made.
func planLineOf(a tick.Action, name string) planLine {
	l := planLine{
		Change: string(a.Change), Session: name, Template: a.Session.Template, Slot: a.Session.Slot,
		From: string(a.Before.State), State: string(a.Session.State), Why: a.Why,
	}
	if l.From != l.State {
		l.Reason = string(a.Session.Reason)
	}
	return l
}

// printLine prints a line of a plan or tick. It names a new session by its template and slot.
func printLine(env *cli.Env, asJSON bool, l planLine) error {
	if asJSON {
		return env.JSON(l)
	}
	who := l.Session
	switch {
	case who == "" && l.Template == "":
		who = "-"
	case who == "" && l.Slot > 0:
		who = fmt.Sprintf("%s~%d", l.Template, l.Slot)
	case who == "":
		who = l.Template
	}
	if l.Reason != "" {
		who += " (" + lifecycle.Reason(l.Reason).Words() + ")"
	}
	return printWrapped(env, "%-*s %s: %s", changeColumn, l.Change, who, l.Why)
}

const changeColumn = 10 // the width of the common changes

type tickCmd struct {
	profileFlag
	Force      bool `help:"Drain even if that ends most of what runs."`
	MaxChanges int  `placeholder:"N" help:"Start, drain and suspend at most N sessions."`
	JSON       bool `name:"json" help:"One JSON object per line."`
}

func (c *tickCmd) Run(env *cli.Env) error {
	if c.MaxChanges < 0 {
		return cli.Failf(cli.Usage, "--max-changes: invalid number %d", c.MaxChanges)
	}
	w, err := c.openWorld(env)
	if err != nil {
		return err
	}
	w.Force, w.MaxChanges = c.Force, c.MaxChanges
	lock, err := lockTicks(w)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p, failed, err := makeTick(ctx, env, w, c.JSON)
	lock.Unlock() // others may tick while a worktree is made
	w.Wait(ctx)
	switch {
	case err != nil:
		return abortedError(err)
	case failed.Load() > 0:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("not made: %s", count.Plural(int(failed.Load()), "change")), "the next tick tries again")
	}
	hintNoTemplates(env, p.NoTemplates())
	return nil
}

// makeTick runs a tick and prints its changes. After w.Wait, failed is how many failed.
func makeTick(ctx context.Context, env *cli.Env, w *perform.World, asJSON bool) (p *perform.Plan, failed *atomic.Int32, err error) {
	failed = new(atomic.Int32)
	p, err = w.Tick(ctx, func(o perform.Outcome) {
		l := planLineOf(o.Action, o.Name)
		switch {
		case o.IsSkipped():
			env.Warn("%s of %s: %v", o.Change, lineName(l), o.Err)
		case o.Err != nil:
			failed.Add(1)
			env.Error("%s of %s: %v", o.Change, lineName(l), o.Err)
		}
		if o.Err != nil {
			if !asJSON {
				return
			}
			l.Error = o.Err.Error()
		}
		env.WarnError(printLine(env, asJSON, l))
	})
	if err != nil {
		return p, failed, err
	}
	for _, n := range p.NewNotes() {
		if n.Event == tick.EventFailing {
			continue // reported with its change
		}
		who := n.Template
		if name := p.Names[n.Session]; name != "" {
			who = name
		}
		env.Warn("%s: %s", who, n.Text)
	}
	return p, failed, nil
}

// printWrapped prints one line, whatever names and files in it contain. On a terminal it wraps the line.
func printWrapped(env *cli.Env, format string, args ...any) error {
	line := env.Line(fmt.Sprintf(format, args...), maxLine)
	if term.IsTerminal(env.Stdout) {
		line = term.Fill(line, term.Width(env.Stdout, env.Getenv), changeColumn+1)
	}
	return env.Println(line)
}

const maxLine = 4096 // limits a line, in characters

func lineName(l planLine) string {
	return cmp.Or(l.Session, strings.TrimSpace("one of "+l.Template))
}
