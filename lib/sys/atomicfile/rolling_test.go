package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// valid is what the tests take for a content that can be used.
func valid(data []byte) error {
	if !bytes.HasPrefix(data, []byte("good ")) || !bytes.HasSuffix(data, []byte(" end")) {
		return errors.New("it is torn")
	}
	return nil
}

func good(n int) []byte { return fmt.Appendf(nil, "good %d end", n) }

// rolling is a file in one folder with its generations in another, and what
// was warned of.
func rolling(t *testing.T) (r Rolling, warned *[]string) {
	t.Helper()
	dir := t.TempDir()
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "own"), 0o700))
	warned = new([]string)
	return Rolling{
		Path: filepath.Join(dir, "file"), Backups: filepath.Join(dir, "own", "file"), Limit: 1000, Valid: valid,
		Warn: func(err error) { *warned = append(*warned, err.Error()) },
	}, warned
}

// allPaths are the paths of the file and its generations.
func (r Rolling) allPaths() []string {
	return []string{r.Path, r.backup(".bak"), r.backup(".bak.1"), r.backup(".bak.2")}
}

// state is what lies there, "" for what does not.
func (r Rolling) state(t *testing.T) (state [4]string) {
	t.Helper()
	for i, path := range r.allPaths() {
		if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(path)
		testenv.NoError(t, err)
		state[i] = string(data)
	}
	return state
}

// tree is every file below the folder of the file, with its content.
func (r Rolling) tree(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(r.Path), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	testenv.NoError(t, err)
	return all
}

func TestRollingKeepsThree(t *testing.T) {
	r, warned := rolling(t)
	if data, err := r.Repair(); data != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %q, %v", data, err)
	}
	for i := range 6 {
		for range 3 { // the same again pushes nothing out
			testenv.NoError(t, r.Write(good(i), Unsynced))
		}
	}
	if got, want := r.state(t), [4]string{"good 5 end", "good 4 end", "good 3 end", "good 2 end"}; got != want {
		t.Errorf("%q", got)
	}
	for _, path := range r.allPaths() {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(path, info.Mode(), err)
		}
	}
	if len(r.tree(t)) != 4 || len(*warned) > 0 {
		t.Errorf("%v %v", r.tree(t), *warned)
	}
	testenv.NoError(t, r.Remove())
	if len(r.tree(t)) != 0 {
		t.Error(r.tree(t))
	}
	if err := r.Remove(); err != nil {
		t.Error("of nothing:", err)
	}
	// Nor does what was written before an end, whatever is left of it.
	for i := range 3 {
		testenv.NoError(t, r.Write(good(i), Unsynced))
	}
	testenv.NoError(t, r.WriteWithoutBackups(good(3), Unsynced))
	if got, want := r.state(t), [4]string{"good 3 end"}; got != want {
		t.Errorf("%q", got)
	}
	testenv.NoError(t, r.Remove())
	// What somebody else took away does not come back, whatever is left of it.
	for i := range 3 {
		testenv.NoError(t, r.Write(good(i), Unsynced))
	}
	testenv.NoError(t, os.Remove(r.Path))
	if data, err := r.Read(); data != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("taken away: %q, %v", data, err)
	}
	testenv.NoError(t, r.Write(good(9), Unsynced))
	testenv.NoError(t, os.WriteFile(r.Path, []byte("torn"), 0o600))
	if data, err := r.Repair(); data != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was before a removal came back: %q, %v", data, err)
	}
}

