package relay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gt/lib/record"
	"gt/lib/relay"
	"gt/lib/relay/feed"
	"gt/lib/relay/mirror"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

const (
	firstRecord = record.ID("session-m0000001-abcdef")
	otherRecord = record.ID("session-m0000002-abcdef")
)

// records appends to a record of the host.
func (h *host) records(id record.ID, text string) {
	h.f.t.Helper()
	s := h.store()
	err := os.MkdirAll(s.Sessions, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(s.Path(id), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		h.f.t.Fatal(err)
	}
}

// allows allows another host something.
func (h *host) allows(other string, what ...string) {
	h.f.t.Helper()
	o, err := peer.NewHosts(h.state).Get(other)
	if err == nil {
		err = peer.NewHosts(h.state).SetTrust(other, peer.Trust{Key: o.Key, Allowed: what})
	}
	if err != nil {
		h.f.t.Fatal(err)
	}
}

// hasRecords reports whether this host has copies of all records of another one, and no other.
func (h *host) hasRecords(o *host) bool {
	dir := peer.NewHosts(h.state).Path(o.name, "records")
	copies, _ := os.ReadDir(dir)
	originals, _ := os.ReadDir(o.store().Sessions)
	for _, e := range originals {
		want, err := os.ReadFile(filepath.Join(o.store().Sessions, e.Name()))
		got, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || string(got) != string(want) {
			return false
		}
	}
	return len(copies) == len(originals)
}

// noRecords reports whether this host has no file of another one's records.
func (h *host) noRecords(o string) bool {
	_, err := os.Stat(peer.NewHosts(h.state).Path(o, "records"))
	return errors.Is(err, os.ErrNotExist)
}

// TestRecords shows that the records of a host are with those that it allows them, and with
// no other: also after kills, and after the hub has lost everything. What is removed there
// goes here as well.
func TestRecords(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		c := f.host("c").startRelay()
		meet(t, a, b, c)
		a.records(firstRecord, "{\"n\":1}\n")
		a.records(otherRecord, strings.Repeat("{\"n\":\"a long conversation\"}\n", 400_000))
		a.allows("b", peer.Records)
		a.allows("c", "peek", peer.Work)
		a.stopRelay()
		a.startRelay()
		grows := peer.NewHosts(b.state).Path("a", "records", string(otherRecord)+".jsonl")
		eventually(t, "the copy grows", func() bool { info, err := os.Stat(grows); return err == nil && info.Size() > 1<<20 })
		b.stopRelay()
		b.startRelay()
		eventually(t, "the records are copied", func() bool { return b.hasRecords(a) })
		if !c.noRecords("a") {
			t.Error("c has records of a")
		}
		f.stop()
		testenv.NoError(t, os.RemoveAll(f.store))
		a.records(firstRecord, "{\"n\":2}\n")
		testenv.NoError(t, os.WriteFile(a.store().Path(otherRecord), []byte("{}\n{\"forgotten\":1}\n"), 0o600))
		f.start()
		eventually(t, "what changed is copied", func() bool { return b.hasRecords(a) })
		// Records that cannot be read now are not removed.
		a.stopRelay()
		aside := a.store().Sessions + ".aside"
		testenv.NoError(t, errors.Join(os.Rename(a.store().Sessions, aside), os.WriteFile(a.store().Sessions, nil, 0o600)))
		a.startRelay()
		a.event("a has said hello")
		eventually(t, "it is copied", func() bool { return b.copyOf(a, "a") })
		time.Sleep(time.Second)
		testenv.NoError(t, errors.Join(os.Remove(a.store().Sessions), os.Rename(aside, a.store().Sessions)))
		if !b.hasRecords(a) {
			t.Error("the copies are gone")
		}
		testenv.NoError(t, os.Remove(a.store().Path(firstRecord)))
		eventually(t, "what was removed is gone", func() bool { return b.hasRecords(a) })
		b.stopRelay()
		a.allows("b", "peek") // while b is away
		a.stopRelay()
		a.startRelay()
		b.startRelay()
		eventually(t, "all copies are gone", func() bool { return b.noRecords("a") })
	})
}

