// Fleet measures what gt-session costs with ten and with ten thousand agents: its list,
// as a table and as JSON, beside a floor, beside the one question that it asks tmux, and
// beside agent-deck where that is given; and what it takes to start, restart and fork an
// agent that is ready at once.
//
//	go run ./bench/fleet [-rounds 30] [-run REGEXP] [-dir FOLDER] [-panes 500]
//		[-deck PROGRAM] [-under PROGRAM]
//
// The floor is a Go program that prints one line. In each round the floor, a bare tmux
// list-panes -a and every row run once. A row's figure is formed within the round, the
// call of tmux taken off: (row - tmux) / floor. So a slow machine makes no row slow, and
// a machine that is busy for a while is so for all.
//
// To be over budget is no failure. The exit code is 1 when a list is wrong, or when it
// started another program than tmux, or tmux more than once.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"gt/bench/measure"
	"gt/internal/testenv"
)

func main() {
	rounds := flag.Int("rounds", 30, "how often each command is run")
	only := flag.String("run", "", "only the rows whose names match this regular expression")
	dir := flag.String("dir", "/tmp", "where the temporary folder is made") // TMPDIR may be too long for a socket
	panes := flag.Int("panes", 500, "at most so many panes of tmux run; half of the agents have one")
	deck := flag.String("deck", "", "agent-deck, built from its source, to be measured as well")
	under := flag.String("under", "", "run each row once below this program, as 'strace -f -c', and measure nothing")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err == nil {
		err = run(*dir, max(*rounds, 4), *panes, match, *deck, strings.Fields(*under))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet: error:", err)
		os.Exit(1)
	}
}

// budget is how many floors a list of 1,000 agents may take on top of its call of tmux.
const (
	budget   = 25
	budgeted = 1000
)

// warm is how many rounds come before those that count.
const warm = 2

// row is one line of the table.
type row struct {
	name  string
	size  string // how many agents there are, as people write it
	fleet *fleet
	args  []string
	peer  bool // none of ours
	// starts is whether it starts an agent, for which more than one call of tmux is needed.
	starts bool
	before [][]string // what is run before it, and not measured
	check  func(stdout string) error

	wall, tmux  []time.Duration
	ratio, bare []float64 // (wall - tmux) / floor, and wall / tmux
	cpu         []float64 // of the processor, what it starts included, / that of the floor
}

func run(below string, rounds, panes int, match *regexp.Regexp, deck string, under []string) error {
	dir, err := os.MkdirTemp(below, "gt-bench-")
	if err != nil {
		return err
	}
	w := &world{dir: dir, bin: filepath.Join(dir, "bin"), deck: deck}
	defer w.remove()
	measure.Interrupted(w.remove)
	if len(under) == 0 {
		measure.Head("go run ./bench/fleet", "tmux -V")
	}
	if err := testenv.Build(w.bin, "gt/cmd/gt-session", "gt/cmd/gt-prime", "gt/bench/hooks/floor"); err != nil {
		return err
	}
	var rows []*row
	for _, n := range []int{10, 100, 1000, 10000} {
		var fleet *fleet
		for _, r := range w.rows(n) {
			if !match.MatchString(r.name + ", " + r.size + " agents") {
				continue
			}
			if fleet == nil {
				if fleet, err = w.newFleet(n, min(n/2, panes)); err != nil {
					return err
				}
			}
			r.fleet = fleet
			rows = append(rows, r)
		}
	}
	starts := slices.DeleteFunc(w.starts(), func(r *row) bool { return !match.MatchString(r.name + ", " + r.size + " agents") })
	if len(starts) > 0 {
		fleet, err := w.newFleet(otherAgents, otherAgents)
		if err == nil {
			err = w.prepareStarts(fleet)
		}
		if err != nil {
			return err
		}
		for _, r := range starts {
			r.fleet = fleet
			rows = append(rows, r)
		}
	}
	for _, r := range rows {
		if r.peer {
			if err := w.prepareDeck(r.fleet); err != nil {
				return err
			}
		}
	}
	if len(under) > 0 {
		for _, r := range rows {
			p := exec.Command(under[0], append(slices.Clone(under[1:]), r.args...)...)
			p.Dir, p.Env, p.Stderr = r.fleet.home, r.fleet.person, os.Stdout
			fmt.Printf("== %s\n", r.name)
			if err := p.Run(); err != nil {
				return fmt.Errorf("%s, %s: %w", r.name, r.size, err)
			}
		}
		return nil
	}
	for _, r := range rows {
		if !r.peer && !r.starts {
			if err := w.checkSubprocesses(r); err != nil {
				return fmt.Errorf("%s, %s: %w", r.name, r.size, err)
			}
		}
	}
	var floors []time.Duration
	for i := range warm + rounds {
		for _, r := range rows {
			if r.peer && i%4 != 0 {
				continue // they take their time
			}
			floor, err := w.measure(r, i >= warm)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", r.name, r.size, err)
			}
			if i >= warm {
				floors = append(floors, floor)
			}
		}
	}
	_, floor, _ := measure.Quartiles(floors)
	table(rows, millis(floor))
	return nil
}

