// Reconcile measures what a tick costs that has nothing to do, a plan and a status, with ten
// and with five thousand sessions of templates, beside a floor.
//
//	go run ./bench/reconcile [-rounds 20] [-run REGEXP] [-dir FOLDER]
//
// The floor is a Go program that prints one line. The agents are run by a program that says
// of each that it runs (exec:PROGRAM, docs/reconcile-exec.md), which each row calls once, as
// it would call tmux. In each round the floor, that call alone and every row run once, and a
// row's figure is formed within the round, the call taken off: (row - call) / floor.
//
// Fifty templates with a hundred sessions each are to take less than a second. [S4-89]
// To be slow is no failure. The exit code is 1 when a row is wrong, changes anything, starts
// another process than that one, or writes a file: where strace is installed, its calls say so.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gt/bench/measure"
	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/route"
	"gt/lib/state/session"
)

func main() {
	rounds := flag.Int("rounds", 20, "how often each command is run")
	only := flag.String("run", "", "only the rows whose names match this regular expression")
	dir := flag.String("dir", os.TempDir(), "where the temporary folder is made")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err == nil {
		err = run(*dir, max(*rounds, 4), match)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reconcile: error:", err)
		os.Exit(1)
	}
}

// warm is how many rounds come before those that count.
const warm = 2

// row is one line of the table.
type row struct {
	name  string
	size  string // templates × sessions of each
	crew  *crew
	args  []string
	check func(stdout string) error

	wall  []time.Duration
	ratio []float64 // (wall - call) / floor
	cpu   []float64 // of the processor, what it starts included, / that of the floor
}

