package git

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// person gives a test a person's surroundings of its own.
func person(t *testing.T) (home string) {
	home = t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return home
}

// repository makes a repository with one commit of the given files.
func repository(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	person(t)
	run(t, dir, "init", "-q", "-b", "main")
	run(t, dir, "config", "user.name", "T")
	run(t, dir, "config", "user.email", "t@example.org")
	for _, f := range files {
		write(t, dir, f, strings.Repeat(f+"\n", 9))
	}
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func status(t *testing.T, dir string) State {
	t.Helper()
	s, err := Status(dir, time.Minute)
	testenv.NoError(t, err)
	return s
}

// Every kind of change is told apart, and every name is right: the first of
// the list, a renamed one, one that git would quote, one that is no UTF-8.
func TestStatus(t *testing.T) {
	odd := "caf\xe9 \"x\"\n.txt"
	dir := repository(t, "f.txt", "old name.txt", "gone.txt", odd)
	write(t, dir, "f.txt", "changed")
	run(t, dir, "mv", "old name.txt", "new name.txt")
	run(t, dir, "rm", "-q", "gone.txt")
	write(t, dir, odd, "changed")
	run(t, dir, "add", odd)
	write(t, dir, odd, "again")
	write(t, dir, "sub/untracked", "")
	write(t, dir, " lead", "")
	write(t, dir, ".polecat-checkpoint.json", "{}")
	write(t, dir, ".polecat-checkpoint.json.bad", "{}")
	write(t, dir, "..polecat-checkpoint.json.gt-tmp-00", "{}")
	write(t, dir, ".runtime/session_id", "x")

	got := status(t, dir)
	want := State{Head: run(t, dir, "rev-parse", "HEAD"), Branch: "main", Changes: []Change{
		{Path: odd, XY: "MM", Staged: true, Unstaged: true},
		{Path: "f.txt", XY: ".M", Unstaged: true},
		{Path: "gone.txt", XY: "D.", Staged: true},
		{Path: "new name.txt", From: "old name.txt", XY: "R.", Staged: true},
		{Path: " lead", XY: "??", Untracked: true},
		{Path: "sub/", XY: "??", Untracked: true},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := got.Summary(); got != "4 modified, 2 untracked" {
		t.Errorf("Summary() = %s", got)
	}
}

func TestStatusConflict(t *testing.T) {
	dir := repository(t, "a", "b")
	run(t, dir, "checkout", "-q", "-b", "other")
	write(t, dir, "a", "theirs")
	run(t, dir, "commit", "-qam", "theirs")
	run(t, dir, "checkout", "-q", "main")
	write(t, dir, "a", "ours")
	run(t, dir, "commit", "-qam", "ours")
	cmd := exec.Command("git", "merge", "other")
	cmd.Dir = dir
	if cmd.Run() == nil {
		t.Fatal("no conflict")
	}
	got := status(t, dir)
	if want := []Change{{Path: "a", XY: "UU", Conflict: true}}; !reflect.DeepEqual(got.Changes, want) {
		t.Errorf("got %+v, want %+v", got.Changes, want)
	}
	if got := got.Summary(); got != "1 in conflict" {
		t.Errorf("Summary() = %s", got)
	}
}

// Branch, upstream and head in each situation that a worktree can be in.
func TestStatusBranch(t *testing.T) {
	dir := repository(t, "a")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, dir, "clone", "-q", dir, clone)
	run(t, clone, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "ours")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "theirs")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "theirs again")
	run(t, clone, "fetch", "-q")
	s := status(t, clone)
	if s.Ahead != 1 || s.Behind != 2 || s.Summary() != "1 ahead, 2 behind" {
		t.Errorf("%+v: %s", s, s.Summary())
	}

	run(t, dir, "checkout", "-q", "--detach")
	if s := status(t, dir); s.Branch != "HEAD" || len(s.Head) != 40 {
		t.Errorf("detached: %+v", s)
	}
	run(t, dir, "checkout", "-q", "--orphan", "fresh")
	if s := status(t, dir); s.Branch != "fresh" || s.Head != "" {
		t.Errorf("before the first commit: %+v", s)
	}
	if s := status(t, repository(t, "a")); s.Summary() != "clean" {
		t.Errorf("clean: %+v", s)
	}
}

