package hookscmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/sandbox"
	"gt/lib/client/wiring"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

type prove struct {
	Agent []string      `arg:"" optional:"" help:"The agents (default: all on this machine)."`
	Fire  bool          `name:"run" help:"Start each agent once, unattended and without a network, and see which hooks fire. It costs nothing."`
	Here  bool          `help:"With --run: if an agent has hooks only in this folder, start it here, where other files of the folder can run too."`
	Limit time.Duration `default:"30s" help:"How long each agent can run."`
	JSON  bool          `name:"json" help:"One JSON object per line: each hook of an agent, and then the agent."`
}

// The duties of hooks, named after the programs that they run.
const (
	primeDuty = "gt-prime"
	touchDuty = "gt-keepalive touch"
	saveDuty  = "gt-handoff"
	writeDuty = "gt-checkpoint write"
	endDuty   = "gt-keepalive end"
	handDuty  = "gt-handoff by hand" // a command that a person types, not a hook
)

// duties lists the duties, with what a person does to see each one fire.
var duties = []struct{ program, how string }{
	{primeDuty, "start %[1]s and say something"},
	{touchDuty, "start %[1]s and say something"},
	{saveDuty, "type %[2]s in %[1]s"},
	{writeDuty, "let %[1]s answer once"},
	{endDuty, "leave %[1]s"},
}

// proof is the report on an agent with what shows that its hooks fire.
type proof struct {
	report
	evidence
	rows []proofRow
	run  *testRun // the result of the run, or nil
}

// proofRow is one hook with all its places and events.
type proofRow struct {
	Agent   string     `json:"agent"`
	Hook    string     `json:"hook"`
	State   string     `json:"state"`
	Seen    time.Time  `json:"last_seen,omitzero"`
	Session session.ID `json:"session_id,omitempty"`
	Ran     *float64   `json:"ran_after,omitempty"` // seconds into the run
	Do      string     `json:"do,omitempty"`        // what to do to see it fire
}

// verdict says whether an agent's hooks are proved to fire, why not, and what to do.
type verdict struct {
	Agent   string   `json:"agent"`
	Proved  bool     `json:"proved"`
	Version string   `json:"version,omitempty"`
	Why     []string `json:"why,omitempty"`
	Do      []string `json:"do,omitempty"`
}