// Whichever of the four are bad, the newest of the others is used, Read changes
// nothing, Repair loses nothing, and both say so.
func TestRollingFallsBack(t *testing.T) {
	for _, how := range []string{"torn", "empty", "huge", "link", "fifo"} {
		for bad := range 16 {
			t.Run(fmt.Sprintf("%s %04b", how, bad), func(t *testing.T) {
				r, warned := rolling(t)
				for i := range 4 {
					testenv.NoError(t, r.Write(good(3-i), Unsynced))
				}
				want := ""
				newest := 4
				for i, path := range r.allPaths() {
					if bad>>i&1 == 0 {
						newest = min(newest, i)
						continue
					}
					testenv.NoError(t, os.Remove(path))
					var err error
					switch how {
					case "torn":
						err = os.WriteFile(path, []byte("good"), 0o600)
					case "empty":
						err = os.WriteFile(path, nil, 0o600)
					case "huge":
						err = os.WriteFile(path, bytes.Repeat([]byte("x"), 2000), 0o600)
					case "link":
						err = os.Symlink("/etc/passwd", path)
					case "fifo":
						err = exec.Command("mkfifo", path).Run()
					}
					testenv.NoError(t, err)
				}
				if newest < 4 {
					want = string(good(newest))
				}
				before := names(t, r)
				data, err := r.Read()
				if string(data) != want || (err == nil) != (want != "") {
					t.Errorf("read %q, %v", data, err)
				}
				if got := names(t, r); !slices.Equal(got, before) {
					t.Errorf("Read changed %q to %q", before, got)
				}
				said := strings.Join(*warned, "\n")
				if newest > 0 && newest < 4 && !strings.Contains(said, "using the version before it, '"+filepath.Base(r.allPaths()[newest])+"', from 2") ||
					newest == 0 && said != "" {
					t.Errorf("read said %q", said)
				}
				*warned = nil
				data, err = r.Repair()
				if string(data) != want || want == "" && !errors.Is(err, fs.ErrNotExist) || want != "" && err != nil {
					t.Errorf("mended %q, %v", data, err)
				}
				if got := r.state(t)[0]; got != want {
					t.Errorf("the file holds %q", got)
				}
				said = strings.Join(*warned, "\n")
				if strings.Count(said, "it was set aside as") != newest || len(*warned) != newest {
					t.Errorf("said %q", said)
				}
				for i, path := range r.allPaths()[:newest] {
					if _, err := os.Lstat(path + ".bad"); err != nil {
						t.Error(err)
					}
					if _, err := os.Lstat(path); i > 0 && !errors.Is(err, fs.ErrNotExist) {
						t.Error(path, "is still there")
					}
				}
				*warned = nil
				data, _ = r.Repair()
				if string(data) != want || len(*warned) > 0 {
					t.Errorf("again: %q, %q", data, *warned)
				}
			})
		}
	}
}

// names are the names and kinds of what lies there.
func names(t *testing.T, r Rolling) (all []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Dir(r.Path), func(path string, d fs.DirEntry, err error) error {
		all = append(all, path+" "+d.Type().String())
		return err
	})
	testenv.NoError(t, err)
	return all
}

// However often a write is killed before its last step, it gives up one
// generation and not all of them.
func TestRollingKilledAgainAndAgain(t *testing.T) {
	r, _ := rolling(t)
	for i := range 4 {
		testenv.NoError(t, r.Write(good(i), Unsynced))
	}
	for range 5 { // what is left of such a write
		testenv.NoError(t, r.rotateBackups(good(3)))
	}
	if got, want := r.state(t), [4]string{"good 3 end", "good 3 end", "good 2 end", "good 1 end"}; got != want {
		t.Errorf("%q", got)
	}
	testenv.NoError(t, r.Write(good(4), Unsynced))
	if got, want := r.state(t), [4]string{"good 4 end", "good 3 end", "good 2 end", "good 1 end"}; got != want {
		t.Errorf("%q", got)
	}
}

// A write over what is no use keeps it, and takes nothing from the
// generations; a folder in the file's place is refused, and one in a
// generation's is in nobody's way.
func TestRollingWritesOverNothing(t *testing.T) {
	r, warned := rolling(t)
	for i := range 4 {
		testenv.NoError(t, r.Write(good(i), Unsynced))
	}
	testenv.NoError(t, os.WriteFile(r.Path, []byte("torn"), 0o600))
	testenv.NoError(t, r.Write(good(9), Unsynced))
	if got, want := r.state(t), [4]string{"good 9 end", "good 2 end", "good 1 end", "good 0 end"}; got != want {
		t.Errorf("%q", got)
	}
	if data, err := os.ReadFile(r.Path + ".bad"); string(data) != "torn" || len(*warned) != 1 {
		t.Errorf("%q %v %q", data, err, *warned)
	}
	*warned = nil
	testenv.NoError(t, errors.Join(os.Remove(r.backup(".bak.1")), os.MkdirAll(r.backup(".bak.1")+"/x", 0o700)))
	for i := range 4 {
		testenv.NoError(t, r.Write(good(10+i), Unsynced))
	}
	if got, _ := r.Read(); string(got) != "good 13 end" || len(*warned) == 0 {
		t.Errorf("%q %q", got, *warned)
	}
	testenv.NoError(t, errors.Join(os.Remove(r.Path), os.Mkdir(r.Path, 0o700)))
	if err := r.Write(good(0), Unsynced); !errors.Is(err, ErrNotRegular) {
		t.Error(err)
	}
}

