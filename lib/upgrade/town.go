package upgrade

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"gt/lib/catalog"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/mail"
	"gt/lib/sys/atomicfile"
)

// Town adds what the log of a trusted town says. It ignores a log that git tracks, and
// fails for one of another user: it may have come with the folder.
func (k *Known) Town(root string, progress catalog.Progress) error {
	log := town.Town{Root: root}.Events()
	if kept, err := git.Kept(root, wait, filepath.Base(log), ".sessions"); err != nil || len(kept) > 0 {
		return err
	}
	old, err := place.OpenOldTown(root)
	if err != nil {
		return err
	}
	defer old.Close()
	if err := old.Check(filepath.Base(log), 1<<62, written); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return atomicfile.Error("use", log, err)
	}
	return k.Log(eventlog.Log(log), root, progress)
}

// archive is the folder for the events that have left a town's log.
const archive = ".sessions/archive"

// Shared plans the import of the log and mail of a town in which git would show them: they
// are kept in the state from now on. In other towns they stay where they are, and ok is
// false.
func (k *Known) Shared(t town.Town) (p Plan, ok bool) {
	if t.Trust == nil || !t.Trust.Shows {
		return p, false
	}
	p = Plan{Home: home.Home{Dir: t.Root, Town: t}, open: func() (*place.Old, error) { return place.OpenOldTown(t.Root) }}
	old, err := p.open()
	if err != nil {
		p.left(Folder, t.Root, p.why(t.Root, err))
		return p, true
	}
	defer old.Close()
	kept, err := git.Kept(t.Root, wait, filepath.Base(t.Events()), ".sessions", "mail")
	if err != nil {
		p.left(Folder, t.Root, reason(err))
		p.Failed = fmt.Errorf("cannot ask git about '%s': %w", t.Root, err)
		return p, true
	}
	logs := []string{filepath.Base(t.Events())}
	names, _ := old.Names(archive, written)
	for _, name := range names {
		logs = append(logs, archive+"/"+name)
	}
	for _, name := range logs {
		k.log(&p, old, t, name)
	}
	p.mail(old, "mail", 0)
	for i := range p.Items {
		item := &p.Items[i]
		for _, name := range kept {
			if strings.EqualFold(name, item.name) {
				item.Fate, item.Why, item.take = Left, "git tracks it, so it may have come with the repository", nil
			}
		}
		item.ours = false // other programs of the town read it there
	}
	return p, true
}

// log plans the import of a file of the town's log.
func (k *Known) log(p *Plan, old *place.Old, t town.Town, name string) {
	item := Item{Kind: Log, name: name, Path: old.Path(name), Fate: Taken}
	to := filepath.Join(filepath.Dir(t.Events()), name)
	switch err := old.Check(name, 1<<62, written); {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		item.Fate, item.Why = Left, p.why(item.Path, err)
	case atomicfile.Exists(to):
		item.Fate = InState
	default:
		item.take = func(old *place.Old) error {
			if err := t.State.Prepare(filepath.Dir(to)); err != nil {
				return err
			}
			return old.Copy(name, to, written)
		}
	}
	p.Items = append(p.Items, item)
}

// maxDepth bounds how many elements an address can have.
const maxDepth = 4

// mail plans the import of the boxes in and below a folder of the town.
func (p *Plan) mail(old *place.Old, at string, depth int) {
	names, err := old.Names(at, written)
	if err != nil || depth > maxDepth {
		return
	}
	for _, name := range names {
		if name == "cur" {
			address := strings.TrimPrefix(at, "mail/")
			if id, err := identity.Parse(address); err == nil {
				boxed(p, old, mail.Of(home.At(p.Home.Town, id, p.Home.Dir), address), at)
			}
			return
		}
	}
	for _, name := range names {
		p.mail(old, at+"/"+name, depth+1)
	}
}
