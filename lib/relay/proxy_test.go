package relay_test

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"gt/internal/testenv"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
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

var storm = flag.Duration("storm", 5*time.Second, "how long TestStorm cuts and delays connections")

// proxy forwards connections to a hub. Until it is calm it delays what goes through, cuts
// connections, and holds up one direction until it cuts it: what was sent is there, and its
// sender does not know.
type proxy struct {
	f     *fleet
	slow  time.Duration // for which each piece is held up
	mu    sync.Mutex
	dice  *rand.Rand
	calm  bool
	conns []net.Conn
	cuts  int
	wait  sync.WaitGroup
}

func (f *fleet) proxy(dice *rand.Rand) *proxy {
	p := &proxy{f: f, dice: dice, calm: dice == nil}
	f.mu.Lock()
	f.proxies = append(f.proxies, p)
	f.mu.Unlock()
	f.t.Cleanup(func() {
		p.cut()
		p.wait.Wait()
	})
	return p
}

// Dial makes the proxy a dialer.
func (p *proxy) Dial(string, string) (net.Conn, error) {
	p.f.mu.Lock()
	h := p.f.hub
	p.f.mu.Unlock()
	if h == nil {
		return nil, errors.New("no hub")
	}
	up, err := h.InProcessConn()
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	p.mu.Lock()
	p.conns = append(p.conns, theirs, up)
	p.mu.Unlock()
	p.wait.Go(func() { p.pump(up, theirs) })
	p.wait.Go(func() { p.pump(theirs, up) })
	return ours, nil
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// calms ends the faults. Connections of which something was held up end.
func (p *proxy) calms() {
	p.mu.Lock()
	p.calm = true
	p.mu.Unlock()
	p.cut()
}

// fault returns for how long the next piece is held up, and whether it is the last one.
func (p *proxy) fault() (hold time.Duration, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calm {
		return 0, false
	}
	switch n := p.dice.IntN(150); {
	case n == 0:
		p.cuts++
		return 0, true
	case n == 1: // a partition of this direction
		p.cuts++
		return time.Duration(p.dice.IntN(1500)) * time.Millisecond, true
	case n < 30:
		return time.Duration(p.dice.IntN(30)) * time.Millisecond, false
	}
	return 0, false
}

// pump takes what comes at once, so that no writer waits with a lock that others want: time
// stands still meanwhile.
func (p *proxy) pump(to, from net.Conn) {
	pieces := make(chan []byte, 1<<14)
	p.wait.Go(func() {
		defer close(pieces)
		for {
			buf := make([]byte, 4096)
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			pieces <- buf[:n]
		}
	})
	defer to.Close()
	defer from.Close()
	for piece := range pieces {
		hold, last := p.fault()
		time.Sleep(p.slow + hold)
		if last {
			return
		}
		if _, err := to.Write(piece); err != nil {
			return
		}
	}
}

// duplicateMessages has a hub send messages once more, now or later.
func duplicateMessages(t *testing.T, f *fleet, dice *rand.Rand) (stop func()) {
	t.Helper()
	nc, err := f.hub.Connect(context.Background(), new(seal.Keys))
	testenv.NoError(t, err)
	var mu sync.Mutex
	var again sync.WaitGroup
	stopped := false
	if _, err := nc.Subscribe("gt.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		n, after := dice.IntN(3), time.Duration(dice.IntN(800))*time.Millisecond
		if n > 0 || stopped {
			return
		}
		again.Go(func() {
			time.Sleep(after)
			_ = nc.Publish(m.Subject, m.Data)
		})
	}); err != nil {
		t.Fatal(err)
	}
	return func() {
		mu.Lock()
		stopped = true // none is added while Wait waits
		mu.Unlock()
		again.Wait()
		_ = nc.Flush()
		nc.Close()
	}
}

// optionsWithDialer returns the options of a host that reaches the hub through a dialer.
func (h *host) optionsWithDialer(d nats.CustomDialer) relay.Options {
	o := h.options()
	o.Connect = func(_ context.Context, keys *seal.Keys) (*nats.Conn, error) {
		return nats.Connect("", nats.SetCustomDialer(d), nats.NoReconnect(), nats.NoEcho(), nats.CustomInboxPrefix(streams.InboxPrefix(keys.Public())))
	}
	return o
}

