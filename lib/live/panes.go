package live

import (
	"iter"
	"slices"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/live/status"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Agent is an agent that runs in a pane of tmux.
type Agent struct {
	Pane   tmux.Pane
	Client agent.Client
	PID    int    // of the agent; of the pane, where only the screen tells of an agent
	Screen string // what it shows

	table process.Table
}

// InPanes finds the agents that run in panes of a server, in two more calls of tmux: one
// for the environments of all their sessions, and one for what they show. An agent runs in
// a pane if one of the processes does that the environment names (see named), else one that
// the table knows. One that runs under another name, in a container or behind ssh, is known
// by its screen.
func InPanes(known *agent.Table, server tmux.Server, panes []tmux.Pane) []Agent {
	table := process.Snapshot()
	var alive []tmux.Pane
	var ids []string // of those that something runs in
	for _, pane := range panes {
		if pane.Dead {
			continue
		}
		alive = append(alive, pane)
		if busy(table, pane.PID) {
			ids = append(ids, pane.ID)
		}
	}
	environs := server.Environments(ids)
	var all []Agent
	for _, pane := range alive {
		a := Agent{Pane: pane, table: table}
		a.PID, a.Client = below(table, pane.PID, named(known, environs[pane.ID]))
		if a.PID == 0 {
			a.PID, a.Client = below(table, pane.PID, known.ByProcess)
		}
		if a.Client.Name != "" && !slices.Contains(ids, pane.ID) {
			ids = append(ids, pane.ID)
		}
		all = append(all, a)
	}
	screens := server.CapturePanes(ids) // a pane that is gone meanwhile shows nothing
	var agents []Agent
	for _, a := range all {
		a.Screen = screens[a.Pane.ID]
		if a.Client.Name == "" {
			a.PID, a.Client = a.Pane.PID, known.Detect(a.Screen)
		}
		if a.Client.Name != "" {
			agents = append(agents, a)
		}
	}
	return agents
}

// Below returns the process of a client that runs in a pane; it is not set if none is seen
// there. That of a record can be a number of another PID namespace, the client's own.
func Below(known *agent.Table, server tmux.Server, pane tmux.Pane, client string) process.Proc {
	table := process.Snapshot()
	for _, by := range []func(string) agent.Client{named(known, server.Environments([]string{pane.ID})[pane.ID]), known.ByProcess} {
		if pid, c := below(table, pane.PID, by); c.Name == client && pid != 0 {
			p, _ := process.Find(pid) // one that has ended is not set
			return p
		}
	}
	return process.Proc{}
}

// Observe is what the agent's screen shows it to do, as of now.
func (a Agent) Observe(now time.Time) status.Observation {
	o := status.Observation{Source: status.Screen, At: now}
	switch a.Client.ScreenState(a.Screen) {
	case agent.Busy:
		o.Status = status.Running
	case agent.Waiting:
		o.Status = status.Waiting
		if q, asks := a.Client.Question(a.Screen); asks && a.Client.Accepts(q) > 0 {
			o.Reason = status.Permission // to work in the folder, or as its flags say
		}
	}
	return o
}

// Answered returns the status of an agent that asks the person, as its hooks told, once its
// screen shows that the person has answered: it works, or its turn is over. A screen that
// shows neither changes nothing.
func (a Agent) Answered(asks status.Result) status.Result {
	switch a.Client.ScreenState(a.Screen) {
	case agent.Busy:
		asks.Status, asks.Reason = status.Running, ""
	case agent.Waiting:
		if _, still := a.Client.Question(a.Screen); !still {
			asks.Reason = status.Done
		}
	}
	return asks
}

// busy reports whether anything but a shell runs in a pane.
func busy(table process.Table, pid int) bool {
	return slices.ContainsFunc(table.Descendants(pid), func(pid int) bool { return !process.IsShell(process.Name(pid)) })
}

// named knows the agent of a tmux session by the names that the session's environment
// has for it: GT_PROCESS_NAMES, with GT_AGENT for what it is called. A hand-over sets
// both, and so does Gas Town. What runs scripts of any kind names none.
func named(known *agent.Table, environ []string) func(name string) agent.Client {
	get := func(name string) string {
		for _, kv := range environ {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
	names := strings.Split(get("GT_PROCESS_NAMES"), ",")
	return func(name string) agent.Client {
		switch called := get("GT_AGENT"); {
		case name == "" || process.IsInterpreter(name) || process.IsShell(name) || !slices.Contains(names, name):
			return agent.Client{}
		case called != "":
			return known.Of(called)
		}
		if c := known.ByProcess(name); c.Name != "" {
			return c
		}
		return known.Of(name)
	}
}

// below finds the agent that runs below a process, by the name of its program: of one
// that was started by another, the other.
func below(table process.Table, pid int, client func(name string) agent.Client) (int, agent.Client) {
	for _, pid := range table.Descendants(pid) {
		p, err := process.Find(pid)
		if err != nil {
			continue
		}
		name := process.Name(pid)
		if args, err := p.Args(); err == nil {
			name = agent.ProgramName(args)
		}
		if c := client(name); c.Name != "" {
			return pid, c
		}
	}
	return 0, agent.Client{}
}

// Processes are the agent's process and those below it: which of them the hooks have noted
// is the client's affair, for many start themselves once more.
func (a Agent) Processes() []int { return a.table.Descendants(a.PID) }

// Transcripts are the conversations (.jsonl) that the agent, or a process below
// it, has open.
func (a Agent) Transcripts() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, pid := range a.Processes() {
			p, err := process.Find(pid)
			if err != nil {
				continue
			}
			for _, path := range p.Files() {
				if strings.HasSuffix(path, ".jsonl") && !yield(path) {
					return
				}
			}
		}
	}
}
