package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A test that fails once runs again, and both outcomes are printed; one that fails twice
// fails the suite. Nothing is printed of what passes.
func TestSuiteRunsWhatFailedOnceMore(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example\n\ngo 1.24\n")
	write("a_test.go", `package example

import ("fmt"; "os"; "testing")

func TestMain(m *testing.M) { code := m.Run(); fmt.Println("a figure"); os.Exit(code) }
func TestFine(t *testing.T) { t.Log("fine") }
func TestOnce(t *testing.T) {
	for _, name := range []string{"good", "bad"} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat("seen"); err != nil && name == "bad" {
				os.WriteFile("seen", nil, 0o600)
				t.Error("not yet")
			}
		})
	}
}
func TestTwice(t *testing.T) {
	if said := os.Getenv("TWICE"); said != "" {
		t.Error(said)
	}
}
`)
	t.Chdir(dir)
	for _, c := range []struct {
		name  string
		suite suite
		fails bool
		parts []string
	}{
		{"passes the second time", suite{}, false, []string{"a figure\n", "a figure\nok  \texample", "FAIL: . TestOnce/bad", "not yet", "DONE 2 runs, 7 tests, 2 failures in "}},
		{"passes", suite{}, false, []string{"a figure\nok  \texample", "DONE 5 tests in "}},
		{"counts the first time", suite{once: true, env: []string{"TWICE=never"}}, true, []string{"never", "DONE 5 tests, 1 failure in "}},
		{"fails twice", suite{env: []string{"TWICE=never"}}, true, []string{"never", "TestTwice (re-run 1)", "never", "DONE 2 runs, 6 tests, 2 failures in "}},
		{"has a race", suite{env: []string{"TWICE=WARNING: DATA RACE"}}, true, []string{"DONE 5 tests, 1 failure in "}},
		{"runs some", suite{env: []string{"TWICE=1"}, run: []string{"TestOnce/good", "TestFine"}}, false, []string{"DONE 3 tests in "}},
		{"with arguments", suite{args: []string{"-test.run", "TestFine"}}, false, []string{"DONE 1 tests in "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &printer{ctx: context.Background()}
			c.suite.packages = []string{"."}
			if err := p.test(c.suite); (err != nil) != c.fails {
				t.Errorf("error %v", err)
			}
			text := p.String()
			rest := text
			for _, part := range c.parts {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("%q is missing, or not in its place:\n%s", part, text)
				}
				rest = after
			}
			if strings.Contains(text, "fine\n") || strings.Contains(text, "=== RUN") {
				t.Errorf("too much is told:\n%s", text)
			}
		})
	}
}

// What failed is named again at the end, because a log may be cut in the middle.
func TestFailuresAreNamedAgain(t *testing.T) {
	failing := step{name: "race", run: func(p *printer) error {
		fmt.Fprint(p, "ok  \texample\t1s\n=== FAIL: lib/x TestOnce (0.00s)\n    x_test.go:12: not yet\n    a figure\n    x_test.go:13: 2\n    x_test.go:14: 3\n    x_test.go:15: too many\nFAIL\texample/x\t2s\n")
		return errors.New("exit status 1")
	}}
	r := newBoard(io.Discard, 1).do(context.Background(), failing)
	want := []string{"=== FAIL: lib/x TestOnce (0.00s)", "x_test.go:12: not yet", "x_test.go:13: 2", "x_test.go:14: 3", "FAIL\texample/x\t2s"}
	if r.outcome != failed || !slices.Equal(r.failures, want) {
		t.Errorf("%+v", r)
	}
}
