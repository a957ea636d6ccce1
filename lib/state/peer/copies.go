package peer

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"

	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
)

const logName = ".events.jsonl"

// Logs returns the paths of the copies of a host's event logs.
func (h Hosts) Logs(host string) (logs []string, err error) {
	logs = []string{h.Path(host, logName)}
	towns, err := atomicfile.Folders(h.Path(host, "towns"))
	for _, town := range towns {
		logs = append(logs, h.Path(host, "towns", town, logName))
	}
	return logs, err
}

// Records returns the folder of the copies of a host's records of conversations, which it may
// not have.
func (h Hosts) Records(host string) string { return h.Path(host, "records") }

// Agent is an agent of another host, as its gt-session list --json prints it.
type Agent struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Title      string     `json:"title"`
	Path       string     `json:"path"` // only text here
	WorksIn    string     `json:"works_in,omitempty"`
	Group      string     `json:"group"`
	Agent      string     `json:"agent"`
	Desired    string     `json:"desired"`
	Status     string     `json:"status"`
	Reason     string     `json:"reason"`
	Background bool       `json:"background,omitempty"`
	Since      *time.Time `json:"since"`
	ArchivedAt *time.Time `json:"archived_at,omitempty"` // no list has it
	SessionID  string     `json:"session_id"`
	ChainID    string     `json:"chain_id"`
	Profile    string     `json:"profile,omitempty"`
	Town       string     `json:"town,omitempty"`
	Actor      string     `json:"actor,omitempty"` // of one that gt did not start
	Template   string     `json:"template,omitempty"`
	State      string     `json:"state,omitempty"`
	Routable   bool       `json:"routable,omitempty"` // it can get new work
	// Moved is set if it has moved to another host; see Claims.
	Moved      *instance.Moved      `json:"moved,omitempty"`
	Departures []instance.Departure `json:"departures,omitempty"`
	// Host is the host's name here.
	Host string `json:"host"`
}

// FindAgents returns the agents of a host that a name means there: as instance.Matchers tells, else
// by Actor. If it means none, hint names agents that are called like it, or is otherwise.
func FindAgents(all []Agent, name, otherwise string) (found []Agent, hint string) {
	of := map[*instance.Instance]Agent{}
	var instances []*instance.Instance
	for _, a := range all {
		in := &instance.Instance{ID: instance.ID(a.ID), Name: a.Name, Title: a.Title, Path: a.Path}
		instances = append(instances, in)
		of[in] = a
	}
	sessionOf := func(in *instance.Instance) session.ID { return session.ID(of[in].SessionID) }
	for _, in := range instance.FindFirst(instances, instance.Matchers(name, name, sessionOf)) {
		found = append(found, of[in])
	}
	if found == nil {
		for _, a := range all {
			if a.Actor == name && name != "" {
				found = append(found, a)
			}
		}
	}
	if found == nil {
		hint = instance.Hint(instances, name, otherwise)
	}
	return found, hint
}

// The statuses of an agent whose process runs, and the others.
var (
	running    = []string{"running", "waiting", "idle", "starting"}
	notRunning = []string{"stopped", "error"}
)

const unknown = "unknown"

// pane is the name of an agent that gt did not start.
var pane = lazyregexp.New(`^%[0-9]{1,9}$`)

// Runs reports whether the agent's process runs.
func (a Agent) Runs() bool { return slices.Contains(running, a.Status) }

// Limits of a host's agents: bytes of the file and of a line, and their number.
const (
	maxAgents = 8 << 20
	maxLine   = 64 << 10
	mostLines = 10_000
)

// Templates is a line among a host's agents: the names of its templates.
type Templates struct {
	Names []string `json:"templates"`
}

// Agents returns the agents of a host.
func (h Hosts) Agents(host Host, now time.Time) (all []Agent, err error) {
	data, err := h.states(host)
	return ParseAgents(host, data, now), err
}

func (h Hosts) states(host Host) ([]byte, error) {
	return atomicfile.IfExists(atomicfile.Read(h.Path(host.Name, "instances.jsonl"), maxAgents))
}

// Staff returns whether a host has a template, and its sessions of it.
func (h Hosts) Staff(host Host, template string, now time.Time) (has bool, sessions []Agent, err error) {
	data, err := h.states(host)
	for line := range bytes.Lines(data) {
		var t Templates
		if !bytes.Contains(line, []byte(`"templates":`)) || len(line) > maxLine || json.Unmarshal(line, &t) != nil {
			continue
		}
		has = has || slices.Contains(t.Names, template)
	}
	for _, a := range ParseAgents(host, data, now) {
		if a.Template == template {
			sessions = append(sessions, a)
		}
	}
	return has || len(sessions) > 0, sessions, err
}

// ParseAgents returns the agents of a host from what it says. Their status is unknown if the
// host is away. It leaves out lines that are not an agent, and archived agents.
func ParseAgents(host Host, data []byte, now time.Time) (all []Agent) {
	for line := range bytes.Lines(data) {
		var a Agent
		if len(line) > maxLine || json.Unmarshal(line, &a) != nil || instance.CheckName(a.Name) != nil && !pane().MatchString(a.Name) || a.ArchivedAt != nil {
			continue
		}
		if host.IsAway(now) || !a.Runs() && !slices.Contains(notRunning, a.Status) { // mutant never: TestAgents
			a.Status, a.Reason, a.Background = unknown, "", false
		}
		a.Host = host.Name
		if all = append(all, a); len(all) == mostLines {
			break
		}
	}
	return all
}