// key returns the public key of the host.
func (h *host) key() string {
	h.f.t.Helper()
	keys, err := seal.Load(h.state, false)
	if err != nil {
		h.f.t.Fatal(err)
	}
	return keys.Public()
}

// TestStorm has two to five hosts send each other notes, commands, states and logs while the
// connections to their hub are cut, delayed and held up, the hub sends what it has twice, and
// ends in between. At rest each note is once in its box, each command was carried out once or
// not at all, and each copy is as its original.
func TestStorm(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		dice := rand.New(rand.NewPCG(seed, 0))
		child := func() *rand.Rand { return rand.New(rand.NewPCG(dice.Uint64(), 0)) }
		f := newFleet(t)
		stop := duplicateMessages(t, f, child())
		var all []*host
		var proxies []*proxy
		var mu sync.Mutex
		done := map[string]int{}
		for n := range 2 + dice.IntN(4) {
			h, p := f.host(string(rune('a'+n))), f.proxy(child())
			o := h.optionsWithDialer(p)
			o.Kinds[peer.Command] = relay.Kind{Deliver: func(from relay.Sender, l peer.Letter, text io.Reader) error {
				if from.Sent.IsZero() {
					return fmt.Errorf("%s: the clock of %s is not known", h.name, from.Name)
				}
				mu.Lock()
				defer mu.Unlock()
				done[l.ID]++
				return nil
			}}
			all, proxies = append(all, h.upWith(o)), append(proxies, p)
		}
		want := map[*host][]string{}
		n, commands := 0, 0
		for end := time.Now().Add(*storm); time.Now().Before(end); time.Sleep(time.Duration(dice.IntN(20)) * time.Millisecond) {
			from, to := all[dice.IntN(len(all))], all[dice.IntN(len(all))]
			n++
			switch what := dice.IntN(100); {
			case what < 50 && from != to:
				text := fmt.Sprintf("%s to %s %06d", from.name, to.name, n)
				if what == 0 { // in parts
					text += strings.Repeat("long ", 200_000)
				}
				from.send(to.name, text)
				want[to] = append(want[to], text)
			case what < 60 && from != to:
				if _, err := peer.OutboxOf(from.state).Put(to.name, peer.Command, []byte("{}"), time.Now()); err != nil {
					t.Fatal(err)
				}
				commands++
			case what < 70:
				from.setAgents(fmt.Sprintf("{\"name\":\"x\",\"title\":\"%d\"}\n", n))
			case what < 98:
				from.event(strings.Repeat(fmt.Sprint(n, " "), 1+dice.IntN(2000)))
			case what == 98:
				stop()
				f.stop()
				time.Sleep(time.Duration(dice.IntN(300)) * time.Millisecond)
				f.start()
				stop = duplicateMessages(t, f, child())
			}
		}
		cuts := 0
		for _, p := range proxies {
			p.calms()
			cuts += p.cuts
		}
		stop()
		for _, h := range all {
			h.event("last")
		}
		began := time.Now()
		t.Cleanup(func() {
			if !t.Failed() {
				return
			}
			for _, h := range all {
				status, _ := relay.ReadStatus(h.state)
				t.Logf("%s: %d letters wait, %d of %d notes are here; %+v", h.name, h.waiting(), len(h.notes()), len(want[h]), status)
				for _, o := range all {
					if o != h {
						t.Logf("%s of %s: log %v, states %v", h.name, o.name, h.copyOf(o, o.name), h.statesOf(o, o.name))
					}
				}
			}
		})
		eventually(t, "everything is at rest", func() bool {
			for _, h := range all {
				if h.waiting() > 0 || !slices.Equal(h.notes(), slices.Sorted(slices.Values(want[h]))) {
					return false
				}
				for _, o := range all {
					if o != h && (!h.copyOf(o, o.name) || !h.statesOf(o, o.name)) {
						return false
					}
				}
			}
			return true
		})
		carried := 0
		mu.Lock()
		defer mu.Unlock()
		for id, times := range done {
			if carried++; times != 1 {
				t.Errorf("the command %s was carried out %d times", id, times)
			}
		}
		if carried != commands { // none is too late here
			t.Errorf("%d of %d commands were carried out", carried, commands)
		}
		t.Logf("%d hosts, %d steps, %d cuts, %d commands; at rest after %v", len(all), n, cuts, commands, time.Since(began).Round(time.Millisecond))
	})
}

