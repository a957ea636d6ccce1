package fleet

import (
	"time"

	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
)

// Heard returns a function that returns when a hook last told that an instance's agent was
// given a prompt, zero where none did. It asks nobody: what it reads are a few small files.
func Heard(store instance.Store, in *instance.Instance) func() time.Time {
	return func() time.Time {
		id := store.Session(in)
		if id == "" {
			return time.Time{}
		}
		h, ok, err := home.OfSession(store.State, string(id))
		if err != nil || !ok {
			return time.Time{}
		}
		return activity.Read(h, id).Prompted
	}
}
