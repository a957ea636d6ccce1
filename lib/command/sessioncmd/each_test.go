package sessioncmd

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"gt/lib/cli"
	"gt/lib/state/instance"
)

func makeInstances(n int) (all []*instance.Instance) {
	for range n {
		all = append(all, &instance.Instance{Name: "a"})
	}
	return all
}

// each calls do once for every instance, a few at a time, and goes on after a failure.
func TestEach(t *testing.T) {
	var out strings.Builder
	env := &cli.Env{Name: "gt-session", Stdout: &out, Stderr: io.Discard}
	var did, now, most atomic.Int64
	err := forEachInstance(env, makeInstances(40), func(*instance.Instance) (string, error) {
		defer now.Add(-1)
		for n := now.Add(1); n > most.Load(); {
			most.Store(n)
		}
		if did.Add(1)%4 == 0 {
			return "", errors.New("no")
		}
		return "yes", nil
	})
	if err == nil || err.Error() != "10 of 40 failed" || did.Load() != 40 || strings.Count(out.String(), "yes\n") != 30 || most.Load() > 4 {
		t.Errorf("%v, %d done, at most %d at once, said %q", err, did.Load(), most.Load(), out.String())
	}
}

// A panic in do ends the command instead of passing for a success.
func TestEachPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("nothing is said of the panic")
		}
	}()
	forEachInstance(&cli.Env{Stdout: io.Discard, Stderr: io.Discard}, makeInstances(9), func(*instance.Instance) (string, error) { panic("oh") })
}
