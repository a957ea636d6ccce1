// Package fleet looks at many instances at once: what each one's agent does now, by one
// call to each server of tmux and a few small files for each instance.
package fleet

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/contract"
	"gt/lib/client/readers"
	"gt/lib/client/readers/files"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/live"
	"gt/lib/live/status"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Member is an instance and what is known of it now.
type Member struct {
	*instance.Instance
	Now    session.ID      // the session that its agent has, "" where that is not known
	Record *session.Record // of that session, nil where there is none
	Status status.Status
	Reason status.Reason
	// Background is whether something of it runs in the background while it waits.
	Background bool
	Since      time.Time // when the status began, as far as it is known
	Pane       tmux.Pane // that its agent runs in; zero where there is none
	Process    process.Proc
	// Unanswered reports that its server of tmux did not answer: it may run, though no pane
	// is known.
	Unanswered bool

	home home.Home // of the record
}

// answer is what a server of tmux knows.
type answer struct {
	panes    map[string]tmux.Pane // by session and id
	sessions map[string]tmux.Pane // the first pane of each
	err      error
}

// panesOf asks each server that instances were started in, once and all at the same
// time. wait returns the answers.
func panesOf(all []*instance.Instance) (wait func() map[string]*answer) {
	answers := map[string]*answer{}
	var asked []*cli.Task
	for _, in := range all {
		if answers[in.TmuxServer] != nil || in.TmuxSession == "" {
			continue
		}
		a := new(answer)
		answers[in.TmuxServer] = a
		asked = append(asked, cli.Go(func() { a.fetch(tmux.Server(in.TmuxServer)) }))
	}
	return func() map[string]*answer {
		for _, task := range asked {
			task.Wait()
		}
		return answers
	}
}

func (a *answer) fetch(server tmux.Server) {
	panes, err := server.Panes()
	if a.err = err; errors.Is(err, tmux.ErrNoServer) && !errors.Is(err, tmux.ErrNoTmux) {
		a.err = nil // it has no panes
	}
	a.panes, a.sessions = map[string]tmux.Pane{}, map[string]tmux.Pane{}
	for _, p := range panes {
		a.panes[p.Session+"\t"+p.ID] = p
		if _, ok := a.sessions[p.Session]; !ok {
			a.sessions[p.Session] = p
		}
	}
}

// pane returns the pane of an instance, and whether there is one.
func (a *answer) pane(in *instance.Instance) (tmux.Pane, status.Presence) {
	p, ok := a.panes[in.TmuxSession+"\t"+in.TmuxPane]
	if !ok {
		p, ok = a.sessions[in.TmuxSession] // the person closed it beside another, or moved it
	}
	switch {
	case ok && in.TmuxSession != "":
		return p, status.Alive
	case a.err != nil:
		return tmux.Pane{}, status.NoAnswer
	}
	return tmux.Pane{}, status.Dead
}

// Members looks at instances of a store, for a person with this environment.
func Members(getenv func(string) string, store instance.Store, known *agent.Table, all []*instance.Instance, now time.Time) []Member {
	return LookAt(getenv, []Place{{store, all, known}}, now)[0]
}

// Place is a store with its instances, and the table of agents that is good there.
type Place struct {
	Store     instance.Store
	Instances []*instance.Instance
	Table     *agent.Table
}

// LookAt looks at the instances of several stores, those of each in their order. However
// many there are, each server of tmux is asked once.
func LookAt(getenv func(string) string, places []Place, now time.Time) [][]Member {
	var all []*instance.Instance
	for _, p := range places {
		all = append(all, p.Instances...)
	}
	asked := panesOf(all)
	members, at := make([]Member, len(all)), make([]*Place, 0, len(all))
	for i := range places {
		for range places[i].Instances {
			at = append(at, &places[i])
		}
	}
	share(len(all), func(i int) { members[i].read(at[i].Store, all[i]) })
	claimed := map[session.ID]*Member{}
	for i := range members {
		m := &members[i]
		switch other := claimed[m.Now]; {
		case m.Now == "":
		case other == nil:
			claimed[m.Now] = m
		case m.CreatedAt.Before(other.CreatedAt): // of two that claim a session, the older keeps it
			other.Now, other.Record, other.home = "", nil, home.Home{}
			claimed[m.Now] = m
		default:
			m.Now, m.Record, m.home = "", nil, home.Home{}
		}
	}
	servers, stores := asked(), storesOf(getenv)
	rest := make([]*unseen, len(all))
	share(len(all), func(i int) {
		rest[i] = members[i].observe(at[i].Store, at[i].Table, servers[all[i].TmuxServer], stores, now)
	})
	show(members, rest)
	looked := make([][]Member, len(places))
	for i, p := range places {
		looked[i], members = members[:len(p.Instances):len(p.Instances)], members[len(p.Instances):]
	}
	return looked
}

