package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gt/internal/testenv"
	"gt/lib/record"
	"gt/lib/relay/feed"
)

func noError(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func idOf(n int) record.ID { return record.ID(fmt.Sprintf("session-m0000%03d-abc%03d", n, n)) }

// mark is a line without which no record is packed.
const mark = `{"prev":"` + "0000000000000000000000000000000000000000000000000000000000000000" + `","kind":"read","read":{"source":"x","next":1}}` + "\n"

// TestHistory runs random histories of a host's records and their copies: records that grow,
// are torn, packed, forgotten, removed, set back; messages that are lost, late and doubled;
// kills and new lists on both sides. Once the two can talk, the copies are the records.
func TestHistory(t *testing.T) {
	testenv.SeedRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "mirror")
		noError(t, err)
		defer os.RemoveAll(root)
		store := record.Store{Sessions: filepath.Join(root, "sessions"), Contexts: filepath.Join(root, "context")}
		noError(t, store.Prepare())
		dir := filepath.Join(root, "peers", "a", "records")
		lists := 0
		source := func() *Source { lists++; return NewSource(store, fmt.Sprint("list", lists), root) }
		s := source()
		c, err := Open(dir)
		noError(t, err)
		var answers []Chunk
		which := func(t *rapid.T) record.ID { return idOf(rapid.IntRange(0, 4).Draw(t, "which")) }
		n := 0
		write := func(id record.ID, data string, flag int) {
			f, err := os.OpenFile(store.Path(id), flag|os.O_CREATE|os.O_WRONLY, 0o600)
			noError(t, err)
			_, err = f.WriteString(data)
			noError(t, errors.Join(err, f.Close()))
		}
		packed := func(id record.ID) bool { return strings.HasSuffix(store.File(id), ".gz") }
		list := func(lose func() bool) {
			noError(t, s.Scan())
			noError(t, c.Listed(s.Length()))
			for next, more := c.Unlisted(); more && !lose(); next, more = c.Unlisted() {
				noError(t, c.Listed(s.Page(next)))
			}
		}
		ask := func() bool {
			w, ok, err := c.Want()
			noError(t, err)
			if !ok {
				return false
			}
			ch, err := s.Answer("b", w)
			if err != nil && !ch.Unread {
				t.Fatal(err)
			}
			data, err := ch.Marshal()
			noError(t, err)
			ch, err = Unmarshal(data)
			noError(t, err)
			answers = append(answers, ch)
			return true
		}
		var backup []byte
		var backed record.ID
		t.Repeat(map[string]func(*rapid.T){
			"grow": func(t *rapid.T) {
				if id := which(t); !packed(id) {
					n++
					size := rapid.SampledFrom([]int{0, 10, 9000, 300_000}).Draw(t, "size")
					write(id, fmt.Sprintf(`{"n":%d,"text":"%s"}`+"\n", n, strings.Repeat("x", size+7*n)), os.O_APPEND)
				}
			},
			"torn": func(t *rapid.T) {
				if id := which(t); !packed(id) {
					write(id, `{"torn":`, os.O_APPEND)
				}
			},
			"pack": func(t *rapid.T) {
				if id := which(t); !packed(id) {
					write(id, "\n"+mark, os.O_APPEND)
					noError(t, store.Pack(id))
				}
			},
			"forgotten": func(t *rapid.T) {
				id := which(t)
				noError(t, os.RemoveAll(store.Path(id)+".gz"))
				write(id, "{\"kind\":\"session\"}\n{\"kind\":\"forgotten\"}\n", os.O_TRUNC)
			},
			"removed": func(t *rapid.T) {
				id := which(t)
				noError(t, errors.Join(os.RemoveAll(store.Path(id)), os.RemoveAll(store.Path(id)+".gz")))
			},
			"backup": func(t *rapid.T) { backed = which(t); backup, _ = os.ReadFile(store.Path(backed)) },
			"restore": func(t *rapid.T) {
				if backup != nil && !packed(backed) {
					write(backed, string(backup), os.O_TRUNC)
				}
			},
			"list":          func(t *rapid.T) { list(func() bool { return rapid.Bool().Draw(t, "lost") }) },
			"ask":           func(t *rapid.T) { ask() },
			"later":         func(*rapid.T) { c.AskOthersFirst() },
			"source killed": func(*rapid.T) { s = source() },
			"answer": func(t *rapid.T) {
				if len(answers) > 0 {
					_, err := c.Add(answers[rapid.IntRange(0, len(answers)-1).Draw(t, "answer")])
					if err != nil && !errors.Is(err, ErrPart) { // its host had another record then
						t.Fatal(err)
					}
				}
			},
			"go on": func(t *rapid.T) {
				if ask() {
					if ok, err := c.Add(answers[len(answers)-1]); !ok || err != nil && !errors.Is(err, ErrPart) {
						t.Fatal(ok, err)
					}
				}
			},
			"copies killed": func(t *rapid.T) {
				id := which(t)
				if info, err := os.Stat(filepath.Join(dir, string(id)+ext)); err == nil {
					noError(t, os.Truncate(filepath.Join(dir, string(id)+ext), info.Size()/2))
				}
				c, err = Open(dir)
				noError(t, err)
			},
		})
		for range 20 { // what was listed before an answer came may be old
			list(func() bool { return false })
			for range 1000 {
				if !ask() {
					break
				}
				if ok, err := c.Add(answers[len(answers)-1]); !ok || err != nil {
					t.Fatal(ok, err)
				}
			}
			s = source()
		}
		ids, err := store.IDs()
		noError(t, err)
		for _, id := range ids {
			f, err := store.Unpacked(id, root)
			noError(t, err)
			want, err := io.ReadAll(f)
			noError(t, errors.Join(err, f.Close()))
			want = want[:bytes.LastIndexByte(want, '\n')+1]
			got, _ := os.ReadFile(filepath.Join(dir, string(id)+ext))
			got = got[:bytes.LastIndexByte(got, '\n')+1] // a copy that was cut can end in a torn line, as a record can
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: the copy has %d bytes, the record %d", id, len(got), len(want))
			}
		}
		entries, _ := os.ReadDir(dir)
		if len(entries) > len(ids) || c.Lacking() {
			t.Fatalf("%d copies of %d records: %v", len(entries), len(ids), entries)
		}
		if left, _ := filepath.Glob(filepath.Join(root, ".unpacked-*")); len(left) > 0 {
			t.Fatal(left)
		}
	})
}

