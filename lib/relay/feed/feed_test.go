package feed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/internal/testenv"

	"pgregory.net/rapid"

	"gt/lib/place"
)

func noError(t interface{ Fatal(...any) }, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// TestHistory runs random histories of a log and a copy of it: appends, torn lines, prunes,
// restored backups, lost and doubled messages in any order, kills and lost books on both
// sides. Once the two can talk, the copy is the original.
func TestHistory(t *testing.T) {
	testenv.SeedRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "feed")
		noError(t, err)
		defer os.RemoveAll(root)
		state := place.State(filepath.Join(root, "gt"))
		log := state.Path(".events.jsonl")
		books := state.Path("relay", "feeds.json")
		dir := filepath.Join(root, "peers", "a")
		noError(t, os.MkdirAll(filepath.Dir(books), 0o700))
		noError(t, os.MkdirAll(dir, 0o700))
		now := time.UnixMilli(1_800_000_000_000)
		s, err := NewSource(state)
		noError(t, err)
		c, err := OpenCopies(dir)
		noError(t, err)
		var wire []Chunk
		var backupLog, backupBooks []byte
		n := 0
		send := func() {
			for {
				ch, ok, err := s.NextChunk("events", log, now)
				noError(t, err)
				if !ok {
					return
				}
				wire = append(wire, ch)
				noError(t, s.Sent(ch, log))
			}
		}
		write := func(data []byte) {
			f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			noError(t, err)
			defer f.Close()
			_, err = f.Write(data)
			noError(t, err)
			now = now.Add(time.Millisecond)
		}
		line := func() []byte {
			n++
			return fmt.Appendf(nil, `{"n":%d,"text":"%s"}`+"\n", n, bytes.Repeat([]byte("x"), rapid.IntRange(0, 9000).Draw(t, "size")))
		}
		torn := false
		t.Repeat(map[string]func(*rapid.T){
			"append": func(*rapid.T) {
				if torn {
					write([]byte("\n"))
					torn = false
				}
				write(line())
			},
			"torn": func(*rapid.T) {
				if !torn {
					l := line()
					write(l[:len(l)/2])
					torn = true
				}
			},
			"send": func(*rapid.T) { send(); noError(t, s.Store()) },
			"prune": func(*rapid.T) {
				data, _ := os.ReadFile(log)
				lines := bytes.SplitAfter(data, []byte("\n"))
				var kept []byte
				for i, l := range lines {
					if i%2 == 0 || i == len(lines)-1 {
						kept = append(kept, l...)
					}
				}
				noError(t, os.WriteFile(log+".new", kept, 0o600))
				noError(t, os.Rename(log+".new", log))
			},
			"backup": func(*rapid.T) {
				backupLog, _ = os.ReadFile(log)
				backupBooks, _ = os.ReadFile(books)
			},
			"restore": func(*rapid.T) {
				noError(t, os.WriteFile(log, backupLog, 0o600))
				noError(t, os.WriteFile(books, backupBooks, 0o600))
				torn = len(backupLog) > 0 && backupLog[len(backupLog)-1] != '\n'
				s, err = NewSource(state)
				noError(t, err)
			},
			"clock":         func(*rapid.T) { now = now.Add(-48 * time.Hour) },
			"source killed": func(*rapid.T) { s, err = NewSource(state); noError(t, err) },
			"source's book lost": func(*rapid.T) {
				os.Remove(books)
				s, err = NewSource(state)
				noError(t, err)
			},
			"deliver": func(*rapid.T) {
				if len(wire) > 0 {
					_, err := c.Add(wire[rapid.IntRange(0, len(wire)-1).Draw(t, "which")])
					noError(t, err)
				}
			},
			"deliver all": func(*rapid.T) {
				for _, ch := range wire {
					_, err := c.Add(ch)
					noError(t, err)
				}
			},
			"lose": func(*rapid.T) { wire = nil },
			"copy killed": func(*rapid.T) {
				if info, err := os.Stat(c.Path("events")); err == nil { // in the middle of a write
					noError(t, os.Truncate(c.Path("events"), info.Size()/2))
				}
				c, err = OpenCopies(dir)
				noError(t, err)
			},
			"copy damaged": func(*rapid.T) { // by a loss of power
				if data, err := os.ReadFile(c.Path("events")); err == nil && len(data) > 0 {
					data[len(data)-1] = 0
					noError(t, os.WriteFile(c.Path("events"), data, 0o600))
				}
				c, err = OpenCopies(dir)
				noError(t, err)
			},
			"copy's book lost": func(*rapid.T) {
				os.Remove(filepath.Join(dir, "feeds.json"))
				c, err = OpenCopies(dir)
				noError(t, err)
			},
		})
		// At rest: both hosts are up and hear each other.
		if torn {
			write([]byte("\n"))
		}
		write(line())
		wire = nil
		for range 400 {
			send()
			for _, ch := range wire {
				_, err := c.Add(ch)
				noError(t, err)
			}
			wire = nil
			head, ok := s.Heads()["events"]
			if !ok {
				t.Fatal("the log has no head")
			}
			for range shortFor {
				c.Heads("events", head)
			}
			w := c.Missing("events", head)
			if w == nil {
				break
			}
			noError(t, w.Check())
			if ch, ok, err := s.Answer(*w, log, now); err != nil {
				t.Fatal(err)
			} else if ok {
				again, err := c.Add(ch)
				noError(t, err)
				if again != nil {
					_, _, err := s.Answer(*again, log, now)
					noError(t, err)
				}
			}
		}
		want, _ := os.ReadFile(log)
		got, _ := os.ReadFile(c.Path("events"))
		if !bytes.Equal(got, want) {
			t.Fatalf("the copy has %d bytes, the log %d; %+v, %+v", len(got), len(want), s.Heads()["events"], *c.feeds["events"])
		}
	})
}

