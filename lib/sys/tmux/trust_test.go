package tmux

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

// listen answers at a socket like a tmux server, and records if it is asked for more than
// its identity.
func listen(path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	os.WriteFile(path+".ready", nil, 0o600)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			if n, _ := c.Read(make([]byte, 1)); n > 0 {
				os.WriteFile(path+".asked", nil, 0o600)
			}
			c.Close()
		}()
	}
}

// attacker starts this test binary at a socket, through a program that confines it.
func attacker(t *testing.T, path string, box ...string) {
	t.Helper()
	self, err := os.Executable()
	testenv.NoError(t, err)
	if len(box) > 0 {
		if out, err := exec.Command(box[0], append(slices.Clone(box[1:]), "true")...).CombinedOutput(); err != nil {
			t.Skipf("no %s here: %v %s", box[0], err, out)
		}
	}
	args := append(slices.Clone(box), self, "listen", path)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stderr = os.Stderr
	testenv.NoError(t, cmd.Start())
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path + ".ready"); err == nil {
			return
		} else if time.Now().After(end) {
			t.Fatal("nobody listens")
		}
	}
}

func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "gt-tmux-")
	testenv.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// A server that is a sandboxed process is never used, wherever its socket is and whatever
// the sandbox.
func TestSandboxedServer(t *testing.T) {
	for name, box := range map[string][]string{
		"a PID namespace": {"unshare", "-r", "--pid", "--fork", "--kill-child"},
		"bubblewrap":      {"bwrap", "--die-with-parent", "--bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--"},
		"no new privs":    {"setpriv", "--no-new-privs"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(folder(t), "s")
			attacker(t, path, box...)
			_, err := Server(path).Panes()
			if !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v", err)
			}
			if Server(path).HasSession("x") || Server(path).KeepPane("%1") == nil {
				t.Error("it answers")
			}
			if _, err := os.Stat(path + ".asked"); err == nil {
				t.Error("it was asked")
			}
		})
	}
}

// Sockets of another user, with another user's server, or that are no sockets are not used.
func TestForeignServer(t *testing.T) {
	dir := folder(t)
	file := filepath.Join(dir, "file")
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	link := filepath.Join(dir, "link")
	s, _ := server(t, "linked")
	testenv.NoError(t, os.Symlink(string(s), link))
	for _, path := range []string{file, dir, link, "relative", "./s"} {
		if _, err := Server(path).Panes(); !errors.Is(err, ErrUntrusted) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := Server(filepath.Join(dir, "none")).Panes(); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("who is not root cannot be another user")
	}
	path := filepath.Join(dir, "s")
	testenv.NoError(t, os.Chmod(dir, 0o777))
	program := filepath.Join(dir, "test")
	if out, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatal(string(out))
	}
	cmd := exec.Command(program, "listen", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	testenv.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer cmd.Process.Kill()
	for _, give := range []int{-1, 0} { // as it is, and under our name
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			_, err := os.Stat(path + ".ready")
			if err == nil {
				err = os.Lchown(path, give, give)
			}
			if err == nil {
				break
			} else if time.Now().After(end) {
				t.Fatal(err)
			}
		}
		if _, err := Server(path).Panes(); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "another user") {
			t.Errorf("%v", err)
		}
	}
}

// The socket that was looked at is the one that is used, whatever takes its name
// meanwhile.
func TestExchangedSocket(t *testing.T) {
	s, _ := server(t, "real")
	dir := filepath.Dir(string(s))
	evil := filepath.Join(dir, "evil")
	attacker(t, evil, "setpriv", "--no-new-privs")
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !over.Load() { // both names, exchanged for each other
			os.Rename(string(s), filepath.Join(dir, "t"))
			os.Link(evil, string(s))
			os.Remove(string(s))
			os.Rename(filepath.Join(dir, "t"), string(s))
		}
	}()
	answered, refused := 0, 0
	enough := func(after time.Duration) bool { // on a busy machine one of each is
		return answered >= 100 && refused >= 20 || after > 5*time.Second && answered > 0 && refused > 0 || after > testenv.Patience
	}
	for begin := time.Now(); !enough(time.Since(begin)); {
		switch panes, err := s.Panes(); {
		case err == nil && len(panes) == 1:
			answered++
		case errors.Is(err, ErrUntrusted):
			refused++
		case !errors.Is(err, ErrNoServer):
			t.Fatal(panes, err)
		}
	}
	over.Store(true)
	<-done
	if answered == 0 || refused == 0 {
		t.Errorf("nothing was exchanged: answered %d times, refused %d times", answered, refused)
	}
	if _, err := os.Stat(evil + ".asked"); err == nil {
		t.Error("the attacker was asked")
	}
}

// The server that started us is ours, however it is confined itself; and without a
// socket's path tmux's own default is meant.
func TestServerAbove(t *testing.T) {
	s, pane := server(t, "outer")
	out := filepath.Join(filepath.Dir(string(s)), "out")
	testenv.NoError(t, s.Respawn(pane.ID, true, NewBuffer(), nil, os.Args[0], "panes", out))
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(out)
		if err == nil && len(data) > 0 {
			if string(data) != "outer" {
				t.Errorf("%s", data)
			}
			return
		} else if time.Now().After(end) {
			t.Fatal("it says nothing")
		}
	}
}

// The default socket has an absolute path, as tmux's has, whatever the environment holds: what
// is recorded of an agent must name the same server in another folder.
func TestDefaultSocket(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	t.Chdir(dir)
	testenv.NoError(t, errors.Join(os.Mkdir("rel", 0o700), os.Mkdir("such", 0o700)))
	own := fmt.Sprintf("/tmux-%d/default", os.Getuid())
	for _, c := range []struct{ inside, folder, socket string }{
		{"/run/s,1,0", "rel", "/run/s"},
		{"", dir, dir + own},
		{"", "rel", dir + "/rel" + own},
		{"", dir + "/no/../such/", dir + "/such" + own},
		{"no-path", dir, dir + own},
		{"", dir + "/none", "/tmp" + own}, // as tmux does
	} {
		t.Setenv("TMUX", c.inside)
		t.Setenv("TMUX_TMPDIR", c.folder)
		if got := CurrentServer(); string(got) != c.socket {
			t.Errorf("TMUX=%s TMUX_TMPDIR=%s: %s, not %s", c.inside, c.folder, got, c.socket)
		}
	}
}
