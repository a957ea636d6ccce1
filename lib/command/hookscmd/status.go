package hookscmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/wiring"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/record/stop"
	"gt/lib/state/thread"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type status struct {
	Agent []string `arg:"" optional:"" help:"The agents, with each of their hooks (default: all on this machine, with one line each)."`
	JSON  bool     `name:"json" help:"One JSON object per line: a hook in a scope, or a scope without hooks of gt."`
}

// The states of a hook in one place.
const (
	wired          = "wired"
	wiredTwice     = "twice"      // wired more than once in one file
	otherPath      = "other path" // wired to a binary in another folder
	settingsDiffer = "settings"   // wired, but without what the person's settings say now
	outdated       = "outdated"   // wired, but not as this version does it
	noBinary       = "no binary"  // wired to a file that does not exist
	missing        = "missing"    // not wired, although other hooks of gt are
	notWired       = "none"       // of a place: it has no hook of gt
	noFile         = "no file"    // of a place: it does not exist
	noAccess       = "unreadable" // of a place: it cannot be read
	refused        = "refused"    // of a place: the client skips it for a value that it does not take
	notOurs        = "not gt's"   // of a command: somebody else's file has its name
	unable         = "no hooks"   // of an agent: gt cannot be wired into it
)

// finding is a hook of gt in a place, or a place without any.
type finding struct {
	Agent   string  `json:"agent"`
	Scope   string  `json:"scope"`
	File    string  `json:"file"`
	Event   string  `json:"event,omitempty"`
	Hook    string  `json:"hook,omitempty"`
	State   string  `json:"state"`
	Line    int     `json:"line,omitempty"`
	Command string  `json:"command,omitempty"`
	Timeout float64 `json:"timeout,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	Fix     string  `json:"fix,omitempty"`
}

// isWorking reports whether the hook does its work, even if twice, from another folder or with old settings.
func (f finding) isWorking() bool {
	return f.State == wired || f.State == wiredTwice || f.State == otherPath || f.State == settingsDiffer
}

// report is what gt-hooks found out about an agent.
type report struct {
	target
	want         []wiring.Handler // the hooks that this version wires
	places       []source         // the files that can have its hooks
	findings     []finding        // about each hook in each place
	hookBlockers []wiring.Blocker // what keeps wired hooks from running
}

// Run shows every hook in every place. It succeeds if each hook of each agent works in some
// place and nothing disables hooks.
func (c *status) Run(env *cli.Env) error {
	_, reports, err := inspectAll(env, c.Agent)
	if err != nil {
		return err
	}
	say := &printer{env: env}
	switch {
	case c.JSON:
		for _, r := range reports {
			for _, f := range r.findings {
				say.json(f)
			}
		}
	case len(c.Agent) > 0:
		for i, r := range reports {
			if i > 0 {
				say.line("")
			}
			if len(reports) > 1 && r.whyUnable == "" { // otherwise the name stands beside the reason
				say.line("%s:", r.name)
			}
			say.printPlaces(r)
			say.printDeletion(r)
		}
	default:
		say.overview(reports)
		for _, r := range reports {
			if isWiredIn(r.places) {
				say.printDeletion(r)
			}
		}
	}
	whole := printAdvice(env, reports)
	tellStopped(env)
	common, err := git.CommonDir(env.Dir)
	env.WarnError(err)
	if n := len(thread.Rules(place.StateOf(env.Getenv), common, nil)); n > 0 && !c.JSON {
		say.line("every session in this %s is told %s of yours: gt-mail rule", git.KindOfPlace(env.Dir), count.Plural(n, "rule"))
	}
	if say.err == nil && !whole {
		return cli.Silent
	}
	return say.err
}

// tellStopped warns that recording has stopped although it is switched on.
func tellStopped(env *cli.Env) {
	state := place.StateOf(env.Getenv)
	if err := state.CheckOwner(); err != nil {
		env.WarnError(err)
		return
	}
	if stop := stop.Read(state); stop != nil {
		since := ""
		if !stop.Since.IsZero() { // which an unreadable note does not tell
			since = " on " + term.FormatDay(stop.Since, env.Now())
		}
		env.Warn("recording has stopped%s: %s", since, stop.Why)
		env.Hint("correct it; gt records again at the end of the next turn, and gt-record sync --all adds what was missed")
	}
}

// printDeletion prints after how many days the client deletes conversations, and whether gt keeps a copy.
func (p *printer) printDeletion(r report) {
	if r.client.DeletesAfter == nil || r.whyUnable != "" {
		return
	}
	days := r.client.DeletesAfter(r.target.wiringAgent(p.env, r.places))
	keeps := "gt-record keeps them"
	switch {
	case !r.record:
		keeps = "no copy is kept"
	case !slices.ContainsFunc(r.places, func(p source) bool { return slices.ContainsFunc(p.OwnHandlers(), wiring.Handler.Records) }):
		keeps = "no copy is kept yet: config.toml wants one, and the hooks do not have it"
	}
	p.line("%s deletes conversations after %d days (cleanupPeriodDays); %s", r.name, days, keeps)
	if !r.record && installed(p.env, recorder) {
		p.line("to keep one: gt-hooks install --all --record")
	}
}

// selectTargets returns the named agents, or without names those that are on this machine or have
// hooks of gt.
func selectTargets(env *cli.Env, all []target, names []string) ([]target, error) {
	if len(names) > 0 {
		return pickTargets(all, names)
	}
	return slices.DeleteFunc(slices.Clone(all), func(t target) bool {
		return !t.isInstalled(env) && !isWiredIn(readSources(env, t))
	}), nil
}

// inspectAll returns the table of agents, and a report on each of those that selectTargets selects.
func inspectAll(env *cli.Env, names []string) (known *agent.Table, reports []report, err error) {
	known, all, err := loadTargets(env)
	if err != nil {
		return nil, nil, err
	}
	picked, err := selectTargets(env, all, names)
	if err != nil {
		return nil, nil, err
	}
	dir, err := binDir(env)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range picked {
		r, err := inspectTarget(env, t, dir)
		if err != nil {
			return nil, nil, err
		}
		reports = append(reports, r)
	}
	return known, reports, nil
}

// inspectTarget returns the report on an agent. dir is the folder of gt's programs.
func inspectTarget(env *cli.Env, t target, dir string) (report, error) {
	r := report{target: t}
	t.askVersion(env)
	r.places = readSources(env, t)
	// Hooks that are there get findings even if the agent's version is too old for them.
	if !r.wiredSomewhere() {
		t.whyUnable = cmp.Or(t.whyUnable, t.client.UnableReason())
	}
	r.target = t
	if t.whyUnable != "" {
		r.places = nil
		r.findings = []finding{{Agent: t.name, Scope: wiring.User, State: unable, Detail: t.whyUnable}}
		return r, nil
	}
	var err error
	if r.want, err = t.wantedHandlers(dir); err != nil {
		return r, err
	}
	for _, p := range r.places {
		r.findings = append(r.findings, findingsOf(env, p, r.want)...)
		run := dir // the folder of the programs that this place is to run
		if named, _, err := t.programDir(env, p.Scope, p.File, dir); err == nil {
			run = named
		}
		for _, f := range []*finding{p.commandFinding(run), p.allowFinding(dir), p.serverFinding(dir)} {
			if f != nil {
				r.findings = append(r.findings, *f)
			}
		}
	}
	r.hookBlockers = blockers(env, t, r.places)
	for i := range r.findings { // a command line can contain a key
		r.findings[i].Command, r.findings[i].Detail = env.Redact(r.findings[i].Command), env.Redact(r.findings[i].Detail)
	}
	return r, nil
}

// allWork reports whether all hooks of gt work. It is true for an agent that gt cannot be wired into.
func (r report) allWork() bool {
	for _, w := range r.want {
		if !slices.ContainsFunc(r.findings, func(f finding) bool { return f.isAbout(w) && f.isWorking() }) {
			return false
		}
	}
	for _, f := range r.findings {
		if f.Event == commandEvent && f.State != wired && f.State != notOurs {
			return false
		}
	}
	return len(r.hookBlockers) == 0
}

// unreadableFile returns the first place that cannot be read, or "".
func (r report) unreadableFile() string {
	for _, f := range r.findings {
		if f.State == noAccess {
			return f.File
		}
	}
	return ""
}

func (r report) repairHint(path string) string {
	return fmt.Sprintf("correct '%s'; then gt-hooks status %s says what it lacks", path, r.name)
}

func (f finding) isAbout(w wiring.Handler) bool { return f.Event == w.Event && f.Hook == w.Duty() }

// findingsOf returns a finding for each wanted hook, and for those of gt that are not wanted. A
// place without hooks of gt has one finding, without an event.
func findingsOf(env *cli.Env, p source, want []wiring.Handler) []finding {
	ours := p.OwnHandlers()
	if len(ours) == 0 {
		f := finding{Agent: p.target.name, Scope: p.Scope, File: p.File, State: notWired}
		switch {
		case p.Err != nil:
			f.State, f.Detail = noAccess, p.Err.Error()
		case p.Missing:
			f.State = noFile
		case p.Refused != nil:
			f.State, f.Detail = refused, p.Refusal(p.target.name)
		}
		return []finding{f}
	}
	var all []finding
	for _, w := range want {
		// Of several handlers for one hook, one that works counts; two that work are wiredTwice.
		f := finding{Event: w.Event, Hook: w.Duty(), State: missing}
		for _, h := range ours {
			if h.Event != w.Event || h.Binary != w.Binary {
				continue
			}
			g := newFinding(h)
			g.State, g.Detail = p.target.compareHandlers(env, h, w)
			switch {
			case f.isWorking() && g.isWorking():
				f.State, f.Detail = wiredTwice, fmt.Sprintf("in lines %d and %d", f.Line, g.Line)
			case f.State == missing || g.isWorking():
				f = g
			}
		}
		all = append(all, f)
	}
	tooOld := p.target.client.UnableReason() != "" // then no repair helps
	for _, h := range ours {
		if !tooOld && !slices.ContainsFunc(want, func(w wiring.Handler) bool { return h.Event == w.Event && h.Binary == w.Binary }) {
			f := newFinding(h)
			f.State, f.Detail = outdated, "this version has no hook there"
			all = append(all, f)
		}
	}
	for i := range all {
		f := &all[i]
		f.Agent, f.Scope, f.File = p.target.name, p.Scope, p.File
		switch {
		case p.Refused != nil: // blockers say why
			f.State, f.Detail = refused, ""
		case f.State != wired && !tooOld:
			f.Fix = p.repair()
		}
	}
	return all
}

func newFinding(h wiring.Handler) finding {
	return finding{Event: h.Event, Hook: h.Duty(), Line: h.Line, Command: h.String(), Timeout: h.Timeout}
}

// compareHandlers returns the state of the handler h, which should be like w, and what is wrong with it.
func (t target) compareHandlers(env *cli.Env, h, wanted wiring.Handler) (state, detail string) {
	programs := t.client.Programs(wanted)
	var elsewhere string
	for i, program := range t.client.Programs(h) {
		file, err := locateProgram(env, program)
		if err != nil {
			return noBinary, err.Error()
		}
		if i < len(programs) && !sameFile(file, programs[i]) {
			elsewhere = file
		}
	}
	switch wrong := t.client.UnlikelyLimit(h.Timeout); {
	case wrong != "":
		return outdated, wrong
	case !t.client.SameButSettings(h, wanted):
		return outdated, "not as this version wires it"
	case !t.client.SameHandler(h, wanted):
		return settingsDiffer, "works, but without your latest settings"
	case elsewhere != "":
		return otherPath, "runs " + elsewhere
	}
	return wired, ""
}

// locateProgram returns the file of a program as the agent would find it. It does not check a path
// that only a shell can expand.
func locateProgram(env *cli.Env, program string) (string, error) {
	switch {
	case strings.ContainsAny(program, "~$`"):
		return program, nil
	case strings.Contains(program, "/"):
		return program, checkRunnable(program)
	}
	return onPath(env, program)
}

