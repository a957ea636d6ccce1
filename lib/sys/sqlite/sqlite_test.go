package sqlite

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

	"github.com/ncruces/go-sqlite3"
)

// The files in testdata are SQLite's.

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path)
	testenv.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// copyOf copies a database of testdata, with its log, to where it can be changed.
func copyOf(t testing.TB, name string) string {
	path := filepath.Join(t.TempDir(), name)
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join("testdata", name+suffix))
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		testenv.NoError(t, os.WriteFile(path+suffix, data, 0o600))
	}
	return path
}

func texts(t *testing.T, db *DB, table, column string) (all []string) {
	t.Helper()
	testenv.NoError(t, db.Scan(table, func(r Row) bool {
		all = append(all, r.Text(column))
		return true
	}))
	return all
}

func TestRows(t *testing.T) {
	db := open(t, "testdata/plain.db")
	if got := db.Columns("NOTES"); !slices.Equal(got, []string{"the id", "session_id", "size, in bytes", "data", "n", "late"}) {
		t.Errorf("columns %q", got)
	}
	var got []string
	testenv.NoError(t, db.SelectWhere("notes", "session_id", "ses_1", func(r Row) bool {
		got = append(got, fmt.Sprintf("%s %d %d %s %s", r.Text("the id"), r.Int("SIZE, in bytes"), len(r.Text("data")), r.Text("n"), r.Text("late")+r.Text("nothing")))
		return true
	}))
	want := []string{"new 0 0  mine", "id 01 1 18 -29 it's", "id 08 8 144 -22 it's", "id 22 22 396 -8 it's",
		"id 29 29 522 -1 it's", "id 36 36 648 6 it's", "id 43 43 774 13 it's", "id 57 57 1026 27 it's"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	n := 0
	testenv.NoError(t, db.Scan("numbered", func(r Row) bool {
		if r.Int("id") != int64(n)*1000 || r.Text("t") != strings.Repeat("é", n) {
			t.Errorf("row %d: %d %q", n, r.Int("id"), r.Text("t"))
		}
		n++
		return n < 50
	}))
	if n != 50 {
		t.Errorf("%d rows", n)
	}
	for column, text := range map[string]string{"the id": "id 07", "data": "x", "t": ""} {
		n := 0
		err := db.SelectWhere("notes", column, text, func(Row) bool { n++; return true })
		if wrong := column == "t"; wrong != (err != nil) || (n == 1) != (column == "the id") {
			t.Errorf("%s: %d rows, %v", column, n, err)
		}
	}
	if err := db.Scan("nothing", nil); err == nil || !strings.Contains(err.Error(), "it has no table 'nothing'") {
		t.Error(err)
	}
}

// A log counts up to its last commit, and up to where somebody damaged it.
func TestLog(t *testing.T) {
	if got := texts(t, open(t, "testdata/wal.db"), "a", "b"); !slices.Equal(got, []string{"new", "second"}) {
		t.Errorf("%q", got)
	}
	path := copyOf(t, "wal.db")
	log, err := os.ReadFile(path + "-wal")
	testenv.NoError(t, err)
	for what, damage := range map[string]func([]byte) []byte{
		"a bit":        func(b []byte) []byte { b[200] ^= 1; return b },
		"torn":         func(b []byte) []byte { return b[:900] },
		"another salt": func(b []byte) []byte { b[17] ^= 1; return b },
		"empty":        func(b []byte) []byte { return nil },
	} {
		testenv.NoError(t, os.WriteFile(path+"-wal", damage(bytes.Clone(log)), 0o600))
		if got := texts(t, open(t, path), "a", "b"); !slices.Equal(got, []string{"old"}) {
			t.Errorf("%s: %q", what, got)
		}
	}
}

// To read leaves no trace: no file is made, none is changed, none is needed that
// can be written.
func TestNoTrace(t *testing.T) {
	path := copyOf(t, "wal.db")
	dir := filepath.Dir(path)
	before := tree(t, dir)
	testenv.NoError(t, os.Chmod(path, 0o400))
	testenv.NoError(t, os.Chmod(dir, 0o500))
	defer os.Chmod(dir, 0o700)
	texts(t, open(t, path), "a", "b")
	testenv.NoError(t, os.Chmod(dir, 0o700))
	if after := tree(t, dir); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func tree(t *testing.T, dir string) (all string) {
	entries, err := os.ReadDir(dir)
	testenv.NoError(t, err)
	for _, e := range entries {
		info, err := e.Info()
		testenv.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		testenv.NoError(t, err)
		all += fmt.Sprintln(e.Name(), info.Size(), info.ModTime(), len(data))
	}
	return all
}

// A database that changes each time that it is read is given up, and what is
// open is closed.
func TestBusy(t *testing.T) {
	path := copyOf(t, "plain.db")
	db := open(t, path)
	n := 0
	err := db.View(func() error {
		n++
		data, err := os.ReadFile(path)
		testenv.NoError(t, err)
		data[27]++ // the count of changes
		testenv.NoError(t, os.WriteFile(path, data, 0o600))
		return nil
	})
	if !errors.Is(err, ErrBusy) || n != attempts || !strings.HasPrefix(err.Error(), "cannot read '"+path+"': ") {
		t.Errorf("%d times: %v", n, err)
	}
	err = db.View(func() error { return errors.New("mine") })
	if err == nil || err.Error() != "mine" {
		t.Error(err)
	}
	// What is replaced by another file is read from that.
	testenv.NoError(t, os.Rename(copyOf(t, "wal.db"), path))
	if err := db.View(func() error { return nil }); err != nil || db.Columns("a") == nil {
		t.Error(db.Columns("a"), err)
	}
}

func TestNoDatabase(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"text":  strings.Repeat("no database at all ", 100),
		"short": "SQLite format 3\x00",
		"zeros": "SQLite format 3\x00" + strings.Repeat("\x00", 4096),
	} {
		path := filepath.Join(dir, name)
		testenv.NoError(t, os.WriteFile(path, []byte(data), 0o600))
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "cannot read '"+path+"': it is ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := filepath.Join(dir, "empty")
	testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	if db := open(t, path); len(db.columns) != 0 {
		t.Error("an empty file has tables")
	}
	if _, err := Open(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if _, err := Open(filepath.Join(dir, "folder")); err == nil {
		t.Error("a folder is read")
	}
}

// The kinds of pages in a tree.
const (
	indexInner = 2
	tableInner = 5
	tableLeaf  = 13
)

// A tree that bites its tail ends.
func TestCircle(t *testing.T) {
	path := copyOf(t, "plain.db")
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	// Each inner page leads to itself, and to nothing else: a way for each of its
	// cells, on each floor.
	for at := 512; at < len(data); at += 512 {
		if data[at] != tableInner && data[at] != indexInner {
			continue
		}
		self := []byte{0, 0, byte((at/512 + 1) >> 8), byte(at/512 + 1)}
		copy(data[at+8:], self)
		for i := range int(data[at+4]) {
			cell := data[at+12+2*i:]
			copy(data[at+(int(cell[0])<<8|int(cell[1])):], self)
		}
	}
	testenv.NoError(t, os.WriteFile(path, data, 0o600))
	db := open(t, path)
	for table := range db.columns {
		if err := db.Scan(table, func(Row) bool { return true }); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", table, err)
		}
	}
	if err := db.SelectWhere("notes", "session_id", "zzz", func(Row) bool { return true }); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// A small file can claim to have more rows than anybody can read.
func TestMaze(t *testing.T) {
	path := copyOf(t, "plain.db")
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	root := 0
	db := open(t, path)
	testenv.NoError(t, db.query(fewSteps, "SELECT rootpage FROM sqlite_schema WHERE name = 'notes'", nil, func(s *sqlite3.Stmt) bool {
		root = s.ColumnInt(0)
		return true
	}))
	db.Close()
	first := len(data)/512 + 1
	floor := func(next int) []byte { // an inner page of 40 ways to the same place
		page := make([]byte, 512)
		page[0], page[4], page[10], page[11] = tableInner, 40, byte(next>>8), byte(next)
		for i := range 40 {
			cell := 100 + 5*i
			page[12+2*i], page[13+2*i] = byte(cell>>8), byte(cell)
			page[cell+2], page[cell+3], page[cell+4] = byte(next>>8), byte(next), 127
		}
		return page
	}
	copy(data[(root-1)*512:], floor(first))
	for n := range 10 {
		data = append(data, floor(first+n+1)...)
	}
	leaf := make([]byte, 512)
	leaf[0] = tableLeaf
	data = append(data, leaf...)
	data[30], data[31] = byte(len(data)/512>>8), byte(len(data)/512)
	testenv.NoError(t, os.WriteFile(path, data, 0o600))
	if err := open(t, path).Scan("notes", func(Row) bool { return true }); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// Whatever a file says, it is read in bounded time and memory, or refused. The
// edits are of four bytes: where, and what; of the log where the first bit is set.
func FuzzOpen(f *testing.F) {
	type files struct{ main, log []byte }
	var all []files
	for _, name := range []string{"plain.db", "wal.db"} {
		main, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		log, _ := os.ReadFile(filepath.Join("testdata", name+"-wal"))
		all = append(all, files{main, log})
	}
	for _, at := range []byte{16, 20, 28, 56, 100, 103, 108} {
		f.Add(false, []byte{0, 0, at, 0xff, 0, 2, 8, 0})
		f.Add(true, []byte{0, 0, at, 0xff, 0x80, 0, at, 1})
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, second bool, edits []byte) {
		chosen := all[0]
		if second {
			chosen = all[1]
		}
		main, log := bytes.Clone(chosen.main), bytes.Clone(chosen.log)
		for ; len(edits) >= 4; edits = edits[4:] {
			into, at := main, int(edits[0]&0x7f)<<16|int(edits[1])<<8|int(edits[2])
			if edits[0]&0x80 != 0 {
				into = log
			}
			if len(into) > 0 {
				into[at%len(into)] = edits[3]
			}
		}
		path := filepath.Join(dir, fmt.Sprint(os.Getpid(), ".db"))
		testenv.NoError(t, os.WriteFile(path, main, 0o600))
		testenv.NoError(t, os.WriteFile(path+"-wal", log, 0o600))
		db, err := Open(path)
		if err != nil {
			return
		}
		defer db.Close()
		for table, columns := range db.columns {
			db.Scan(table, func(r Row) bool {
				for _, c := range columns {
					r.Int(c)
					r.Text(c)
				}
				return true
			})
			for _, c := range columns {
				db.SelectWhere(table, c, "ses_1", func(r Row) bool { r.Text(c); return true })
			}
		}
	})
}

// client opens a database as a client does, which writes to it.
func client(t *testing.T, path string, pragmas ...string) *sqlite3.Conn {
	t.Helper()
	db, err := sqlite3.Open(path)
	testenv.NoError(t, err)
	t.Cleanup(func() { db.Close() })
	for _, p := range pragmas {
		testenv.NoError(t, db.Exec("PRAGMA "+p))
	}
	return db
}

// What is in the log and was not committed is not read, nor is what a log holds
// of the time before it began anew.
func TestUncommitted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := client(t, path, "journal_mode = wal", "wal_autocheckpoint = 0", "cache_size = 5")
	read := func(want ...string) {
		t.Helper()
		if got := texts(t, open(t, path), "a", "b"); !slices.Equal(got, want) {
			t.Errorf("%d rows, want %q", len(got), want)
		}
	}
	testenv.NoError(t, db.Exec("CREATE TABLE a (b); INSERT INTO a VALUES ('committed'); BEGIN"))
	before := size(t, path+"-wal")
	for range 400 { // more than the cache holds, so that it goes to the log
		testenv.NoError(t, db.Exec("INSERT INTO a VALUES ('"+strings.Repeat("x", 3000)+"')"))
	}
	if size(t, path+"-wal") == before {
		t.Fatal("nothing reached the log")
	}
	read("committed")
	testenv.NoError(t, db.Exec("ROLLBACK; INSERT INTO a VALUES ('later')"))
	read("committed", "later")
	testenv.NoError(t, db.Exec("PRAGMA wal_checkpoint(RESTART); INSERT INTO a VALUES ('anew')"))
	read("committed", "later", "anew")
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	testenv.NoError(t, err)
	return info.Size()
}

// A reader that a checkpoint, or a writer without a log, comes in between of
// begins again, and what it then has is one state.
func TestChangedWhileRead(t *testing.T) {
	for _, mode := range []string{"wal", "delete"} {
		path := filepath.Join(t.TempDir(), "x.db")
		db := client(t, path, "journal_mode = "+mode, "wal_autocheckpoint = 0")
		testenv.NoError(t, db.Exec("CREATE TABLE a (b); CREATE TABLE c (b); INSERT INTO a VALUES ('1'); INSERT INTO c VALUES ('1'); PRAGMA wal_checkpoint(TRUNCATE)"))
		ours := open(t, path)
		times := 0
		var a, c []string
		testenv.NoError(t, ours.View(func() error {
			times++
			a = texts(t, ours, "a", "b")
			if times == 1 {
				testenv.NoError(t, db.Exec("UPDATE a SET b = '2'; UPDATE c SET b = '2'; PRAGMA wal_checkpoint(PASSIVE)"))
			}
			c = texts(t, ours, "c", "b")
			return nil
		}))
		if times != 2 || !slices.Equal(a, []string{"2"}) || !slices.Equal(c, a) {
			t.Errorf("%s: %d times; %q and %q", mode, times, a, c)
		}
	}
}

// What is appended to the log while somebody reads does not disturb it.
func TestAppendedWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := client(t, path, "journal_mode = wal", "wal_autocheckpoint = 0")
	testenv.NoError(t, db.Exec("CREATE TABLE a (b); INSERT INTO a VALUES ('1')"))
	ours := open(t, path)
	read := func(want string) func() error {
		return func() error {
			if got := texts(t, ours, "a", "b"); !slices.Equal(got, []string{want}) {
				t.Errorf("%q, want %s", got, want)
			}
			return nil
		}
	}
	times := 0
	testenv.NoError(t, ours.View(func() error {
		times++
		testenv.NoError(t, db.Exec("UPDATE a SET b = '2'"))
		return read("1")()
	}))
	if times != 1 {
		t.Errorf("%d times", times)
	}
	testenv.NoError(t, ours.View(read("2"))) // who begins to read sees it
}

// A row that is too long is passed over, and so is what is computed.
func TestLongRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := client(t, path)
	testenv.NoError(t, db.Exec(fmt.Sprintf("CREATE TABLE a (b, c AS (b || 'x') STORED, d AS (b || 'y')); INSERT INTO a (b) VALUES ('1'), (zeroblob(%d)), ('2'), (zeroblob(%d))", MaxRow+1, MaxRow)))
	ours := open(t, path)
	var got []int
	testenv.NoError(t, ours.Scan("a", func(r Row) bool {
		got = append(got, len(r.Text("b")))
		return r.Text("c")+r.Text("d") == ""
	}))
	if !slices.Equal(got, []int{1, 1, MaxRow}) {
		t.Errorf("rows of %d bytes", got)
	}
}