func run(below string, rounds int, match *regexp.Regexp) error {
	dir, err := os.MkdirTemp(below, "gt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	measure.Interrupted(func() { os.RemoveAll(dir) })
	bin := filepath.Join(dir, "bin")
	if err := testenv.Build(bin, "gt/cmd/gt-reconcile", "gt/bench/hooks/floor"); err != nil {
		return err
	}
	measure.Head("go run ./bench/reconcile")
	var rows []*row
	for _, size := range []struct{ templates, each int }{{1, 10}, {1, 100}, {10, 100}, {50, 100}, {500, 100}} {
		var c *crew
		for _, r := range rowsOf(bin, size.templates, size.each) {
			if !match.MatchString(r.name + ", " + r.size) {
				continue
			}
			if c == nil {
				if c, err = newCrew(filepath.Join(dir, strconv.Itoa(size.templates*size.each)), size.templates, size.each); err != nil {
					return err
				}
				if _, err := c.exec(filepath.Join(bin, "gt-reconcile"), "tick"); err != nil { // which remembers how many are wanted
					return err
				}
			}
			r.crew = c
			rows = append(rows, r)
		}
	}
	for _, r := range rows {
		if err := r.quiet(filepath.Join(dir, "calls")); err != nil {
			return fmt.Errorf("%s, %s: %w", r.name, r.size, err)
		}
	}
	for i := range warm + rounds {
		for _, r := range rows {
			if err := r.measure(filepath.Join(bin, "floor"), i >= warm); err != nil {
				return fmt.Errorf("%s, %s: %w", r.name, r.size, err)
			}
		}
	}
	table(rows)
	return nil
}

// budget is how many seconds a tick of 5,000 sessions may take. [S4-89]
const budget = 1

// table prints a row for each command, and in detail one for each number of sessions.
func table(rows []*row) {
	var ticks measure.Matrix
	for _, r := range rows {
		_, ratio, _ := measure.Quartiles(r.ratio)
		ticks.Set(r.name, r.size, fmt.Sprintf("%.1f", ratio))
	}
	for _, r := range rows {
		_, wall, _ := measure.Quartiles(r.wall)
		millis := fmt.Sprintf("%.0f", wall.Seconds()*1000)
		if strings.HasSuffix(r.name, "tick") && r.size == "50 × 100" {
			millis += fmt.Sprintf(" (budget %s s)", measure.Budget(budget, wall.Seconds(), 0))
		}
		ticks.Set(r.name+", ms", r.size, millis)
	}
	ticks.Print("sessions")
	fmt.Printf("\n%s\n\n| what | floors | from | to | processor |\n|---|--:|--:|--:|--:|\n", measure.Detail)
	for _, r := range rows {
		low, ratio, high := measure.Quartiles(r.ratio)
		_, cpu, _ := measure.Quartiles(r.cpu)
		fmt.Printf("| %s, %s sessions | %.1f | %.1f | %.1f | %.1f |\n", r.name, r.size, ratio, low, high, cpu)
	}
}

func rowsOf(bin string, templates, each int) []*row {
	ours := filepath.Join(bin, "gt-reconcile")
	size := fmt.Sprintf("%d × %d", templates, each)
	silent := func(stdout string) error {
		if stdout != "" {
			return fmt.Errorf("it changes something: %.300s", stdout)
		}
		return nil
	}
	return []*row{
		{name: "gt-reconcile tick", size: size, args: []string{ours, "tick"}, check: silent},
		{name: "gt-reconcile plan --json", size: size, args: []string{ours, "plan", "--json"}, check: silent},
		{name: "gt-reconcile status", size: size, args: []string{ours, "status"}, check: func(stdout string) error {
			if n := strings.Count(stdout, fmt.Sprintf("%d active\n", each)); n != templates {
				return fmt.Errorf("%d of %d templates have all: %.300s", n, templates, stdout)
			}
			return nil
		}},
	}
}

// crew is a person with so many sessions of templates, all as they should be.
type crew struct {
	home, program string
	env           []string
}

func newCrew(home string, templates, each int) (*crew, error) {
	env, err := testenv.Person(home)
	if err != nil {
		return nil, err
	}
	c := &crew{home: home, program: filepath.Join(home, "agents"), env: env}
	getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
	var text strings.Builder
	fmt.Fprintf(&text, "[session]\nprovider = \"exec:%s\"\n", c.program)
	for i := range templates {
		fmt.Fprintf(&text, "[[agent]]\nname = \"t%d\"\nprovider = \"claude\"\n[agent.pool]\nmax = %d\n", i, each)
	}
	settings := filepath.Join(home, ".config", "gt")
	if err := errors.Join(os.MkdirAll(settings, 0o700), os.WriteFile(filepath.Join(settings, "town.toml"), []byte(text.String()), 0o600)); err != nil {
		return nil, err
	}
	at := town.Personal(getenv)
	read, err := config.NewSource(place.ScopeOf(getenv), at, "").Read()
	if err != nil {
		return nil, err
	}
	store := instance.Personal(place.StateOf(getenv), "")
	markers := route.NewMarkers(store).Dir()
	folder := store.State.Path(store.Dir)
	if err := store.State.Prepare(folder); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	var alive strings.Builder
	for i, t := range read.Templates {
		e := read.Effective(t, nil)
		fields, hash := e.Digests(), e.Hash()
		label := filepath.Join(markers, t.RoutingLabel)
		if err := store.State.Prepare(label); err != nil {
			return nil, err
		}
		for n := range each {
			id := instance.ID(session.NewID())
			in := &instance.Instance{
				ID: id, Name: fmt.Sprintf("t%d-%s", i, id[:8]), Path: home, Agent: "claude", Desired: instance.Running, CreatedAt: now, UpdatedAt: now, StartedAt: now,
				Managed: &instance.Managed{Revision: 1, Runtime: read.Runtime, Fields: fields, Session: lifecycle.Session{
					ID: string(id), Template: t.Name, Pool: t.Name, Slot: n + 1, State: lifecycle.Active, Reason: lifecycle.CreationComplete,
					Generation: 1, Token: "x", Hash: hash, CreatedAt: now, ActiveAt: now,
				}},
			}
			in.TmuxSession = "gt-" + in.Name
			data, err := json.Marshal(in)
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, string(id)+".json"), data, 0o600)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(label, in.Name), nil, 0o600) // without waiting for the disk, fifty thousand times
			}
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&alive, "%s yes\n", store.Name(id))
		}
	}
	if err := os.WriteFile(filepath.Join(home, "alive"), []byte(alive.String()), 0o600); err != nil {
		return nil, err
	}
	return c, os.WriteFile(c.program, fmt.Appendf(nil, "#!/bin/sh\nexec cat '%s'\n", filepath.Join(home, "alive")), 0o700)
}

