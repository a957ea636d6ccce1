package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

// A record begins with its id, after both folders exist and before any text is written.
//
// S3-1
func TestBegins(t *testing.T) {
	d := newDesk(t)
	d.write(`[{"Kind":"prompt","Text":"one"}]` + "\n")
	// Without the folder for results kept aside, no record begins.
	testenv.NoError(t, os.MkdirAll(filepath.Dir(d.store.Contexts), 0o700))
	testenv.NoError(t, os.WriteFile(d.store.Contexts, nil, 0o600))
	if _, err := d.try(nil); err == nil {
		t.Error("it was begun without a folder for what is kept aside")
	}
	if ids, err := d.store.IDs(); err != nil || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
	testenv.NoError(t, os.Remove(d.store.Contexts))
	id := d.sync().ID
	first := ""
	if err := d.store.Lines(id, func(l Line) bool {
		first = string(l.Kind)
		if l.Head == nil || l.Head.ID != id {
			t.Errorf("the first line says %+v", l.Head)
		}
		return false
	}); err != nil || first != string(Head) {
		t.Errorf("the first line is %q, %v", first, err)
	}
	for _, dir := range []string{d.store.Sessions, d.store.Contexts} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info, err)
		}
	}
}

// Concurrent records of conversations that began at the same moment have different ids.
// Concurrent syncs of one conversation give one record, with each text once.
//
// S3-2
func TestMadeTogether(t *testing.T) {
	d := newDesk(t)
	d.write(`[{"Kind":"prompt","Text":"one"},{"Kind":"answer","Text":"two"}]` + "\n")
	const sessions, writers = 40, 4
	var mu sync.Mutex
	ids := map[session.ID][]ID{}
	var wg sync.WaitGroup
	for n := range sessions * writers {
		name := session.ID(fmt.Sprint("s-", n%sessions))
		wg.Go(func() {
			x, err := d.store.Index()
			if err != nil {
				t.Error(err)
				return
			}
			c := d.conversation()
			c.File.ID, c.Metadata = name, conversation.Metadata{ID: name, Started: epoch}
			y := &Syncer{Store: d.store, Index: x, Redact: strings.Clone, Now: func() time.Time { return epoch }, Bulk: true}
			done, err := y.Sync(client{}, c)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[name] = append(ids[name], done.ID)
		})
	}
	wg.Wait()
	seen := map[ID]session.ID{}
	for name, all := range ids {
		id := all[0]
		if other, there := seen[id]; there {
			t.Errorf("%s and %s are both %s", name, other, id)
		}
		seen[id] = name
		if _, err := ParseID(string(id)); err != nil || slices.ContainsFunc(all, func(o ID) bool { return o != id }) {
			t.Errorf("%s is %v, %v", name, all, err)
		}
		if said := d.said(id); !slices.Equal(said, []string{"one", "two"}) {
			t.Errorf("%s says %q", name, said)
		}
		d.verify(id)
	}
	if len(seen) != sessions {
		t.Errorf("%d records of %d sessions", len(seen), sessions)
	}
}

// At the end, the session's file is written first, and then the results kept aside are
// removed: if it cannot be written, they stay.
//
// S3-6
func TestEndOrder(t *testing.T) {
	d := newDesk(t)
	d.write(fmt.Sprintf(`[{"Kind":"call","Tool":"T","CallID":"c"},{"Kind":"result","CallID":"c","Text":%q}]`+"\n", strings.Repeat("x", MaxInline+1)))
	id := d.sync().ID
	end := func() error {
		_, err := d.store.End(Key{Agent: "claude", Session: "4f2c"}, "logout", strings.Clone, epoch)
		return err
	}
	kept := func() int {
		t.Helper()
		all, err := os.ReadDir(d.store.Contexts)
		testenv.NoError(t, err)
		return len(all)
	}
	inTheWay := filepath.Join(d.store.s3Path(id), "x")
	testenv.NoError(t, os.MkdirAll(inTheWay, 0o700))
	if err := end(); err == nil || kept() != 1 {
		t.Errorf("%v, and %d results are there", err, kept())
	}
	testenv.NoError(t, os.RemoveAll(filepath.Dir(inTheWay)))
	if err := end(); err != nil || kept() != 0 {
		t.Errorf("%v, and %d results are there", err, kept())
	}
	all, err := d.store.ContextsOf(id)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if _, err := d.store.ReadContext(all[0]); !errors.Is(err, ErrCleared) {
		t.Error(err)
	}
}
