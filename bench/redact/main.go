// Redact weighs gt's own table of secrets against the rules of gitleaks, a
// scanner that is kept up to date: how many of its rules' secrets the table
// catches, what either makes of text without secrets, and what it costs to
// start a program with either.
//
//	cd bench/redact && go run . [-v] [-start] [FOLDER...]
//
// It is a module of its own, so that gt itself depends on none of this.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/zricethezav/gitleaks/v8/detect"

	"gt/bench/measure"
	"gt/lib/text/redact"
)

func main() {
	verbose := flag.Bool("v", false, "show every sample that is not caught, and everything that is replaced in the folders")
	start := flag.Bool("start", false, "measure what it costs to start a program (a minute)")
	flag.Parse()
	if err := run(*verbose, *start, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "redact: error:", err)
		os.Exit(1)
	}
}

func run(verbose, start bool, folders []string) error {
	if start {
		return starts()
	}
	measure.Head("cd bench/redact && go run .")
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return err
	}
	all, without := samples(d, rand.New(rand.NewPCG(1, 2)))
	by := compare(all)
	whole, partly, caught, detail := 0, 0, 0, ""
	for _, rule := range sortedKeys(by) {
		t := by[rule]
		caught += t.caught
		switch {
		case t.caught == t.of:
			whole++
			continue
		case t.caught > 0:
			partly++
		}
		detail += fmt.Sprintf("%-45s %v\n", rule, t)
	}
	fmt.Printf("%d of %d samples are caught; of the rules %d whole, %d partly, %d not; no sample could be made of %v.\n",
		caught, len(all), whole, partly, len(by)-whole-partly, without)
	fmt.Printf("\n%s\n\n%s", measure.Detail, detail)
	if verbose {
		for _, s := range all {
			if !s.caught() {
				fmt.Printf("%s: %q in %q becomes %q\n", s.rule, s.secret, s.text, redact.Text(s.text, nil))
			}
		}
	}
	if len(folders) == 0 {
		return nil
	}
	return plain(d, folders, verbose)
}

// plain counts what is replaced in text that holds no secrets, and how long
// that takes.
func plain(d *detect.Detector, folders []string, verbose bool) error {
	var size, ours, theirs int
	var took, tookThem time.Duration
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/.git/") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) > 256<<10 || !utf8.Valid(data) {
				return err
			}
			text := string(data)
			size += len(text)
			begin := processorTime()
			clean := redact.Text(text, nil)
			took += processorTime() - begin
			ours += strings.Count(clean, redact.Mark) - strings.Count(text, redact.Mark)
			if verbose && clean != text {
				was, is := strings.Split(text, "\n"), strings.Split(clean, "\n")
				for i := range min(len(was), len(is)) {
					if was[i] != is[i] {
						fmt.Printf("%s:%d: %.200s\n    %.200s\n", path, i+1, was[i], is[i])
					}
				}
			}
			begin = processorTime()
			theirs += len(d.DetectString(text))
			tookThem += processorTime() - begin
			return nil
		})
		if err != nil {
			return err
		}
	}
	mb := float64(size) / (1 << 20)
	fmt.Printf("%.1f MB of plain text\n", mb)
	perKB := func(d time.Duration) float64 { return float64(d.Microseconds()) / (mb * 1024) }
	fmt.Printf("  gt        %5d replaced, %6.1f a MB, %7.1f µs of processor time a KB\n", ours, float64(ours)/mb, perKB(took))
	fmt.Printf("  gitleaks  %5d found,    %6.1f a MB, %7.1f µs of processor time a KB\n", theirs, float64(theirs)/mb, perKB(tookThem))
	return nil
}

// processorTime is what the process has used so far: on a machine that others use
// as well, the clock says little.
func processorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it cannot fail
	return time.Duration(used.Utime.Nano())
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
