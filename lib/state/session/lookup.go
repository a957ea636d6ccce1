package session

import (
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