// What a person has set for their own git status does not change the answer.
func TestStatusOfAnyConfiguration(t *testing.T) {
	dir := repository(t, "old", "sub/f")
	clone := filepath.Join(t.TempDir(), "clone")
	run(t, dir, "clone", "-q", dir, clone)
	run(t, clone, "-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "-q", "--allow-empty", "-m", "ours")
	run(t, clone, "mv", "old", "new")
	write(t, clone, "sub/f", "changed")
	write(t, clone, "untracked", "")
	want := status(t, clone)
	if len(want.Changes) != 3 || want.Ahead != 1 {
		t.Fatalf("%+v", want)
	}
	for _, c := range []string{
		"status.aheadBehind=false", "status.showUntrackedFiles=no", "status.renames=false", "diff.renames=false",
		"status.relativePaths=true", "status.short=true", "status.branch=false", "status.showStash=true",
		"column.status=always", "color.status=always", "core.quotePath=true", "status.submoduleSummary=true",
	} {
		key, value, _ := strings.Cut(c, "=")
		run(t, clone, "config", key, value)
		if got := status(t, clone); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c, got, want)
		}
	}
}

// The variables that git sets for the hooks of one repository do not lead to
// it from another.
func TestStatusOfThisRepository(t *testing.T) {
	other, dir := repository(t, "other"), repository(t, "this")
	write(t, other, "other", "changed")
	write(t, dir, "this", "changed")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git", "index"))
	if s := status(t, dir); len(s.Changes) != 1 || s.Changes[0].Path != "this" {
		t.Errorf("%+v", s)
	}
}

// Status changes nothing, not even an index that git would refresh, and does not wait for a
// lock.
func TestStatusChangesNothing(t *testing.T) {
	dir := repository(t, "a")
	index := filepath.Join(dir, ".git", "index")
	before, err := os.ReadFile(index)
	testenv.NoError(t, err)
	later := time.Now().Add(time.Hour) // as if written again: the index is stale
	testenv.NoError(t, os.Chtimes(filepath.Join(dir, "a"), later, later))
	write(t, dir, ".git/index.lock", "")
	if s := status(t, dir); len(s.Changes) != 0 {
		t.Errorf("%+v", s)
	}
	testenv.NoError(t, os.Remove(filepath.Join(dir, ".git", "index.lock")))
	status(t, dir)
	after, err := os.ReadFile(index)
	if err != nil || !bytes.Equal(before, after) {
		t.Error("the index was written")
	}
}

func TestStatusOutside(t *testing.T) {
	dir := t.TempDir()
	if _, err := Status(dir, time.Minute); !errors.Is(err, ErrNotRepository) {
		t.Errorf("no repository: %v", err)
	}
	bare := filepath.Join(dir, "bare.git")
	run(t, dir, "init", "-q", "--bare", bare)
	if _, err := Status(bare, time.Minute); !errors.Is(err, ErrNotRepository) {
		t.Errorf("a bare repository: %v", err)
	}
	broken := repository(t, "a")
	// The repository around one that cannot be read is another.
	inner := filepath.Join(broken, "inner")
	testenv.NoError(t, os.Mkdir(inner, 0o700))
	testenv.NoError(t, os.Symlink(strings.Repeat("x", 300), filepath.Join(inner, ".git")))
	if s, err := Status(inner, time.Minute); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Errorf("an unreadable repository: %+v, %v", s, err)
	}
	testenv.NoError(t, os.RemoveAll(inner))
	write(t, broken, ".git/index", "no index")
	_, err := Status(broken, time.Minute)
	if want := "cannot read the git state of '" + broken + "': " + broken + "/.git/index: index file smaller than expected"; err == nil || err.Error() != want {
		t.Errorf("a broken repository: %v, want %s", err, want)
	}
	if _, err := Status(filepath.Join(dir, "missing"), time.Minute); err == nil || errors.Is(err, ErrNotRepository) {
		t.Errorf("no folder: %v", err)
	}
}

