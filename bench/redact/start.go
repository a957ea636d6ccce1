package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// programs print one line, and carry what their names say (start/…). The last
// one has its rules read and compiled as well.
var programs = []struct {
	name, what string
	args       []string
}{
	{"floor", "a program that prints one line", nil},
	{"ours", "with gt's table, looking through a line", nil},
	{"rules", "with gitleaks' config package, unused", nil},
	{"detector", "with gitleaks' detector, unused", nil},
	{"detector", "with gitleaks' detector, its rules compiled", []string{"compile"}},
}

// rounds is how often each is started, in turn.
const rounds = 200

// starts measures whole processes and the size of their stripped files.
func starts() error {
	dir, err := os.MkdirTemp("", "gt-bench-redact-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	took := make([][]time.Duration, len(programs))
	for _, p := range programs {
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, p.name), "./start/"+p.name)
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return err
		}
	}
	for range rounds {
		for i, p := range programs {
			cmd := exec.Command(filepath.Join(dir, p.name), p.args...)
			begin := time.Now()
			if err := cmd.Run(); err != nil {
				return err
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	var floor time.Duration
	for i, p := range programs {
		slices.Sort(took[i])
		median := took[i][rounds/2]
		if i == 0 {
			floor = median
		}
		info, err := os.Stat(filepath.Join(dir, p.name))
		if err != nil {
			return err
		}
		fmt.Printf("%-48s median %6.2f ms, %5.1f x the floor, %4.1f MB\n",
			p.what, median.Seconds()*1000, float64(median)/float64(floor), float64(info.Size())/(1<<20))
	}
	return nil
}
