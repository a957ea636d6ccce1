// Package fleet determines the status of many instances at once, with one call to each tmux
// server and a few small files for each instance.
package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/client/readers"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
	"gt/lib/conversation/tail"
	"gt/lib/live"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// Member is an instance and its current state.
type Member struct {
	*instance.Instance
	CurrentID session.ID      // its agent's session, "" if unknown
	Record    *session.Record // of that session, nil without one
	Status    status.Status
	Reason    status.Reason
	// Background reports whether a background task of it runs while it waits.
	Background bool
	Since      time.Time // when the status began, if known
	// SilentSince is the last sign of an agent that works and is silent, and SilentFor how long
	// ago that was; else both are zero.
	SilentSince  time.Time
	SilentFor    time.Duration
	QuietSince   time.Time // since when it waits and no background task of it runs; zero while it works
	LimitedUntil time.Time // when its account's limit ends, if it is limited and that is known
	NeedsLogin   bool      // its account has to log in anew
	Pane         tmux.Pane // its agent's pane, zero without one
	Process      process.Proc
	// Unanswered is why it may run although its pane or process is not known, nil if they
	// are: ErrUnseen, a HiddenError, an UnreachableError, or that its tmux server did not
	// answer.
	Unanswered error

	survey       *Survey   // by which it was read
	home         home.Home // the record's home
	activity     *activity.State
	worksIn      string
	suspended    bool // Process was, when it was read
	byScreenOnly bool // only the screen tells of it, because no hook has run yet
}

// ErrUnseen is returned for an agent in a tmux server of another PID namespace.
var ErrUnseen = errors.New("its tmux server runs in another PID namespace, where its process cannot be seen")

// HiddenError reports that an agent was started where it cannot be seen from here, in
// another container or on another machine, and may run there.
type HiddenError struct {
	PID int // of its client there, 0 if unknown
}

func (e *HiddenError) Error() string {
	const where = "of another container or machine, which cannot be seen from here"
	if e.PID == 0 {
		return "it is an agent " + where
	}
	return fmt.Sprintf("it is process %d %s", e.PID, where)
}

// hiddenError returns a HiddenError if the agent may run where it cannot be seen from here. What
// its hooks recorded since its start counts before where it was started.
func (m *Member) hiddenError(now time.Time, state place.State) error {
	if r := m.Record; r != nil && m.hasBegun() && (r.Process().IsSet() || r.Server().IsSet()) {
		if r.Presence(now) == process.Unseen {
			return &HiddenError{PID: r.PID}
		}
		return nil
	}
	if m.IsWanted() && m.StartedIn.IsElsewhere(m.StartedAt, state) {
		return new(HiddenError)
	}
	return nil
}

// UnreachableError reports that an agent runs, and that tmux shows no pane of it.
type UnreachableError struct {
	Process process.Proc
	Socket  string // of its tmux server, which has been removed; "" if another server listens there
	Server  int    // that server's process
}

func (e *UnreachableError) Error() string {
	if e.Socket == "" {
		return fmt.Sprintf("it runs as process %d, in no pane that tmux shows", e.Process.PID)
	}
	return fmt.Sprintf("it runs as process %d, and the socket of its tmux server was removed", e.Process.PID)
}

// Remedy returns the command that makes the pane reachable, or that ends the agent.
func (e *UnreachableError) Remedy() string {
	if e.Socket == "" {
		return fmt.Sprintf("kill %d", e.Process.PID)
	}
	return fmt.Sprintf("mkdir -p -m 700 %s && kill -USR1 %d", term.Typed(filepath.Dir(e.Socket)), e.Server)
}

// LostPane reports whether its process goes on although its pane was closed, as Gemini CLI's
// does. Nobody can reach it again.
func (m *Member) LostPane() bool {
	var lost *UnreachableError
	return errors.As(m.Unanswered, &lost) && lost.Socket == "" && m.Adopted == nil && lost.Process.HungUp()
}

// serverAnswer is what a tmux server has.
type serverAnswer struct {
	task  *cli.Task // nil once it is here
	panes []tmux.Pane
	// Which of panes have an id, as a window can be in several sessions; a session; a mark.
	byID, bySession, byMark map[string][]int
	serverRuns              bool // a server runs
	isHidden                bool // its processes cannot be seen
	err                     error
}

// Survey is a look at the agents of several stores and of tmux. It asks each tmux server once.
type Survey struct {
	getenv  func(string) string
	stores  func(client string) []string // of the person
	now     time.Time
	servers map[tmux.Server]*serverAnswer
	agents  func() map[string]process.Proc // see findStartedAgents
	placed  map[int]bool                   // PIDs of agents in panes of their own
}

// NewSurvey returns a look in this environment.
func NewSurvey(getenv func(string) string, now time.Time) *Survey {
	l := &Survey{getenv: getenv, stores: storesOf(getenv), now: now, servers: map[tmux.Server]*serverAnswer{}, placed: map[int]bool{}}
	l.agents = sync.OnceValue(func() map[string]process.Proc { return findStartedAgents(place.StateOf(getenv), l.placed) })
	return l
}