// share calls do for 0 to n-1, by as many goroutines as there are processors where that
// pays.
func share(n int, do func(i int)) {
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

// read reads what is kept of an instance and of the session that its agent has.
func (m *Member) read(store instance.Store, in *instance.Instance) {
	m.Instance, m.Now = in, store.Session(in)
	if m.Now == "" {
		return
	}
	// What cannot be read counts as not known.
	if h, ok, _ := home.KeptOf(store.State, string(m.Now)); ok {
		m.home = h
		m.Record, _ = session.Store{Home: h}.Get(m.Now)
	}
}

// unseen is what is known of a member whose screen has to be looked at.
type unseen struct {
	facts  status.Facts
	got    status.Result // without the screen
	client agent.Client
}

// observe finds out what an instance's agent does. It returns nil where that needs no look at
// its screen.
func (m *Member) observe(store instance.Store, known *agent.Table, server *answer, stores func(string) []string, now time.Time) *unseen {
	if m.TmuxSession == "" { // it was never started
		m.Status = status.Stopped
		return nil
	}
	pane, presence := server.pane(m.Instance)
	m.Unanswered = presence == status.NoAnswer
	var p process.Proc
	running := status.NoAnswer
	switch {
	case presence == status.Alive && m.Adopted != nil:
		if p, running = m.Adopted.Process(), status.Alive; !p.Alive() {
			p, presence = process.Proc{}, status.Dead // the pane is the person's
		}
	case presence == status.Alive:
		var name string
		p, name, running = run(pane)
		if !runs(p, name, pane, store.Name(m.ID)) {
			presence = status.Dead // somebody else's, of the same name
		}
	}
	client := known.Of(m.Agent)
	f := status.Facts{
		Now: now, Desired: m.Wanted(), Hooks: client.Dialect != "",
		Started: m.StartedAt, Pane: presence, Acknowledged: m.Acknowledged,
	}
	if presence == status.Alive {
		m.Pane, m.Process, f.Process = pane, p, running
	}
	if pane.Killed { // it did not end by itself, though its pane stays
		f.Pane = status.Dead
	}
	if m.Record != nil && presence == status.Dead && m.begun() { // of one that is gone nothing else counts
		f.Seen = append(f.Seen, status.OfStart(m.Record))
	} else if m.Record != nil && presence != status.Dead {
		told := m.observed()
		f.Seen = append(f.Seen, status.OfStart(m.Record), status.OfRecord(m.Record), told, m.noted(stores), m.stopped(stores, told))
		if !m.begun() { // the end was that of the agent before
			f.Seen = slices.DeleteFunc(f.Seen, func(o status.Observation) bool { return o.Status == status.Stopped })
		}
	}
	u := &unseen{facts: f, got: status.Of(f), client: client}
	if presence == status.Alive && (u.tellsNothing() || m.mayBeAnswered(u.got)) {
		return u
	}
	m.is(u.got)
	return nil
}

// tellsNothing reports whether only the screen tells what an agent does: of one without
// hooks, and of one whose hooks have told nothing since it was started, as some clients' do
// not before their first prompt, and as they do not where they are not installed.
func (u *unseen) tellsNothing() bool { return !u.facts.Hooks || u.got.Status == status.Unknown }

// mayBeAnswered reports whether only the screen tells that the person has answered what the
// agent asks: its client notes nothing of itself, and no hook tells.
func (m *Member) mayBeAnswered(got status.Result) bool {
	return got.Asks() && got.By.Source == status.Hook && !m.watched()
}

// show looks at the screens of those members that need it, all those of a server of tmux in
// one call.
func show(members []Member, rest []*unseen) {
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
		if u != nil { // one that is gone meanwhile shows nothing
			members[i].see(u, screens[members[i].TmuxServer][members[i].Pane.ID])
		}
	}
}

