// Seance measures how long gt-seance takes to answer, on stores as they are
// after years, beside a floor and beside what a person would use instead: wc,
// find, rg and jq. It names those that are missing.
//
//	go run ./bench/seance [-rounds 30] [-run REGEXP] [-dir FOLDER] [-events 1000000]
//		[-sessions 100000] [-transcripts 10000] [-size 2000000000]
//
// Each row is a ratio from the same run: the command and what it is measured
// against take turns, and the ratio is formed turn by turn, for the machine may
// be busy with other things. The floor is a Go program that prints one line. Of a list
// with nothing new, one find of the stores is taken off, as its budget says.
//
// Answers are compared with those of a naive scan, which parses every line. To be
// over budget is no failure. The exit code is 1 when a command gives a wrong
// answer.
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
	"strconv"
	"strings"
	"time"

	"gt/bench/measure"
	"gt/internal/testenv"
)

func main() {
	rounds := flag.Int("rounds", 30, "how often each command is run")
	only := flag.String("run", "", "only the rows whose names match this regular expression")
	dir := flag.String("dir", os.TempDir(), "where the temporary folder is made")
	events := flag.Int("events", 1_000_000, "how many events the log has")
	sessions := flag.Int("sessions", 100_000, "how many sessions they tell of")
	transcripts := flag.Int("transcripts", 10_000, "how many conversations there are")
	size := flag.Int64("size", 2_000_000_000, "how many bytes they have")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err == nil {
		err = run(world{dir: *dir, events: max(*events, 1000), sessions: min(*sessions, *events/5), transcripts: max(*transcripts, 100), size: *size}, max(*rounds, 4), match)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "seance: error:", err)
		os.Exit(1)
	}
}

// rows are the lines of the table. A new subject is a function more here, and a
// file of its own.
var rows = []func(*world) ([]row, error){eventRows, transcriptRows}

// row is one line of the table.
type row struct {
	name string
	// run is what is measured, and against what.
	run, against command
	// minus, which may be zero, is measured too and taken off: the budget grants it.
	minus  command
	budget float64 // at most so many times against; 0 for none
	most   float64 // at most so many milliseconds; 0 for no limit
	// prepare brings about what is measured; it may be nil, and is not measured.
	prepare func() error
	// check says what is wrong with an answer; it may be nil.
	check func(stdout string) error
	// rare is for what takes so long that it is run only in every tenth round.
	rare bool
}

// command is a program as a shell starts it.
type command struct {
	name string // what the table calls it
	args []string
	dir  string
}

// warm is how many rounds are run before it counts.
const warm = 2

// world is the folder that all is made in.
type world struct {
	dir, bin string
	events   int
	sessions int // of which the events tell

	transcripts int
	size        int64 // of all of them
}