// measure runs a row once, after the floor and a bare call of tmux.
func (w *world) measure(r *row, counts bool) (floor time.Duration, err error) {
	for _, args := range r.before {
		if _, err := w.exec(r.fleet, args...); err != nil {
			return 0, err
		}
	}
	base, err := w.exec(r.fleet, filepath.Join(w.bin, "floor"))
	if err != nil {
		return 0, err
	}
	tmux, err := w.exec(r.fleet, "tmux", "-u", "-S", r.fleet.socket, "list-panes", "-a", "-F", paneFormat)
	if err != nil {
		return 0, err
	}
	it, err := w.exec(r.fleet, r.args...)
	if err == nil && r.check != nil {
		err = r.check(it.stdout)
	}
	if err != nil || !counts {
		return base.wall, err
	}
	r.wall, r.tmux = append(r.wall, it.wall), append(r.tmux, tmux.wall)
	r.ratio = append(r.ratio, float64(it.wall-tmux.wall)/float64(base.wall))
	r.bare = append(r.bare, float64(it.wall)/float64(tmux.wall))
	r.cpu = append(r.cpu, float64(it.cpu)/float64(max(base.cpu, 1)))
	return base.wall, nil
}

type result struct {
	stdout    string
	wall, cpu time.Duration
}

// exec runs a program as the person of a fleet does.
func (w *world) exec(f *fleet, args ...string) (result, error) {
	p := exec.Command(args[0], args[1:]...)
	p.Dir, p.Env = f.home, f.person
	var out, errs bytes.Buffer
	p.Stdout, p.Stderr = &out, &errs
	began := time.Now()
	err := p.Run()
	r := result{stdout: out.String(), wall: time.Since(began)}
	if err != nil || errs.Len() > 0 && !strings.HasPrefix(errs.String(), "gt-session: hint: ") {
		return r, fmt.Errorf("%s: %w", strings.Join(args, " "), errors.Join(err, errors.New(errs.String())))
	}
	r.cpu = p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	return r, nil
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

// table prints a row for each command, and in detail one for each number of agents.
func table(rows []*row, floor string) {
	var lists measure.Matrix
	for _, r := range rows {
		if r.starts {
			continue
		}
		_, wall, _ := measure.Quartiles(r.wall)
		_, ratio, _ := measure.Quartiles(r.ratio)
		floors := fmt.Sprintf("%.1f", ratio)
		if r.budgeted() {
			floors += fmt.Sprintf(" (budget %s)", measure.Budget(budget, ratio, 0))
		}
		lists.Set(r.name, r.size, floors)
		lists.Set(r.name+", ms", r.size, fmt.Sprintf("%.0f", wall.Seconds()*1000))
	}
	lists.Print("agents")
	head := fmt.Sprintf("\n| beside %d agents | floors | ms |\n|---|--:|--:|\n", otherAgents)
	for _, r := range rows {
		if r.starts {
			fmt.Print(head)
			head = ""
			_, wall, _ := measure.Quartiles(r.wall)
			_, ratio, _ := measure.Quartiles(r.ratio)
			fmt.Printf("| %s | %.1f | %.0f |\n", r.name, ratio, wall.Seconds()*1000)
		}
	}
	fmt.Printf("\nThe floor took %s ms.\n\n%s\n\n", floor, measure.Detail)
	fmt.Println("| what | agents | ms | tmux | floors, without tmux | from | to | times tmux | processor |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range rows {
		_, wall, _ := measure.Quartiles(r.wall)
		_, tmux, _ := measure.Quartiles(r.tmux)
		low, ratio, high := measure.Quartiles(r.ratio)
		_, bare, _ := measure.Quartiles(r.bare)
		_, cpu, _ := measure.Quartiles(r.cpu)
		fmt.Printf("| %s | %s | %s | %s | %.1f | %.1f | %.1f | %.1f | %.1f |\n", r.name, r.size, millis(wall), millis(tmux), ratio, low, high, bare, cpu)
	}
}

// budgeted reports whether the budget is for the row.
func (r *row) budgeted() bool { return r.fleet.size == budgeted && !r.peer }
