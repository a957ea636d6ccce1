// Hooks measures what gt costs where it is wired into an agent: each hook as a
// client runs it, beside a floor and beside what a person would wire instead.
//
//	go run ./bench/hooks [-rounds 60] [-run REGEXP] [-dir FOLDER] [-under PROGRAM]
//
// The floor is a Go program that prints one line. Every figure is a multiple of
// it from the same run: floor and hook take turns, and the ratio is taken turn
// by turn, for the machine may be busy with other things. So a slow machine
// makes no row slow.
//
// To be over budget is no failure. The exit code is 1 when a hook did the wrong
// thing: did not exit 0, said something on standard error, answered or wrote
// something else than it should, lost an event.
//
// Everything is written below one temporary folder, some 300 MB of it an event
// log of a million events. With -dir the folder is made elsewhere: on a file
// system in memory it shows what waiting for the disk costs.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"gt/bench/measure"
)

func main() {
	rounds := flag.Int("rounds", 60, "how often each hook is run")
	only := flag.String("run", "", "only the rows whose names match this regular expression")
	under := flag.String("under", "", "run each hook once below this program, as 'strace -f -c', and measure nothing")
	dir := flag.String("dir", "/tmp", "where the temporary folder is made") // TMPDIR may be too long for a socket
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err == nil {
		err = run(*dir, max(*rounds, 4), match, strings.Fields(*under))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hooks: error:", err)
		os.Exit(1)
	}
}

// The budgets, as docs/benchmarks.md explains them.
const (
	touchBudget = 3 // times the floor
	primeBudget = 4
	readBudget  = 5    // where a conversation has to be read
	savesBudget = 5    // and a git status
	peakBudget  = 16.0 // MiB
)

// sizeBudget returns how large a stripped binary may be, in MiB.
func sizeBudget(name string) float64 {
	switch name {
	case "floor":
		return 0
	case "gt-keepalive", "gt-checkpoint", "gt-prime", "gt-handoff": // a hook runs them
		return 8
	case "gt-hooks", "gt-pick", "gt-reconcile", "gt-record", "gt-seance", "gt-session", "gt-watch": // it reads databases
		return 16
	}
	return 11
}

