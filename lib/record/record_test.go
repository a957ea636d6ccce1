package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/conversation"
	"gt/lib/text/redact"
)

// client is a client that keeps its entries as lines of JSON.
type client struct{}

func (client) Client() string                             { return "claude" }
func (client) Find(string, func(conversation.File)) error { return nil }
func (client) Metadata(conversation.File) (conversation.Metadata, error) {
	return conversation.Metadata{}, nil
}

func (client) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	return conversation.Lines(f.Path, o.From, func(line []byte, at int64) bool {
		var all []conversation.Entry
		if json.Unmarshal(line, &all) != nil {
			return true
		}
		for _, e := range all {
			if e.Offset = at; !each(e) {
				return false
			}
		}
		return true
	})
}

var epoch = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

// desk is a store and a client's file.
type desk struct {
	t     *testing.T
	store Store
	file  string
	now   time.Time
}

func newDesk(t *testing.T) *desk {
	dir := t.TempDir()
	d := &desk{t, Store{Sessions: filepath.Join(dir, "agent", "sessions"), Contexts: filepath.Join(dir, "agent", "context")}, filepath.Join(dir, "client.jsonl"), epoch}
	return d
}

func (d *desk) write(text string) {
	d.t.Helper()
	if err := os.WriteFile(d.file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) conversation() conversation.Conversation {
	d.t.Helper()
	info, err := os.Stat(d.file)
	if err != nil {
		d.t.Fatal(err)
	}
	return conversation.Conversation{
		File:     conversation.File{Client: "claude", Path: d.file, ID: "4f2c", Size: info.Size(), Changed: info.ModTime().UnixNano()},
		Metadata: conversation.Metadata{ID: "4f2c", Started: epoch, CWD: "/work"},
	}
}

func (d *desk) sync(environ ...string) SyncResult {
	d.t.Helper()
	done, err := d.try(nil, environ...)
	if err != nil {
		d.t.Fatal(err)
	}
	return done
}

func (d *desk) try(stop func() bool, environ ...string) (SyncResult, error) {
	d.t.Helper()
	x, err := d.store.Index()
	if err != nil {
		d.t.Fatal(err)
	}
	y := &Syncer{Store: d.store, Index: x, Redact: redact.NewRedactor(environ), Stop: stop, Bulk: true, Now: func() time.Time {
		d.now = d.now.Add(time.Second)
		return d.now
	}}
	return y.Sync(client{}, d.conversation())
}

// said returns the texts of a record's conversation.
func (d *desk) said(id ID) (all []string) {
	d.t.Helper()
	if err := d.store.Lines(id, func(l Line) bool {
		if l.Kind.InConversation() {
			all = append(all, l.Text)
		}
		return true
	}); err != nil {
		d.t.Fatal(err)
	}
	return all
}

func (d *desk) verify(id ID) {
	d.t.Helper()
	if _, _, torn, err := d.store.Verify(id, nil); err != nil || torn {
		d.t.Fatalf("torn %v, %v", torn, err)
	}
}

// entries returns a line of the client.
func entries(all ...conversation.Entry) string {
	data, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}

func prompt(text string) conversation.Entry {
	return conversation.Entry{Kind: conversation.Prompt, Text: text, Time: epoch}
}

// The next sync repairs a record that ends anywhere, as after a kill or with a full disk:
// every entry is there once, in order.
func TestSyncAfterAKillAnywhere(t *testing.T) {
	d := newDesk(t)
	var want []string
	var text strings.Builder
	for i := range 4 {
		// The same text twice, too.
		for _, say := range []string{fmt.Sprint("ask ", i), "yes", "yes"} {
			want = append(want, say)
			text.WriteString(entries(prompt(say)))
		}
	}
	first := text.String()[:len(text.String())/2]
	first = first[:strings.LastIndexByte(first, '\n')+1]
	d.write(first)
	id := d.sync().ID
	d.write(text.String())
	d.sync()
	if got := d.said(id); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	whole, err := os.ReadFile(d.store.Path(id))
	testenv.NoError(t, err)
	for size := 0; size < len(whole); size += 1 + size%13 {
		testenv.NoError(t, os.WriteFile(d.store.Path(id), whole[:size], 0o600))
		if got := d.sync(); got.ID != id {
			t.Fatalf("%d: another record, %s", size, got.ID)
		}
		d.verify(id)
		if got := d.said(id); !slices.Equal(got, want) {
			t.Fatalf("%d bytes: %q", size, got)
		}
		i, err := d.store.Info(id)
		if err != nil || i.Messages != len(want) {
			t.Fatalf("%d bytes: %d messages, %v", size, i.Messages, err)
		}
	}
}

// A sync that is stopped loses nothing and writes nothing twice.
func TestSyncStopped(t *testing.T) {
	d := newDesk(t)
	var want []string
	var text strings.Builder
	for i := range 1000 {
		want = append(want, fmt.Sprint("say ", i))
		text.WriteString(entries(prompt(want[i])))
	}
	d.write(text.String())
	for n := 1; ; n++ {
		asked := 0
		done, err := d.try(func() bool { asked++; return asked > n })
		testenv.NoError(t, err)
		if !done.Stopped {
			d.verify(done.ID)
			if got := d.said(done.ID); !slices.Equal(got, want) {
				t.Fatalf("%d entries", len(got))
			}
			return
		}
	}
}

// Entries that a client takes back stay, later entries are appended, and nothing is there
// twice.
func TestSyncRewritten(t *testing.T) {
	for round := range testenv.Seeds(200) {
		rnd := rand.New(rand.NewPCG(round, 2))
		d := newDesk(t)
		had := map[string]int{}
		var lines []string
		n := 0
		var id ID
		for step := range 6 {
			switch rnd.IntN(4) {
			case 0: // truncated
				lines = lines[:rnd.IntN(len(lines)+1)]
			case 1: // the beginning is removed
				lines = lines[rnd.IntN(len(lines)+1):]
			case 2: // an entry changes
				if len(lines) > 0 {
					n++
					lines[rnd.IntN(len(lines))] = fmt.Sprint("changed ", n)
				}
			}
			for range rnd.IntN(4) {
				n++
				lines = append(lines, fmt.Sprint("say ", n))
			}
			var text strings.Builder
			for _, l := range lines {
				had[l] = 1
				text.WriteString(entries(prompt(l)))
			}
			d.write(text.String())
			if done := d.sync(); done.ID != "" {
				id = done.ID
			}
			if id == "" || step == 0 {
				continue
			}
			d.verify(id)
		}
		if id == "" {
			continue
		}
		got := d.said(id)
		for _, l := range got {
			if had[l]--; had[l] < 0 {
				t.Fatalf("round %d: %q stands twice or was never said", round, l)
			}
		}
		for _, l := range lines {
			if !slices.Contains(got, l) {
				t.Fatalf("round %d: %q is missing in %q", round, l, got)
			}
		}
	}
}

// A sync of an unchanged file writes nothing, even if the file's time changed.
func TestSyncOfNothingNew(t *testing.T) {
	d := newDesk(t)
	d.write(entries(prompt("ask")))
	id := d.sync().ID
	before, _ := os.ReadFile(d.store.Path(id))
	for _, at := range []time.Time{epoch, epoch.Add(time.Hour)} {
		testenv.NoError(t, os.Chtimes(d.file, at, at))
		d.sync()
	}
	if after, _ := os.ReadFile(d.store.Path(id)); !bytes.Equal(before, after) {
		t.Errorf("%s", after[len(before):])
	}
}

// Secrets, and the content of files with a secret's name, are not written.
func TestSyncLeavesOutSecrets(t *testing.T) {
	const token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
	d := newDesk(t)
	call := func(id, target, text string) conversation.Entry {
		return conversation.Entry{Kind: conversation.Call, Tool: "T", CallID: id, Target: target, Text: text}
	}
	result := func(id, text string) conversation.Entry {
		return conversation.Entry{Kind: conversation.Result, CallID: id, Text: text}
	}
	d.write(entries(prompt("use "+token+" and hunter2-of-the-environment")) +
		entries(call("1", "", "file_path: /x/.env\nlimit: 3"), call("2", "", "/x/.env.example")) +
		entries(result("1", "PLANTED-1"), result("2", "sample")) +
		entries(call("3", "cat ~/.ssh/id_ed25519 | head", "command: cat"), result("3", "PLANTED-3")) +
		entries(call("4", "/x/server.pem", "file_path: /x/server.pem\ncontent: PLANTED-4"), result("4", "written")) +
		entries(call("", "", "cat .env | head"), result("", "PLANTED-5")) +
		entries(call("6", "cat > .env <<END\nPLANTED-6\nEND", "cat > .env <<END\nPLANTED-6\nEND"), result("6", "")) +
		entries(call("7", "", "description: look\nprompt: see what .env says")) + entries(result("7", "kept-7")))
	id := d.sync("API_TOKEN=hunter2-of-the-environment").ID
	data, err := os.ReadFile(d.store.Path(id))
	testenv.NoError(t, err)
	for _, secret := range []string{token, "hunter2", "PLANTED"} {
		if i := bytes.Index(data, []byte(secret)); i >= 0 {
			t.Errorf("%q is in the record: %.200s", secret, data[max(0, i-100):])
		}
	}
	for _, kept := range []string{"sample", "kept-7", "id_ed25519", "server.pem", redact.Mark} {
		if !bytes.Contains(data, []byte(kept)) {
			t.Errorf("%q is not in the record", kept)
		}
	}
}

// A result is left out even if it comes in a later sync than its call.
func TestSyncRemembersSecretCalls(t *testing.T) {
	d := newDesk(t)
	call := entries(conversation.Entry{Kind: conversation.Call, CallID: "1", Text: "/x/.env"})
	d.write(call)
	d.sync()
	d.write(call + entries(conversation.Entry{Kind: conversation.Result, CallID: "1", Text: "PLANTED"}))
	id := d.sync().ID
	if data, _ := os.ReadFile(d.store.Path(id)); bytes.Contains(data, []byte("PLANTED")) {
		t.Errorf("%s", data)
	}
}

// A large result is kept aside, complete but without its secrets. The line has both its
// ends.
func TestLargeResults(t *testing.T) {
	const token = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
	d := newDesk(t)
	text := "begin " + strings.Repeat("é and so on\n", 8000) + token + strings.Repeat("\nmore", 2000) + " end"
	d.write(entries(conversation.Entry{Kind: conversation.Result, Tool: "my/Tool", CallID: "1", Text: text}))
	id := d.sync().ID
	all, err := d.store.ContextsOf(id)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if !strings.HasPrefix(all[0].Ref, string(id)+"-my_Tool-") || !strings.HasSuffix(all[0].Ref, ".json") {
		t.Errorf("it is called %s", all[0].Ref)
	}
	got, err := d.store.ReadContext(all[0])
	if want := strings.Replace(text, token, redact.Mark, 1); err != nil || got != want {
		t.Errorf("%d bytes, not %d, %v", len(got), len(want), err)
	}
	line := d.said(id)[0]
	if len(line) > 9<<10 || !strings.HasPrefix(line, "begin ") || !strings.HasSuffix(line, " end") || strings.Contains(line, "\uFFFD") {
		t.Errorf("%d bytes: %.20s", len(line), line)
	}
	d.verify(id)
	testenv.NoError(t, os.Remove(filepath.Join(d.store.Contexts, all[0].Ref)))
	if _, err := d.store.ReadContext(all[0]); !errors.Is(err, ErrCleared) {
		t.Error(err)
	}
	d.verify(id)
}

// Verify finds the first line that was changed, removed, moved or inserted.
func TestVerify(t *testing.T) {
	d := newDesk(t)
	d.write(entries(prompt("one")) + entries(prompt("two")) + entries(prompt("three")))
	id := d.sync().ID
	whole, err := os.ReadFile(d.store.Path(id))
	testenv.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, c := range map[string]struct {
		change func([][]byte) [][]byte
		line   int
	}{
		"changed":  {func(l [][]byte) [][]byte { l[2] = bytes.Replace(l[2], []byte("two"), []byte("six"), 1); return l }, 4},
		"out":      {func(l [][]byte) [][]byte { return slices.Delete(l, 2, 3) }, 3},
		"front":    {func(l [][]byte) [][]byte { return l[1:] }, 1},
		"moved":    {func(l [][]byte) [][]byte { l[1], l[2] = l[2], l[1]; return l }, 2},
		"put in":   {func(l [][]byte) [][]byte { return slices.Insert(l, 2, l[1]) }, 3},
		"no JSON":  {func(l [][]byte) [][]byte { l[1] = []byte("x\n"); return l }, 2},
		"bad head": {func(l [][]byte) [][]byte { l[0] = bytes.Replace(l[0], []byte("/work"), []byte("/other"), 1); return l }, 2},
	} {
		changed := c.change(slices.Clone(lines))
		testenv.NoError(t, os.WriteFile(d.store.Path(id), bytes.Join(changed, nil), 0o600))
		var fault *Fault
		if _, _, _, err := d.store.Verify(id, nil); !errors.As(err, &fault) || fault.Line != c.line {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A removed record says what was removed, and is not recorded again.
func TestRemove(t *testing.T) {
	d := newDesk(t)
	large := conversation.Entry{Kind: conversation.Result, Text: strings.Repeat("large ", 20_000)}
	d.write(entries(prompt("private words")) + entries(large))
	id := d.sync().ID
	other := filepath.Join(d.store.Contexts, "session-abc-zzzzzz-T-000000.json")
	testenv.NoError(t, os.WriteFile(other, nil, 0o600))
	gone, err := d.store.Remove(id, Forgotten, epoch)
	if err != nil || gone.Lines != 4 {
		t.Fatalf("%+v, %v", gone, err)
	}
	d.write(entries(prompt("private words")) + entries(prompt("more")))
	if done := d.sync(); done.Gone != Forgotten || done.Lines != 0 {
		t.Errorf("%+v", done)
	}
	data, err := os.ReadFile(d.store.Path(id))
	if err != nil || bytes.Contains(data, []byte("private")) || bytes.Contains(data, []byte("/work")) || !bytes.Contains(data, []byte(`"lines":4`)) {
		t.Errorf("%s, %v", data, err)
	}
	d.verify(id)
	left, err := os.ReadDir(d.store.Contexts)
	if err != nil || len(left) != 1 || left[0].Name() != filepath.Base(other) {
		t.Errorf("%v, %v", left, err)
	}
	if again, err := d.store.Remove(id, Pruned, epoch); err != nil || again.Lines != 0 {
		t.Errorf("%+v, %v", again, err)
	}
}

// Records are private to this user, and no file is written through a link.
func TestStrangeFiles(t *testing.T) {
	d := newDesk(t)
	d.write(entries(prompt("one")))
	id := d.sync().ID
	d.write(entries(prompt("one")) + entries(prompt("two")))
	testenv.NoError(t, os.Chmod(d.store.Path(id), 0o666))
	if _, err := d.store.Info(id); err == nil {
		t.Error("a file that all can write to was believed")
	}
	// A file that all can read becomes private at the next write.
	testenv.NoError(t, os.Chmod(d.store.Path(id), 0o644))
	d.sync()
	if info, err := os.Stat(d.store.Path(id)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	real := d.store.Path(id) + ".real"
	testenv.NoError(t, os.Rename(d.store.Path(id), real))
	testenv.NoError(t, os.Symlink(real, d.store.Path(id)))
	if _, err := d.try(nil); err == nil {
		t.Error("a link was followed")
	}
}

// Ids have S3's form. A conversation always has the same one, and others have others.
func TestIDs(t *testing.T) {
	seen := map[string]Key{}
	for i := range 20_000 {
		k := Key{"claude", "s", ""}
		k.Parent = k.Parent + "p"
		k.Session += "x"
		k.Agent = fmt.Sprint(k.Agent, i)
		id := newID(epoch, k.suffix(0))
		if _, err := ParseID(string(id)); err != nil || k.suffix(0) == k.suffix(1) {
			t.Fatal(id, err)
		}
		seen[string(id)] = k
	}
	if len(seen) < 19_990 {
		t.Errorf("%d ids", len(seen))
	}
	for _, bad := range []string{"", "session-", "session-abc-12345", "session-abc-1234567", "session-ABC-123456", "session-a/b-123456", "../session-abc-123456", "session-abc-123456.jsonl"} {
		if _, err := ParseID(bad); err == nil {
			t.Errorf("%q is an id", bad)
		}
	}
}

// Two conversations whose ids have the same suffix have a record each.
func TestSameSuffix(t *testing.T) {
	d := newDesk(t)
	d.write(entries(prompt("one")))
	id := d.sync().ID
	// The record of another conversation under that name.
	data, err := os.ReadFile(d.store.Path(id))
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(d.store.Path(id), bytes.Replace(data, []byte(`"session_id":"4f2c"`), []byte(`"session_id":"other"`), 1), 0o600))
	second := d.sync()
	if second.ID == id || !second.New {
		t.Errorf("%+v", second)
	}
	if third := d.sync(); third.ID != second.ID {
		t.Errorf("%+v", third)
	}
}
