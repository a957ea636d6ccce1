package instance

import (
	"errors"
	"os"
	"slices"
	"strings"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/text/fold"
)

// Called is an agent that a list shows.
type Called struct {
	Name     string // or its pane, if gt did not start it
	Path     string // its folder
	Session  session.ID
	Instance string // the store's Name of its instance; "" if gt did not start it
}

// Named returns the agents that lists show under a name: by the name, id or pane of an
// instance in any store, or the pane of another agent that runs. unread reports instances
// that could not be read.
func Named(state place.State, name string) (found []Called, unread error) {
	if name == "" {
		return nil, nil
	}
	stores, unread := Stores(state)
	pane := strings.HasPrefix(name, "%")
	for _, s := range stores {
		all, err := s.All()
		unread = errors.Join(unread, err)
		for _, in := range all {
			if fold.Same(in.Name, name) || string(in.ID) == name || pane && in.TmuxPane == name && in.Desired == Running {
				found = append(found, Called{in.Name, in.Path, s.Session(in), s.Name(in.ID)})
			}
		}
	}
	if !pane {
		return found, unread
	}
	links, _ := os.ReadDir(state.Path("sessions")) // unreadable sessions cannot be named
	for _, l := range links {
		r, err := session.Lookup(state, session.ID(l.Name()))
		if err == nil && r != nil && r.TmuxPane == name && r.Live() && !slices.ContainsFunc(found, func(c Called) bool { return c.Session == r.ID }) {
			found = append(found, Called{name, r.CWD, r.ID, ""})
		}
	}
	return found, unread
}
