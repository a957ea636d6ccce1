package gt_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A pageCommand is a line that a page tells its reader to type.
type pageCommand struct {
	at   string // page:line
	text string // without what it says behind #
}

var (
	// typed finds the programs of gt where a shell finds commands.
	typed = regexp.MustCompile(`(^|[|;&(] ?|do |!)gt-[a-z]+( |$)`)
	// remark is what a page says of a command behind it.
	remark = regexp.MustCompile(`\s+# .*$`)
)

// pageCommands returns the commands of gt in the blocks of a page, which are indented by
// four columns, or fenced and called sh. A block that is fenced and called text is no
// example: it shows what a command takes, or what it prints.
func pageCommands(page string) (all []pageCommand, err error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	fenced, shell, n := false, false, 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\n")
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "```"); ok {
			fenced, shell = !fenced, name == "sh"
			continue
		}
		text, indented := strings.CutPrefix(line, "    ")
		switch {
		case fenced && shell:
			text = line
		case fenced || !indented:
			continue
		}
		text = strings.TrimPrefix(remark.ReplaceAllString(text, ""), "$ ")
		// A line of tmux.conf has one that tmux runs.
		if typed.MatchString(text) && !strings.HasPrefix(text, "set -g ") {
			all = append(all, pageCommand{fmt.Sprintf("%s:%d", page, n), text})
		}
	}
	return all, nil
}

// runsOn is the exit code of timeout(1) where it stops a command.
const runsOn = 124

// page types all commands of a page, in their order: "page docs/mail.md". Where a
// second argument names a file, its lines say which command ends with another exit code
// than 0 here, and so why: "1 gt-session attach" is one that needs a terminal. Where the
// scenario has set TYPIST, that program gets each line as its argument and types it, as an
// agent in a pane, say, or with the id that a note has got in place of the page's.
func page(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: page file [exit codes]")
	}
	codes := map[string]int{}
	if len(args) == 2 {
		for line := range strings.Lines(ts.ReadFile(args[1])) {
			code, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.Atoi(code)
			ts.Check(err)
			codes[text] = n
		}
	}
	commands, err := pageCommands(filepath.Join(ts.Getenv("PAGES"), args[0]))
	ts.Check(err)
	for _, c := range commands {
		want := 0
		for text, code := range codes {
			if strings.HasPrefix(c.text, text) {
				want = code
				delete(codes, text)
			}
		}
		ts.Logf("%s: %s", c.at, c.text)
		limit := "60"
		if want == runsOn {
			limit = "5"
		}
		got := 0
		types := []string{"bash", "-c"}
		if typist := ts.Getenv("TYPIST"); typist != "" {
			types = []string{typist}
		}
		if err := ts.Exec("timeout", slices.Concat([]string{"-k", "5", limit}, types, []string{c.text})...); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				ts.Fatalf("%s: %v", c.at, err)
			}
			got = exit.ExitCode()
		}
		if got != want {
			ts.Fatalf("%s: '%s' ends with exit code %d, not %d", c.at, c.text, got, want)
		}
	}
	for text := range codes {
		ts.Fatalf("%s has no command '%s'", args[0], text)
	}
}

// The commands of every page are typed by a scenario.
func TestPageCommands(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob("testdata/scripts/page_*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, script := range scripts {
		data, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	for _, name := range append(pages, "README.md") {
		commands, err := pageCommands(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(commands) > 0 && !regexp.MustCompile(`(?m)^page `+regexp.QuoteMeta(name)+`( |$)`).MatchString(all.String()) {
			t.Errorf("no scenario types the %d commands of %s", len(commands), name)
		}
	}
}