// Ask begins to ask a tmux server.
func (l *Survey) Ask(server tmux.Server) {
	if l.servers[server] == nil {
		a := new(serverAnswer)
		a.task = cli.Go(func() { a.fetch(server) })
		l.servers[server] = a
	}
}

// awaitServer waits for a server's answer and returns it.
func (l *Survey) awaitServer(server tmux.Server) *serverAnswer {
	l.Ask(server)
	a := l.servers[server]
	if a.task != nil {
		a.task.Wait()
		a.task = nil
	}
	return a
}

// fetch asks a tmux server for its panes, and whether its processes can be seen from here.
func (a *serverAnswer) fetch(server tmux.Server) {
	panes, err := server.Panes()
	a.serverRuns = err == nil
	if a.err = err; errors.Is(err, tmux.ErrNoServer) && !errors.Is(err, tmux.ErrNoTmux) {
		a.err = nil // no server means no panes
	}
	if pid, err := server.PID(); err == nil && len(panes) > 0 {
		a.isHidden = pid == 0
	}
	a.setPanes(panes)
}

// setPanes keeps the panes, with an index of them by id, session and mark.
func (a *serverAnswer) setPanes(panes []tmux.Pane) {
	a.panes, a.byID, a.bySession, a.byMark = panes, map[string][]int{}, map[string][]int{}, map[string][]int{}
	for i := range panes {
		p := &panes[i]
		a.byID[p.ID], a.bySession[p.Session] = append(a.byID[p.ID], i), append(a.bySession[p.Session], i)
		if p.Mark != "" {
			a.byMark[p.Mark] = append(a.byMark[p.Mark], i)
		}
	}
}

// candidatePanes returns the indices in a.panes where an instance's agent can be. A known pane is
// one at most: its window can be in several tmux sessions, and the instance's own comes first. If
// the pane is unknown, as of a template's agent, it is any in that session or with the mark name.
func (a *serverAnswer) candidatePanes(in *instance.Instance, name string) []int {
	if in.TmuxPane == "" {
		all := slices.Concat(a.bySession[in.TmuxSession], a.byMark[name])
		slices.Sort(all)
		return slices.Compact(all)
	}
	all := a.byID[in.TmuxPane]
	if i := slices.IndexFunc(all, func(i int) bool { return a.panes[i].Session == in.TmuxSession }); i > 0 {
		return all[i : i+1]
	}
	return all[:min(len(all), 1)]
}

// seat is where an instance's agent is.
type seat struct {
	pane                       tmux.Pane
	proc                       process.Proc
	suspended                  bool             // proc is
	panePresence, procPresence process.Presence // of the pane and of what runs in it
}

// findSeat returns the pane of an instance's agent and the agent's process. name is the store's
// Name for the instance, with which gt marks its panes. A new tmux server gives the ids of old
// panes anew, so what runs in a pane decides. If no pane has the agent, panePresence is Dead, or
// Unseen if tmux did not answer.
func (a *serverAnswer) findSeat(in *instance.Instance, name string) seat {
	for _, i := range a.candidatePanes(in, name) {
		pane := a.panes[i]
		switch {
		case a.isHidden:
			if pane.Mark == name || pane.Mark == "" {
				return seat{pane: pane, panePresence: process.Alive, procPresence: process.Unseen}
			}
		case in.Adopted != nil:
			if p := in.Adopted.Process(); p.IsAlive() { // otherwise the pane is the person's
				return seat{pane, p, p.IsSuspended(), process.Alive, process.Alive}
			}
		default:
			if pane.Mark != "" && pane.Mark != name {
				continue // another agent's, to which a new server gave the id
			}
			seen, running := lookAtPane(pane)
			p, program := seen.Proc, seen.Name
			if pane.Mark == "" && pane.Session != in.TmuxSession && strings.HasPrefix(program, "gt-") {
				continue // another agent that is being started, and has no mark yet
			}
			if p.IsSet() && runsNamed(p, program, pane, name) || !p.IsSet() && (pane.Mark == name || pane.Mark == "") {
				return seat{pane, p, seen.Suspended, process.Alive, running}
			}
		}
	}
	if a.err != nil {
		return seat{panePresence: process.Unseen, procPresence: process.Unseen}
	}
	return seat{panePresence: process.Dead, procPresence: process.Unseen}
}

// findStartedAgents returns the processes that began as agents of instances of a state, by the stores'
// Name, except those with known PIDs.
func findStartedAgents(state place.State, known map[int]bool) map[string]process.Proc {
	// The variable has behind a colon the PID of the agent itself, whose children inherit it.
	began := func(pid int, variable string) bool {
		_, at, _ := strings.Cut(variable, ":")
		return strings.TrimSuffix(at, instance.Launched) == strconv.Itoa(pid)
	}
	all := map[string]process.Proc{}
	skip := func(pid int) bool {
		if known[pid] {
			return true
		}
		own, _ := process.Proc{PID: pid}.EnvironOf("") // costs half of finding the process
		return !began(pid, process.Variable(own, instance.Variable))
	}
	for p, variable := range agentProcesses(state, skip) {
		if began(p.PID, variable) {
			name, _, _ := strings.Cut(variable, ":")
			all[name] = p
		}
	}
	return all
}

