package peer

import (
	"errors"
	"slices"
	"time"

	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
)

// holdWait is how long a rename waits for a command that is at an instance.
const holdWait = 10 * time.Second

// Rename calls a host by another name wherever this host's files name it. No relay runs
// meanwhile. A rename that was interrupted goes on when it is asked for again.
func (h Hosts) Rename(host Host, name string, now time.Time) error {
	if err := h.renameMoved(host.Name, name, now); err != nil {
		return err
	}
	if err := h.renameTries(host.Name, name); err != nil {
		return err
	}
	for _, dir := range []string{"out", "refused", "results", "commands"} {
		from := h.state.Path("relay", dir, host.Name)
		if !atomicfile.Exists(from) {
			continue
		}
		if err := atomicfile.Rename(from, h.state.Path("relay", dir, name), atomicfile.Synced); err != nil {
			return err
		}
	}
	if err := atomicfile.Rename(h.Path(host.Name), h.Path(name), atomicfile.Synced); err != nil {
		return err
	}
	host.Name, host.Clash = name, ""
	return h.Put(host)
}

func (h Hosts) renameMoved(from, to string, now time.Time) error {
	stores, err := instance.Stores(h.state)
	if err != nil {
		return err
	}
	var unread error
	for _, s := range stores {
		all, err := s.ReadInstances()
		unread = errors.Join(unread, err)
		for _, in := range all {
			if in.Moved == nil || in.Moved.To != from {
				continue
			}
			held, err := s.Hold(in.ID, holdWait)
			if err != nil {
				return err
			}
			if m := held.Moved; m != nil && m.To == from { // mutant never: TestRename
				m.To = to
				err = held.Put(now)
			}
			held.Release()
			if err != nil {
				return err
			}
		}
	}
	return unread
}

func (h Hosts) renameTries(from, to string) error {
	out := OutboxOf(h.state)
	all, err := out.AllTries()
	if err != nil {
		return err
	}
	for id, t := range all {
		names := []*string{&t.Late}
		for i := range t.Tries {
			names = append(names, &t.Tries[i].Host)
		}
		changed := false
		for _, name := range names {
			if *name == from {
				*name, changed = to, true
			}
		}
		if changed {
			err = errors.Join(err, out.SetTries(id, *t))
		}
	}
	return err
}

// Renamed returns the name that a host has now, which a person can have changed meanwhile.
func (h Hosts) Renamed(host Host) string {
	if host.Key == "" || atomicfile.Exists(h.Path(host.Name)) {
		return host.Name
	}
	all, _ := h.ReadHosts()
	if i := slices.IndexFunc(all, func(now Host) bool { return now.Key == host.Key }); i >= 0 {
		return all[i].Name
	}
	return host.Name
}
