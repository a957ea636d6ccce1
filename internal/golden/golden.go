// Package golden compares what commands print as JSON with files:
//
//	go test ./lib/command/recordcmd -run TestJSON -update
//
// writes them anew. All commands meet the same small world: a person with a repository, a
// conversation that Claude Code kept there, and a log of two sessions.
package golden

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/cli"
)

// Update is set to write the golden files, and what else of a package is made from its code.
var Update = flag.Bool("update", false, "write golden files anew")

// Session is the session of the conversation, and Before the one that handed over to it.
const (
	Session = "4f2c81d0-1111-1111-8111-111111111111"
	Before  = "3e1b70cf-0000-1000-8000-000000000000"
)

// now is the commands' time; what is in the world is a few hours older.
var now = time.Date(2026, 1, 17, 6, 0, 0, 0, time.UTC)

//go:embed testdata/conversation.jsonl
var conversation string

//go:embed testdata/events.jsonl
var events string

// A World is where one program's commands run.
type World struct {
	t    *testing.T
	main func(*cli.Env) int
	root string
	env  []string
}

// New makes a world, in which commands are arguments of the program main.
func New(t *testing.T, main func(*cli.Env) int) *World {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{t: t, main: main, root: root}
	if w.env, err = testenv.Person(w.Path("home")); err != nil {
		t.Fatal(err)
	}
	// The only program is git, so that no command finds a client.
	git, err := exec.LookPath("git")
	if err == nil {
		err = os.Mkdir(w.Path("bin"), 0o700)
	}
	if err == nil {
		err = os.Symlink(git, w.Path("bin/git"))
	}
	if err != nil {
		t.Fatal(err)
	}
	const date = "2026-01-17T00:00:00Z" // so that a commit has always the same id
	w.env = append(w.env, "PATH="+w.Path("bin"), "TZ=UTC", "TMUX_TMPDIR="+root, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	for _, kv := range w.env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value) // for git and tmux
	}
	w.Write("work/parser.go", "package parser\n")
	w.Write("home/.claude/projects/-work/"+Session+".jsonl", conversation)
	w.Write("home/.local/state/gt/.events.jsonl", events)
	for _, args := range [][]string{{"init", "-q", "--template="}, {"add", "."}, {"commit", "-q", "-m", "the parser"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = w.Path("work"), w.env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	return w
}

// Path returns a path in the world.
func (w *World) Path(path string) string { return filepath.Join(w.root, path) }

// Write writes a file that was last changed an hour before now. In the text, ROOT is the
// world's folder.
func (w *World) Write(path, text string) {
	w.t.Helper()
	path = w.Path(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "ROOT", w.root)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chtimes(path, now, now.Add(-time.Hour)); err != nil {
		w.t.Fatal(err)
	}
}

// Run runs a command in the repository and returns what it prints and its exit code.
func (w *World) Run(stdin string, args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Environ: w.env, Dir: w.Path("work"), Now: func() time.Time { return now }}
	code = w.main(env)
	return out.String(), errs.String(), code
}

// Must runs a command that has to work, and returns what it prints.
func (w *World) Must(args ...string) string {
	w.t.Helper()
	out, errs, code := w.Run("", args...)
	if code != 0 {
		w.t.Fatalf("%q: exit code %d\n%s%s", args, code, out, errs)
	}
	return out
}

// JSON compares what a command prints with testdata/<name>.json. What differs
// from run to run is replaced: paths, ids, times of the clock, processes.
func (w *World) JSON(name string, args ...string) {
	w.t.Helper()
	out, errs, code := w.Run("", args...)
	if code > 1 || out == "" {
		w.t.Errorf("%q: exit code %d\n%s%s", args, code, out, errs)
		return
	}
	var got bytes.Buffer
	for values := json.NewDecoder(strings.NewReader(w.stable(out))); values.More(); {
		var value json.RawMessage
		if err := values.Decode(&value); err != nil {
			w.t.Errorf("%q: not JSON: %v\n%s", args, err, out)
			return
		}
		if err := json.Indent(&got, value, "", "  "); err != nil {
			w.t.Fatal(err)
		}
		got.WriteByte('\n')
	}
	path := filepath.Join("testdata", name+".json")
	if *Update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.t.Error(err)
	} else if !bytes.Equal(got.Bytes(), want) {
		w.t.Errorf("%q prints, where %s differs:\n%s", args, path, got.Bytes())
	}
}

// volatile are the parts of JSON that differ from run to run, and what is shown instead.
var volatile = []struct {
	part    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`"(pid|inode|device|born|owner|size|next|bytes\w*)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"(start|boot_id|pid_ns|host|instance_token|config_hash)":"[^"]*"`), `"$1":""`},
	{regexp.MustCompile(`\b\d{10}\.M\d+R\w+\.\w+`), "NOTE"}, // a file in a mail box
	{regexp.MustCompile(`\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b`), "HEX"},
	{regexp.MustCompile(`"[0-9a-f]{8}"`), `"ID"`},
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`), "UUID"},
}

func (w *World) stable(text string) string {
	text = strings.ReplaceAll(text, w.root, "ROOT")
	for _, v := range volatile {
		text = v.part.ReplaceAllString(text, v.instead)
	}
	return text
}
