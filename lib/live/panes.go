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
	PID    int    // of the agent, or of the pane if only the screen shows an agent
	Screen string // the text of the pane

	table process.Table
}

// FindInPanes returns the agents in panes of a server. It calls tmux twice: for the environments of all
// sessions and for the text of all panes. It recognizes an agent by a process name from the session's
// environment (see namedByEnviron), then by one from the table, then by the screen. The screen is needed for
// agents in a container, behind ssh or with another process name.
func FindInPanes(known *agent.Table, server tmux.Server, panes []tmux.Pane) []Agent {
	table := process.Snapshot()
	var alive []tmux.Pane
	var ids []string // panes that run more than a shell
	for _, pane := range panes {
		if pane.Dead {
			continue
		}
		alive = append(alive, pane)
		if runsProgram(table, pane.PID) {
			ids = append(ids, pane.ID)
		}
	}
	environs := server.Environments(ids)
	var all []Agent
	for _, pane := range alive {
		a := Agent{Pane: pane, table: table}
		a.PID, a.Client = topmostAgent(table, pane.PID, namedByEnviron(known, environs[pane.ID]))
		if a.PID == 0 {
			a.PID, a.Client = topmostAgent(table, pane.PID, known.ByProcess)
		}
		if a.Client.Name != "" && !slices.Contains(ids, pane.ID) {
			ids = append(ids, pane.ID)
		}
		all = append(all, a)
	}
	screens := server.CapturePanes(ids) // a pane that is gone has no text
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

// FindClientBelow returns the process of a client in a pane, unset if none is visible. It is for
// records whose PID belongs to another PID namespace.
func FindClientBelow(known *agent.Table, server tmux.Server, pane tmux.Pane, client string) process.Proc {
	table := process.Snapshot()
	for _, by := range []func(string) agent.Client{namedByEnviron(known, server.Environments([]string{pane.ID})[pane.ID]), known.ByProcess} {
		if pid, c := topmostAgent(table, pane.PID, by); c.Name == client && pid != 0 {
			p, _ := process.Find(pid) // unset if it has ended
			return p
		}
	}
	return process.Proc{}
}

// Observe returns what the agent's screen shows, as of now; the status is "" if that is unclear.
func (a Agent) Observe(now time.Time) status.Observation {
	o := status.Observation{Source: status.Screen, At: now}
	switch a.Client.ScreenState(a.Screen) {
	case agent.Busy:
		o.Status = status.Running
	case agent.Waiting:
		o.Status = status.Waiting
	}
	if q, asks := a.Client.Question(a.Screen); asks && o.Status != status.Running {
		o.Status, o.Reason = status.Waiting, status.Question
		if a.Client.AcceptingOption(q) > 0 {
			o.Reason = status.Permission // it asks to trust the folder or to accept its flags
		}
	}
	return o
}

// CorrectAnswered corrects the status of an agent whose hooks reported a question, if its screen
// shows that it works again or that its turn is over.
func (a Agent) CorrectAnswered(asks status.Result) status.Result {
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

// OnlyShell reports whether a pane runs nothing but shells.
func OnlyShell(pane tmux.Pane) bool { return pane.Dead || !runsProgram(process.Snapshot(), pane.PID) }

// runsProgram reports whether a pane runs anything but shells.
func runsProgram(table process.Table, pid int) bool {
	return slices.ContainsFunc(table.Descendants(pid), func(pid int) bool { return !process.IsShell(process.Name(pid)) })
}

// namedByEnviron returns a function that recognizes an agent's process by the environment of its
// tmux session: GT_PROCESS_NAMES has the process names and GT_AGENT the agent. Gas Town and
// hand-overs set both. Interpreters and shells are not accepted as names.
func namedByEnviron(known *agent.Table, environ []string) func(name string) agent.Client {
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
			return known.FindClient(called)
		}
		if c := known.ByProcess(name); c.Name != "" {
			return c
		}
		return known.FindClient(name)
	}
}

// topmostAgent returns the topmost agent that runs below a process, recognized by a name of its
// program, and PID 0 if there is none.
func topmostAgent(table process.Table, pid int, client func(name string) agent.Client) (int, agent.Client) {
	for _, pid := range table.Descendants(pid) {
		for name := range agent.ProgramNames(pid) {
			if c := client(name); c.Name != "" {
				return pid, c
			}
		}
	}
	return 0, agent.Client{}
}

// Processes returns the agent's process and all below it. Hooks may have recorded any of
// them, because many clients start themselves again.
func (a Agent) Processes() []int { return a.table.Descendants(a.PID) }

// Transcripts yields the .jsonl files that the agent or a process below it has open.
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

// ShowsQuestion reports whether an agent's screen, captured with its styles, shows a question that
// can be answered. told is what its hooks report, which do not tell of every question.
//
// A question counts if a hook told of one, if an option is selected, or if the screen ends in it.
// Other words like those of a question are of the conversation, or a draft in the input box. What
// a client offers after a limit or a failure does not count, because no turn waits for it.
func ShowsQuestion(c agent.Client, styled string, told status.Observation) bool {
	q, asks := c.Question(styled)
	switch {
	case !asks, c.ScreenState(agent.Plain(styled)) == agent.Busy, told.Reason == status.Limited, told.Reason == status.Failed, told.Reason == status.Suspended:
		return false
	case told.Reason.Asks():
		return true
	case !c.KnowsInput() && told.Status != status.Running: // it can be an old one
		return false
	}
	return q.Selected() >= 0 || c.EndsInQuestion(styled)
}
