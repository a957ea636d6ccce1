package mirror

import (
	"bytes"
	"encoding/json"
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
		source := func() *Source { return NewSource(store, root) }
		s := source()
		c, err := Open(dir)
		noError(t, err)
		var answers []feed.Chunk // to the latest question
		which := func(t *rapid.T) record.ID { return idOf(rapid.IntRange(0, 4).Draw(t, "which")) }
		n := 0
		write := func(id record.ID, data string, flag int) {
			f, err := os.OpenFile(store.Path(id), flag|os.O_CREATE|os.O_WRONLY, 0o600)
			noError(t, err)
			_, err = f.WriteString(data)
			noError(t, errors.Join(err, f.Close()))
		}
		packed := func(id record.ID) bool { return strings.HasSuffix(store.File(id), ".gz") }
		list := func() {
			noError(t, s.Scan())
			noError(t, c.SetHead(s.Head()))
		}
		ask := func() bool {
			w, ok, err := c.Want()
			noError(t, err)
			if !ok {
				return false
			}
			f, done, err := s.Open("b", record.ID(w.Name))
			ch := feed.Chunk{Name: w.Name, For: w.From, None: true}
			if err == nil {
				ch, err = feed.Read(f, w, true)
				done()
				noError(t, err)
			}
			data, err := ch.Marshal()
			noError(t, err)
			ch, err = feed.Unmarshal(data)
			noError(t, err)
			answers = []feed.Chunk{ch}
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
			"list": func(*rapid.T) { list() },
			"list lost": func(*rapid.T) {
				noError(t, os.RemoveAll(s.listPath()))
				s = source()
			},
			"list torn": func(*rapid.T) {
				for _, path := range []string{s.listPath(), c.listPath()} {
					if info, err := os.Stat(path); err == nil {
						noError(t, os.Truncate(path, info.Size()*2/3))
					}
				}
				s = source()
				c, err = Open(dir)
				noError(t, err)
			},
			"ask":           func(t *rapid.T) { ask() },
			"later":         func(*rapid.T) { c.AskOthersFirst() },
			"source killed": func(*rapid.T) { s = source() },
			"answer": func(t *rapid.T) {
				if len(answers) > 0 {
					err := c.AddChunk(answers[0])
					if answers = nil; err != nil && !errors.Is(err, feed.ErrChunk) { // the copy had changed
						t.Fatal(err)
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
			list()
			for range 1000 {
				if !ask() {
					break
				}
				noError(t, c.AddChunk(answers[0]))
			}
			s = source()
		}
		ids, err := store.IDs()
		noError(t, err)
		for _, id := range ids {
			f, err := store.OpenUnpacked(id, root)
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
		if len(entries) > len(ids) || c.IsIncomplete() {
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
	list := func(entries ...any) error { // replaces the list
		t.Helper()
		var text []byte
		for _, e := range entries {
			line, ok := e.(string)
			if !ok {
				data, err := json.Marshal(e)
				noError(t, err)
				line = string(data)
			}
			text = append(append(text, line...), '\n')
		}
		ch := feed.Chunk{Size: int64(len(text))}
		noError(t, c.SetHead(feed.Head{Size: 1 << 40}))
		for ch.For = 1; len(text) > 0; ch.For = ch.At {
			ch.Data = text[:min(len(text), 100_000)]
			if ch.At > 0 {
				sum, err := feed.PrefixSumOf(c.listPath()+".part", ch.At)
				noError(t, err)
				ch.Before = sum
			}
			if err := c.AddChunk(ch); err != nil {
				return err
			}
			text, ch.At = text[len(ch.Data):], ch.At+int64(len(ch.Data))
		}
		return nil
	}
	noError(t, list(Entry{ID: "../../x", Size: 1}, Entry{ID: "session-x-../../y", Size: 1}, Entry{ID: idOf(1), Size: -2}, "x", "[]", `{"id":"session-m`))
	if c.IsIncomplete() || len(c.listed) > 0 {
		t.Errorf("%v is listed", c.listed)
	}
	if _, _, err := NewSource(record.Store{Sessions: t.TempDir()}, dir).Open("b", "../x"); err == nil {
		t.Error("../x was read")
	}

	// The latest records are copied, as many as fit.
	var all []any
	for n := range 12 {
		all = append(all, Entry{ID: idOf(n), Size: MaxRecord + int64(n/11), Changed: int64(n)})
	}
	noError(t, list(all...))
	if w, _, err := c.Want(); c.CountLeftOut() != 5 || len(c.incomplete) != 7 || w.Name != string(idOf(10)) || err != nil {
		t.Errorf("%d are left out, %d lack, first %s, %v", c.CountLeftOut(), len(c.incomplete), w.Name, err)
	}
	// Of a record, no more comes than was counted.
	noError(t, list(Entry{ID: idOf(1), Size: 3}))
	w, _, err := c.Want()
	noError(t, err)
	noError(t, c.AddChunk(feed.Chunk{Name: w.Name, Size: MaxRecord, Data: []byte("{}\n{}\n{}\n")}))
	if data, err := os.ReadFile(filepath.Join(dir, w.Name+ext)); err != nil || string(data) != "{}\n" {
		t.Errorf("%q, %v", data, err)
	}
	// What is not listed is not taken.
	noError(t, c.AddChunk(feed.Chunk{Name: string(idOf(2)), Size: 6, Data: []byte("{}\n")}))
	noError(t, c.AddChunk(feed.Chunk{Name: "../x", Size: 6, Data: []byte("{}\n")}))
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
	all = nil
	for n := range MaxRecords + 1 {
		all = append(all, Entry{ID: record.ID(fmt.Sprintf("session-%d-abcdef", n)), Size: 1})
	}
	if err := list(all...); !errors.Is(err, ErrMany) || len(c.listed) > MaxRecords {
		t.Error(len(c.listed), err)
	}
	noError(t, c.Remove())
	if _, err := os.Stat(dir); err == nil || c.HasCopies() {
		t.Error("the copies are still there")
	}
}

// TestUnreadableList shows that a list that its host cannot read just now changes nothing here: all
// copies stay, and the list goes on where it was.
func TestUnreadableList(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "records")
	c, err := Open(dir)
	noError(t, err)
	list := fmt.Appendf(nil, `{"id":%q,"size":3}`+"\n", idOf(1))
	noError(t, c.SetHead(feed.Head{Size: int64(len(list))}))
	noError(t, c.AddChunk(feed.Chunk{Size: int64(len(list)), Data: list}))
	noError(t, c.AddChunk(feed.Chunk{Name: string(idOf(1)), Size: 3, Data: []byte("{}\n")}))
	noError(t, c.SetHead(feed.Head{Size: int64(2 * len(list))}))
	want, _, err := c.Want()
	noError(t, err)
	noError(t, c.AddChunk(feed.Chunk{Name: want.Name, For: want.From, None: true}))
	again, ok, err := c.Want()
	if want.Name != "" || want.From != int64(len(list)) || again != want || !ok || err != nil {
		t.Errorf("after %+v it wants %+v, %v, %v", want, again, ok, err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, string(idOf(1))+ext)); err != nil || string(data) != "{}\n" || !c.HasCopies() {
		t.Errorf("the copy is %q, %v", data, err)
	}
}

// TestSameSize shows that a record that was replaced by one of its size is copied again: its tail
// is another.
func TestSameSize(t *testing.T) {
	c, err := Open(filepath.Join(t.TempDir(), "records"))
	noError(t, err)
	list := fmt.Appendf(nil, `{"id":%q,"size":3}`+"\n", idOf(1))
	noError(t, c.SetHead(feed.Head{Size: int64(len(list))}))
	noError(t, c.AddChunk(feed.Chunk{Size: int64(len(list)), Data: list}))
	noError(t, c.AddChunk(feed.Chunk{Name: string(idOf(1)), Size: 3, Data: []byte("{}\n")}))
	if want, ok, err := c.Want(); ok || err != nil {
		t.Fatalf("it wants %+v, %v", want, err)
	}
	more := fmt.Appendf(nil, `{"id":%q,"size":3,"tail":"another"}`+"\n", idOf(1))
	noError(t, c.SetHead(feed.Head{Size: int64(len(list) + len(more))}))
	want, _, err := c.Want()
	noError(t, err)
	noError(t, c.AddChunk(feed.Chunk{Name: want.Name, For: want.From, At: want.From, Before: want.Check, Size: int64(len(list) + len(more)), Data: more}))
	if want, ok, err := c.Want(); want.Name != string(idOf(1)) || !ok || err != nil {
		t.Errorf("it wants %+v, %v, %v", want, ok, err)
	}
}