// agentProcesses yields each process that is an instance's agent or was started by one, with the
// value of instance.Variable in its environment. It leaves out processes of gt and tmux, and those
// of another state folder, which can have an instance of the same id. It does not look at those
// that skip reports.
func agentProcesses(state place.State, skip func(pid int) bool) iter.Seq2[process.Proc, string] {
	return func(yield func(process.Proc, string) bool) {
		for _, pid := range process.ListPIDs() {
			if skip(pid) {
				continue
			}
			seen, err := process.Look(pid)
			if err != nil || strings.HasPrefix(seen.Name, "gt-") || strings.HasPrefix(seen.Name, "tmux") {
				continue
			}
			p := seen.Proc
			environ, _ := p.EnvironOf(seen.Name) // another user's has none
			getenv := func(key string) string { return process.Variable(environ, key) }
			if v := getenv(instance.Variable); v != "" && place.StateOf(getenv) == state && !yield(p, v) {
				return
			}
		}
	}
}

// StartedBy returns the running processes that come from the agent of a store's instance.
func StartedBy(store instance.Store, id instance.ID) (all []process.Proc) {
	for p, variable := range agentProcesses(store.State, func(int) bool { return false }) {
		if of, _, _ := strings.Cut(variable, ":"); of == store.Name(id) {
			all = append(all, p)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all
}

// findRestarted returns the pane and process of an agent that a person, or a program that
// restores tmux, has started again. It finds the agent by its session's record, or else by a
// tmux session of its name, its folder and the conversation on its command line.
func (l *Survey) findRestarted(m *Member, known *agent.Table) (pane tmux.Pane, p process.Proc, is bool) {
	server := tmux.Server(m.TmuxServer)
	r := m.Record
	// recorded: its hooks told of a pane, and of a process that runs. A pane of a new server can
	// have the number of the agent's last one, so that number counts for a wanted agent only.
	recorded := r != nil && r.TmuxPane != "" && (r.TmuxPane != m.TmuxPane || m.IsWanted()) &&
		r.Live() && r.Process().IsAlive() && tmux.Server(r.TmuxServer).SameServer(server)
	a := l.servers[server]
	at := a.bySession[m.TmuxSession]
	if recorded {
		at = a.byID[r.TmuxPane]
	}
	for _, i := range at {
		pane := a.panes[i]
		switch {
		case pane.Dead || pane.Mark != "":
		case recorded:
			if p := r.Process(); live.OwnsPane(known, p, pane) {
				return pane, p, true
			}
		case m.IsWanted() && pane.Path == m.Path:
			p := live.FindClientBelow(known, server, pane, m.Agent)
			args, err := p.Args()
			if p.IsSet() && err == nil && (m.CurrentID == "" || slices.Contains(args, string(m.CurrentID))) {
				return pane, p, true
			}
		}
	}
	return tmux.Pane{}, process.Proc{}, false
}

// findOutside looks for the agent of a member that is in no pane of its own, and reports whether
// it runs. One that was started again in another pane is adopted: m gets that pane and process.
// For one that runs in no pane which tmux shows, m.Unanswered becomes an UnreachableError.
func (l *Survey) findOutside(m *Member, known *agent.Table, store instance.Store) bool {
	server := tmux.Server(m.TmuxServer)
	if pane, p, is := l.findRestarted(m, known); is {
		m.Pane, m.Process, m.Adopted = pane, p, instance.Adopt(p)
		m.TmuxPane, m.TmuxSession = pane.ID, pane.Session
		return true
	}
	p, ok := l.agents()[store.Name(m.ID)]
	if m.Adopted != nil {
		p = m.Adopted.Process()
		ok = p.IsAlive()
	}
	if !ok {
		return false
	}
	e := &UnreachableError{Process: p}
	environ, err := p.EnvironOf(process.Name(p.PID))
	// No server answers at the socket, so the error names the one that the agent's TMUX tells.
	if err == nil && !l.servers[server].serverRuns {
		socket, pid, _ := strings.Cut(process.Variable(environ, "TMUX"), ",")
		pid, _, _ = strings.Cut(pid, ",")
		e.Socket = socket
		e.Server, _ = strconv.Atoi(pid)
	}
	m.Process, m.Unanswered = p, e
	return true
}

// Members returns the state of instances of a store, in this environment.
func Members(getenv func(string) string, store instance.Store, known *agent.Table, all []*instance.Instance, now time.Time) []Member {
	return NewSurvey(getenv, now).ReadStores([]StoreInstances{{store, all, known}})[0]
}

// StoreInstances is a store with its instances and the table of agents that applies there.
type StoreInstances struct {
	Store     instance.Store
	Instances []*instance.Instance
	Table     *agent.Table
}

// Servers returns the servers that were asked.
func (l *Survey) Servers() []tmux.Server { return slices.Sorted(maps.Keys(l.servers)) }

// Panes returns the panes of a server, sorted by id.
func (l *Survey) Panes(server tmux.Server) []tmux.Pane {
	all := slices.Clone(l.awaitServer(server).panes)
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i].ID, all[j].ID
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
	})
	return all
}

