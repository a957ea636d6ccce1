package relay_test

import (
	"errors"
	"fmt"
	"gt/internal/testenv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// pair returns two hosts that know each other.
func pair(t *testing.T, f *fleet) (a, b *host) {
	t.Helper()
	a, b = f.host("a").startRelay(), f.host("b").startRelay()
	meet(t, a, b)
	return a, b
}

func meet(t *testing.T, all ...*host) {
	t.Helper()
	eventually(t, "they know each other", func() bool {
		for _, x := range all {
			known, _ := peer.NewHosts(x.state).ReadHosts()
			n := 0
			for _, h := range known {
				if h.Box != "" {
					n++
				}
			}
			if n < len(all)-1 {
				return false
			}
		}
		return true
	})
}

func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("note %04d", i))
	}
	return all
}

// TestHubLost wipes the hub's store while notes are on their way, and sets it back to an
// earlier copy: each note arrives once.
func TestHubLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		var want []string
		send := func(n int) {
			for range n {
				text := fmt.Sprintf("note %04d", len(want))
				want = append(want, text)
				a.send("b", text)
				a.event(text)
			}
		}
		send(20)
		f.stop()
		earlier := filepath.Join(f.root, "earlier")
		testenv.NoError(t, exec.Command("cp", "-r", f.store, earlier).Run())
		f.start()
		send(20)
		eventually(t, "half of it is there", func() bool { return len(b.notes()) > 20 })
		f.stop()
		testenv.NoError(t, os.RemoveAll(f.store))
		send(20)
		f.start()
		send(20)
		eventually(t, "more is there", func() bool { return len(b.notes()) > 60 })
		f.stop()
		testenv.NoError(t, errors.Join(os.RemoveAll(f.store), os.Rename(earlier, f.store)))
		f.start()
		send(20)
		eventually(t, "all is there", func() bool { return slices.Equal(b.notes(), want) && a.waiting() == 0 && b.copyOf(a, "a") })
	})
}

// TestReceiptLost shows that a letter whose receipt was lost comes again, is delivered once and
// gets another receipt.
func TestReceiptLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		l := a.send("b", "hello")
		eventually(t, "its receipt is there", func() bool { return a.waiting() == 0 })
		testenv.NoError(t, peer.OutboxOf(a.state).PutAs(l, []byte("hello")))
		eventually(t, "another receipt is there", func() bool { return a.waiting() == 0 })
		if got := b.notes(); !slices.Equal(got, []string{"hello"}) {
			t.Error(got)
		}
	})
}

// TestTemporary shows that a letter that cannot be delivered now stays, and arrives later.
func TestTemporary(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		b.mu.Lock()
		b.fail = errors.New("the disk is full")
		b.mu.Unlock()
		time.Sleep(time.Second)
		a.send("b", "hello")
		sent := time.Now()
		mark := a.state.Path("relay", "sync")
		testenv.NoError(t, errors.Join(os.WriteFile(mark, nil, 0o600), os.Chtimes(mark, sent, sent)))
		current := func() bool { // what gt-relay sync waits for
			s, err := relay.ReadStatus(a.state)
			testenv.NoError(t, err)
			return s.CurrentAt.After(sent)
		}
		time.Sleep(8 * time.Second)
		if n := a.waiting(); n != 1 || current() {
			t.Fatalf("%d letters wait; everything was sent: %v", n, current())
		}
		time.Sleep(30 * time.Second)
		if !current() {
			t.Error("it waits for a receipt without end")
		}
		b.mu.Lock()
		b.fail = nil
		b.mu.Unlock()
		a.stopRelay() // a new connection sends it again at once
		a.startRelay()
		eventually(t, "it is there", func() bool { return slices.Equal(b.notes(), []string{"hello"}) && a.waiting() == 0 })
	})
}

