//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestShortWrites lets every file end, for the kernel, after so many bytes: a
// write takes what fits, and the next fails.
func TestShortWrites(t *testing.T) {
	limits := []int{0, 1, 40, 150, 300, 450, 700, 1200}
	sweep(t, scenarios, func(t *tried, s scenario) {
		p := newPlan(t.T, s)
		var files []string
		for _, c := range p.calls {
			if c.name == "write" {
				files = append(files, p.shape(c))
			}
		}
		for j, limit := range limits {
			if nth(t.i+j, 6) && p.tries(fmt.Sprint("short ", limit, files)) {
				t.fault(fmt.Sprintf("files of at most %d bytes", limit), p.short(t.T, limit))
			}
		}
	})
}

func (p *plan) short(t *testing.T, limit int) (problems []string) {
	t.Helper()
	defer p.set(t)()
	r := p.w.withEnv(append(p.env, "LIMIT="+strconv.Itoa(limit))...).run(t, p.input, p.folder(), append([]string{"limit"}, p.args...)...)
	now, problems := p.sound()
	problems = append(problems, p.lost(now)...)
	problems = append(problems, p.delivered(now, r.stdout)...)
	missing := p.missing(now, r)
	switch {
	case r.code != 0 && (r.code != 74 || p.hook()):
		problems = append(problems, fmt.Sprintf("exit code %d", r.code))
	case (r.code != 0 || len(missing) > 0) && !strings.Contains(r.stderr, "file too large"):
		problems = append(problems, "nothing is said of it, and this is missing:\n"+strings.Join(missing, "\n"))
	}
	if len(now.litter) > len(p.before.litter) {
		problems = append(problems, fmt.Sprintf("temporary files are left: %v", now.litter))
	}
	_, more := p.runsAgain(t, now)
	problems = append(problems, more...)
	if len(problems) > 0 {
		problems = append(problems, r.String())
	}
	return problems
}

// limit becomes the program that is its argument, whose files may have no more
// than so many bytes.
func limit() {
	n, err := strconv.ParseUint(os.Getenv("LIMIT"), 10, 64)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: n})
	}
	program := ""
	if err == nil {
		program, err = exec.LookPath(os.Args[1])
	}
	if err == nil {
		err = syscall.Exec(program, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "limit:", err)
	os.Exit(1)
}

// fillAndRun mounts a small file system over the world, fills it but for so
// many KiB, runs the hooks of a session's life, and brings out what is left.
const fillAndRun = `set -eu
mount -t tmpfs -o size=4m tmpfs "$SCENE"
cp -a "$SCENE.kept/." "$SCENE/"
adopt "$SCENE/home/.local/state/gt"
free=$(df -Pk "$SCENE" | awk 'NR==2 {print $4}')
dd if=/dev/zero of="$SCENE/tmp/filler" bs=1024 count=$((free - LEAVE)) 2>/dev/null
cd "$SCENE/work"
n=0
for input in "$OUT"/*.in; do
	n=$((n + 1))
	code=0
	$(cat "${input%.in}.args") <"$input" >"$OUT/$n.out" 2>"$OUT/$n.err" || code=$?
	echo $code >"$OUT/$n.code"
done
rm "$SCENE/tmp/filler"
cp -a "$SCENE" "$OUT/after"
`

// TestFullDisk runs the hooks of a session on a disk that is full, or nearly:
// the agent goes on, and is told what is there to be told.
func TestFullDisk(t *testing.T) {
	if err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt").Run(); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	w := newWorld(t, "full-disk")
	t.Cleanup(func() {
		removeAll(w.Root)
		removeAll(w.Root + ".kept")
	})
	handed(t, w)
	w.keep(t)
	before, _ := w.sound("work", snapshot{})
	hooks := []struct {
		args  []string
		input string
	}{
		{prime, start("s-new", "startup")},
		{touch, event("s-new", "UserPromptSubmit")},
		{auto, event("s-new", "PreCompact", "trigger", "auto")},
		{write, event("s-new", "Stop", "last_assistant_message", lastWords)},
		{touch, event("s-new", "Stop")},
		{ends, event("s-new", "SessionEnd", "reason", "logout")},
	}
	runs := 0
	for _, leave := range []int{0, 4, 8, 12, 16, 20, 28, 40, 60, 100} {
		noError(t, w.refill(w.Root+".kept"))
		out := t.TempDir()
		for i, h := range hooks {
			noError(t, os.WriteFile(filepath.Join(out, fmt.Sprint(i+1)+".in"), []byte(w.fill(h.input)), 0o600))
			noError(t, os.WriteFile(filepath.Join(out, fmt.Sprint(i+1)+".args"), []byte(strings.Join(h.args, " ")), 0o600))
		}
		r := w.withEnv("OUT="+out, fmt.Sprint("LEAVE=", leave)).run(t, "", ".", "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", fillAndRun)
		if r.code != 0 {
			t.Fatal(r)
		}
		noError(t, w.refill(filepath.Join(out, "after")))
		for i, h := range hooks {
			file := func(kind string) string {
				data, err := os.ReadFile(filepath.Join(out, fmt.Sprint(i+1)+"."+kind))
				noError(t, err)
				return string(data)
			}
			runs++
			if file("code") != "0\n" {
				t.Errorf("%d KiB left: %v ends with %s%s", leave, h.args, file("code"), file("err"))
			}
			if i == 0 && !strings.Contains(file("out"), message) {
				t.Errorf("%d KiB left: the start is told\n%s\n%s", leave, file("out"), file("err"))
			}
			if leave == 0 && i == 0 && !strings.Contains(file("err"), "no space left on device") {
				t.Errorf("nothing is said of the full disk: %q", file("err"))
			}
		}
		now, problems := w.sound("work", before)
		for _, problem := range problems {
			t.Errorf("%d KiB left: %s", leave, problem)
		}
		if len(now.litter) > 0 {
			t.Errorf("%d KiB left: temporary files are left: %v", leave, now.litter)
		}
		// With room again all works, and no line of the log is lost to a torn one.
		w.mustRun(t, start("s-later", "startup"), "work", prime...)
		if _, problems := w.sound("work", now); len(problems) > 0 {
			t.Errorf("%d KiB left, and room again: %s", leave, strings.Join(problems, "\n"))
		}
	}
	totals.add(0, runs, 0)
}
