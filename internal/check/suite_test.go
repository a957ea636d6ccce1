package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A test that fails once runs again and both outcomes are told; one that fails twice
// fails the suite; what failed stands first, and what passed is not told.
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
		name   string
		suite  suite
		failed string // the error
		parts  []string
	}{
		{"passes the second time", suite{}, "", []string{
			"2 tests passed; failed: example TestOnce/bad\n", "not yet", "a figure\n", "once more: example TestOnce/bad\n", "failed, then passed: example TestOnce/bad\n"}},
		{"passes", suite{}, "", []string{"3 tests passed\n", "a figure\n"}},
		{"fails twice", suite{env: []string{"TWICE=never"}}, "failed twice: example TestTwice", []string{
			"2 tests passed; failed: example TestTwice\n", "never", "once more: example TestTwice\n", "0 tests passed; failed: example TestTwice\n"}},
		{"has a race", suite{env: []string{"TWICE=WARNING: DATA RACE"}}, "exit status 1", []string{"2 tests passed; failed: example TestTwice\n"}},
		{"runs some", suite{env: []string{"TWICE=1"}, run: []string{"TestOnce/good", "TestFine"}}, "", []string{"2 tests passed\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &printer{ctx: context.Background()}
			c.suite.packages = []string{"."}
			told := ""
			if err := p.test(c.suite); err != nil {
				told = err.Error()
			}
			text := p.String()
			if told != c.failed {
				t.Errorf("error %q, want %q", told, c.failed)
			}
			rest := text
			for _, part := range c.parts {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("%q is missing, or not in its place:\n%s", part, text)
				}
				rest = after
			}
			if strings.Contains(text, "fine\n") || strings.Contains(text, "=== ") || c.failed == "" && strings.Contains(rest, "failed") {
				t.Errorf("too much is told:\n%s", text)
			}
		})
	}
}
