package relay_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gt/lib/relay"
	"gt/lib/state/peer"
)

// TestLater shows that a relay goes on while a letter is delivered that takes long, that the
// letter counts once it is done, that a relay that ends interrupts it, and that no host can
// have more than some of them at once.
func TestLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a").startRelay(), f.host("b")
		var begun, finished, bad atomic.Int64
		release := make(chan struct{})
		o := b.options()
		o.Kinds["slow"] = relay.Kind{Deliver: func(_ relay.Sender, _ peer.Letter, text io.Reader) error {
			return &relay.SlowDelivery{Do: func(ctx context.Context) error {
				begun.Add(1)
				select {
				case <-release:
				case <-ctx.Done():
					return ctx.Err()
				}
				if data, err := io.ReadAll(text); err != nil || !strings.HasSuffix(string(data), "end") {
					bad.Add(1)
				}
				finished.Add(1)
				return nil
			}}
		}}
		b.upWith(o)
		meet(t, a, b)
		put := func(text string) {
			t.Helper()
			if _, err := peer.OutboxOf(a.state).Put("b", "slow", []byte(text), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		put("short end")
		put(strings.Repeat("long ", 400_000) + "end")
		eventually(t, "both were begun", func() bool { return begun.Load() == 2 })
		a.send("b", "hello")
		eventually(t, "a note comes meanwhile", func() bool { return len(b.notes()) == 1 && a.waiting() == 2 })
		b.stopRelay()
		if n := finished.Load(); n != 0 {
			t.Errorf("%d were not interrupted", n)
		}
		b.upWith(o)
		eventually(t, "both were begun again", func() bool { return begun.Load() == 4 })
		for range 6 {
			put("more end")
		}
		eventually(t, "some were begun", func() bool { return begun.Load() == 2+relay.MostOfHost })
		time.Sleep(time.Second)
		if n := begun.Load(); n != 2+relay.MostOfHost {
			t.Errorf("%d were begun", n)
		}
		close(release)
		a.stopRelay() // a new connection sends the others again at once
		a.startRelay()
		eventually(t, "all is done", func() bool { return a.waiting() == 0 })
		if n := bad.Load(); n != 0 {
			t.Errorf("%d texts were cut", n)
		}
	})
}

// TestLaterRefused shows that the sender is told why such a letter was refused at its end.
func TestLaterRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a").startRelay(), f.host("b")
		o := b.options()
		o.Kinds["slow"] = relay.Kind{Deliver: func(relay.Sender, peer.Letter, io.Reader) error {
			return &relay.SlowDelivery{Do: func(context.Context) error { return errors.Join(&relay.Refused{Reason: "no room"}) }}
		}}
		b.upWith(o)
		meet(t, a, b)
		if _, err := peer.OutboxOf(a.state).Put("b", "slow", []byte("x"), time.Now()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it was refused", func() bool {
			all, err := peer.OutboxOf(a.state).Refused()
			return err == nil && len(all) == 1 && all[0].Reason == "no room"
		})
	})
}

// TestTakeBackFails shows that a letter that was refused waits until what it brings was taken back.
func TestTakeBackFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFleet(t)
		a, b := f.host("a"), f.host("b").startRelay()
		var tried atomic.Int64
		o := a.options()
		o.TakeBack = func(peer.Letter) error {
			if tried.Add(1) < 3 {
				return errors.New("the disk is full")
			}
			return nil
		}
		a.upWith(o)
		meet(t, a, b)
		if _, err := peer.OutboxOf(a.state).Put("b", "unknown", []byte("x"), time.Now()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "it was set aside", func() bool {
			all, err := peer.OutboxOf(a.state).Refused()
			return err == nil && len(all) == 1 && a.waiting() == 0
		})
		if n := tried.Load(); n != 3 {
			t.Errorf("it was taken back %d times", n)
		}
	})
}
