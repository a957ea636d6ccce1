package beads

import (
	"errors"
	"fmt"
	"time"

	"gt/lib/place/home"
)

const hookDeadline = 5 * time.Second

func Hook(h home.Home, id string, environ []string) error {
	dir := Find(h)
	if dir == "" {
		return fmt.Errorf("cannot hook '%s': %w", id, errors.New("there is no .beads"))
	}
	bd := find(h, environ)
	if bd == "" {
		return fmt.Errorf("cannot hook '%s': %w", id, errors.New("bd is not on the PATH"))
	}
	_, err := query(question(bd, dir, bdEnviron(h, environ), hookDeadline, "update", id, "--status=hooked", "--assignee="+h.Identity.Address()))
	if err != nil {
		return fmt.Errorf("cannot hook '%s': %w", id, err)
	}
	return nil
}
