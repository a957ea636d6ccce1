package fleet

import (
	"cmp"

	"gt/lib/client/agent"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

// Strangers returns the agents with gt's hooks in the panes of a tmux server, sorted by pane. taken
// reports the panes to leave out, whose agents a store has. The instances of those that it returns
// are in no store: they have no id, and their name is the pane.
func (l *Survey) Strangers(known *agent.Table, server tmux.Server, taken func(pane string) bool) []Member {
	var all []Member
	records, seen := map[string][]*session.Record{}, map[string]bool{} // by folder; by id
	for _, pane := range l.Panes(server) {
		if pane.Dead || taken(pane.ID) || seen[pane.ID] {
			continue
		}
		seen[pane.ID] = true // a window can be in several sessions
		h := home.FindOtherHome(place.ScopeOf(l.getenv), pane.Path)
		if _, ok := records[pane.Path]; !ok {
			records[pane.Path], _ = session.Store{Home: h}.ReadRecords() // gt-seance says what is unreadable
		}
		for _, r := range records[pane.Path] {
			p := r.Process()
			if r.TmuxPane != pane.ID || !tmux.Server(r.TmuxServer).SameServer(server) || !r.Live() || !p.IsAlive() || !live.OwnsPane(known, p, pane) {
				continue
			}
			in := &instance.Instance{
				Name: pane.ID, Path: cmp.Or(r.CWD, pane.Path), Agent: r.Agent, Desired: instance.Running,
				StartedAt: r.StartedAt, CreatedAt: r.StartedAt, SessionID: r.ID, ChainID: r.Chain(),
				TmuxServer: string(server), TmuxSession: pane.Session, TmuxPane: pane.ID, Adopted: instance.Adopt(p),
			}
			all = append(all, Member{Instance: in, CurrentID: r.ID, Record: r, survey: l, home: h})
			break
		}
	}
	rest := make([]*pendingScreen, len(all))
	for i := range all {
		rest[i] = all[i].observe(instance.Store{}, known, all[i].findSeat(instance.Store{}))
	}
	readScreens(all, rest)
	setLimitEnds(all)
	return all
}