// ReadStores returns the state of the instances of several stores, in their order. It finds the
// panes of all agents first: observe then searches the processes that are in none of them.
func (l *Survey) ReadStores(places []StoreInstances) [][]Member {
	var all []*instance.Instance
	for _, p := range places {
		all = append(all, p.Instances...)
	}
	for _, in := range all {
		if in.TmuxSession != "" {
			l.Ask(tmux.Server(in.TmuxServer))
		}
	}
	members, at := make([]Member, len(all)), make([]*StoreInstances, 0, len(all))
	for i := range places {
		for range places[i].Instances {
			at = append(at, &places[i])
		}
	}
	doParallel(len(all), func(i int) {
		members[i].survey = l
		members[i].readRecord(at[i].Store, at[i].Table, all[i])
	})
	claimed := map[session.ID]*Member{}
	for i := range members {
		m := &members[i]
		switch other := claimed[m.CurrentID]; {
		case m.CurrentID == "":
		case other == nil:
			claimed[m.CurrentID] = m
		case m.CreatedAt.Before(other.CreatedAt): // of two instances with the same session, the older one keeps it
			other.CurrentID, other.Record, other.home = "", nil, home.Home{}
			claimed[m.CurrentID] = m
		default:
			m.CurrentID, m.Record, m.home = "", nil, home.Home{}
		}
	}
	for _, in := range all {
		if in.TmuxSession != "" {
			l.awaitServer(tmux.Server(in.TmuxServer))
		}
	}
	seats, rest := make([]seat, len(all)), make([]*pendingScreen, len(all))
	doParallel(len(all), func(i int) { seats[i] = members[i].findSeat(at[i].Store) })
	for i := range seats {
		if p := seats[i].proc; p.IsSet() && all[i].Adopted == nil {
			l.placed[p.PID] = true
		}
	}
	doParallel(len(all), func(i int) { rest[i] = members[i].observe(at[i].Store, at[i].Table, seats[i]) })
	readScreens(members, rest)
	setLimitEnds(members)
	doParallel(len(all), func(i int) { members[i].setSilence() })
	looked := make([][]Member, len(places))
	for i, p := range places {
		looked[i], members = members[:len(p.Instances):len(p.Instances)], members[len(p.Instances):]
	}
	return looked
}

// doParallel calls do for 0 to n-1, on all processors if n is large.
func doParallel(n int, do func(i int)) {
	const few = 64
	workers := min(runtime.GOMAXPROCS(0), n/few+1)
	var tasks []*cli.Task
	for w := range workers {
		tasks = append(tasks, cli.Go(func() {
			for i := w; i < n; i += workers {
				do(i)
			}
		}))
	}
	for _, task := range tasks {
		task.Wait()
	}
}

// readRecord reads the record of an instance's session. If the person started another client in
// the agent's place, it changes in, which is then that client's. A variant of the same client is
// no other one: its hooks report the client that it is a variant of.
func (m *Member) readRecord(store instance.Store, known *agent.Table, in *instance.Instance) {
	m.Instance, m.CurrentID = in, store.Session(in)
	if m.CurrentID == "" {
		return
	}
	// an unreadable record counts as unknown
	if h, ok, _ := home.FilesOfSession(store.State, string(m.CurrentID)); ok {
		m.home = h
		m.Record, _ = session.Store{Home: h}.Get(m.CurrentID)
	}
	if r := m.Record; r != nil && r.Agent != "" && r.Agent != in.Agent && m.hasBegun() {
		if c := known.FindClient(r.Agent); c.Dialect != known.FindClient(in.Agent).Dialect {
			args, _ := r.Process().Args() // none if it has ended
			in.Agent, in.Args, in.Account = r.Agent, c.ChosenArgs(args), ""
		}
	}
}

// setLimitEnds finds when the limits of members end.
func setLimitEnds(members []Member) {
	for i := range members {
		if m := &members[i]; m.Reason == status.Limited {
			m.LimitedUntil = m.LimitEnd(m.Since)
		}
	}
}

// pendingScreen is a member whose screen is needed.
type pendingScreen struct {
	facts  status.Facts
	result status.Result // the status without the screen
	client agent.Client
}

// findSeat returns where the agent is, the zero seat if it was never started.
func (m *Member) findSeat(store instance.Store) seat {
	if m.TmuxSession == "" {
		return seat{}
	}
	return m.survey.servers[tmux.Server(m.TmuxServer)].findSeat(m.Instance, store.Name(m.ID))
}

