package session

import (
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
)

// Lookup returns the record of a session, nil where there is none. An error says
// that nobody knows what it holds.
func Lookup(state place.State, id ID) (*Record, error) {
	if _, err := ParseID(string(id)); err != nil {
		return nil, nil
	}
	h, ok, err := home.OfSession(state, string(id))
	if !ok {
		return nil, err
	}
	return Store{Home: h}.Get(id)
}

// AtWork reports whether a session has begun and neither ended nor lost its process, by its
// own record in the state. A record that is missing or cannot be read says nothing of one.
func AtWork(state place.State, id ID, now time.Time) bool {
	r, _ := Lookup(state, id)
	return r != nil && !r.Ended() && !r.Crashed(now)
}
