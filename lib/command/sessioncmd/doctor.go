package sessioncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/sandbox"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/reconcile/agents"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/duration"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

type doctor struct {
	everywhereFlag
	JSON bool `name:"json" help:"One JSON object per line."`
}

type trouble string

const (
	openElsewhere  trouble = "held"     // its conversation is open in another process
	deleted        trouble = "lost"     // its client has deleted its conversation
	vanished       trouble = "gone"     // it should run, and its tmux session is gone
	unreachable    trouble = "socket"   // it runs, and tmux cannot reach its pane
	zombie         trouble = "zombie"   // its process and its pane do not go together
	orphan         trouble = "orphan"   // a process of an agent that no list has
	stuck          trouble = "stuck"    // a session of a template that nothing moves on
	leftWorktree   trouble = "worktree" // it stays although its session was closed
	silent         trouble = "wiring"   // its hooks do not tell
	foreignUnit    trouble = "unit"     // its tmux server ends with somebody else's systemd unit
	loggedOut      trouble = "login"    // its account has to log in anew
	missingProgram trouble = "program"  // it cannot be found
	untested       trouble = "version"  // gt was not tested with it; maybe nothing is wrong
)

type finding struct {
	Kind    trouble `json:"kind"`
	Agent   string  `json:"agent,omitempty"` // name of the agent, if it is about one
	What    string  `json:"what"`
	Fix     string  `json:"fix"`
	Profile string  `json:"profile,omitempty"`
	Town    string  `json:"town,omitempty"` // its root folder
}

// examination collects what is wrong with the agents of some scopes. It only reads.
type examination struct {
	env    *cli.Env
	survey *fleet.Survey
	runs   map[session.ID]process.Proc // by the clients' registries
	scope  scope                       // that is examined
	found  []finding
}

// Run prints what is wrong. It exits with AnswerNo if that is more than an untested version.
func (c *doctor) Run(env *cli.Env) error {
	all, unread := c.scopes(env)
	if all == nil || unread != nil && !c.Everywhere {
		return unread
	}
	e := &examination{env: env, survey: fleet.NewSurvey(env.Getenv, env.Now())}
	if err := tmux.CheckVersion(); err != nil { // without it every agent would seem to be gone
		e.addFinding(missingProgram, "", err.Error()+"; no agent can be started or seen", "install tmux "+tmux.MinVersion+" or later, where PATH has it")
		return errors.Join(e.print(c.JSON), cli.Silent)
	}
	e.survey.Ask(tmux.CurrentServer())
	at, err := roster.ReadBySurvey(e.survey, env, all)
	unread = errors.Join(unread, err)
	e.runs, _ = scan.Running(env.Getenv) // gt-seance names what it cannot read
	total := 0
	for _, s := range at {
		total += len(s.Agents)
		e.scope = s.Scope
		e.examine(s.Agents)
	}
	e.scope = scope{}
	e.examineOrphans()
	e.examineUnits(at)
	e.examineVersions(at)
	if err := e.print(c.JSON); err != nil {
		return err
	}
	switch {
	case unread != nil:
		return unread
	case slices.ContainsFunc(e.found, func(f finding) bool { return f.Kind != untested }):
		return cli.Silent
	case len(e.found) == 0 && !c.JSON:
		env.Hint("nothing is wrong (agents: %d)", total)
	}
	return nil
}