// written is what stands in the state, without what it holds.
func (c *crew) written() (string, error) {
	var b strings.Builder
	err := filepath.WalkDir(filepath.Join(c.home, ".local"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			fmt.Fprintln(&b, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	return b.String(), err
}

type result struct {
	stdout    string
	wall, cpu time.Duration
}

// exec runs a program as the person does.
func (c *crew) exec(args ...string) (result, error) {
	p := exec.Command(args[0], args[1:]...)
	p.Dir, p.Env = c.home, c.env
	var out, errs bytes.Buffer
	p.Stdout, p.Stderr = &out, &errs
	began := time.Now()
	err := p.Run()
	r := result{stdout: out.String(), wall: time.Since(began)}
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, errs.String())
	}
	r.cpu = p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	return r, nil
}

// measure runs a row once, after the floor and the call of the program alone.
func (r *row) measure(floor string, counts bool) error {
	base, err := r.crew.exec(floor)
	if err != nil {
		return err
	}
	call, err := r.crew.exec(r.crew.program, "alive")
	if err != nil {
		return err
	}
	before, err := r.crew.written()
	if err != nil {
		return err
	}
	it, err := r.crew.exec(r.args...)
	if err == nil {
		err = r.check(it.stdout)
	}
	if err != nil {
		return err
	}
	if after, err := r.crew.written(); err != nil || after != before {
		return errors.Join(errors.New("it writes"), err)
	}
	if counts {
		r.wall = append(r.wall, it.wall)
		r.ratio = append(r.ratio, float64(it.wall-call.wall)/float64(base.wall))
		r.cpu = append(r.cpu, float64(it.cpu)/float64(max(base.cpu, time.Microsecond)))
	}
	return nil
}

// quiet reports that a row starts another process than the program of the agents, or
// changes a file, by its system calls; nothing where strace is not installed.
func (r *row) quiet(log string) error {
	strace, err := exec.LookPath("strace")
	if err != nil {
		fmt.Fprintln(os.Stderr, "reconcile: note: without strace, the processes and writes of a row are not counted")
		return nil
	}
	trace := "trace=execve,write,pwrite64,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,ftruncate"
	if _, err := r.crew.exec(append([]string{strace, "-f", "--seccomp-bpf", "-qq", "-y", "-e", "signal=none", "-e", trace, "-o", log}, r.args...)...); err != nil {
		return err
	}
	data, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	started, writes := map[string]bool{}, []string{}
	for line := range strings.Lines(string(data)) {
		pid, call, _ := strings.Cut(line, " ")
		name, args, _ := strings.Cut(strings.TrimSpace(call), "(")
		switch {
		case strings.Contains(call, " = -1 "), strings.HasPrefix(strings.TrimSpace(call), "<..."): // the rest of one
		case name == "execve":
			started[pid] = true
		case strings.Contains(name, "write") && !strings.Contains(strings.SplitN(args, ",", 2)[0], "</"):
		default:
			writes = append(writes, strings.TrimSpace(call))
		}
	}
	if n := len(started) - 1; n != 1 || len(writes) > 0 {
		return fmt.Errorf("it starts %d processes, and writes: %.300s", n, strings.Join(writes, "; "))
	}
	return nil
}
