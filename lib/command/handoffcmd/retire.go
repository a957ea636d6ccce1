package handoffcmd

import (
	"errors"
	"slices"
	"time"

	"gt/lib/client/agent"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/state/thread"
)

// retire removes notes of hand-overs that were delivered long ago; the thread keeps what
// must last. The caller holds the home's lock, so no session starts meanwhile that needs
// one.
func (h *handover) retire(box mail.Box, now time.Time) error {
	age := func() time.Duration {
		unsure := agent.Retention(0)
		own := agent.LoadPreferences(h.env.Getenv, func(err error) {
			h.warn(err)
			unsure = agent.Forever // remove nothing if the setting cannot be read
		})
		return max(own.KeepNotes, unsure).Duration()
	}
	var named map[string]bool
	return box.Expire(now, agent.MinKeep, age, func(n mail.Note) bool {
		if named == nil {
			named = h.named()
		}
		return named == nil || named[n.ID] || h.lastOf(session.ID(n.Chain), n.ID)
	})
}

// named returns the ids of the notes that the home's records name, nil if a record cannot
// be read.
func (h *handover) named() map[string]bool {
	unread := false
	records, err := session.Store{Home: h.home, Warn: func(err error) { h.warn(err); unread = true }}.ReadRecords()
	if h.warn(err); err != nil || unread { // mutant never: . TestScripts/handoff_retention
		return nil
	}
	named := map[string]bool{}
	for _, r := range records {
		notes := append(slices.Clone(r.DeliveredNotes), r.Note)
		if p := r.Handoff; p != nil {
			notes = append(append(notes, p.Before...), p.Note)
		}
		for _, id := range notes {
			named[id] = true
		}
	}
	return named
}

// lastOf reports whether a note has one of the last two messages of a chain, which the next
// session receives in full. It is true if that cannot be read.
func (h *handover) lastOf(chain session.ID, note string) bool {
	if chain == "" {
		return false
	}
	unread := false
	t, err := thread.Read(h.home.Town.State, chain, func(err error) { h.warn(err); unread = true })
	if errors.Is(err, thread.ErrNone) {
		return unread
	} else if err != nil {
		h.warn(err)
		return true
	}
	last := t.Messages[max(0, len(t.Messages)-2):]
	return slices.ContainsFunc(last, func(m thread.Message) bool { return m.Note == note })
}
