//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gt/internal/readertest"
	"gt/lib/catalog/scan"
	gemini "gt/lib/client/gemini/conversation"
	kimi "gt/lib/client/kimi/conversation"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/redact"
)

// conversations are those of one client in this world, the oldest first. That
// they were read must not show in the person's home.
func (w *world) conversations(client string) []readertest.Held {
	w.Helper()
	before := snapshot(w.TB, w.home)
	all, errs := scan.FindConversations(w.getenv, redact.NewCutRedactor(nil), "", nil)
	if len(errs) > 0 {
		w.Fatal(errs)
	}
	var found []readertest.Held
	for _, c := range all {
		if c.File.Client != client {
			continue
		}
		t := readertest.Held{File: c.File, Metadata: c.Metadata}
		next, err := readers.FindReader(client).Read(c.File, conversation.Options{}, func(e conversation.Entry) bool {
			t.Entries = append(t.Entries, e)
			return true
		})
		if err != nil {
			w.Fatal(err)
		}
		if again, err := readers.FindReader(client).Read(c.File, conversation.Options{From: next}, func(e conversation.Entry) bool {
			w.Errorf("behind the end of %s stands %+v", c.File.Path, e)
			return true
		}); err != nil || again != next {
			w.Errorf("%s: from %d on reading went to %d (%v)", c.File.Path, next, again, err)
		}
		if u, err := conversation.CountUnknown(readers.FindReader(client), c.File); err != nil || u.Records > 0 {
			w.Errorf("%s has records that its reader does not know: %+v, %v", c.File.Path, u, err)
		}
		found = append(found, t)
	}
	slices.SortFunc(found, func(a, b readertest.Held) int { return a.Metadata.Started.Compare(b.Metadata.Started) })
	// What a hook started detached, nobody waits for: it records, and says so in the log.
	detached := []string{filepath.Join(w.home, ".agent"), filepath.Join(w.home, ".local", "state", "gt", ".events.jsonl")}
	for path, data := range snapshot(w.TB, w.home) {
		ours := slices.ContainsFunc(detached, func(dir string) bool { return strings.HasPrefix(path, dir) })
		if was, ok := before[path]; (!ok || was != data) && !ours {
			w.Errorf("reading changed %s", path)
		}
	}
	return found
}

// held are the conversations of a client in which something was said, which are n.
func (w *world) held(client string, n int) []readertest.Held {
	w.Helper()
	all := spoken(w.conversations(client))
	if len(all) != n {
		w.Fatalf("%d conversations are found, want %d", len(all), n)
	}
	return all
}

// heldInPane is the one conversation of a client, which a person held, with its name ("" if it
// has none) and their prompts.
func (w *world) heldInPane(client, title string, prompts ...string) readertest.Held {
	w.Helper()
	w.killProcesses() // a server behind the client's windows writes on
	c := w.held(client, 1)[0]
	if f := c.Metadata; f.Headless || f.Prompt != prompts[0] || f.Parent != "" || title != "" && f.Title != title {
		w.Errorf("the conversation's facts are %+v", f)
	}
	if got := c.Texts(conversation.Prompt); !slices.Equal(got, prompts) {
		w.Errorf("the person asked %q, want %q", got, prompts)
	}
	return c
}

// isFirst fails the test unless a conversation is one of a command and a second prompt.
func (w *world) isFirst(c readertest.Held, id, prompt string) {
	w.Helper()
	if f := c.Metadata; string(f.ID) != id || f.Prompt != prompt || f.ForkOf != "" || f.Parent != "" {
		w.Errorf("the first conversation is %+v", f)
	}
	w.reads(c, "prompt spent answer call result spent answer prompt spent answer", map[conversation.Kind][]string{
		conversation.Prompt: {prompt, "second prompt"},
		conversation.Answer: {"I run a command.", "It is done.", "ANSWER to second prompt"},
	})
}

// reads fails the test unless a conversation has entries of these kinds, in this order, and
// these texts.
func (w *world) reads(c readertest.Held, kinds string, texts map[conversation.Kind][]string) {
	w.Helper()
	if c.Kinds() != kinds {
		w.Errorf("the conversation is\n%s, want\n%s", c.Kinds(), kinds)
	}
	for kind, want := range texts {
		if got := c.Texts(kind); !slices.Equal(got, want) {
			w.Errorf("%ss are %q, want %q", kind, got, want)
		}
	}
}

// areFamily fails the test unless fork is a copy of c with one more prompt, and child the
// subagent of parent.
func (w *world) areFamily(c, fork, parent, child readertest.Held) {
	w.Helper()
	if fork.Metadata.ForkOf != c.Metadata.ID || fork.Metadata.FirstID != c.Metadata.FirstID || !fork.Metadata.Started.After(c.Metadata.Last) ||
		!slices.Equal(fork.Texts(conversation.Prompt), append(c.Texts(conversation.Prompt), "asked in the fork")) {
		w.Errorf("the fork is %+v, with %q", fork.Metadata, fork.Texts(conversation.Prompt))
	}
	for i, e := range c.Entries {
		if f := fork.Entries[i]; f.ID != e.ID || f.Text != e.Text {
			w.Errorf("the fork's copy of %+v is %+v", e, f)
		}
	}
	if parent.Metadata.Parent != "" || child.Metadata.Parent != parent.Metadata.ID || child.Metadata.Prompt != "You are the child." {
		w.Errorf("who delegated is %+v, the subagent %+v", parent.Metadata, child.Metadata)
	}
}