// TestNewConnection shows that a new connection to the same hub goes on where the last one was:
// what was taken is not read again, and what the hub has is not sent again. Over connections
// that end each second or two, nothing new would be reached.
func TestNewConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		pa, pb := f.proxy(nil), f.proxy(nil)
		a.upWith(a.optionsWithDialer(pa))
		b.upWith(b.optionsWithDialer(pb))
		meet(t, a, b)
		subject := "gt." + a.key() + ".to." + b.key()
		sent, taken := f.overhear(subject), f.overhear(streams.InboxPrefix(b.key())+".>")
		began := time.Now()
		many := func() (all []peer.Letter) {
			for _, text := range numbered(30) {
				all = append(all, a.send("b", text))
			}
			return all
		}
		// passed waits until letters were overheard, and returns how many were more than once.
		passed := func(o *overheard, times map[string]int, letters ...peer.Letter) (again int) {
			eventually(t, "the letters pass", func() bool {
				for _, m := range o.messages() {
					if m.Subject != subject {
						continue
					}
					message, err := seal.Parse(m.Data)
					testenv.NoError(t, err)
					times[message.ID]++
				}
				return !slices.ContainsFunc(letters, func(l peer.Letter) bool { return times[l.ID] == 0 })
			})
			for _, n := range times {
				again += n - 1
			}
			return again
		}
		few := func(what string, n int) {
			if n > 5 && time.Since(began) < 50*time.Second { // what is not there after a minute is sent again
				t.Errorf("%d letters were %s twice", n, what)
			}
		}

		times := map[string]int{}
		passed(taken, times, many()...)
		eventually(t, "the letters are there", func() bool { return a.waiting() == 0 })
		pb.cut()
		few("taken", passed(taken, times, a.send("b", "one more")))

		b.stopRelay()
		times = map[string]int{}
		passed(sent, times, many()...)
		passed(sent, times, a.send("b", "the last one"))
		pa.cut()
		few("sent", passed(sent, times, a.send("b", "by a new connection")))
	})
}

// hole is a connection that can become one to nowhere, as behind a router that has forgotten it.
type hole struct {
	net.Conn
	dead *atomic.Bool
}

func (h hole) Write(p []byte) (int, error) {
	if h.dead.Load() {
		return len(p), nil
	}
	return h.Conn.Write(p)
}

func (h hole) Read(p []byte) (int, error) {
	for {
		n, err := h.Conn.Read(p)
		if err != nil || !h.dead.Load() {
			return n, err
		}
	}
}

// Dial makes a hole a dialer, of itself.
func (h hole) Dial(string, string) (net.Conn, error) { return h, nil }

// TestDeadConnection shows that a host notices a connection over which nothing comes any more:
// once it has something to send, and once its machine has slept.
func TestDeadConnection(t *testing.T) {
	for what, slept := range map[string]time.Duration{"something to send": 0, "slept": time.Hour} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := newFleet(t)
				a, b := f.host("a"), f.host("b").startRelay()
				var mu sync.Mutex
				var last hole
				connections := 0
				var ahead atomic.Int64
				o := a.options()
				o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				o.Connect = func(context.Context, *seal.Keys) (*nats.Conn, error) {
					c, err := f.hub.InProcessConn()
					if err != nil {
						return nil, err
					}
					mu.Lock()
					defer mu.Unlock()
					connections++
					last = hole{c, new(atomic.Bool)}
					return nats.Connect("", nats.SetCustomDialer(last), nats.NoReconnect(), nats.NoEcho())
				}
				a.upWith(o)
				meet(t, a, b)
				mu.Lock()
				last.dead.Store(true)
				mu.Unlock()
				if ahead.Store(int64(slept)); slept == 0 {
					a.send("b", "hello")
				}
				died := time.Now()
				eventually(t, "it has connected again", func() bool { mu.Lock(); defer mu.Unlock(); return connections == 2 })
				if took := time.Since(died); took > time.Minute {
					t.Errorf("it noticed after %v", took)
				}
				if slept == 0 {
					eventually(t, "the note is there", func() bool { return len(b.notes()) == 1 })
				}
			})
		})
	}
}

