package main

import (
	"fmt"
	"math"
	"os"
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
	var answers []map[string]int // of what is searched for
	write := func() (err error) {
		if !written {
			written = true
			if err = newStore(home, w.transcripts, w.size); err == nil {
				answers, err = spoken(projects, rare, expression, common, fileOnlyWord)
			}
		}
		return err
	}
	ours := func(args ...string) command {
		return w.seance(w.dir, args...).withEnv("HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"))
	}
	peer := func(name string, args ...string) command {
		return command{name, append(append([]string{name}, args...), projects), w.dir}
	}
	find := command{"find", []string{"find", projects, "-type", "f", "-printf", "%p %s %T@\n"}, w.dir}
	lines := func(n int) func(string) error {
		return func(stdout string) error {
			if got := strings.Count(stdout, "\n"); got != n {
				return fmt.Errorf("%d lines, not %d", got, n)
			}
			return nil
		}
	}
	all := math.MaxInt
	answer := func(nr, most int) func(string) error {
		return func(stdout string) error { return counted(answers[nr], most)(stdout) }
	}
	anew := func() error {
		if err := write(); err != nil {
			return err
		}
		return os.RemoveAll(filepath.Join(home, "state"))
	}
	nobody := ours("grep", "-l", fileOnlyWord)
	nobody.args = append([]string{"sh", "-c", `"$@" || test $? = 1`, "sh"}, nobody.args...)
	return []row{
		{name: "list, the conversations", run: ours("list"), against: find, budget: 4, check: lines(21), prepare: write},
		{name: "the same, no cache", run: ours("list"), against: find, budget: 25, check: lines(21), rare: true, prepare: anew},
		{name: "both ends of each, a bare program", run: w.bare("ends", projects), against: find, check: says(fmt.Sprint(w.transcripts)), rare: true, prepare: write},
		{name: "list --limit 0, no cache", run: ours("list", "--limit", "0"), against: find, most: 0.6 * float64(w.transcripts), check: lines(w.transcripts + 1), rare: true, prepare: anew},
		{name: "grep -F", run: ours("grep", "-F", rare), against: peer("rg", "-F", rare), budget: 1.5, check: answer(0, all), prepare: write},
		{name: "grep -i", run: ours("grep", "-i", "-F", rare), against: peer("rg", "-i", "-F", rare), budget: 1.5, check: answer(0, all), prepare: write},
		{name: "grep -l", run: ours("grep", "-l", "-F", rare), against: peer("rg", "-l", "-F", rare), budget: 1.5, check: answer(0, 1), prepare: write},
		{name: "grep, an expression", run: ours("grep", expression), against: peer("rg", expression), budget: 2, check: answer(1, all), prepare: write},
		{name: "search, two words, no cache", run: ours("search", rare, common), against: peer("rg", rare), rare: true, check: says(rare), prepare: anew},
		{name: "search, two words", run: ours("search", rare, common), against: peer("rg", rare), check: says(rare), prepare: write},
		// Here ripgrep has less to do: it sees a word in what nobody said.
		{name: "grep -l, what most have said", run: ours("grep", "-l", common), against: peer("rg", "-l", common), rare: true, check: answer(2, 1), prepare: write},
		{name: "grep -l, what nobody has said", run: nobody, against: peer("rg", "-l", fileOnlyWord), rare: true, check: answer(3, 1), prepare: write},
	}, nil
}

// expression finds rare.
const expression = `until \w+escence is`
