package fleet

import (
	"time"

	"gt/lib/client/readers/files"
	"gt/lib/conversation"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
)

// LastPrompt returns a function that returns the time of the last prompt that a hook
// reported for an instance, zero without one, and the beginning of the last one that has
// words. It only reads a few small files.
func LastPrompt(store instance.Store, in *instance.Instance) func() (at time.Time, words string) {
	return func() (time.Time, string) {
		id := store.Session(in)
		if id == "" {
			return time.Time{}, ""
		}
		h, ok, err := home.OfSession(store.State, string(id))
		if err != nil || !ok {
			return time.Time{}, ""
		}
		return activity.Read(h, id).LastPrompt()
	}
}

// RefusedSince returns a function that reports whether the client has dropped a prompt since a
// time, by its conversation. It is nil for a client that does not write that.
func (m *Member) RefusedSince() func(since time.Time) bool {
	if m.Record == nil {
		return nil
	}
	refuser, ok := m.reader().(conversation.Refuser)
	if !ok {
		return nil
	}
	path := m.Record.Transcript
	if path == "" {
		path = files.Path(m.Record.Agent, m.clientEnv(), m.Record.CWD, string(m.Record.ID))
	}
	return func(since time.Time) bool { return !refuser.PromptDropped(path, since).IsZero() }
}
