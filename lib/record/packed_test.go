package record

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/conversation"
)

// A packed record gives the same answers, and grows when its session goes on.
func TestPack(t *testing.T) {
	for _, turns := range []int{1, 40, 4000} { // within one read of the end, and more
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			d := newDesk(t)
			var b strings.Builder
			for i := range turns {
				fmt.Fprintf(&b, `[{"Kind":"prompt","Text":"ask %d"},{"Kind":"answer","Text":"%s"}]`+"\n", i, strings.Repeat("word ", i%50))
			}
			d.write(b.String())
			id := d.sync().ID
			whole, said := d.lines(id), d.said(id)
			before, err := d.store.Info(id)
			testenv.NoError(t, err)
			testenv.NoError(t, d.store.Pack(id))
			if _, err := os.Lstat(d.store.Path(id)); !errors.Is(err, os.ErrNotExist) {
				t.Fatal("it stands there still")
			}
			after, err := d.store.Info(id)
			testenv.NoError(t, err)
			if after.Path != d.store.packedPath(id) {
				t.Errorf("it is said to be in %s", after.Path)
			}
			after.Path, after.Size = before.Path, before.Size
			if after != before {
				t.Errorf("%+v, and before it was packed %+v", after, before)
			}
			if got := d.lines(id); !bytes.Equal(got, whole) {
				t.Errorf("its lines are others:\n%s", got)
			}
			d.verify(id)
			if all, err := d.store.IDs(); err != nil || !slices.Equal(all, []ID{id}) {
				t.Errorf("%v, %v", all, err)
			}
			f := conversation.File{Path: after.Path}
			f.Path = d.store.File(id)
			var read []string
			next, err := Reader{}.Read(f, conversation.Options{}, func(e conversation.Entry) bool {
				read = append(read, e.Text)
				return true
			})
			if err != nil || next != int64(len(whole)) || !slices.Equal(read, said) {
				t.Errorf("%d entries up to %d of %d, %v", len(read), next, len(whole), err)
			}
			if m, err := (Reader{}).Metadata(f); err != nil || m.ID != "4f2c" || m.CWD != "/work" {
				t.Errorf("%+v, %v", m, err)
			}

			// It is unpacked only if something is new.
			if done := d.sync(); done.Lines != 0 || d.store.File(id) != d.store.packedPath(id) {
				t.Errorf("%+v", done)
			}
			d.write(b.String() + `[{"Kind":"prompt","Text":"later"}]` + "\n")
			if done := d.sync(); done.Lines != 1 || done.ID != id {
				t.Errorf("%+v", done)
			}
			if got := d.lines(id); !bytes.HasPrefix(got, whole) {
				t.Error("what stood there is changed")
			}
			if got := d.said(id); got[len(got)-1] != "later" {
				t.Errorf("%q", got[len(got)-1])
			}
			d.verify(id)

			// A packed record is removed, too.
			testenv.NoError(t, d.store.Pack(id))
			if _, err := d.store.Remove(id, Forgotten, epoch); err != nil {
				t.Fatal(err)
			}
			left, _ := filepath.Glob(filepath.Join(d.store.Sessions, "session-*"))
			if !slices.Equal(left, []string{d.store.Path(id)}) {
				t.Errorf("%q", left)
			}
		})
	}
}

// Who ends at a line goes on behind it, in a packed record as well.
func TestPackedNext(t *testing.T) {
	d := newDesk(t)
	d.write(`[{"Kind":"prompt","Text":"one"},{"Kind":"answer","Text":"two"}]` + "\n")
	id := d.sync().ID
	stop := func() int64 {
		next, err := d.store.ForEachLine(id, 0, func([]byte, int64) bool { return false })
		testenv.NoError(t, err)
		return next
	}
	plain := stop()
	testenv.NoError(t, d.store.Pack(id))
	if packed := stop(); packed != plain || plain == 0 {
		t.Errorf("the next line begins at %d, in the packed record at %d", plain, packed)
	}
}

// lines returns the bytes of a record.
func (d *desk) lines(id ID) (all []byte) {
	d.t.Helper()
	if _, err := d.store.ForEachLine(id, 0, func(line []byte, at int64) bool {
		if at != int64(len(all)) {
			d.t.Errorf("a line stands at %d, not %d", at, len(all))
		}
		all = append(append(all, line...), '\n')
		return true
	}); err != nil {
		d.t.Fatal(err)
	}
	return all
}

// A damaged packed record is an error that names the file.
func TestPackDamaged(t *testing.T) {
	d := newDesk(t)
	d.write(`[{"Kind":"prompt","Text":"one"}]` + "\n")
	id := d.sync().ID
	testenv.NoError(t, d.store.Pack(id))
	path := d.store.packedPath(id)
	good, err := os.ReadFile(path)
	testenv.NoError(t, err)
	damaged := [][]byte{nil, []byte("no gzip"), good[:30], good[:len(good)-20]}
	for i := range 4 {
		bad := bytes.Clone(good)
		bad[fieldBegin+4+8*min(i, 2)+i%2] ^= 0xff
		damaged = append(damaged, bad)
	}
	for i, data := range damaged {
		testenv.NoError(t, os.WriteFile(path, data, 0o600))
		_, ierr := d.store.Info(id)
		_, _, _, verr := d.store.Verify(id, nil)
		if ierr == nil && verr == nil {
			t.Errorf("damage %d is not seen", i)
		}
		for _, err := range []error{ierr, verr} {
			if err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("damage %d: %v", i, err)
			}
		}
	}
}

// With the seal from a log, Verify notices that lines were cut off the end.
func TestSeal(t *testing.T) {
	d := newDesk(t)
	d.write(`[{"Kind":"prompt","Text":"one"}]` + "\n")
	id := d.sync().ID
	early, err := d.store.Seal(id)
	testenv.NoError(t, err)
	d.write(`[{"Kind":"prompt","Text":"one"}]` + "\n" + `[{"Kind":"prompt","Text":"two"}]` + "\n")
	d.sync()
	late, err := d.store.Seal(id)
	testenv.NoError(t, err)
	for _, at := range []Seal{early, late} {
		if _, _, _, err := d.store.Verify(id, &at); err != nil {
			t.Error(err)
		}
	}
	var fault *Fault
	other := early
	other.Digest = late.Digest
	if _, _, _, err := d.store.Verify(id, &other); !errors.As(err, &fault) {
		t.Errorf("of another line: %v", err)
	}
	testenv.NoError(t, os.Truncate(d.store.Path(id), early.Size))
	d.verify(id)
	if _, _, _, err := d.store.Verify(id, &late); !errors.As(err, &fault) || fault.Line != 4 {
		t.Errorf("cut: %v", err)
	}
	if _, err := d.store.Remove(id, Forgotten, epoch); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := d.store.Verify(id, &late); err != nil {
		t.Errorf("removed: %v", err)
	}
}
