package relay_test

import (
	"io"
	"testing"
	"time"

	"gt/lib/relay"
	"gt/lib/relay/seal"
	"gt/lib/state/peer"
)

// commanded is a relay whose commands are only noted, with their age.
func (h *host) commanded() chan time.Duration {
	ages := make(chan time.Duration, 10)
	o := h.options()
	o.Deliver[peer.Command] = func(from relay.Sender, _ peer.Letter, _ io.Reader) error {
		ages <- h.now().Sub(from.Sent)
		return nil
	}
	h.upWith(o)
	return ages
}

func near(t *testing.T, what string, ages <-chan time.Duration, want time.Duration) {
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
// clock that is wrong, and through a sleep of the machine.
func TestAge(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	a, b := f.host("a"), f.host("b")
	a.skew = time.Hour
	a.up()
	ages := b.commanded()
	meet(t, a, b)
	put := func(ago time.Duration) {
		t.Helper()
		if _, err := peer.OutboxOf(a.state).Put("b", peer.Command, []byte("{}"), a.now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	near(t, "a new command", ages, 0)
	b.down()
	put(30 * time.Minute) // its sender was killed before it could take it back
	time.Sleep(3 * time.Second)
	ages = b.commanded()
	near(t, "a command that waited", ages, 30*time.Minute)

	l := f.liar()
	l.meets(b, "x")
	beat := func(ago time.Duration) {
		t.Helper()
		msg, err := l.keys.Plain(seal.Header{Kind: "beat", At: time.Now().Add(-ago).UnixMilli()}, []byte(`{"process":"x"}`))
		l.publish("beat", "", msg, err)
	}
	beat(0)
	beat(time.Hour) // it waited in this machine's buffers
	time.Sleep(time.Second)
	l.tells(b, "to", seal.Header{Kind: peer.Command, ID: letterID(1), At: time.Now().Add(-time.Hour).UnixMilli()}, []byte("{\"size\":1}\nx"))
	near(t, "a command that waited behind a beat", ages, time.Hour)
}