// print prints the findings: a line of JSON each, or what is wrong and below it what mends it.
func (e *examination) print(asJSON bool) error {
	for _, f := range e.found {
		var err error
		if f.What, f.Fix = e.env.Line(f.What, maxCell), e.env.Line(f.Fix, maxCell); asJSON {
			err = e.env.JSON(f)
		} else {
			err = e.env.Printf("%s\n  %s\n", f.What, f.Fix)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addFinding adds a finding about an agent, or about several or none for "".
func (e *examination) addFinding(kind trouble, name, what, fix string) {
	f := finding{Kind: kind, Agent: name, What: what, Fix: fix, Profile: e.scope.Profile}
	if e.scope.Env != nil && !e.scope.Town.Personal {
		f.Town = e.scope.Town.Root
	}
	if name != "" {
		f.What = name + e.scope.Suffix() + " " + what
	}
	e.found = append(e.found, f)
}

// examine adds the findings about one scope, e.scope. members are its agents.
func (e *examination) examine(members []fleet.Member) {
	for i := range members {
		m := &members[i]
		var lost *fleet.UnreachableError
		var away *fleet.HiddenError
		switch {
		case agents.IsRemote(m.Instance):
		case m.Managed != nil:
			e.examineManaged(m)
		case errors.As(m.Unanswered, &lost) && lost.Socket == "":
			e.addFinding(zombie, m.Name, fmt.Sprintf("still runs as process %d, outside of its tmux session, which is gone", lost.Process.PID), lost.Remedy())
		case errors.As(m.Unanswered, &lost):
			e.addFinding(unreachable, m.Name, "cannot be reached: "+lost.Error(), lost.Remedy())
		case errors.As(m.Unanswered, &away):
			e.addFinding(openElsewhere, m.Name, "cannot be seen: "+away.Error(), "if that is gone for good: gt-session start --gone "+m.Name)
		case m.Process.IsSet() || m.Unanswered != nil: // it runs, or may run
		default:
			e.examineStopped(m)
		}
	}
	e.examineLogins(members)
	e.examineWiring(members)
	e.examinePrograms(members)
	e.examineTemplates()
	e.examineHeldBack()
	e.leftWorktrees()
}

// leftWorktrees looks for worktrees of closed sessions of templates, which gt does not remove.
func (e *examination) leftWorktrees() {
	closed, _ := e.scope.Store.ReadFolder(instance.Closed) // a tick names what it cannot read
	for _, in := range closed {
		if in.HasWorktree() {
			e.addFinding(leftWorktree, in.Name, fmt.Sprintf("was closed, and its worktree %s is still there", e.env.DisplayPath(in.Worktree.Path)),
				fmt.Sprintf("save what you need of it, then: git -C %s worktree remove %s", term.Typed(in.Worktree.Repository), term.Typed(in.Worktree.Path)))
		}
	}
}

// examineHeldBack tells what the last tick of gt-reconcile did not do, such as end many sessions.
func (e *examination) examineHeldBack() {
	memory, err := perform.NewWorld(e.scope.Store).Memory()
	if err != nil {
		e.env.WarnError(err)
		return
	}
	for _, n := range memory.Notices() {
		fix := "gt-reconcile status"
		if n.Event == tick.EventShrinkHeld {
			fix = "gt-reconcile tick --force"
		}
		if n.Detail != "" {
			e.addFinding(stuck, "", n.Template+": "+n.Detail, fix)
		}
	}
}

// examineStopped examines why an agent does not run, and whether it could go on.
func (e *examination) examineStopped(m *fleet.Member) {
	if by := e.findHolder(m); by != nil {
		fix := fmt.Sprintf("end process %d; then gt-session start %s", by.PID, m.Name)
		switch {
		case by.Elsewhere:
			fix = "gt-session start --gone " + m.Name
		case by.TmuxPane != "":
			fix = fmt.Sprintf("end it there (tmux attach -t %s); then gt-session start %s", by.TmuxPane, m.Name)
		}
		e.addFinding(openElsewhere, m.Name, fmt.Sprintf("cannot continue its conversation %s: it is open %s", m.CurrentID, by), fix)
		return
	}
	switch {
	case m.Pane.Dead && !m.Remain:
		fix := "gt-session stop " + m.Name
		if m.IsWanted() {
			fix = "gt-session restart " + m.Name
		}
		e.addFinding(zombie, m.Name, fmt.Sprintf("has ended, and its pane %s is still there", m.Pane.ID), fix)
	case m.Status == status.Error && e.hasTmuxSession(m):
		e.addFinding(vanished, m.Name, fmt.Sprintf("should be running, and the tmux session %s runs something else", m.TmuxSession),
			fmt.Sprintf("gt-session start %s; if that is refused: tmux rename-session -t =%s OTHER", m.Name, m.TmuxSession))
	case m.Status == status.Error:
		e.addFinding(vanished, m.Name, "should be running, and its tmux session is gone", "gt-session restore")
	}
	if client := e.scope.Table().FindClient(m.Agent); client.CanResume() && m.Record != nil && !m.CurrentID.Invented() &&
		!m.Activity().Prompted.IsZero() && !m.IsResumable() {
		e.addFinding(deleted, m.Name, fmt.Sprintf("cannot continue its conversation %s: %s has deleted it", m.CurrentID, m.Agent),
			fmt.Sprintf("gt-session start %s begins a new one; gt-record list shows what was kept", m.Name))
	}
}

// findHolder returns the process that has the conversation of an agent open, or nil. Most agents
// are in no registry and have no live record: for them it need not read the registries again.
func (e *examination) findHolder(m *fleet.Member) *live.Holder {
	_, noted := e.runs[m.CurrentID]
	if m.CurrentID == "" || !noted && (m.Record == nil || !m.Record.Live()) {
		return nil
	}
	return scan.HolderOf(e.env.Getenv, e.scope.Store.State, m.CurrentID)
}

// startedAgent returns the name of an instance if gt started the process as its agent: its
// instance.Variable (NAME:PID) has its own PID. What the agent starts inherits the agent's.
func startedAgent(pid int) (name string, ok bool) {
	p, err := process.Find(pid)
	if err != nil {
		return "", false
	}
	environ, _ := p.Environ() // another user's has none
	name, began, _ := strings.Cut(process.Variable(environ, instance.Variable), ":")
	return name, strings.TrimSuffix(began, instance.Launched) == fmt.Sprint(pid)
}

func (e *examination) hasTmuxSession(m *fleet.Member) bool {
	return slices.ContainsFunc(e.survey.Panes(tmux.Server(m.TmuxServer)), func(p tmux.Pane) bool { return p.Session == m.TmuxSession })
}

const overdue = 10 * time.Minute // how long gt-reconcile may take for what it does within seconds

// examineManaged looks at a session of a template that is longer in a state than gt-reconcile needs.
func (e *examination) examineManaged(m *fleet.Member) {
	since, state := time.Time{}, "" // what it does, and since when
	switch m.Managed.State {
	case lifecycle.Creating:
		age := e.env.Now().Sub(m.Managed.CreatingAt)
		if age < time.Minute && m.Managed.CrashReason == "" {
			return
		}
		e.addFinding(stuck, m.Name, "is still being made, and does not run: "+stateReason(m.Managed),
			fmt.Sprintf("gt-reconcile tick tries again; gt-session start %s --explain shows what it finds", m.Name))
		return
	case lifecycle.Draining:
		since, state = m.Managed.DrainAt, "drains"
	case lifecycle.Quarantined:
		since, state = m.Managed.QuarantineUntil, "rests no longer" // and should run again
		if since.After(e.env.Now()) {
			e.addFinding(stuck, m.Name, "is quarantined: "+stateReason(m.Managed), "gt-reconcile status says until when; gt-session resume "+m.Name+" starts it now")
			return
		}
	case lifecycle.Active:
		if m.Process.IsSet() || m.Unanswered != nil {
			return
		}
		since, state = m.Managed.ActiveAt, "does not run"
	default:
		return
	}
	idle := m.Managed.State != lifecycle.Draining || !m.Process.IsSet() // one that drains may be working
	if age := e.env.Now().Sub(since); idle && age > overdue {
		e.addFinding(stuck, m.Name, fmt.Sprintf("%s since %s ago, and no gt-reconcile sees to it", state, duration.Format(duration.Rough(age))), "gt-reconcile tick")
	}
}

func (e *examination) examineLogins(members []fleet.Member) {
	for _, one := range refusedLogins(members) {
		e.addFinding(loggedOut, "", fmt.Sprintf("%s%s cannot work: %s", strings.Join(one.names, ", "), e.scope.Suffix(), one.describeRefusal(e.env)), one.fix(e.scope.Table()))
	}
}

// cause is why several agents have the same trouble, in two parts.
type cause [2]string

func sortedCauses(names map[cause][]string) []cause {
	return slices.SortedFunc(maps.Keys(names), func(a, b cause) int { return strings.Compare(a[0]+a[1], b[0]+b[1]) })
}

// examineWiring examines why running agents with hooks have told nothing since their start.
func (e *examination) examineWiring(members []fleet.Member) {
	names := map[cause][]string{} // with what mends it
	for i := range members {
		m := &members[i]
		client := e.scope.Table().FindClient(m.Agent)
		if !m.Process.IsSet() || m.HasReported() || client.Dialect == "" || e.env.Now().Sub(m.StartedAt) < patientStart {
			continue
		}
		for _, b := range e.blockers(m, client) {
			at := cause{b.Reason, b.Remedy}
			names[at] = append(names[at], m.Name)
		}
	}
	for _, at := range sortedCauses(names) {
		e.addFinding(silent, "", fmt.Sprintf("no hook reports what %s%s: %s", withVerbDo(names[at]), e.scope.Suffix(), at[0]), at[1])
	}
}

const patientStart = 5 * time.Second // how long a client may take until its first hook

func withVerbDo(names []string) string {
	if len(names) == 1 {
		return names[0] + " does"
	}
	return strings.Join(names, ", ") + " do"
}

// blockers returns what keeps the hooks of an agent from telling; nil if its wiring is unknown.
func (e *examination) blockers(m *fleet.Member, client agent.Client) []wiring.Blocker {
	getenv := func(key string) string { // as the agent has it: with its own account
		if key == client.StoreEnv && m.Account != "" {
			return m.Account
		}
		return e.env.Getenv(key)
	}
	how, a, known, err := wirings.AgentSources(client, getenv, git.Top(m.Path))
	switch install := "gt-hooks install " + m.Agent; {
	case err != nil || !known:
		return nil
	case !a.HasHooks():
		file := e.env.DisplayPath(a.Sources[0].File)
		if err := a.Sources[0].Err; err != nil {
			return []wiring.Blocker{{Reason: err.Error(), Remedy: "correct " + file + "; then " + install}}
		}
		return []wiring.Blocker{{Reason: "gt's hooks are not in " + file, Remedy: install}}
	}
	wirings.FitVersion(&how, client, process.Inherited(e.env.ChildEnviron()))
	all := wirings.Blockers(how, client.Dialect, a)
	for i := range all {
		all[i].Remedy = cmp.Or(all[i].Remedy, "gt-hooks status "+m.Agent+" shows it")
	}
	return all
}

// examinePrograms looks for clients whose program is missing, and names their agents that do not run.
func (e *examination) examinePrograms(members []fleet.Member) {
	names := map[cause][]string{} // with the agent whose program it is
	for i := range members {
		m := &members[i]
		if m.Managed != nil || m.Process.IsSet() { // of templates: see examineTemplates
			continue
		}
		if why := e.whyMissing(e.scope.Table().FindClient(m.Agent).Command, m.Path); why != "" {
			names[cause{m.Agent, why}] = append(names[cause{m.Agent, why}], m.Name)
		}
	}
	for _, at := range sortedCauses(names) {
		e.addFinding(missingProgram, "", fmt.Sprintf("%s%s cannot start: %s", strings.Join(names[at], ", "), e.scope.Suffix(), at[1]),
			fmt.Sprintf("install %s, or name its program as command of [agents.%[1]s] in %s", at[0], e.env.DisplayPath(place.Config(e.env.Getenv, "agents.toml"))))
	}
}

// whyMissing returns why the program of a command cannot be found from a folder, "" if it can.
func (e *examination) whyMissing(command []string, dir string) string {
	if len(command) == 0 {
		return ""
	}
	_, err := process.LookPath(command[0], dir, e.env.ChildEnviron())
	if err == nil {
		return ""
	}
	return err.Error()
}

// examineTemplates looks for templates whose client is unknown or has no program that can be found.
func (e *examination) examineTemplates() {
	c, err := config.NewSource(place.ScopeOf(e.env.Getenv), e.scope.Town, e.scope.Profile).Read()
	if err != nil {
		e.addFinding(missingProgram, "", err.Error(), "gt-reconcile check shows what is wrong")
		return
	}
	for _, t := range c.Templates {
		at := fmt.Sprintf("%s:%d", c.File, t.Line)
		command := t.Command
		switch {
		case len(command) > 0:
		case !e.scope.Table().HasClient(t.Provider):
			e.addFinding(missingProgram, "", fmt.Sprintf("the template %s (%s) cannot start: no agent is called '%s'", t.Name, at, t.Provider), "gt-hooks status lists the agents; correct provider there")
			continue
		default:
			command = e.scope.Table().FindClient(t.Provider).Command
		}
		dir := cmp.Or(t.WorkDir, c.Work)
		if _, err := os.Stat(dir); err != nil {
			dir = c.Work
		}
		if why := e.whyMissing(command, dir); why != "" {
			e.addFinding(missingProgram, "", fmt.Sprintf("the template %s (%s) cannot start: %s", t.Name, at, why), fmt.Sprintf("install %s, or correct command there", command[0]))
		}
	}
}

// examineOrphans looks for agents in tmux that gt started and whose instance was removed, closed or archived.
func (e *examination) examineOrphans() {
	state := place.StateOf(e.env.Getenv)
	everywhere, unread := roster.ListScopes(e.env)
	all, err := roster.ReadBySurvey(e.survey, e.env, everywhere)
	if unread != nil || err != nil {
		return // they may belong to an instance that cannot be read
	}
	for _, server := range e.survey.Servers() {
		listed := roster.PanesOf(server, all)
		for _, pane := range e.survey.Panes(server) {
			name, ok := startedAgent(pane.PID)
			if !ok || pane.Dead || listed[pane.ID] {
				continue
			}
			switch _, in := instance.OfAgent(state, name); {
			case in == nil:
				e.addFinding(orphan, "", fmt.Sprintf("the tmux session %s runs an agent that no list has, as process %d", pane.Session, pane.PID),
					fmt.Sprintf("%s adopts it; tmux kill-session -t %s ends it", roster.AdoptCommand, term.Typed("="+pane.Session)))
			case in.Managed != nil && (in.Managed.State == lifecycle.Closed || in.Managed.State == lifecycle.Archived):
				e.addFinding(orphan, in.Name, fmt.Sprintf("is %s, and its agent still runs as process %d", in.Managed.State, pane.PID), "gt-reconcile tick")
			}
		}
	}
}

// examineUnits looks for tmux servers that end with a login, a terminal or a service.
func (e *examination) examineUnits(at []roster.Listed) {
	names := map[tmux.Server][]string{}
	for _, s := range at {
		for _, m := range s.Agents {
			if m.Pane.ID != "" && m.Adopted == nil {
				server := tmux.Server(m.TmuxServer)
				names[server] = append(names[server], m.Name)
			}
		}
	}
	for _, server := range slices.Sorted(maps.Keys(names)) {
		pid, err := server.PID()
		if err != nil || pid == 0 {
			continue
		}
		if in := process.Unit(pid); in != "" && !ownUnit(in) {
			e.addFinding(foreignUnit, "", fmt.Sprintf("the tmux server of %s (process %d) is in %s and ends with it", strings.Join(names[server], ", "), pid, in),
				fmt.Sprintf("gt-session shutdown && tmux -S %s kill-server && gt-session restore", term.Typed(string(server))))
		}
	}
}

// examineVersions looks for agents with whose version gt was not tested. It starts none of them.
func (e *examination) examineVersions(at []roster.Listed) {
	var all []agent.Client
	for _, s := range at {
		for _, m := range s.Agents {
			c := s.Table().FindClient(m.Agent)
			same := func(o agent.Client) bool { return o.Name == c.Name && o.Command[0] == c.Command[0] }
			if len(c.Hooks.ProvedVersions) > 0 && !agents.IsRemote(m.Instance) && !slices.ContainsFunc(all, same) {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		return
	}
	w, err := sandbox.New()
	if err != nil {
		return
	}
	defer w.Remove()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	what := make([]string, len(all))
	cli.ParallelAtMost(len(all), cli.Numbers(len(all)), func(i int) {
		version, unknown := w.Version(ctx, all[i], w.Environ(all[i].Inherit(e.env.ChildEnviron()), all[i].Hooks.ProveEnv))
		what[i] = cmp.Or(unknown, all[i].Untested(version))
	})
	for i, why := range what {
		if why != "" {
			e.addFinding(untested, "", why+": it is not known whether gt reads all of it", "gt-hooks prove "+all[i].Name+" --run")
		}
	}
}

// ownUnit reports whether a unit was made for a tmux server: by systemd-run, which names it
// run-..., or for a service of the person's.
func ownUnit(name string) bool {
	return strings.HasPrefix(name, "run-") || strings.Contains(name, "tmux")
}

type refusedLogin struct {
	client, account string // account is the client's folder, "" for the usual one
	names           []string
}

// refusedLogins returns the accounts whose login is refused, with the names of their agents.
func refusedLogins(members []fleet.Member) (all []refusedLogin) {
	at := map[[2]string]int{}
	for _, m := range members {
		if !m.NeedsLogin {
			continue
		}
		key := [2]string{m.Agent, m.Account}
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key], all = i, append(all, refusedLogin{client: m.Agent, account: m.Account})
		}
		all[i].names = append(all[i].names, m.Name)
	}
	return all
}

func (l refusedLogin) describeRefusal(env *cli.Env) string {
	account := ""
	if l.account != "" {
		account = " of " + env.DisplayPath(l.account)
	}
	return fmt.Sprintf("the login of %s%s is refused", l.client, account)
}

// fix returns what mends a refused login: the command to log in with, and one to go on.
func (l refusedLogin) fix(known *agent.Table) string {
	client := known.FindClient(l.client)
	command := l.client
	if l.account != "" && client.StoreEnv != "" {
		command = client.StoreEnv + "=" + term.Quote(l.account) + " " + command
	}
	return "log in with " + command + "; then gt-session send " + l.names[0] + " 'Go on.'"
}