// observe sets the status of an instance's agent, which is at a seat, and returns nil. If the
// screen is needed for it, it returns what readScreen then sets the status by.
func (m *Member) observe(store instance.Store, known *agent.Table, at seat) *pendingScreen {
	if m.TmuxSession == "" { // it was never started
		m.Status = status.Stopped
		return nil
	}
	l := m.survey
	server, now := l.servers[tmux.Server(m.TmuxServer)], l.now
	pane, p, presence, running := at.pane, at.proc, at.panePresence, at.procPresence
	switch {
	case presence == process.Unseen:
		m.Unanswered = server.err
	case presence == process.Alive && server.isHidden:
		m.Unanswered = ErrUnseen
	case presence == process.Dead && m.Managed == nil && (m.Desired == instance.Running || m.Record != nil && m.Record.Live()) && l.findOutside(m, known, store):
		pane, p, presence, running = m.Pane, m.Process, process.Alive, process.Alive // it runs elsewhere
		at.suspended = p.IsSuspended()
		if m.LostPane() { // nobody can reach it again
			presence = process.Dead
		}
	case presence == process.Dead && pane.ID == "":
		if m.Unanswered = m.hiddenError(now, store.State); m.Unanswered != nil {
			presence = process.Unseen
		}
	}
	client := known.FindClient(m.Agent)
	f := status.Facts{
		Now: now, Desired: m.shouldRun(), Hooks: client.Dialect != "",
		Started: m.StartedAt, Pane: presence, Acknowledged: m.Acknowledged,
	}
	if presence == process.Alive {
		m.Pane, m.Process, m.suspended, f.Process = pane, p, at.suspended, running
	}
	if pane.Killed { // killed from outside, although the pane remains
		f.Pane = process.Dead
	}
	if m.Record != nil && presence == process.Dead && m.hasBegun() { // of an agent that is gone, only its start counts
		f.Seen = append(f.Seen, status.OfStart(m.Record))
	} else if m.Record != nil && presence != process.Dead {
		told := m.hookObservation()
		f.Seen = append(f.Seen, m.startObservation(told), status.OfRecord(m.Record), told, m.registryObservation(), m.stopObservation(told))
		if began := m.successorBegan(p); !began.IsZero() { // all this is of its predecessor
			f.Started, f.Seen = began, nil
		} else if !m.hasBegun() || m.leftConversation() { // it was the previous agent, or the agent's previous conversation, that ended
			f.Seen = slices.DeleteFunc(f.Seen, func(o status.Observation) bool { return o.Status == status.Stopped })
		}
	}
	u := &pendingScreen{facts: f, result: m.withEarlierReason(status.DeriveStatus(f)), client: client}
	if pane.ID != "" && (u.onlyScreenTells() || m.mayBeAnswered(u.result)) {
		return u
	}
	m.setStatus(u.result)
	return nil
}

// onlyScreenTells reports whether only the screen shows the status. This is so for agents
// without hooks, and if hooks have not reported since the start: they may not be installed,
// and those of some clients do not run before the first prompt.
func (u *pendingScreen) onlyScreenTells() bool {
	return !u.facts.Hooks || u.result.Status == status.Unknown
}

// mayBeAnswered reports whether only the screen can show that the person has answered a
// question: neither a hook nor a registry of the client reports it.
func (m *Member) mayBeAnswered(got status.Result) bool {
	return got.Reason.Asks() && got.DerivedFrom.Source == status.Hook && !m.hasRegistry()
}

// readScreens reads the screens of the members that need it, with one call to each tmux server.
func readScreens(members []Member, rest []*pendingScreen) {
	panes := map[string][]string{} // by server
	for i, u := range rest {
		if u != nil {
			panes[members[i].TmuxServer] = append(panes[members[i].TmuxServer], members[i].Pane.ID)
		}
	}
	screens := map[string]map[string]string{}
	for server, ids := range panes {
		screens[server] = tmux.Server(server).CapturePanes(ids)
	}
	for i, u := range rest {
		if u != nil { // a pane that is gone has no text
			members[i].readScreen(u, screens[members[i].TmuxServer][members[i].Pane.ID])
		}
	}
}

// readScreen updates the status of a member from its screen.
func (m *Member) readScreen(u *pendingScreen, screen string) {
	shows := live.Agent{Client: u.client, Screen: screen}
	if u.onlyScreenTells() {
		u.facts.Hooks, u.facts.Seen = false, append(u.facts.Seen, shows.Observe(u.facts.Now))
		u.result = m.withEarlierReason(status.DeriveStatus(u.facts))
	}
	if m.mayBeAnswered(u.result) {
		u.result = shows.CorrectAnswered(u.result)
	}
	m.setStatus(u.result)
	m.byScreenOnly = u.client.Dialect != "" && u.result.DerivedFrom.Source == status.Screen
}

// WhyBusy returns what an end of the agent would cut off now, in a person's words: its turn,
// or what it runs in the background. It is "" if that is nothing, or nothing is known.
func (m *Member) WhyBusy() string {
	if m.Pane.ID == "" || m.byScreenOnly && m.Reason.Asks() {
		return ""
	}
	return status.WhyBusy(m.Status, m.Reason, m.Background)
}

// withEarlierReason returns got, with the reason from before the start if the agent has waited
// since the start: its account is still at the earlier limit, or its turn was interrupted.
func (m *Member) withEarlierReason(got status.Result) status.Result {
	if got.Status != status.Waiting && got.Status != status.Idle || got.Reason != status.Done && got.Reason != "" || m.Record == nil {
		return got // it does not wait, or waits for another known reason, or has no record
	}
	switch last := m.Activity(); {
	case last.Since.IsZero() || !last.Since.Before(m.StartedAt): // no hook told of a time before
	case last.Status == activity.Limited, last.Reason == activity.Spent:
		got.Reason, got.DerivedFrom.At = status.Limited, last.Since
	case last.CutOff() && m.stopObservation(status.OfActivity(status.Hook, last)).Status == "":
		got.Reason = status.Interrupted
	}
	return got
}

