package seancecmd

import (
	"path/filepath"
	"sync"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/live"
	"gt/lib/live/status"
	"gt/lib/place/town"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// findRunningAgents looks for agents in the panes of tmux. It adds pane, state and process to the
// sessions that it recognizes, and returns the agents whose session is unknown.
//
// A session is recognized by its process, or by the transcript that the process has open.
// Nothing is guessed, because two agents in one folder look alike.
func findRunningAgents(env *cli.Env, sessions catalog.Catalog) (strangers []*catalog.Session) {
	socket, _ := tmux.FromEnv(env.Getenv)
	server := tmux.Server(socket)
	panes, err := server.Panes()
	if err != nil || len(panes) == 0 {
		return nil // no tmux, or no panes
	}
	byPID := map[int]*catalog.Session{}
	for _, s := range sessions.Select(catalog.Filter{State: town.Personal(env.Getenv).State, Outcome: catalog.Active, Subagents: true}, 0) {
		if s.PID > 0 {
			byPID[s.PID] = s
		}
	}
	byFile := sync.OnceValue(func() map[string]*catalog.Session {
		all := map[string]*catalog.Session{}
		for s := range sessions.Sessions() {
			if s.Transcript != "" {
				all[s.Transcript] = s
			}
		}
		return all
	})
	for _, a := range live.FindInPanes(agents(env), server, panes) {
		s := byPID[a.PID]
		for _, pid := range a.Processes() {
			if s == nil && byPID[pid] != nil && byPID[pid].Agent == a.Client.Name { // otherwise another client that this agent started
				s, a.PID = byPID[pid], pid
			}
		}
		if s == nil {
			for path := range a.Transcripts() {
				if s = byFile()[filepath.Clean(path)]; s != nil {
					break
				}
			}
		}
		if s == nil {
			s = &catalog.Session{Agent: a.Client.Name, CWD: a.Pane.Path}
			strangers = append(strangers, s)
		}
		s.MarkRunning(a.PID)
		s.TmuxSession, s.TmuxPane = a.Pane.Session, a.Pane.ID
		now := env.Now()
		seen := status.Facts{Now: now, Pane: process.Alive, Seen: []status.Observation{a.Observe(now)}}
		if screen := status.DeriveStatus(seen).Status; screen != status.Unknown {
			s.State = string(screen)
		}
	}
	return strangers
}
