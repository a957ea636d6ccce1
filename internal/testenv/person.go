package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Identity is what a person's git is told of them.
const Identity = "[user]\n\tname = T\n\temail = t@example.org\n[init]\n\tdefaultBranch = main\n"

// Person makes a home folder for a person who has told git who they are, and nothing
// else, and returns the environment of what they run. Of who runs the tests it has
// PATH and no more; programs in the folders front come first.
func Person(home string, front ...string) (env []string, err error) {
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(Identity), 0o600); err != nil {
		return nil, err
	}
	return []string{
		"PATH=" + strings.Join(append(front, os.Getenv("PATH")), ":"),
		"HOME=" + home,
		"GIT_CONFIG_NOSYSTEM=1",
		"LANG=C.UTF-8",
		"TERM=screen-256color",
		"COLUMNS=80",
		"SHELL=/bin/sh",
	}, nil
}

// Tmux makes a folder for TMUX_TMPDIR, in which the tmux servers of a test have their
// sockets, and returns what ends these servers. It lies in /tmp, for a socket's path has
// to be short.
func Tmux() (dir string, end func(), err error) {
	dir, err = os.MkdirTemp("/tmp", "gt-tmux-")
	if err != nil {
		return "", nil, err
	}
	return dir, func() {
		sockets, _ := filepath.Glob(filepath.Join(dir, "tmux-*", "*")) // most tests start none
		for _, socket := range sockets {
			kill := exec.Command("tmux", "-S", socket, "kill-server")
			kill.Env = []string{"PATH=" + os.Getenv("PATH")}
			_ = kill.Run() // it may have ended by itself
		}
		os.RemoveAll(dir)
	}, nil
}

// Folder makes a folder for what a test writes, and returns what removes it. It lies in
// memory where the machine has room there: on a disk most of a test's time goes into
// waiting until what the programs write is safe, and other tests slow that down.
func Folder() (dir string, remove func(), err error) {
	const memory = "/dev/shm"
	parent := "" // the system's own
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memory, &fs); err == nil {
		const noExec = 8 // as containers have it
		if room := uint64(fs.Bavail) * uint64(fs.Bsize); room > 2<<30 && fs.Flags&noExec == 0 {
			parent = memory
		}
	}
	dir, err = os.MkdirTemp(parent, "gt-test-")
	if err != nil && parent != "" { // it is not everybody's
		dir, err = os.MkdirTemp("", "gt-test-")
	}
	return dir, func() { os.RemoveAll(dir) }, err
}
