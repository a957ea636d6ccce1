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
	"unicode"

	"github.com/rogpeppe/go-internal/testscript"

	"gt/internal/testenv"
)

// A block is an example of a page.
type block struct {
	page string
	line int // its first, from 1
	// kind is what it shows: sh, commands to type; console, commands behind "$ " with what they
	// print; tmux, lines of its configuration; toml, json, text and others.
	kind  string
	lines []string
	// notRun says why nobody types it, and test names the file that compares it; both stand in a
	// comment above.
	notRun, test string
}

func (b block) text() string { return strings.Join(b.lines, "\n") + "\n" }

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

var (
	// note is a comment in a page's source that is about the block below it.
	note = regexp.MustCompile(`^<!-- (not run|test): (.+) -->$`)
	// kindsOf tells what a block shows that is indented and not fenced, by its first line.
	kindsOf = []struct {
		kind  string
		first *regexp.Regexp
	}{
		{"toml", regexp.MustCompile(`^(\[+[a-z_.]+\]+|[a-z_]+ = )`)},
		{"json", regexp.MustCompile(`^["{]`)},
		{"console", regexp.MustCompile(`^\$ `)},
		{"tmux", regexp.MustCompile(`^set -g `)},
	}
	// remark is what a page says of a command behind it.
	remark = regexp.MustCompile(`(^|\s+)# .*$`)
)

// pages returns README and docs.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("docs/*.md")
	testenv.NoError(t, err)
	if len(all) < 30 {
		t.Fatalf("only %d pages were found", len(all))
	}
	return append(all, "README.md")
}

// blocksOf returns the examples of a page below a folder: those that are fenced, or indented by
// four columns below an empty line.
func blocksOf(dir, page string) (all []block, err error) {
	data, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		return nil, err
	}
	var b block // the one that is read
	fenced, empty, above, n := false, true, "", 0
	begin := func(kind string, line int) {
		b = block{page: page, line: line, kind: kind}
		switch m := note.FindStringSubmatch(above); {
		case m != nil && m[1] == "test":
			b.test = m[2]
		case m != nil:
			b.notRun = m[2]
		}
	}
	end := func() {
		for len(b.lines) > 0 && b.lines[len(b.lines)-1] == "" {
			b.lines = b.lines[:len(b.lines)-1]
		}
		if len(b.lines) > 0 {
			all = append(all, b)
			above = ""
		}
		b = block{}
	}
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimRight(line, "\n")
		text, indented := strings.CutPrefix(line, "    ")
		name, fence := strings.CutPrefix(line, "```")
		switch {
		case fence:
			end()
			if fenced = !fenced; fenced {
				begin(name, n+1)
			}
		case fenced:
			b.lines = append(b.lines, line)
		case indented && empty:
			// Commands below a configuration are a block of their own.
			if kind := kindOf(text); b.lines == nil || (kind == "sh") != (b.kind == "sh") {
				end()
				begin(kind, n)
			}
			b.lines = append(b.lines, text)
		case indented && b.lines != nil:
			b.lines = append(b.lines, text)
		case line == "" && b.lines != nil:
			b.lines = append(b.lines, "")
		default:
			end()
			if line != "" {
				above = line
			}
		}
		empty = line == ""
	}
	end()
	return all, nil
}

// kindOf returns what an indented block shows.
func kindOf(first string) string {
	for _, k := range kindsOf {
		if k.first.MatchString(first) {
			return k.kind
		}
	}
	return "sh"
}

func blocks(t *testing.T, page string) []block {
	t.Helper()
	all, err := blocksOf(".", page)
	testenv.NoError(t, err)
	return all
}

// A command is a line that a page tells its reader to type, and what the page says that it
// prints.
type command struct{ text, prints string }

// commands returns what is typed of a block; none is of a block that another test compares.
func (b block) commands() (all []command) {
	if b.notRun != "" || b.test != "" {
		return nil
	}
	for _, line := range b.lines {
		switch text, prompted := strings.CutPrefix(line, "$ "); {
		case b.kind == "console" && !prompted:
			all[len(all)-1].prints += line + "\n"
		case b.kind == "console" || b.kind == "sh":
			if text = remark.ReplaceAllString(text, ""); text != "" {
				all = append(all, command{text: text})
			}
		case b.kind == "tmux":
			all = append(all, command{text: "tmux " + line})
		}
	}
	return all
}

// placeholder stands for something else in what a page shows: … (on a line of its own for lines)
// and <words> for anything; a number, what is written in hexadecimal digits, and the name of a
// day or a month for another one.
var placeholder = regexp.MustCompile(`…|<[^<>\n]+>|\b[0-9a-f]*[0-9][0-9a-f]*\b|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b`)

// compareShown reports whether text has the lines that a page shows, one after the other.
func compareShown(shown, text string) error {
	var pattern strings.Builder
	pattern.WriteString(`(?m)^`)
	for line := range strings.Lines(shown) {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		at := 0
		for _, m := range placeholder.FindAllStringIndex(line, -1) {
			pattern.WriteString(regexp.QuoteMeta(line[at:m[0]]))
			switch word := line[m[0]:m[1]]; {
			case word == "…" || word[0] == '<':
				pattern.WriteString(`.*`)
			case unicode.IsUpper(rune(word[0])):
				pattern.WriteString(`[A-Z][a-z]{2}`)
			default:
				pattern.WriteString(`[0-9a-f]+`)
			}
			at = m[1]
		}
		pattern.WriteString(regexp.QuoteMeta(line[at:]) + `[ \t]*\n`)
	}
	if !regexp.MustCompile(pattern.String()).MatchString(strings.TrimRight(text, "\n") + "\n") {
		return fmt.Errorf("the page shows\n%s\nand it is\n%s", shown, text)
	}
	return nil
}