// TestRefused shows that a refused letter is set aside at its sender, with the reason.
func TestRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		b.mu.Lock()
		b.fail = &relay.Refused{Reason: "there is no agent 'x' here"}
		b.mu.Unlock()
		l := a.send("b", "hello")
		eventually(t, "it was set aside", func() bool { return a.waiting() == 0 })
		reason, err := os.ReadFile(a.state.Path("relay", "refused", "b", l.ID+".note.reason"))
		if err != nil || string(reason) != "there is no agent 'x' here\n" {
			t.Errorf("%q, %v", reason, err)
		}
		if text, err := os.ReadFile(a.state.Path("relay", "refused", "b", l.ID+".note")); err != nil || string(text) != "hello" {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// TestBlocked shows that nothing of a blocked host is taken, and that it changes nobody's
// else.
func TestBlocked(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		c := f.host("c").startRelay()
		meet(t, a, b, c)
		h, err := peer.NewHosts(b.state).Get("a")
		testenv.NoError(t, err)
		testenv.NoError(t, peer.NewHosts(b.state).SetTrust("a", peer.Trust{Key: h.Key, Revoked: true}))
		a.send("b", "from a")
		a.event("one")
		c.send("b", "from c")
		a.send("c", "to c")
		eventually(t, "the others' letters are there", func() bool {
			return slices.Equal(b.notes(), []string{"from c"}) && slices.Equal(c.notes(), []string{"to c"}) && c.copyOf(a, "a")
		})
		time.Sleep(500 * time.Millisecond)
		if got := b.notes(); !slices.Equal(got, []string{"from c"}) || a.waiting() != 1 {
			t.Errorf("%q, %d wait", got, a.waiting())
		}
		if data, _ := os.ReadFile(peer.NewHosts(b.state).Path("a", ".events.jsonl")); strings.Contains(string(data), "one") {
			t.Error("the log of a blocked host was copied")
		}
	})
}

// TestForgotten shows that a host that lost what it knew of another learns it again.
func TestForgotten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := pair(t, f)
		a.event("one")
		eventually(t, "the log is copied", func() bool { return b.copyOf(a, "a") })
		b.stopRelay()
		testenv.NoError(t, os.RemoveAll(b.state.Path("peers")))
		b.startRelay()
		a.event("two")
		eventually(t, "the log is copied again", func() bool { return b.copyOf(a, "a") })
	})
}

// TestNewcomer shows that a host that joins learns what the agents of the others do, also
// where nothing changes any more.
func TestNewcomer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		a.setAgents("{\"name\":\"x\"}\n")
		a.startRelay()
		c := f.host("c").startRelay()
		eventually(t, "the agents are known", func() bool { return c.statesOf(a, "a") })
		b.startRelay()
		eventually(t, "the newcomer knows them", func() bool { return b.statesOf(a, "a") })
	})
}

// TestTwoNames shows that two hosts with one name stay two hosts.
func TestTwoNames(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, x, y := f.host("a").startRelay(), f.host("x").startRelay(), f.host("x").startRelay()
		meet(t, a, x, y)
		known, err := peer.NewHosts(a.state).ReadHosts()
		if err != nil || len(known) != 2 {
			t.Fatal(known, err)
		}
		for _, h := range known {
			a.send(h.Name, "to "+h.Key)
		}
		for _, h := range []*host{x, y} {
			keys, err := seal.Load(h.state, false)
			testenv.NoError(t, err)
			eventually(t, "the letter is there", func() bool { return slices.Equal(h.notes(), []string{"to " + keys.Public()}) })
		}
	})
}

// TestClashGoes shows that a clash of two names is over once one of them has another name.
func TestClashGoes(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, x, y := f.host("a").startRelay(), f.host("x").startRelay(), f.host("x").startRelay()
		meet(t, a, x, y)
		clashes := func() (n int) {
			known, err := peer.NewHosts(a.state).ReadHosts()
			testenv.NoError(t, err)
			for _, h := range known {
				if h.Clash != "" {
					n++
				}
			}
			return n
		}
		if n := clashes(); n != 1 {
			t.Fatalf("%d clashes", n)
		}
		for _, h := range []*host{x, y} {
			h.stopRelay()
			testenv.NoError(t, peer.NewHosts(h.state).SetOwn(peer.Host{Name: "new"}))
			h.startRelay()
		}
		eventually(t, "it is over", func() bool { return clashes() == 0 })
	})
}

// TestClone shows that two machines with the same keys find that out, and stop.
func TestClone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a := f.host("a")
		b := f.host("a")
		keys, err := os.ReadFile(a.state.Path("relay", "keys.json"))
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(b.state.Path("relay", "keys.json"), keys, 0o600))
		a.skew, b.skew = 0, 0
		a.startRelay()
		time.Sleep(6 * time.Second) // a is no relay that was started just now
		b.startRelay()
		for _, one := range []*host{a, b} {
			eventually(t, "both have stopped", func() bool {
				s, err := relay.ReadStatus(one.state)
				return err == nil && s.Clone != "" && s.Connected.IsZero()
			})
		}
	})
}

