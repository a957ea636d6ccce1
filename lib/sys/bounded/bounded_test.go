package bounded

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// All that a program printed before its end is there, however late it is read, and whoever
// holds its output open.
func TestOutputIsWhole(t *testing.T) {
	for i := range 40 {
		script := "echo yes; echo no >&2; exit 3"
		if i%2 == 1 {
			script = "sleep 60 & " + script
		}
		r, err := Program{Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Within: time.Minute, Most: 100, Linger: time.Nanosecond}.Run(t.Context())
		if string(r.Out) != "yes\n" || r.Stderr != "no\n" || r.Code != 3 {
			t.Fatalf("%s: %q, %q, exit status %d, %v", script, r.Out, r.Stderr, r.Code, err)
		}
	}
}

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
			Show: io.MultiWriter(&said, write), Within: time.Minute, AsksFirst: asks, Linger: 20 * time.Second}
		_, err := p.Run(ctx)
		write.Close()
		if !errors.Is(err, context.Canceled) || strings.Contains(said.String(), "tidy") != asks {
			t.Errorf("asks %v: %q, %v", asks, said.String(), err)
		}
	}
}
