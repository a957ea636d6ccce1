package relay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"
	"github.com/nats-io/nats.go"

	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/relay"
	"gt/lib/relay/hub"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
	"gt/lib/sys/flock"
)

// TestMain has the clock of the server's caches, one for the whole process, run outside of any
// bubble: it looks at the time for all of them.
func TestMain(m *testing.M) {
	ats.Register()
	m.Run()
}

// inBubble runs a test in a time of its own, which goes on once nobody has anything to do: an
// hour takes as long as what happens in it, and a busy machine changes nothing. NATS keeps timers
// for reuse, which are of one bubble: two collections of garbage remove them.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	collect := func() { runtime.GC(); runtime.GC() }
	collect()
	defer collect()
	synctest.Test(t, test)
}

// fleet is a hub and some hosts in this process.
type fleet struct {
	t     *testing.T
	root  string
	store string
	// listen is the address of the hub, "" if hosts reach it in this process alone.
	listen string
	hub    *hub.Hub
	mu     sync.Mutex
	cut    bool // nobody reaches the hub
	hosts  int

	proxies []*proxy
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	testenv.Sample(t, 5)
	f := &fleet{t: t, root: t.TempDir()}
	f.store = filepath.Join(f.root, "hub")
	f.start()
	t.Cleanup(func() { f.stop() })
	return f
}

func (f *fleet) start() {
	f.t.Helper()
	h, err := hub.Start(hub.Options{Store: f.store, Listen: f.listen, MaxStore: 1 << 30, Now: time.Now, Warn: func(err error) { f.t.Log("hub:", err) }})
	if err != nil {
		f.t.Fatal(err)
	}
	f.mu.Lock()
	f.hub = h
	f.mu.Unlock()
}

func (f *fleet) stop() {
	f.mu.Lock()
	h, proxies := f.hub, f.proxies
	f.hub = nil
	f.mu.Unlock()
	if h == nil {
		return
	}
	// A server that ends sleeps with a lock, and time stands still if anybody waits for that.
	for _, p := range proxies {
		p.cut()
	}
	synctest.Wait()
	h.Close()
}

// host is a host of a fleet: its files, and its relay while it is up.
type host struct {
	f     *fleet
	name  string
	state place.State
	skew  time.Duration

	mu     sync.Mutex
	boxes  map[string][]string // text of the letters that were delivered, by ID
	fail   error               // what Deliver returns
	agents string              // what Instances returns
	cancel context.CancelFunc
	done   chan struct{}
	lock   *flock.Lock
	nc     *nats.Conn
}

func (f *fleet) host(name string) *host {
	f.t.Helper()
	f.hosts++
	h := &host{f: f, name: name, state: place.State(filepath.Join(f.root, "hosts", name+fmt.Sprint(f.hosts), "gt")), boxes: map[string][]string{}}
	if _, err := seal.Load(h.state, true); err != nil {
		f.t.Fatal(err)
	}
	if err := peer.NewHosts(h.state).SetOwn(peer.Host{Name: name}); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(h.stopRelay)
	return h
}

func (h *host) skewedNow() time.Time { return time.Now().Add(h.skew) }

func (h *host) options() relay.Options {
	changed := make(chan struct{}, 1)
	return relay.Options{
		State: h.state, Now: h.skewedNow, Version: "test", Changed: changed,
		Hub: func() string { return "" }, Started: func() {}, TakeBack: func(peer.Letter) error { return nil },
		Warn: func(err error) { h.f.t.Log(h.name+":", err) },
		Logs: func() map[string]string { return map[string]string{"events": h.log()} },
		Instances: func(context.Context) ([]byte, error) {
			h.mu.Lock()
			defer h.mu.Unlock()
			return []byte(h.agents), nil
		},
		Records: func() (record.Store, error) { return h.store(), nil },
		Connect: func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
			h.f.mu.Lock()
			defer h.f.mu.Unlock()
			if h.f.hub == nil || h.f.cut {
				return nil, errors.New("no hub")
			}
			nc, err := nats.Connect("", nats.InProcessServer(h.f.hub), nats.NoReconnect(), nats.NoEcho())
			h.mu.Lock()
			h.nc = nc
			h.mu.Unlock()
			return nc, err
		},
		Kinds: map[string]relay.Kind{
			"note": {Deliver: func(from relay.Sender, l peer.Letter, text io.Reader) error {
				data, err := io.ReadAll(text)
				h.mu.Lock()
				defer h.mu.Unlock()
				if err == nil && h.fail == nil {
					h.boxes[l.ID] = append(h.boxes[l.ID], string(data))
				}
				return errors.Join(err, h.fail)
			}},
		},
	}
}

// store returns the records of the host.
func (h *host) store() record.Store {
	return record.Store{Sessions: filepath.Join(filepath.Dir(string(h.state)), "sessions")}
}