// Run shows whether the hooks of each agent fire. It succeeds if all are wired, nothing
// stops them, and each was seen to fire.
func (c *prove) Run(env *cli.Env) error {
	known, reports, err := inspectAll(env, c.Agent)
	if err != nil {
		return err
	}
	if len(reports) == 0 {
		return cli.Fail(cli.AnswerNo, errors.New("gt found no agent that it knows"), "once one is installed: gt-hooks install --all")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	evidenceOf := gatherEvidence(env)
	say := &printer{env: env}
	whole := true
	for i, r := range reports {
		p := proof{report: r}
		if e := evidenceOf[r.name]; e != nil {
			p.evidence = *e
		}
		isRunnable := len(known.FindClient(r.name).Hooks.ProveFlags) > 0
		if c.Fire && isRunnable && p.wiredSomewhere() && len(p.hookBlockers) == 0 { // a blocked hook would never fire
			bar := term.NewProgress(env.Stderr, env.Getenv, "running "+r.name, env.Now)
			p.run = runInSandbox(ctx, env, known, r, c.Limit, c.Here, func() { bar.Show(int64(i), int64(len(reports))) })
			bar.Finish()
			if ctx.Err() != nil {
				return cli.Failf(cli.AnswerNo, "interrupted; %s was ended", r.name)
			}
		}
		v := p.fillRows(env, c.Fire, isRunnable)
		// An agent that gt cannot be wired into fails the command only if it was named, or if
		// its version is too old.
		whole = whole && (v.Proved || r.whyUnable != "" && r.client.UnableReason() == "" && len(c.Agent) == 0)
		if c.JSON {
			for _, row := range p.rows {
				say.json(row)
			}
			say.json(v)
			continue
		}
		if i > 0 {
			say.line("")
		}
		say.proof(p, v)
	}
	if say.err == nil && !whole {
		return cli.Silent
	}
	return say.err
}

func (r report) wiredSomewhere() bool { return isWiredIn(r.places) }

// fillRows fills in the rows and returns the verdict. run reports whether a run was requested,
// can whether gt can run the agent.
func (p *proof) fillRows(env *cli.Env, run, can bool) verdict {
	v := p.verdict(run, can)
	if p.run != nil {
		if v.Version = p.run.version; p.run.untested != "" { // what no run shows may have changed
			v.addReason("%s: it is not known whether gt reads its conversations and its screen", p.run.untested)
		}
	}
	for i, why := range v.Why {
		v.Why[i] = env.Redact(why)
	}
	return v
}

// verdict is fillRows without the version that ran, and before secrets are redacted.
func (p *proof) verdict(run, can bool) verdict {
	v := verdict{Agent: p.name}
	if p.whyUnable != "" {
		v.addReason("%s", p.whyUnable)
		return v
	}
	p.rows = append(p.hookRows(), p.commandRows()...)
	if p.addWiring(&v); !p.wiredSomewhere() {
		return v
	}
	p.addObstacles(&v)
	switch {
	case p.run != nil && p.run.hasFired():
		return p.runVerdict()
	case p.run != nil:
		p.run.explain(&v)
	case run && len(p.hookBlockers) > 0: // it was not run, and addObstacles said why
	default:
		if run {
			v.addReason("gt does not know how to run it without a cost")
		}
		v.Proved = p.allWork() && p.allSeen()
		if p.allWork() && can && p.lastSeen[primeDuty].at.IsZero() {
			v.addStep("gt-hooks prove " + p.name + " --run")
		}
	}
	return v
}

func (v *verdict) addReason(format string, args ...any) {
	v.Why = append(v.Why, fmt.Sprintf(format, args...))
}

func (v *verdict) addStep(line string) {
	if line != "" && !slices.Contains(v.Do, line) {
		v.Do = append(v.Do, line)
	}
}

// hookRows returns a row for each duty with a hook: when it was seen, or what to do to see it.
func (p *proof) hookRows() (rows []proofRow) {
	for _, d := range duties {
		row, ok := p.dutyRow(d.program)
		if !ok {
			continue
		}
		row.Seen, row.Session = p.lastSeen[d.program].at, p.lastSeen[d.program].session
		if p.run != nil {
			if took, ok := p.run.firedAfter[d.program]; ok {
				seconds := float64(took.Round(10*time.Millisecond)) / float64(time.Second)
				row.Ran = &seconds
			}
		}
		if row.Seen.IsZero() && row.Ran == nil && (finding{State: row.State}).isWorking() {
			row.Do = fmt.Sprintf(d.how, p.command, p.client.Compact)
		}
		rows = append(rows, row)
	}
	return rows
}

// commandRows returns a row for gt's command. A hand-over that was not automatic counts as its use.
func (p *proof) commandRows() (rows []proofRow) {
	for _, f := range p.findings {
		if f.Event != commandEvent {
			continue
		}
		row := proofRow{Agent: p.name, Hook: f.Hook, State: f.State, Seen: p.lastSeen[handDuty].at, Session: p.lastSeen[handDuty].session}
		if row.Seen.IsZero() && f.isWorking() {
			row.Do = fmt.Sprintf("type %s in %s", f.Hook, p.command)
		}
		rows = append(rows, row)
	}
	return rows
}

// addWiring adds to the verdict what is wrong with the wiring, and the commands that repair it.
func (p *proof) addWiring(v *verdict) {
	for _, line := range p.problemLines() {
		v.addReason("%s", line)
	}
	if lacks := p.client.LackingEvents(p.name); lacks != "" {
		v.addReason("%s", lacks)
	}
	for _, f := range p.findings {
		if !f.isWorking() {
			v.addStep(f.Fix)
		}
	}
	if path := p.unreadableFile(); path != "" {
		v.addStep(p.repairHint(path))
	} else if !p.wiredSomewhere() {
		v.addReason("no hook of gt is wired")
		v.addStep(p.fixCommand("install", wiring.User))
	}
}

// addObstacles adds to the verdict what stops wired hooks, and the last errors of hooks.
func (p *proof) addObstacles(v *verdict) {
	for _, s := range p.hookBlockers {
		v.addReason("%s", s.Reason)
		v.addStep(s.Remedy)
	}
	for _, at := range p.places {
		if at.Caveat != "" {
			v.addReason("%s", at.Caveat)
		}
	}
	for _, c := range p.complaints[max(0, len(p.complaints)-3):] {
		// An error from before the last session that gt-prime was seen in no longer counts.
		if c.at.After(p.lastSeen[primeDuty].at) || c.session == p.lastSeen[primeDuty].session {
			v.addReason("%s at %s: %s", c.program, stamp(c.at), c.what)
		}
	}
}

// runVerdict returns the verdict after a test run in which hooks fired. It has none of the reasons
// and steps so far: what the settings seem to lack did not matter.
func (p *proof) runVerdict() verdict {
	v := verdict{Agent: p.name, Proved: p.allWork() && len(p.run.hookErrors) == 0}
	for _, wrong := range p.run.hookErrors {
		v.addReason("in a test run: %s", wrong)
	}
	return v
}

// allSeen reports whether every hook fired in some session. Saving fires rarely and the
// command only if somebody types it, so these are not required.
func (p *proof) allSeen() bool {
	return !slices.ContainsFunc(p.rows, func(row proofRow) bool {
		return row.Seen.IsZero() && row.Hook != saveDuty && row.Hook != typedOf(p.target)
	})
}

// dutyRow returns the row of a duty. ok is false if the agent has no such hook.
func (p *proof) dutyRow(program string) (proofRow, bool) {
	row := proofRow{Agent: p.name, Hook: program}
	if p.client.Shape == wiring.Script { // it has all duties, and one finding that works is enough
		for _, f := range p.findings {
			if f.Event != "" && (row.State == "" || f.isWorking()) {
				row.State = f.State
			}
		}
		return row, true
	}
	first := slices.IndexFunc(p.want, func(w wiring.Handler) bool { return w.Duty() == program })
	if first < 0 {
		return row, false
	}
	row.State = missing
	for _, w := range p.want {
		if w.Duty() != program {
			continue
		}
		state := missing
		for _, f := range p.findings {
			if f.isAbout(w) && (state == missing || f.isWorking()) {
				state = f.State
			}
		}
		// Of several events, the worst state counts: after the first, only what does not work.
		if ok := (finding{State: state}).isWorking(); row.State == missing && w.Event == p.want[first].Event || !ok {
			row.State = state
		}
	}
	return row, true
}

// proof prints an agent's verdict, a row for each of its hooks, and what to do.
func (p *printer) proof(result proof, v verdict) {
	switch {
	case result.whyUnable != "":
		p.line("%s: %s", v.Agent, result.whyUnable)
		return
	case v.Proved:
		p.line("%s: proved", v.Agent)
	default:
		p.line("%s: not proved", v.Agent)
	}
	rows := [][]string{{"  HOOK", "IS", "LAST SEEN"}}
	for _, r := range result.rows {
		seen := "never"
		switch {
		case r.Do != "":
			seen += "; " + r.Do
		case r.Ran != nil:
			seen = fmt.Sprintf("in this run, after %.2f s", *r.Ran)
		case !r.Seen.IsZero():
			seen = stamp(r.Seen) + " in " + string(r.Session)
		}
		rows = append(rows, []string{"  " + r.Hook, r.State, seen})
	}
	if result.wiredSomewhere() {
		p.table(rows)
	}
	for _, why := range v.Why {
		p.line("  %s", why)
	}
	for _, do := range v.Do {
		p.line("  do: %s", do)
	}
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// lastLines returns the last n lines of a text, without empty and repeated ones.
func lastLines(text string, n int) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-n):]
}