// printAdvice prints what to do. whole reports whether all hooks work and have the latest settings.
func printAdvice(env *cli.Env, reports []report) (whole bool) {
	whole = len(reports) > 0
	var a advice
	for _, r := range reports {
		whole = whole && r.allWork() && !slices.ContainsFunc(r.findings, func(f finding) bool { return f.State == settingsDiffer })
		r.warnProblems(env)
		a.add(r)
		if lacks := r.client.LackingEvents(r.name); lacks != "" && r.wiredSomewhere() {
			env.Hint("%s", lacks)
		}
	}
	for _, r := range reports {
		next := r.client.Successor
		if next != nil && slices.ContainsFunc(reports, func(other report) bool { return other.name == next.Name }) {
			env.Hint("%s: %s; %s is its successor", r.name, next.Ended, next.Name)
		}
		for _, other := range r.client.RunsHooksOf {
			if file := wiredFile(reports, other, wiring.Project, wiring.Local); file != "" && wiredFile(reports, r.name, scopes...) != "" {
				env.Hint("%s also runs the hooks of '%s'; gt acts only once, so both can stay", r.name, file)
			}
		}
	}
	if len(reports) == 0 {
		env.Warn("gt found no agent that it knows")
		env.Hint("once one is installed: gt-hooks install --all")
	}
	if len(a.install) > 0 {
		env.Hint("gt-hooks install %s", strings.Join(a.install, " "))
	}
	for _, line := range a.fixes {
		env.Hint("%s", line)
	}
	return whole
}

