package claims

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/perform"
	"gt/lib/state/beads"
	"gt/lib/state/instance"
	"gt/lib/state/work"
)

// script answers as bd does: what is in the file of the status that is asked for.
const script = `#!/bin/sh
echo x >>$PWD/.beads/asked
cat $PWD/.beads/${2#--status=} 2>/dev/null || echo '[]'
`

// place is a town with two databases, and what says how often bd was asked in its own.
func bench(t *testing.T) (w *Work, root string, asked func() int, now *time.Time) {
	t.Helper()
	root, state := t.TempDir(), place.State(filepath.Join(t.TempDir(), "state"))
	bin := t.TempDir()
	for _, dir := range []string{".beads", "api/.beads", "api/deep/deeper"} {
		testenv.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	testenv.NoError(t, testenv.WriteProgram(filepath.Join(bin, "bd"), []byte(script)))
	at := town.Town{Root: root, State: state, Trust: &place.Trust{}}
	clock := time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)
	w = &Work{
		Release: func(string) (bool, error) { return false, nil },
		Notes:   work.NewWork(instance.OfTown(state, root)), Now: func() time.Time { return clock },
		Databases: func(folders []string) ([]beads.Database, error) {
			return beads.Databases(at, folders, []string{"HOME=" + root, "PATH=" + bin + ":" + os.Getenv("PATH")})
		},
	}
	return w, root, func() int {
		data, _ := os.ReadFile(filepath.Join(root, ".beads/asked"))
		return strings.Count(string(data), "\n")
	}, &clock
}

func put(t *testing.T, path, assignee, id, status string) {
	t.Helper()
	text := fmt.Sprintf(`[{"id":%q,"status":%q,"assignee":%q}]`, id, status, assignee)
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// What bd has assigned to a session by its name or its id counts, whatever database of the
// town has it, and each issue once; what is somebody else's does not. [S4-112]
func TestClaims(t *testing.T) {
	w, root, _, _ := bench(t)
	put(t, filepath.Join(root, ".beads/in_progress"), "worker-1", "gt-1", "in_progress")
	put(t, filepath.Join(root, ".beads/hooked"), "id-2", "gt-2", "hooked")
	put(t, filepath.Join(root, ".beads/open"), "max", "gt-3", "open")
	put(t, filepath.Join(root, "api/.beads/open"), "worker-1", "api-1", "open")
	put(t, filepath.Join(root, "api/.beads/in_progress"), "worker-1", "gt-1", "in_progress")
	put(t, filepath.Join(root, "api/.beads/hooked"), "worker-1", "gt-9", "closed") // not what was asked for
	all := []perform.Claimant{{Name: "worker-1", ID: "id-1", Dir: filepath.Join(root, "api/deep/deeper")}, {Name: "worker-2", ID: "id-2", Dir: "/elsewhere"}}
	got, err := w.Claims(context.Background(), all)
	if want := map[string]int{"worker-1": 2, "worker-2": 1}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, not %v (%v)", got, want, err)
	}
}

// bd is asked once a minute, and at once where its answer decides who ends. [S4-90]
func TestAsked(t *testing.T) {
	w, root, asked, now := bench(t)
	ask := func(ends bool) int {
		t.Helper()
		before := asked()
		if _, err := w.Claims(context.Background(), []perform.Claimant{{Name: "w", ID: "i", Dir: root, Ends: ends}}); err != nil {
			t.Fatal(err)
		}
		return asked() - before
	}
	first := ask(false)
	if first == 0 || ask(false) != 0 {
		t.Errorf("asked %d times, and again", first)
	}
	if ask(true) != first {
		t.Error("not asked about one that ends")
	}
	*now = now.Add(cacheTime)
	if ask(false) != first {
		t.Error("not asked after a minute")
	}
	testenv.NoError(t, w.Free(context.Background(), perform.Claimant{Name: "w", ID: "i", Dir: root, Gone: true}, "session_closed"))
	if ask(false) != first {
		t.Error("what was freed counts")
	}
}

// What bd does not say is an error: not even what the notes say is known then.
func TestUnread(t *testing.T) {
	w, root, _, _ := bench(t)
	testenv.NoError(t, os.WriteFile(filepath.Join(root, ".beads/hooked"), []byte("prose\n"), 0o600))
	all := []perform.Claimant{{Name: "w", ID: "i", Dir: root, Gone: true}}
	if got, err := w.Claims(context.Background(), all); err == nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if err := w.Free(context.Background(), all[0], "session_closed"); err == nil {
		t.Error("freed what nobody knows")
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(root, ".beads/in_progress"), []byte("prose\n"), 0o600))
	if err := w.Leave(context.Background(), all[0], "session_closed"); err == nil {
		t.Error("a change was begun that cannot be ended")
	}
}
