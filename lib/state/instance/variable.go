package instance

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Variable identifies an agent's instance to its hooks: the path of the instance's file in
// the state folder without suffix, a colon, and the PID that the agent began as. The
// agent's children inherit the variable, but have another PID.
const Variable = "GT_INSTANCE"

// Launched is the suffix of Variable for an agent in a launcher. The PID is then the launcher's.
const Launched = ":launched"

// Name returns the variable's value without the PID, which only the process itself knows.
func (s Store) Name(id ID) string { return s.Dir + "/" + string(id) }

// Bind records the session of the agent with the client process pid, a child of parent, if
// variable names its instance. It does not wait for the disk.
func Bind(state place.State, variable string, pid, parent int, now CurrentSession) error {
	s, id, ok := findNamed(state, variable, pid, parent)
	if !ok || !atomicfile.Exists(s.path(string(id)+suffix)) {
		return nil // not an instance's agent, or the instance was removed
	}
	now.At = now.At.UTC().Round(time.Millisecond)
	return atomicfile.WriteJSON(s.path(string(id)+sessionSuffix), now, atomicfile.Unsynced)
}

// TopicOf returns the topic of the agent with that process, or "". Its arguments are those of Bind.
func TopicOf(state place.State, variable string, pid, parent int) string {
	if _, in := OfProcess(state, variable, pid, parent); in != nil {
		return in.Topic
	}
	return ""
}

// findNamed returns the instance that a variable names. ok is false unless the process pid is its
// agent: the process that the variable names, a child of that, or the first agent in a launcher.
func findNamed(state place.State, variable string, pid, parent int) (Store, ID, bool) {
	_, process, _ := strings.Cut(variable, ":")
	process, launched := strings.CutSuffix(process, Launched)
	began, err := strconv.Atoi(process)
	s, id, ok := split(state, variable)
	return s, id, ok && err == nil && (began == pid || began == parent || launched && s.isFirstAgent(id, pid))
}

// OfProcess returns the instance whose agent is the process pid, a child of parent, and its
// store; nil if variable names none or the process is only the agent's child.
func OfProcess(state place.State, variable string, pid, parent int) (Store, *Instance) {
	return readNamed(findNamed(state, variable, pid, parent))
}

// readNamed returns the instance that was named, and its store; nil if it was not, or is gone.
func readNamed(s Store, id ID, ok bool) (Store, *Instance) {
	if in, err := s.Get(id); ok && err == nil {
		return s, in
	}
	return Store{}, nil
}

func split(state place.State, variable string) (Store, ID, bool) {
	name, _, _ := strings.Cut(variable, ":")
	dir, id := filepath.Split(name)
	dir = filepath.Clean(dir)
	_, err := session.ParseID(id)
	return Store{State: state, Dir: dir}, ID(id), err == nil && isStateFolder(dir)
}

// isFirstAgent reports whether pid was the first process to report itself as the agent since the
// instance's start. A launcher may put several processes, in namespaces of their own,
// between its first process and the agent.
func (s Store) isFirstAgent(id ID, pid int) bool {
	in, err := s.Get(id)
	if err != nil {
		return false
	}
	of, told := s.currentSession(in)
	if !told {
		return true
	}
	r, err := session.Lookup(s.State, of)
	return err == nil && r != nil && r.PID == pid
}

// OfVariable returns the instance that a variable names if its agent has the session, or
// nil. The agent's children have the variable too, but not the session.
func OfVariable(state place.State, variable string, id session.ID) *Instance {
	s, in := OfAgent(state, variable)
	if in == nil || s.Session(in) != id {
		return nil
	}
	return in
}

// MatchOtherAgents returns a function that reports whether an agent, by its name in Variable, is
// there and is another than the session's, whose own variable is given.
func MatchOtherAgents(state place.State, variable string, id session.ID) func(agent string) bool {
	own, _, _ := strings.Cut(variable, ":")
	return func(agent string) bool {
		s, in := OfAgent(state, agent)
		return in != nil && agent != own && s.Session(in) != id
	}
}

// OfAgent returns the instance that a variable names and its store, or nil. The caller may
// be the agent's child.
func OfAgent(state place.State, variable string) (Store, *Instance) {
	return readNamed(split(state, variable))
}

// isStateFolder reports whether dir can be a Store's: instances, profiles/NAME/instances or
// towns/NAME/instances. An environment variable can name anything.
func isStateFolder(dir string) bool {
	elems := strings.Split(dir, "/")
	switch {
	case len(elems) == 1:
		return elems[0] == folder
	case len(elems) == 3 && elems[2] == folder && elems[1] != "" && elems[1] != "." && elems[1] != "..":
		return elems[0] == "profiles" || elems[0] == "towns"
	}
	return false
}