// see takes in what the screen of a member shows.
func (m *Member) see(u *unseen, screen string) {
	shows := live.Agent{Client: u.client, Screen: screen}
	if u.tellsNothing() {
		u.facts.Hooks, u.facts.Seen = false, append(u.facts.Seen, shows.Observe(u.facts.Now))
		u.got = status.Of(u.facts)
	}
	if m.mayBeAnswered(u.got) {
		u.got = shows.Answered(u.got)
	}
	m.is(u.got)
}

// is takes in what was found.
func (m *Member) is(got status.Result) {
	m.Status, m.Reason, m.Background, m.Since = got.Status, got.Reason, got.Background, got.By.At
}

// LimitedAt returns when its account was seen at a limit, if that was the last that its
// hooks told before its agent ended; the zero time otherwise.
func (m *Member) LimitedAt() time.Time {
	if m.Record == nil {
		return time.Time{}
	}
	last := activity.Read(m.home, m.Record.ID)
	if last.Reason != activity.Spent || last.Since.Before(m.StartedAt) {
		return time.Time{}
	}
	return last.Since
}

// Resets returns when the limit ends that its account was at at a time, where its client
// says so; else the zero time.
func (m *Member) Resets(getenv func(string) string, at time.Time) time.Time {
	if m.Record == nil || m.store(storesOf(getenv)) == "" {
		return time.Time{}
	}
	limiter, ok := m.reader().(conversation.Limiter)
	if !ok {
		return time.Time{}
	}
	return limiter.Resets(m.Record.Transcript, at.Add(-time.Minute)) // the hook tells after it was written
}

// observed returns what the session's hooks told last. Where they told no status, it is the
// home's sign of life, if the session gave the last; gt-keepalive touch gives one by hand.
func (m *Member) observed() status.Observation {
	if doing := activity.Read(m.home, m.Record.ID); doing.Status != "" {
		return status.OfActivity(status.Hook, doing)
	}
	// A notification that says nothing new of the session is a sign of life all the same.
	if beat := keepalive.Read(m.home); beat != nil && beat.SessionID == m.Record.ID && beat.LastCommand != "Notification" {
		return status.OfHeartbeat(beat)
	}
	return status.Observation{}
}

// noted returns what the client notes of the session, in that of the person's stores
// which has its conversation.
func (m *Member) noted(stores func(client string) []string) status.Observation {
	watcher, ok := m.reader().(conversation.Watcher)
	if !ok || m.Record.Ended() || !m.Record.Process().IsSet() {
		return status.Observation{}
	}
	if store := m.store(stores); store != "" {
		return status.OfActivity(status.Registry, watcher.Doing(store, m.Record.ID, m.Record.Process()))
	}
	return status.Observation{}
}

// stopped returns that the turn of which the hooks told came to nothing, where the client
// writes that into the conversation.
func (m *Member) stopped(stores func(client string) []string, told status.Observation) status.Observation {
	stopper, ok := m.reader().(conversation.Stopper)
	if !ok || told.Status != status.Running && !told.Asks() || m.store(stores) == "" {
		return status.Observation{}
	}
	at, why := stopper.Stopped(m.Record.Transcript, told.At)
	return status.Observation{Source: status.Conversation, At: at, Status: status.Waiting, Reason: why}
}

// reader returns the reader of the conversations of the session's client.
func (m *Member) reader() conversation.Reader {
	return readers.Of(cmp.Or(m.Record.Agent, contract.Default))
}

// watched reports whether the client notes what it does.
func (m *Member) watched() bool {
	_, ok := m.reader().(conversation.Watcher)
	return ok
}

// store returns that of the person's stores which has the session's conversation, "" where
// none does.
func (m *Member) store(stores func(client string) []string) string {
	for _, store := range append(slices.Clip(stores(cmp.Or(m.Record.Agent, contract.Default))), m.Account) {
		if store != "" && strings.HasPrefix(m.Record.Transcript, store+"/") {
			return store
		}
	}
	return ""
}

