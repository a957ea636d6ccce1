package mail

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// newUnique returns the part of a file name that never changes: second and microsecond, a
// random number, which people type, and the machine's name.
func newUnique(now time.Time) string {
	var random [4]byte
	rand.Read(random[:]) // never fails: crypto/rand ends the process instead
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	host = strings.NewReplacer("/", `\057`, ":", `\072`).Replace(host)
	return fmt.Sprintf("%d.M%06dR%x.%s", now.Unix(), now.Nanosecond()/1000, random, host)
}

// An agent's name in GT_INSTANCE is the path of its file in the state. In the name of a note
// it follows agentMark, with agentSlash for the slashes.
const (
	agentMark  = ",I="
	agentSlash = "="
)

// agentSuffix returns the end of the name of a note for an agent, or "" for none, and for one
// whose name cannot be a part of a file's.
func agentSuffix(agent string) string {
	if agent == "" || len(agent) > 150 || strings.ContainsAny(agent, "=:@") {
		return ""
	}
	return agentMark + strings.ReplaceAll(agent, "/", agentSlash)
}

func agentOf(unique string) string {
	_, agent, _ := strings.Cut(unique, agentMark)
	return strings.ReplaceAll(agent, agentSlash, "/")
}

const idLength = 8

// idOf returns the ID of the note with this unique name: gt's random number, or eight hex
// digits of the name's hash. The ID of a note from another host ends in @host, so that the
// host cannot give it the ID of another note.
func idOf(unique string) string {
	name, host, foreign := cutHost(unique)
	if parts := strings.SplitN(name, ".", 3); len(parts) == 3 && isDigits(parts[0]) {
		micro, id, ok := strings.Cut(parts[1], "R")
		switch {
		case !ok || !isHex(id) || !strings.HasPrefix(micro, "M") || !isDigits(micro[1:]):
		case foreign && len(id) >= idLength: // mutant never: TestHostNames
			return id + "@" + host
		case len(id) == idLength:
			return id
		}
	}
	sum := sha256.Sum256([]byte(unique))
	return hex.EncodeToString(sum[:idLength/2])
}

// NameFrom returns the name, in a box of this host, of a note from another host. Two hosts
// cannot use the same name.
func NameFrom(host, name string) string { return name + "@" + host }

// cutHost is the inverse of NameFrom. foreign is false for a note of this host.
func cutHost(unique string) (name, host string, foreign bool) {
	i := strings.LastIndexByte(unique, '@')
	if i < 0 || i+1 == len(unique) || strings.Trim(unique[i+1:], "abcdefghijklmnopqrstuvwxyz0123456789.-") != "" {
		return unique, "", false
	}
	return unique[:i], unique[i+1:], true
}

// arrival returns the time in a unique name, as newUnique writes it, or zero if it has none.
func arrival(unique string) time.Time {
	seconds, rest, _ := strings.Cut(unique, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || s < 0 || s > 1<<40 {
		return time.Time{}
	}
	micro := int64(0)
	if digits, ok := strings.CutPrefix(rest, "M"); ok {
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			digits = digits[:end]
		}
		if n, err := strconv.ParseInt(digits, 10, 32); err == nil && n < 1e6 {
			micro = n
		}
	}
	return time.Unix(s, micro*1000)
}

// splitName splits the name of a Maildir file, "unique:2,FLAGS".
func splitName(name string) (unique, flags string) {
	unique, info, _ := strings.Cut(name, ":")
	flags, ok := strings.CutPrefix(info, "2,")
	if !ok {
		return unique, ""
	}
	return unique, flags
}

func withFlags(flags string) string { return ":2," + flags }

// changeFlags adds and removes flags and keeps those of other mail programs. The result is
// in ASCII order, as Maildir requires.
func changeFlags(flags, add, take string) string {
	var set []byte
	for _, f := range []byte(flags + add) {
		if strings.IndexByte(take, f) < 0 {
			set = append(set, f)
		}
	}
	sort.Slice(set, func(i, j int) bool { return set[i] < set[j] })
	return string(slices.Compact(set))
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// NewName returns an unused name for a note's file and its ID.
func NewName(now time.Time) (name, id string) {
	name = newUnique(now)
	return name, idOf(name)
}

func IDOf(name string) string {
	unique, _ := splitName(name)
	return idOf(unique)
}
