package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"time"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

// A record that has not changed for long is packed into <id>.jsonl.gz, which any gzip
// reads. It has two gzip members. The second one has the end of the record from the last
// mark on, so that a list need not read the rest. An extra field in the first header says
// where it begins. As long as <id>.jsonl exists, that is the record: it is removed after
// the packed one is complete, and written again before anything is appended.
const packedExt = ext + ".gz"

// packedHeader is where the second member begins.
type packedHeader struct {
	Packed int64 // in the file
	At     int64 // in the record
	Size   int64 // of the record
}

// The extra field in the first header has a name, a length and a packed header. It follows the
// fixed part of the header and the length of all extra fields.
const (
	fieldName  = "gt"
	fieldSize  = 3 * 8
	fieldBegin = 12
)

// parsePacked reads the field that gt writes into the gzip header of a packed record.
func parsePacked(f io.ReaderAt) (p packedHeader, err error) {
	z, err := gzip.NewReader(io.NewSectionReader(f, 0, 1<<10))
	if err != nil {
		return p, err
	}
	if len(z.Extra) != 4+fieldSize || string(z.Extra[:2]) != fieldName {
		return p, errors.New("gt-record did not pack it")
	}
	_, err = binary.Decode(z.Extra[4:], binary.LittleEndian, &p)
	if err == nil && (p.Packed <= 0 || p.At < 0 || p.Size < p.At) {
		err = errors.New("its header makes no sense")
	}
	return p, err
}

// readHead returns the first line. Of a packed record it unpacks only the beginning.
func (o recordFile) readHead() (Session, error) {
	if o.packed == nil {
		return parseHead(o.f)
	}
	z, err := gzip.NewReader(io.NewSectionReader(o.f, 0, o.packed.Packed))
	if err != nil {
		return Session{}, err
	}
	front := make([]byte, min(maxHead, o.packed.Size))
	n, err := io.ReadFull(z, front)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && err != io.EOF {
		return Session{}, err
	}
	return parseHead(bytes.NewReader(front[:n]))
}

// readEnd returns the end of a record, which is the second member of a packed one.
func (o recordFile) readEnd() (recordEnd, error) {
	p := o.packed
	if p == nil {
		return scanEnd(o.f, o.size)
	}
	z, err := gzip.NewReader(io.NewSectionReader(o.f, p.Packed, 1<<62))
	if err != nil {
		return recordEnd{}, err
	}
	rest, err := io.ReadAll(io.LimitReader(z, p.Size-p.At+1))
	if err == nil && int64(len(rest)) != p.Size-p.At {
		err = errors.New("it is not as long as its header says")
	}
	if err != nil {
		return recordEnd{}, err
	}
	e, _ := findEnd(rest, p.At)
	return e, nil
}

// unpackTo writes a packed record into a file.
func (o recordFile) unpackTo(f *os.File) error {
	z, err := gzip.NewReader(bufio.NewReader(io.NewSectionReader(o.f, 0, 1<<62)))
	if err == nil {
		_, err = io.Copy(f, z)
	}
	return err
}

// forEachLine calls each for the lines of an open record from an offset on, until it returns false. A
// packed record is always unpacked from its start.
func (o recordFile) forEachLine(from int64, each func(line []byte, at int64) bool) (next int64, err error) {
	if o.packed == nil {
		return conversation.LinesWithin(o.f.Name(), from, maxLine, each, nil)
	}
	defer func() { err = atomicfile.Error("read", o.f.Name(), err) }()
	z, err := gzip.NewReader(bufio.NewReaderSize(io.NewSectionReader(o.f, 0, 1<<62), 256<<10))
	if err != nil {
		return from, err
	}
	if _, err := io.CopyN(io.Discard, z, from); err == io.EOF {
		return from, nil
	} else if err != nil {
		return from, err
	}
	r := bufio.NewReaderSize(z, 256<<10)
	var held []byte
	for at := from; ; {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			held = append(held[:0], line...)
			for errors.Is(err, bufio.ErrBufferFull) && len(held) <= maxLine {
				line, err = r.ReadSlice('\n')
				held = append(held, line...)
			}
			line = held
		}
		if err == io.EOF {
			return at, nil
		} else if err != nil {
			return at, err
		}
		begin := at
		if at += int64(len(line)); !each(line[:len(line)-1], begin) {
			return at, nil
		}
	}
}