func run(dir string, rounds int, match *regexp.Regexp, under []string) error {
	w, err := newWorld(dir)
	if err != nil {
		return err
	}
	defer w.remove()
	measure.Interrupted(w.remove)

	measure.Head("go run ./bench/hooks", "git --version", "tmux -V", "jq --version", "node --version", "python3 --version")
	fmt.Printf("Each hook runs as a client runs it, in a repository of %d files with a conversation of %d MB. A row is the median\n", files, transcriptSize>>20)
	fmt.Println("of its rounds. If the budget allows git, one `git status` is subtracted.")
	fmt.Println()
	var done []*measured
	for _, r := range w.rows() {
		if match.MatchString(r.name) {
			done = append(done, &measured{row: r})
		}
	}
	if len(under) > 0 {
		return lookInto(done, under)
	}
	// Row by row in each round, so that what else the machine does meanwhile
	// meets all of them alike.
	for i := range warm + rounds {
		for _, m := range done {
			if m.peer && i%4 != 0 {
				continue // they take their time
			}
			if err := w.measure(m, i >= warm); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	for _, m := range done {
		if err := w.measurePeak(m); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if len(done) > 0 {
		printRows(done)
		fmt.Printf("\nThe floor took %s ms", millis(w.floors))
		if len(w.gits) > 0 {
			fmt.Printf(", one git status of the repository %s ms", millis(w.gits))
		}
		if len(w.tmuxes) > 0 {
			fmt.Printf(", one call of tmux %s ms", millis(w.tmuxes))
		}
		fmt.Println(".")
	}
	for _, s := range w.skipped {
		fmt.Println("Skipped:", s)
	}
	if match.MatchString(appendCase) {
		if err := w.appends(max(rounds/10, 2)); err != nil {
			return fmt.Errorf("%s: %w", appendCase, err)
		}
	}
	return w.printBinaries(done)
}

// lookInto runs each row once below a program that tells what it does.
func lookInto(rows []*measured, under []string) error {
	for _, m := range rows {
		c, err := m.prepare()
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("== %s\n", m.name)
		if err := c.runTraced(under); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// row is one line of the table.
type row struct {
	name string
	// prepare brings about the situation that the command is measured in.
	// What it does is not measured.
	prepare func() (command, error)
	// check reports whether the command did what it should; nil where that it
	// exits with 0 and has no complaint is enough.
	check func(stdout string) error

	budget float64 // at most so many times the floor; 0 for none
	reads  bool    // the floor reads the input too
	git    bool    // and one git status on top
	tmux   bool    // it asks tmux, which is measured beside it but not allowed for
	peer   bool    // none of ours
}

// measured is a row with its figures.
type measured struct {
	row
	wall  []time.Duration
	ratio []float64 // to the floor of the same round; where git is allowed for, without it
	cpu   []float64 // the same of the processor time
	peak  float64   // MiB
	bin   string    // the binary's name
}

// warm is how many rounds come before those that count.
const warm = 2

// measure runs a row's command once, after the floor and, where the row allows
// for one, a git status.
func (w *world) measure(m *measured, counts bool) error {
	c, err := m.prepare()
	if err != nil {
		return err
	}
	m.bin = filepath.Base(c.path)
	floor, err := w.floor(c, m.reads).run()
	if err != nil {
		return err
	}
	var git, tmux result
	if m.git {
		if git, err = w.gitStatus(c).run(); err != nil {
			return err
		}
	}
	if m.tmux {
		if tmux, err = w.askTmux(c).run(); err != nil {
			return err
		}
	}
	ours, err := c.run()
	if err == nil && m.check != nil {
		err = m.check(ours.stdout)
	}
	if err != nil || !counts {
		return err
	}
	w.floors = append(w.floors, floor.wall)
	if m.git {
		w.gits = append(w.gits, git.wall)
	}
	if m.tmux {
		w.tmuxes = append(w.tmuxes, tmux.wall)
	}
	m.wall = append(m.wall, ours.wall)
	m.ratio = append(m.ratio, float64(ours.wall-git.wall)/float64(floor.wall))
	m.cpu = append(m.cpu, float64(ours.cpu-git.cpu)/float64(floor.cpu))
	return nil
}

// measurePeak runs a row's command some times more for the memory it takes.
func (w *world) measurePeak(m *measured) error {
	if m.peer {
		return nil
	}
	for range 3 {
		c, err := m.prepare()
		if err != nil {
			return err
		}
		kib, err := w.peak(c)
		if err != nil {
			return err
		}
		m.peak = max(m.peak, kib/1024)
	}
	return nil
}

func millis(d []time.Duration) string {
	_, m, _ := measure.Quartiles(d)
	return fmt.Sprintf("%.2f", m.Seconds()*1000)
}

func printRows(all []*measured) {
	fmt.Println("| hook | ms | times the floor | from | to | processor | budget |")
	fmt.Println("|---|--:|--:|--:|--:|--:|---|")
	for _, m := range all {
		low, median, high := measure.Quartiles(m.ratio)
		_, cpu, _ := measure.Quartiles(m.cpu)
		budget := measure.Budget(m.budget, median, 0)
		if m.git {
			budget = strings.Replace(budget, fmt.Sprint(m.budget), fmt.Sprintf("%g + git", m.budget), 1)
		}
		fmt.Printf("| %s | %s | %.2f | %.2f | %.2f | %.2f | %s |\n", m.name, millis(m.wall), median, low, high, cpu, budget)
	}
}

// printBinaries prints what each binary takes on the disk and in memory.
func (w *world) printBinaries(done []*measured) error {
	fmt.Println()
	fmt.Printf("| program | MiB | budget | memory, MiB (budget %g) |\n|---|--:|---|--:|\n", peakBudget)
	files, err := filepath.Glob(filepath.Join(w.bin, "*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		name := filepath.Base(path)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		peak := 0.0
		for _, m := range done {
			if m.bin == name {
				peak = max(peak, m.peak)
			}
		}
		switch name {
		case "peak":
			continue
		case "floor":
			if peak, err = w.peak(w.floor(command{}, false)); err != nil {
				return err
			}
			peak /= 1024
		}
		size := float64(info.Size()) / (1 << 20)
		memory := "–" // it runs in no hook
		if peak > 0 {
			memory = fmt.Sprintf("%.1f", peak)
		}
		if peak > peakBudget {
			memory += ", missed"
		}
		fmt.Printf("| %s | %.1f | %s | %s |\n", name, size, measure.Budget(sizeBudget(name), size, 0), memory)
	}
	return nil
}
