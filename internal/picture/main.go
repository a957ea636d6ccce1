// Picture makes the pictures of the documentation: it has the real programs do in a tmux
// of its own what a picture shows, and draws what tmux then captures.
//
//	go run ./internal/picture [DIR]
//
// handover.svg shows Claude Code, which it gets with npm where it is not here; its model
// is on this machine and says what stands here. fleet.svg shows gt-session, with stand-ins
// for the agents. What differs from run to run is made alike: the folder, dates and times.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"gt/internal/testenv"
)

// columns and rows are the size of the terminal.
const (
	columns = 80
	rows    = 24
)

// home is the home folder that the pictures show. The real one has a name as long, so that
// lines break where they would.
const home = "/home/max"

func main() {
	dir := "docs"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, "picture: error:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	for _, p := range []struct {
		file string
		draw func(*stage) ([]Frame, error)
	}{{"fleet.svg", fleet}, {"handover.svg", handover}} {
		frames, err := staged(p.draw)
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.file), []byte(SVG(columns, frames)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A stage is a home folder and a tmux server for one picture.
type stage struct {
	home string
	env  []string
}

// staged draws a picture on a stage of its own.
func staged(draw func(*stage) ([]Frame, error)) ([]Frame, error) {
	bin, err := os.MkdirTemp("", "gt-picture-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(bin)
	if err := testenv.Programs(bin); err != nil {
		return nil, err
	}
	s := &stage{}
	for n := 0; s.home == ""; n++ {
		dir := fmt.Sprintf("/tmp/%04d", n) // as long as home
		if err := os.Mkdir(dir, 0o700); err == nil {
			s.home = dir
		} else if !os.IsExist(err) {
			return nil, err
		}
	}
	defer os.RemoveAll(s.home)
	sockets, end, err := testenv.Tmux()
	if err != nil {
		return nil, err
	}
	defer end()
	if s.env, err = testenv.Person(s.home, filepath.Join(s.home, "bin"), bin); err != nil {
		return nil, err
	}
	s.env = append(s.env, "TMUX_TMPDIR="+sockets, "TERM=xterm-256color")
	if err := s.write("tmux.conf", "set -g default-terminal tmux-256color\nset -g status off\nset -s exit-empty off\n"+
		fmt.Sprintf("set -g default-size %dx%d\n", columns, rows)); err != nil {
		return nil, err
	}
	return draw(s)
}

func (s *stage) write(name, text string) error {
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return testenv.WriteProgram(path, []byte(text))
}

// runProgram runs a program in the home folder, or in one below it.
func (s *stage) runProgram(dir, name string, args ...string) (string, error) {
	cmd := exec.Command("env", append([]string{"-i"}, append(append([]string{}, s.env...), append([]string{name}, args...)...)...)...)
	cmd.Dir = filepath.Join(s.home, dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %q: %w\n%s", name, args, err, out)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// tmux runs a command of the server that the programs use, too.
func (s *stage) tmux(args ...string) (string, error) {
	return s.runProgram(".", "tmux", append([]string{"-f", filepath.Join(s.home, "tmux.conf")}, args...)...)
}

// capture is what a pane shows, with its colours, once it shows the same for two seconds.
func (s *stage) capture(pane string) (string, error) {
	text, same := "", 0
	for range 100 {
		now, err := s.tmux("capture-pane", "-e", "-p", "-t", pane)
		if err != nil {
			return "", err
		}
		if same++; now != text {
			text, same = now, 0
		}
		if same == 10 {
			return strings.ReplaceAll(text, s.home, home), nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return "", fmt.Errorf("%s never comes to rest:\n%s", pane, text)
}

// await waits until a pane shows a text.
func (s *stage) await(pane, text string) error {
	var screen string
	for range 600 {
		var err error
		if screen, err = s.tmux("capture-pane", "-p", "-t", pane); err == nil && strings.Contains(screen, text) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s never showed %q:\n%s", pane, text, screen)
}
