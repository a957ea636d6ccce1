// Package fleet looks at many instances at once: what each one's agent does now, by one
// call to each server of tmux and a few small files for each instance.
package fleet

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/client/contract"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/live"
	"gt/lib/live/status"
	"gt/lib/place"
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
	Now     session.ID      // the session that its agent has, "" where that is not known
	Record  *session.Record // of that session, nil where there is none
	Status  status.Status
	Reason  status.Reason
	Since   time.Time // when the status began, as far as it is known
	Pane    tmux.Pane // that its agent runs in; zero where there is none
	Process process.Proc
}

// Servers are the panes of the servers of tmux that were asked.
type Servers struct {
	asked map[string]*answer
}

type answer struct {
	panes    map[string]tmux.Pane // by session and id
	sessions map[string]tmux.Pane // the first pane of each
	err      error
}

// of returns what a server answers, which is asked once.
func (s *Servers) of(server string) *answer {
	if a := s.asked[server]; a != nil {
		return a
	}
	a := &answer{panes: map[string]tmux.Pane{}, sessions: map[string]tmux.Pane{}}
	panes, err := tmux.Server(server).Panes()
	if a.err = err; errors.Is(err, tmux.ErrNoServer) {
		a.err = nil // it has no panes
	}
	for _, p := range panes {
		a.panes[p.Session+"\t"+p.ID] = p
		if _, ok := a.sessions[p.Session]; !ok {
			a.sessions[p.Session] = p
		}
	}
	if s.asked == nil {
		s.asked = map[string]*answer{}
	}
	s.asked[server] = a
	return a
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

// Look looks at instances of a store.
func Look(store instance.Store, known *agent.Table, all []*instance.Instance, now time.Time) []Member {
	var servers Servers
	stores := storesOf(os.Getenv)
	members := make([]Member, len(all))
	claimed := map[session.ID]bool{}
	for i, in := range all { // the older ones first
		m := Member{Instance: in, Now: store.Session(in)}
		if m.Now != "" && claimed[m.Now] {
			m.Now = "" // two that claim one session: the older keeps it
		}
		claimed[m.Now] = true
		m.look(store, known, servers.of(in.TmuxServer), stores, now)
		members[i] = m
	}
	return members
}

// look finds out what an instance's agent does.
func (m *Member) look(store instance.Store, known *agent.Table, server *answer, stores func(string) []string, now time.Time) {
	if m.Now != "" {
		// What cannot be read counts as not known.
		m.Record, _ = session.Lookup(store.State, m.Now)
	}
	if m.TmuxSession == "" { // it was never started
		m.Status = status.Stopped
		return
	}
	pane, presence := server.pane(m.Instance)
	if presence == status.Alive && !runs(pane, store.Name(m.ID)) {
		pane, presence = tmux.Pane{}, status.Dead // somebody else's, of the same name
	}
	client := known.Of(m.Agent)
	f := status.Facts{
		Now: now, Desired: m.Wanted(), Hooks: client.Dialect != "",
		Started: m.StartedAt, Pane: presence, Acknowledged: m.Acknowledged,
	}
	if presence == status.Alive {
		m.Pane = pane
		m.Process, f.Process = run(pane)
		if !f.Hooks { // a call of tmux for each of these
			screen, _ := tmux.Server(m.TmuxServer).CapturePane(pane.ID) // one that is gone meanwhile shows nothing
			f.Seen = append(f.Seen, live.Agent{Client: client, Screen: screen}.Observe(now))
		}
	}
	if m.Record != nil {
		f.Seen = append(f.Seen, status.OfStart(m.Record), status.OfRecord(m.Record))
		f.Seen = append(f.Seen, m.told(store.State), m.noted(stores))
	}
	got := status.Of(f)
	m.Status, m.Reason, m.Since = got.Status, got.Reason, got.By.At
}

// told returns what the session's hooks told last. What they told an earlier version of
// gt stands in the home's one sign of life, where the session gave the last.
func (m *Member) told(state place.State) status.Observation {
	h, ok, _ := home.OfSession(state, string(m.Record.ID)) // what cannot be read tells nothing
	if !ok {
		return status.Observation{}
	}
	if doing := activity.Read(h, m.Record.ID); doing.Status != "" {
		return status.OfActivity(status.Hook, doing)
	}
	// A notification that says nothing new of the session is a sign of life all the same.
	if beat := keepalive.Read(h); beat != nil && beat.SessionID == m.Record.ID && beat.LastCommand != "Notification" {
		return status.OfHeartbeat(beat)
	}
	return status.Observation{}
}

// noted returns what the client notes of the session, in that of the person's stores
// which has its conversation.
func (m *Member) noted(stores func(client string) []string) status.Observation {
	client := cmp.Or(m.Record.Agent, contract.Default)
	watcher, ok := readers.Of(client).(conversation.Watcher)
	if !ok || m.Record.Ended() || !m.Record.Process().IsSet() {
		return status.Observation{}
	}
	for _, store := range append(slices.Clip(stores(client)), m.Account) {
		if store != "" && strings.HasPrefix(m.Record.Transcript, store+"/") {
			return status.OfActivity(status.Registry, watcher.Doing(store, m.Record.ID, m.Record.Process()))
		}
	}
	return status.Observation{}
}

// storesOf returns the function that lists the stores of a client, which is asked once
// for each.
func storesOf(getenv func(string) string) func(client string) []string {
	known := map[string][]string{}
	return func(client string) []string {
		stores, ok := known[client]
		if !ok {
			stores = readers.Of(client).Stores(getenv)
			known[client] = stores
		}
		return stores
	}
}

// runs reports whether an instance's agent is what a pane began with, or one of gt's
// programs that is about to become it. What cannot be looked at counts as that.
func runs(pane tmux.Pane, name string) bool {
	p, err := process.Find(pane.PID)
	if pane.Dead || err != nil || strings.HasPrefix(process.Name(pane.PID), "gt-") {
		return true
	}
	environ, err := p.Environ()
	// A program that writes its title over its environment leaves no PATH.
	if err != nil || !slices.ContainsFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") }) {
		return true
	}
	return slices.ContainsFunc(environ, func(kv string) bool {
		value, ok := strings.CutPrefix(kv, instance.Variable+"=")
		value, _, _ = strings.Cut(value, ":")
		return ok && value == name
	})
}

// run returns the process of a pane's agent, and whether it runs.
func run(pane tmux.Pane) (process.Proc, status.Presence) {
	p, err := process.Find(pane.PID)
	switch {
	case pane.Dead, errors.Is(err, os.ErrNotExist):
		return process.Proc{}, status.Dead
	case err != nil:
		return process.Proc{}, status.NoAnswer
	}
	return p, status.Alive
}

// ended reports whether its last session came to an end by itself: the person left it, or
// it had one prompt to answer. What ended as its terminal or machine did is still wanted.
func (m *Member) ended() bool {
	r := m.Record
	return r != nil && r.Ended() && r.Outcome == session.Done && r.EndedAt.After(m.StartedAt)
}

// Wanted reports whether its agent should run: a person started it, and neither stopped
// it nor left it.
func (m *Member) Wanted() bool { return m.Desired == instance.Running && !m.ended() }
