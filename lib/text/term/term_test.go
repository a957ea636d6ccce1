package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gt/internal/testenv"

	"github.com/rivo/uniseg"

	"gt/lib/text/plain"
)

func TestTable(t *testing.T) {
	rows := [][]string{
		{"ID", "AGENT", "TITLE"},
		{"1", "gastown/crew/max", "short"},
		{"22", "", strings.Repeat("a long title ", 20)},
		{"3", "中文", strings.Repeat("日本語", 40)},
		{"4", "e\u0301e\u0301", "\x1b[31mred\nline"},
		{"5", "👩‍👩‍👧‍👦", ""},
	}
	var b bytes.Buffer
	testenv.NoError(t, plainTable(&b, 80, rows))
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d lines for %d rows:\n%s", len(lines), len(rows), b.String())
	}
	for i, line := range lines {
		if w := uniseg.StringWidth(line); w > 80 {
			t.Errorf("%d columns: %s", w, line)
		}
		if strings.HasSuffix(line, " ") {
			t.Errorf("blanks at the end of %q", line)
		}
		// The title begins in column 22 of every row that has one.
		before, _, ok := strings.Cut(line, Clean(rows[i][2])[:min(3, len(Clean(rows[i][2])))])
		if rows[i][2] != "" && (!ok || uniseg.StringWidth(before) != 22) {
			t.Errorf("column %d: %s", uniseg.StringWidth(before), line)
		}
	}
	if !strings.HasSuffix(lines[2], "…") || uniseg.StringWidth(lines[2]) != 80 {
		t.Errorf("not cut at 80: %s", lines[2])
	}
	b.Reset()
	if err := plainTable(&b, 0, rows); err != nil || strings.Contains(b.String(), "…") {
		t.Errorf("%v, cut without a limit:\n%s", err, b.String())
	}
	if err := plainTable(&b, 80, nil); err != nil {
		t.Error(err)
	}
}

// A narrow table has fewer columns, and none that nobody can read; a wide one has all.
func TestNarrow(t *testing.T) {
	rows := [][]string{{"ID", "AGENT", "STARTED", "TITLE"}, {"4f2c81d0", "claude", "Nov 25 22:14", strings.Repeat("long ", 20)}}
	for width, want := range map[int]string{
		0: "ID AGENT STARTED TITLE", 40: "ID AGENT STARTED TITLE", 39: "ID AGENT TITLE", 26: "ID AGENT TITLE", 25: "ID TITLE", 1: "ID TITLE",
	} {
		got := Narrow(width, rows, "STARTED", "NONE", "AGENT")
		if said := strings.Join(got[0], " "); said != want || len(got[1]) != len(got[0]) {
			t.Errorf("in %d columns: %s", width, said)
		}
	}
	if len(rows[0]) != 4 {
		t.Error("the rows that it got have changed")
	}
}

// However long and strange the cells are, a line has the width that it may have
// and no more bytes than that needs, and a cell fills no other row with blanks.
func TestTableOfHostileCells(t *testing.T) {
	huge := map[string]string{
		"long":      strings.Repeat("x", 1<<20),
		"wide":      strings.Repeat("日", 1<<18),
		"accents":   "e" + strings.Repeat("\u0301", 1<<19),
		"invisible": strings.Repeat("\u200b", 1<<18),
		"joined":    strings.Repeat("👩\u200d", 1<<17),
		"escapes":   strings.Repeat("\x1b[31m", 1<<17),
		"lines":     strings.Repeat("\n", 1<<20),
	}
	for name, cell := range huge {
		for column := range 4 {
			row := []string{"id", "actor", "done", "title"}
			row[column] = cell
			for _, width := range []int{1, 20, 80, 200} {
				var b bytes.Buffer
				testenv.NoError(t, plainTable(&b, width, [][]string{{"A", "B", "C", "D"}, row, {"1", "2", "3", "4"}}))
				for line := range strings.Lines(b.String()) {
					line = strings.TrimSuffix(line, "\n")
					if w := uniseg.StringWidth(line); w > max(width, 4+3*len(columnGap)) || len(line) > 40*(width+20) {
						t.Errorf("%s in column %d of %d columns: %d columns, %d bytes", name, column, width, w, len(line))
					}
				}
				if b.Len() == 0 || strings.Count(b.String(), "\n") != 3 {
					t.Errorf("%s: %d lines", name, strings.Count(b.String(), "\n"))
				}
			}
			var b bytes.Buffer
			if err := plainTable(&b, 0, [][]string{{"A", "B", "C", "D"}, row, {"1", "2", "3", "4"}}); err != nil || b.Len() > len(Clean(cell))+4*maxColumn {
				t.Errorf("%s in column %d, not cut: %d bytes of %d, %v", name, column, b.Len(), len(cell), err)
			}
		}
		for _, width := range []int{0, 1, 22, 80} {
			for fn, cut := range map[string]func(string, int) string{"Cut": Cut, "CutFront": CutFront} {
				if got := cut(Clean(cell), width); uniseg.StringWidth(got) > width || len(got) > 40*(width+1) || !utf8.ValidString(got) {
					t.Errorf("%s(%s, %d): %d columns, %d bytes", fn, name, width, uniseg.StringWidth(got), len(got))
				}
			}
		}
	}
}

