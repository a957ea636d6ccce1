package relay_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"gt/lib/relay"
	"gt/lib/relay/feed"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// liar is a host that sends what no relay sends.
type liar struct {
	t    *testing.T
	keys *seal.Keys
	nc   *nats.Conn
}

func (f *fleet) liar() *liar {
	f.t.Helper()
	h := f.host("liar")
	keys, err := seal.Load(h.state, false)
	if err != nil {
		f.t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(f.hub), nats.NoReconnect())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	return &liar{f.t, keys, nc}
}

func (l *liar) publish(kind, to string, msg []byte, err error) {
	l.t.Helper()
	subject := "gt." + l.keys.Public() + "." + kind
	if to != "" {
		subject += "." + to
	}
	if err == nil {
		err = l.nc.Publish(subject, msg)
	}
	// The connection is closed at the end of the test, which a question of a host can outlast.
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		l.t.Fatal(err)
	}
}

// says publishes a message that everybody may read.
func (l *liar) says(kind string, body any) {
	l.t.Helper()
	data, raw := body.([]byte)
	if !raw {
		var err error
		if data, err = json.Marshal(body); err != nil {
			l.t.Fatal(err)
		}
	}
	msg, err := l.keys.Plain(seal.Header{Kind: kind, At: time.Now().UnixMilli()}, data)
	l.publish(kind, "", msg, err)
}

// tells publishes a message for one host.
func (l *liar) tells(to *host, subject string, h seal.Header, body []byte) {
	l.t.Helper()
	keys, err := seal.Load(to.state, false)
	if err != nil {
		l.t.Fatal(err)
	}
	h.To = keys.Public()
	if h.At == 0 {
		h.At = time.Now().UnixMilli()
	}
	msg, err := l.keys.ForHost(keys.Recipient(), h, body)
	l.publish(subject, h.To, msg, err)
}

// answers has the liar answer each question of a host for a part of a file.
func (l *liar) answers(to *host, answer func(feed.Want) feed.Chunk) {
	l.t.Helper()
	if _, err := l.nc.Subscribe("gt."+to.key()+".ask."+l.keys.Public(), func(msg *nats.Msg) {
		m, err := seal.Parse(msg.Data)
		if err != nil || m.Kind != "file" {
			return
		}
		var want feed.Want
		body, err := l.keys.OpenBody(m, 1<<20)
		if err == nil {
			err = json.Unmarshal(body, &want)
		}
		data, failed := answer(want).Marshal()
		if err = errors.Join(err, failed); err != nil {
			l.t.Error(err)
			return
		}
		l.tells(to, "chunk", seal.Header{Kind: "file", ID: m.ID}, data)
	}); err != nil {
		l.t.Fatal(err)
	}
}

// meets says hello until the host has taken it.
func (l *liar) meets(h *host, name string) {
	l.t.Helper()
	eventually(l.t, h.name+" knows "+name, func() bool {
		l.says("hello", greeting{Name: name, Box: l.keys.Recipient()})
		time.Sleep(50 * time.Millisecond)
		o, err := peer.NewHosts(h.state).Get(name)
		return err == nil && o.Key != ""
	})
}

// deceived is a host b that has met a liar, which it calls a.
func (f *fleet) deceived() (b *host, l *liar) {
	f.t.Helper()
	b, l = f.host("b").startRelay(), f.liar()
	l.meets(b, "a")
	return b, l
}

// refused returns how many messages this host has refused for a reason.
func (h *host) refused(reason string) int {
	s, _ := relay.ReadStatus(h.state)
	return s.Refused[reason]
}

// parcels returns how many long letters of a host are on their way here.
func (h *host) parcels(of string) int {
	entries, err := os.ReadDir(peer.NewHosts(h.state).Path(of, "parcels"))
	if err != nil {
		return -1
	}
	return len(entries)
}

// greeting is a hello.
type greeting struct {
	Name    string `json:"name"`
	Box     string `json:"box"`
	Version string `json:"version,omitempty"`
}

func letterID(n int) string { return fmt.Sprintf("1795712515.M155504R%08x.x", n) }

