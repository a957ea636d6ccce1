package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"gt/internal/programs"
	"gt/lib/cli"
)

// Each program has a page that man prints without a warning, and that has every command
// and flag of its grammar.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	commands, err := os.ReadDir("../../cmd")
	if err != nil {
		t.Fatal(err)
	}
	if len(commands) != len(programs.List()) {
		t.Errorf("%d programs have a page, and there are %d", len(programs.List()), len(commands))
	}
	man := ""
	if runtime.GOOS == "linux" {
		man, _ = exec.LookPath("man")
	}
	for _, p := range programs.List() {
		path := filepath.Join(dir, p.Name+".1")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		plain := regexp.MustCompile(`\\f[BIR]|\\&`).ReplaceAllString(string(text), "")
		plain = strings.NewReplacer(`\-`, "-", `\(aq`, "'").Replace(plain)
		app, err := p.Model()
		if err != nil {
			t.Fatal(err)
		}
		checkPage(t, p.Name, plain, app.Node)
		if !strings.HasPrefix(plain, `.TH "`+strings.ToUpper(p.Name)+`" "1" "" "gt `+cli.Number+`" "gt"`) {
			t.Errorf("%s: the page begins with %.60q", p.Name, plain)
		}
		if man == "" {
			continue
		}
		lint := exec.Command(man, "--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path)
		lint.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANROFFSEQ=")
		var complaints strings.Builder
		lint.Stderr = &complaints
		if err := lint.Run(); err != nil || complaints.Len() > 0 {
			t.Errorf("man %s: %v\n%s", path, err, complaints.String())
		}
	}
}

// checkPage fails the test where a page lacks a command or a flag.
func checkPage(t *testing.T, name, page string, n *kong.Node) {
	for _, f := range n.Flags {
		if !f.Hidden && !strings.Contains(page, "--"+f.Name) {
			t.Errorf("%s: the page has no --%s", name, f.Name)
		}
	}
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		if !strings.Contains(page, child.Name) || !strings.Contains(page, child.Help) {
			t.Errorf("%s: the page has no command %s", name, child.Name)
		}
		checkPage(t, name, page, child)
	}
}