// warnProblems prints what is wrong with the hooks. Of those of other programs, it checks only time limits.
func (r report) warnProblems(env *cli.Env) {
	for _, line := range r.problemLines() {
		env.Warn("%s", line)
	}
	for _, p := range r.places {
		for _, h := range p.Handlers {
			if wrong := r.client.UnlikelyLimit(h.Timeout); h.Binary == "" && wrong != "" {
				env.Warn("%s line %d, not of gt: %s", p.File, h.Line, wrong)
			}
		}
	}
	for _, c := range conflictLines(r.hookBlockers, r.places) {
		env.Warn("%s", c)
	}
}

type advice struct {
	install []string // the agents that one command repairs
	fixes   []string // each once
}

// add adds an agent's repairs. Those that one gt-hooks install can do are joined into one command,
// which also wires agents that have no hook of gt (a finding without an event).
func (a *advice) add(r report) {
	for _, f := range r.findings {
		a.fix(f.Fix)
	}
	user := r.fixCommand("install", wiring.User)
	if path := r.unreadableFile(); path != "" {
		a.fix(r.repairHint(path))
	} else if slices.Contains(a.fixes, user) || r.whyUnable == "" && !slices.ContainsFunc(r.findings, func(f finding) bool { return f.Event != "" }) {
		a.install = append(a.install, r.name)
		a.fixes = slices.DeleteFunc(a.fixes, func(line string) bool { return line == user })
	}
}

