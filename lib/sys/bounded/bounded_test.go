package bounded

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A late program that is asked to end can tidy up first; any other cannot.
func TestAsks(t *testing.T) {
	for _, asks := range []bool{true, false} {
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		read, write := io.Pipe()
		go func() { // once its trap is set
			_, _ = io.ReadAtLeast(read, make([]byte, 16), 6)
			end()
			_, _ = io.Copy(io.Discard, read)
		}()
		var said strings.Builder
		p := Program{Path: "/bin/sh", Args: []string{"-c", "trap 'echo tidy; exit' TERM; echo ready; while :; do sleep 0.05; done"}, Env: []string{"PATH=/usr/bin:/bin"},
			Show: io.MultiWriter(&said, write), Within: time.Minute, Asks: asks, Linger: 20 * time.Second}
		_, err := p.Run(ctx)
		write.Close()
		if !errors.Is(err, context.Canceled) || strings.Contains(said.String(), "tidy") != asks {
			t.Errorf("asks %v: %q, %v", asks, said.String(), err)
		}
	}
}
