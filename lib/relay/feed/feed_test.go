package feed

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

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
		s, err := NewSource(state)
		noError(t, err)
		c, err := OpenCopies(dir)
		noError(t, err)
		var wire []Chunk
		newest := 0 // of what came: the relay takes nothing older of what goes to all
		var backupLog, backupBooks []byte
		n := 0
		send := func() {
			for {
				ch, ok, err := s.NextChunk("events", log)
				noError(t, err)
				if !ok {
					return
				}
				wire = append(wire, ch)
				noError(t, s.RecordSent(ch, log))
			}
		}
		write := func(data []byte) {
			f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			noError(t, err)
			defer f.Close()
			_, err = f.Write(data)
			noError(t, err)
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
			"source killed": func(*rapid.T) { s, err = NewSource(state); noError(t, err) },
			"source's book lost": func(*rapid.T) {
				os.Remove(books)
				s, err = NewSource(state)
				noError(t, err)
			},
			"deliver": func(*rapid.T) {
				if newest < len(wire) {
					newest = rapid.IntRange(newest, len(wire)-1).Draw(t, "which")
					_, err := c.AddChunk(wire[newest])
					noError(t, err)
				}
			},
			"deliver all": func(*rapid.T) {
				for _, ch := range wire[newest:] {
					_, err := c.AddChunk(ch)
					noError(t, err)
				}
				newest = len(wire)
			},
			"lose": func(*rapid.T) { wire, newest = nil, 0 },
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
				_, err := c.AddChunk(ch)
				noError(t, err)
			}
			wire = nil
			head, ok := s.Heads()["events"]
			if !ok {
				t.Fatal("the log has no head")
			}
			c.Compare("events", head)
			if c.IsComplete("events", head) {
				break
			}
			w, err := c.Want("events")
			noError(t, err)
			f, err := os.Open(log)
			noError(t, err)
			ch, err := Read(f, w, true)
			noError(t, errors.Join(err, f.Close()))
			data, err := ch.Marshal()
			noError(t, err)
			ch, err = Unmarshal(data)
			noError(t, err)
			_, err = c.AddChunk(ch)
			noError(t, err)
		}
		want, _ := os.ReadFile(log)
		got, _ := os.ReadFile(c.Path("events"))
		if !bytes.Equal(got, want) {
			t.Fatalf("the copy has %d bytes, the log %d; %+v, %+v", len(got), len(want), s.Heads()["events"], *c.logs["events"])
		}
	})
}

// TestLateHead shows that a head that is older than its copy changes nothing: between two
// beats the copy grows.
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
		ch, ok, err := s.NextChunk("events", log)
		noError(t, err)
		if ok {
			noError(t, s.RecordSent(ch, log))
			_, err := c.AddChunk(ch)
			noError(t, err)
		}
	}
	send()
	head := s.Heads()["events"]
	c.Compare("events", head)
	for range 100 {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		noError(t, err)
		_, err = f.WriteString("{}\n")
		noError(t, errors.Join(err, f.Close()))
		send()
		if !c.IsComplete("events", head) {
			t.Fatal(c.Want("events"))
		}
	}
}

func TestHostileChunks(t *testing.T) {
	for _, head := range []string{
		`{"name":"events","at":-1}`, `{"name":"events","size":-1}`, `{"name":"events","for":3,"at":2,"size":9}`, `{"name":"events","at":2,"size":9}`,
		`{"name":"events","size":1}`, `{"name":"events","for":9223372036854775807,"at":9223372036854775807,"size":1}`, `[]`, ``,
	} {
		if c, err := Unmarshal([]byte(head + "\nx\n")); err == nil {
			t.Errorf("%s became %+v", head, c)
		}
	}
	dir := t.TempDir()
	c, err := OpenCopies(dir)
	noError(t, err)
	for _, ch := range []Chunk{
		{Name: "../x", Size: 2}, {Name: "town.../../x", Size: 2}, {Name: "town..", Size: 2}, {Name: "record./etc/passwd", Size: 2},
		{Name: "events", For: MaxCopy, At: MaxCopy, Size: MaxCopy + 2}, {Name: "events", For: 5, At: 5, Size: 7}, {Name: "events", None: true, Size: 2},
	} {
		ch.Data = []byte("x\n")
		if taken, _ := c.AddChunk(ch); taken {
			t.Errorf("%+v was taken", ch)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

// TestOtherBeginning shows that bytes are appended only to a copy of what comes before them.
func TestOtherBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events")
	other := filepath.Join(t.TempDir(), "events")
	noError(t, os.WriteFile(path, []byte("ours\n"), 0o600))
	noError(t, os.WriteFile(other, []byte("them\n"), 0o600))
	before, err := PrefixSumOf(other, 5)
	noError(t, err)
	c := Chunk{Name: "events", For: 5, At: 5, Size: 10, Before: before, Data: []byte("more\n")}
	if same, complete, err := Append(path, c, MaxCopy); same || complete || err != nil {
		t.Error(same, complete, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "ours\n" {
		t.Errorf("%q %v", data, err)
	}
	if same, complete, err := Append(other, c, MaxCopy); !same || !complete || err != nil {
		t.Error(same, complete, err)
	}
}

// TestMostBytes shows that the logs of a host have a limit together.
func TestMostBytes(t *testing.T) {
	c, err := OpenCopies(t.TempDir())
	testenv.NoError(t, err)
	c.most = 10
	add := func(name, text string) error {
		_, err := c.AddChunk(Chunk{Name: name, Size: int64(len(text)), Data: []byte(text)})
		return err
	}
	testenv.NoError(t, add("events", "12345\n"))
	if err := add("town.x", "12345\n"); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	testenv.NoError(t, add("town.x", "123\n"))
}

// TestReplacedAndGrows shows that the copy of a log that was replaced by another one, of several
// chunks, becomes complete although each answer is followed by a line that was just appended.
func TestReplacedAndGrows(t *testing.T) {
	state := place.State(t.TempDir())
	noError(t, os.MkdirAll(state.Path("relay"), 0o700))
	log := state.Path(".events.jsonl")
	s, err := NewSource(state)
	noError(t, err)
	c, err := OpenCopies(t.TempDir())
	noError(t, err)
	send := func(came bool) {
		for {
			ch, ok, err := s.NextChunk("events", log)
			noError(t, err)
			if !ok {
				return
			}
			noError(t, s.RecordSent(ch, log))
			if came {
				_, err = c.AddChunk(ch)
				noError(t, err)
			}
		}
	}
	replace := func(line string) {
		noError(t, os.WriteFile(log+".new", bytes.Repeat([]byte(line+"\n"), 3*MaxChunk/len(line)), 0o600))
		noError(t, os.Rename(log+".new", log))
	}
	replace("the first log")
	send(true)
	replace("the second log, which is another one")
	send(false)
	for range 10 {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
		noError(t, err)
		_, err = f.WriteString("one more\n")
		noError(t, errors.Join(err, f.Close()))
		send(true)
		if c.IsComplete("events", s.Heads()["events"]) {
			break
		}
		w, err := c.Want("events")
		noError(t, err)
		f, err = os.Open(log)
		noError(t, err)
		ch, err := Read(f, w, true)
		noError(t, errors.Join(err, f.Close()))
		_, err = c.AddChunk(ch)
		noError(t, err)
	}
	want, _ := os.ReadFile(log)
	if got, _ := os.ReadFile(c.Path("events")); !bytes.Equal(got, want) {
		t.Errorf("the copy has %d bytes, the log %d", len(got), len(want))
	}
}