// rollingChild does what the name says to the files of the folder, and stands
// for a process that dies while it does.
func rollingChild(what string) int {
	runtime.LockOSThread() // strace counts calls a thread
	op, dir, _ := strings.Cut(what, ":")
	r := Rolling{
		Path: filepath.Join(dir, "file"), Backups: filepath.Join(dir, "own", "file"), Limit: 1000, Valid: valid,
		Warn: func(err error) { fmt.Fprintln(os.Stderr, err) },
	}
	var err error
	switch op {
	case "write":
		err = r.Write(good(100), Synced)
	case "mend":
		_, err = r.Repair()
	case "anew":
		err = r.WriteWithoutBackups(good(100), Synced)
	case "remove":
		err = r.Remove()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, err)
		return 74
	}
	return 0
}

// changing are the system calls that change anything.
var changing = []string{"linkat", "unlinkat", "renameat", "renameat2", "write", "fsync", "fchmod", "openat", "close"}

// strike runs the operation with a fault at the n-th call of that name, and
// reports whether it met it. The calls that the runtime makes before are met too.
func strike(t *testing.T, r Rolling, op, call, fault string, n int) (met bool, code int, said string) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	cmd := exec.Command("strace", "-f", "-qq", "-o", trace, "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:%s:when=%d", call, fault, n), os.Args[0])
	cmd.Env = append(os.Environ(), "ATOMICFILE_ROLLING="+op+":"+filepath.Dir(r.Path), "GOMAXPROCS=1")
	out, _ := cmd.CombinedOutput()
	log, err := os.ReadFile(trace)
	testenv.NoError(t, err)
	return bytes.Contains(log, []byte("INJECTED")) || bytes.Contains(log, []byte("killed by SIGKILL")), cmd.ProcessState.ExitCode(), string(out)
}

// Killed or failed at any step of a write, of a mending and of a removal, the
// file is what it was or what it was to be, what was before is still there in
// its order, and the next that comes finds nothing in its way.
func TestRollingFaults(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is what kills a program at a chosen call")
	}
	if testing.Short() {
		t.Skip("what is traced has no goroutines")
	}
	const old, older, oldest = "good 3 end", "good 2 end", "good 1 end"
	for op, is := range map[string]struct {
		torn  bool     // the file and .bak are
		after []string // what Read may give then, "" for nothing
	}{
		"write":  {after: []string{old, "good 100 end"}},
		"mend":   {torn: true, after: []string{older}},
		"anew":   {after: []string{old, "good 100 end"}},
		"remove": {after: []string{old, ""}},
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			faults := 0
			for _, fault := range []string{"signal=KILL", "error=EIO", "error=ENOSPC", "error=EPERM"} {
				for _, call := range changing {
					if fault != "signal=KILL" && (call == "close" || call == "openat") {
						continue // the runtime's own would fail
					}
					for n, alone := 1, 0; alone < 2; n++ {
						r, warned := rolling(t)
						for i := range 4 {
							testenv.NoError(t, r.Write(good(i), Unsynced))
						}
						if is.torn {
							// .bak holds 2, which is what is left.
							testenv.NoError(t, os.WriteFile(r.Path, []byte("torn"), 0o600))
						}
						met, code, said := strike(t, r, op, call, fault, n)
						if !met {
							alone++
						} else {
							alone = 0
							faults++
						}
						fail := func(format string, args ...any) {
							t.Helper()
							t.Fatalf("%s at %s %d, exit code %d:\n%s\n%q\n%s", fault, call, n, code, said, r.tree(t), fmt.Sprintf(format, args...))
						}
						if !met && code != 0 || met && fault != "signal=KILL" && code != 0 && code != 74 {
							fail("")
						}
						data, err := r.Read()
						if err != nil && !errors.Is(err, fs.ErrNotExist) {
							fail("%v", err)
						}
						if !slices.Contains(is.after, string(data)) {
							fail("it reads %q", data)
						}
						if code == 0 && string(data) != is.after[len(is.after)-1] {
							fail("it said that it was done, and it reads %q", data)
						}
						if state := r.state(t); op == "anew" && state[0] == "good 100 end" && state != [4]string{state[0]} {
							fail("something from before stands behind it")
						}
						if is.torn && !slices.Contains(slices.Collect(maps.Values(r.tree(t))), "torn") {
							fail("the bad file is gone")
						}
						if op == "write" {
							// Nothing is lost but the oldest, and nothing stands before what is newer.
							state := r.state(t)
							seen := slices.Compact(slices.DeleteFunc(state[:], func(s string) bool { return s == "" }))
							row := []string{"good 100 end", old, older, oldest, "good 0 end"}
							at := -1
							for _, s := range seen {
								i := slices.Index(row, s)
								if i <= at {
									fail("%q", seen)
								}
								at = i
							}
							if !slices.Contains(seen, older) || !slices.Contains(seen, oldest) || !slices.Contains(seen, old) {
								if fault == "signal=KILL" || !strings.Contains(said, "cannot") {
									fail("lost one of %q", seen)
								}
							}
						}
						// The next goes on as if nothing had been.
						*warned = nil
						if op == "mend" {
							if data, err := r.Repair(); err != nil || string(data) != older {
								fail("mended %q, %v", data, err)
							}
						}
						for i := range 4 {
							if err := r.Write(good(200+i), Unsynced); err != nil {
								fail("%v", err)
							}
						}
						if got, want := r.state(t), [4]string{"good 203 end", "good 202 end", "good 201 end", "good 200 end"}; got != want {
							fail("%q", got)
						}
						Sweep(filepath.Dir(r.Path), time.Now().Add(2*time.Hour))
						Sweep(filepath.Dir(r.Backups), time.Now().Add(2*time.Hour))
						for path := range r.tree(t) {
							if !slices.Contains(r.allPaths(), path) && !strings.Contains(path, ".bad") {
								fail("left over: %s", path)
							}
						}
					}
				}
			}
			t.Logf("%d kills and faults", faults)
			if faults < 20 {
				t.Error("too few")
			}
		})
	}
}