// WasInterrupted reports whether the last run of an agent that does not run ended in the middle of a turn.
func (m *Member) WasInterrupted() bool {
	return m.Activity().CutOff()
}

func (m *Member) setStatus(got status.Result) {
	if p := m.SuspendedProcess(); p.IsSet() { // since when is not known
		got = status.Result{Status: status.Waiting, Reason: status.Suspended}
	}
	m.Status, m.Reason, m.Background, m.Since, m.QuietSince, m.NeedsLogin = got.Status, got.Reason, got.Background, got.DerivedFrom.At, got.Quiet, got.DerivedFrom.Login
}

// SuspendedProcess returns the agent's process if it is suspended, as after Ctrl-Z, or else an
// unset one. It is the pane's process, or the one below it that the hooks recorded: tmux continues
// a process that it started itself, but not one that a shell or a launcher started there.
func (m *Member) SuspendedProcess() process.Proc {
	if m.suspended {
		return m.Process
	}
	if m.Process.IsSet() && m.Record != nil && m.hasBegun() && m.Record.PID != m.Process.PID {
		if p := m.Record.Process(); p.IsSet() && p.IsSuspended() {
			return p
		}
	}
	return process.Proc{}
}

// Activity returns what the session's hooks stored last, the zero State without a session. It
// reads it once.
func (m *Member) Activity() activity.State {
	if m.activity == nil && m.Record != nil {
		doing := activity.Read(m.home, m.Record.ID)
		m.activity = &doing
	}
	if m.activity == nil {
		return activity.State{}
	}
	return *m.activity
}

// LastAnswer returns the agent's last answer at the end of its last turn, "" if none is known.
// It reads one small file.
func (m *Member) LastAnswer(clean func(string) string) string {
	if m.Record == nil {
		return ""
	}
	f := conversation.File{Client: cmp.Or(m.Record.Agent, contract.Default), Path: m.Record.Transcript, ID: m.Record.ID}
	sum, _, _ := tail.NewFile(m.home, m.Record).ReadStored(f, clean) // an unreadable file has none
	return sum.Answer
}

// Topic returns what the agent is about: the person's title, unless its name says the same; else
// what the client calls the session, or its last request; else the same of the session that handed
// over to it; else the topic of its last start.
func (m *Member) Topic() string {
	topic := m.Title
	if plainLetters(term.Clean(topic)) == plainLetters(m.Name) {
		topic = ""
	}
	topic = cmp.Or(topic, m.Activity().Topic())
	if topic == "" && m.Record != nil && m.Record.ParentID != "" {
		topic = activity.Read(m.home, m.Record.ParentID).Topic()
	}
	return cmp.Or(topic, m.Instance.Topic)
}

// WorksIn returns the folder where a running agent works: the instance's, or another worktree of
// its repository, which its client made or to which the session moved, as its hooks told last.
// It looks once, and is not for several goroutines.
func (m *Member) WorksIn() string {
	if m.worksIn == "" {
		m.worksIn = m.findWorkFolder()
	}
	return m.worksIn
}

// findWorkFolder is WorksIn without the cache. What hooks told before the agent's start is ignored.
func (m *Member) findWorkFolder() string {
	if m.Pane.ID == "" || m.Record == nil || !m.hasBegun() {
		return m.Path
	}
	at := m.home.Dir
	if doing := m.Activity(); doing.Worktree != "" && !doing.Since.Before(m.StartedAt) {
		at = doing.Worktree
	}
	if at == m.Path {
		return m.Path
	}
	// Only the top of another worktree of the same repository counts.
	if top := git.Top(m.Path); top == at || place.Real(top) == place.Real(at) || git.Top(at) != at {
		return m.Path
	} else if is, _ := git.IsWorktreeOf(at, top); !is {
		return m.Path
	}
	return at
}