// TestManyLetters shows that a host takes what comes while it has many letters to send.
func TestManyLetters(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		a.stopRelay()
		const many = 100 // of a tenth of a second each
		for _, text := range numbered(many) {
			a.send("b", text)
		}
		p := f.proxy(nil)
		p.slow = 50 * time.Millisecond
		a.upWith(a.optionsWithDialer(p))
		eventually(t, "the first one is there", func() bool { return len(b.notes()) > 0 })
		b.send("a", "hello")
		eventually(t, "the answer is there", func() bool { return len(a.notes()) > 0 })
		if n := len(b.notes()); n >= streams.MaxLetters {
			t.Errorf("it was taken after %d letters", n)
		}
	})
}

// randomText returns a text of so many bytes that nothing makes shorter.
func randomText(size int) string {
	text := make([]byte, size/2)
	for i := range text {
		text[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(text)
}

// TestSlowLine shows that a host on a line of 200 kB/s takes the logs that wait for it at the hub
// over one connection, though far more of them waits than passes before it wants an answer, and
// that it opens its places before it reads from any.
func TestSlowLine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a").startRelay(), f.host("b"), f.host("c").startRelay()
		meet(t, a, c)
		for range 72 {
			a.event(randomText(128 << 10))
		}
		whole, err := os.Stat(a.log())
		testenv.NoError(t, err)
		copied := func(h *host) func() bool { // to read a copy each time takes long
			return func() bool {
				info, err := os.Stat(peer.NewHosts(h.state).Path("a", ".events.jsonl"))
				return err == nil && info.Size() == whole.Size() && h.copyOf(a, "a")
			}
		}
		eventually(t, "the hub has the log", copied(c))
		p := f.proxy(nil)
		p.slow = 20 * time.Millisecond // for 4096 bytes
		o := b.optionsWithDialer(p)
		connect := o.Connect
		var connections atomic.Int32
		o.Connect = func(ctx context.Context, keys *seal.Keys) (*nats.Conn, error) {
			connections.Add(1)
			return connect(ctx, keys)
		}
		asked := f.overhear("$JS.API.CONSUMER.>")
		b.upWith(o)
		eventually(t, "the log is there", copied(b))
		if n := connections.Load(); n != 1 {
			t.Errorf("it took %d connections", n)
		}
		opened, reads := 0, false
		for _, m := range asked.messages() {
			if !strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.CREATE.") {
				reads = true
			} else if opened++; reads {
				t.Errorf("it read before %s", m.Subject)
			}
		}
		if opened != 4 || !reads {
			t.Errorf("it opened %d places; it read: %v", opened, reads)
		}
	})
}

// TestSmallBeforeLarge shows that on a line of 100 kB/s, on which logs and long letters come, a note,
// and the receipt of one, are there within seconds.
func TestSmallBeforeLarge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a").startRelay(), f.host("b"), f.host("c").startRelay()
		meet(t, a, c)
		for range 80 {
			a.event(randomText(128 << 10))
		}
		eventually(t, "the hub has the log", func() bool {
			info, err := os.Stat(peer.NewHosts(c.state).Path("a", ".events.jsonl"))
			return err == nil && info.Size() > 10<<20
		})
		p := f.proxy(nil)
		p.slow = 40 * time.Millisecond // for 4096 bytes
		b.upWith(b.optionsWithDialer(p))
		meet(t, a, b)
		for range 4 {
			a.send("b", "long "+randomText(1<<20))
		}
		for n := range 4 {
			time.Sleep(10 * time.Second)
			began := time.Now()
			a.send("b", fmt.Sprint("note ", n))
			eventually(t, "the note is there", func() bool { return slices.Contains(b.notes(), fmt.Sprint("note ", n)) })
			note := time.Since(began)
			l := b.send("a", fmt.Sprint("back ", n))
			began = time.Now()
			eventually(t, "its receipt is there", func() bool { _, waits, _ := peer.OutboxOf(b.state).Find("a", l.ID); return !waits })
			receipt := time.Since(began)
			if note > 5*time.Second || receipt > 5*time.Second {
				t.Errorf("the note came after %v, the receipt after %v", note, receipt)
			}
		}
		eventually(t, "the long letters are there", func() bool { return len(b.notes()) == 8 })
	})
}
