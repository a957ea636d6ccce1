package seance

import (
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place/town"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// discover looks for agents in the panes of tmux, in one call of it and one more
// for the screen of each that it finds: it notes that a session runs which nobody
// noted, and where, and what its screen shows of it; and returns the agents of
// which no session is known. An agent that runs under another name, in a container
// or behind ssh, is known by its screen.
//
// A session is told by its process, else by the transcript that the process has
// open. It is never guessed: two agents of one folder look alike.
func discover(env *cli.Env, sessions catalog.Catalog) (strangers []*catalog.Session) {
	server, _ := tmux.FromEnv(env.Getenv)
	panes, err := tmux.Server(server).Panes()
	if err != nil || len(panes) == 0 {
		return nil // without tmux there is nothing to find in it
	}
	byPID, byFile := map[int]*catalog.Session{}, map[string]*catalog.Session{}
	for s := range sessions.All() {
		if s.Settle(town.Personal(env.Getenv).State); s.PID > 0 {
			byPID[s.PID] = s
		}
		if s.Transcript != "" {
			byFile[s.Transcript] = s
		}
	}
	known, table := agents(env), process.Snapshot()
	for _, pane := range panes {
		if pane.Dead {
			continue
		}
		p, client := inPane(known, table, pane.PID)
		screen := ""
		if client != "" || busy(table, pane.PID) {
			screen, _ = tmux.Server(server).CapturePane(pane.ID) // a pane that is gone meanwhile shows nothing
		}
		if client == "" {
			if client = known.Detect(screen).Name; client == "" {
				continue
			}
			p.PID = pane.PID
		}
		s := byPID[p.PID]
		if s == nil {
			s = writing(table, p, byFile)
		}
		if s == nil {
			s = &catalog.Session{Agent: client, CWD: pane.Path}
			strangers = append(strangers, s)
		}
		s.Run(p.PID)
		s.TmuxSession, s.TmuxPane = pane.Session, pane.ID
		s.State = known.Of(client).Look(screen).String()
	}
	return strangers
}

// busy reports whether anything but a shell runs in a pane.
func busy(table process.Table, pid int) bool {
	return slices.ContainsFunc(table.Descendants(pid), func(pid int) bool { return !process.IsShell(process.Name(pid)) })
}

// inPane finds the agent that runs in a pane: of one that was started by another,
// the other.
func inPane(known *agent.Table, table process.Table, pid int) (process.Proc, string) {
	for _, pid := range table.Descendants(pid) {
		p, err := process.Find(pid)
		if err != nil {
			continue
		}
		name := process.Name(pid)
		if args, err := p.Args(); err == nil {
			name = agent.ProgramName(args)
		}
		if known.IsClient(name) {
			return p, known.ByProcess(name).Name
		}
	}
	return process.Proc{}, ""
}

// writing finds the session whose transcript a process, or one below it, has
// open.
func writing(table process.Table, p process.Proc, byFile map[string]*catalog.Session) *catalog.Session {
	for _, pid := range table.Descendants(p.PID) {
		q, err := process.Find(pid)
		if err != nil {
			continue
		}
		for _, path := range q.Files() {
			if !strings.HasSuffix(path, ".jsonl") {
				continue
			}
			if s := byFile[filepath.Clean(path)]; s != nil {
				return s
			}
		}
	}
	return nil
}
