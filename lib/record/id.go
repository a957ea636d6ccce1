package record

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gt/lib/state/session"
)

// ID is the id of a record: session-<milliseconds since 1970, base 36>-<6 characters,
// base 36>. An ID from ParseID is safe as a file name.
type ID string

const (
	prefix     = "session-"
	base       = 36
	suffixSize = 6
	suffixes   = base * base * base * base * base * base
)

// ParseID checks an id from outside.
func ParseID(s string) (ID, error) {
	stamp, suffix, ok := strings.Cut(strings.TrimPrefix(s, prefix), "-")
	if !ok || !strings.HasPrefix(s, prefix) || !isBase36(stamp, 13) || len(suffix) != suffixSize || !isBase36(suffix, suffixSize) {
		return "", fmt.Errorf("invalid record id '%.40s'", s)
	}
	return ID(s), nil
}

func isBase36(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func (id ID) suffix() string { return string(id[len(id)-suffixSize:]) }

// Key identifies the conversation of a record.
type Key struct {
	Agent   string     // the client, as in lib/client/agent
	Session session.ID // the client's own id
	Parent  session.ID // of a subagent's conversation: two sessions can have subagents with the same id
}

// suffix returns the end of the record's id. It is derived from the key, so that a
// listing of names tells whether there is a record. n distinguishes keys with the same
// hash.
func (k Key) suffix(n int) string {
	sum := sha256.Sum256([]byte(k.Agent + "\x00" + string(k.Session) + "\x00" + string(k.Parent) + strings.Repeat("\x00", n)))
	s := strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])%suffixes, base)
	return strings.Repeat("0", suffixSize-len(s)) + s
}

func newID(started time.Time, suffix string) ID {
	return ID(prefix + strconv.FormatInt(max(started.UnixMilli(), 0), base) + "-" + suffix)
}