// storesOf returns the function that lists the stores of a client, which is asked once
// for each.
func storesOf(getenv func(string) string) func(client string) []string {
	known := map[string][]string{}
	var mu sync.Mutex
	return func(client string) []string {
		mu.Lock()
		defer mu.Unlock()
		stores, ok := known[client]
		if !ok {
			stores = readers.Of(client).Stores(getenv)
			known[client] = stores
		}
		return stores
	}
}

// Runs reports whether the agent of an instance, by its store's Name, is what a pane
// began with, the process p, or one of gt's programs that is about to become it. What
// cannot be looked at counts as that.
func Runs(p process.Proc, pane tmux.Pane, name string) bool {
	return runs(p, process.Name(p.PID), pane, name)
}

// runs is Runs for a process whose program has a name that is known.
func runs(p process.Proc, program string, pane tmux.Pane, name string) bool {
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
		return !path // a program that writes its title over its environment leaves none
	}
	// It can become the agent between the first two looks.
	return own() || strings.HasPrefix(process.Name(pane.PID), "gt-") || own()
}

// Run returns the process of a pane's agent, and whether it runs.
func Run(pane tmux.Pane) (process.Proc, status.Presence) {
	p, _, is := run(pane)
	return p, is
}

// run is Run, and returns the name of the process's program as well.
func run(pane tmux.Pane) (p process.Proc, name string, is status.Presence) {
	if pane.Dead {
		return process.Proc{}, "", status.Dead
	}
	p, name, err := process.FindNamed(pane.PID)
	if err != nil { // also for a moment of its exec; where it is gone, tmux knows it next time
		return process.Proc{}, "", status.NoAnswer
	}
	return p, name, status.Alive
}

// ended reports whether its last session came to an end by itself: the person left it, or
// it had one prompt to answer. What ended as its terminal or machine did is still wanted.
func (m *Member) ended() bool {
	r := m.Record
	return r != nil && r.Ended() && r.Outcome == session.Done && r.EndedAt.After(m.StartedAt) && m.begun() && !m.leftAlone()
}

// Left is the reason of an end of which the agent's pane told: its process has ended well.
const Left = "prompt_input_exit"

// leftAlone reports whether nobody knows how the agent ended: a server behind its client,
// which goes on, tells of each end alike.
func (m *Member) leftAlone() bool {
	return m.Record.Server().IsSet() && m.Adopted == nil && m.Record.Reason != Left
}

// begun reports whether the session has begun, or was resumed, since the agent was started.
// Until then its record speaks of the agent before, whose end may be told late: Codex has a
// server of its own that tells it, seconds after.
func (m *Member) begun() bool {
	return !m.Record.Began().Before(m.StartedAt)
}

// Wanted reports whether its agent should run: a person started it, and neither stopped
// it nor left it.
func (m *Member) Wanted() bool { return m.Desired == instance.Running && !m.ended() }

// client returns the environment of an agent's client, where it tells the client's folders.
func (m *Member) client(getenv func(string) string) func(string) string {
	if m.Account == "" {
		return getenv
	}
	return func(key string) string {
		if registry.IsStoreVar(key) {
			return m.Account
		}
		return getenv(key)
	}
}

// Resumable reports whether the client has a conversation of the session, as far as that
// can be told: one that was begun and never said anything has none.
func (m *Member) Resumable(getenv func(string) string) bool {
	path := ""
	switch {
	case m.Record != nil && m.Record.Transcript == "":
		return true
	case m.Record != nil:
		path = m.Record.Transcript
	case !m.SessionAt.Equal(m.StartedAt): // it was there before the start
		return true
	default: // its hooks tell nothing
		path = files.Path(m.Agent, m.client(getenv), m.Path, string(m.Now))
	}
	info, err := os.Stat(path)
	r := readers.Of(m.Agent)
	if err != nil || r == nil || info.Size() == 0 || info.Size() > conversation.EndSize || !strings.HasSuffix(path, ".jsonl") {
		return err == nil
	}
	// A client may also write down its own commands, such as the one that left it, and
	// resumes nothing where there is nothing else.
	facts, err := r.Metadata(conversation.File{Client: m.Agent, Path: path, ID: m.Now, Size: info.Size()})
	return err != nil || facts.Model != "" || facts.Prompt != "" || facts.ForkOf != ""
}
