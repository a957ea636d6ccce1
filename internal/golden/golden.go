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

// Session is the session of the conversation.
const Session = "4f2c81d0-1111-1111-8111-111111111111"

// commandTime is the commands' time; what is in the world is a few hours older.
var commandTime = time.Date(2026, 1, 17, 6, 0, 0, 0, time.UTC)

//go:embed testdata/conversation.jsonl
var conversation string

//go:embed testdata/events.jsonl
var events string

// A World is where one program's commands run, in its folder "work".
type World struct {
	*testenv.World
	program func() cli.Program
}

// New makes a world, in which commands are arguments of the program.
func New(t *testing.T, program func() cli.Program) *World {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{testenv.NewWorld(t, root), program}
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
	w.Env = append(w.Env, "PATH="+w.Path("bin"), "TZ=UTC", "TMUX_TMPDIR="+root, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	for _, kv := range w.Env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value) // for git and tmux
	}
	w.Write("work/parser.go", "package parser\n")
	w.Write("home/.claude/projects/-work/"+Session+".jsonl", conversation)
	w.Write("home/.local/state/gt/.events.jsonl", events)
	w.MustRun("work", "git", "init", "-q", "--template=")
	w.MustRun("work", "git", "add", ".")
	w.MustRun("work", "git", "commit", "-q", "-m", "the parser")
	return w
}

// Write writes a file that was last changed an hour before now. In the text, ROOT is the
// world's folder.
func (w *World) Write(path, text string) {
	w.Helper()
	w.World.Write(path, strings.ReplaceAll(text, "ROOT", w.Root))
	if err := os.Chtimes(w.Path(path), commandTime, commandTime.Add(-time.Hour)); err != nil {
		w.Fatal(err)
	}
}

// Command runs a command in the repository.
func (w *World) Command(args ...string) testenv.Result {
	w.Helper()
	var out, errs bytes.Buffer
	env := &cli.Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Environ: w.Env, Dir: w.Path("work"), Now: func() time.Time { return commandTime }}
	code := cli.Run(env, w.program())
	return testenv.Result{Line: strings.Join(args, " "), Code: code, Out: out.String(), Errs: errs.String()}
}

// Prepare runs a command that has to work, and returns what it prints.
func (w *World) Prepare(args ...string) string {
	w.Helper()
	r := w.Command(args...)
	if r.Code != 0 {
		w.Fatal(r)
	}
	return r.Out
}

// JSON compares what a command prints with testdata/<name>.json. What differs
// from run to run is replaced: paths, ids, times of the clock, processes.
func (w *World) JSON(name string, args ...string) {
	w.Helper()
	r := w.Command(args...)
	if r.Code > 1 || r.Out == "" {
		w.Error(r)
		return
	}
	var got bytes.Buffer
	for values := json.NewDecoder(strings.NewReader(w.stable(r.Out))); values.More(); {
		var value json.RawMessage
		if err := values.Decode(&value); err != nil {
			w.Errorf("%q: not JSON: %v\n%s", args, err, r.Out)
			return
		}
		if err := json.Indent(&got, value, "", "  "); err != nil {
			w.Fatal(err)
		}
		got.WriteByte('\n')
	}
	path := filepath.Join("testdata", name+".json")
	if *Update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			w.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		w.Error(err)
	} else if !bytes.Equal(got.Bytes(), want) {
		w.Errorf("%q prints, where %s differs:\n%s", args, path, got.Bytes())
	}
}

// volatile are the parts of JSON that differ from run to run, and what is shown instead.
var volatile = []struct {
	part    *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`"(pid|inode|device|born|owner|size|next|awake|bytes\w*)":\d+`), `"$1":0`},
	{regexp.MustCompile(`"(start|boot_id|pid_ns|host|instance_token|config_hash)":"[^"]*"`), `"$1":""`},
	{regexp.MustCompile(`\b\d{10}\.M\d+R\w+\.\w+`), "NOTE"}, // a file in a mail box
	{regexp.MustCompile(`\b[0-9a-f]{64}\b|\b[0-9a-f]{32}\b`), "HEX"},
	{regexp.MustCompile(`"[0-9a-f]{8}"`), `"ID"`},
	{regexp.MustCompile(`\bworker-[0-9a-f]{6}\b`), "worker-ID"}, // a session of a template
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\b`), "UUID"},
}

func (w *World) stable(text string) string {
	text = strings.ReplaceAll(text, w.Root, "ROOT")
	for _, v := range volatile {
		text = v.part.ReplaceAllString(text, v.instead)
	}
	return text
}