func (a *advice) fix(line string) {
	if line != "" && !slices.Contains(a.fixes, line) {
		a.fixes = append(a.fixes, line)
	}
}

// problemLines returns a line for each problem of a hook, with all its events.
func (r report) problemLines() []string {
	type key struct{ scope, hook, detail string }
	events := map[key][]string{}
	var order []key
	for _, f := range r.findings {
		if f.Detail == "" || f.State == unable {
			continue
		}
		k := key{f.Scope, f.Hook, f.Detail}
		if events[k] == nil {
			order = append(order, k)
		}
		events[k] = append(events[k], f.Event)
	}
	var lines []string
	for _, k := range order {
		if k.hook == "" { // about a place
			lines = append(lines, k.detail)
		} else {
			lines = append(lines, fmt.Sprintf("%s %s: %s %s: %s", r.name, k.scope, strings.Join(events[k], ", "), k.hook, k.detail))
		}
	}
	return lines
}

// wiredFile returns the file of the first of these scopes in which an agent is wired, or "".
func wiredFile(reports []report, agent string, scopes ...string) string {
	for _, r := range reports {
		for _, p := range r.places {
			if r.name == agent && slices.Contains(scopes, p.Scope) && p.isWired() {
				return p.File
			}
		}
	}
	return ""
}

