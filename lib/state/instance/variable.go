package instance

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Variable tells an agent's hooks which instance it is: the path of the instance's file
// in the state folder, without its suffix, and behind a colon the process that the agent
// began as. What the agent starts inherits the variable, and is not the instance's agent.
const Variable = "GT_INSTANCE"

// Launched ends the variable of an agent that was started in a launcher: the process is the
// launcher's.
const Launched = ":launched"

// Name is the variable's value without the process, which only the process itself knows.
func (s Store) Name(id ID) string { return s.Dir + "/" + string(id) }

// Bind notes the session of the agent whose client is the process pid, a child of parent,
// where variable says that it is an instance's. It is one small file, which a loss of
// power may take.
func Bind(state place.State, variable string, pid, parent int, now Now) error {
	s, id, ok := named(state, variable, pid, parent)
	if !ok || !atomicfile.Exists(s.path(string(id)+suffix)) {
		return nil // the agent is not an instance's, or that was removed
	}
	now.At = now.At.UTC().Round(time.Millisecond)
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(string(id)+sessionSuffix), append(data, '\n'), atomicfile.Unsynced)
}

// TopicOf returns the topic that the agent was started with whose client is that process,
// as Bind has it; "" where there is none.
func TopicOf(state place.State, variable string, pid, parent int) string {
	s, id, ok := named(state, variable, pid, parent)
	if !ok {
		return ""
	}
	in, err := s.Get(id)
	if err != nil {
		return ""
	}
	return in.Topic
}

// named returns the instance that a variable names, if its agent is that process.
func named(state place.State, variable string, pid, parent int) (Store, ID, bool) {
	name, process, ok := strings.Cut(variable, ":")
	process, launched := strings.CutSuffix(process, Launched)
	began, err := strconv.Atoi(process)
	dir, id := filepath.Split(name)
	if dir = filepath.Clean(dir); !ok || err != nil || !known(dir) {
		return Store{}, "", false
	}
	if _, err = session.ParseID(id); err != nil {
		return Store{}, "", false
	}
	s := Store{State: state, Dir: dir}
	return s, ID(id), began == pid || began == parent || launched && s.first(ID(id), pid)
}

// first reports whether no other process than pid told that it is the agent of an instance
// since that was started. Between the agent and what its launcher began as stands more than
// one process, perhaps with numbers of its own, but the agent is the first to tell.
func (s Store) first(id ID, pid int) bool {
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

// OfVariable returns the instance that a variable names, if its agent has the session:
// what an instance's agent starts has the variable, too. It is nil otherwise.
func OfVariable(state place.State, variable string, id session.ID) *Instance {
	name, _, _ := strings.Cut(variable, ":")
	dir, instance := filepath.Split(name)
	if dir = filepath.Clean(dir); !known(dir) {
		return nil
	}
	s := Store{State: state, Dir: dir}
	in, err := s.Get(ID(instance))
	if err != nil || s.Session(in) != id {
		return nil
	}
	return in
}

// OfAgent returns the instance that a variable names, and its store; nil where there is
// none. What the instance's agent starts has the variable as well.
func OfAgent(state place.State, variable string) (Store, *Instance) {
	name, _, _ := strings.Cut(variable, ":")
	dir, id := filepath.Split(name)
	if dir = filepath.Clean(dir); !known(dir) {
		return Store{}, nil
	}
	s := Store{State: state, Dir: dir}
	in, err := s.Get(ID(id))
	if err != nil {
		return Store{}, nil
	}
	return s, in
}

// known reports whether a folder is one of those that Store names.
func known(dir string) bool {
	elems := strings.Split(dir, "/")
	switch {
	case len(elems) == 1:
		return elems[0] == folder
	case len(elems) == 3 && elems[2] == folder && elems[1] != "" && elems[1] != "." && elems[1] != "..":
		return elems[0] == "profiles" || elems[0] == "towns"
	}
	return false
}
