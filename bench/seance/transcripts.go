package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// transcriptRows measure what is asked of the conversations themselves: grep
// beside ripgrep over the same files, and a list beside find(1), which only looks
// at their names and sizes. The store is in a home folder of its own, and is
// written when the first of the rows is run.
func transcriptRows(w *world) ([]row, error) {
	home := filepath.Join(w.dir, "transcripts")
	projects := filepath.Join(home, ".claude", "projects")
	written := false
	write := func() error {
		if written {
			return nil
		}
		written = true
		return newStore(home, w.transcripts, w.size)
	}
	ours := func(args ...string) command {
		c := w.seance(w.dir, args...)
		c.args = append([]string{"env", "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state")}, c.args...)
		return c
	}
	peer := func(name string, args ...string) command {
		return command{name, append(append([]string{name}, args...), projects), w.dir}
	}
	lines := func(n int) func(string) error {
		return func(stdout string) error {
			if got := strings.Count(stdout, "\n"); got != n {
				return fmt.Errorf("%d lines, not %d", got, n)
			}
			return nil
		}
	}
	size := fmt.Sprintf("%d transcripts of %.1f GB", w.transcripts, float64(w.size)/1e9)
	nobody := ours("grep", "-l", own)
	nobody.args = append([]string{"sh", "-c", `"$@" || test $? = 1`, "sh"}, nobody.args...)
	all := []row{
		{name: "list, " + size, run: ours("list"), against: peer("find"), check: lines(21), prepare: write},
		{name: "the same, without the cache", run: ours("list"), against: peer("find"), check: lines(21), rare: true, prepare: func() error {
			if err := write(); err != nil {
				return err
			}
			return os.RemoveAll(filepath.Join(home, "state"))
		}},
	}
	if _, err := exec.LookPath("rg"); err != nil {
		return all, nil
	}
	return append(all,
		row{name: "grep, " + size, run: ours("grep", "-F", rare), against: peer("rg", "-F", rare), budget: 1.2, check: lines(rareFiles), prepare: write},
		row{name: "grep -i", run: ours("grep", "-i", "-F", rare), against: peer("rg", "-i", "-F", rare), budget: 1.2, check: lines(rareFiles), prepare: write},
		row{name: "grep, a regular expression", run: ours("grep", expression), against: peer("rg", expression), budget: 1.2, check: lines(rareFiles), prepare: write},
		// Here ripgrep has less to do: it sees a word in what nobody said.
		row{name: "grep -l, what most have said", run: ours("grep", "-l", common), against: peer("rg", "-l", common), rare: true, prepare: write},
		row{name: "grep -l, what nobody has said", run: nobody, against: peer("rg", "-l", own), rare: true, check: lines(0), prepare: write},
	), nil
}

// expression finds rare.
const expression = `until \w+escence is`
