package parcel

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/standing"
)

// host is a person's home folder on some machine.
type host struct {
	t      *testing.T
	home   string
	stderr bytes.Buffer
}

const sessionID = "7b2e1c52-4f7e-4c5e-9a41-0a6d2f2f9d10"

// newHost makes a home folder in which a claude can be found.
func newHost(t *testing.T) *host {
	h := &host{t: t, home: t.TempDir()}
	h.write("bin/claude", "#!/bin/sh\n")
	testenv.NoError(t, os.Chmod(filepath.Join(h.home, "bin/claude"), 0o755))
	h.write(".gitconfig", "[user]\nname = T\nemail = t@example.org\n[protocol \"file\"]\nallow = always\n")
	return h
}

// env makes the host's the home of this process, as git has it.
func (h *host) env() *cli.Env {
	h.t.Setenv("HOME", h.home)
	h.t.Setenv("XDG_STATE_HOME", "")
	h.t.Setenv("XDG_CONFIG_HOME", "")
	h.t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	environ := []string{"HOME=" + h.home, "PATH=" + filepath.Join(h.home, "bin") + ":" + os.Getenv("PATH")}
	return &cli.Env{Name: "gt-session", Stdout: io.Discard, Stderr: &h.stderr, Environ: environ, Dir: h.home, Now: time.Now}
}

