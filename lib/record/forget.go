package record

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/record/hookfile"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Remove removes a record and its results kept aside. It leaves two lines: whose conversation it
// was, without any of its text, and what was removed, of the kind why (Forgotten or Pruned). No
// sync adds the conversation again. Of a record that is already removed, it only removes files
// that an earlier Remove left, and returns a zero Removal.
func (s Store) Remove(id ID, why Kind, now time.Time) (Removal, error) {
	lock, err := s.Lock(id)
	if err != nil {
		return Removal{}, err
	}
	defer lock.Remove()
	o, err := s.openRecord(id)
	if err != nil {
		return Removal{}, err
	}
	defer o.Close()
	head, end, err := o.readHeadEnd()
	if err != nil {
		return Removal{}, err
	}
	if end.removedAs != "" {
		return Removal{}, errors.Join(s.removeRest(id, &head), atomicfile.Remove(s.packedPath(id)))
	}
	gone := Removal{Bytes: o.unpackedSize(), Digest: digest(end.last)}
	if _, err := o.forEachLine(0, func([]byte, int64) bool { gone.Lines++; return true }); err != nil {
		return gone, err
	}
	var w writer
	w.prev = digest(nil)
	if err := w.addLine(&Line{Kind: Head, Time: now.UTC(), Head: &Session{
		Form: formatVersion, ID: id, Agent: head.Agent, Session: head.Session, Parent: head.Parent, Started: head.Started,
	}}); err != nil {
		return gone, err
	}
	if err := w.addLine(&Line{Kind: why, Time: now.UTC(), Gone: &gone}); err != nil {
		return gone, err
	}
	// The files beside the lines go first: if Remove is killed, the next one finds them
	// by the lines.
	if err := s.removeRest(id, &head); err != nil {
		return gone, err
	}
	if err := atomicfile.Write(s.Path(id), w.buf, atomicfile.Synced); err != nil {
		return gone, err
	}
	return gone, atomicfile.Remove(s.packedPath(id))
}

func (s Store) removeRest(id ID, h *Session) error {
	return errors.Join(
		atomicfile.Remove(s.s3Path(id)), atomicfile.Remove(s.s3Path(id)+".new"),
		atomicfile.Remove(s.Path(id)+".new"), atomicfile.Remove(s.packedPath(id)+".new"),
		s.removeContexts(id), s.RemoveHookFile(h.Agent, h.Session),
	)
}

func (s Store) RemoveHookFile(agent string, id session.ID) error {
	return hookfile.Remove(s.root, agent, id)
}

// removeContexts removes the large results that are kept aside for a record.
func (s Store) removeContexts(id ID) error {
	entries, err := atomicfile.Entries(s.Contexts)
	if err != nil {
		return err
	}
	for _, e := range entries {
		// A kill can leave a temporary file.
		if strings.HasPrefix(strings.TrimPrefix(e.Name(), "."), string(id)+"-") {
			if err := atomicfile.Remove(filepath.Join(s.Contexts, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