// TestOddHello shows that a hello with a bad key or a huge version changes nothing, and that
// letters for others go on.
func TestOddHello(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b, c := f.host("b").startRelay(), f.host("c").startRelay()
		meet(t, b, c)
		l := f.liar()
		l.meets(b, "a")
		for i, odd := range []greeting{{Name: "a", Box: "age1nothing"}, {Name: "a", Box: l.keys.Recipient(), Version: strings.Repeat("x", 200)}} {
			l.says("hello", odd) // the hub keeps the last one only
			eventually(t, "it was refused", func() bool { return b.refused("a hello with an invalid key or version") == i+1 })
		}
		b.send("a", "to a")
		b.send("c", "to c")
		eventually(t, "c has its note", func() bool { return len(c.notes()) == 1 })
		if _, err := peer.NewHosts(b.state).ReadHosts(); err != nil {
			t.Error(err)
		}
	})
}

// TestBlockedHello shows that nothing is taken of a blocked host, not even its hello.
func TestBlockedHello(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, l := newFleet(t).deceived()
		testenv.NoError(t, peer.NewHosts(b.state).SetTrust("a", peer.Trust{Key: l.keys.Public(), Revoked: true}))
		l.says("hello", greeting{Name: "a", Box: l.keys.Recipient(), Version: "v9"})
		eventually(t, "it was refused", func() bool { return b.refused("a message of a, which is revoked") > 0 })
		if o, err := peer.NewHosts(b.state).Get("a"); err != nil || o.Version != "" {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// TestAbsent shows that letters for a host that was never at this hub hold up no others.
func TestAbsent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a").startRelay(), f.host("b").startRelay(), f.host("c").startRelay()
		meet(t, a, b, c)
		b.stopRelay()
		f.stop()
		testenv.NoError(t, os.RemoveAll(f.store))
		for range 3 {
			a.send("b", "to b")
		}
		a.send("c", "to c")
		f.start()
		eventually(t, "c has its note", func() bool { return len(c.notes()) == 1 })
		eventually(t, "nothing else is wrong", func() bool {
			s, err := relay.ReadStatus(a.state)
			return err == nil && s.Error == "" && a.waiting() == 3
		})
		b.startRelay()
		eventually(t, "b has its notes", func() bool { return len(b.notes()) == 3 && a.waiting() == 0 })
	})
}

// TestManyParcels shows that a host cannot announce letters without end.
func TestManyParcels(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, l := newFleet(t).deceived()
		announce := func(i int) {
			l.tells(b, "to", seal.Header{Kind: "note", ID: letterID(i)}, []byte(`{"size":1000000,"sha256":"`+strings.Repeat("0", 64)+"\"}\n"))
		}
		for i := range 64 {
			announce(i)
			eventually(t, "it is noted", func() bool { return b.parcels("a") == i+1 })
		}
		announce(64)
		eventually(t, "one was refused", func() bool { return b.refused("too many long letters of a") == 1 && b.parcels("a") == 64 })
		// It says that it has none of them any more.
		l.answers(b, func(w feed.Want) feed.Chunk { return feed.Chunk{Name: w.Name, None: true} })
		l.says("beat", map[string]any{"process": "x"})
		eventually(t, "they are forgotten", func() bool { return b.parcels("a") == 0 })
	})
}

