package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"gt/e2e"
	"gt/e2e/client"
)

// atOnce is how many stories run at a time. They wait most of the time.
const atOnce = "3"

func day() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

// stories runs the end-to-end tests of the mode.
func stories(p *printer, how mode) error {
	if how == quick {
		if _, err := client.Installed("claude"); err != nil {
			fmt.Fprintf(p, "left out: %v\n", err)
			return nil
		}
	}
	cmd := exec.CommandContext(p.ctx, "go", "test", "-tags", "e2e", "-list", ".", "./e2e")
	cmd.Stderr = p
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot list the stories: %w", err)
	}
	var tests []string
	for line := range strings.Lines(string(out)) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "Test") {
			tests = append(tests, name)
		}
	}
	chosen := tests
	if how == all && os.Getenv("GT_E2E_ROUNDS") == "" {
		os.Setenv("GT_E2E_ROUNDS", "20") // each text that a story sends, so many times
	}
	switch how {
	case quick:
		chosen = []string{"TestHandover"}
	case ci:
		touched := []string{"claude"}
		if files, base, err := changed(); err != nil {
			fmt.Fprintf(p, "what changed is not known (%v): all stories of claude, and the main one of each other client\n", err)
		} else {
			touched = e2e.Touched(files)
			fmt.Fprintf(p, "%d files changed since %s: all stories of %s, and the main one of each other client\n", len(files), base, cmp.Or(strings.Join(touched, ", "), "nobody"))
		}
		chosen = e2e.Select(tests, touched, day())
	}
	s := suite{
		flags:    []string{"-tags", "e2e", "-parallel", atOnce, "-timeout", "35m"},
		packages: []string{"./e2e"},
		run:      append(chosen, "TestPlugins"),
	}
	if os.Getenv("GT_E2E") == "required" {
		s.packages = append(s.packages, "./hooks")
	}
	return p.test(s)
}

// changed returns the files that differ from the target branch of the change, and the name
// of that branch: GT_BASE, or else origin/main or main, unless that is what is checked.
func changed() (files []string, base string, err error) {
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", args...).Output()
		return strings.TrimSpace(string(out)), err
	}
	head, err := git("rev-parse", "HEAD")
	if err != nil {
		return nil, "", errors.New("this is not a git repository")
	}
	for _, name := range []string{os.Getenv("GT_BASE"), "origin/main", "main"} {
		if name == "" {
			continue
		}
		from, err := git("merge-base", "HEAD", name)
		if err != nil || from == head {
			continue
		}
		out, err := git("diff", "--name-only", from)
		if err != nil {
			continue
		}
		return strings.Fields(out), name, nil
	}
	return nil, "", errors.New("there is no main branch to compare with")
}
