package relay_test

import (
	"context"
	"encoding/json"
	"gt/internal/testenv"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

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
	nc, err := f.hub.Connect(context.Background(), nil)
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

// of returns what this host knows of another one.
func (h *host) of(name string) peer.Host {
	o, err := peer.Of(h.state).Get(name)
	if err != nil {
		h.f.t.Fatal(err)
	}
	return o
}

// TestLargeFleet shows that the hosts of a larger fleet beat less often and say so, that one
// that dies is missed by one of the others and then by all, and that it counts as there as soon
// as it is back.
func TestLargeFleet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		var all []*host
		for i := range 8 {
			all = append(all, f.host("h"+strconv.Itoa(i)).quick())
		}
		meet(t, all...)
		every := func(seconds int, among []*host, of *host) bool {
			for _, h := range among {
				if h != of && h.of(of.name).Every != seconds {
					return false
				}
			}
			return true
		}
		eventually(t, "all beat every four seconds", func() bool {
			for _, h := range all {
				if !every(4, all, h) {
					return false
				}
			}
			return true
		})
		beats := f.overhear("gt.*.beat")
		eventually(t, "there are few beats in eight seconds", func() bool {
			beats.messages()
			time.Sleep(8 * time.Second)
			return len(beats.messages()) <= 8*3 // 64 if each beat every second
		})
		dead := all[3]
		dead.down()
		eventually(t, "all miss it and no other", func() bool { // on a busy machine, one that is there can be missed for a moment
			for _, h := range all {
				for _, other := range all {
					if h != dead && other != h && (h.of(other.name).Every == 40) != (other == dead) {
						return false
					}
				}
			}
			return true
		})
		dead.quick()
		eventually(t, "none misses it", func() bool { return every(4, all, dead) })
	})
}

// TestMissed shows that a host that another one wrongly misses says that it is there.
func TestMissed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		l := f.liar()
		a := f.host("a")
		keys, err := seal.Load(a.state, false)
		testenv.Must(t, err)
		beats := f.overhear("gt." + keys.Public() + ".beat")
		o := a.options()
		o.Beat, o.Small = 20*time.Second, 20
		a.upWith(o)
		l.meets(a, "l")
		eventually(t, "it beats", func() bool { return len(beats.messages()) > 0 })
		time.Sleep(11 * time.Second)
		began := time.Now()
		l.says("beat", map[string]any{"every": 3600, "missed": []string{keys.Public()}})
		eventually(t, "it beats", func() bool { return len(beats.messages()) > 0 })
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it was missed, and beat %v later", took)
		}
	})
}

// TestReplayedBeats shows that a hub that sends the beats of a dead host again does not make it look
// alive, and that a host whose clock was set back does.
func TestReplayedBeats(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		beats := f.overhear("gt.*.beat")
		a, b := f.host("a"), f.host("b").up()
		a.quick()
		meet(t, a, b)
		key := b.of("a").Key
		var kept []*nats.Msg
		eventually(t, "some beats have come", func() bool {
			for _, m := range beats.messages() {
				if strings.Contains(m.Subject, key) {
					kept = append(kept, m)
				}
			}
			return len(kept) > 2 && !b.of("a").LastSeen.IsZero()
		})
		a.down()
		time.Sleep(time.Second)
		b.down() // it keeps what it knows
		b.up()
		died := time.Now()
		for range 3 {
			time.Sleep(time.Second)
			for _, m := range kept {
				testenv.Must(t, beats.nc.PublishMsg(&nats.Msg{Subject: m.Subject, Data: m.Data}))
			}
		}
		time.Sleep(6 * time.Second) // when it would have been saved
		if seen := b.of("a").LastSeen; seen.After(died) {
			t.Errorf("a was seen at %v, and it ended before %v", seen, died)
		}
		a.quick()
		eventually(t, "a is seen again", func() bool { return b.of("a").LastSeen.After(died) })
		a.down()
		a.skew = -time.Hour
		died = time.Now()
		a.quick()
		eventually(t, "a is seen with its other clock", func() bool { return b.of("a").LastSeen.After(died) })
	})
}

// TestOlderHost shows that hosts of a large fleet beat as often as an older one among them
// expects, and that it gets no question that it does not understand.
func TestOlderHost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		var all []*host
		for i := range 4 {
			all = append(all, f.host("h"+strconv.Itoa(i)).quick())
		}
		l := f.liar()
		asks := f.overhear("gt.*.ask." + l.keys.Public())
		meet(t, all...)
		eventually(t, "the fleet is a large one", func() bool { return all[0].of("h1").Every == 2 })
		for _, h := range all {
			l.meets(h, "l")
		}
		beats := f.overhear("gt.*.beat")
		eventually(t, "they beat every second", func() bool {
			l.says("beat", map[string]any{"process": "x"})
			for _, m := range beats.messages() {
				message, err := seal.Parse(m.Data)
				var b struct{ Every int }
				if err != nil || json.Unmarshal(message.PlainBody(), &b) != nil {
					t.Fatal(err)
				}
				if message.From != l.keys.Public() && b.Every == 1 {
					return true
				}
			}
			return false
		})
		if n := len(asks.messages()); n > 0 {
			t.Errorf("%d questions", n)
		}
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
			nc, err := nats.Connect("", nats.InProcessServer(f.hub), nats.NoReconnect(), nats.NoEcho(), nats.CustomInboxPrefix(streams.Inbox(keys.Public())))
			connected <- nc
			return nc, err
		}
		a.event("one")
		b.event("two")
		began := time.Now()
		a.upWith(o)
		b.up()
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