// A line fits a terminal that shows the parts of an emoji one by one, too.
func TestTableOfJoinedEmoji(t *testing.T) {
	for _, title := range []string{
		strings.Repeat("👍🏽", 40), strings.Repeat("👨‍👩‍👧‍👦", 20) + " done", "fix 🏳️‍🌈 and 👩🏾‍💻 in the parser, then the lexer and all of the tests",
		"👍🏽 the lexer is ported to the new grammar, the parser next",
	} {
		var out bytes.Buffer
		if err := (Style{}).Table(&out, 60, [][]string{{"NAME", "TOPIC"}, {"👍🏽", title}}, nil); err != nil {
			t.Fatal(err)
		}
		_, line, _ := strings.Cut(strings.TrimSuffix(out.String(), "\n"), "\n")
		apart := 0
		for _, r := range line {
			apart += uniseg.StringWidth(string(r))
		}
		if apart > 60 || apart < 45 {
			t.Errorf("%d columns: %s", apart, line)
		}
	}
}

func TestCut(t *testing.T) {
	for _, s := range []string{
		"", "x", "plain text of some length", "日本語の長い表題", "e\u0301a\u0308o\u0302u\u0300", "👩‍👩‍👧‍👦👍🏽🇩🇪 flags", strings.Repeat("é", 100),
	} {
		for width := -1; width < 40; width++ {
			for name, cut := range map[string]func(string, int) string{"Cut": Cut, "CutFront": CutFront} {
				got := cut(s, width)
				if w := uniseg.StringWidth(got); w > max(width, 0) {
					t.Errorf("%s(%q, %d) = %q has %d columns", name, s, width, got, w)
				}
				if uniseg.StringWidth(s) <= width && got != s {
					t.Errorf("%s(%q, %d) = %q", name, s, width, got)
				}
				if kept := strings.Trim(got, "…"); !strings.Contains(s, kept) || !utf8.ValidString(got) {
					t.Errorf("%s(%q, %d) = %q", name, s, width, got)
				}
			}
		}
	}
	for got, want := range map[string]string{
		Cut("日本語", 4):                   "日…",
		Cut("e\u0301e\u0301e\u0301", 2): "e\u0301…",
		CutFront("gastown/crew/max", 9): "…crew/max",
		CutFront("日本語", 4):              "…語",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	// What is long costs no more than its length.
	long := strings.Repeat("/some/folder", 1<<17)
	if got := CutFront(long, 20); uniseg.StringWidth(got) != 20 {
		t.Errorf("%q", got)
	}
}

// What is quoted comes out of a real shell as it was, and is one word.
func TestQuoteComesBackFromAShell(t *testing.T) {
	words := []string{
		"", "plain", "/a/b-c_d.e", "two words", "it's", `a"b`, "$HOME", "`id`", "$(id)", "a;b", "a&b", "a|b", "*", "?", "[x]", "~", "~root",
		"{a,b}", "!!", "#x", "-rf", "--", "a\nb", "\n", "a\tb", `\`, `a\b`, "'", "''", "<x>", "=", "a=b", "é日本", "\x1b[31m", "%s", "^", "\xff",
	}
	script := "printf '%s\\0'"
	for _, w := range words {
		script += " " + Quote(w)
	}
	out, err := exec.Command("sh", "-c", script).Output()
	testenv.NoError(t, err)
	got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(got) != len(words) {
		t.Fatalf("%d words, not %d", len(got), len(words))
	}
	for i, w := range words {
		if got[i] != w {
			t.Errorf("%q became %q", w, got[i])
		}
	}
	if Quote("/a/b-c_d.e") != "/a/b-c_d.e" {
		t.Error("a plain word is quoted")
	}
}

func TestJSON(t *testing.T) {
	in := map[string]string{"a": "\x1b]0;x\x07\u009b\u202e\u2028\x7f\u200b\U000E0041<&>é\n\"", "b": strings.Repeat("x", 10), "c": strings.Repeat("\u0301", 20) + "\u2800"}
	line, err := JSON(in)
	testenv.NoError(t, err)
	if !bytes.HasSuffix(line, []byte("\n")) || !plain.IsLine(strings.TrimSuffix(string(line), "\n")) {
		t.Errorf("%q", line)
	}
	if !bytes.Contains(line, []byte("<&>é")) {
		t.Errorf("more than needed is escaped: %s", line)
	}
	var out map[string]string
	if err := json.Unmarshal(line, &out); err != nil || fmt.Sprint(out) != fmt.Sprint(in) {
		t.Errorf("%v %v", out, err)
	}
	if _, err := JSON(func() {}); err == nil {
		t.Error("a function became JSON")
	}
}

func TestDay(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, zone)
	for want, at := range map[string]time.Time{
		"":             {},
		"Jul  1 11:00": time.Date(2026, 7, 1, 9, 0, 0, 0, time.UTC),
		"Jun 30 23:30": time.Date(2026, 6, 30, 21, 30, 0, 0, time.UTC),
		"Jul  2 11:59": time.Date(2026, 7, 2, 11, 59, 0, 0, zone), // a clock that is a little off
		"Jul  5  2026": time.Date(2026, 7, 5, 12, 0, 0, 0, zone),
		"Dec 31  2025": time.Date(2025, 12, 31, 12, 0, 0, 0, zone),
	} {
		if got := FormatDay(at, now); got != want {
			t.Errorf("%v: %q, not %q", at, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	env := func(v string) func(string) string { return func(string) string { return v } }
	for v, want := range map[string]int{"100": 100, "": 0, "0": 0, "-5": 0, "wide": 0} {
		if got := Width(&bytes.Buffer{}, env(v)); got != want {
			t.Errorf("COLUMNS=%q: %d", v, got)
		}
	}
	if IsTerminal(&bytes.Buffer{}) {
		t.Error("a buffer is a terminal")
	}
}

func TestTyped(t *testing.T) {
	for in, want := range map[string]string{
		"/a b":                     "'/a b'",
		"/plain":                   "/plain",
		"/x\x1b[31m'y\\\u200b\xff": `$'/x\033[31m\'y\\\342\200\213\377'`,
	} {
		if got := Typed(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		odd := "/x\x1b[31m'y\\\u200b\xff\n"
		if out, err := exec.Command(bash, "-c", "printf %s "+Typed(odd)).Output(); err != nil || string(out) != odd {
			t.Errorf("%q, %v", out, err)
		}
	}
}

// A path that is cut keeps its end, and has more of a narrow line than another last column.
func TestTableOfPaths(t *testing.T) {
	rows := [][]string{{"NAME", "FOLDER"}, {strings.Repeat("n", 60), "/home/person/src/of/some/project/api"}}
	var b strings.Builder
	testenv.NoError(t, plainPaths(&b, 60, rows))
	for line := range strings.Lines(b.String()) {
		if n := Columns(strings.TrimSuffix(line, "\n")); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(b.String(), "/some/project/api\n") || !strings.Contains(b.String(), "  …") {
		t.Error(b.String())
	}
}

// A painted table has the columns of a plain one, and looks the same to who reads no
// colours: padding and cuts are not counted with the marks.
func TestPaintedTable(t *testing.T) {
	rows := [][]string{{"NAME", "STATE", "FOLDER"}, {"api", "running", "~/src/a-rather-long-folder"}, {"übung", "error", "~"}}
	style := Styled(true)
	paint := func(_, column int, cell string) string {
		if column == 1 {
			return style.Green(cell)
		}
		return cell
	}
	var plain, painted bytes.Buffer
	plainTable(&plain, 30, rows)
	testenv.NoError(t, style.Table(&painted, 30, rows, paint))
	if !strings.Contains(painted.String(), "\x1b[1mNAME\x1b[0m") || !strings.Contains(painted.String(), "\x1b[32mrunning\x1b[0m  ") {
		t.Errorf("%q", painted.String())
	}
	bare := strings.NewReplacer("\x1b[1m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(painted.String())
	if bare != plain.String() {
		t.Errorf("painted:\n%s\nplain:\n%s", bare, plain.String())
	}
	painted.Reset()
	Styled(false).Table(&painted, 30, rows, paint)
	if painted.String() != plain.String() {
		t.Errorf("without a style: %q", painted.String())
	}
}

func TestFill(t *testing.T) {
	for _, c := range []struct {
		s             string
		width, indent int
		want          string
	}{
		{"one two three", 0, 4, "one two three"},
		{"one two three", 13, 4, "one two three"},
		{"one two three", 12, 4, "one two\n    three"},
		{"one two three four five", 11, 4, "one two\n    three\n    four\n    five"},
		{"one twothreefour five", 10, 4, "one twothreefour\n    five"},
		{"日本 日本 日本 x", 10, 2, "日本 日本\n  日本 x"},
		{"one two", 3, 4, "one two"},
		{"", 5, 2, ""},
	} {
		if got := Fill(c.s, c.width, c.indent); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.s, c.width, got, c.want)
		}
	}
}

func TestIndent(t *testing.T) {
	for _, c := range []struct {
		s     string
		width int
		want  string
	}{
		{"one two\n\n three\n", 0, "  one two\n\n   three\n"},
		{"one two three", 15, "  one two three"},
		{"one two three", 14, "  one two\n  three"},
		{"one two three", 9, "  one two\n  three"},
		{"onetwothree\n", 8, "  onetwo\n  three\n"},
		{"    onetwothree", 8, "      on\n  etwoth\n  ree"},
		{"日本日本", 6, "  日本\n  日本"},
		{"a\tb", 11, "  a\t\n  b"},
		{"ab", 3, "  ab"},
		{"", 5, ""},
	} {
		if got := Indent(c.s, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.s, c.width, got, c.want)
		}
	}
}

func TestTilde(t *testing.T) {
	for _, c := range []struct{ path, home, want string }{
		{"/home/ann/src/api", "/home/ann", "~/src/api"},
		{"/home/ann/src/api", "/home/ann/", "~/src/api"},
		{"/home/anna/src", "/home/ann", "/home/anna/src"},
		{"/home/ann", "/home/ann", "/home/ann"},
		{"/src", "", "/src"},
	} {
		if got := Tilde(c.path, c.home); got != c.want {
			t.Errorf("Tilde(%q, %q) = %q, not %q", c.path, c.home, got, c.want)
		}
	}
}

func plainTable(w io.Writer, width int, rows [][]string) error {
	return Style{}.Table(w, width, rows, nil)
}

func plainPaths(w io.Writer, width int, rows [][]string) error {
	return Style{}.TableOfPaths(w, width, rows, nil)
}

// The column that says most is cut last, and then not away.
func TestWhole(t *testing.T) {
	rows := [][]string{{"NAME", "STATUS", "FOLDER"}, {strings.Repeat("n", 44), "waiting (permission)", "/src/api"}, {"api", "waiting (permission)", "/" + strings.Repeat("f", 60)}}
	for width, whole := range map[int]bool{80: true, 60: true, 40: true, 20: false} {
		var out strings.Builder
		if err := (Style{}).CutLast("STATUS").TableOfPaths(&out, width, rows, nil); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "  waiting (permission)  "); (got == 2) != whole {
			t.Errorf("%d columns:\n%s", width, out.String())
		}
	}
}

// A person says that colours are wanted, or not, and "not" is stronger.
func TestStyleFor(t *testing.T) {
	for set, want := range map[string]bool{
		"": false, "CLICOLOR_FORCE=1": true, "FORCE_COLOR=3": true, "FORCE_COLOR=0": false, "CLICOLOR_FORCE=0": false, "FORCE_COLOR=false": false,
		"FORCE_COLOR=1 NO_COLOR=1": false, "FORCE_COLOR=1 TERM=dumb": true,
	} {
		getenv := func(name string) string {
			for _, kv := range strings.Fields(set) {
				if value, ok := strings.CutPrefix(kv, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := StyleFor(new(strings.Builder), getenv).IsEnabled(); got != want {
			t.Errorf("%q: %v", set, got)
		}
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "12b": 12, "64k": 64 << 10, "64KiB": 64 << 10, "1mb": 1 << 20, "500M": 500 << 20, "2 G": 2 << 30, "8Gib": 8 << 30, "7t": 7 << 40,
	} {
		if n, ok := ParseSize(text); n != want || !ok {
			t.Errorf("%q: %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "k", "-1", "1.5G", "1x", "1kk", "9000000T", "99999999999999999999"} {
		if n, ok := ParseSize(text); ok {
			t.Errorf("%q: %d", text, n)
		}
	}
}
