package session

import (
	"time"

	"gt/lib/place"
	"gt/lib/place/home"
)

// Lookup returns a session's record, or nil. An error means that the record could not be
// read.
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

// AtWork reports whether a session runs according to its record. A missing or unreadable
// record counts as no.
func AtWork(state place.State, id ID, now time.Time) bool {
	r, _ := Lookup(state, id)
	return r != nil && !r.Ended() && !r.Crashed(now)
}