// TestClocks shows that clocks that are wrong by days change nothing.
func TestClocks(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		a.skew, b.skew = -72*time.Hour, 48*time.Hour
		a.startRelay()
		b.startRelay()
		meet(t, a, b)
		for _, text := range numbered(10) {
			a.send("b", text)
			b.send("a", text)
			a.event(text)
			b.event(text)
		}
		eventually(t, "all is there", func() bool {
			return slices.Equal(a.notes(), numbered(10)) && slices.Equal(b.notes(), numbered(10)) && a.copyOf(b, "b") && b.copyOf(a, "a")
		})
	})
}

// TestFlood shows that a host that sends too much is slowed down, and others are not.
func TestFlood(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b, l := f.deceived()
		c := f.host("c").startRelay()
		meet(t, b, c)
		b.mu.Lock()
		b.fail = errors.New("not now") // what came counts, and costs no disk
		b.mu.Unlock()
		const most, more = 2000, 100
		for i := range most + more {
			if i%32 == 0 {
				time.Sleep(time.Microsecond) // until all is taken: the hub keeps 64
			}
			l.tells(b, "to", seal.Header{Kind: "note", ID: letterID(i)}, []byte("{\"size\":1}\nx"))
		}
		eventually(t, "the last ones were refused", func() bool { return b.refused("too many letters of a") == more })
		b.mu.Lock()
		b.fail = nil
		b.mu.Unlock()
		c.send("b", "from c")
		eventually(t, "the other's letter is there", func() bool { return slices.Contains(b.notes(), "from c") })
	})
}

// TestHistory runs random histories of five hosts and a hub: everybody sends, dies, comes
// back from a backup; the hub dies, loses its store or is set back. At rest each note is
// once in its box, and each copy is its log.
func TestHistory(t *testing.T) {
	for seed := range uint64(4) {
		inBubble(t, func(t *testing.T) { history(t, rand.New(rand.NewPCG(seed, 0))) })
	}
}

func history(t *testing.T, dice *rand.Rand) {
	f := newFleet(t)
	var all []*host
	up := map[*host]bool{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		h := f.host(name).startRelay()
		up[h] = true
		all = append(all, h)
	}
	meet(t, all...)
	want := map[*host][]string{}
	backup := filepath.Join(f.root, "backup")
	steps := []string{"note", "note", "note", "event", "event", "die", "come", "hub dies", "hub comes", "hub lost", "hub set back", "hub backup", "wait"}
	for n := range 10 + dice.IntN(31) {
		h, to := all[dice.IntN(len(all))], all[dice.IntN(len(all))]
		switch steps[dice.IntN(len(steps))] {
		case "note":
			if h != to {
				text := fmt.Sprintf("%s to %s %04d", h.name, to.name, n)
				h.send(to.name, text)
				want[to] = append(want[to], text)
			}
		case "event":
			h.event(fmt.Sprint(n))
		case "die":
			h.stopRelay()
			up[h] = false
		case "come":
			if !up[h] {
				h.startRelay()
				up[h] = true
			}
		case "hub dies":
			f.stop()
		case "hub comes":
			if f.hub == nil {
				f.start()
			}
		case "hub lost":
			f.stop()
			testenv.NoError(t, os.RemoveAll(f.store))
		case "hub backup":
			if f.hub == nil {
				os.RemoveAll(backup)
				_ = exec.Command("cp", "-r", f.store, backup).Run()
			}
		case "hub set back":
			f.stop()
			if _, err := os.Stat(backup); err == nil {
				os.RemoveAll(f.store)
				testenv.NoError(t, exec.Command("cp", "-r", backup, f.store).Run())
			}
		case "wait":
			time.Sleep(time.Duration(dice.IntN(3000)) * time.Millisecond)
		}
	}
	if f.hub == nil {
		f.start()
	}
	for _, h := range all {
		h.event("last")
		if !up[h] {
			h.startRelay()
		}
	}
	eventually(t, "everything is at rest", func() bool {
		for _, h := range all {
			if h.waiting() > 0 || !slices.Equal(h.notes(), slices.Sorted(slices.Values(want[h]))) {
				return false
			}
			for _, o := range all {
				if o != h && !h.copyOf(o, o.name) {
					return false
				}
			}
		}
		return true
	})
}
