package relay_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// desk is the work of a host, as its sessions see it.
type desk struct {
	mu    sync.Mutex
	held  map[string]*peer.Try // by letter
	texts map[string]string
	late  []string // letters whose sessions were told

	refuses, refused int // how many offers it refuses, and has refused
	refusedAt        time.Time
	again            time.Duration // how long after a refusal it was asked again
}

// working is a host with some sessions of the template worker. Its desk outlives its relay.
func (h *host) working(d *desk, sessions int, lostAfter time.Duration) *host {
	o := h.options()
	o.LostAfter = lostAfter
	o.Instances = func(context.Context) ([]byte, error) {
		var lines strings.Builder
		for i := range sessions {
			fmt.Fprintf(&lines, "{\"name\":\"worker-%d\",\"status\":\"idle\",\"template\":\"worker\",\"routable\":true}\n", i)
		}
		return []byte(lines.String()), nil
	}
	o.Kinds[peer.Offer] = relay.Kind{Deliver: func(from relay.Sender, l peer.Letter, text io.Reader) error {
		data, err := io.ReadAll(text)
		if err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.refused < d.refuses {
			d.refused, d.refusedAt = d.refused+1, time.Now()
			return &relay.Refused{Reason: "there is no room"}
		}
		if d.held == nil {
			d.held, d.texts = map[string]*peer.Try{}, map[string]string{}
		}
		if d.held[l.ID] == nil {
			if d.refused > 0 && len(d.held) == 0 {
				d.again = time.Since(d.refusedAt)
			}
			_, subject, _ := strings.Cut(string(data), "Subject: ")
			d.held[l.ID], d.texts[l.ID] = &peer.Try{Letter: l.ID, State: peer.Open}, strings.TrimSpace(subject)
		}
		return nil
	}}
	o.FindWork = func(_ peer.Host, l peer.Lease) (peer.Try, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		t := d.held[l.Letter]
		if t == nil {
			return peer.Try{Letter: l.Letter, State: peer.Missing}, nil
		}
		if l.Recall && t.State == peer.Open {
			t.State = peer.Recalled
		}
		if l.Late && t.State == peer.Claimed && !slices.Contains(d.late, l.Letter) {
			d.late = append(d.late, l.Letter)
		}
		return *t, nil
	}
	return h.upWith(o)
}

// allowHost has this host allow another one something, before it knows that host.
func (h *host) allowHost(o *host, what ...string) *host {
	h.f.t.Helper()
	keys, err := seal.Load(o.state, false)
	if err == nil {
		err = peer.NewHosts(h.state).SetTrust(o.name, peer.Trust{Key: keys.Public(), Allowed: what})
	}
	if err != nil {
		h.f.t.Fatal(err)
	}
	return h
}

// claims has a session of the host claim one work, once it is there.
func (d *desk) claims(t *testing.T, host string) {
	t.Helper()
	eventually(t, host+" has it", func() bool { return len(d.step(peer.Open, peer.Claimed)) == 1 })
}

// holds returns how many works the host was offered and took.
func (d *desk) holds() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.held)
}

// step changes the state of all work in a state, and returns the subjects.
func (d *desk) step(from, to string) (subjects []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, t := range d.held {
		if t.State == from {
			t.State, t.Session = to, "worker-0"
			subjects = append(subjects, d.texts[id])
		}
	}
	return subjects
}

func (h *host) giveAny(subjects ...string) {
	h.f.t.Helper()
	for _, s := range subjects {
		if _, err := peer.OutboxOf(h.state).Put(peer.AnyHost, peer.Work, []byte("To: <worker@any>\nSubject: "+s+"\n\n"), time.Now()); err != nil {
			h.f.t.Fatal(err)
		}
	}
}

// tries returns the offers of this host's works.
func (h *host) tries() (all []peer.Tries) {
	found, err := peer.OutboxOf(h.state).AllTries()
	if err != nil {
		h.f.t.Fatal(err)
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[id])
	}
	return all
}

// rests waits until all work that this host gave is done.
func (h *host) rests(t *testing.T) {
	t.Helper()
	eventually(t, "all is done", func() bool { return h.waiting() == 0 && len(h.tries()) == 0 })
}

func (h *host) knowsWorkers(t *testing.T, names ...string) {
	t.Helper()
	eventually(t, "the workers are known", func() bool {
		for _, name := range names {
			if data, err := os.ReadFile(peer.NewHosts(h.state).Path(name, "instances.jsonl")); err != nil || len(data) == 0 {
				return false
			}
		}
		return true
	})
}

// TestAny shows that each work is done once, by one of several hosts, that a host has no more
// of it than sessions, and that the giver's own sessions count as well.
func TestAny(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a"), f.host("b"), f.host("c")
		desks := []*desk{{}, {}, {}}
		a.working(desks[0], 1, 20*time.Second)
		b.allowHost(a, peer.Work).working(desks[1], 2, 0)
		c.allowHost(a, peer.Work).working(desks[2], 1, 0)
		meet(t, a, b, c)
		a.knowsWorkers(t, "b", "c")
		var want, got []string
		for i := range 7 {
			want = append(want, fmt.Sprint("work ", i))
		}
		a.giveAny(want...)
		eventually(t, "all is done", func() bool {
			for i, d := range desks {
				claimed := d.step(peer.Open, peer.Claimed)
				if len(claimed) > []int{1, 2, 1}[i] {
					t.Errorf("host %d got %v", i, claimed)
				}
				got = append(got, claimed...)
				d.step(peer.Claimed, peer.Finished)
			}
			time.Sleep(100 * time.Millisecond)
			return a.waiting() == 0 && len(a.tries()) == 0
		})
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for i, d := range desks {
			if len(d.held) == 0 {
				t.Errorf("host %d got nothing", i)
			}
		}
	})
}