// TestRecordsNotAllowed shows that a host that asks for records gets none, unless it may.
func TestRecordsNotAllowed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.host("a").startRelay()
		a.records(firstRecord, "{\"secret\":1}\n")
		l := f.liar()
		l.meets(a, "liar")
		answers := l.receives(t, "chunk")
		ask := func() {
			body, _ := json.Marshal(feed.Want{Name: "record/" + string(firstRecord)})
			l.tells(a, "ask", seal.Header{Kind: "file"}, body)
			l.tells(a, "ask", seal.Header{Kind: "file"}, []byte(`{"name":"record/"}`))
			for range 2 {
				if data := <-answers; string(data) != `{"size":0,"off":true}` {
					t.Errorf("%s", data)
				}
			}
		}
		ask()
		a.allows("liar", peer.Commands...)
		ask()
		testenv.NoError(t, peer.NewHosts(a.state).SetTrust("liar", peer.Trust{Key: "other", Allowed: []string{peer.Records}}))
		ask()
		a.allows("liar", peer.Records)
		for _, id := range []record.ID{"../../relay/keys", firstRecord} {
			body, _ := json.Marshal(feed.Want{Name: "record/" + string(id)})
			l.tells(a, "ask", seal.Header{Kind: "file"}, body)
		}
		for {
			if data := <-answers; strings.Contains(string(data), "seed") {
				t.Errorf("%s", data)
			} else if strings.Contains(string(data), "secret") {
				break
			}
		}
	})
}

// TestHostileRecords shows that a host writes nothing here but records that were asked for,
// within their limits.
func TestHostileRecords(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b := f.host("b").startRelay()
		l := f.liar()
		l.meets(b, "a")
		part := func(id record.ID) feed.Chunk {
			return feed.Chunk{Name: "record/" + string(id), Size: 3, Data: []byte("{}\n")}
		}
		asked := 0
		list := fmt.Appendf(nil, `{"id":"../../x","size":3}`+"\n"+`{"id":%q,"size":3}`+"\n"+`{"id":%q,"size":%d}`+"\n", firstRecord, otherRecord, mirror.MaxRecord+1)
		l.answers(b, func(w feed.Want) feed.Chunk {
			asked++
			switch {
			case w.Name == "record/":
				return feed.Chunk{Name: w.Name, Size: int64(len(list)), Data: list}
			case asked < 3:
				return feed.Chunk{Name: w.Name, Size: 3}
			}
			return part(firstRecord)
		})
		for _, id := range []record.ID{firstRecord, otherRecord, "../../x"} { // not asked for
			data, err := part(id).Marshal()
			testenv.NoError(t, err)
			l.tells(b, "chunk", seal.Header{Kind: "file"}, data)
			l.tells(b, "chunk", seal.Header{Kind: "file", ID: "1"}, data)
		}
		l.tells(b, "chunk", seal.Header{Kind: "records"}, []byte("x"))
		l.tells(b, "chunk", seal.Header{Kind: "records"}, fmt.Appendf(nil, `{"size":%d}`, len(list)))
		eventually(t, "one record is there", func() bool {
			data, err := os.ReadFile(peer.NewHosts(b.state).Path("a", "records", string(firstRecord)+".jsonl"))
			return err == nil && string(data) == "{}\n"
		})
		eventually(t, "the status says what is missing", func() bool {
			s, err := relay.ReadStatus(b.state)
			return err == nil && s.Left["a"] == 1 && s.Refused[feed.ErrChunk.Error()] == 1 && s.Refused["a list of records that cannot be read"] == 1
		})
		eventually(t, "it sent too many lists", func() bool {
			for range 100 { // more than are taken meanwhile, however slow this machine is
				l.tells(b, "chunk", seal.Header{Kind: "records"}, fmt.Appendf(nil, `{"size":%d}`, len(list)))
			}
			s, err := relay.ReadStatus(b.state)
			return err == nil && s.Refused["too many lists of records of a"] > 0
		})
		if entries, err := os.ReadDir(peer.NewHosts(b.state).Path("a", "records")); err != nil || len(entries) != 1 {
			t.Errorf("%v, %v", entries, err)
		}
	})
}

// TestUnreadableList shows that a host that cannot read its list of records is asked for it again,
// but not at once.
func TestUnreadableList(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, l := newFleet(t).deceived()
		var asked atomic.Int64
		l.answers(b, func(w feed.Want) feed.Chunk {
			asked.Add(1)
			return feed.Chunk{Name: w.Name, For: w.From, None: true}
		})
		l.says("beat", map[string]any{"process": "x"})
		l.tells(b, "chunk", seal.Header{Kind: "records"}, []byte(`{"size":100}`))
		eventually(t, "it was asked again", func() bool { return asked.Load() > 1 })
		time.Sleep(30 * time.Second)
		if n := asked.Load(); n > 15 {
			t.Errorf("it was asked %d times", n)
		}
	})
}
