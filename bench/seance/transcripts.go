package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// transcripts measures what is asked of the conversations themselves: grep beside
// ripgrep over the same files, and a list beside find(1), which only looks at
// their names and sizes. Both take turns, and the ratio is taken turn by turn.
//
// A row whose peer is not on this machine is left out. It is an error when grep
// does not find what is there.
func transcripts(dir, bin string, files int, size int64, rounds int) error {
	s, err := newStore(filepath.Join(dir, "home"), files, size)
	if err != nil {
		return err
	}
	fmt.Printf("%d transcripts, %.1f GB\n\n", s.files, float64(s.bytes)/1e9)
	fmt.Printf("| %-44s | %8s | %-9s | %8s | %-18s | %5s | %6s | %-4s |\n", "command", "ms", "peer", "ms", "times the peer", "cpu", "budget", "")
	fmt.Print("|---|--:|---|--:|---|--:|--:|---|\n")
	projects := filepath.Join(s.dir, ".claude", "projects")
	cache := filepath.Join(s.dir, ".local", "state", "gt", ".sessions")
	for _, r := range []struct {
		name   string
		args   []string
		peer   []string
		lines  int // of the answer; -1: as many as the peer's
		budget float64
		cold   bool // without the cache
	}{
		{"grep, a word in seven conversations", []string{"grep", "-F", rare}, []string{"rg", "-F", rare, projects}, rareFiles, 1.2, false},
		{"the same, -i", []string{"grep", "-i", "-F", rare}, []string{"rg", "-i", "-F", rare, projects}, rareFiles, 1.2, false},
		{"the same, a regular expression", []string{"grep", `until \w+escence is`}, []string{"rg", `until \w+escence is`, projects}, rareFiles, 1.2, false},
		{"grep -l, a word in nearly all", []string{"grep", "-l", common}, []string{"rg", "-l", common, projects}, -1, 0, false},
		{"grep -l, a word that only the client says", []string{"grep", "-l", own}, []string{"rg", "-l", own, projects}, 0, 0, false},
		{"list", []string{"list"}, []string{"find", projects, "-size", "+1000000k"}, 21, 0, false},
		{"list, without the cache", []string{"list"}, []string{"find", projects, "-size", "+1000000k"}, 21, 0, true},
	} {
		peer, err := exec.LookPath(r.peer[0])
		if err != nil {
			fmt.Printf("Skipped, there is no %s: %s\n", r.peer[0], r.name)
			continue
		}
		var wall, other, ratio, cpu []float64
		for i := range rounds + 1 {
			if r.cold {
				if err := os.RemoveAll(cache); err != nil {
					return err
				}
			}
			theirs, b, err := timed(s.dir, peer, r.peer[1:]...)
			if err != nil {
				return err
			}
			out, a, err := timed(s.dir, bin, r.args...)
			if err != nil {
				return err
			}
			want := r.lines
			if want < 0 {
				want = bytes.Count(theirs, []byte("\n"))
			}
			if n := bytes.Count(out, []byte("\n")); n != want {
				return fmt.Errorf("gt-seance %s: %d lines, not %d", strings.Join(r.args, " "), n, want)
			}
			if i == 0 {
				continue // the files come into memory
			}
			wall, other = append(wall, a.wall.Seconds()*1000), append(other, b.wall.Seconds()*1000)
			ratio, cpu = append(ratio, float64(a.wall)/float64(b.wall)), append(cpu, float64(a.cpu)/float64(b.cpu))
		}
		low, mid, high := quarters(ratio)
		budget, good := "-", "-"
		if r.budget > 0 {
			if budget, good = fmt.Sprint(r.budget), "ok"; mid > r.budget {
				good = "over"
			}
		}
		_, ours, _ := quarters(wall)
		_, theirs, _ := quarters(other)
		_, times, _ := quarters(cpu)
		fmt.Printf("| %-44s | %8.1f | %-9s | %8.1f | %-18s | %5.2f | %6s | %-4s |\n", r.name, ours, filepath.Base(peer), theirs,
			fmt.Sprintf("%.2f (%.2f–%.2f)", mid, low, high), times, budget, good)
	}
	return nil
}

type cost struct{ wall, cpu time.Duration }

// timed runs a program with its output in a pipe: ripgrep and others are quicker
// where they see that nobody reads it. That it found nothing is no error.
func timed(home, path string, args ...string) ([]byte, cost, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	began := time.Now()
	err := cmd.Run()
	c := cost{wall: time.Since(began)}
	if cmd.ProcessState == nil {
		return nil, c, err
	}
	c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if code := cmd.ProcessState.ExitCode(); code > 1 || code < 0 || said.Len() > 0 {
		return nil, c, fmt.Errorf("%s: %v: %s", filepath.Base(path), err, said.String())
	}
	return out.Bytes(), c, nil
}

// quarters returns the values below which a quarter, half and three quarters lie.
func quarters(all []float64) (low, mid, high float64) {
	s := slices.Sorted(slices.Values(all))
	if len(s) == 0 {
		return 0, 0, 0
	}
	return s[len(s)/4], s[len(s)/2], s[len(s)*3/4]
}