// TestNothingKept shows that nothing is fetched or kept of a letter that its sender may not send,
// of one that is too long or of an unknown kind, and of more than a host may have coming.
func TestNothingKept(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b, l := f.host("b"), f.liar()
		o := b.options()
		no := func(relay.Sender) (bool, string) { return false, "you may not" }
		o.Kinds["session"] = relay.Kind{Takes: no, Most: 1 << 30}
		o.Kinds["large"] = relay.Kind{Takes: func(relay.Sender) (bool, string) { return true, "" }, Most: 1 << 30}
		o.Kinds["result"] = relay.Kind{Takes: func(relay.Sender) (bool, string) { return false, "" }}
		b.upWith(o)
		l.meets(b, "a")
		receipts := l.receives(t, "receipt")
		for i, c := range []struct {
			kind, want string
			size       int64
		}{
			{"session", "you may not", 100 << 20}, {"session", "you may not", 1}, {"result", "", 1 << 20}, {"result", "", 1},
			{"note", "the letter has 25165825 bytes, over 25165824", 24<<20 + 1}, {"odd", "does not know letters of the kind odd", 1 << 20},
		} {
			body := fmt.Sprintf(`{"size":%d,"sha256":"%s"}`+"\n", c.size, strings.Repeat("0", 64))
			if c.size == 1 {
				body += "x"
			}
			l.tells(b, "to", seal.Header{Kind: c.kind, ID: letterID(i)}, []byte(body))
			select {
			case got := <-receipts:
				if !strings.Contains(string(got), c.want) || (len(got) == 0) != (c.want == "") {
					t.Errorf("%s of %d bytes: %q", c.kind, c.size, got)
				}
			case <-time.After(10 * time.Minute):
				t.Fatalf("%s of %d bytes has no receipt", c.kind, c.size)
			}
		}
		if n := b.parcels("a"); n > 0 || len(b.notes()) > 0 {
			t.Errorf("%d letters lie here, %q came", n, b.notes())
		}
		for i := range 3 {
			l.tells(b, "to", seal.Header{Kind: "large", ID: letterID(20 + i)}, []byte(fmt.Sprintf(`{"size":%d,"sha256":"%s"}`+"\n", 1<<30, strings.Repeat("0", 64))))
		}
		eventually(t, "the third is too much", func() bool { return b.refused("too many long letters of a") == 1 && b.parcels("a") == 2 })
		for i := range 4 { // those do not hold up the others
			l.tells(b, "to", seal.Header{Kind: "note", ID: letterID(10 + i)}, []byte(fmt.Sprintf(`{"size":%d,"sha256":"%s"}`+"\n", 20<<20, strings.Repeat("0", 64))))
		}
		eventually(t, "the fourth is too much", func() bool { return b.refused("too many long letters of a") == 2 && b.parcels("a") == 5 })
	})
}

// TestTakenBack shows that a long letter that was taken back on its way leaves nothing.
func TestTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		p := f.proxy(nil)
		p.slow = time.Millisecond
		a, b := f.host("a"), f.host("b").startRelay()
		a.upWith(a.optionsWithDialer(p))
		meet(t, a, b)
		l := a.send("b", strings.Repeat("long ", 400_000))
		part := peer.NewHosts(b.state).Path("a", "parcels", l.ID+".part")
		eventually(t, "it is on its way", func() bool { _, err := os.Stat(part); return err == nil })
		testenv.NoError(t, peer.OutboxOf(a.state).Remove(l))
		eventually(t, "nothing is left", func() bool { return b.parcels("a") == 0 })
	})
}

// TestManyLogs shows that a host cannot have logs without end copied.
func TestManyLogs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, l := newFleet(t).deceived()
		b.stopRelay()
		for i := range feed.MaxFeeds - 10 {
			testenv.NoError(t, os.MkdirAll(peer.NewHosts(b.state).Path("a", "towns", fmt.Sprint("x", i)), 0o700))
		}
		b.startRelay()
		l.meets(b, "a")
		for i := range 60 {
			data, err := feed.Chunk{Name: fmt.Sprintf("town.y%d", i), Size: 2, Data: []byte("x\n")}.Marshal()
			testenv.NoError(t, err)
			l.says("feed", data)
		}
		eventually(t, "the last ones were refused", func() bool { return b.refused("a log of a that is too long, or one too many") == 50 })
	})
}

// TestHostileQuestions shows that a host that asks for a file gets a log, or what waits for it, and
// nothing else.
func TestHostileQuestions(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, l := f.host("a"), f.liar()
		a.event("an event")
		a.startRelay()
		l.meets(a, "liar")
		testenv.NoError(t, os.WriteFile(a.state.Path("relay", "other.json"), []byte("secret\n"), 0o600))
		other := a.send("other", "secret\n")
		own := a.send("liar", "long"+strings.Repeat(" ", 100_000))
		answers := l.receives(t, "chunk")
		for _, c := range []struct{ question, want string }{
			{`{"name":"log/events"}`, `"text":"an event"`},
			{`{"name":"letter/` + own.ID + `"}`, "long"},
			{`{"name":"letter/` + other.ID + `"}`, `"none":true`},
			{`{"name":"letter/../other/` + other.ID + `"}`, `"none":true`},
			{`{"name":"letter/"}`, `"none":true`},
			{`{"name":"log/../relay/keys.json"}`, `"none":true`},
			{`{"name":"log/relay/other.json"}`, `"none":true`},
			{`{"name":"log/"}`, `"none":true`},
			{`{"name":"/etc/hostname"}`, `"none":true`},
			{`{"name":"events"}`, `"none":true`},
			{`{"name":""}`, `"none":true`},
			{`{"name":"record/x"}`, `"off":true`},
			{`{"name":"record/"}`, `"off":true`},
			{`{"name":"record/../../relay/keys"}`, `"off":true`},
			{`{"name":"log/events","from":9223372036854775807}`, `"at":0`},
			{`{"name":"log/events","from":5,"check":"x"}`, `"at":0`},
			{`{"name":"log/events","from":-1}`, ""}, {`{"name":1}`, ""}, {`[]`, ""}, {``, ""},
		} {
			l.tells(a, "ask", seal.Header{Kind: "file", ID: "1"}, []byte(c.question))
			if c.want == "" {
				continue
			}
			if got := string(<-answers); !strings.Contains(got, c.want) || strings.Contains(got, "secret") || strings.Contains(got, "seed") {
				t.Errorf("%s: %.200q", c.question, got)
			}
		}
		eventually(t, "the others were refused", func() bool { return a.refused("a question that cannot be read") == 4 })
	})
}

