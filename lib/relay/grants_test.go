package relay_test

import (
	"errors"
	"gt/internal/testenv"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/relay/streams"
	"gt/lib/state/peer"
)

// inLarge makes each fleet a large one, in which a host beats often.
func inLarge(o relay.Options) relay.Options {
	o.Beat, o.Small = time.Second, 1
	return o
}

func (h *host) upInLarge() *host { return h.upWith(inLarge(h.options())) }

// inBoth runs a test in a small fleet and in a large one.
func inBoth(t *testing.T, test func(*testing.T, func(relay.Options) relay.Options)) {
	t.Run("small", func(t *testing.T) {
		inBubble(t, func(t *testing.T) { test(t, func(o relay.Options) relay.Options { return o }) })
	})
	t.Run("large", func(t *testing.T) {
		inBubble(t, func(t *testing.T) {
			test(t, func(o relay.Options) relay.Options {
				o.Beat, o.Small = 40*time.Second, 1
				return o
			})
		})
	})
}

// grants returns for whom the hub keeps grants of a host.
func (f *fleet) grants(of *host) (to []string) {
	f.t.Helper()
	nc, err := f.hub.Connect(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		f.t.Fatal(err)
	}
	stream, err := js.Stream(f.t.Context(), streams.Fleet)
	if err != nil {
		f.t.Fatal(err)
	}
	info, err := stream.Info(f.t.Context(), jetstream.WithSubjectFilter("gt."+of.key()+".grant.*"))
	if err != nil {
		f.t.Fatal(err)
	}
	for subject := range info.State.Subjects {
		to = append(to, subject[strings.LastIndexByte(subject, '.')+1:])
	}
	return to
}

// rotate does what gt-relay block does.
func (h *host) rotate() *seal.Keys {
	h.f.t.Helper()
	keys, err := seal.Load(h.state, false)
	if err == nil {
		err = errors.Join(keys.Rotate(), keys.Store(h.state))
	}
	if err != nil {
		h.f.t.Fatal(err)
	}
	return keys
}

// hasKeyOf reports whether this host has the key of another one's logs.
func (h *host) hasKeyOf(o *host) bool {
	keys, err := seal.Load(o.state, false)
	if err != nil {
		h.f.t.Fatal(err)
	}
	got, _ := os.ReadFile(peer.Of(h.state).Path(o.name, "feed.key"))
	return strings.TrimSpace(string(got)) == keys.Feed
}

// TestUnkeptGrants shows that the hosts of a large fleet have the keys of each other's logs and
// that the hub keeps none of them; only an older host, which reads no others, gets a kept one. A
// newcomer has the key of a host that was away once that is back.
func TestUnkeptGrants(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b, c := f.host("a").upInLarge(), f.host("b").upInLarge(), f.host("c").upInLarge()
		meet(t, a, b, c)
		for _, h := range []*host{a, b, c} {
			h.event(h.name)
		}
		eventually(t, "all have the logs", func() bool {
			return a.copyOf(b, "b") && a.copyOf(c, "c") && b.copyOf(a, "a") && b.copyOf(c, "c") && c.copyOf(a, "a") && c.copyOf(b, "b")
		})
		b.down()
		d := f.host("d").upInLarge()
		eventually(t, "a newcomer has the log of who is there", func() bool { return d.copyOf(a, "a") })
		if d.hasKeyOf(b) {
			t.Error("who has given the key of b?")
		}
		b.upInLarge()
		eventually(t, "it has that of b", func() bool { return d.copyOf(b, "b") })
		old := f.liar()
		old.meets(a, "old")
		eventually(t, "an older host has a key", func() bool { return len(f.grants(a)) > 0 })
		for _, h := range []*host{a, b, c, d} {
			if kept := f.grants(h); slices.ContainsFunc(kept, func(to string) bool { return to != old.keys.Public() }) {
				t.Errorf("the hub keeps grants of %s: %q", h.name, kept)
			}
		}
	})
}

// TestKeptGrant shows that a host of a large fleet that is not heard for long has a key kept for
// it, with which it reads the log of one that it never meets, and that a later grant for it takes
// the place of that one.
func TestKeptGrant(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b").upInLarge()
		c := f.host("c").upInLarge()
		meet(t, b, c)
		b.down()
		a.event("one")
		o := inLarge(a.options())
		o.LostAfter = 3 * time.Second
		a.upWith(o)
		eventually(t, "a key is kept for b", func() bool { return slices.Equal(f.grants(a), []string{b.key()}) })
		a.down()
		b.upInLarge()
		eventually(t, "b has the log", func() bool { return b.copyOf(a, "a") })
		a.upWith(o)
		b.lets(a, "peek")
		a.lets(b, "peek")
		eventually(t, "b knows what it may", func() bool { return slices.Equal(b.of("a").Allows, []string{"peek"}) })
		b.down()
		b.upInLarge()
		time.Sleep(2 * time.Second) // what the hub keeps has come
		if n := b.refused("an older grant of a than its last one"); n > 0 {
			t.Errorf("%d older grants", n)
		}
	})
}

// TestLostGrants shows that a host that lost what it knew gets the key again of one that goes on
// running, and the next one of a host whose clock was set back.
func TestLostGrants(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a").upInLarge(), f.host("b").upInLarge()
		meet(t, a, b)
		a.event("one")
		eventually(t, "the log is copied", func() bool { return b.copyOf(a, "a") })
		b.down()
		testenv.Must(t, os.RemoveAll(b.state.Path("peers")))
		b.upInLarge()
		a.event("two")
		eventually(t, "it is copied again, with its key", func() bool { return b.hasKeyOf(a) && b.copyOf(a, "a") })
		a.down()
		f.stop() // or a would know from the hub what it wrote last
		testenv.Must(t, os.RemoveAll(f.store))
		f.start()
		a.skew = -time.Hour
		a.rotate()
		a.event("three")
		a.upInLarge()
		eventually(t, "it is copied with the next key", func() bool { return b.hasKeyOf(a) && b.copyOf(a, "a") })
	})
}

// TestGreedy shows that a host that says without end that it has no key gets few grants.
func TestGreedy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, l := f.host("a").upInLarge(), f.liar()
		grants := f.overhear("gt." + a.key() + ".chunk." + l.keys.Public())
		eventually(t, "a knows it", func() bool {
			l.says("hello", greeting{Name: "l", Box: l.keys.Recipient(), Knows: 3})
			h, err := peer.Of(a.state).Get("l")
			return err == nil && h.Knows == 3
		})
		began, at := time.Now(), time.Now().UnixMilli()
		for i := range 200 {
			body := []byte(`{"process":"x","every":40,"holds":{}}`)
			msg, err := l.keys.Plain(seal.Header{Kind: "beat", To: a.key(), At: at + int64(i)}, body)
			l.publish("chunk", a.key(), msg, err)
			time.Sleep(10 * time.Millisecond)
		}
		given := 0
		for _, m := range grants.messages() {
			if strings.Contains(string(m.Data), `"kind":"grant"`) {
				given++
			}
		}
		if most := 1 + int(time.Since(began)/(3*time.Second)) + 1; given == 0 || given > most {
			t.Errorf("%d grants, and not up to %d", given, most)
		}
	})
}
