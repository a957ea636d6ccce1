package relay_test

import (
	"context"
	"gt/internal/testenv"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
)

// overheard are the messages under some subjects that a hub has forwarded.
type overheard struct {
	nc  *nats.Conn
	mu  sync.Mutex
	all []*nats.Msg
}

func (f *fleet) overhear(subject string) *overheard {
	f.t.Helper()
	nc, err := f.hub.Connect(context.Background(), new(seal.Keys))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(nc.Close)
	o := &overheard{nc: nc}
	if _, err := nc.Subscribe(subject, func(m *nats.Msg) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.all = append(o.all, m)
	}); err != nil {
		f.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		f.t.Fatal(err)
	}
	return o
}

// messages returns what came until now, and forgets it.
func (o *overheard) messages() []*nats.Msg {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.all
	o.all = nil
	return all
}

// quick makes a fleet of more than two hosts a large one, in which a host beats often.
func (h *host) quick() *host {
	o := h.options()
	o.Beat, o.Small = time.Second, 2
	return h.upWith(o)
}

// knownHost returns what this host knows of another one.
func (h *host) knownHost(name string) peer.Host {
	o, err := peer.NewHosts(h.state).Get(name)
	if err != nil {
		h.f.t.Fatal(err)
	}
	return o
}

// TestLargeFleet shows that the hosts of a larger fleet beat less often and say so, that one
// that ends is away at once and there as soon as it is back, and that one that dies without a word
// is away once its next two beats have not come.
func TestLargeFleet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		large := func(o relay.Options) relay.Options {
			o.Beat, o.Small = 40*time.Second, 2
			return o
		}
		var all []*host
		for i := range 7 {
			h := f.host("h" + strconv.Itoa(i))
			all = append(all, h.upWith(large(h.options())))
		}
		dies := f.host("dies")
		line, err := f.hub.InProcessConn()
		testenv.NoError(t, err)
		dead := hole{line, new(atomic.Bool)}
		dies.upWith(large(dies.optionsWithDialer(dead)))
		meet(t, append(all, dies)...)
		every := func(seconds int, of *host) func() bool {
			return func() bool {
				for _, h := range all {
					if h != of && h.cancel != nil && h.knownHost(of.name).Every != seconds {
						return false
					}
				}
				return true
			}
		}
		for _, h := range all {
			eventually(t, "all beat every 160 seconds", every(160, h))
		}
		eventually(t, "all beat every 160 seconds", every(160, dies))
		beats := f.overhear("gt.*.beat")
		time.Sleep(16 * time.Minute)
		if n := len(beats.messages()); n > 8*7 {
			t.Errorf("%d beats", n)
		}
		away := func(after time.Duration, of *host, want bool) {
			t.Helper()
			for _, h := range all {
				if h.cancel != nil && h != of && h.knownHost(of.name).IsAway(time.Now()) != want {
					t.Errorf("after %v %s sees %s: %v", after, h.name, of.name, h.knownHost(of.name))
				}
			}
		}
		all[3].stopRelay()
		time.Sleep(10 * time.Second)
		away(10*time.Second, all[3], true)
		all[3].upWith(large(all[3].options()))
		time.Sleep(10 * time.Second)
		away(0, all[3], false)

		dead.dead.Store(true)
		time.Sleep(3 * time.Minute)
		away(3*time.Minute, dies, false)
		time.Sleep(4 * time.Minute)
		away(7*time.Minute, dies, true)
	})
}