// testRun is what came of a test run.
type testRun struct {
	firedAfter   map[string]time.Duration // from the start of the agent until each hook fired
	output       string                   // the end of the agent's output
	hookErrors   []string                 // the errors of hooks
	stoppedAfter time.Duration            // the limit after which it was stopped; 0 if it ended before
	version      string                   // the agent's, "" if it is not asked or does not say
	untested     string                   // in which way gt was not tested with that, or why it is not known, or ""
	err          error
}

func (f *testRun) hasFired() bool { return f.err == nil && f.firedAfter[primeDuty] != 0 }

// explain adds to the verdict why no hook was seen to fire in the test run.
func (f *testRun) explain(v *verdict) {
	switch {
	case f.err != nil:
		v.addReason("gt could not run it: %v", f.err)
		return
	case f.stoppedAfter > 0:
		v.addReason("in a test run no hook fired within %v", f.stoppedAfter)
		v.addStep("gt-hooks prove " + v.Agent + " --run --limit " + (4 * f.stoppedAfter).String())
	default:
		v.addReason("in a test run no hook fired")
	}
	for _, line := range lastLines(f.output, 2) {
		v.addReason("it printed: %s", line)
	}
}

// runInSandbox runs an agent once without a network, and calls waiting meanwhile. It runs in the
// sandbox's folder, or in the project's if gt's hooks are only in its settings and here is true.
func runInSandbox(ctx context.Context, env *cli.Env, table *agent.Table, r report, limit time.Duration, here bool, waiting func()) *testRun {
	result := &testRun{firedAfter: map[string]time.Duration{}}
	box, err := sandbox.New()
	if err != nil {
		result.err = err
		return result
	}
	defer box.Remove()
	client := table.FindClient(r.name)
	dir := box.Project
	if !slices.ContainsFunc(r.places, func(p source) bool {
		return p.Scope != wiring.Project && p.Scope != wiring.Local && p.isWired()
	}) {
		// A repository may have brought these settings, and other programs with them.
		if !here {
			result.err = errors.New("its hooks are in this folder's settings, and other programs of this folder could run too; --here allows that")
			return result
		}
		dir = git.Top(env.Dir)
	}
	environ := box.Environ(table.StripRunVars(process.Inherited(env.ChildEnviron())), client.Hooks.ProveEnv)
	if len(client.Hooks.ProvedVersions) > 0 {
		version, unknown := box.Version(ctx, client, environ)
		result.version, result.untested = version, cmp.Or(unknown, client.Untested(version))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	getenv := (&cli.Env{Environ: environ}).Getenv
	log := eventlog.Log(town.Personal(getenv).Events())
	look := func() (started bool) {
		waiting()
		log.Read(func(e eventlog.Event) bool {
			var p struct{ Topic, Kind, Program, Error string }
			json.Unmarshal(e.Payload, &p)
			switch {
			case e.Type == eventlog.SessionStart && p.Topic != "": // without a topic, another hook wrote it
				result.firedAfter[primeDuty] = e.Time.Sub(began)
			case e.Type == eventlog.SessionEnd:
				result.firedAfter[endDuty] = e.Time.Sub(began)
			case e.Type == eventlog.Handoff && p.Kind == session.KindAuto:
				result.firedAfter[saveDuty] = e.Time.Sub(began)
			case e.Type == eventlog.HookError:
				if said := p.Program + ": " + p.Error; !slices.Contains(result.hookErrors, said) {
					result.hookErrors = append(result.hookErrors, said)
				}
			}
			return true
		})
		if sign := keepalive.Read(home.FindOtherHome(place.ScopeOf(getenv), box.Project)); sign != nil && sign.LastCommand != "" {
			if _, seen := result.firedAfter[touchDuty]; !seen {
				result.firedAfter[touchDuty] = sign.Timestamp.Sub(began)
			}
		}
		_, started = result.firedAfter[primeDuty]
		return started
	}
	result.output, result.err = sandbox.Run(ctx, dir, environ, slices.Concat(client.Command, client.Hooks.ProveFlags), look)
	look()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		result.stoppedAfter = limit
	}
	return result
}
