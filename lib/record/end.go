package record

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// End records that a session has ended and why, writes its record as an S3File, and then removes
// the results kept aside. The lines keep both ends of each result and list what was removed. If the
// session has no record, or the record was removed, End does nothing and returns no id.
func (s Store) End(k Key, why string, redact func(string) string, now time.Time) (ID, error) {
	x, err := s.Index()
	if err != nil {
		return "", err
	}
	id, _, err := s.Find(x, k)
	if errors.Is(err, ErrNone) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	gone := false
	if err := s.appendLines(id, func(w *writer, end recordEnd) error {
		if gone = end.removedAs != "" || end.size == 0; gone || !end.ended.IsZero() {
			return nil
		}
		return w.addLine(&Line{Kind: End, Time: now.UTC(), Cause: redact(validUTF8(why))})
	}); err != nil || gone {
		return "", err
	}
	if err := s.WriteS3File(id); err != nil { // mutant never: TestEndOrder
		return id, err
	}
	_, err = s.ClearContexts(id, now)
	return id, err
}

// appendLines calls lines with a locked record, which it creates if necessary, and syncs what they add.
func (s Store) appendLines(id ID, lines func(w *writer, end recordEnd) error) (err error) {
	lock, err := s.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Remove()
	w, end, err := s.openWriter(id)
	if err != nil {
		return err
	}
	err = lines(w, end)
	return cmp.Or(err, w.close(err == nil))
}

// ClearContexts removes the results of a record that were kept aside, and records that.
func (s Store) ClearContexts(id ID, now time.Time) (gone []Context, err error) {
	all, err := s.ContextsOf(id)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if _, err := s.ReadContext(c); !errors.Is(err, ErrCleared) {
			gone = append(gone, c)
		}
	}
	if len(gone) == 0 {
		return nil, s.removeContexts(id)
	}
	// Write the line first: after a crash, the next ClearContexts removes the files.
	if err := s.appendLines(id, func(w *writer, end recordEnd) error {
		return w.addLine(&Line{Kind: Cleared, Time: now.UTC(), Clear: gone})
	}); err != nil {
		return nil, err
	}
	return gone, s.removeContexts(id)
}

// AppendStep appends a line that only has a kind and a name, such as the beginning of a step.
func (s Store) AppendStep(id ID, kind Kind, name string, now time.Time) error {
	return s.appendLines(id, func(w *writer, end recordEnd) error {
		if end.removedAs != "" {
			return fmt.Errorf("the record was %s", end.removedAs)
		}
		return w.addLine(&Line{Kind: kind, Time: now.UTC(), Name: validUTF8(name)})
	})
}

type Step struct {
	Name        string
	Begun, Done time.Time
}

// Steps returns the steps of a record, in the order in which they began.
func (s Store) Steps(id ID) ([]Step, error) {
	var all []Step
	err := s.Lines(id, func(l Line) bool {
		switch l.Kind {
		case StepBegun:
			all = append(all, Step{Name: l.Name, Begun: l.Time})
		case StepDone:
			for i := len(all) - 1; i >= 0; i-- {
				if all[i].Name == l.Name && all[i].Done.IsZero() {
					all[i].Done = l.Time
					return true
				}
			}
			all = append(all, Step{Name: l.Name, Done: l.Time})
		}
		return true
	})
	return all, err
}
