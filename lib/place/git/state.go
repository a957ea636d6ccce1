package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

var (
	// ErrNotRepository is what Status gives for a folder in no git worktree.
	ErrNotRepository = errors.New("not in a git worktree")
	// ErrTimeout is what it gives when git was not done in time and was killed.
	ErrTimeout = errors.New("git took too long")

	errMissing = errors.New("unable to read an object")
)

// State is what git says of a worktree: what is checked out, and what differs
// from it.
type State struct {
	Head     string // the full hash, "" before the first commit
	Branch   string // "HEAD" where no branch is checked out
	Upstream string // "" where the branch has none
	Ahead    int    // commits that the upstream lacks
	Behind   int    // commits that the branch lacks
	Changes  []Change
	// Truncated says that git had more to tell than was read (maxStatus), so
	// that there are more changes.
	Truncated bool
}

// Change is one file that differs, or one folder with nothing but untracked
// files, whose name ends in a slash.
type Change struct {
	Path string // from the top of the worktree; any bytes, see Quote
	From string // the name before a rename or copy, else ""
	XY   string // as git status prints it, a dot for unchanged; "??" untracked

	Staged    bool // the index differs from HEAD
	Unstaged  bool // the worktree differs from the index
	Untracked bool
	Conflict  bool // not merged yet
}

// maxStatus bounds what is kept of git's answer: some ten thousand changes.
const maxStatus = 8 << 20

// Status asks git once for the state of the worktree that dir is in. It takes
// none of git's locks and changes nothing, also no index. A git that is not
// done after wait is killed, with what it started.
//
// Nothing runs that the repository, or one inside of it, names: see apart. The
// files of gt's own state count for no change.
func Status(dir string, wait time.Duration) (State, error) {
	ask := []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"}
	out, err := answer(dir, wait, append(ask, "--renames")...)
	if errors.Is(err, errMissing) {
		// A partial clone lacks it. To fetch it would run what the repository names.
		out, err = answer(dir, wait, append(ask, "--no-renames")...)
	}
	if err != nil {
		return State{}, atomicfile.Error("read the git state of", dir, err)
	}
	s := parseStatus(out.buf.Bytes())
	s.Truncated = out.cut
	return s, nil
}

// answer asks git something about the worktree that dir is in, and returns the
// beginning of its answer.
func answer(dir string, wait time.Duration, args ...string) (*bounded, error) {
	return answerTo(nil, dir, wait, args...)
}

// answerTo is answer to what git reads from standard input.
func answerTo(stdin io.Reader, dir string, wait time.Duration, args ...string) (*bounded, error) {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, atomicfile.Error("read", dir, err)
	}
	dir = real
	r, err := locate(dir)
	if err != nil {
		return nil, err
	}
	vars, done, err := r.apart()
	if err != nil {
		return nil, err
	}
	defer done()
	program, err := process.LookPath("git", r.top, os.Environ())
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(quiet, args...)...)
	cmd.Dir = dir
	cmd.Env = append(environ(r.top, os.Environ()), vars...)
	// A group of its own, so that killing it also ends what git has started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, errs := &bounded{max: maxStatus}, &bounded{max: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, errs

	if err = cmd.Start(); err == nil {
		process.Confine(cmd.Process.Pid, maxMemory)
		err = cmd.Wait()
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // git is done; what it started holds the pipe
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%w (over %v)", ErrTimeout, wait)
	case err != nil:
		return nil, reason(err, errs.buf.Bytes())
	}
	return out, nil
}

// reason makes an error of what git said before it failed.
func reason(err error, said []byte) error {
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	line = strings.TrimPrefix(line, "fatal: ")
	switch {
	case strings.HasPrefix(line, "not a git repository"), // no .git at or above dir
		strings.HasPrefix(line, "this operation must be run in a work tree"): // a bare one
		return ErrNotRepository
	case strings.HasPrefix(line, "unable to read "):
		return fmt.Errorf("%w: %s", errMissing, term.Clean(line))
	case line == "":
		return err
	}
	return errors.New(term.Clean(line))
}

// maxMemory bounds what git, and each program that it starts, keeps in memory of its
// own: a file that git reads as a whole can be a link to /dev/zero. The status of a
// worktree of a million files takes a third of that.
const maxMemory = 1 << 30

// quiet keeps git from what its configuration, also the person's, may have it
// do besides: a monitor of ours would be started for a git directory that is
// gone in a moment, and a hook's path may lead into the worktree.
var quiet = []string{
	"--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
}

// environ is the environment for git: what says who and where the person is,
// and nothing else of what was inherited. A variable of git's own (GIT_DIR,
// GIT_CONFIG_COUNT, GIT_EXEC_PATH, GIT_TRACE, ...), of the loader's or of a
// shell's names programs and files, and a project's settings of its client can
// set it. Messages are in the language that reason knows.
func environ(top string, inherited []string) []string {
	env := process.Surroundings(inherited)
	return append(env, "PATH="+process.SearchPath(top, inherited), "LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0")
}

// bounded keeps the first max bytes that are written to it.
type bounded struct {
	buf bytes.Buffer
	max int
	cut bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.max - b.buf.Len()
	if room < len(p) {
		b.cut = true
		b.buf.Write(p[:room])
	} else {
		b.buf.Write(p)
	}
	return len(p), nil
}

// parseStatus reads the answer of git status --porcelain=v2 --branch -z: lines
// that end in NUL, of which a rename has one more with the old name. A line
// that is not whole, or of a kind that is not known, is passed over.
func parseStatus(data []byte) State {
	var s State
	next := func() (string, bool) {
		line, rest, ok := bytes.Cut(data, []byte{0})
		if !ok {
			return "", false
		}
		data = rest
		return string(line), true
	}
	for {
		line, ok := next()
		if !ok {
			return s
		}
		kind, rest, _ := strings.Cut(line, " ")
		switch kind {
		case "#":
			s.header(rest)
		case "1": // XY sub mH mI mW hH hI path
			s.add(tracked(rest, 8))
		case "2": // XY sub mH mI mW hH hI score path NUL from
			c := tracked(rest, 9)
			if c.From, ok = next(); ok {
				s.add(c)
			}
		case "u": // XY sub m1 m2 m3 mW h1 h2 h3 path
			c := tracked(rest, 10)
			c.Conflict, c.Staged, c.Unstaged = true, false, false
			s.add(c)
		case "?":
			s.add(Change{Path: rest, XY: "??", Untracked: true})
		}
	}
}

// tracked reads the fields of a change, of which the last is the path and the
// first tells what happened.
func tracked(line string, fields int) Change {
	f := strings.SplitN(line, " ", fields)
	if len(f) < fields || len(f[0]) != 2 {
		return Change{}
	}
	return Change{Path: f[fields-1], XY: f[0], Staged: f[0][0] != '.', Unstaged: f[0][1] != '.'}
}

func (s *State) add(c Change) {
	if c.Path != "" && !own(c.Path) {
		s.Changes = append(s.Changes, c)
	}
}

// own reports whether a path is one of S1's files, which no person works on. A
// checkpoint that is set aside has an ending, one that is being written a dot before
// its name.
func own(path string) bool {
	for elem := range strings.SplitSeq(path, "/") {
		if elem == place.Runtime || strings.HasPrefix(elem, place.Checkpoint) || strings.HasPrefix(elem, "."+place.Checkpoint) {
			return true
		}
	}
	return false
}

func (s *State) header(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			s.Head = value
		}
	case "branch.head":
		if s.Branch = value; value == "(detached)" {
			s.Branch = "HEAD"
		}
	case "branch.upstream":
		s.Upstream = value
	case "branch.ab": // +2 -1; absent where the upstream's branch is gone
		ahead, behind, _ := strings.Cut(value, " ")
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// Summary says the state in a line: "3 modified, 1 untracked, 2 ahead", or
// "clean".
func (s State) Summary() string {
	var modified, untracked, conflicts int
	for _, c := range s.Changes {
		switch {
		case c.Conflict:
			conflicts++
		case c.Untracked:
			untracked++
		default:
			modified++
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{{conflicts, "in conflict"}, {modified, "modified"}, {untracked, "untracked"}, {s.Ahead, "ahead"}, {s.Behind, "behind"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if s.Truncated {
		parts = append(parts, "and more")
	}
	if len(parts) == 0 {
		return "clean"
	}
	return strings.Join(parts, ", ")
}

// Quote returns a path as it can stand in JSON, in a note and on a terminal: as
// it is where it is plain text, else as git quotes it, between double quotes,
// with \", \\, \t, \n and so on, and other bytes as three octal digits:
//
//	naïve file.txt
//	"caf\351.txt"
//
// Nothing is lost, and two paths never become one.
func Quote(path string) string {
	if term.Clean(path) == path && !strings.ContainsAny(path, `"\`) {
		return path
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(path); {
		r, n := utf8.DecodeRuneInString(path[i:])
		switch piece := path[i : i+n]; {
		case r == '"' || r == '\\':
			b.WriteString(`\` + piece)
		case r >= '\a' && r <= '\r':
			b.WriteString(`\` + string("abtnvfr"[r-'\a']))
		case term.Clean(piece) != piece || r == utf8.RuneError && n == 1:
			for _, c := range []byte(piece) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		default:
			b.WriteString(piece)
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}
