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

// retire removes hand-over notes that were told long ago, which nobody will look for:
// what of them must last is in the thread. The home is locked, so no session begins that
// would be told of one.
func (h *handover) retire(box mail.Box, now time.Time) error {
	age := func() time.Duration {
		unsure := agent.Retention(0)
		own := agent.LoadPreferences(h.env.Getenv, func(err error) {
			h.warn(err)
			unsure = agent.Forever // nothing is removed for a setting that nobody can read
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

// named are the notes that the home's records name, nil where one cannot be read.
func (h *handover) named() map[string]bool {
	unread := false
	records, err := session.Store{Home: h.home, Warn: func(err error) { h.warn(err); unread = true }}.All()
	if h.warn(err); err != nil || unread {
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

// lastOf reports whether a note holds one of the last two messages of a chain, which its
// next session is told in full, or whether that cannot be found out.
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
