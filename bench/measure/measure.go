// Package measure is what the benchmarks have in common.
//
// What a benchmark prints is kept beside it as recorded.txt. Its first paragraph is Head. Then
// come the tables and sentences that stand on a page, which TestPageFigures compares with the
// record, and behind Detail what only the record has.
package measure

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Detail is the line of a record below which no page has what it says.
const Detail = "In detail:"

// Head prints how a record came about: the command, the commit, the day and the machine, with
// what the programs say about their version.
func Head(command string, versions ...string) {
	commit := "an unknown commit"
	if out, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", ":(top,glob)**/*.go", ":(top,glob)**/go.mod").Run() != nil {
		commit += ", changed"
	}
	fmt.Println(strings.Join(append([]string{command}, os.Args[1:]...), " "))
	fmt.Printf("%s, %s\n", commit, time.Now().UTC().Format("2 January 2006"))
	machine := fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(data), " ")
		machine += ", a load of " + first + " before"
	}
	fmt.Println(machine)
	for _, version := range versions {
		args := strings.Fields(version)
		if out, err := exec.Command(args[0], args[1:]...).Output(); err == nil {
			first, _, _ := strings.Cut(string(out), "\n")
			fmt.Printf("%s: %s\n", version, first)
		}
	}
	fmt.Println()
}

// Matrix is a table with a row for each name and a column for each size, in the order in which
// Set got them.
type Matrix struct {
	names, sizes []string
	cells        map[[2]string]string
}

// Set sets a cell.
func (m *Matrix) Set(name, size, cell string) {
	if !slices.Contains(m.names, name) {
		m.names = append(m.names, name)
	}
	if !slices.Contains(m.sizes, size) {
		m.sizes = append(m.sizes, size)
	}
	if m.cells == nil {
		m.cells = map[[2]string]string{}
	}
	m.cells[[2]string{name, size}] = cell
}

// Print prints the table, with what its columns count.
func (m *Matrix) Print(columns string) {
	fmt.Printf("| %s | %s |\n|---|%s\n", columns, strings.Join(m.sizes, " | "), strings.Repeat("--:|", len(m.sizes)))
	for _, name := range m.names {
		fmt.Printf("| %s |", name)
		for _, size := range m.sizes {
			fmt.Printf(" %s |", m.cells[[2]string{name, size}])
		}
		fmt.Println()
	}
}

// Budget is how a table shows a budget, and whether it is missed. Processor is the same
// multiple of the processor's time; pass 0 where that has no budget.
func Budget(budget, value, processor float64) string {
	switch {
	case budget == 0:
		return "–"
	case value > budget:
		return fmt.Sprintf("%g, missed", budget)
	case processor > budget:
		return fmt.Sprintf("%g, missed in processor", budget)
	}
	return fmt.Sprintf("%g", budget)
}

// Interrupted has remove called, and the program end, when a person or the system ends it.
func Interrupted(remove func()) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-stop
		remove()
		os.Exit(1)
	}()
}

// Quartiles returns the values below which a quarter, half and three quarters lie; zeros
// for none.
func Quartiles[T int64 | float64 | time.Duration](all []T) (low, median, high T) {
	if len(all) == 0 {
		return 0, 0, 0
	}
	s := slices.Sorted(slices.Values(all))
	return s[len(s)/4], s[len(s)/2], s[len(s)*3/4]
}