// TestHostileAnswers shows that nothing is written of an answer that does not belong to what was
// asked, or is not one.
func TestHostileAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, l := newFleet(t).deceived()
		long := letterID(1)
		var asked atomic.Int64
		ways := []func(feed.Want) feed.Chunk{
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: "log/events", Size: 2, Data: []byte("x\n")} },
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: w.Name + "/../x", Size: 2, Data: []byte("x\n")} },
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: "../" + w.Name, Size: 2, Data: []byte("x\n")} },
			func(w feed.Want) feed.Chunk {
				return feed.Chunk{Name: w.Name, For: 7, At: 7, Size: 9, Data: []byte("x\n")}
			},
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: w.Name, Size: 1 << 62} },
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: w.Name, Size: 1, Data: []byte("x\n")} },
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: w.Name, At: -1, Size: 1} },
			func(w feed.Want) feed.Chunk { return feed.Chunk{Name: w.Name, For: -1, At: -1, Size: 1} },
		}
		l.answers(b, func(w feed.Want) feed.Chunk { return ways[min(int(asked.Add(1)), len(ways))-1](w) })
		stop := make(chan struct{})
		go func() {
			for {
				l.says("beat", map[string]any{"process": "x"})
				select {
				case <-stop:
					return
				case <-time.After(30 * time.Second):
				}
			}
		}()
		defer close(stop)
		l.tells(b, "to", seal.Header{Kind: "note", ID: long}, []byte(`{"size":1000000,"sha256":"`+strings.Repeat("0", 64)+"\"}\n"))
		eventually(t, "all of them were tried", func() bool { return asked.Load() > int64(len(ways)) })
		dir := peer.NewHosts(b.state).Path("a")
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if info, failed := e.Info(); failed == nil && !e.IsDir() && !slices.Contains([]string{"host.json", long + ".json"}, e.Name()) && info.Size() > 0 {
				t.Errorf("%s has %d bytes", path, info.Size())
			}
			return err
		})
		testenv.NoError(t, err)
		if asked.Load() > 30 {
			t.Errorf("it asked %d times", asked.Load())
		}
	})
}

// TestManyHeads shows that a beat with many logs does not keep a relay busy.
func TestManyHeads(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, l := newFleet(t).deceived()
		var asks atomic.Int64
		keys, err := seal.Load(b.state, false)
		testenv.NoError(t, err)
		if _, err := l.nc.Subscribe("gt."+keys.Public()+".ask.>", func(*nats.Msg) { asks.Add(1) }); err != nil {
			t.Fatal(err)
		}
		heads := func(n int) map[string]any {
			all := map[string]feed.Head{}
			for i := range n {
				all[fmt.Sprintf("town.x%d", i)] = feed.Head{Size: 5}
			}
			return map[string]any{"process": "x", "heads": all}
		}
		l.says("beat", heads(feed.MaxFeeds))
		l.says("beat", heads(10_000))
		eventually(t, "one beat was refused", func() bool { return b.refused("too many logs of a") == 1 })
		time.Sleep(3 * time.Second)
		if n := asks.Load(); n == 0 || n > 500 {
			t.Errorf("%d questions", n)
		}
	})
}

