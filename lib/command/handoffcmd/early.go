package handoffcmd

import (
	"errors"
	"io/fs"

	"gt/lib/sys/atomicfile"
)

// checkEarly reports whether there is nothing to save yet, because some clients run the hook
// before every request to the model. A save is due only when the conversation is full, so
// that the client compacts it, and only once until it is short again: a client whose
// compaction fails tries again each time. The record keeps that it was saved. A compaction
// that the person starts is never early.
//
// full comes from the client's own rule, its transcript and settings.
func (h handover) checkEarly() (full, early bool, err error) {
	policy := h.call.Dialect.CompactionPolicy
	if policy == nil {
		return false, false, nil
	}
	full, err = policy(h.transcript(), h.call.Dir, h.env.Getenv)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.warn(err)
	}
	if h.call.Input.Trigger != "auto" {
		return full, false, nil
	}
	if full {
		return full, h.record != nil && h.record.Full, nil
	}
	if h.record == nil || !h.record.Full {
		return full, true, nil
	}
	lock, err := h.home.LockWithin(saveWait)
	if err != nil {
		return full, true, err
	}
	defer lock.Unlock()
	r, err := h.store.Get(h.record.ID)
	if err != nil || r == nil {
		return full, true, err
	}
	r.Full = false
	return full, true, h.store.Put(r, atomicfile.Unsynced)
}