// TestAnyLost shows that another host gets the work of one that is not heard, and that the
// first one is told that it is late. A host that had not begun does not begin any more.
func TestAnyLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a"), f.host("b"), f.host("c")
		first, second := new(desk), new(desk)
		const lost = 6 * time.Second
		a.working(new(desk), 0, lost)
		b.allowHost(a, peer.Work).working(first, 2, 0)
		meet(t, a, b)
		a.knowsWorkers(t, "b")
		a.giveAny("begun", "open")
		eventually(t, "b has both", func() bool { return first.holds() == 2 })
		first.mu.Lock()
		for id, t := range first.held {
			if first.texts[id] == "begun" {
				t.State = peer.Claimed
			}
		}
		first.mu.Unlock()
		eventually(t, "a knows", func() bool {
			return slices.ContainsFunc(a.tries(), func(t peer.Tries) bool { return t.LastTry().State == peer.Claimed })
		})
		b.stopRelay()
		c.allowHost(a, peer.Work).working(second, 5, 0)
		eventually(t, "c has both", func() bool { return second.holds() == 2 })
		second.step(peer.Open, peer.Claimed)
		b.allowHost(a, peer.Work).working(first, 2, 0)
		eventually(t, "b is told", func() bool { first.mu.Lock(); defer first.mu.Unlock(); return len(first.late) == 1 })
		if got := first.step(peer.Open, peer.Claimed); len(got) > 0 {
			t.Errorf("b has %q still", got)
		}
		first.step(peer.Claimed, peer.Finished)
		eventually(t, "a knows that it was late", func() bool {
			return slices.ContainsFunc(a.tries(), func(t peer.Tries) bool { return t.Late == "b" })
		})
		if n := a.waiting(); n != 2 {
			t.Errorf("%d works wait: what came late counted", n)
		}
		second.step(peer.Claimed, peer.Finished)
		a.rests(t)
	})
}

// TestAnyLate shows that a work is not begun again that a host has done that was not heard.
func TestAnyLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a"), f.host("b"), f.host("c")
		first, second := new(desk), new(desk)
		a.working(new(desk), 0, 6*time.Second)
		b.allowHost(a, peer.Work).working(first, 1, 0)
		meet(t, a, b)
		a.knowsWorkers(t, "b")
		a.giveAny("x")
		first.claims(t, "b")
		b.stopRelay()
		first.step(peer.Claimed, peer.Finished) // it was cut off
		c.allowHost(a, peer.Work).working(second, 1, 0)
		eventually(t, "c has it", func() bool { return second.holds() == 1 })
		b.allowHost(a, peer.Work).working(first, 1, 0)
		a.rests(t)
		if got := second.step(peer.Open, peer.Claimed); len(got) > 0 {
			t.Errorf("c begins %q", got)
		}
	})
}

// TestAnyTakenBack shows that work that was taken back is not begun.
func TestAnyTakenBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		d := new(desk)
		a.working(new(desk), 0, 20*time.Second)
		b.allowHost(a, peer.Work).working(d, 1, 0)
		meet(t, a, b)
		a.knowsWorkers(t, "b")
		a.giveAny("x")
		eventually(t, "b has it", func() bool { return d.holds() == 1 })
		all, err := peer.OutboxOf(a.state).ReadLetters()
		testenv.NoError(t, err)
		for _, l := range all {
			if l.Host == peer.AnyHost {
				testenv.NoError(t, peer.OutboxOf(a.state).Remove(l))
			}
		}
		a.rests(t)
		if got := d.step(peer.Open, peer.Claimed); len(got) > 0 {
			t.Errorf("b begins %q", got)
		}
	})
}

// TestAnyGiverDies shows that each work is done once although its giver dies again and again.
func TestAnyGiverDies(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a"), f.host("b"), f.host("c")
		none, desks := new(desk), []*desk{{}, {}}
		a.working(none, 0, time.Minute)
		b.allowHost(a, peer.Work).working(desks[0], 2, 0)
		c.allowHost(a, peer.Work).working(desks[1], 2, 0)
		meet(t, a, b, c)
		a.knowsWorkers(t, "b", "c")
		var want, got []string
		for i := range 12 {
			want = append(want, fmt.Sprintf("work %02d", i))
		}
		a.giveAny(want...)
		n := 0
		eventually(t, "all is done", func() bool {
			if n++; n < 60 && n%3 == 0 {
				a.stopRelay()
				a.working(none, 0, 20*time.Second)
			}
			for _, d := range desks {
				got = append(got, d.step(peer.Open, peer.Claimed)...)
				d.step(peer.Claimed, peer.Finished)
			}
			time.Sleep(50 * time.Duration(1+n%5) * time.Millisecond)
			return a.waiting() == 0 && len(a.tries()) == 0
		})
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}

// TestAnyRefused shows that a host that refused work is asked again soon, and one that does not
// allow it only once it does.
func TestAnyRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a"), f.host("b"), f.host("c")
		first, second := &desk{refuses: 1}, new(desk)
		a.working(new(desk), 0, 20*time.Second)
		b.allowHost(a, peer.Work).working(first, 1, 0)
		c.allowHost(a, "peek").working(second, 5, 0)
		meet(t, a, b, c)
		a.knowsWorkers(t, "b", "c")
		a.giveAny("x")
		first.claims(t, "b")
		if first.again < 10*time.Second {
			t.Errorf("b was asked again after %v", first.again)
		}
		if second.holds() > 0 {
			t.Error("c was asked")
		}
		c.allowHost(a, peer.Work)
		a.giveAny("y")
		second.claims(t, "c")
		first.step(peer.Claimed, peer.Finished)
		second.step(peer.Claimed, peer.Finished)
		a.rests(t)
	})
}