// TestLateHead shows that a head that is older than its copy begins no new epoch: between
// two beats the copy grows.
func TestLateHead(t *testing.T) {
	state := place.State(t.TempDir())
	noError(t, os.MkdirAll(state.Path("relay"), 0o700))
	log := state.Path(".events.jsonl")
	noError(t, os.WriteFile(log, []byte("{}\n"), 0o600))
	s, err := NewSource(state)
	noError(t, err)
	c, err := OpenCopies(t.TempDir())
	noError(t, err)
	send := func() {
		ch, ok, err := s.NextChunk("events", log, time.Now())
		noError(t, err)
		if ok {
			noError(t, s.Sent(ch, log))
			_, err := c.Add(ch)
			noError(t, err)
		}
	}
	send()
	head := s.Heads()["events"]
	c.Heads("events", head)
	for range 100 {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		noError(t, err)
		_, err = f.WriteString("{}\n")
		noError(t, errors.Join(err, f.Close()))
		send()
		if w := c.Missing("events", head); w != nil {
			t.Fatalf("%+v", w)
		}
	}
}

func TestHostileChunks(t *testing.T) {
	for _, head := range []string{
		`{"feed":"../x","epoch":"0000000000000001-00000000"}`,
		`{"feed":"town.../../x","epoch":"0000000000000001-00000000"}`,
		`{"feed":"town..","epoch":"0000000000000001-00000000"}`,
		`{"feed":"record./etc/passwd","epoch":"0000000000000001-00000000"}`,
		`{"feed":"events","epoch":"x"}`,
		`{"feed":"events","epoch":"0000000000000001-00000000","at":-1}`,
		`{"feed":"events","epoch":"0000000000000001-00000000","size":-1}`,
		`[]`, ``,
	} {
		if c, err := Unmarshal([]byte(head + "\nx\n")); err == nil {
			t.Errorf("%s became %+v", head, c)
		}
	}
	c, err := OpenCopies(t.TempDir())
	noError(t, err)
	far := Chunk{Feed: "events", Epoch: "0000000000000001-00000000", At: MaxCopy, Data: []byte("x")}
	if w, err := c.Add(far); err != nil || w == nil || w.From != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}

// TestMostBytes shows that the logs of a host have a limit together.
func TestMostBytes(t *testing.T) {
	c, err := OpenCopies(t.TempDir())
	testenv.NoError(t, err)
	c.most = 10
	add := func(name, text string) error {
		_, err := c.Add(Chunk{Feed: name, Epoch: "0000000000000001-00000000", Size: int64(len(text)), Before: "e3b0c44298fc1c149afbf4c8996fb924", Data: []byte(text)})
		return err
	}
	testenv.NoError(t, add("events", "12345\n"))
	if err := add("town.x", "12345\n"); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	testenv.NoError(t, add("town.x", "123\n"))
}
