package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"gt/e2e"
	"gt/e2e/client"
)

// atOnce is how many stories run at a time. They wait most of the time.
const atOnce = "3"

func day() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

// stories runs the end-to-end tests of the mode. It runs those that fail a second time,
// because the clients are other people's programs and do not always do the same. A story
// that fails twice has failed.
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
	switch how {
	case quick:
		chosen = []string{"TestHandover"}
	case ci:
		touched := []string{"claude"}
		if files, base, err := changed(); err != nil {
			fmt.Fprintf(p, "what changed is not known (%v): all stories of claude, and the main one of each other client\n", err)
		} else {
			touched = e2e.Touched(files)
			fmt.Fprintf(p, "%d files changed since %s: all stories of %s, and the main one of each other client\n", len(files), base, or(strings.Join(touched, ", "), "nobody"))
		}
		chosen = e2e.Select(tests, touched)
	}
	failed, passed, report, err := tell(p, chosen)
	fmt.Fprintf(p, "%d stories passed\n", passed)
	if err == nil {
		return nil
	}
	p.WriteString(report)
	if len(failed) == 0 {
		return err // it does not build, or was stopped
	}
	fmt.Fprintf(p, "failed: %s; once more\n", strings.Join(failed, ", "))
	again, _, report, err := tell(p, failed)
	for _, name := range failed {
		if !slices.Contains(again, name) && (err == nil || len(again) > 0) {
			fmt.Fprintf(p, "%s: failed, then passed\n", name)
		}
	}
	if err != nil {
		p.WriteString(report)
		fmt.Fprintf(p, "failed twice: %s\n", strings.Join(again, ", "))
		return errors.New("stories failed twice")
	}
	return nil
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// tell runs stories. It returns those that failed, how many passed, and the output of the
// failed ones.
func tell(p *printer, names []string) (failed []string, passed int, report string, err error) {
	var patterns []string
	for _, name := range names {
		var elems []string
		for _, elem := range strings.Split(name, "/") {
			elems = append(elems, "^"+regexp.QuoteMeta(elem)+"$")
		}
		patterns = append(patterns, strings.Join(elems, "/"))
	}
	all := &printer{ctx: p.ctx}
	args := []string{"-tags", "e2e", "-count", "1", "-json", "-parallel", atOnce, "-timeout", "35m", "-run", "^TestPlugins$|" + strings.Join(patterns, "|"), "./e2e"}
	if os.Getenv("GT_E2E") == "required" {
		args = append(args, "./hooks")
	}
	err = all.goTest(args...)
	said := map[string]*bytes.Buffer{}
	for line := range strings.Lines(all.String()) {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal([]byte(line), &e) != nil {
			report += line
			continue
		}
		top, _, below := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "output" && e.Test != "" || e.Action == "build-output":
			if said[top] == nil {
				said[top] = new(bytes.Buffer)
			}
			said[top].WriteString(e.Output)
		case e.Action == "fail" && strings.Count(e.Test, "/") == 1:
			failed = append(failed, e.Test) // before its parent
		case e.Action == "fail" && e.Test != "" && !below && !slices.ContainsFunc(failed, func(part string) bool { return strings.HasPrefix(part, top+"/") }):
			failed = append(failed, top)
		case e.Action == "pass" && e.Test != "" && !below:
			passed++
		}
	}
	for _, name := range append([]string{""}, failed...) {
		top, _, _ := strings.Cut(name, "/")
		if b := said[top]; b != nil {
			report += b.String()
			delete(said, top)
		}
	}
	return failed, passed, report, err
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
