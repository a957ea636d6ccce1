package dial

import (
	"context"
	"errors"
	"gt/internal/testenv"
	"net"
	"testing"
	"time"

	"gt/lib/place"
	"gt/lib/relay/seal"
)

// TestInterrupted shows that ctrl-C ends the wait for an address at which nobody answers.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.NoError(t, err)
	defer l.Close()
	keys, err := seal.Load(place.State(t.TempDir()), true)
	testenv.NoError(t, err)
	ctx, interrupt := context.WithCancel(context.Background())
	go func() {
		if c, err := l.Accept(); err == nil {
			defer c.Close()
			time.AfterFunc(200*time.Millisecond, interrupt) // once it waits for what a hub says first
			time.Sleep(timeout)
		}
	}()
	began := time.Now()
	if _, err := (Hub{URL: "nats://" + l.Addr().String()}).Connect(ctx, keys, Program{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if took := time.Since(began); took > timeout/2 {
		t.Errorf("it took %v", took)
	}
}