// fakeGit puts a program called git first in PATH.
func fakeGit(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "git"), []byte("#!/bin/sh\n"+script)))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

// A git that hangs is killed in time, and so is what it has started.
func TestStatusTimeout(t *testing.T) {
	dir := repository(t)
	fakeGit(t, "sleep 600 & echo $! >child; wait\n")
	pid := ""
	for limit := 300 * time.Millisecond; pid == ""; limit *= 2 { // until the child had time to start
		start := time.Now()
		_, err := Status(dir, limit)
		if !errors.Is(err, ErrTimeout) {
			t.Fatalf("got %v", err)
		}
		if took := time.Since(start); took > limit+testenv.Patience {
			t.Fatalf("it took %v", took)
		}
		data, _ := os.ReadFile(filepath.Join(dir, "child"))
		pid = strings.TrimSpace(string(data))
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		out, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // fails where it is gone
		if state := strings.TrimSpace(string(out)); state == "" || state[0] == 'Z' {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %s, which git had started, lives on", pid)
		}
	}
}

// All that is asked of git has one time limit, and what git told before its end is known.
func TestMeasureTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	dir, asked := repository(t), filepath.Join(t.TempDir(), "asked")
	fakeGit(t, "echo \"$*\" >>'"+asked+`'
case $* in *porcelain*) printf '# branch.oid 1111111111111111111111111111111111111111\0# branch.head main\0? new\0'
	exec printf '1 .M N... 100644 100644 100644 1111111 1111111 file\0' ;;
esac
exec sleep 600
`)
	s, err := Measure(dir, 10*time.Second)
	if !errors.Is(err, ErrTimeout) || s.Branch != "main" || s.Untracked() != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	data, err := os.ReadFile(asked)
	testenv.NoError(t, err)
	if got := string(data); !strings.Contains(got, " rev-list ") || strings.Contains(got, " diff ") {
		t.Errorf("it asked %s", got)
	}
}

// git's memory is bounded, so that a file without end cannot take the machine's.
func TestStatusMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nobody bounds another process here")
	}
	dir := repository(t)
	fakeGit(t, fmt.Sprintf("until test $(ulimit -d) = %d; do sleep 0.01; done\n", maxMemory>>10))
	if _, err := Status(dir, testenv.Patience); err != nil {
		t.Errorf("git's memory is not bounded: %v", err)
	}
}

// A git that tells without end costs no memory without end.
func TestStatusTruncated(t *testing.T) {
	dir := repository(t)
	fakeGit(t, `yes '? some/long/path/to/a/file' | head -c 10000000 | tr '\n' '\000'`)
	s := status(t, dir)
	if !s.Truncated || len(s.Changes) != maxStatus/len("? some/long/path/to/a/file\n") {
		t.Errorf("%d changes, truncated %v", len(s.Changes), s.Truncated)
	}
	if got, want := s.Summary(), fmt.Sprintf("%d untracked, and more", len(s.Changes)); got != want {
		t.Errorf("Summary() = %s, want %s", got, want)
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"plain name.txt":      "plain name.txt",
		"naïve/日本.txt":        "naïve/日本.txt",
		" lead and trail ":    " lead and trail ",
		"caf\xe9.txt":         `"caf\351.txt"`,
		"ü\xff":               `"ü\377"`,
		`say "hi"`:            `"say \"hi\""`,
		`back\slash`:          `"back\\slash"`,
		"a\tb\nc\rd\a":        `"a\tb\nc\rd\a"`,
		"\x1b[31mred\x7f\x00": `"\033[31mred\177\000"`,
		"\u202etxt.exe":       `"\342\200\256txt.exe"`, // a bidi override
		"\u0085":              `"\302\205"`,            // a C1 control
		"\ufffd":              "\ufffd",
		"":                    "",
	} {
		if got := Quote(path); got != want {
			t.Errorf("Quote(%q) = %s, want %s", path, got, want)
		}
	}
}

