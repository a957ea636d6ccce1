package parcel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

// Waiting is a parcel that a person here has to accept: it brings what could run a program or
// permit something. All of it lies in gt's own folder, <state>/parcels/<id>.
type Waiting struct {
	Parcel string      `json:"parcel"`
	ID     instance.ID `json:"id"`
	Name   string      `json:"name"` // that the agent will have
	Agent  string      `json:"agent"`
	At     time.Time   `json:"at"`
	Choices
}

// accept returns what a person has to accept before the parcel is unpacked, nil if there is
// nothing, or if they accept it now.
func (w *unpacking) accept() ([]Power, error) {
	if w.Accepted {
		return nil, nil
	}
	all, err := w.powers()
	if err != nil || len(all) == 0 || w.confirm == nil {
		return all, err
	}
	if err := w.confirm(all); err != nil {
		return nil, err
	}
	w.Accepted = true
	return nil, w.keepPlan()
}

// wait keeps a parcel until a person accepts it.
func (w *unpacking) wait() error {
	all, err := AllWaiting(w.Store.State)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o Waiting) bool { return o.From != w.From || o.Parcel == w.ID })
	if len(all) >= mostWaiting { // mutant never: TestMostWaiting
		err := refuseParcel(fmt.Errorf("%d others wait for a person already", len(all)))
		return errors.Join(err, os.RemoveAll(w.dir))
	}
	if err := atomicfile.WriteJSON(filepath.Join(w.dir, manifestName), &w.Manifest, atomicfile.Synced); err != nil {
		return err
	}
	w.plan.Waiting = &Waiting{
		Parcel: w.ID, ID: w.Instance.ID, Name: w.plan.Name, Agent: w.client.Name, At: w.Env.Now().UTC(), Choices: w.Choices,
	}
	return w.keepPlan()
}

// AllWaiting returns the parcels that wait for a person, the oldest first.
func AllWaiting(state place.State) (all []Waiting, err error) {
	names, err := atomicfile.Folders(state.Path("parcels"))
	for _, name := range names {
		if p, ok := planIn(state.Path("parcels", name)); ok && p.Waiting != nil && p.Waiting.Parcel == name {
			all = append(all, *p.Waiting)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].At.Before(all[j].At) })
	return all, err
}

func planIn(dir string) (p plan, ok bool) {
	err := atomicfile.ReadJSON(filepath.Join(dir, planName), maxManifest, &p)
	return p, err == nil
}

// Accept unpacks a parcel that waits, if confirm returns nil, which gets what it brings.
func (u Unpacker) Accept(one Waiting, confirm func([]Power) error) (Result, error) {
	all := u.Store.State.Path("parcels")
	u.Choices, u.confirm = one.Choices, confirm
	w := &unpacking{Unpacker: u, reader: &reader{}, dir: filepath.Join(all, one.Parcel)}
	lock, err := flock.Acquire(w.dir+".lock", lockWait)
	if err != nil {
		return Result{}, err
	}
	defer lock.Unlock()
	err = atomicfile.ReadJSON(filepath.Join(w.dir, manifestName), maxManifest, &w.Manifest)
	if err == nil {
		err = inOrder(w.check, w.prepare)
	}
	if err != nil {
		return Result{}, err
	}
	return w.finish()
}

// Drop forgets a parcel that waits.
func Drop(state place.State, one Waiting) error {
	return os.RemoveAll(state.Path("parcels", one.Parcel))
}

// WaitingFor returns the parcel of an instance that waits here, by its name or id.
func WaitingFor(state place.State, name string) (Waiting, error) {
	all, err := AllWaiting(state)
	var names []string
	for _, one := range all {
		if one.Name == name || string(one.ID) == name || one.Parcel == name {
			return one, nil
		}
		names = append(names, one.Name)
	}
	if err != nil {
		return Waiting{}, err
	}
	failed := fmt.Errorf("no agent '%.80s' waits to be accepted", name)
	if names == nil {
		return Waiting{}, cli.Fail(cli.AnswerNo, failed)
	}
	return Waiting{}, cli.Fail(cli.AnswerNo, failed, "those that wait: "+strings.Join(names, ", "))
}
