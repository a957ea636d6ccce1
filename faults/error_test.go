//go:build linux

package faults

import (
	"fmt"
	"hash/fnv"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// failures are the errors that a call can come back with, each call by its own:
// a full disk keeps nobody from reading.
func (c call) failures() []string {
	switch c.name {
	case "openat", "openat2", "open", "creat":
		if c.hasFlag("O_CREAT") || c.hasFlag("O_RDWR") || c.hasFlag("O_WRONLY") {
			return []string{"EIO", "ENOSPC", "EDQUOT", "EACCES", "EROFS", "EMFILE", "EINTR"}
		}
		return []string{"EIO", "EACCES", "EMFILE", "EINTR"}
	case "write", "pwrite64", "writev", "fsync", "fdatasync":
		return []string{"EIO", "ENOSPC", "EDQUOT", "EINTR"}
	case "rename", "renameat", "renameat2", "link", "linkat", "mkdir", "mkdirat":
		return []string{"EIO", "ENOSPC", "EDQUOT", "EACCES", "EROFS", "EINTR"}
	case "unlink", "unlinkat", "rmdir", "fchmod", "fchmodat", "ftruncate":
		return []string{"EIO", "EACCES", "EROFS", "EINTR"}
	case "flock":
		return []string{"EIO", "ENOLCK", "EINTR"}
	case "close":
		// strace does not close then, so a pipe would keep its reader waiting.
		// And a lock would still be held.
		if path := c.path(); !strings.HasPrefix(path, scratch) || isLock(lastElem(path)) {
			return nil
		}
		return []string{"EIO", "ENOSPC", "EDQUOT", "EINTR"}
	case "read", "pread64", "getdents64":
		if c.at.path == "pipe" && c.fd() != 0 {
			// No pipe gives EIO. Go takes it for a program that could not be started, and then
			// waits for its end with its input open.
			return []string{"EINTR"}
		}
		return []string{"EIO", "EINTR"}
	case "newfstatat", "readlinkat":
		return []string{"EIO", "EACCES"}
	}
	return nil
}

// A fault is an error at a call.
type fault struct {
	call
	err string
}

func (f fault) String() string { return fmt.Sprintf("%s at %v", f.err, f.call) }

// errorPoints are the faults that are tried: all, or of each shape of call one, by turns.
func (p *plan) errorPoints() (points []fault) {
	h := fnv.New32()
	h.Write([]byte(p.name))
	n := int(h.Sum32() % 97)
	for _, c := range p.calls {
		all := c.failures()
		if len(all) == 0 {
			continue
		}
		if !full {
			if n++; !p.tries("error "+p.shape(c)) || !c.changes() && !nth(n, 12) {
				continue
			}
			all = pickErr(all, n)
		}
		for _, e := range all {
			points = append(points, fault{c, e})
		}
	}
	return points
}

// TestErrors lets each system call of each command fail.
func TestErrors(t *testing.T) {
	sweep(t, scenarios, func(t *tried, s scenario) {
		p := newPlan(t.T, s)
		for _, f := range p.errorPoints() {
			t.fault(f, p.fail(t.T, f))
		}
	})
}

func (p *plan) fail(t *testing.T, f fault) (problems []string) {
	t.Helper()
	r, stop, met := p.disturb(t, f.call, "error="+f.err)
	defer stop()
	if !met && (f.at.path == "/proc" || p.live != nil && !f.changes()) {
		return nil // who waits for a process looks as often as it needs
	}
	if !met {
		return []string{fmt.Sprintf("it did not fail there in %d runs: %v", tries, r)}
	}
	now, problems := p.sound()
	problems = append(problems, p.lost(now)...)
	problems = append(problems, p.delivered(now, r.stdout)...)
	problems = append(problems, p.answered(f, now, r)...)
	if len(now.litter) > len(p.before.litter) && !strings.HasPrefix(f.name, "unlink") {
		problems = append(problems, fmt.Sprintf("temporary files are left: %v", now.litter))
	}
	after, more := p.runsAgain(t, now)
	problems = append(problems, more...)
	if len(p.missing(now, r)) == 0 && f.at.path != "/proc" {
		problems = append(problems, p.healed(after)...)
	}
	if len(problems) > 0 {
		problems = append(problems, r.String())
	}
	return problems
}

// answered says what is wrong with how a command answered for a fault: its exit
// code, and whether it said what is missing.
func (p *plan) answered(f fault, now snapshot, r result) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	missing := p.missing(now, r)
	switch {
	case r.code == 1 && !p.hook() && f.silent(p.args[0]) != "": // there is nothing, as far as it can see
	case r.code != 0 && (r.code != 74 || p.hook()):
		wrong("exit code %d", r.code)
	case f.err == "EINTR":
		if r.code != 0 || len(missing) > 0 {
			wrong("an interrupted call is no failure")
		}
		return problems
	}
	if p.args[0] == "gt-handoff" && !p.hook() && (f.err == "EACCES" || f.err == "EROFS") {
		// What a sandbox keeps a command from keeping of a conversation is read again.
		missing = slices.DeleteFunc(missing, func(s string) bool { return strings.Contains(s, ".tail:\n") })
	}
	if r.code == 0 && len(missing) == 0 || f.at.path == "pipe" && f.fd() == 2 {
		return problems
	}
	if f.silent(p.args[0]) != "" {
		return problems
	}
	if !f.told(p.w.Root, r.stderr) {
		wrong("nothing is said of it, and this is missing:\n%s", strings.Join(missing, "\n"))
	}
	return problems
}

