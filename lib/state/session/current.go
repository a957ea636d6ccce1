package session

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Current returns the session that the calling program runs in, or "". The first of these counts:
//
//   - for a command: the client's own variable, then GT_SESSION_UUID, which gt-prime
//     exports, then GT_SESSION_ID;
//   - for a hook without input: GT_SESSION_ID, which its wiring may set, then the
//     client's own variable;
//   - for both: the live session of this home whose process is an ancestor.
//
// The client's variable comes first because a forked session of Claude Code inherits its parent's
// exports. A session in another pane is skipped: it comes from the tmux session's environment. If
// one client was started within another, the inner one counts. Invalid ids are skipped.
//
// clientVars are the variables in which clients give their commands the session id.
func (s Store) Current(getenv func(string) string, clientVars []string, hook bool) ID {
	given := func(vars ...string) (ids []ID) {
		for _, v := range vars {
			if id, err := ParseID(getenv(v)); err == nil && !slices.Contains(ids, id) &&
				(hook || !s.inOtherPane(id, getenv)) { // mutant always: . TestScripts/handoff_environment
				ids = append(ids, id)
			}
		}
		return ids
	}
	ids := given(clientVars...)
	if len(ids) > 1 {
		ids = append(s.nestedSessions(ids), ids...)
	}
	if hook {
		ids = append(given("GT_SESSION_ID"), ids...)
	} else {
		ids = append(ids, given("GT_SESSION_UUID", "GT_SESSION_ID")...)
	}
	if len(ids) > 0 {
		return ids[0]
	}
	all, err := s.ReadRecords()
	if err != nil {
		return ""
	}
	up := process.Ancestors(os.Getpid())
	for _, r := range all {
		if slices.Contains(up, r.PID) && !r.Ended() && r.Process().IsAlive() {
			return r.ID
		}
	}
	return ""
}

// inOtherPane reports whether the session runs in another pane of the caller's tmux server.
// A session of a server that serves several windows has no pane of its own.
func (s Store) inOtherPane(id ID, getenv func(string) string) bool {
	server, pane := tmux.FromEnv(getenv)
	if pane == "" {
		return false
	}
	r, err := s.Get(id)
	return err == nil && r != nil && !r.Ended() && r.TmuxServer == server && r.TmuxPane != "" && r.TmuxPane != pane && !r.Server().IsSet()
}

// nestedSessions returns those sessions whose process is an ancestor of this one, nearest first. Of two that
// name the same process, the first in ids counts.
func (s Store) nestedSessions(ids []ID) []ID {
	of := map[int]ID{}
	for _, id := range slices.Backward(ids) {
		if r, err := s.Get(id); err == nil && r != nil && !r.Ended() && r.Process().IsAlive() {
			of[r.PID] = id
		}
	}
	var found []ID
	for _, pid := range process.Ancestors(os.Getpid()) {
		if id, ok := of[pid]; ok {
			found = append(found, id)
		}
	}
	return found
}

// idFile names the home's latest session. Gas Town reads it in a role's directory of a town, too:
//
//	<id>
//	<RFC 3339>
const idFile = "session_id"

// Persist records the session as the home's latest, also in the mirror, which is the role's
// directory of a town. It reads before it writes, because a new file costs far more.
func (s Store) Persist(id ID, now time.Time) error {
	text := []byte(string(id) + "\n" + now.UTC().Format(time.RFC3339) + "\n")
	if s.Persisted() != id {
		if err := atomicfile.Write(s.Home.Path(idFile), text, atomicfile.Unsynced); err != nil {
			return err
		}
	}
	return s.Home.Mirror().Write(idFile, text) // others may have changed the mirror
}

// Persisted returns the home's latest session, or "".
func (s Store) Persisted() ID {
	data, err := atomicfile.Read(s.Home.Path(idFile), maxRecord)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	id, _ := ParseID(string(bytes.TrimSpace(line)))
	return id
}

// CurrentRecord returns the record of the session that the caller runs in, or else of the home's
// latest. It returns ErrNone if the home has none.
func (s Store) CurrentRecord(getenv func(string) string, clientVars []string) (*Record, error) {
	if id := s.Current(getenv, clientVars, false); id != "" {
		if r, err := s.Get(id); err != nil || r != nil {
			return r, err
		}
	}
	all, err := s.ReadRecords()
	if err == nil && len(all) == 0 {
		err = ErrNone
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

var ErrNone = errors.New("no session is known in this folder")