// NoteTranscript records that the agent's conversation is in another file now, of which no hook
// may tell.
func (m *Member) NoteTranscript(path string) error {
	lock, err := m.home.LockWithin(recordWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	store := session.Store{Home: m.home}
	r, err := store.Get(m.Record.ID)
	if err != nil || r == nil {
		return err
	}
	r.Transcript = path
	return store.Put(r, atomicfile.Synced)
}

const recordWait = 5 * time.Second

// plainLetters returns the letters and digits of s, in lower case.
func plainLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// Sessions returns the agent's session and its predecessors, newest first, as far as they ran
// after since. They end before the session that the agent was forked from, and before one in
// others, the current sessions of all agents: that one counts for its own agent.
func (m *Member) Sessions(others map[session.ID]bool, since time.Time) []session.ID {
	all := []session.ID{m.CurrentID}
	for r := m.Record; r != nil; {
		id := r.ParentID
		if id == "" || id == m.ForkOf || others[id] || slices.Contains(all, id) {
			break
		}
		if r, _ = (session.Store{Home: m.home}).Get(id); r != nil && r.Ended() && r.EndedAt.Before(since) {
			break
		}
		all = append(all, id)
	}
	return all
}

// StateFolder returns the folder whose files say what the agent does, "" if there is none.
func (m *Member) StateFolder() string {
	if m.Record == nil {
		return ""
	}
	return m.home.Path("sessions")
}

// LimitedAt returns when its account reached a limit, if that was the last report of its
// hooks. Otherwise it returns the zero time.
func (m *Member) LimitedAt() time.Time {
	last := m.Activity()
	if last.Reason != activity.Spent || last.Since.Before(m.StartedAt) {
		return time.Time{}
	}
	return last.Since
}

// LimitEnd returns when the limit of its account at a time ends, if its client writes that.
// Otherwise it returns the zero time.
func (m *Member) LimitEnd(at time.Time) time.Time {
	if m.Record == nil || m.conversationStore() == "" {
		return time.Time{}
	}
	limiter, ok := m.reader().(conversation.Limiter)
	if !ok {
		return time.Time{}
	}
	return limiter.LimitEnd(m.Record.Transcript, at.Add(-time.Minute)) // the hook runs after the client has written it
}

// hookObservation returns the last report of the session's hooks. Without a stored state, it uses
// the home's keepalive file, which gt-keepalive touch also writes by hand.
func (m *Member) hookObservation() status.Observation {
	if doing := m.Activity(); doing.Status != "" {
		return status.OfActivity(status.Hook, doing)
	}
	// A notification updates the file even if it does not change the status.
	if beat := keepalive.Read(m.home); beat != nil && beat.SessionID == m.Record.ID && beat.LastCommand != "Notification" {
		return status.OfHeartbeat(beat)
	}
	return status.Observation{}
}

// registryObservation returns the session's state in the client's registry, in the person's store that
// has the conversation.
func (m *Member) registryObservation() status.Observation {
	watcher, ok := m.reader().(conversation.Watcher)
	if !ok || m.Record.Ended() || !m.Record.Process().IsSet() {
		return status.Observation{}
	}
	if store := m.conversationStore(); store != "" {
		return status.OfActivity(status.Registry, watcher.ReadActivity(store, m.Record.ID, m.Record.Process()))
	}
	return status.Observation{}
}

// stopObservation returns the observation that the turn was stopped, if the client has written that
// into the conversation. told is what the hooks said last: only a turn that runs or asks can stop.
func (m *Member) stopObservation(told status.Observation) status.Observation {
	stopper, ok := m.reader().(conversation.Stopper)
	if !ok || told.Status != status.Running && !told.Reason.Asks() || m.conversationStore() == "" {
		return status.Observation{}
	}
	at, why := stopper.TurnStopped(m.Record.Transcript, told.At)
	return status.Observation{Source: status.Conversation, At: at, Status: status.Waiting, Reason: why}
}

func (m *Member) reader() conversation.Reader {
	return readers.FindReader(cmp.Or(m.Record.Agent, contract.Default))
}

// hasRegistry reports whether the client has a registry.
func (m *Member) hasRegistry() bool {
	_, ok := m.reader().(conversation.Watcher)
	return ok
}

// conversationStore returns the person's store that has the session's conversation, "" if none does.
func (m *Member) conversationStore() string {
	for _, store := range append(slices.Clip(m.survey.stores(cmp.Or(m.Record.Agent, contract.Default))), m.Account) {
		if store != "" && strings.HasPrefix(m.Record.Transcript, store+"/") {
			return store
		}
	}
	return ""
}

// storesOf returns a function that lists the stores of a client. It caches the result.
func storesOf(getenv func(string) string) func(client string) []string {
	known := map[string][]string{}
	var mu sync.Mutex
	return func(client string) []string {
		mu.Lock()
		defer mu.Unlock()
		stores, ok := known[client]
		if !ok {
			stores = account.Stores(client, getenv)
			known[client] = stores
		}
		return stores
	}
}

// RunsAgent reports whether the process p of a pane is the agent of an instance, or one of gt's
// programs that is about to become it. name is the store's Name for the instance. A process
// that cannot be examined counts as the agent.
func RunsAgent(p process.Proc, pane tmux.Pane, name string) bool {
	return runsNamed(p, process.Name(p.PID), pane, name)
}

// runsNamed is RunsAgent for a process whose program is known.
func runsNamed(p process.Proc, program string, pane tmux.Pane, name string) bool {
	if !p.IsSet() {
		return true
	}
	own := func() bool {
		environ, err := p.EnvironOf(program)
		if err != nil {
			return true
		}
		path := false
		for _, kv := range environ {
			if value, ok := strings.CutPrefix(kv, instance.Variable+"="); ok {
				if value, _, _ = strings.Cut(value, ":"); value == name {
					return true
				}
			}
			path = path || strings.HasPrefix(kv, "PATH=")
		}
		return !path // a program that overwrites its environment with its title has no PATH
	}
	// The process can execute the agent between the first two checks.
	return own() || strings.HasPrefix(process.Name(pane.PID), "gt-") || own()
}

// PaneProcess returns the process of a pane's agent, and whether it runs.
func PaneProcess(pane tmux.Pane) (process.Proc, process.Presence) {
	seen, is := lookAtPane(pane)
	return seen.Proc, is
}

// lookAtPane is PaneProcess with all that was seen of the process.
func lookAtPane(pane tmux.Pane) (process.Seen, process.Presence) {
	if pane.Dead {
		return process.Seen{}, process.Dead
	}
	seen, err := process.Look(pane.PID)
	if err != nil { // also during an exec; if it is gone, tmux will know next time
		return process.Seen{}, process.Unseen
	}
	return seen, process.Alive
}

// endedByItself reports whether the agent ended by itself: the person left it, or it had answered
// its one prompt. An agent that ended with its terminal or machine is still wanted.
func (m *Member) endedByItself() bool {
	r := m.Record
	return r != nil && r.Ended() && r.Outcome == session.Done && r.EndedAt.After(m.StartedAt) && m.hasBegun() && !m.isEndUnknown() && !m.leftConversation()
}

// LeftReason is the reason of a session's end whose agent's process exited with success in its
// pane.
const LeftReason = "prompt_input_exit"

// isEndUnknown reports whether it is unknown how the agent ended. A server behind the client
// goes on and reports every end in the same way.
func (m *Member) isEndUnknown() bool {
	return m.Record.Server().IsSet() && m.Adopted == nil && m.Record.Reason != LeftReason
}

// leftConversation reports whether the client ended the session and runs: it is in a new
// conversation, which some clients, such as Codex after /new, tell with its first prompt.
func (m *Member) leftConversation() bool {
	return m.Record.Ended() && m.Record.Reason != LeftReason && m.Record.Process().IsAlive()
}

// successorBegan returns when p began, if it is the process to which the session handed over and
// no hook has told of the next session yet. Otherwise it returns the zero time.
func (m *Member) successorBegan(p process.Proc) time.Time {
	r := m.Record
	if r.Outcome != session.Handoff || !p.IsSet() || r.Process().IsAlive() {
		return time.Time{}
	}
	began, err := process.StartTime(p.PID)
	if err != nil || began.Before(r.Began()) { // a shell in which the agent was
		return time.Time{}
	}
	return began
}

// startObservation returns the observation that the session began or was resumed. It is zero if
// told, the hooks' last report, is of a turn of the same process: some clients run the hook of the
// start beside that of the first prompt, so the start may be recorded last.
func (m *Member) startObservation(told status.Observation) status.Observation {
	start := status.OfStart(m.Record)
	if told.Status != status.Running || !told.At.Before(start.At) || !m.Record.Process().IsAlive() {
		return start
	}
	began, err := process.StartTime(m.Record.PID)
	if err != nil || told.At.Before(began) { // the turn was of a process before, which was cut off
		return start
	}
	return status.Observation{}
}

// hasBegun reports whether the session began or was resumed since the agent was started. Until
// then its record is about the previous agent, whose end can be reported late: Codex has a
// server that does so seconds later.
func (m *Member) hasBegun() bool {
	return !m.Record.Began().Before(m.StartedAt)
}

// HasReported reports whether a hook of the agent ran since its start.
func (m *Member) HasReported() bool { return m.Record != nil && m.hasBegun() }

// IsWanted reports whether its agent should run: a person started it, and neither stopped nor left it.
func (m *Member) IsWanted() bool { return m.Desired == instance.Running && !m.endedByItself() }

// shouldRun reports whether its agent should run now: it is wanted, and was not ended to be
// started later.
func (m *Member) shouldRun() bool {
	if m.Managed != nil && m.Managed.State.Rests() {
		return false
	}
	return m.IsWanted() && !m.ShutDownAt.After(m.StartedAt)
}

// clientEnv returns the environment with the client's own folder, if the instance has an account.
func (m *Member) clientEnv() func(string) string {
	if m.Account == "" {
		return m.survey.getenv
	}
	return func(key string) string {
		if names.IsStoreVar(key) {
			return m.Account
		}
		return m.survey.getenv(key)
	}
}

// IsResumable reports whether the client has a conversation of the session. A session without
// any message has none.
func (m *Member) IsResumable() bool {
	path := ""
	switch {
	case m.Record != nil && m.Record.Transcript == "":
		return true
	case m.Record != nil:
		path = m.Record.Transcript
	case !m.SessionAt.Equal(m.StartedAt): // the conversation existed before the start
		return true
	default: // its hooks report nothing
		path = files.Path(m.Agent, m.clientEnv(), m.Path, string(m.CurrentID))
	}
	// Any file but a short .jsonl counts as a conversation.
	info, err := os.Stat(path)
	r := readers.FindReader(m.Agent)
	if err != nil || r == nil || info.Size() == 0 || info.Size() > conversation.EndSize || !strings.HasSuffix(path, ".jsonl") {
		return err == nil
	}
	// A client may write its own commands, such as the one that left it, and cannot
	// resume a conversation without anything else.
	facts, err := r.Metadata(conversation.File{Client: m.Agent, Path: path, ID: m.CurrentID, Size: info.Size()})
	return err != nil || facts.Model != "" || facts.Prompt != "" || facts.ForkOf != ""
}
