package relay_test

import (
	"context"
	"gt/internal/testenv"
	"io"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// commanded is a relay whose commands are only noted, with their age.
func (h *host) commanded() chan time.Duration {
	ages := make(chan time.Duration, 10)
	o := h.options()
	o.Kinds[peer.Command] = relay.Kind{Deliver: func(from relay.Sender, _ peer.Letter, _ io.Reader) error {
		ages <- h.skewedNow().Sub(from.Sent)
		return nil
	}}
	h.upWith(o)
	return ages
}

func expectAge(t *testing.T, what string, ages <-chan time.Duration, want time.Duration) {
	t.Helper()
	select {
	case got := <-ages:
		if (got - want).Abs() > 30*time.Second {
			t.Errorf("%s seems to be %v old, not %v", what, got, want)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("%s did not come", what)
	}
}

// TestAge shows that a command's age is right: it is counted from when it was written, by a
// clock that is wrong, and also if the hub keeps it back.
func TestAge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b")
		a.skew = time.Hour
		a.startRelay()
		ages := b.commanded()
		meet(t, a, b)
		put := func(ago time.Duration) {
			t.Helper()
			if _, err := peer.OutboxOf(a.state).Put("b", peer.Command, []byte("{}"), a.skewedNow().Add(-ago)); err != nil {
				t.Fatal(err)
			}
		}
		put(0)
		expectAge(t, "a new command", ages, 0)
		b.stopRelay()
		put(30 * time.Minute) // its sender was killed before it could take it back
		time.Sleep(3 * time.Second)
		ages = b.commanded()
		expectAge(t, "a command that waited", ages, 30*time.Minute)

		was := a.knownHost("b").Clock
		b.stopRelay()
		b.skew -= time.Hour
		ages = b.commanded()
		eventually(t, "a knows its other clock", func() bool { return a.knownHost("b").Clock.Before(was.Add(-time.Minute)) })
		put(0)
		expectAge(t, "a command to a host whose clock was set back", ages, 0)

		// A hub keeps a command back, and the beats of its sender with it.
		nc, err := f.hub.Connect(context.Background(), new(seal.Keys))
		testenv.NoError(t, err)
		defer nc.Close()
		beats, err := nc.SubscribeSync("gt.*.beat")
		testenv.NoError(t, err)
		b.stopRelay()
		a.stopRelay()
		a.startRelay()
		put(0)
		beat, err := beats.NextMsg(10 * time.Second)
		testenv.NoError(t, err)
		b.startRelay() // so that a knows its clock, and sends the command
		eventually(t, "the command has come", func() bool { return a.waiting() == 0 })
		b.stopRelay()
		put(0)
		time.Sleep(3 * time.Second)
		a.stopRelay()
		b.skew += time.Hour
		ages = b.commanded()
		testenv.NoError(t, nc.PublishMsg(&nats.Msg{Subject: beat.Subject, Data: beat.Data}))
		expectAge(t, "a command that was kept back", ages, time.Hour)
	})
}
