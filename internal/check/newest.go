package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// newestTmux is the newest tmux that Debian has, in a folder of its own, with the libraries
// that it needs. Nothing is installed.
type newestTmux struct{ dir string }

// sources returns apt's list of sources: sid of the archive that this machine has its own
// packages from.
func sources() (string, error) {
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(REPO_URI)", "Identifier: Packages", "Label: Debian").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get: %w", err)
	}
	archive, _, _ := strings.Cut(string(out), "\n")
	if archive == "" {
		return "", errors.New("apt knows no archive of Debian (apt-get update)")
	}
	return "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] " + archive + " sid main\n", nil
}

// fetch returns why it cannot be had, or "".
func (n *newestTmux) fetch() string {
	err := func() (err error) {
		archive, err := sources()
		if err != nil {
			return err
		}
		if n.dir, err = os.MkdirTemp("", "gt-tmux-"); err != nil {
			return err
		}
		for _, dir := range []string{"state/lists/partial", "cache/archives/partial", "bin"} {
			if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
				return err
			}
		}
		// Nothing counts as installed, so that apt brings the libraries as well.
		if err := errors.Join(os.Chmod(n.dir, 0o755), os.WriteFile(filepath.Join(n.dir, "status"), nil, 0o644),
			os.WriteFile(filepath.Join(n.dir, "sources.list"), []byte(archive), 0o644)); err != nil {
			return err
		}
		if err := n.apt("update"); err != nil {
			return err
		}
		if err := n.apt("install", "--yes", "--download-only", "--no-install-recommends", "tmux", "patchelf"); err != nil {
			return err
		}
		return n.unpack()
	}()
	if err != nil {
		_ = os.RemoveAll(n.dir)
		return fmt.Sprintf("cannot have the newest tmux: %v", err)
	}
	return ""
}

func (n *newestTmux) apt(args ...string) error {
	options := []string{"--quiet", "-o", "Acquire::Languages=none", "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1", "-o", "APT::Update::Error-Mode=any", "-o", "Dir::Etc::SourceParts=/dev/null"}
	for name, path := range map[string]string{"State": "state", "State::status": "status", "Cache": "cache", "Etc::SourceList": "sources.list"} {
		options = append(options, "-o", "Dir::"+name+"="+filepath.Join(n.dir, path))
	}
	return quietly("apt-get", append(options, args...)...)
}

// unpack unpacks the packages and has tmux load its own libraries.
func (n *newestTmux) unpack() error {
	packages, err := filepath.Glob(filepath.Join(n.dir, "cache/archives/*.deb"))
	if err != nil {
		return err
	}
	root := filepath.Join(n.dir, "root")
	for _, path := range packages {
		if err := quietly("dpkg-deb", "-x", path, root); err != nil {
			return err
		}
	}
	loaders, _ := filepath.Glob(filepath.Join(root, "usr/lib*/ld-linux*.so.*"))
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
	if len(loaders) != 1 || len(libraries) != 1 {
		return fmt.Errorf("the loader and the libraries are not where they were: %v %v", loaders, libraries)
	}
	tmux := filepath.Join(root, "usr/bin/tmux")
	if err := quietly(loaders[0], "--library-path", libraries[0], filepath.Join(root, "usr/bin/patchelf"),
		"--set-interpreter", loaders[0], "--force-rpath", "--set-rpath", libraries[0], tmux); err != nil {
		return err
	}
	return os.Symlink(tmux, filepath.Join(n.dir, "bin/tmux"))
}

// quietly runs a program. Its error has what the program printed.
func quietly(name string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}

// run runs the tests of what gt does with tmux.
func (n *newestTmux) run(p *printer) error {
	defer os.RemoveAll(n.dir)
	env := []string{"PATH=" + filepath.Join(n.dir, "bin") + ":" + os.Getenv("PATH")}
	if err := p.command(".", env, filepath.Join(n.dir, "bin/tmux"), "-V"); err != nil {
		return err
	}
	var scenarios []string
	for _, program := range []string{"session", "handoff"} {
		paths, err := filepath.Glob("testdata/scripts/" + program + "_*.txtar")
		if err != nil {
			return err
		}
		for _, path := range paths {
			scenarios = append(scenarios, "TestScripts/"+strings.TrimSuffix(filepath.Base(path), ".txtar"))
		}
	}
	return errors.Join(
		p.test(suite{flags: []string{"-timeout", "20m"}, packages: []string{"./lib/sys/tmux"}, env: env}),
		p.test(suite{flags: []string{"-timeout", "40m", "-parallel", waiting}, packages: []string{"."}, env: env, run: scenarios}))
}
