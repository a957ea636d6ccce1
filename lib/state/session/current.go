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

// Current says which session the calling program runs in, the first that
// holds, or "":
//
//   - for a command: the client's own variable; GT_SESSION_UUID, which
//     gt-prime exports; GT_SESSION_ID;
//   - for a hook without an input: GT_SESSION_ID, which its wiring may set; the
//     client's own variable;
//   - for both, the live session of this home whose process is an ancestor.
//
// The client's own word comes before ours: a forked session of Claude Code
// gets a copy of its parent's exports, but its own variable is right. A session that
// runs in another pane comes from the tmux session's environment, and is not ours. Of two
// clients, one started within the other, the inner one's counts. A value that is
// no session id is passed over.
//
// clientVars are the variables in which clients tell their commands the id of the
// session.
func (s Store) Current(getenv func(string) string, clientVars []string, hook bool) ID {
	given := func(vars ...string) (ids []ID) {
		for _, v := range vars {
			if id, err := ParseID(getenv(v)); err == nil && !slices.Contains(ids, id) && (hook || !s.inOtherPane(id, getenv)) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	ids := given(clientVars...)
	if len(ids) > 1 {
		ids = append(s.inner(ids), ids...)
	}
	if hook {
		ids = append(given("GT_SESSION_ID"), ids...)
	} else {
		ids = append(ids, given("GT_SESSION_UUID", "GT_SESSION_ID")...)
	}
	if len(ids) > 0 {
		return ids[0]
	}
	all, err := s.All()
	if err != nil {
		return ""
	}
	up := process.Ancestors(os.Getpid())
	for _, r := range all {
		if slices.Contains(up, r.PID) && !r.Ended() && r.Process().Alive() {
			return r.ID
		}
	}
	return ""
}

// inOtherPane reports whether the session is known to run in another pane of the tmux
// server that we are in. Of one that a server runs for all its client's windows, the
// pane that a command sees says nothing.
func (s Store) inOtherPane(id ID, getenv func(string) string) bool {
	server, pane := tmux.FromEnv(getenv)
	if pane == "" {
		return false
	}
	r, err := s.Get(id)
	return err == nil && r != nil && !r.Ended() && r.TmuxServer == server && r.TmuxPane != "" && r.TmuxPane != pane && !r.Server().IsSet()
}

// inner are those of the sessions whose process is above the calling program, the
// nearest first.
func (s Store) inner(ids []ID) []ID {
	of := map[int]ID{}
	for _, id := range slices.Backward(ids) {
		if r, err := s.Get(id); err == nil && r != nil && !r.Ended() && r.Process().Alive() {
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

// idFile is session_id, which Gas Town reads in a town's role directory too:
//
//	<id>
//	<RFC 3339>
const idFile = "session_id"

// Persist notes the session as the home's latest, which it has been since now. One that
// goes on is noted already, and to look costs a fraction of a new file.
func (s Store) Persist(id ID, now time.Time) error {
	text := string(id) + "\n" + now.UTC().Format(time.RFC3339) + "\n"
	if s.Persisted() == id {
		return s.Home.Mirror().Write(idFile, []byte(text)) // where others may have written
	}
	if err := atomicfile.Write(s.Home.Path(idFile), []byte(text), atomicfile.Unsynced); err != nil {
		return err
	}
	return s.Home.Mirror().Write(idFile, []byte(text))
}

// Persisted returns the home's latest session, "" where none is noted.
func (s Store) Persisted() ID {
	data, err := atomicfile.Read(s.Home.Path(idFile), maxRecord)
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	id, err := ParseID(string(bytes.TrimSpace(line)))
	if err != nil {
		return ""
	}
	return id
}

// Here returns the record of the session that the calling command runs in or, for a
// person, of the one that began last in this home; ErrNone where the home has none.
func (s Store) Here(getenv func(string) string, clientVars []string) (*Record, error) {
	if id := s.Current(getenv, clientVars, false); id != "" {
		if r, err := s.Get(id); err != nil || r != nil {
			return r, err
		}
	}
	all, err := s.All()
	if err == nil && len(all) == 0 {
		err = ErrNone
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// ErrNone is what a home without sessions gives.
var ErrNone = errors.New("no session is known in this folder")