// Whatever is written, torn, taken away, killed and mended in whatever order:
// what is read was written since the last removal, it is no older than what
// the generations allow, and every torn content is kept.
func TestRollingProperty(t *testing.T) {
	_, err := exec.LookPath("strace")
	kills := err == nil && !testing.Short()
	for seed := range testenv.Seeds(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		r, _ := rolling(t)
		var history []string // what the file held since it was last removed, and could be used
		var torn []string
		var trail []string
		for step := range 60 {
			trail = append(trail, "")
			say := func(format string, args ...any) { trail[step] = fmt.Sprintf(format, args...) }
			switch k := rnd.IntN(20); {
			case k < 9:
				say("write %d", step)
				testenv.NoError(t, r.Write(good(step), Unsynced))
				history = append(history, string(good(step)))
			case k < 13:
				i := rnd.IntN(4)
				path := r.allPaths()[i]
				text := fmt.Sprintf("torn %d", step)
				say("%s in %d", text, i)
				if old, err := os.ReadFile(path); err != nil || i == 0 && valid(old) != nil {
					continue
				}
				testenv.NoError(t, errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o600)))
				if i == 0 { // a generation rolls out one day, and nobody looks
					torn = append(torn, text)
				}
			case k < 16:
				say("mend")
				if _, err := r.Repair(); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Fatal(err)
				}
			case k < 17:
				say("remove")
				if _, err := r.Repair(); err != nil && !errors.Is(err, fs.ErrNotExist) { // as its callers do
					t.Fatal(err)
				}
				testenv.NoError(t, r.Remove())
				history = nil
			case kills && k < 18:
				op := []string{"write", "mend"}[rnd.IntN(2)]
				call := changing[rnd.IntN(len(changing)-2)]
				say("kill %s at %s", op, call)
				strike(t, r, op, call, "signal=KILL", 1+rnd.IntN(3))
				if data, err := os.ReadFile(r.Path); err == nil && string(data) == "good 100 end" {
					history = append(history, "good 100 end")
				}
			}
			data, err := r.Read()
			switch {
			case err == nil && !slices.Contains(history, string(data)):
				t.Fatalf("seed %d: %q is not of %q after %q", seed, data, history, trail)
			case errors.Is(err, fs.ErrNotExist):
				if _, err := os.Lstat(r.Path); err == nil {
					t.Fatalf("seed %d: the file is there, and none is read after %q", seed, trail)
				}
				if good := r.state(t)[0]; good != "" {
					t.Fatal(good)
				}
				history = nil // all were torn and set aside, or it was removed
			case err != nil:
				for _, s := range r.state(t) {
					if valid([]byte(s)) == nil {
						t.Fatalf("seed %d: %q could be used: %v after %q", seed, s, err, trail)
					}
				}
			}
			for _, s := range r.state(t) { // the newest that is whole is what is read
				if valid([]byte(s)) == nil && err == nil {
					if s != string(data) {
						t.Fatalf("seed %d: read %q and not %q after %q", seed, data, s, trail)
					}
					break
				}
			}
		}
		keptAside(t, r, torn, seed, trail)
	}
}

// keptAside holds that what was torn lies somewhere.
func keptAside(t *testing.T, r Rolling, torn []string, seed uint64, trail []string) {
	t.Helper()
	there := slices.Collect(maps.Values(r.tree(t)))
	for _, text := range torn {
		if !slices.Contains(there, text) {
			t.Fatalf("seed %d: %q is gone after %q", seed, text, trail)
		}
	}
}