func (h *host) write(name, text string) {
	h.t.Helper()
	path := filepath.Join(h.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) git(args ...string) string {
	h.t.Helper()
	h.env()
	cmd := exec.Command("git", args...)
	cmd.Dir = h.home
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (h *host) table(env *cli.Env) *agent.Table {
	table, err := agent.Load(place.Config(env.Getenv), town.Personal(env.Getenv))
	if err != nil {
		h.t.Fatal(err)
	}
	return table
}

func (h *host) store(env *cli.Env) instance.Store {
	return instance.Personal(place.StateOf(env.Getenv), "")
}

// pack packs an agent of the repository src with a conversation, a thread and files that
// are not committed.
func (h *host) pack() *box {
	h.t.Helper()
	env := h.env()
	store := h.store(env)
	in := &instance.Instance{
		Name: "api", Path: filepath.Join(h.home, "src"), Agent: "claude", Args: []string{"--model", "opus"}, Desired: instance.Stopped,
		SessionID: sessionID, SessionAt: time.Now(), ChainID: sessionID,
	}
	if err := store.Create(in, env.Now()); err != nil {
		h.t.Fatal(err)
	}
	h.write("src/new", "new\n")
	h.write("src/old", "changed\n")
	h.write(".claude/projects/"+strings.Map(slug, in.Path)+"/"+sessionID+".jsonl", `{"type":"user","sessionId":"`+sessionID+`","message":{"role":"user","content":"port it"}}`+"\n")
	h.write(".claude/tasks/"+sessionID+"/1.json", `{"id":"1","subject":"the lexer"}`)
	if _, err := thread.Update(store.State, sessionID, atomicfile.Unsynced, nil, func(t *thread.Thread) {
		t.AddInstruction(standing.Instruction{Text: "never push", Kind: standing.KindNever}, env.Now())
	}); err != nil {
		h.t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := (Packer{Env: env, Store: store, Table: h.table(env)}).Pack(in.ID, &out); err != nil {
		h.t.Fatalf("%v\n%s", err, &h.stderr)
	}
	return read(h.t, out.Bytes())
}

func slug(r rune) rune {
	if r < 0x80 && strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", r) {
		return r
	}
	return '-'
}

func (h *host) unpack(data []byte, change func(*Unpacker)) (Result, error) {
	env := h.env()
	u := Unpacker{Env: env, Store: h.store(env), Table: h.table(env), Choices: Choices{Folder: filepath.Join(h.home, "src")}}
	if change != nil {
		change(&u)
	}
	return u.Unpack(bytes.NewReader(data))
}

// accept has the person accept what waits.
func (h *host) accept(waits Result) (Result, error) {
	env := h.env()
	one, err := WaitingFor(h.store(env).State, waits.Parcel)
	if err != nil {
		return Result{}, err
	}
	return Unpacker{Env: env, Store: h.store(env), Table: h.table(env)}.Accept(one, func([]Power) error { return nil })
}

// box is a parcel that can be changed.
type box struct {
	Manifest
	contents map[string][]byte
	headers  func(h *tar.Header) // changes them; may be nil
}

func read(t *testing.T, data []byte) *box {
	t.Helper()
	b := &box{contents: map[string][]byte{}}
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if b.contents[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	testenv.NoError(t, json.Unmarshal(b.contents[manifestName], &b.Manifest))
	return b
}

// clone returns a copy with an id of its own.
func (b *box) clone(t *testing.T) *box {
	c := &box{contents: maps.Clone(b.contents)}
	data, err := json.Marshal(&b.Manifest)
	if err == nil {
		err = json.Unmarshal(data, &c.Manifest)
	}
	testenv.NoError(t, err)
	c.ID = string(session.NewID())
	c.contents[endName] = []byte(c.ID)
	return c
}

// put sets the content of a member.
func (b *box) put(name, text string) { b.contents[name] = []byte(text) }

// file adds a file to the worktree.
func (b *box) file(path, text string) {
	name := memberName(len(b.Members) - 1)
	b.Members = slices.Insert(b.Members, len(b.Members)-1, Member{Name: name})
	b.put(name, text)
	b.Git.Files = append(b.Git.Files, File{Path: path, Member: name})
}

func (b *box) data(t *testing.T) []byte {
	t.Helper()
	for i, m := range b.Members {
		if m.Size == 0 { // otherwise the test has set it
			sum := sha256.Sum256(b.contents[m.Name])
			b.Members[i] = Member{m.Name, int64(len(b.contents[m.Name])), hex.EncodeToString(sum[:])}
		}
	}
	manifest, err := json.Marshal(&b.Manifest)
	testenv.NoError(t, err)
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	put := func(name string, data []byte) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600}
		if b.headers != nil {
			b.headers(h)
		}
		if h.Typeflag != tar.TypeReg {
			h.Size, data = 0, nil
		}
		testenv.NoError(t, w.WriteHeader(h))
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	put(manifestName, manifest)
	for _, m := range b.Members {
		put(m.Name, b.contents[m.Name])
	}
	testenv.NoError(t, w.Close())
	return out.Bytes()
}

// hosts returns two machines with the same repository, and a parcel of the first one.
// With -short it skips two tests of three.
func hosts(t *testing.T) (there *host, b *box) {
	t.Helper()
	testenv.Sample(t, 3)
	here := newHost(t)
	here.git("init", "-q", "-b", "main", "src")
	here.write("src/old", "old\n")
	here.git("-C", "src", "add", "-A")
	here.git("-C", "src", "commit", "-q", "-m", "first")
	there = newHost(t)
	there.git("clone", "-q", filepath.Join(here.home, "src"), "src")
	here.git("-C", "src", "commit", "-q", "--allow-empty", "-m", "second")
	b = here.pack()
	for i := range b.Members {
		b.Members[i].Size = 0 // data measures them
	}
	return there, b
}

// What was packed is there, and again it is the same.
func TestUnpack(t *testing.T) {
	there, b := hosts(t)
	data := b.data(t)
	done, err := there.unpack(data, nil)
	testenv.NoError(t, err)
	if done.Branch != "moved/api" || done.Session != sessionID || !slices.Equal(done.Args, []string{"--model", "opus"}) {
		t.Errorf("%+v", done)
	}
	for name, want := range map[string]string{
		done.Path + "/new": "new\n", done.Path + "/old": "changed\n",
		there.home + "/.claude/tasks/" + sessionID + "/1.json":                                        `{"id":"1","subject":"the lexer"}`,
		there.home + "/.claude/projects/" + strings.Map(slug, done.Path) + "/" + sessionID + ".jsonl": string(b.contents[b.Manifest.Session.Conversation[0].Member]),
	} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	again, err := there.unpack(data, nil)
	if again.Again = false; err != nil || fmt.Sprint(again) != fmt.Sprint(done) {
		t.Errorf("again: %+v, %v", again, err)
	}
	// Another parcel of the same instance, which is here.
	if _, err := there.unpack(b.clone(t).data(t), nil); err == nil || !strings.Contains(err.Error(), "has not moved away") {
		t.Errorf("another: %v", err)
	}
}

// Every kind of change that git tells is made anew, as git tells it.
func TestKindsOfChange(t *testing.T) {
	here := newHost(t)
	here.git("init", "-q", "-b", "main", "src")
	src := filepath.Join(here.home, "src")
	must := func(errs ...error) { t.Helper(); testenv.NoError(t, errors.Join(errs...)) }
	for _, name := range []string{"old", "filefolder", "filelink", "folderfile/a", "folderfile/b/c", "folderlink/a", "target/a", "mode", "gone", "case", "staged"} {
		here.write("src/"+name, name+"\n")
	}
	for _, name := range []string{"linkfile", "linkfolder", "linkother"} {
		must(os.Symlink("old", filepath.Join(src, name)))
	}
	here.git("-C", "src", "add", "-A")
	here.git("-C", "src", "commit", "-q", "-m", "first")
	there := newHost(t)
	there.git("clone", "-q", src, "src")

	at := func(name string) string { return filepath.Join(src, name) }
	for _, name := range []string{"filefolder", "filelink", "folderfile", "folderlink", "linkfile", "linkfolder", "linkother", "gone", "staged"} {
		must(os.RemoveAll(at(name)))
	}
	for _, name := range []string{"filefolder/deep/x", "folderfile", "linkfile", "linkfolder/x", "staged/x", "intended", "intended2/x"} {
		here.write("src/"+name, "changed "+name+"\n")
	}
	must(os.Symlink("old", at("filelink")), os.Symlink("target", at("folderlink")), os.Symlink("mode", at("linkother")))
	must(os.Chmod(at("mode"), 0o755), os.Rename(at("case"), at("Case")))
	here.git("-C", "src", "add", "-A", "staged")
	here.git("-C", "src", "add", "-N", "intended", "intended2")
	told := here.git("-C", "src", "status", "--porcelain", "--untracked-files=all") + "\n?? new" // of pack
	b := here.pack()
	for i := range b.Members {
		b.Members[i].Size = 0 // data measures them
	}
	done, err := there.unpack(b.data(t), nil)
	must(err)
	sorted := func(s string) []string { return slices.Sorted(strings.Lines(s + "\n")) }
	is := there.git("-C", done.Path, "status", "--porcelain", "--untracked-files=all")
	if want := strings.Replace(told, "\n", "\n M old\n", 1); !slices.Equal(sorted(is), sorted(want)) {
		t.Errorf("it was\n%s\nand is\n%s", want, is)
	}
	for _, name := range []string{"filefolder/deep/x", "folderfile", "linkfile", "linkfolder/x", "staged/x", "intended", "intended2/x", "folderlink/a"} {
		if was, is := textOf(at(name)), textOf(filepath.Join(done.Path, name)); was == "" || was != is {
			t.Errorf("%s was %q and is %q", name, was, is)
		}
	}
}

func textOf(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// What no parcel can hold stops a move before the agent is stopped.
func TestPackRefusesFirst(t *testing.T) {
	h := newHost(t)
	h.git("init", "-q", "-b", "main", "src")
	h.write("src/old", "old\n")
	h.git("-C", "src", "add", "-A")
	h.git("-C", "src", "commit", "-q", "-m", "first")
	h.git("-C", "src", "update-index", "--assume-unchanged", "old")
	env := h.env()
	in := &instance.Instance{Name: "api", Path: filepath.Join(h.home, "src"), Agent: "claude", Desired: instance.Running}
	testenv.NoError(t, h.store(env).Create(in, env.Now()))
	_, err := Packer{Env: env, Store: h.store(env), Table: h.table(env)}.Pack(in.ID, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "cannot pack api: git is told not to look at old") {
		t.Errorf("%v", err)
	}
	if now, err := h.store(env).Get(in.ID); err != nil || now.Desired != instance.Running || now.Moved != nil {
		t.Errorf("it is %+v, %v", now, err)
	}
}

// tree has the files below a folder with their contents.
func tree(t *testing.T, dir string) string {
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		if d.IsDir() && (rel == ".local/state/gt/parcels" || rel == ".local/state/gt/git" || rel == "src/.git") {
			return fs.SkipDir // spool, git's own folders of gt, and the repository
		}
		data, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %v %q\n", rel, d.Type(), data)
		return nil
	})
	testenv.NoError(t, err)
	return all.String()
}

// A link beside a folder whose name is the same in another case is in the way only where the file
// system ignores case.
func TestAlias(t *testing.T) {
	for link, file := range map[string]string{"Docs": "docs/new.md", "README": "readme/README.md", "d/A\u0131": "d/a\u0131/f", "mi\u017fe": "mise/x"} {
		g := &Git{Roots: []string{hash}, Head: hash, Index: hash, Bundle: "b", Files: []File{{Path: link, Link: "x"}, {Path: file, Member: "m"}}}
		if err := g.check(); err != nil {
			t.Errorf("as written: %v", err)
		}
		if err := g.checkPlaces(foldedName); !errors.Is(err, atomicfile.ErrLink) || !strings.Contains(err.Error(), fmt.Sprintf("%q", link)) {
			t.Errorf("%s and %s where case is ignored: %v", link, file, err)
		}
	}
}

// Files that are staged as deleted and lie there anew are both in Files and in Deleted.
func TestManyFiles(t *testing.T) {
	g := &Git{Roots: []string{hash}, Head: hash, Index: hash, Bundle: "b"}
	for i := range maxMembers {
		name := fmt.Sprint("f", i)
		g.Files = append(g.Files, File{Path: name, Member: "m"})
		g.Deleted, g.Intended = append(g.Deleted, name), append(g.Intended, name)
	}
	testenv.NoError(t, g.check())
	for _, list := range []*[]string{&g.Deleted, &g.Intended} {
		*list = append(*list, "more")
		if err := g.check(); err == nil || !strings.Contains(err.Error(), "more than 200000") {
			t.Errorf("one more: %v", err)
		}
		*list = (*list)[:maxMembers]
	}
}

var hash = strings.Repeat("a", 40)

// A hostile parcel is refused, and leaves nothing but a worktree below the repository.
func TestHostile(t *testing.T) {
	there, good := hosts(t)
	there.write(".ssh/id", "KEY\n")
	there.write("precious", "mine\n")
	there.write(".local/state/gt/parcels/.keep", "")
	before := tree(t, there.home)
	transcript := func(b *box) string { return b.Manifest.Session.Conversation[0].Member }
	for name, c := range map[string]struct {
		change func(b *box)
		want   string
	}{
		"a way out":            {func(b *box) { b.file("../precious", "x") }, "invalid path"},
		"an absolute path":     {func(b *box) { b.file("/tmp/gt-hostile", "x") }, "invalid path"},
		"a way out and in":     {func(b *box) { b.file("a/../../precious", "x") }, "invalid path"},
		"no path":              {func(b *box) { b.file("", "x") }, "invalid path"},
		"the top":              {func(b *box) { b.file(".", "x") }, "invalid path"},
		"git's own":            {func(b *box) { b.file(".git/hooks/post-checkout", "x") }, "git's own"},
		"git's own file":       {func(b *box) { b.file(".git", "gitdir: /tmp") }, "git's own"},
		"in other case":        {func(b *box) { b.file(".GiT/config", "x") }, "git's own"},
		"below":                {func(b *box) { b.file("sub/.git/config", "x") }, "git's own"},
		"for HFS+":             {func(b *box) { b.file(".g\u200cit/config", "x") }, "git's own"},
		"for NTFS":             {func(b *box) { b.file("GIT~1/config", "x") }, "git's own"},
		"a stream of NTFS":     {func(b *box) { b.file(".git::$INDEX_ALLOCATION/config", "x") }, "git's own"},
		"with a blank":         {func(b *box) { b.file(".git. /config", "x") }, "git's own"},
		"with a backslash":     {func(b *box) { b.file(`sub\.git\config`, "x") }, "git's own"},
		"removes what is mine": {func(b *box) { b.Git.Deleted = []string{"../../precious"} }, "invalid path"},
		"works elsewhere":      {func(b *box) { b.Git.Within = "../.." }, "invalid path"},
		"through a link": {func(b *box) {
			b.Git.Files = append(b.Git.Files, File{Path: "d", Link: "../.ssh"})
			b.file("d/id", "x")
		}, `"d/id": a link is on the way: "d"`},
		"removes through a link": {func(b *box) { // of an earlier unpacking
			b.Git.Files = append(b.Git.Files, File{Path: "d", Link: "../.ssh"})
			b.Git.Within = "d"
		}, "a link is on the way"},
		"a zero byte in a path": {func(b *box) { b.file("a\x00b", "x") }, "invalid path"},
		"a path without an end": {func(b *box) { b.file(strings.Repeat("a/", 3000)+"x", "x") }, "invalid path"},
		"links without end": {func(b *box) {
			for n := range maxMembers + 1 {
				b.Git.Files = append(b.Git.Files, File{Path: fmt.Sprint("l", n), Link: "x"})
			}
		}, "more than 200000 changed files"},
		"notes without end":   {func(b *box) { b.Manifest.Session.Delivered = make([]string, maxListed+1) }, "more than 10000 notes"},
		"a name of two lines": {func(b *box) { b.Instance.Name = "a\nb" }, "invalid name"},
		"a link and a file":   {func(b *box) { b.Git.Files[0].Link = "x" }, "neither a file nor a link"},

		"a link in the tar":  {func(b *box) { b.headers = changeHeader("member-1", tar.TypeSymlink, "") }, "is not the one"},
		"a hard link":        {func(b *box) { b.headers = changeHeader("member-1", tar.TypeLink, "") }, "is not the one"},
		"a device":           {func(b *box) { b.headers = changeHeader("member-1", tar.TypeChar, "") }, "is not the one"},
		"a folder":           {func(b *box) { b.headers = changeHeader("member-1", tar.TypeDir, "") }, "is not the one"},
		"a path in a header": {func(b *box) { b.headers = changeHeader("member-1", tar.TypeReg, "../../precious") }, "is not the one"},
		"another name":       {func(b *box) { b.Members[1].Name = "../../precious" }, "does not describe"},
		"a member too many":  {func(b *box) { b.Members = slices.Insert(b.Members, 0, Member{Name: "member-0"}) }, "does not describe"},
		"a member too few":   {func(b *box) { b.Git.Files[0].Member = "member-99" }, "does not describe"},
		"incomplete":         {func(b *box) { b.Members = b.Members[:len(b.Members)-1] }, "does not describe"},
		"damaged": {func(b *box) {
			b.Members[1] = Member{"member-1", int64(len(b.contents["member-1"])), strings.Repeat("00", 32)}
		}, "is damaged"},
		"enormous":              {func(b *box) { b.Members[1] = Member{"member-1", maxTotal + 1, strings.Repeat("00", 32)} }, "more than"},
		"overflowing":           {func(b *box) { b.Members[1] = Member{"member-1", 1<<63 - 1, strings.Repeat("00", 32)} }, "more than"},
		"a negative size":       {func(b *box) { b.Members[1] = Member{"member-1", -1, strings.Repeat("00", 32)} }, "more than"},
		"of a newer gt":         {func(b *box) { b.Format = 2 }, "of a newer gt"},
		"an id that is a path":  {func(b *box) { b.ID = "../../precious" }, "not a UUID"},
		"an agent's id":         {func(b *box) { b.Instance.ID = "../../precious" }, "not a UUID"},
		"a name":                {func(b *box) { b.Instance.Name = "a:b" }, "invalid name"},
		"a group":               {func(b *box) { b.Instance.Group = "../x" }, "invalid group"},
		"a session":             {func(b *box) { b.Manifest.Session.ID = "../../precious" }, "invalid session id"},
		"a chain":               {func(b *box) { b.Manifest.Session.Chain = "../../precious" }, "invalid session id"},
		"a note told":           {func(b *box) { b.Manifest.Session.Delivered = []string{"../x"} }, "invalid session id"},
		"a note's name":         {func(b *box) { b.Manifest.Session.Notes = []Named{{Name: "../x", Member: transcript(b)}} }, "name of a note"},
		"a hidden note":         {func(b *box) { b.Manifest.Session.Notes = []Named{{Name: ".x", Member: transcript(b)}} }, "name of a note"},
		"a conversation":        {func(b *box) { b.Manifest.Session.Conversation[1].Name = "session/../../../../precious.json" }, "its conversation has a file"},
		"a to-do":               {func(b *box) { b.Manifest.Session.Conversation[1].Name = "tasks/../../settings.json" }, "its conversation has a file"},
		"a hidden to-do":        {func(b *box) { b.Manifest.Session.Conversation[1].Name = "tasks/.x.json" }, "its conversation has a file"},
		"settings":              {func(b *box) { b.Manifest.Session.Conversation[1].Name = "settings.json" }, "its conversation has a file"},
		"an escape":             {func(b *box) { b.put(transcript(b), "{\"text\":\"\x1b]52;c;eA==\a\"}\n") }, "which is not JSON"},
		"another's thread":      {func(b *box) { b.put(b.Manifest.Session.Thread, `{"chain_id":"other"}`) }, "it is the thread of"},
		"a commit":              {func(b *box) { b.Git.Head = "--upload-pack=x" }, "invalid commit"},
		"another head":          {func(b *box) { b.Git.Head = strings.Repeat("1", 40) }, "does not follow its head"},
		"a bundle's other ref":  {func(b *box) { header(b, "refs/gt/index", "refs/heads/main") }, "not a bundle"},
		"two refs":              {func(b *box) { header(b, "refs/gt/index\n", "refs/gt/index\n"+b.Git.Index+" refs/heads/main\n") }, "not a bundle"},
		"a bundle's own option": {func(b *box) { header(b, "# v2 git bundle\n", "# v3 git bundle\n@filter=blob:none\n") }, "not a bundle"},
		"no bundle":             {func(b *box) { b.put(b.Git.Bundle, "#!/bin/sh\n") }, "not a bundle"},
		"a damaged bundle":      {func(b *box) { header(b, "PACK", "PAKC") }, "cannot take its commits"},
		"commits that lack":     {func(b *box) { header(b, "# v2 git bundle\n", "# v2 git bundle\n-"+strings.Repeat("2", 40)+" x\n") }, "lacks commits"},
		"another agent":         {func(b *box) { b.Instance.Agent = "/bin/sh" }, "no agent is called"},
		"what runs it":          {func(b *box) { b.Instance.Launcher = []string{"sh", "-c", "touch precious"} }, "ran in this: sh -c"},
		"an older one":          {func(b *box) { b.Generation = 0 }, "generation"},

		"a file below a file":  {func(b *box) { b.file("d", "x"); b.file("d/e", "x") }, `"d/e" is below the file "d"`},
		"a file twice":         {func(b *box) { b.file("d", "x"); b.file("d", "y") }, "two files have the path"},
		"works in a file":      {func(b *box) { b.file("d", "x"); b.Git.Within = "d" }, "is below the file"},
		"a conversation twice": {func(b *box) { s := b.Manifest.Session; s.Conversation = append(s.Conversation, s.Conversation[1]) }, "its conversation has a file"},
		"a client's escape":    {func(b *box) { b.Manifest.Session.Agent = "claude\x1b[31m" }, "invalid client"},
		"a client without end": {func(b *box) { b.Manifest.Session.Agent = strings.Repeat("x", maxAgent+1) }, "invalid client"},
		"values without end":   {func(b *box) { b.Instance.Args = []string{strings.Repeat(",", maxValues+1)} }, "more than 3200000 values"},
	} {
		if !testenv.InSample(name, 4) {
			continue
		}
		b := good.clone(t)
		c.change(b)
		_, err := there.unpack(b.data(t), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
		there.git("-C", "src", "worktree", "prune")
		for _, path := range glob(t, filepath.Join(there.home, "src-*")) {
			if _, err := os.Lstat(filepath.Join(path, ".git")); err != nil {
				t.Errorf("%s: %s is no worktree: %v", name, path, err)
			}
			testenv.NoError(t, os.RemoveAll(path))
		}
		there.git("-C", "src", "worktree", "prune")
		for _, branch := range strings.Fields(there.git("-C", "src", "for-each-ref", "--format=%(refname:short)", "refs/heads/moved")) {
			there.git("-C", "src", "branch", "-q", "-D", branch)
		}
		if after := tree(t, there.home); after != before {
			t.Fatalf("%s left\n%s\nof\n%s", name, after, before)
		}
	}
	env := there.env()
	if all, err := there.store(env).ReadInstances(); err != nil || len(all) > 0 {
		t.Errorf("%d agents are here: %v", len(all), err)
	}
	if _, err := there.unpack(good.data(t)[:4096], nil); err == nil || !strings.Contains(err.Error(), "incomplete") {
		t.Errorf("cut off: %v", err)
	}
	if _, err := there.unpack([]byte("#!/bin/sh\n"), nil); err == nil {
		t.Error("a script is a parcel")
	}
}

// changeHeader changes the header of a member.
func changeHeader(name string, kind byte, to string) func(*tar.Header) {
	return func(h *tar.Header) {
		if h.Name != name {
			return
		}
		h.Typeflag, h.Linkname = kind, "/etc/passwd"
		if kind == tar.TypeReg || kind == tar.TypeChar || kind == tar.TypeDir {
			h.Linkname = ""
		}
		if to != "" {
			h.Name = to
		}
	}
}

func header(b *box, old, to string) {
	b.put(b.Git.Bundle, strings.Replace(string(b.contents[b.Git.Bundle]), old, to, 1))
}

func glob(t *testing.T, pattern string) []string {
	all, err := filepath.Glob(pattern)
	testenv.NoError(t, err)
	return all
}

// Whoever makes a parcel can put any commit into it. git refuses one that has a .git, or a
// submodule with a hostile URL; of others it fetches nothing and runs nothing.
func TestHostileCommits(t *testing.T) {
	there, good := hosts(t)
	maker := newHost(t)
	maker.git("init", "-q", "-b", "main", "src")
	evil := func(entries string, blobs ...string) func(b *box) {
		return func(b *box) {
			maker.git("-C", "src", "fetch", "-q", filepath.Join(there.home, "src"), "main")
			var args []any
			for _, text := range blobs {
				maker.write("blob", text)
				id := maker.git("-C", "src", "hash-object", "-w", "../blob")
				if strings.HasPrefix(entries, "40000") {
					id = maker.tree("100644 config " + id)
				}
				args = append(args, id)
			}
			tree := maker.tree(fmt.Sprintf(entries, args...))
			commit := maker.git("-C", "src", "commit-tree", tree, "-p", "FETCH_HEAD", "-m", "x")
			maker.git("-C", "src", "update-ref", "refs/gt/index", commit)
			maker.git("-C", "src", "bundle", "create", "-q", "../b", "refs/gt/index", "^FETCH_HEAD")
			data, err := os.ReadFile(filepath.Join(maker.home, "b"))
			testenv.NoError(t, err)
			b.put(b.Git.Bundle, string(data))
			b.Git.Index, b.Git.Head = commit, maker.git("-C", "src", "rev-parse", "FETCH_HEAD")
			b.Git.Files, b.Git.Deleted = nil, nil
			keep := b.Members[:0]
			for _, m := range b.Members {
				if m.Name == endName || m.Name == b.Git.Bundle || m.Name == b.Manifest.Session.Thread || slices.ContainsFunc(b.Manifest.Session.Conversation, func(n Named) bool { return n.Member == m.Name }) {
					keep = append(keep, m)
				}
			}
			b.Members = keep
		}
	}
	canary := filepath.Join(there.home, "canary")
	for name, c := range map[string]struct {
		change func(b *box)
		want   string // "" if it is harmless
	}{
		"git's own folder":   {evil("40000 .git %s", "x"), "cannot take its commits"},
		"git's own file":     {evil("100644 .git %s", "gitdir: /tmp"), "cannot take its commits"},
		"in other case":      {evil("100644 .GIT %s", "gitdir: /tmp"), "cannot take its commits"},
		"a way out":          {evil("100644 .. %s", "x"), "cannot take its commits"},
		"a path in a name":   {evil("100644 a/b %s", "x"), "cannot take its commits"},
		"a hostile module":   {evil("100644 .gitmodules %s", "[submodule \"m\"]\npath = m\nurl = -u./x\n"), "cannot take its commits"},
		"a module":           {evil("100644 .gitmodules %s\n160000 m 0123456789012345678901234567890123456789", "[submodule \"m\"]\npath = m\nurl = file://"+there.home+"/src\nupdate = checkout\n"), ""},
		"a filter":           {evil("100644 .gitattributes %s\n100644 a %s", "* filter=evil\n", "x"), ""},
		"a link to a secret": {evil("120000 a %s", "../.ssh/id"), ""},
	} {
		if !testenv.InSample(name, 4) {
			continue
		}
		there.git("-C", "src", "config", "filter.evil.smudge", "touch "+canary+"; cat")
		there.write("src/.git/hooks/post-checkout", "#!/bin/sh\ntouch "+canary+"\n")
		testenv.NoError(t, os.Chmod(filepath.Join(there.home, "src/.git/hooks/post-checkout"), 0o755))
		b := good.clone(t)
		b.Instance.ID, b.Manifest.Session.ID = instance.ID(session.NewID()), session.NewID()
		b.Manifest.Session.Chain = b.Manifest.Session.ID
		b.put(b.Manifest.Session.Thread, fmt.Sprintf(`{"chain_id":%q}`, b.Manifest.Session.ID))
		c.change(b)
		done, err := there.unpack(b.data(t), nil)
		if err == nil && done.Waits != nil {
			done, err = there.accept(done)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, not %q", name, err, c.want)
		}
		if atomicfile.Exists(canary) {
			t.Fatalf("%s ran a program", name)
		}
		if name == "a module" {
			if entries, err := os.ReadDir(filepath.Join(done.Path, "m")); err != nil || len(entries) > 0 {
				t.Errorf("%s was fetched: %v, %v", name, entries, err)
			}
		}
	}
}

// tree writes a tree object with these entries, whatever they are.
func (h *host) tree(entries string) string {
	h.t.Helper()
	var raw bytes.Buffer
	for line := range strings.SplitSeq(entries, "\n") {
		fields := strings.Fields(line)
		id, err := hex.DecodeString(fields[2])
		if err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(&raw, "%s %s\x00%s", fields[0], fields[1], id)
	}
	h.write("tree", raw.String())
	return h.git("-C", "src", "hash-object", "-t", "tree", "--literally", "-w", "../tree")
}

// What a parcel says of the program stays unheard, unless the person says so.
func TestArguments(t *testing.T) {
	there, good := hosts(t)
	b := good.clone(t)
	b.Instance.Args = []string{"--model", "opus", "--settings", `{"hooks":{}}`, "--dangerously-skip-permissions", "--resume", "x", "--model=-p", "free"}
	b.Instance.Launcher = []string{"sh", "-c", "evil"}
	done, err := there.unpack(b.data(t), func(u *Unpacker) { u.Launcher = new([]string) })
	testenv.NoError(t, err)
	env := there.env()
	in, err := there.store(env).Get(done.ID)
	if err != nil || !slices.Equal(in.Args, []string{"--model", "opus"}) || len(in.Launcher) > 0 {
		t.Errorf("%+v, %v", in, err)
	}
	if want := []string{"--settings", `{"hooks":{}}`, "--dangerously-skip-permissions", "--model=-p"}; !slices.Equal(done.ArgsLeft, want) {
		t.Errorf("left are %q", done.ArgsLeft)
	}
}

// A session and a thread that this machine knows are not written to, without --force.
func TestKnown(t *testing.T) {
	there, good := hosts(t)
	env := there.env()
	state := place.StateOf(env.Getenv)
	if _, err := thread.Update(state, sessionID, atomicfile.Unsynced, nil, func(t *thread.Thread) {
		t.AddInstruction(standing.Instruction{Text: "always push", Kind: standing.KindAlways}, env.Now())
	}); err != nil {
		t.Fatal(err)
	}
	b := good.clone(t)
	if _, err := there.unpack(b.data(t), nil); err == nil || !strings.Contains(err.Error(), "the thread "+sessionID+" is known here") {
		t.Error(err)
	}
	if _, err := there.unpack(b.data(t), func(u *Unpacker) { u.Force = true }); err != nil {
		t.Error(err)
	}
	if got, err := thread.Read(state, sessionID, nil); err != nil || len(got.Instructions) != 1 || got.Instructions[0].Text != "never push" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Another client goes on with the conversation, and follows the session.
func TestAnotherClient(t *testing.T) {
	there, good := hosts(t)
	there.write("bin/codex", "#!/bin/sh\n")
	testenv.NoError(t, os.Chmod(filepath.Join(there.home, "bin/codex"), 0o755))
	b := good.clone(t)
	done, err := there.unpack(b.data(t), func(u *Unpacker) { u.ClientHere = "codex" })
	testenv.NoError(t, err)
	r, err := session.Lookup(place.StateOf(there.env().Getenv), done.Session)
	if err != nil || r == nil || r.Agent != "codex" || r.ParentID != sessionID || r.ChainID != sessionID {
		t.Fatalf("%+v, %v", r, err)
	}
	if text, err := os.ReadFile(r.Transcript); err != nil || !strings.Contains(string(text), "port it") {
		t.Errorf("%s, %v", text, err)
	}
	if len(done.Args) > 0 {
		t.Errorf("it gets the other's arguments %q", done.Args)
	}
}

// A conversation that gt only reads goes as what was read.
func TestEntries(t *testing.T) {
	there, good := hosts(t)
	b := good.clone(t)
	s := b.Manifest.Session
	s.Agent, b.Instance.Agent = "opencode", "opencode"
	var lines bytes.Buffer
	for _, e := range []conversation.Entry{
		{Kind: conversation.Prompt, Text: "port it"}, {Kind: conversation.Call, CallID: "1", Tool: "Bash", Text: "ls"},
		{Kind: conversation.Result, CallID: "1", Text: "a.go"}, {Kind: conversation.Answer, Text: "ported"},
	} {
		testenv.NoError(t, json.NewEncoder(&lines).Encode(e))
	}
	s.Entries, s.Conversation = s.Conversation[0].Member, nil
	b.put(s.Entries, lines.String())
	b.Members = slices.Delete(b.Members, 1, 2) // the to-do
	b.rename()
	done, err := there.unpack(b.data(t), func(u *Unpacker) { u.ClientHere = "claude" })
	testenv.NoError(t, err)
	r, err := session.Lookup(place.StateOf(there.env().Getenv), done.Session)
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	text, err := os.ReadFile(r.Transcript)
	for _, want := range []string{"port it", "a.go", "ported"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in %s, %v", want, text, err)
		}
	}
}

// rename gives the members the names that their places ask for.
func (b *box) rename() {
	to, contents := map[string]string{"": ""}, map[string][]byte{}
	for i, m := range b.Members {
		to[m.Name] = memberName(i)
		if m.Name == endName {
			to[m.Name] = endName
		}
		b.Members[i].Name = to[m.Name]
		contents[to[m.Name]] = b.contents[m.Name]
	}
	b.contents = contents
	s := b.Manifest.Session
	s.Entries, s.Thread, s.Checkpoint, b.Git.Bundle = to[s.Entries], to[s.Thread], to[s.Checkpoint], to[b.Git.Bundle]
	for i := range s.Conversation {
		s.Conversation[i].Member = to[s.Conversation[i].Member]
	}
	for i := range b.Git.Files {
		b.Git.Files[i].Member = to[b.Git.Files[i].Member]
	}
}

// gt clones from the usual places only.
func TestCheckURL(t *testing.T) {
	for url, want := range map[string]bool{
		"https://example.org/a.git": true, "ssh://git@example.org/a.git": true, "git@example.org:a/b.git": true, "/srv/git/a.git": true,
		"ext::sh -c touch% x": false, "fd::17": false, "--upload-pack=x": false, "-oProxyCommand=x:y": false, "file:///srv": false,
		"git://example.org/a": false, "http://example.org/a": false, "": false, "a/b:c": false, "sub": false, "https://a\nb": false,
	} {
		if got := git.CheckURL(url) == nil; got != want {
			t.Errorf("%q: %v", url, got)
		}
	}
}

// TestMovable shows that the agents of templates and towns stay, and one that has moved already.
func TestMovable(t *testing.T) {
	h := newHost(t)
	env := h.env()
	own := h.store(env)
	managed := &instance.Managed{}
	managed.Template = "worker"
	for _, test := range []struct {
		store instance.Store
		in    instance.Instance
		want  string
	}{
		{own, instance.Instance{Name: "api", Managed: managed}, "was made from the template worker"},
		{own, instance.Instance{Name: "max", Role: "demo/crew/max"}, "is a town's"},
		{instance.OfTown(own.State, "/town"), instance.Instance{Name: "api"}, "is a town's"},
		{own, instance.Instance{Name: "api", Moved: &instance.Moved{Complete: true}}, "it was packed before"},
		{own, instance.Instance{Name: "api"}, ""},
	} {
		err := Packer{Env: env, Store: test.store}.Movable(&test.in)
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || cli.ExitCode(err) != cli.AnswerNo) {
			t.Errorf("%+v: %v", test.in, err)
		}
	}
}

// TestResume shows that a move goes on whose parcel was completed and never left: it is made
// again under the same id, which no host unpacks twice. Another one is refused.
func TestResume(t *testing.T) {
	here := newHost(t)
	here.git("init", "-q", "-b", "main", "src")
	here.git("-C", "src", "commit", "-q", "--allow-empty", "-m", "first")
	there := newHost(t)
	there.git("clone", "-q", filepath.Join(here.home, "src"), "src")
	first := here.pack()
	env := here.env()
	store := here.store(env)
	set := func(m *instance.Moved) {
		t.Helper()
		held, err := store.Hold(first.Instance.ID, time.Second)
		testenv.NoError(t, err)
		defer held.Release()
		held.Moved = m
		testenv.NoError(t, held.Put(env.Now()))
	}
	pack := func(p Packer) ([]byte, error) {
		var out bytes.Buffer
		p.Env, p.Store, p.Table = env, store, here.table(env)
		_, err := p.Pack(first.Instance.ID, &out)
		return out.Bytes(), err
	}
	moved := &instance.Moved{Parcel: first.ID, To: "box", At: env.Now(), Complete: true}
	set(moved)
	for what, p := range map[string]Packer{"it moves again": {To: "box"}, "to another host": {To: "desk", Resume: true}} {
		if _, err := pack(p); !errors.Is(err, ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
	data, err := pack(Packer{To: "box", Resume: true})
	testenv.NoError(t, err)
	if again := read(t, data); again.ID != first.ID || again.Generation != first.Generation {
		t.Errorf("%s of generation %d, not %s of %d", again.ID, again.Generation, first.ID, first.Generation)
	}
	if done, err := there.unpack(data, nil); err != nil || done.Again {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := there.unpack(data, nil); err != nil || !done.Again {
		t.Errorf("%+v, %v", done, err)
	}
	env = here.env()
	set(&instance.Moved{To: "box", At: env.Now(), Complete: true}) // as Elsewhere marks it
	if _, err := pack(Packer{To: "box", Resume: true}); !errors.Is(err, ErrMoved) {
		t.Errorf("a move of which nothing is known: %v", err)
	}
}
