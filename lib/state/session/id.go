// Package session keeps the records of a home's sessions and their thread: who followed
// whom, why, and how each session ended.
package session

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// ID names a session: the client's own id if known, usually a UUID. An ID from ParseID is
// safe as a file name.
type ID string

// ParseID checks an id from outside: 1 to 128 letters, digits, '.', '-' and '_', beginning
// with a letter or digit.
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

// NewID makes an id for a client that accepts one: a random UUID (RFC 9562, version 4).
func NewID() ID { return ID(uuid.NewString()) }

// InventID makes an id for a client that neither names nor accepts one. UUID version 8, whose bits
// are free to define, marks the id as unknown to the client: it cannot resume the session.
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

// Cases returns what to look for if a person gives the beginning of an id: it as it is and, if it
// is not short, in the other case, for a UUID is the same in capitals.
func Cases(prefix string) []string {
	if len(prefix) < 8 {
		return []string{prefix}
	}
	return []string{prefix, strings.ToLower(prefix), strings.ToUpper(prefix)}
}

// IsUUID reports whether a text is a UUID in its usual form of 36 characters.
func IsUUID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }
