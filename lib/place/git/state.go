package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

var (
	ErrNotRepository = errors.New("not in a git worktree")
	ErrTimeout       = errors.New("git took too long")

	errMissing = errors.New("unable to read an object")
)

// State is git's report of a worktree.
type State struct {
	Head    string // full hash; "" before the first commit
	Branch  string // "HEAD" if HEAD is detached
	Ahead   int    // commits that the upstream lacks
	Behind  int    // commits that the branch lacks
	Changes []Change
	// Added and Removed are the lines that differ from HEAD, as Measure counts them.
	Added, Removed int
	// Truncated reports that git's output exceeded maxStatus, so that changes are missing.
	Truncated bool

	tracking bool // Ahead and Behind are known
}

// Change is a changed file, or a folder of untracked files, whose name ends in a slash.
type Change struct {
	Path string // relative to the top; any bytes, see Quote
	From string // old name of a rename or copy, or ""
	XY   string // code of git status, with a dot for unchanged; "??" if untracked

	Staged    bool // the index differs from HEAD
	Unstaged  bool // the worktree differs from the index
	Untracked bool
	Conflict  bool
	Submodule bool // it is a submodule in HEAD, the index or the worktree
}

// maxStatus bounds git's output, in bytes: tens of thousands of changes.
const maxStatus = 8 << 20

// Status returns the state of the worktree that contains dir. It takes no lock of git and
// changes nothing, not even the index. After wait it kills git with its children.
//
// It runs no program that the repository, or a nested one, names. The files
// of gt's own state do not count as changes.
func Status(dir string, wait time.Duration) (State, error) {
	end := time.Now().Add(wait)
	ask := []string{"status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--ignore-submodules=dirty"}
	out, err := runInWorktree(dir, wait, append(ask, "--renames")...)
	if errors.Is(err, errMissing) {
		// A partial clone lacks the object. Fetching it could run the repository's programs.
		out, err = runInWorktree(dir, time.Until(end), append(ask, "--no-renames")...)
	}
	if err != nil {
		return State{}, atomicfile.Error("read the git state of", dir, err)
	}
	s := parseStatus(out.Data)
	s.Truncated = out.Truncated
	return s, nil
}

// Measure returns the state of a worktree with the number of changed lines. Without an upstream,
// Ahead counts the unpushed commits. After wait it returns ErrTimeout with what is known by then.
func Measure(dir string, wait time.Duration) (State, error) {
	end := time.Now().Add(wait)
	s, err := Status(dir, wait)
	if err != nil || s.Head == "" {
		return s, err
	}
	if !s.tracking {
		if s.Ahead = Unpushed(dir, time.Until(end)); time.Now().After(end) {
			return s, fmt.Errorf("%w (over %v)", ErrTimeout, wait)
		}
	}
	if !slices.ContainsFunc(s.Changes, func(c Change) bool { return !c.Untracked }) {
		return s, nil
	}
	out, err := runInWorktree(dir, time.Until(end), "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--shortstat", "HEAD", "--")
	if err != nil {
		return s, atomicfile.Error("count the changes in", dir, err)
	}
	for part := range strings.SplitSeq(string(out.Data), ",") { // 2 files changed, 12 insertions(+), 3 deletions(-)
		n, what, _ := strings.Cut(strings.TrimSpace(part), " ")
		switch {
		case strings.HasPrefix(what, "insertion"):
			s.Added, _ = strconv.Atoi(n)
		case strings.HasPrefix(what, "deletion"):
			s.Removed, _ = strconv.Atoi(n)
		}
	}
	return s, nil
}

// Untracked returns how many untracked files and folders there are.
func (s State) Untracked() (n int) {
	for _, c := range s.Changes {
		if c.Untracked {
			n++
		}
	}
	return n
}

// Diff returns the beginning of what differs in the worktree that contains dir from its last
// commit: a line for each file, then the lines that changed. It runs no program that the
// repository names, as Status does.
func Diff(dir string, wait time.Duration) (string, error) {
	out, err := runInWorktree(dir, wait, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--stat", "--patch", "HEAD", "--")
	if err != nil {
		return "", atomicfile.Error("read the changes in", dir, err)
	}
	return string(out.Data), nil
}

// Difference is a file that differs.
type Difference struct {
	Path        string // from the top of the worktree
	Uncommitted bool   // it differs from HEAD
}

// DifferingFiles returns which files of the worktree dir differ from HEAD, then what HEAD differs in
// from a commit. It runs no program that the repository names, as Status does. Each of the two
// takes at most wait.
func DifferingFiles(dir, commit string, wait time.Duration) (all []Difference, err error) {
	asked := [][]string{{"HEAD"}}
	if commit != "HEAD" {
		asked = append(asked, []string{commit, "HEAD"})
	}
	for _, revisions := range asked {
		args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-renames", "--numstat", "-z"}
		out, err := runInWorktree(dir, wait, slices.Concat(args, revisions, []string{"--"})...)
		if err != nil {
			return nil, atomicfile.Error("read the changes in", dir, err)
		}
		// A line has the numbers of added and removed lines and a path, with tabs between.
		for _, line := range splitNames(string(out.Data)) {
			if fields := strings.SplitN(line, "\t", 3); len(fields) == 3 {
				all = append(all, Difference{Path: fields[2], Uncommitted: len(revisions) == 1})
			}
		}
	}
	return all, nil
}

// runInWorktree runs git in the worktree that contains dir and returns the beginning of its output.
func runInWorktree(dir string, wait time.Duration, args ...string) (*bounded.Front, error) {
	out := &bounded.Front{Most: maxStatus}
	return out, answerInto(nil, out, dir, wait, args...)
}

// runForNames runs git, which prints names that end in NUL. cut reports that there are more of them.
func runForNames(stdin io.Reader, dir string, wait time.Duration, args ...string) (names []string, cut bool, err error) {
	out := &bounded.Front{Most: maxNamed}
	if err := answerInto(stdin, out, dir, wait, args...); err != nil {
		return nil, false, err
	}
	return splitNames(string(out.Data)), out.Truncated, nil
}

// splitNames returns what ends in NUL. Behind the last NUL is the beginning of a name, or nothing.
func splitNames(text string) []string {
	names := strings.Split(text, "\x00")
	return names[:len(names)-1]
}

// answerInto runs git isolated in the worktree at dir, with this standard input and output.
func answerInto(stdin io.Reader, stdout io.Writer, dir string, wait time.Duration, args ...string) error {
	r, real, err := locateIn(dir)
	if err != nil {
		return err
	}
	return r.runIsolated(stdin, stdout, real, wait, args...)
}

// locateIn is locate for any path, and returns it without links.
func locateIn(dir string) (r checkout, real string, err error) {
	if real, err = filepath.EvalSymlinks(dir); err != nil {
		return r, "", atomicfile.Error("read", dir, err)
	}
	r, err = locate(real)
	return r, real, err
}

// runIsolated runs git in dir with a private git directory.
func (r checkout) runIsolated(stdin io.Reader, stdout io.Writer, dir string, wait time.Duration, args ...string) error {
	vars, done, err := r.isolate()
	if err != nil {
		return err
	}
	defer done()
	return r.runTo(stdin, stdout, dir, vars, wait, args...)
}

// run runs git and returns the beginning of its output.
func (r checkout) run(stdin io.Reader, dir string, vars []string, wait time.Duration, args ...string) (*bounded.Front, error) {
	out := &bounded.Front{Most: maxStatus}
	if err := r.runTo(stdin, out, dir, vars, wait, args...); err != nil {
		return nil, err
	}
	return out, nil
}

// runTo runs git in dir, and kills it with its children after wait.
func (r checkout) runTo(stdin io.Reader, stdout io.Writer, dir string, vars []string, wait time.Duration, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	program, err := process.LookPath("git", r.top, os.Environ())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append(quietFlags, args...)...)
	cmd.Dir = dir
	cmd.Env = append(environ(r.top, os.Environ()), vars...)
	// In its own process group, so that killing it ends its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	errs := &bounded.Front{Most: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, errs

	if err = cmd.Start(); err == nil {
		process.Confine(cmd.Process.Pid, maxMemory) // mutant skip: TestStatusMemory
		err = cmd.Wait()
	}
	switch {
	case errors.Is(err, exec.ErrWaitDelay): // git is done; a child holds the pipe
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w (over %v)", ErrTimeout, wait)
	case err != nil:
		return gitError(err, errs.Data)
	}
	return nil
}

// gitError makes an error of git's message. The failure follows lines about progress.
func gitError(err error, said []byte) error {
	line, _, _ := strings.Cut(strings.TrimSpace(string(said)), "\n")
	for one := range strings.Lines(string(said)) {
		if strings.HasPrefix(one, "fatal: ") || strings.HasPrefix(one, "error: ") {
			line = strings.TrimSpace(one)
			break
		}
	}
	line = strings.TrimPrefix(strings.TrimPrefix(line, "fatal: "), "error: ")
	switch {
	case strings.HasPrefix(line, "not a git repository"), // no .git
		strings.HasPrefix(line, "this operation must be run in a work tree"): // a bare repository
		return ErrNotRepository
	case strings.HasPrefix(line, "unable to read "):
		return fmt.Errorf("%w: %s", errMissing, term.Clean(line))
	case line == "":
		return err
	}
	return errors.New(term.Clean(line))
}

// maxMemory bounds the memory of git and each of its children, in bytes, because a file
// that git reads whole can be a link to /dev/zero. The status of a worktree with a million
// files needs a third of it.
const maxMemory = 1 << 30

// quietFlags override the person's configuration. A file system monitor would watch the
// private git directory, and the hooks path can lead into the worktree. A diff would write the
// index anew where files have new times, and take its lock, whatever is said of optional ones.
var quietFlags = []string{
	"--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=false", "-c", "diff.autoRefreshIndex=false", "-c", "core.hooksPath=" + os.DevNull,
}

// environ returns git's environment: only variables that say who and where the person is. A
// project's client settings can set variables of git (GIT_DIR, GIT_CONFIG_COUNT,
// GIT_EXEC_PATH, GIT_TRACE, ...), the loader or a shell, which name programs and files.
// LC_ALL=C makes the messages English, for gitError.
func environ(top string, inherited []string) []string {
	// mutant without process.PersonEnviron: ./attacks TestRepositoryNamesPrograms/variables
	env := process.PersonEnviron(inherited)
	return append(env, "PATH="+process.SearchPath(top, inherited), "LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0")
}

// parseStatus parses git status --porcelain=v2 --branch -z: lines end in NUL, and a rename
// has a second one with the old name. It skips incomplete and unknown lines.
func parseStatus(data []byte) State {
	var s State
	lines := splitNames(string(data))
	for i := 0; i < len(lines); i++ {
		kind, rest, _ := strings.Cut(lines[i], " ")
		switch kind {
		case "#":
			s.addHeader(rest)
		case "1": // XY sub mH mI mW hH hI path
			s.addChange(parseTracked(rest, 8))
		case "2": // XY sub mH mI mW hH hI score path NUL from
			c := parseTracked(rest, 9)
			if i++; i < len(lines) {
				c.From = lines[i]
				s.addChange(c)
			}
		case "u": // XY sub m1 m2 m3 mW h1 h2 h3 path
			c := parseTracked(rest, 10)
			c.Conflict, c.Staged, c.Unstaged = true, false, false
			s.addChange(c)
		case "?":
			s.addChange(Change{Path: rest, XY: "??", Untracked: true})
		}
	}
	return s
}

// parseTracked parses the fields of a change: first the code, last the path.
func parseTracked(line string, fields int) Change {
	f := strings.SplitN(line, " ", fields)
	if len(f) < fields || len(f[0]) != 2 {
		return Change{}
	}
	return Change{Path: f[fields-1], XY: f[0], Staged: f[0][0] != '.', Unstaged: f[0][1] != '.', Submodule: strings.HasPrefix(f[1], "S")}
}

func (s *State) addChange(c Change) {
	if c.Path != "" && !(c.Untracked && isOwnFile(c.Path)) {
		s.Changes = append(s.Changes, c)
	}
}

// isOwnFile reports whether a path is one of gt's own files, which are nobody's work unless git
// tracks them, or a checkpoint that was set aside (with a suffix) or is being written (with a dot).
func isOwnFile(path string) bool {
	for elem := range strings.SplitSeq(path, "/") {
		if elem == place.Runtime || strings.HasPrefix(elem, place.Checkpoint) || strings.HasPrefix(elem, "."+place.Checkpoint) {
			return true
		}
	}
	return false
}

// addHeader adds a line about the branch. Head stays empty before the first commit.
func (s *State) addHeader(line string) {
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
	case "branch.ab": // such as +2 -1; absent if the upstream's branch is gone
		ahead, behind, _ := strings.Cut(value, " ")
		s.tracking = true
		s.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		s.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// Unpushed returns how many commits of HEAD no remote branch has, 0 if there is no remote or
// git does not tell within wait.
func Unpushed(dir string, wait time.Duration) int {
	end := time.Now().Add(wait)
	out, err := runInWorktree(dir, wait, "rev-list", "--count", "HEAD", "--not", "--remotes")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(out.Data)))
	if n > 0 {
		if remotes, err := runInWorktree(dir, time.Until(end), "for-each-ref", "--count=1", "refs/remotes"); err != nil || len(remotes.Data) == 0 {
			return 0
		}
	}
	return n
}

// Summary returns a line such as "3 modified, 1 untracked, 2 ahead", or "clean".
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

// Quote returns a path that is safe in JSON, in a note and on a terminal. Plain text stays
// unchanged. Other paths are quoted like git's: in double quotes, with \", \\, \t, \n and
// so on, and three octal digits for other bytes:
//
//	naïve file.txt
//	"caf\351.txt"
//
// Different paths never have the same quoted form.
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