// TestOddFeeds shows that a host is asked for nothing of a log that it cannot have, and that each
// message about one is counted and no warning.
func TestOddFeeds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b, l := f.host("b"), f.liar()
		o := b.options()
		var warned, asked atomic.Int64
		o.Warn = func(error) { warned.Add(1) }
		b.upWith(o)
		l.meets(b, "a")
		l.answers(b, func(w feed.Want) feed.Chunk { asked.Add(1); return feed.Chunk{Name: w.Name, None: true} })
		for i := range 20 {
			for _, c := range []feed.Chunk{
				{Name: fmt.Sprintf("town.x%d", i), None: true}, {Name: fmt.Sprintf("../x%d", i), Size: 2, Data: []byte("x\n")},
				{Name: "", Size: 2, Data: []byte("x\n")}, {Name: fmt.Sprintf("town.../../x%d", i), For: 7, At: 7, Size: 9, Data: []byte("x\n")},
			} {
				data, err := c.Marshal()
				testenv.NoError(t, err)
				l.says("feed", data)
			}
		}
		l.says("beat", map[string]any{"process": "x", "heads": map[string]feed.Head{"town.../../../../x": {Size: 5}, "../x": {Size: 5}, "": {Size: 5}, "events": {Size: -5}}})
		eventually(t, "they were refused", func() bool {
			return b.refused(feed.ErrChunk.Error()) == 80 && b.refused("an invalid name or size of a log of a") == 1
		})
		time.Sleep(10 * time.Second)
		if asked.Load() > 0 || warned.Load() > 0 {
			t.Errorf("%d questions, %d warnings", asked.Load(), warned.Load())
		}
	})
}

// TestLongReason shows that a long reason of a refusal reaches the sender, cut, and that the
// relay that refused starts again.
func TestLongReason(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		b.mu.Lock()
		b.fail = &relay.Refused{Reason: strings.Repeat("long ", 20_000)}
		b.mu.Unlock()
		a.send("b", "hello")
		eventually(t, "it was set aside", func() bool { return a.waiting() == 0 })
		b.stopRelay()
		b.startRelay()
	})
}

// receives returns what comes for it under a subject.
func (l *liar) receives(t *testing.T, kind string) <-chan []byte {
	t.Helper()
	came := make(chan []byte, 64)
	if _, err := l.nc.Subscribe("gt.*."+kind+"."+l.keys.Public(), func(msg *nats.Msg) {
		m, err := seal.Parse(msg.Data)
		if err != nil {
			t.Error(err)
			return
		}
		body, err := l.keys.OpenBody(m, 1<<20)
		if err != nil {
			t.Error(err)
			return
		}
		came <- body
	}); err != nil {
		t.Fatal(err)
	}
	return came
}

// TestAllows shows that a host learns what another one allows it, also after the hub has lost
// everything, and that nobody else learns it.
func TestAllows(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		said := f.overhear("gt.*.allows.>")
		a, b := f.host("a"), f.host("b")
		b.allowHost(a, "peek").startRelay()
		a.startRelay()
		c := f.host("c").startRelay()
		meet(t, a, b, c)
		allows := func(want ...string) func() bool {
			return func() bool {
				h, err := peer.NewHosts(a.state).Get("b")
				return err == nil && h.Allows != nil && slices.Equal(h.Allows, want)
			}
		}
		eventually(t, "a knows what it may", allows("peek"))
		b.allowHost(a, "peek", "send")
		eventually(t, "a knows that it may more", allows("peek", "send"))
		b.stopRelay()
		b.skew = -time.Hour
		b.allowHost(a, "send")
		b.startRelay()
		eventually(t, "a knows what a host with another clock allows", allows("send"))
		a.stopRelay()
		f.stop()
		testenv.NoError(t, os.RemoveAll(f.store))
		b.allowHost(a)
		f.start()
		a.startRelay()
		eventually(t, "a knows that it may nothing", allows())
		if got := c.knownHost("b").Allows; got == nil || len(got) > 0 {
			t.Errorf("c may %q", got)
		}
		for _, m := range said.messages() {
			if !strings.HasSuffix(m.Subject, "."+a.key()) || strings.Contains(string(m.Data), "send") {
				t.Errorf("%s: %q", m.Subject, m.Data)
			}
		}
	})
}

