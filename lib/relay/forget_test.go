package relay_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// TestComesBack shows that nothing changes if the owner of a hub that has nothing else sends all
// again that a host signed before it was forgotten: nothing comes twice, and one that is gone stays gone.
func TestComesBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		heard := f.overhear("gt.>")
		a, b := pair(t, f)
		for _, agents := range []string{"{\"name\":\"older\"}\n", "{\"name\":\"newer\"}\n"} {
			a.setAgents(agents)
			a.send("b", agents)
			eventually(t, "b has it", func() bool { return a.waiting() == 0 && b.statesOf(a, "a") })
		}
		past := heard.messages()
		a.stopRelay()
		b.forgets("a")
		f.stop()
		testenv.NoError(t, os.RemoveAll(f.store))
		f.start()
		b.startRelay()
		eventually(t, "b is connected", func() bool {
			s, err := relay.ReadStatus(b.state)
			return err == nil && !s.Connected.IsZero()
		})
		owner := f.overhear("nothing").nc
		back := time.Now()
		replay := func() {
			for _, m := range past {
				if strings.HasPrefix(m.Subject, "gt."+a.key()) {
					testenv.NoError(t, owner.Publish(m.Subject, m.Data))
				}
			}
			time.Sleep(time.Minute)
		}
		replay()
		meet(t, b, a)
		replay() // what came before the hello was not taken
		if n := len(b.notes()); n != 2 {
			t.Errorf("%d notes more", n-2)
		}
		if h := b.knownHost("a"); !h.LastSeen.Before(back) {
			t.Errorf("a that is gone was seen at %v", h.LastSeen)
		}
		a.startRelay()
		a.send("b", "good day")
		eventually(t, "a new note comes", func() bool { return len(b.notes()) == 3 && a.waiting() == 0 && b.statesOf(a, "a") })
	})
}

// forgets has this host forget another one, as gt-relay forget does.
func (h *host) forgets(name string) {
	h.f.t.Helper()
	h.stopRelay()
	hosts := peer.NewHosts(h.state)
	testenv.NoError(h.f.t, hosts.Forget(h.knownHost(name)))
	if all, err := hosts.ReadHosts(); err != nil || len(all) > 0 {
		h.f.t.Errorf("%s knows %v, %v", h.name, all, err)
	}
}

// TestOlderHello shows that a hub that sends an earlier hello of a host again does not have letters
// sealed to the key that the host had then: it was changed because somebody else may have it.
func TestOlderHello(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		b, l := f.deceived()
		said := f.overhear("gt.*.hello")
		box := l.keys.Recipient()
		l.meets(b, "a")
		earlier := said.messages()[0]
		other, err := seal.Load(f.host("other").state, false)
		testenv.NoError(t, err)
		l.says("hello", greeting{Name: "a", Box: other.Recipient()})
		boxIs := func(box string) func() bool { return func() bool { return b.knownHost("a").Box == box } }
		eventually(t, "b knows the other key", boxIs(other.Recipient()))
		testenv.NoError(t, l.nc.Publish(earlier.Subject, earlier.Data))
		eventually(t, "it was refused", func() bool { return b.refused("an older hello of a than its last one") == 1 })
		time.Sleep(time.Minute)
		if boxIs(box)() {
			t.Error("letters are sealed to the key that was")
		}
	})
}