func (h *host) log() string { return h.state.Path(".events.jsonl") }

func (h *host) startRelay() *host { return h.upWith(h.options()) }

func (h *host) upWith(o relay.Options) *host {
	h.f.t.Helper()
	r, lock, err := relay.New(o)
	if err != nil {
		h.f.t.Fatal(err)
	}
	var ctx context.Context
	ctx, h.cancel = context.WithCancel(context.Background())
	h.done = make(chan struct{})
	h.lock = lock
	go func() {
		defer close(h.done)
		if err := r.Run(ctx); err != nil && ctx.Err() == nil {
			h.f.t.Log(h.name, "ended:", err)
		}
	}()
	return h
}

func (h *host) stopRelay() {
	if h.cancel == nil {
		return
	}
	h.cancel()
	<-h.done
	h.lock.Unlock()
	h.cancel = nil
}

func (h *host) event(text string) {
	h.f.t.Helper()
	f, err := os.OpenFile(h.log(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		h.f.t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "{\"text\":%q}\n", text)
}

func (h *host) send(to, text string) peer.Letter {
	h.f.t.Helper()
	l, err := peer.OutboxOf(h.state).Put(to, peer.Note, []byte(text), time.Now())
	if err != nil {
		h.f.t.Fatal(err)
	}
	return l
}

// notes returns the texts of the notes that came, sorted. One that came twice is an error.
func (h *host) notes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for id, texts := range h.boxes {
		if len(texts) != 1 {
			h.f.t.Errorf("%s: %s came %d times", h.name, id, len(texts))
		}
		all = append(all, texts[0])
	}
	slices.Sort(all)
	return all
}

func (h *host) waiting() int {
	all, err := peer.OutboxOf(h.state).ReadLetters()
	if err != nil {
		h.f.t.Error(err)
	}
	return len(all)
}

// setAgents makes these the agents of the host.
func (h *host) setAgents(agents string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.agents = agents
}

// statesOf reports whether this host knows another host's agents.
func (h *host) statesOf(o *host, as string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	got, _ := os.ReadFile(peer.NewHosts(h.state).Path(as, "instances.jsonl"))
	return string(got) == o.agents
}

// copyOf reports whether this host's copy of another host's log is that log.
func (h *host) copyOf(o *host, as string) bool {
	want, err := os.ReadFile(o.log())
	if err != nil {
		h.f.t.Fatal(err)
	}
	got, _ := os.ReadFile(peer.NewHosts(h.state).Path(as, ".events.jsonl"))
	return bytes.Equal(got, want)
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("after three minutes not: " + what)
		}
	}
}

// TestAnotherHub shows that a relay follows when its host joins another hub, also while it
// connects or waits for one that does not answer, and ends when its host leaves its fleet.
func TestAnotherHub(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.host("a")
		var connects atomic.Int64
		var hub atomic.Value
		hub.Store("one")
		o := a.options()
		connect := o.Connect
		o.Hub = func() string { return hub.Load().(string) }
		o.Connect = func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
			switch connects.Add(1); o.Hub() {
			case "":
				return nil, relay.ErrLeft
			case "silent":
				<-ctx.Done()
				return nil, ctx.Err()
			case "left meanwhile":
				hub.Store("two")
			}
			return connect(ctx, keys)
		}
		a.upWith(o)
		status := func() relay.Status { s, _ := relay.ReadStatus(a.state); return s }
		eventually(t, "it is connected", func() bool { return !status().Connected.IsZero() })
		hub.Store("silent")
		eventually(t, "it connects to the other one", func() bool { return connects.Load() == 2 })
		hub.Store("left meanwhile")
		eventually(t, "it is connected to the one after that", func() bool { return connects.Load() == 4 && !status().Connected.IsZero() })
		hub.Store("")
		<-a.done
		if s := status(); !s.Connected.IsZero() {
			t.Errorf("%+v", s)
		}
	})
}

// TestTwoHosts shows that letters and logs arrive in both directions, and that a letter
// leaves its outbox once it is there.
func TestTwoHosts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		a.event("one")
		a.startRelay()
		b.startRelay()
		eventually(t, "they know each other", func() bool {
			x, _ := peer.NewHosts(a.state).Get("b")
			y, _ := peer.NewHosts(b.state).Get("a")
			return x.Box != "" && y.Box != ""
		})
		a.send("b", "hello")
		b.send("a", "good day")
		a.send("b", strings.Repeat("long ", 400_000))
		a.event("two")
		eventually(t, "the letters are there", func() bool {
			return len(b.notes()) == 2 && slices.Contains(b.notes(), "hello") && slices.Equal(a.notes(), []string{"good day"})
		})
		eventually(t, "the outboxes are empty", func() bool { return a.waiting() == 0 && b.waiting() == 0 })
		eventually(t, "the log is copied", func() bool { return b.copyOf(a, "a") })
	})
}
