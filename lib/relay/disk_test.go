package relay_test

import (
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/lib/relay"
	"gt/lib/state/peer"
)

// TestFullDisk has the disk of the sender, of the receiver and of the hub full. What could be
// written arrives, once, as soon as there is room, and the relay says what is wrong.
func TestFullDisk(t *testing.T) {
	if os.Getenv("MOUNTS") == "" { // a name space of mounts of its own
		c := exec.Command("unshare", "--user", "--map-root-user", "--mount", os.Args[0], "-test.run", "^TestFullDisk$", "-test.v")
		c.Env = append(os.Environ(), "MOUNTS=1")
		if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt").Run(); err != nil {
			t.Skipf("no file system can be mounted: %v", err)
		}
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		testenv.NoError(t, err)
		return
	}
	for _, side := range []string{"sender", "receiver", "hub"} {
		t.Run(side, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := &fleet{t: t, root: t.TempDir()}
				f.store = filepath.Join(f.root, "hub")
				a, b := f.host("a"), f.host("b")
				at := map[string]string{"sender": string(a.state), "receiver": string(b.state), "hub": f.store}[side]
				small(t, at)
				f.start()
				t.Cleanup(f.stop)
				o := b.options()
				o.Kinds[peer.Note] = relay.Kind{Deliver: func(_ relay.Sender, l peer.Letter, text io.Reader) error { // as in a Maildir
					data, err := io.ReadAll(text)
					if err == nil {
						err = os.WriteFile(b.state.Path(l.ID), data, 0o600)
					}
					if err == nil {
						b.mu.Lock()
						b.boxes[l.ID] = []string{string(data)}
						b.mu.Unlock()
					}
					return err
				}}
				var warned atomic.Int32
				o.Warn = func(err error) {
					t.Log("b:", err)
					if errors.Is(err, syscall.ENOSPC) {
						warned.Add(1)
					}
				}
				a.startRelay()
				b.upWith(o)
				meet(t, a, b)
				var want []string
				send := func() error {
					text := fmt.Sprintf("note %03d %s", len(want), strings.Repeat("x", 3000))
					_, err := peer.OutboxOf(a.state).Put("b", peer.Note, []byte(text), time.Now())
					if err == nil {
						want = append(want, text)
						a.event(text)
					}
					return err
				}
				arrived := func() bool { return slices.Equal(b.notes(), want) && a.waiting() == 0 && b.copyOf(a, "a") }
				testenv.NoError(t, send())
				eventually(t, "the first note is there", arrived)
				filler := filepath.Join(at, "filler")
				if err := os.WriteFile(filler, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
					t.Fatal(err)
				}
				failed := 0
				for range 20 {
					if err := send(); err != nil {
						failed++
					}
				}
				if failed > 0 != (side == "sender") {
					t.Errorf("%d notes could not be left", failed)
				}
				switch side {
				case "receiver":
					eventually(t, "the receiver says what is wrong", func() bool { return warned.Load() > 0 })
				case "hub":
					eventually(t, "the sender says what is wrong", func() bool {
						s, err := relay.ReadStatus(a.state)
						return err == nil && s.Error == "the hub acknowledges nothing: its disk may be full"
					})
					f.hub.Sweep() // changes nothing yet
				}
				testenv.NoError(t, os.Remove(filler))
				if side == "hub" {
					f.hub.Sweep()
				}
				began := time.Now()
				testenv.NoError(t, send())
				if side == "receiver" { // a new connection sends at once what would come after a minute
					a.stopRelay()
					a.startRelay()
				}
				eventually(t, "all notes are there", arrived)
				t.Logf("all is there %v after there was room", time.Since(began).Round(time.Millisecond))
			})
		})
	}
}

// small makes a folder a file system of 16 MB.
func small(t *testing.T, dir string) {
	t.Helper()
	kept := t.TempDir()
	for _, c := range []string{"mkdir -p \"$1\"", "cp -a \"$1/.\" \"$2\"", "mount -t tmpfs -o size=16m,mode=700 tmpfs \"$1\"", "cp -a \"$2/.\" \"$1\""} {
		if out, err := exec.Command("sh", "-c", c, "sh", dir, kept).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
}