// What a database runs when it is asked is no table: it may never end.
func TestViews(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := client(t, path)
	testenv.NoError(t, db.Exec("CREATE TABLE a (b); CREATE VIEW v AS WITH RECURSIVE r(b) AS (SELECT 1 UNION ALL SELECT b + 1 FROM r) SELECT b FROM r WHERE b < 0"))
	ours := open(t, path)
	if err := ours.Scan("v", func(Row) bool { return true }); ours.Columns("v") != nil || err == nil || !strings.Contains(err.Error(), "it has no table 'v'") {
		t.Error(ours.Columns("v"), err)
	}
}

// A definition can be written many times in a small file: of tables that take longer the
// more there are, and of columns that take memory.
func TestManyDefinitions(t *testing.T) {
	defer func(before int64) { maxMemory = before }(maxMemory)
	maxMemory = 16 << 20
	wide := "a"
	for i := range 1999 {
		wide += fmt.Sprintf(",a%d", i)
	}
	for what, c := range map[string]struct {
		tables  int
		columns string
		err     error
	}{
		"some": {5_000, "a", nil},
		"many": {20_000, "a", ErrCorrupt},
		"wide": {500, wide, errMemory},
	} {
		if !testenv.InSample(what, 6) {
			continue
		}
		path := filepath.Join(t.TempDir(), "x.db")
		db := client(t, path)
		testenv.NoError(t, db.Exec(fmt.Sprintf(`CREATE TABLE t (a); PRAGMA writable_schema = ON; WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < %d)
			INSERT INTO sqlite_schema SELECT 'table', 't'||n, 't'||n, 2, 'CREATE TABLE t'||n||'(%s)' FROM r`, c.tables, c.columns)))
		testenv.NoError(t, db.Close())
		ours, err := Open(path)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			ours.Close()
		}
	}
}