// Pack packs a record, unless it was removed, is incomplete or has no mark at which to divide it.
func (s Store) Pack(id ID) (err error) {
	lock, err := s.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Remove()
	if ok, err := atomicfile.IsPresent(s.Path(id)); err != nil || !ok {
		return err
	}
	from, err := s.openRecord(id)
	if err != nil {
		return err
	}
	defer from.Close()
	end, err := from.readEnd()
	if err != nil || end.removedAs != "" || end.torn || end.mark == nil {
		return err
	}
	to := s.packedPath(id)
	if err := replaceFile(to, func(f *os.File) error { return writePacked(f, from.f, end) }); err != nil {
		return err
	}
	return atomicfile.Remove(s.Path(id))
}

// writePacked writes a record as two members, divided before its last mark. The field in the first header
// is filled in last, because it says where the second one begins.
func writePacked(to *os.File, from io.ReaderAt, end recordEnd) error {
	p := packedHeader{At: max(end.markAt-1, 0), Size: end.size} // with the line feed before the mark, which shows that the line is whole
	field := append([]byte(fieldName), fieldSize, 0)
	field = append(field, make([]byte, fieldSize)...)
	part := func(begin, size int64, extra []byte) error {
		z, err := gzip.NewWriterLevel(to, gzip.BestSpeed) // a higher level takes four times as long to save a tenth
		if err != nil {
			return err
		}
		z.Extra = extra
		_, err = io.Copy(z, io.NewSectionReader(from, begin, size))
		return errors.Join(err, z.Close())
	}
	if err := part(0, p.At, field); err != nil {
		return err
	}
	var err error
	if p.Packed, err = to.Seek(0, io.SeekCurrent); err != nil {
		return err
	}
	if err := part(p.At, p.Size-p.At, nil); err != nil {
		return err
	}
	at, err := binary.Append(nil, binary.LittleEndian, p)
	if err != nil {
		return err
	}
	_, err = to.WriteAt(at, fieldBegin+4)
	return err
}

// unpackInPlace writes <id>.jsonl from a packed record that will grow. The caller holds the lock.
func (s Store) unpackInPlace(id ID) error {
	from := s.packedPath(id)
	if ok, err := atomicfile.IsPresent(s.Path(id)); err != nil {
		return err
	} else if ok { // an earlier call ended before its last step
		return atomicfile.Remove(from)
	}
	if ok, err := atomicfile.IsPresent(from); err != nil || !ok {
		return err
	}
	o, err := s.openRecord(id)
	if err != nil {
		return err
	}
	defer o.Close()
	if err := replaceFile(s.Path(id), o.unpackTo); err != nil {
		return atomicfile.Error("unpack", from, err)
	}
	return atomicfile.Remove(from)
}

// OpenUnpacked opens the lines of a record. Those of a packed one are in a file without a name
// on the file system of dir.
func (s Store) OpenUnpacked(id ID, dir string) (*os.File, error) {
	o, err := s.openRecord(id)
	if err != nil || o.packed == nil {
		return o.f, err
	}
	defer o.Close()
	f, err := os.CreateTemp(dir, ".unpacked-")
	if err != nil {
		return nil, err
	}
	if err = o.unpackTo(f); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		f.Close()
		return nil, atomicfile.Error("unpack", s.packedPath(id), err)
	}
	return f, nil
}

func (s Store) packedPath(id ID) string { return s.Path(id) + ".gz" }

// PackOld packs the records that were not written to since a time.
func (s Store) PackOld(since time.Time) error {
	ids, err := s.IDs()
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		if info, err := os.Lstat(s.Path(id)); err == nil && info.ModTime().Before(since) {
			errs = append(errs, s.Pack(id))
		}
	}
	return errors.Join(errs...)
}