// missing is in what the world, and what was printed, differ from what they are
// without a fault.
func (p *plan) missing(now snapshot, r result) (missing []string) {
	for path, want := range p.once.state {
		if _, ok := generation(path); ok {
			continue
		}
		if p.cache(path) {
			continue
		}
		if is := now.state[path]; is != want {
			missing = append(missing, path+":\n"+difference(want, is))
		}
	}
	for path := range now.state {
		_, ok := p.once.state[path]
		if _, copied := generation(path); !ok && !copied {
			missing = append(missing, path+" is there")
		}
	}
	for path, want := range p.once.log {
		if told(now.log[path]) != told(want) {
			missing = append(missing, path+":\n"+difference(told(want), told(now.log[path])))
		}
	}
	if normal(r.stdout) != normal(p.clean.stdout) {
		missing = append(missing, "standard output:\n"+difference(normal(p.clean.stdout), normal(r.stdout)))
	}
	return missing
}

var said = regexp.MustCompile(`(?m)^gt-[a-z]+: (?:error|warning): .*$`)
var quoted = regexp.MustCompile(`'([^']+)'`)

// told reports whether what was said names the file that the fault was about, by
// the name that it was to have.
func (f fault) told(root, stderr string) bool {
	path := plain(f.path())
	lines := said.FindAllString(stderr, -1)
	if !strings.HasPrefix(path, plain(root)) {
		return len(lines) > 0
	}
	for _, line := range lines {
		for _, m := range quoted.FindAllStringSubmatch(line, -1) {
			name := m[1]
			if !filepath.IsAbs(name) { // as it was typed
				name = filepath.Join(root, "work", name)
			}
			q := plain(name)
			if box, _, ok := strings.Cut(path, "/mail/"); ok && strings.HasPrefix(q, box+"/mail/") {
				return true
			}
			named, _ := generation(path)
			for _, p := range []string{path, named, target(path), plain(f.destination())} {
				if q == p || strings.HasPrefix(p, q+"/") || strings.HasPrefix(q, p+"/") && p != "" {
					return true
				}
			}
		}
	}
	return false
}

// target is the file that a temporary one was to become.
func target(path string) string {
	dir, base := filepath.Split(path)
	if name, _, ok := strings.Cut(base, tmpMark); ok {
		return dir + strings.TrimPrefix(name, ".")
	}
	return path
}

