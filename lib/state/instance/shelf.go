package instance

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"gt/lib/sys/atomicfile"
)

// Shelf caches the archived instances of a store. Archived instances pile up and hardly
// change, so ticks, which read them again and again, open only the changed files. The zero
// value is empty. A Shelf is safe for concurrent use.
type Shelf struct {
	mu   sync.Mutex
	held map[ID]onShelf
}

type onShelf struct {
	file os.FileInfo // stat before it was read
	in   *Instance
}

// Read returns the same as ReadFolder(Archived). The caller must not change the instances.
func (h *Shelf) Read(s Store) (all []*Instance, unread error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids, err := s.ids(Archived)
	if err != nil {
		return nil, err
	}
	held := make(map[ID]onShelf, len(ids))
	for _, id := range ids {
		file, err := s.shelved(id)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		known, ok := h.held[id]
		if !ok || file == nil || !os.SameFile(file, known.file) || file.Size() != known.file.Size() || !file.ModTime().Equal(known.file.ModTime()) {
			told := s
			told.Warn = func(err error) { file = nil; s.warn(err) } // not held: each read warns
			in, err := told.Get(id)
			if err != nil && !errors.Is(err, ErrNone) {
				unread = errors.Join(unread, err)
			}
			if err != nil || in.folder() != Archived {
				continue
			}
			known = onShelf{file, in}
		}
		if all = append(all, known.in); file != nil {
			held[id] = known
		}
	}
	h.held = held
	sortByCreation(all)
	return all, unread
}

// shelved stats the file of an archived instance. It returns nil if there is none or
// another folder has a copy.
func (s Store) shelved(id ID) (file os.FileInfo, err error) {
	for _, folder := range []string{"", Closed, Archived} {
		path := s.file(folder, id).Path
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, atomicfile.Error("open", path, err)
		case folder != Archived:
			return nil, nil
		default:
			file = info
		}
	}
	return file, nil
}