// TestPresence shows that a host knows at once, without asking it, that another one is there, and for how long
// the others have not been.
func TestPresence(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		asks := f.overhear("gt.*.ask.*")
		a, b := f.host("a").startRelay(), f.host("b").startRelay()
		meet(t, a, b)
		time.Sleep(time.Minute)
		a.stopRelay()
		gone := time.Now()
		time.Sleep(time.Hour)
		asks.messages()
		c := f.host("c").startRelay()
		time.Sleep(6 * time.Second) // when it was saved
		if h := c.knownHost("b"); h.IsAway(time.Now()) {
			t.Errorf("b: %+v", h)
		}
		if h := c.knownHost("a"); !h.IsAway(gone) || h.LastSeen.After(gone) || h.LastSeen.Before(gone.Add(-time.Minute)) {
			t.Errorf("a ended at %v: %+v", gone, h)
		}
		// Who asks is heard, too, and an older beat of it that the hub has says nothing then.
		asked := false
		for _, m := range asks.messages() {
			asked = asked || strings.HasSuffix(m.Subject, b.key()+".ask."+c.key())
			if strings.HasSuffix(m.Subject, c.key()+".ask."+b.key()) && !asked {
				t.Errorf("c asks: %s", m.Subject)
			}
		}
	})
}

// TestUnheard shows that a host asks one that it meets for a beat, which may have come before.
func TestUnheard(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b, l := f.host("b").startRelay(), f.liar()
		asks := f.overhear("gt." + b.key() + ".ask." + l.keys.Public())
		l.says("beat", map[string]any{"process": "x"})
		time.Sleep(time.Second)
		l.meets(b, "l")
		eventually(t, "it is asked", func() bool { return len(asks.messages()) > 0 })
	})
}

// TestReplayedBeats shows that a hub that sends the beats of a dead host again does not make it look
// alive, and that a host whose clock was set back does.
func TestReplayedBeats(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		beats := f.overhear("gt.*.beat")
		a, b := f.host("a"), f.host("b").startRelay()
		a.quick()
		meet(t, a, b)
		key := b.knownHost("a").Key
		var kept []*nats.Msg
		eventually(t, "some beats have come", func() bool {
			for _, m := range beats.messages() {
				if strings.Contains(m.Subject, key) {
					kept = append(kept, m)
				}
			}
			return len(kept) > 2 && !b.knownHost("a").LastSeen.IsZero()
		})
		a.stopRelay()
		time.Sleep(time.Second)
		b.stopRelay() // it keeps what it knows
		b.startRelay()
		died := time.Now()
		for range 3 {
			time.Sleep(time.Second)
			for _, m := range kept {
				testenv.NoError(t, beats.nc.PublishMsg(&nats.Msg{Subject: m.Subject, Data: m.Data}))
			}
		}
		time.Sleep(6 * time.Second) // when it would have been saved
		if seen := b.knownHost("a").LastSeen; seen.After(died) {
			t.Errorf("a was seen at %v, and it ended before %v", seen, died)
		}
		a.quick()
		eventually(t, "a is seen again", func() bool { return b.knownHost("a").LastSeen.After(died) })
		a.stopRelay()
		a.skew = -time.Hour
		died = time.Now()
		a.quick()
		eventually(t, "a is seen with its other clock", func() bool { return b.knownHost("a").LastSeen.After(died) })
	})
}

// TestIdle shows that two hosts have the logs of each other at once, and that an idle one receives
// less than a kilobyte a minute.
func TestIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		o := a.options()
		connected := make(chan *nats.Conn, 1)
		o.Connect = func(_ context.Context, keys *seal.Keys) (*nats.Conn, error) { // as dial does
			nc, err := nats.Connect("", nats.InProcessServer(f.hub), nats.NoReconnect(), nats.NoEcho(), nats.CustomInboxPrefix(streams.InboxPrefix(keys.Public())))
			connected <- nc
			return nc, err
		}
		a.event("one")
		b.event("two")
		began := time.Now()
		a.upWith(o)
		b.startRelay()
		meet(t, a, b)
		eventually(t, "the logs are there", func() bool { return a.copyOf(b, "b") && b.copyOf(a, "a") })
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("the logs came after %v, with the next beat", took)
		}
		time.Sleep(5 * time.Second)
		nc := <-connected
		before := nc.Stats().InBytes
		time.Sleep(80 * time.Second) // two beats of b
		if got := (nc.Stats().InBytes - before) * 60 / 80; got > 1000 {
			t.Errorf("%d bytes a minute", got)
		} else {
			t.Log(got, "bytes a minute")
		}
	})
}
