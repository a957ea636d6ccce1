package record

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"

	"gt/lib/sys/atomicfile"
)

type writer struct {
	path string
	f    *os.File
	enc  encoder
	prev string // the digest of the last line
	buf  []byte // whole lines that are not written yet
	size int64  // of the file, with buf
}

// flushSize is how many bytes are held before they are written.
const flushSize = 1 << 20

// openWriter opens a record for appending, and creates it if necessary. It removes an
// incomplete last line, which a killed writer left: the next sync writes that line again.
func (s Store) openWriter(id ID) (*writer, recordEnd, error) {
	if err := s.unpackInPlace(id); err != nil { // mutant skip: TestPack
		return nil, recordEnd{}, err
	}
	path := s.Path(id)
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return nil, recordEnd{}, err
	}
	w := &writer{path: path, f: f}
	end, err := w.repairEnd()
	if err != nil {
		f.Close()
		return nil, end, atomicfile.Error("use", path, err)
	}
	return w, end, nil
}

// repairEnd checks and repairs the file, and takes the digest of its last line for the next one.
func (w *writer) repairEnd() (recordEnd, error) {
	info, err := w.f.Stat()
	if err == nil {
		err = atomicfile.CheckFileOwner(info)
	}
	if err == nil {
		err = atomicfile.CheckOneName(info)
	}
	if err != nil {
		return recordEnd{}, err
	}
	if info.Mode().Perm() != 0o600 { // others could read or write it
		if err := w.f.Chmod(0o600); err != nil {
			return recordEnd{}, err
		}
	}
	end, err := scanEnd(w.f, info.Size())
	if err != nil {
		return end, err
	}
	if end.torn {
		if err := w.f.Truncate(end.size); err != nil {
			return end, err
		}
	}
	w.prev, w.size = digest(end.last), end.size
	return end, nil
}

func (w *writer) addLine(l *Line) error {
	body, err := w.enc.encodeBody(l)
	if err != nil {
		return err
	}
	return w.addBody(body)
}

// addBody adds an encoded line, with the digest of the line before it.
func (w *writer) addBody(body []byte) error {
	begin := len(w.buf)
	w.buf = append(w.buf, prevKey...)
	w.buf = append(w.buf, w.prev...)
	w.buf = append(w.buf, `",`...)
	w.buf = append(w.buf, body[1:]...)
	sum := sha256.Sum256(w.buf[begin:])
	w.prev = hex.EncodeToString(sum[:])
	w.buf = append(w.buf, '\n')
	w.size += int64(len(w.buf) - begin)
	if len(w.buf) >= flushSize {
		return w.flush()
	}
	return nil
}

// flush writes the held lines. If it fails, the next openWriter removes the incomplete line.
func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.f.Write(w.buf)
	w.buf = w.buf[:0]
	return atomicfile.Error("write", w.path, err)
}

// close writes the held lines and, with sync, waits for the disk.
func (w *writer) close(sync bool) error {
	err := w.flush()
	if err == nil && sync {
		err = atomicfile.Error("write", w.path, w.f.Sync())
	}
	return cmp.Or(err, atomicfile.Error("write", w.path, atomicfile.Close(w.f)))
}
