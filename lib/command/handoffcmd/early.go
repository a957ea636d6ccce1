package handoffcmd

import (
	"errors"
	"io/fs"

	"gt/lib/sys/atomicfile"
)

// early reports whether there is nothing to save yet: the client runs its hook
// before every request to the model, in case the conversation is so long by now
// that it has to be compacted, and it is not, or was saved since it is. A
// person's own compaction is always one.
//
// What tells is the client's own rule, read from its transcript and settings.
// That it was saved is noted until the conversation is short again: a client
// that compacts in vain tries anew each time.
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
