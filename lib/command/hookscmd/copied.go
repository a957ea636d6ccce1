package hookscmd

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/mail"
	"gt/lib/sys/atomicfile"
)

// townCopier copies a town's files into the state, and counts them (see copyShared).
type townCopier struct {
	env     *cli.Env
	town    town.Town
	tracked []string // by git
	files   int
	notes   int
}

// copyShared copies a town's log and notes into the state if git would show them in the town; gt keeps
// them in the state from then on. It skips what the state has, and what git tracks, which may have come
// with the repository. It must run before the town is trusted, because gt writes there after that.
func copyShared(env *cli.Env, state place.State, t *place.Trust) error {
	if !t.GitShows {
		return nil
	}
	c := townCopier{env: env, town: town.Town{Root: t.Path, State: state, Trust: t}}
	var err error
	if c.tracked, err = git.TrackedFiles(t.Path, gitWait, ".events.jsonl", ".sessions", "mail"); err != nil {
		return fmt.Errorf("cannot ask git about '%s': %w", t.Path, err)
	}
	if err := errors.Join(c.copyFile(".events.jsonl"), c.copyFile(".sessions", "archive", "sessions.jsonl"), c.copyBoxes()); err != nil {
		return err
	}
	if c.files+c.notes > 0 {
		(&printer{env: env}).line("  copied there: files of the log: %d, notes: %d", c.files, c.notes)
	}
	return nil
}

// skipsTracked reports whether git tracks the file at way, below the town's folder, and warns then.
func (c *townCopier) skipsTracked(way ...string) bool {
	name := filepath.Join(way...)
	if !slices.ContainsFunc(c.tracked, func(t string) bool { return strings.EqualFold(t, name) }) {
		return false
	}
	c.env.Warn("'%s' is left out: git tracks it, so it may have come with the repository", name)
	return true
}

// copyFile copies a file of the log. If it cannot be read, it is left out with a warning.
func (c *townCopier) copyFile(way ...string) error {
	last := len(way) - 1
	dest := filepath.Join(append([]string{filepath.Dir(c.town.Events())}, way...)...)
	if atomicfile.Exists(dest) || c.skipsTracked(way...) {
		return nil
	}
	f, err := place.SharedIn(c.town.Root, way[:last]...).OpenFile(way[last])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		c.env.WarnError(err)
		return nil
	}
	defer f.Close()
	if err := c.town.State.Prepare(filepath.Dir(dest)); err != nil {
		return err
	}
	c.files++
	return atomicfile.Copy(dest, f)
}

const maxElements = 4 // limits the number of elements in a mailbox's address

// copyBoxes copies the notes of all mailboxes at or below an address. A folder with cur is a mailbox.
func (c *townCopier) copyBoxes(address ...string) error {
	way := append([]string{"mail"}, address...)
	names, err := place.SharedIn(c.town.Root, way...).Names()
	if errors.Is(err, atomicfile.ErrNotFolder) {
		return nil
	} else if err != nil {
		c.env.WarnError(err)
		return nil
	}
	if slices.Contains(names, "cur") {
		id, err := identity.Parse(strings.Join(address, "/"))
		if err != nil {
			return nil
		}
		box := mail.NewBox(home.NewHome(c.town, id, c.town.Root), id.Address())
		return errors.Join(c.copyBox(box, append(way, "new")), c.copyBox(box, append(way, "cur")))
	}
	for _, name := range names {
		if len(address) < maxElements {
			err = errors.Join(err, c.copyBoxes(append(slices.Clip(address), name)...))
		}
	}
	return err
}

// copyBox copies the notes that a mailbox does not have yet, from the folder new or cur at way.
func (c *townCopier) copyBox(box mail.Box, way []string) error {
	from := place.SharedIn(c.town.Root, way...)
	known, err := box.Known()
	if err != nil {
		return err
	}
	names, err := from.Names()
	c.env.WarnError(err)
	for _, name := range names {
		note := mail.Arriving{Name: name, Fresh: way[len(way)-1] == "new"}
		if strings.HasPrefix(name, ".") || known(note) || c.skipsTracked(append(slices.Clip(way), name)...) {
			continue
		}
		text, err := from.Read(name, mail.MaxMessage)
		if err != nil {
			c.env.WarnError(err)
			continue
		}
		if err := box.Take(note, text); err != nil {
			return err
		}
		c.notes++
	}
	return nil
}