func run(w world, rounds int, match *regexp.Regexp) error {
	dir, err := os.MkdirTemp(w.dir, "gt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	measure.Interrupted(func() { os.RemoveAll(dir) })
	w.dir, w.bin = dir, filepath.Join(dir, "bin")
	if err := testenv.Build(w.bin, "gt/cmd/gt-seance", "gt/cmd/gt-hooks", "gt/bench/hooks/floor", "gt/bench/hooks/peak", "gt/bench/seance/bare"); err != nil {
		return err
	}
	measure.Head("go run ./bench/seance", "find --version", "rg --version", "jq --version")
	for _, peer := range []string{"wc", "find", "rg", "jq", "script"} {
		if !haveProgram(peer) {
			fmt.Printf("%s is not here: rows that need it are left out.\n", peer)
		}
	}
	var all []*measured
	for _, subject := range rows {
		some, err := subject(&w)
		if err != nil {
			return err
		}
		for _, r := range some {
			if match.MatchString(r.name) && haveProgram(r.run.args[0]) && haveProgram(r.against.args[0]) {
				all = append(all, &measured{row: r})
			}
		}
	}
	for i := range warm + rounds {
		for _, m := range all {
			if m.rare && i%10 != 0 {
				continue
			}
			if err := w.measure(m, i >= warm || m.rare); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
	}
	fmt.Printf("The log has %d events of %d sessions, and there are %d conversations of %.1f GB.\n\n", w.events, w.sessions, w.transcripts, float64(w.size)/1e9)
	table(all)
	return nil
}

// haveProgram reports whether a program is on this machine.
func haveProgram(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// measured is a row with its figures.
type measured struct {
	row
	wall, against, cpu []float64 // milliseconds, milliseconds, and times against
	ratio              []float64
	peak               float64 // MiB
}

func (w *world) measure(m *measured, counts bool) error {
	if m.prepare != nil {
		if err := m.prepare(); err != nil {
			return err
		}
	}
	base, err := w.exec(m.row.against)
	if err != nil {
		return err
	}
	it, err := w.exec(m.run)
	if err != nil {
		return err
	}
	var granted result
	if m.minus.args != nil {
		if granted, err = w.exec(m.minus); err != nil {
			return err
		}
	}
	if m.peak == 0 {
		if m.peak, err = w.peak(m.row); err != nil {
			return err
		}
	}
	if m.check != nil {
		if err := m.check(it.stdout); err != nil {
			return err
		}
	}
	if counts {
		m.wall = append(m.wall, it.wall.Seconds()*1000)
		m.against = append(m.against, base.wall.Seconds()*1000)
		m.ratio = append(m.ratio, float64(it.wall-granted.wall)/float64(base.wall))
		m.cpu = append(m.cpu, float64(it.cpu-granted.cpu)/float64(max(base.cpu, 1)))
	}
	return nil
}

// peak returns how much memory a row's command needs at most, in MiB.
func (w *world) peak(r row) (float64, error) {
	if r.prepare != nil {
		if err := r.prepare(); err != nil {
			return 0, err
		}
	}
	note := filepath.Join(w.dir, "peak")
	c := r.run
	c.args = append([]string{filepath.Join(w.bin, "peak"), note}, c.args...)
	path, err := exec.LookPath(r.run.args[0])
	if err == nil {
		c.args[2] = path
		_, err = w.exec(c)
	}
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(note)
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseFloat(string(text), 64)
	return kib / 1024, err
}

type result struct {
	stdout    string
	wall, cpu time.Duration
}

func (w *world) exec(c command) (result, error) {
	p := exec.Command(c.args[0], c.args[1:]...)
	p.Dir = c.dir
	p.Env = []string{
		"HOME=" + filepath.Join(w.dir, "home"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC",
		"XDG_STATE_HOME=" + filepath.Join(w.dir, "state"),
	}
	var out, errs bytes.Buffer
	p.Stdout, p.Stderr = &out, &errs
	began := time.Now()
	err := p.Run()
	r := result{stdout: out.String(), wall: time.Since(began)}
	if err != nil {
		return r, fmt.Errorf("%s: %w", strings.Join(c.args, " "), errors.Join(err, errors.New(errs.String())))
	}
	r.cpu = p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	return r, nil
}

func table(all []*measured) {
	fmt.Println("| what | times | from | to | processor | ms | MiB | budget |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|---|")
	for _, m := range all {
		low, ratio, high := measure.Quartiles(m.ratio)
		_, cpu, _ := measure.Quartiles(m.cpu)
		_, wall, _ := measure.Quartiles(m.wall)
		budget := measure.Budget(m.budget, ratio, cpu)
		if m.most > 0 {
			budget = strings.Replace(measure.Budget(m.most/1000, wall/1000, 0), fmt.Sprint(m.most/1000), fmt.Sprintf("%g s", m.most/1000), 1)
		}
		fmt.Printf("| %s | %.1f %s | %.1f | %.1f | %.1f | %.1f | %.0f | %s |\n", m.name, ratio, m.row.against.name, low, high, cpu, wall, m.peak, budget)
	}
}

// bare is the least that a Go program can do for an answer.
func (w *world) bare(what, where string) command {
	return command{"bare", []string{filepath.Join(w.bin, "bare"), what, where}, w.dir}
}

// floor is the floor, run where c is.
func (w *world) floor(dir string) command {
	return command{"floors", []string{filepath.Join(w.bin, "floor")}, dir}
}

// seance is gt-seance, run in a folder.
func (w *world) seance(dir string, args ...string) command {
	return command{"gt-seance", append([]string{filepath.Join(w.bin, "gt-seance")}, args...), dir}
}

// withEnv is a command with another environment.
func (c command) withEnv(vars ...string) command {
	c.args = append(append([]string{"env"}, vars...), c.args...)
	return c
}