// TestReplayed shows that a hub changes nothing that sends again, signed as they are, all messages
// that it ever had, under their own subjects and under others: a host that is gone stays gone,
// nothing comes twice, nothing older takes the place of what is newer, and no host takes its own
// messages for another machine's.
func TestReplayed(t *testing.T) {
	t.Run("small", func(t *testing.T) {
		inBubble(t, func(t *testing.T) { replayed(t, func(o relay.Options) relay.Options { return o }) })
	})
	t.Run("large", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			replayed(t, func(o relay.Options) relay.Options {
				o.Small = 1
				o.Beat = 40 * time.Second
				return o
			})
		})
	})
}

func replayed(t *testing.T, in func(relay.Options) relay.Options) {
	f := newFleet(t)
	a, b := f.host("a"), f.host("b")
	evil, err := f.hub.Connect(t.Context(), new(seal.Keys))
	testenv.NoError(t, err)
	defer evil.Close()
	var mu sync.Mutex
	var past []*nats.Msg
	if _, err := evil.Subscribe("gt.>", func(m *nats.Msg) { mu.Lock(); defer mu.Unlock(); past = append(past, m) }); err != nil {
		t.Fatal(err)
	}
	for _, agents := range []string{"{\"name\":\"older\"}\n", "{\"name\":\"newer\"}\n"} {
		a.setAgents(agents)
		a.allowHost(b, agents[9:14])
		a.upWith(in(a.options()))
		if b.cancel == nil {
			b.upWith(in(b.options()))
		}
		eventually(t, "b knows the agents", func() bool { return b.statesOf(a, "a") })
		eventually(t, "b knows what it may", func() bool {
			h, err := peer.NewHosts(b.state).Get("a")
			return err == nil && slices.Equal(h.Allows, []string{agents[9:14]})
		})
		a.send("b", agents)
		a.event(agents)
		eventually(t, "the note is there", func() bool { return a.waiting() == 0 && b.copyOf(a, "a") })
		a.stopRelay()
	}
	time.Sleep(6 * time.Second) // until all of it is saved
	notes := len(b.notes())
	seen, err := peer.NewHosts(b.state).Get("a")
	testenv.NoError(t, err)
	mu.Lock()
	all := slices.Clone(past)
	mu.Unlock()
	slices.Reverse(all) // the oldest ones come last
	replay := func() {
		t.Helper()
		under := func(m *nats.Msg, kind string) {
			parts := strings.Split(m.Subject, ".")
			parts[2] = kind
			testenv.NoError(t, evil.Publish(strings.Join(parts, "."), m.Data))
		}
		var feed *nats.Msg
		for _, m := range all {
			was := strings.Split(m.Subject, ".")[2]
			if was == "feed" {
				feed = m
			}
			for _, kind := range []string{was, "states", "feed", "beat", "allows", "receipt", "ask", "chunk"} {
				under(m, kind)
			}
		}
		under(feed, "states")
		testenv.NoError(t, evil.Flush())
	}
	replay()
	time.Sleep(6 * time.Second) // when it would have been saved
	if h, err := peer.NewHosts(b.state).Get("a"); err != nil || h.LastSeen.After(seen.LastSeen) {
		t.Errorf("a that is gone was seen at %v, not %v; %v", h.LastSeen, seen.LastSeen, err)
	} else if h.Current.After(h.LastSeen) {
		t.Errorf("the news of a that is gone is of %v, and it was seen at %v", h.Current, h.LastSeen)
	} else if !slices.Equal(h.Allows, []string{"newer"}) || !b.statesOf(a, "a") {
		t.Errorf("b took older news: %v", h.Allows)
	}
	a.upWith(in(a.options()))
	time.Sleep(6 * time.Second) // from then on it heeds beats with its own keys
	replay()
	a.send("b", "after it")
	eventually(t, "the note is there", func() bool { return a.waiting() == 0 && b.copyOf(a, "a") })
	time.Sleep(2 * time.Second) // what the hub keeps comes in its own time
	if n := len(b.notes()); n != notes+1 {
		t.Errorf("%d notes more", n-notes)
	}
	h, err := peer.NewHosts(b.state).Get("a")
	if err != nil || !b.statesOf(a, "a") || !slices.Equal(h.Allows, []string{"newer"}) {
		t.Errorf("b has older news: %v, %v", h.Allows, err)
	}
	for _, one := range []*host{a, b} {
		if s, err := relay.ReadStatus(one.state); err != nil || s.Clone != "" || s.Refused["a message under the subject of another kind"] == 0 {
			t.Errorf("%s: %q, %v, %v", one.name, s.Clone, s.Refused, err)
		}
	}
}