// TestHostile shows that a host cannot have more copied than is allowed, nor anything else
// written.
func TestHostile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	c, err := Open(dir)
	noError(t, err)
	for _, p := range []Page{
		{List: "l", Last: 1, Through: 1, Records: []Entry{{ID: "../../x", Size: 1}}},
		{List: "l", Last: 1, Through: 1, Records: []Entry{{ID: "session-x-../../y", Size: 1}}},
		{List: "l", Last: 1, Through: 1, Records: []Entry{{ID: idOf(1), Size: -2}}},
		{List: "l", Last: 1, Through: 2}, {List: "l", After: 2, Through: 1, Last: 3}, {List: "", Last: 1}, {List: strings.Repeat("l", 65)},
		{List: "l", Last: 1, Through: 1, Records: make([]Entry, pageSize+1)},
	} {
		if err := c.Listed(p); err == nil {
			t.Errorf("%+v was taken", p)
		}
	}
	for _, head := range []string{
		`{"id":"../x","size":1}`, `{"id":"session-x-../../y","size":1}`, `{"id":"session-m-abcdef","at":-1,"size":1}`,
		`{"id":"session-m-abcdef","at":5,"size":5}`, `{"id":"session-m-abcdef","at":9223372036854775807,"size":1}`, `[]`, ``,
	} {
		if ch, err := Unmarshal([]byte(head + "\nx\n")); err == nil {
			t.Errorf("%s became %+v", head, ch)
		}
	}
	if _, err := NewSource(record.Store{Sessions: t.TempDir()}, "l", dir).Answer("b", Want{ID: "../x"}); err == nil {
		t.Error("../x was read")
	}

	// The latest records are copied, as many as fit.
	p := Page{List: "m", Through: 12, Last: 12}
	for n := range 12 {
		p.Records = append(p.Records, Entry{ID: idOf(n), Size: MaxRecord, Changed: int64(n)})
	}
	p.Records[11].Size++
	err = c.Listed(p)
	noError(t, err)
	if w, _, err := c.Want(); c.Left() != 5 || len(c.lacking) != 7 || w.ID != idOf(10) || err != nil {
		t.Errorf("%d are left out, %d lack, first %s, %v", c.Left(), len(c.lacking), w.ID, err)
	}
	// Of a record, no more comes than was counted.
	err = c.Listed(Page{List: "n", Through: 1, Last: 1, Records: []Entry{{ID: idOf(1), Size: 3}}})
	noError(t, err)
	w, _, err := c.Want()
	noError(t, err)
	f, err := os.Open(os.DevNull)
	noError(t, err)
	defer f.Close()
	sum, err := feed.Check(f, 0)
	noError(t, err)
	if ok, err := c.Add(Chunk{ID: w.ID, Size: MaxRecord, Check: sum, Data: []byte("{}\n{}\n{}\n")}); !ok || err != nil {
		t.Error(ok, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, string(w.ID)+ext)); err != nil || string(data) != "{}\n" {
		t.Errorf("%q, %v", data, err)
	}
	// What was not asked for is not taken.
	for _, ch := range []Chunk{{ID: w.ID, For: 3, At: 3, Size: 6, Data: []byte("{}\n")}, {ID: idOf(2), Size: 6, Check: sum, Data: []byte("{}\n")}} {
		if ok, err := c.Add(ch); ok || err != nil {
			t.Error(ok, err)
		}
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	for n := 0; ; n++ {
		p := Page{List: "o", After: int64(n * pageSize), Through: int64((n + 1) * pageSize), Last: 1 << 40}
		for i := range pageSize {
			p.Records = append(p.Records, Entry{ID: record.ID(fmt.Sprintf("session-%d-abcdef", n*pageSize+i)), Size: 1})
		}
		if err := c.Listed(p); errors.Is(err, ErrMany) {
			break
		} else if err != nil || len(c.listed) > MaxRecords {
			t.Fatal(len(c.listed), err)
		}
	}
	if err := c.Listed(Page{Off: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil || c.HasCopies() {
		t.Error("the copies are still there")
	}
}