// shows compares the block of a page that begins with a text with what a file has: "shows
// README.md '# Handoff complete' $WORK/claude-2.start".
func shows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: shows page beginning file")
	}
	all, err := blocksOf(ts.Getenv("PAGES"), args[0])
	ts.Check(err)
	for _, b := range all {
		if strings.HasPrefix(b.text(), args[1]) {
			if err := compareShown(b.text(), ts.ReadFile(args[2])); err != nil {
				ts.Fatalf("%s: %v", b, err)
			}
			return
		}
	}
	ts.Fatalf("%s has no block that begins with '%s'", args[0], args[1])
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
	all, err := blocksOf(ts.Getenv("PAGES"), args[0])
	ts.Check(err)
	for _, b := range all {
		for _, c := range b.commands() {
			typeCommand(ts, b, c, codes)
		}
	}
	for text := range codes {
		ts.Fatalf("%s has no command '%s'", args[0], text)
	}
}

// typeCommand types a command of a page and compares its exit code and what it prints.
func typeCommand(ts *testscript.TestScript, b block, c command, codes map[string]int) {
	want := 0
	for text, code := range codes {
		if strings.HasPrefix(c.text, text) {
			want = code
			delete(codes, text)
		}
	}
	ts.Logf("%s: %s", b, c.text)
	limit := "300" // it hangs
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
			ts.Fatalf("%s: %v", b, err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: '%s' ends with exit code %d, not %d", b, c.text, got, want)
	}
	if c.prints != "" {
		if err := compareShown(c.prints, ts.ReadFile("stdout")); err != nil {
			ts.Fatalf("%s: '%s': %v", b, c.text, err)
		}
	}
}

// unrun is how many examples of all pages may stand there that nothing runs or compares.
const unrun = 16

// TestPageBlocks: each example of a page is typed by a scenario, compared with what a program
// says, or says why not.
func TestPageBlocks(t *testing.T) {
	scenarios, err := filepath.Glob("testdata/scripts/*.txtar")
	testenv.NoError(t, err)
	var all strings.Builder
	for _, name := range scenarios {
		data, err := os.ReadFile(name)
		testenv.NoError(t, err)
		all.Write(data)
	}
	var left []string
	run, compared := 0, 0
	for _, name := range pages(t) {
		typed := regexp.MustCompile(`(?m)^page ` + regexp.QuoteMeta(name) + `( |$)`).MatchString(all.String())
		for _, b := range blocks(t, name) {
			switch {
			case b.notRun != "":
				checkBenchmark(t, b)
				left = append(left, fmt.Sprintf("%v: %s", b, b.notRun))
			case b.test != "":
				compared++
				testNamed(t, b)
			case len(b.commands()) > 0:
				run++
				if !typed {
					t.Errorf("%v: no scenario types the commands of %s", b, name)
				}
			case b.kind == "toml", b.kind == "json": // see TestPageConfiguration, TestPageJSON
				compared++
			default:
				compared++
				if !regexp.MustCompile(`(?m)^(\[linux\] )?` + regexp.QuoteMeta("shows "+name+" '"+b.lines[0]+"'")).MatchString(all.String()) {
					t.Errorf("%v: no scenario compares what %s shows; 'shows' does", b, name)
				}
			}
		}
	}
	t.Logf("%d blocks are run, %d are compared, %d are not run:\n%s", run, compared, len(left), strings.Join(left, "\n"))
	if len(left) > unrun {
		t.Errorf("%d blocks are not run, and %d may:\n%s", len(left), unrun, strings.Join(left, "\n"))
	}
	if run < 60 {
		t.Errorf("only %d blocks were found", run)
	}
}

// checkBenchmark checks that a benchmark has the flags that a block names, also behind #.
func checkBenchmark(t *testing.T, b block) {
	t.Helper()
	for _, line := range b.lines {
		name := regexp.MustCompile(`\./bench/(\w+)`).FindStringSubmatch(line)
		if name == nil {
			continue
		}
		var text string
		files, err := filepath.Glob(filepath.Join("bench", name[1], "*.go"))
		testenv.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			testenv.NoError(t, err)
			text += string(data)
		}
		for _, flag := range regexp.MustCompile(` -(\w\w+)`).FindAllStringSubmatch(line, -1) {
			if !regexp.MustCompile(`flag\.\w+\((&\w+, )?"` + flag[1] + `"`).MatchString(text) {
				t.Errorf("%v: bench/%s has no flag -%s", b, name[1], flag[1])
			}
		}
	}
}

// testNamed checks that the file which a block's comment names has each command of the block;
// of what is no command, that it names the page.
func testNamed(t *testing.T, b block) {
	t.Helper()
	data, err := os.ReadFile(b.test)
	if err != nil {
		t.Errorf("%v: %v", b, err)
		return
	}
	wants := []string{b.page}
	if b.kind == "sh" {
		wants = nil
		b.test = ""
		for _, c := range b.commands() {
			wants = append(wants, c.text)
		}
	}
	for _, want := range wants {
		if !strings.Contains(string(data), want) {
			t.Errorf("%v: the test that it names has no '%s'", b, want)
		}
	}
}
