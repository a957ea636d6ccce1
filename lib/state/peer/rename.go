package peer

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
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

// renameMoved changes the host's name in the instances that have moved there.
func (h Hosts) renameMoved(from, to string, now time.Time) error {
	stores, err := instance.Stores(h.state)
	if err != nil {
		return err
	}
	// An instance that cannot be read does not keep the others from the new name.
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

// renameTries changes the host's name in the notes on work that it was offered (see Tries).
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

// lettersFile has the IDs of the letters of a host that came, a line each.
const lettersFile = "letters"

var hostKey = lazyregexp.New(`^U[A-Z2-7]{55}$`)

// forgotten returns the path of what stays of a host that was forgotten.
func (h Hosts) forgotten(key string, elem ...string) string {
	return h.state.Path(append([]string{"relay", "forgotten", key}, elem...)...)
}

// Letters returns where the IDs of a host's letters are: the file that grows, and that of the
// letters that came before the host was forgotten.
func (h Hosts) Letters(host Host) (path, before string) {
	return h.Path(host.Name, lettersFile), h.forgotten(host.Key, lettersFile)
}

// Forget removes what is known of a host. What guards against replays stays under its key: the
// hub has its last letters, and could give them once more when the host comes back. No relay
// runs meanwhile. An interrupted Forget goes on when it is asked for again.
func (h Hosts) Forget(host Host) error {
	if hostKey().MatchString(host.Key) {
		stays := Host{Key: host.Key, Clock: host.Clock, Latest: host.Latest}
		err := h.write(h.forgotten(host.Key, hostFile), stays, atomicfile.Synced)
		if err == nil {
			err = h.keepLetters(host)
		}
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(h.Path(host.Name))
}

// keepLetters adds the IDs of a host's letters to those from before. An ID may stand there twice.
func (h Hosts) keepLetters(host Host) error {
	path, before := h.Letters(host)
	ids, err := atomicfile.IfExists(atomicfile.Open(path))
	if err != nil || ids == nil {
		return err
	}
	defer ids.Close()
	all, err := atomicfile.OpenAppend(before)
	if err != nil {
		return err
	}
	defer all.Close()
	if _, err := io.Copy(all, io.MultiReader(strings.NewReader("\n"), ids)); err != nil { // behind a line that a kill has torn
		return atomicfile.Error("write", before, err)
	}
	return atomicfile.Error("write", before, all.Sync())
}

// Recall returns what stays of a host that was forgotten: when its newest messages were written.
func (h Hosts) Recall(key string) (host Host, err error) {
	err = readIfExists(h.forgotten(key, hostFile), &host)
	return host, err
}
