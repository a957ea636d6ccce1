package handoffcmd

import (
	"errors"
	"io/fs"

	"gt/lib/sys/atomicfile"
)

// early reports whether there is nothing to save yet. Some clients run the hook before
// every request to the model. It is early unless the conversation is so full that the
// client compacts it now and nothing was saved since it became full. A compaction that the
// person starts is never early.
//
// full comes from the client's own rule, its transcript and settings. The record keeps it
// until the conversation is short again, because a client whose compaction fails tries
// again each time.
func (h handover) early() (full, early bool, err error) {
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
