package mail

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"
)

// old puts hand-over notes into a box that were told long ago.
func old(t *testing.T, b Box, from, to int) {
	t.Helper()
	text := "Subject: x\nX-Gt-Type: handoff\n\nx\n"
	for i := from; i < to; i++ {
		name := fmt.Sprintf("%d.M%06dR%08x.h:2,S", 1_700_000_000+i, i, i)
		testenv.NoError(t, os.WriteFile(b.file("cur", name), []byte(text), 0o600))
	}
}

func quarter() time.Duration { return 90 * 24 * time.Hour }

// However many notes must stay, what can go does in the end, and no call opens many.
func TestExpireGetsAround(t *testing.T) {
	b := townBox(t)
	kept, err := b.Deliver(Note{Type: Handoff, Subject: "now", Body: "x"}, true)
	testenv.NoError(t, err)
	old(t, b, 0, 100)
	opened := 0
	keep := func(n Note) bool {
		opened++
		return n.ID != fmt.Sprintf("%08x", 50)
	}
	for range 10_000 {
		opened = 0
		testenv.NoError(t, b.Expire(time.Now(), time.Hour, quarter, keep))
		if opened > maxExpired {
			t.Fatalf("one call opened %d notes", opened)
		}
		if _, err := b.Get(fmt.Sprintf("%08x", 50)); err != nil {
			break
		}
	}
	if notes, err := b.List(); err != nil || len(notes) != 100 {
		t.Errorf("%d notes are left, %v", len(notes), err)
	}
	if _, err := b.Get(kept); err != nil {
		t.Error(err)
	}
}

// Two that remove at once disturb neither each other nor who gives a note meanwhile.
func TestExpireTogether(t *testing.T) {
	b := townBox(t)
	if _, err := b.Deliver(Note{Type: Handoff, Subject: "now", Body: "x"}, true); err != nil {
		t.Fatal(err)
	}
	const n = 40
	old(t, b, 0, n)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range n {
				if err := b.Expire(time.Now(), time.Hour, quarter, func(Note) bool { return false }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	given := map[string]bool{}
	for i := range n {
		id := fmt.Sprintf("%08x", i)
		if b.Hook(id) == nil {
			given[id] = true
		}
	}
	all.Wait()
	hooked, err := b.Hooked()
	if err != nil || len(hooked) != len(given)+1 {
		t.Errorf("%d notes are given, of %d: %v", len(hooked), len(given)+1, err)
	}
	if left, _ := filepath.Glob(b.file("cur", "*:2,S")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
