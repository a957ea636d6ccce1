package instance

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"

	"gt/lib/place"
	"gt/lib/state/lifecycle"
	"gt/lib/state/session"
	"gt/lib/text/fold"
	"gt/lib/text/spelling"
	"gt/lib/text/term"
)

// ListedAgent is an agent that a list shows.
type ListedAgent struct {
	Name     string // or its pane, if gt did not start it
	Path     string // its folder
	Session  session.ID
	Instance string // the store's Name of its instance; "" if gt did not start it
	Archived bool
}

// shownID is how many characters of an id are shown where names do not tell agents apart. A
// shorter beginning names none: it may be the name of an agent that is gone.
const shownID = 8

// Matchers returns a function for each way in which a name can mean an instance: by its name or
// id, its pane, the beginning of its id, its session, the beginning of that, its title, its
// folder, its template with its place (TEMPLATE~SLOT) or, if it is active, without, its tmux
// session, and the branch of its own worktree. The first that matches any counts (FindFirst).
// path is the name as the path of a folder. sessionOf returns an instance's session.
func Matchers(name, path string, sessionOf func(*Instance) session.ID) []func(*Instance) bool {
	id, notID := session.ParseID(name)
	template, slot, bySlot := strings.Cut(name, "~")
	real := sync.OnceValue(func() string { return place.Real(path) })
	return []func(*Instance) bool{
		func(in *Instance) bool { return fold.SameName(in.Name, name) || string(in.ID) == name },
		func(in *Instance) bool { return in.TmuxPane == name && strings.HasPrefix(name, "%") },
		func(in *Instance) bool { return len(name) >= shownID && strings.HasPrefix(string(in.ID), name) },
		func(in *Instance) bool { return notID == nil && sessionOf(in) == id },
		func(in *Instance) bool { // not "session_", with which all ids of a client begin
			return len(strings.TrimPrefix(name, "session_")) >= shownID && strings.HasPrefix(string(sessionOf(in)), name)
		},
		func(in *Instance) bool { return in.Title != "" && fold.SameName(in.Title, name) },
		func(in *Instance) bool {
			return strings.Contains(name, "/") && (in.Path == path || fold.SameName(in.Path, real()))
		},
		func(in *Instance) bool {
			m := in.Managed
			return m != nil && m.Template == template && (bySlot && m.SlotText() == slot || !bySlot && m.State == lifecycle.Active)
		},
		func(in *Instance) bool { return in.TmuxSession == name && name != "" },
		func(in *Instance) bool { return in.Worktree != nil && in.Worktree.Branch == name && name != "" },
	}
}

// FindFirst returns the instances that match the first matcher that matches any.
func FindFirst(all []*Instance, matchers []func(*Instance) bool) (found []*Instance) {
	for _, matches := range matchers {
		for _, in := range all {
			if matches(in) {
				found = append(found, in)
			}
		}
		if found != nil {
			break
		}
	}
	return found
}

// OpenInstances returns the instances that are neither archived nor closed: those keep nothing from others.
func OpenInstances(all []*Instance) []*Instance {
	return slices.DeleteFunc(slices.Clone(all), func(in *Instance) bool {
		return in.IsArchived() || in.Managed != nil && in.Managed.State == lifecycle.Closed
	})
}

// FindListed returns the agents that lists show under a name: by Matchers of an instance in any
// store, or the pane of another agent that runs. unread reports instances that could not be
// read. path is the name as the path of a folder, "" if it can be none.
func FindListed(state place.State, name, path string) (found []ListedAgent, unread error) {
	if name == "" {
		return nil, nil
	}
	stores, unread := Stores(state)
	pane := strings.HasPrefix(name, "%")
	storeOf := map[*Instance]Store{}
	var all []*Instance
	for _, s := range stores {
		some, err := s.ReadInstances()
		unread = errors.Join(unread, err)
		for _, in := range some {
			storeOf[in], all = s, append(all, in)
		}
	}
	if pane {
		all = slices.DeleteFunc(all, func(in *Instance) bool { return in.Desired != Running })
	}
	sessionOf := func(in *Instance) session.ID { return storeOf[in].Session(in) }
	named := FindFirst(all, Matchers(name, path, sessionOf))
	// What was put away or closed counts only if nothing open under the name has a session.
	if open := OpenInstances(named); slices.ContainsFunc(open, func(in *Instance) bool { return sessionOf(in) != "" }) {
		named = open
	}
	for _, in := range named {
		found = append(found, ListedAgent{in.Name, in.Path, storeOf[in].Session(in), storeOf[in].Name(in.ID), in.IsArchived()})
	}
	if !pane {
		return found, unread
	}
	links, _ := os.ReadDir(state.Path("sessions")) // unreadable sessions cannot be named
	for _, l := range links {
		r, err := session.Lookup(state, session.ID(l.Name()))
		if err == nil && r != nil && r.TmuxPane == name && r.Live() && !slices.ContainsFunc(found, func(c ListedAgent) bool { return c.Session == r.ID }) {
			found = append(found, ListedAgent{name, r.CWD, r.ID, "", false})
		}
	}
	return found, unread
}

// maxMeant is how many agents a hint names at most.
const maxMeant = 10

// Hint returns the hint for a name that means none of the instances: those whose names or
// titles begin with it, also as a table cuts it, or that differ in few letters. Without any it
// returns otherwise.
func Hint(all []*Instance, name, otherwise string) string {
	name = term.TrimEllipsis(name)
	var begin, names []string
	for _, in := range all {
		names = append(names, in.Name)
		for _, shown := range []string{in.Name, in.Title} {
			if name != "" && strings.HasPrefix(fold.Text(shown), fold.Text(name)) {
				begin = append(begin, in.Name)
				break
			}
		}
	}
	near := begin
	if len(near) == 0 && !strings.Contains(name, "@") { // of another host
		near = spelling.FindNear(name, names)
	}
	return cmp.Or(spelling.Suggest(near[:min(len(near), maxMeant)]), otherwise)
}

// HintNamed is Hint for a name under which no store has an instance.
func HintNamed(state place.State, name, otherwise string) string {
	return Hint(ReadEverywhere(state), name, otherwise)
}
