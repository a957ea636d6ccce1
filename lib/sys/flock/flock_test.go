package flock

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/sys/atomicfile"
)

// TestMain lets the test binary stand for a process that holds a lock until it
// is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("FLOCK_HOLD"); path != "" {
		if _, err := Acquire(path, time.Minute); err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func hold(t *testing.T, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FLOCK_HOLD="+path)
	out, err := cmd.StdoutPipe()
	testenv.NoError(t, err)
	testenv.NoError(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process says %q", line)
	}
	return cmd
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	other := hold(t, path)

	begin := time.Now()
	_, err := Acquire(path, 100*time.Millisecond)
	if !errors.Is(err, ErrBusy) {
		t.Fatalf("%v", err)
	}
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("gave up after %v", took)
	}
	if want := "cannot lock '" + path + "': somebody else holds the lock"; err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := Acquire(path, 0); !errors.Is(err, ErrBusy) {
		t.Errorf("without waiting: %v", err)
	}

	// However the holder dies, its lock is free.
	testenv.NoError(t, other.Process.Kill())
	lock, err := Acquire(path, 30*time.Second)
	testenv.NoError(t, err)
	lock.Unlock()
}

// A wait is over only once nobody else is served any more.
func TestAcquireWhileOthersAreServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	other := hold(t, path)
	looks := 0
	progress := func() string { looks++; return strconv.Itoa(min(looks, 3)) }
	if _, err := AcquireWhile(path, false, time.Millisecond, progress); !errors.Is(err, ErrBusy) || looks != 4 {
		t.Errorf("after %d looks: %v", looks, err)
	}
	lock, err := AcquireWhile(path, false, time.Millisecond, func() string {
		if looks++; looks > 5 { // once it waits
			other.Process.Kill()
		}
		return strconv.Itoa(looks)
	})
	testenv.NoError(t, err)
	lock.Unlock()
}

func TestOneHolderWithinAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var in atomic.Int32
	done := make(chan error)
	for range 16 {
		go func() {
			lock, err := Acquire(path, time.Minute)
			if err == nil {
				if in.Add(1) != 1 {
					err = errors.New("two hold the lock")
				}
				time.Sleep(time.Millisecond)
				in.Add(-1)
				lock.Unlock()
			}
			done <- err
		}()
	}
	for range 16 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// The lock is no way into another file, and its file stays.
func TestAcquireRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	testenv.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), link))
	if _, err := Acquire(link, 0); !errors.Is(err, atomicfile.ErrNotRegular) {
		t.Error(err)
	}
	if _, err := Acquire(filepath.Join(dir, "no", "lock"), 0); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Error(entries)
	}
	path := filepath.Join(dir, "lock")
	lock, err := Acquire(path, 0)
	testenv.NoError(t, err)
	lock.Unlock()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o200 {
		t.Error(info, err)
	}
}

// Nobody who comes later is served before who has waited, so that none waits
// until it gives up while others come and go.
func TestInTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Acquire(path, 0)
	testenv.NoError(t, err)
	info, err := os.Stat(path)
	testenv.NoError(t, err)
	inode := fmt.Sprintf(":%d 0 EOF", info.Sys().(*syscall.Stat_t).Ino)
	waiting := func() (most int) {
		data, err := os.ReadFile("/proc/locks")
		if err != nil {
			t.Skip("no kernel that says who waits")
		}
		n := map[string]int{} // a list that changes while it is read can have a lock twice, under two numbers
		for line := range strings.Lines(string(data)) {
			if number, lock, _ := strings.Cut(line, ":"); strings.Contains(lock, "-> FLOCK") && strings.Contains(lock, inode) {
				n[number]++
				most = max(most, n[number])
			}
		}
		return most
	}
	const all = 16
	order := make(chan int, all)
	for i := range all {
		go func() {
			lock, err := Acquire(path, time.Minute)
			if err != nil {
				t.Error(err)
				return
			}
			order <- i
			lock.Unlock()
		}()
		for deadline := time.Now().Add(time.Minute); waiting() <= i; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Skip("the kernel does not say who waits")
			}
		}
	}
	if _, err := Acquire(path, time.Millisecond); !errors.Is(err, ErrBusy) { // who gives up is in nobody's way
		t.Error(err)
	}
	first.Unlock()
	for i := range all {
		if got := <-order; got != i {
			t.Errorf("%d came %dth", got, i)
		}
	}
}

// A user who may only read cannot hold a lock, neither a new one nor one that was readable,
// as after a copy, once it was used again.
func TestWhoMayOnlyRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read anything")
	}
	testWhoMayOnlyRead(t)
}

func testWhoMayOnlyRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	for _, path := range []string{path, path + "2"} {
		lock, err := Acquire(path, 0)
		testenv.NoError(t, err)
		if f, err := os.Open(path); !errors.Is(err, os.ErrPermission) {
			f.Close()
			t.Errorf("it can be opened for reading: %v", err)
		}
		lock.Unlock()
		lock, err = Acquire(path, 0)
		if err != nil {
			t.Fatal("it is locked out itself: ", err)
		}
		lock.Unlock()
	}
}

// A sandbox that shows the disk read-only, and runs as its user, holds no lock.
// Where the tests run as root, which no mode stops, another user stands for one.
func TestSandboxHoldsNoLock(t *testing.T) {
	if os.Getenv("FLOCK_SANDBOXED") != "" {
		testWhoMayOnlyRead(t)
		dir := t.TempDir()
		path := filepath.Join(dir, "lock")
		lock, err := Acquire(path, 0)
		testenv.NoError(t, err)
		lock.Unlock()
		box, err := exec.LookPath("bwrap")
		if err != nil {
			t.Skip(err)
		}
		args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--"}
		if err := exec.Command(box, append(args, "true")...).Run(); err != nil {
			t.Skip("no sandbox can be made here: ", err)
		}
		out, err := exec.Command(box, append(args, "sh", "-c", `test -d "$0" && ! cat "$1" && ! flock -n "$1" true && ! flock -n -s "$1" true`, dir, path)...).CombinedOutput()
		if err != nil {
			t.Errorf("in the sandbox: %v %s", err, out)
		}
		return
	}
	self, err := os.Executable()
	testenv.NoError(t, err)
	cmd := exec.Command(self, "-test.run", "^TestSandboxHoldsNoLock$", "-test.v")
	if os.Geteuid() == 0 {
		data, err := os.ReadFile(self)
		testenv.NoError(t, err)
		dir, err := os.MkdirTemp("/tmp", "gt-flock-")
		testenv.NoError(t, err)
		defer os.RemoveAll(dir)
		program := filepath.Join(dir, "test")
		testenv.NoError(t, errors.Join(testenv.WriteProgram(program, data), os.Chmod(dir, 0o777)))
		cmd.Path, cmd.Dir = program, dir
		cmd.Env = []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Env = append(cmd.Environ(), "FLOCK_SANDBOXED=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
}