// FuzzQuote holds that nothing is lost and that what comes out is harmless.
func FuzzQuote(f *testing.F) {
	f.Add("caf\xe9 \"x\"\n.txt")
	f.Add(`\377`)
	f.Fuzz(func(t *testing.T, path string) {
		quoted := Quote(path)
		if strings.ContainsAny(quoted, "\n\t\r\x1b\x00") {
			t.Errorf("Quote(%q) = %q", path, quoted)
		}
		back := quoted
		if strings.HasPrefix(quoted, `"`) {
			var err error
			if back, err = strconv.Unquote(quoted); err != nil {
				t.Fatalf("%q: %v", quoted, err)
			}
		}
		if back != path {
			t.Errorf("%q became %q by way of %q", path, back, quoted)
		}
	})
}

// FuzzParseStatus holds that no answer of git, nor any other text, makes a
// change without a name or one that is nothing.
func FuzzParseStatus(f *testing.F) {
	hash := strings.Repeat("0", 40)
	for _, seed := range []string{
		"# branch.oid " + hash + "\x00# branch.head main\x00# branch.upstream origin/main\x00# branch.ab +1 -2\x00",
		"# branch.oid (initial)\x00# branch.head (detached)\x00# branch.ab +? -?\x00# stash 3\x00",
		"1 .M N... 100644 100644 100644 " + hash + " " + hash + " f.txt\x00",
		"2 R. N... 100644 100644 100644 " + hash + " " + hash + " R100 new\x00old\x00",
		"2 R. N... 100644 100644 100644 " + hash + " " + hash + " R100 new\x00",
		"u UU N... 100644 100644 100644 100644 " + hash + " " + hash + " " + hash + " a b\x00",
		"? a\nb\xff\x00! ignored\x00? .runtime/\x00?\x00? \x00",
		"1 .M N...\x00x\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := parseStatus(data)
		for _, c := range s.Changes {
			if c.Path == "" || len(c.XY) != 2 || strings.Contains(c.Path, "\x00") {
				t.Errorf("%q gave %+v", data, c)
			}
		}
		if s.Summary() == "" {
			t.Error("no summary")
		}
		if len(s.Changes) > bytes.Count(data, []byte{0}) {
			t.Errorf("%d changes of %q", len(s.Changes), data)
		}
	})
}

// What git writes in its own files is told the same way without git.
func TestHead(t *testing.T) {
	dir := repository(t, "a")
	since := time.Now()
	if got := Branch(dir); got != "main" {
		t.Errorf("Branch = %s", got)
	}
	run(t, dir, "checkout", "-q", "--detach")
	if branch, got := Branch(dir), BranchOrCommit(dir); branch != "HEAD" || !regexp.MustCompile("^detached [0-9a-f]{8}$").MatchString(got) {
		t.Errorf("detached: Branch = %s, BranchOrCommit = %s", branch, got)
	}
	run(t, dir, "checkout", "-q", "main")
	if got := BranchOrCommit(dir); got != "main" {
		t.Errorf("BranchOrCommit = %s", got)
	}
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "second: with a colon")
	var subjects []string
	for _, c := range Commits(dir, since, time.Time{}) {
		subjects = append(subjects, c.Subject)
	}
	// The reflog has whole seconds, so the first may stand in the same one.
	if !slices.Contains(subjects, "second: with a colon") {
		t.Errorf("Commits = %q", subjects)
	}
	linked := filepath.Join(t.TempDir(), "linked")
	run(t, dir, "worktree", "add", "-q", "--detach", linked)
	if got := Branch(linked); got != "HEAD" {
		t.Errorf("Branch of a detached worktree = %s", got)
	}
	if got := Branch(t.TempDir()); got != "" {
		t.Errorf("Branch outside git = %s", got)
	}
}

