// Package session keeps the records of a home's sessions, and with them the
// thread: who followed whom, why, and how each ended.
package session

import (
	"fmt"

	"github.com/google/uuid"
)

// ID names a session: the client's own id where it is known, usually a UUID.
// An ID that came through ParseID is safe as the name of a file.
type ID string

// ParseID checks an id that came from outside: 1 to 128 letters, digits,
// '.', '-' and '_', beginning with a letter or digit.
func ParseID(s string) (ID, error) {
	if s == "" || len(s) > 128 {
		return "", fmt.Errorf("a session id has 1 to 128 characters, not %d", len(s))
	}
	for i, r := range s {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || r != '-' && r != '_' && r != '.') {
			does := "contains"
			if i == 0 {
				does = "begins with"
			}
			return "", fmt.Errorf("invalid session id '%.40s': it %s %q", s, does, r)
		}
	}
	return ID(s), nil
}

// NewID makes an id for a session whose client takes one: a random UUID (RFC 9562,
// version 4).
func NewID() ID { return ID(uuid.NewString()) }

// InventID makes an id for a session whose client neither gives nor takes one. It is
// a UUID of version 8, whose bits are the maker's to define, so that it is never taken
// for one that the client knows: such a session cannot be resumed.
func InventID() ID {
	id := uuid.New()
	id[6] = id[6]&0x0f | inventedVersion<<4
	return ID(id.String())
}

const inventedVersion = 8

// Invented reports whether InventID made the id.
func (id ID) Invented() bool {
	u, err := uuid.Parse(string(id))
	return err == nil && u.Version() == inventedVersion && u.String() == string(id)
}