// silent are the faults that may pass without a word, each with its reason.
func (f fault) silent(program string) string {
	path := f.path()
	if below, ok := strings.CutPrefix(path, scratch); ok {
		path = "/scratch" + below
	} else if path == "/" || strings.HasPrefix(scratch, path+"/") {
		path = "/above"
	}
	for _, s := range mayBeSilent {
		if slices.Contains(s.calls, f.name) && (s.program == "" || s.program == program) && s.path.MatchString(path) {
			return s.reason
		}
	}
	return ""
}

var mayBeSilent = []struct {
	program string // any, where it is empty
	calls   []string
	path    *regexp.Regexp
	reason  string
}{
	{"", []string{"newfstatat"}, regexp.MustCompile(`^/above$|^/scratch(/[^/]+(/home(/\.local(/state)?)?|/work|/town(/gastown(/crew)?)?)?)?$`),
		"a folder on the way that cannot be looked at is what its name says"},
	{"", []string{"openat", "read", "newfstatat"}, regexp.MustCompile(`/homes/[^/]*/mirror$`),
		"what other programs of a town see is written again with the next hook"},
	{"gt-hooks", []string{"openat", "read", "pread64", "newfstatat", "mkdirat", "fchmod", "write", "close", "renameat", "getdents64"}, regexp.MustCompile(`/\.sessions(/\.?(index|transcripts)\.jsonl.*)?$|/\.events\.jsonl$|/\.local/state/gt$`),
		"a cache only saves time, and a log that it was to be made of is read without it"},
	{"", []string{"openat", "read"}, regexp.MustCompile(`/given/[0-9a-f]+$`),
		"work that nobody vouches for is told as a note"},
	{"gt-handoff", []string{"openat", "newfstatat"}, regexp.MustCompile(`/homes/[^/]*(/lock)?$`),
		"what a sandbox keeps from the state is asked for in the project"},
	{"", []string{"openat", "read", "readlinkat"}, regexp.MustCompile(`^/proc/`),
		"what the system does not tell of a process is not noted"},
	{"", []string{"openat", "read", "newfstatat", "getdents64"}, regexp.MustCompile(`/\.git(/(HEAD|commondir|logs/HEAD|info|config))?$`),
		"what git knows, the branch and the commits, is put in where it can be had"},
	{"", []string{"openat", "read", "newfstatat", "mkdirat", "flock", "write", "close"}, regexp.MustCompile(`/\.git/info(/exclude)?$`),
		"that git shows a file of ours is no reason not to write it, and the next write tries again"},
	{"", []string{"newfstatat"}, regexp.MustCompile(`/(town\.toml|town\.json)$`),
		"where no town can be looked for, the personal one is it"},
	{"gt-keepalive", []string{"newfstatat"}, regexp.MustCompile(`/\.local/state/gt$`),
		"why nothing can be kept gt-prime has said"},
	{"", []string{"newfstatat"}, regexp.MustCompile(`/sessions/[^/]*\.json$`),
		"the session's next hook looks for its record again"},
	{"gt-checkpoint", []string{"openat", "read"}, regexp.MustCompile(`/sessions/[^/]*\.json$`),
		"a session that cannot be looked up is taken to need its checkpoint"},
	{"", []string{"openat", "read"}, regexp.MustCompile(`/keepalive\.json$`),
		"a sign of life that cannot be read is none, and grows old by itself"},
	{"", []string{"openat", "read"}, regexp.MustCompile(`/sessions/[^/]*\.state$`),
		"what a session does the next hook tells, and that it ended its record"},
	{"", []string{"openat", "read", "newfstatat"}, regexp.MustCompile(`/mail/(.*/)?cur(/[^/]*)?$`),
		"an earlier note that cannot be read stays hooked: at the worst it is told again"},
}