// conflictLines returns a line for each blocker, and one for each further place in which gt is wired.
func conflictLines(stops []wiring.Blocker, places []source) []string {
	var all []string
	for _, s := range stops {
		if s.Remedy != "" {
			s.Reason += "; " + s.Remedy
		}
		all = append(all, s.Reason)
	}
	var first *source
	for i, p := range places {
		if !p.isWired() {
			continue
		}
		if first == nil {
			first = &places[i]
			continue
		}
		all = append(all, fmt.Sprintf("%s is wired twice, in %s and %s: keep one of them, for example with: %s", p.target.name, first.Scope, p.Scope, p.removal()))
	}
	return all
}

// overview prints a line for each wired scope of an agent, and one for each agent without hooks.
func (p *printer) overview(reports []report) {
	rows := [][]string{{"AGENT", "SCOPE", "HOOKS", "FILE"}}
	for _, r := range reports {
		var other []string // its first place without hooks: the row if no place is wired
		before := len(rows)
		for _, at := range r.places {
			row := []string{r.name, at.Scope, r.placeState(at), p.tildePath(at.File)}
			switch {
			case at.isWired() || at.Err != nil:
				rows = append(rows, row)
			case other == nil:
				other = row
			}
		}
		switch {
		case r.whyUnable != "":
			rows = append(rows, []string{r.name, "", unable, "gt-hooks status " + r.name + " says why"})
		case len(rows) == before:
			rows = append(rows, other)
		}
	}
	if len(rows) > 1 {
		p.tableOf(0, rows)
	}
}

// placeState returns how many wanted hooks work in a place, "5 of 6", or the state of the place if it
// has no hooks, or of the script if the client has one for all.
func (r report) placeState(at source) string {
	if at.Refused != nil {
		return refused
	}
	working := 0
	for _, f := range r.findings {
		switch {
		case f.File != at.File:
		case f.Event == "" || r.client.Shape == wiring.Script:
			return f.State
		case f.isWorking() && slices.ContainsFunc(r.want, f.isAbout):
			working++
		}
	}
	return fmt.Sprintf("%d of %d", working, len(r.want))
}

// printPlaces prints an agent's places, and below them the state of each hook in each place with hooks.
func (p *printer) printPlaces(r report) {
	if r.whyUnable != "" {
		p.line("%s: %s", r.name, r.whyUnable)
		return
	}
	overview := [][]string{{"SCOPE", "HOOKS", "SETTINGS"}}
	hooks := [][]string{{"EVENT", "HOOK"}}
	for _, w := range r.want {
		hooks = append(hooks, []string{w.Event, w.Duty()})
	}
	for _, at := range r.places {
		overview = append(overview, []string{at.Scope, r.placeState(at), p.tildePath(at.File)})
		if !at.isWired() {
			continue
		}
		for _, f := range r.findings {
			if (f.Event == commandEvent || f.Event == allowEvent || f.Event == mcpEvent) && f.Scope == at.Scope {
				word := f.Hook
				if f.State != wired {
					word += " " + f.State
				}
				overview = append(overview, []string{at.Scope, word, p.tildePath(f.File)})
			}
		}
		hooks[0] = append(hooks[0], strings.ToUpper(at.Scope))
		for _, f := range r.findings {
			if i := slices.IndexFunc(r.want, f.isAbout); i >= 0 && f.File == at.File {
				hooks[i+1] = append(hooks[i+1], f.State)
			}
		}
	}
	// do not cut paths
	p.tableOf(0, overview)
	if len(hooks[0]) > 2 && r.client.Shape != wiring.Script {
		p.line("")
		p.table(hooks)
	}
}
