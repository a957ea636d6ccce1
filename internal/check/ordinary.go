package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gt/internal/testenv"
)

// nobody is the number of the user and the group that own nothing.
const nobody = 65534

// forNobody are the scenarios that nobody's tests have besides the packages that root
// skips: the start of a session and what it leaves, locks that only their writer opens, a
// hand-over in a pane, a sandbox.
var forNobody = []string{"flow_compaction", "handoff_buffer", "handoff_pane", "prime_alone", "session_life", "together_busy", "town_trust"}

// ordinary runs tests as a user who is not root: root reads and writes whatever it likes,
// so some tests are skipped for it and others would never fail.
func ordinary(p *printer) error {
	dir, err := os.MkdirTemp("", "gt-ordinary-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, own := range []string{"home", "tmp"} {
		own = filepath.Join(dir, own)
		if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, nobody, nobody)); err != nil {
			return err
		}
	}
	packages, err := skippedByRoot()
	if err != nil {
		return err
	}
	run := func(pkg string, args ...string) error {
		binary := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_")+".test")
		if err := p.command(".", nil, "go", "test", "-vet", "off", "-c", "-o", binary, pkg); err != nil {
			return fmt.Errorf("%s does not build: %w", pkg, err)
		}
		test := func() error {
			cmd := exec.CommandContext(p.ctx, binary, append([]string{"-test.timeout", "5m"}, args...)...)
			cmd.Dir = pkg
			cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "TMPDIR="+filepath.Join(dir, "tmp"), "USER=nobody", "LOGNAME=nobody")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			return p.run(cmd)
		}
		if test() == nil {
			return nil
		}
		fmt.Fprintf(p, "once more: %s\n", pkg)
		if err := test(); err != nil {
			return fmt.Errorf("failed twice: %s: %w", pkg, err)
		}
		fmt.Fprintf(p, "failed, then passed: %s\n", pkg)
		return nil
	}
	for _, pkg := range packages {
		err = errors.Join(err, run("./"+pkg))
	}
	return errors.Join(err, run(".", "-test.run", "^TestScripts$/^("+strings.Join(forNobody, "|")+")$"))
}

// skippedByRoot returns the folders of packages with tests that root skips.
func skippedByRoot() (folders []string, err error) {
	err = filepath.WalkDir("lib", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		if folder := filepath.Dir(path); bytes.Contains(data, []byte("os.Geteuid() == 0")) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		return err
	})
	if err == nil && len(folders) == 0 {
		err = errors.New("no test asks who it is")
	}
	return folders, err
}

// notOrdinary returns why nobody's tests are not run.
func notOrdinary() string {
	if os.Geteuid() != 0 {
		return "all tests are run by an ordinary user here"
	}
	ls := exec.Command("ls", "go.mod", os.Getenv(testenv.Built))
	ls.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := ls.CombinedOutput(); err != nil {
		return fmt.Sprintf("an ordinary user cannot read this folder: %v: %s", err, out)
	}
	return ""
}
