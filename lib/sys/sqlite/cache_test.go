package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"
)

// A database of gt's own has what it was made with, also after a copy of it was changed.
// Whatever byte of it is changed, and wherever it is cut off, a query fails or has the
// same result.
func TestCache(t *testing.T) {
	testenv.Sample(t, 3)
	path := filepath.Join(t.TempDir(), "own")
	f, err := os.Create(path)
	testenv.NoError(t, err)
	err = errors.Join(Make(f, func(o *Cache) error {
		err := o.Exec("CREATE TABLE t(n INTEGER, name TEXT)")
		for n := range int64(500) {
			err = errors.Join(err, o.Exec("INSERT INTO t VALUES (?, ?)", n, fmt.Sprint("name ", n)))
		}
		return errors.Join(err, o.Exec("CREATE UNIQUE INDEX i ON t(n)"))
	}), Make(f, func(o *Cache) error {
		return o.Exec("INSERT OR REPLACE INTO t VALUES (?, ?)", int64(7), "another")
	}), f.Close())
	testenv.NoError(t, err)
	ask := func() (all string, err error) {
		o := OpenCache(path, 0)
		if o == nil {
			return "", ErrCorrupt
		}
		defer o.Close()
		err = o.Query(func(v Values) { all += fmt.Sprint(v.Int(0), v.Text(1), " ") }, "SELECT n, name FROM t WHERE n < ? ORDER BY n", int64(9))
		return all, err
	}
	want, err := ask()
	if err != nil || want != "0name 0 1name 1 2name 2 3name 3 4name 4 5name 5 6name 6 7another 8name 8 " {
		t.Fatal(want, err)
	}
	whole, err := os.ReadFile(path)
	testenv.NoError(t, err)
	failed := 0
	for at := 0; at < len(whole); at += 53 {
		other := append([]byte(nil), whole...)
		other[at] ^= 4
		for _, data := range [][]byte{other, whole[:at]} {
			testenv.NoError(t, os.WriteFile(path, data, 0o600))
			if got, err := ask(); err != nil {
				failed++
			} else if got != want {
				t.Fatalf("at %d: %q", at, got)
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was found")
	}
}