// Commits are those of their time that are still there: not one that was amended,
// rebased or set back since, and none that was made later.
func TestCommits(t *testing.T) {
	dir := repository(t, "a")
	first := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	at := first
	commit := func(args ...string) {
		t.Helper()
		at = at.Add(time.Minute)
		t.Setenv("GIT_COMMITTER_DATE", at.Format(time.RFC3339))
		run(t, dir, append([]string{"-c", "user.name=me", "-c", "user.email=me@x"}, args...)...)
	}
	made := func(args ...string) {
		t.Helper()
		commit(append([]string{"commit", "-q", "--allow-empty"}, args...)...)
	}
	want := func(step string, to time.Time, want ...string) {
		t.Helper()
		var got []string
		for _, c := range Commits(dir, first, to) {
			got = append(got, c.Subject)
			run(t, dir, "merge-base", "--is-ancestor", c.Hash, "HEAD") // it is there
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", step, got, want)
		}
	}
	// The repository's own commit is of now, which is later.
	until := func() time.Time { return at.Add(time.Second) }
	made("-m", "one")
	made("-m", "two")
	want("two", until(), "one", "two")
	made("--amend", "-m", "two, better")
	want("amended", until(), "one", "two, better")
	end := until()
	made("-m", "three, by another")
	want("later", end, "one", "two, better")
	made("--amend", "-m", "three, by another, amended")
	commit("reset", "-q", "--hard", "HEAD~2")
	want("set back", end, "one")
	made("-m", "four")
	want("all", until(), "one", "four")
	commit("checkout", "-q", "-b", "side", "HEAD~1")
	made("-m", "base")
	commit("checkout", "-q", "main")
	commit("rebase", "-q", "side")
	want("rebased", until(), "one", "four", "base")
	commit("checkout", "-q", "side")
	commit("reset", "-q", "--hard", "main")
	want("set forward", until(), "one", "four", "base")
}

// What differs from the commit that HEAD was at is what was changed, removed or committed since.
func TestDiffering(t *testing.T) {
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-01T10:00:00Z")
	dir := repository(t, "a", "b", "old name", "lib/c", "same")
	first := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	was := run(t, dir, "rev-parse", "HEAD")
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-01T10:01:00Z")
	run(t, dir, "rm", "-q", "lib/c")
	run(t, dir, "mv", "old name", "new name")
	run(t, dir, "commit", "-qm", "second")
	write(t, dir, "a", "changed")
	testenv.NoError(t, os.Remove(filepath.Join(dir, "b")))
	testenv.NoError(t, os.Chtimes(filepath.Join(dir, "same"), first, first))
	index, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	testenv.NoError(t, err)
	for at, want := range map[time.Duration]string{0: was, 59 * time.Second: was, time.Minute: "HEAD", time.Hour: "HEAD", -time.Hour: was} {
		if _, got := HeadMoves(dir, first.Add(at)); got != want {
			t.Errorf("HEAD was at %s after %v, want %s", got, at, want)
		}
	}
	dirty := []Difference{{Path: "a", Uncommitted: true}, {Path: "b", Uncommitted: true}}
	got, err := DifferingFiles(dir, was, time.Minute)
	want := append(slices.Clone(dirty), Difference{Path: "lib/c"}, Difference{Path: "new name"}, Difference{Path: "old name"})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := DifferingFiles(dir, "HEAD", time.Minute); err != nil || !slices.Equal(got, dirty) {
		t.Errorf("%v, %v", got, err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, ".git", "index")); err != nil || string(after) != string(index) {
		t.Errorf("the index was written anew, %v", err)
	}
	run(t, dir, "update-index", "--skip-worktree", "b")
	if got, err := DifferingFiles(dir, "HEAD", time.Minute); err != nil || !slices.Equal(got, dirty[:1]) {
		t.Errorf("%v, %v", got, err)
	}
}