// getenv is the world's environment.
func (w *world) getenv(name string) string {
	for _, kv := range slices.Backward(w.Env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// spent is what the conversations, the oldest first, cost together, what forks copied only once.
func (w *world) spent(all []readertest.Held) conversation.Usage {
	w.Helper()
	var tally conversation.UsageTally
	var sum conversation.Usage
	for i, c := range all {
		from := conversation.Lineage{ID: c.Metadata.ID, Began: c.Metadata.Started, Ancestors: []session.ID{c.Metadata.ForkOf, c.Metadata.Parent}}
		for _, earlier := range all[:i] { // Claude Code tells a fork by the message that it begins with
			if c.Metadata.FirstID != "" && c.Metadata.FirstID == earlier.Metadata.FirstID {
				from.Ancestors = append(from.Ancestors, earlier.Metadata.ID)
			}
		}
		spent, err := conversation.ReadTokens(readers.FindReader(c.File.Client), c.File)
		added := tally.AddTokens(spent, from)
		if err != nil {
			w.Fatal(err)
		}
		for _, s := range added {
			sum.Add(s.Usage)
		}
	}
	sum.Cost = 0 // which not every client states
	return sum
}

// cost fails the test unless the conversations' requests cost what is wanted.
func (w *world) cost(all []readertest.Held, want conversation.Usage) {
	w.Helper()
	if got := w.spent(all); got != want {
		w.Errorf("%d requests cost %+v, want %+v", len(w.model.Turns()), got, want)
	}
}

// snapshot is everything below a folder: content, size and time of each file. What goes while
// it is looked at, as a file that a detached hook renames, is not there.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			all[path], err = state(path, d)
		}
		if errors.Is(err, fs.ErrNotExist) {
			delete(all, path)
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// state is content, size and time of a file.
func state(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	text := fmt.Sprint(info.Mode(), info.ModTime(), info.Size())
	if !info.Mode().IsRegular() || info.Size() >= 16<<20 {
		return text, nil
	}
	data, err := os.ReadFile(path)
	return text + string(data), err
}

// keepFixture puts what the client wrote into the testdata of the folder of lib/client/<client>/conversation, as
// the fixture of this version, where GT_E2E_RECORD says so: without the machine's
// paths and the key, and long texts cut, for they are the client's instructions.
func (w *world) keepFixture(client, name, store string, files ...string) {
	w.Helper()
	if os.Getenv("GT_E2E_RECORD") == "" {
		return
	}
	to := filepath.Join("..", "lib", "client", client, "conversation", "testdata", w.client.Version+"-"+name)
	if err := os.RemoveAll(to); err != nil {
		w.Fatal(err)
	}
	for _, file := range files {
		rel, err := filepath.Rel(store, file)
		if err != nil {
			w.Fatal(err)
		}
		rel = ownFolder.ReplaceAllString(string(w.anonymous([]byte(rel))), "-home-max-project")
		w.write(filepath.Join(to, rel), string(w.anonymous([]byte(w.read(file)))))
	}
}

var (
	// ownFolder is how Claude Code names the world's project, and how pi does.
	ownFolder = regexp.MustCompile(`-[^/"\s]*gt-e2e-\d+-max(-s-project--x|'s project \$x)`)
	noAlnum   = regexp.MustCompile(`[^a-zA-Z0-9]`)
	longText  = regexp.MustCompile(`"(?:[^"\\]|\\.){1000,}"`)
	escape    = regexp.MustCompile(`\\[^"\\]{0,5}$`)
)

// hash is what some clients call a folder.
func hash(t testing.TB, dir string) string {
	t.Helper()
	name, err := gemini.Project(dir)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// anonymous is a client's text without what only this machine or this run has.
func (w *world) anonymous(data []byte) []byte {
	for _, r := range [][2]string{
		{noAlnum.ReplaceAllString(w.project, "-"), "-home-max-project"}, {hash(w.TB, w.project), hash(w.TB, "/home/max/project")},
		{kimi.Folder(w.project), kimi.Folder("/home/max/project")}, {w.project, "/home/max/project"}, {w.home, "/home/max"}, {w.Root, "/home"}, {w.key, "KEY"},
	} {
		data = bytes.ReplaceAll(data, []byte(r[0]), []byte(r[1]))
	}
	data = ownFolder.ReplaceAll(data, []byte("-home-max-project"))
	host, err := os.Hostname()
	if err == nil && len(host) > 3 {
		data = bytes.ReplaceAll(data, []byte(host), []byte("host"))
	}
	return longText.ReplaceAllFunc(data, func(s []byte) []byte {
		s = escape.ReplaceAll(s[:200], nil)
		return append(bytes.TrimRight(s, `\`), `…"`...)
	})
}
