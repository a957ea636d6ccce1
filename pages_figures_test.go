package gt_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	bench "gt/bench/measure"
	"gt/internal/testenv"
)

// made is what a page shows of a record, perhaps without some columns of its tables.
var made = regexp.MustCompile(`(?s)(<!-- made from (bench/\S+\.txt)(?: without ([^\n]*))? -->\n)(.*?)(<!-- made -->\n)`)

// TestPageFigures: a page shows all tables and sentences of a benchmark's record, and the
// figures in sentences of other pages are those of the records. The benchmark is not run:
//
//	go run ./bench/hooks >bench/hooks/recorded.txt
//	go test . -run TestPageFigures -u
func TestPageFigures(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		is := string(data)
		want := made.ReplaceAllStringFunc(is, func(block string) string {
			m := made.FindStringSubmatch(block)
			shown[m[2]] = true
			return m[1] + figuresOf(t, m[2], strings.Split(m[3], ", ")) + m[5]
		})
		for _, c := range claims {
			if c.page == page {
				shown[c.record] = true
				want = c.replace(t, want)
			}
		}
		if want == is {
			continue
		}
		if *update {
			testenv.NoError(t, os.WriteFile(page, []byte(want), 0o644))
			continue
		}
		t.Errorf("%s has other figures than the records; 'go test . -run TestPageFigures -u' removes\n%s\nand writes\n%s",
			page, linesMissing(want, is), linesMissing(is, want))
	}
	records, err := filepath.Glob("bench/*/recorded*.txt")
	testenv.NoError(t, err)
	for _, record := range records {
		if !shown[record] {
			t.Errorf("no page shows %s", record)
		}
	}
	if len(records) < 9 {
		t.Errorf("only %d records were found", len(records))
	}
	// A figure that is no record's would be nobody's.
	page, err := os.ReadFile("docs/benchmarks.md")
	testenv.NoError(t, err)
	for _, figure := range regexp.MustCompile(`[0-9][0-9.,]* (?:ms|s|seconds|kB|MB|GB|MiB|%|floors)\b`).FindAllString(made.ReplaceAllString(string(page), ""), -1) {
		t.Errorf("docs/benchmarks.md has '%s', which no record has", figure)
	}
}

// linesMissing returns the lines of a text that another one does not have.
func linesMissing(in, of string) string {
	has := strings.Split(in, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(of, "\n"), func(line string) bool { return slices.Contains(has, line) }), "\n")
}

// paragraphsOf returns what a page has to show of a record: its paragraphs behind the first,
// which says how it came about.
func paragraphsOf(t *testing.T, record string) []string {
	t.Helper()
	data, err := os.ReadFile(record)
	testenv.NoError(t, err)
	text, _, _ := strings.Cut(string(data), "\n"+bench.Detail+"\n")
	head, text, _ := strings.Cut(text, "\n\n")
	if !strings.Contains(head, "go run ") || !strings.Contains(head, "a load of ") {
		t.Errorf("%s does not say how it was made", record)
	}
	var all []string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if paragraph = strings.Trim(paragraph, "\n"); paragraph != "" {
			all = append(all, paragraph)
		}
	}
	return all
}

// figuresOf returns the sentences of a record, and its tables without some columns.
func figuresOf(t *testing.T, record string, without []string) string {
	t.Helper()
	all := paragraphsOf(t, record)
	for n, paragraph := range all {
		if !strings.HasPrefix(paragraph, "|") {
			continue
		}
		lines := strings.Split(paragraph, "\n")
		head := cellsOf(lines[0])
		for i, line := range lines {
			var kept []string
			cells := cellsOf(line)
			if len(cells) != len(head) {
				t.Fatalf("%s has a row with another number of cells: %s", record, line)
			}
			for c, cell := range cells {
				if c == 0 || !slices.Contains(without, head[c]) {
					kept = append(kept, cell)
				}
			}
			lines[i] = "|" + strings.Join(kept, "|") + "|"
		}
		all[n] = strings.Join(lines, "\n")
	}
	return strings.Join(all, "\n\n") + "\n"
}

// cellsOf returns the cells of a table's line.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// A claim is a sentence of a page that has figures of a record.
type claim struct {
	page, record string
	sentence     string // a pattern with a group for each figure
	figures      func(paragraphs []string) []string
}

var claims = []claim{
	{"README.md", "bench/hooks/recorded.txt", `answers in (\d+) to (\d+)\s+milliseconds, the first of a pane in (\d+)`, func(paragraphs []string) []string {
		least, most, pane := math.Inf(1), 0.0, 0.0
		for _, paragraph := range paragraphs {
			if !strings.HasPrefix(paragraph, "| hook |") {
				continue
			}
			for _, cells := range rows(paragraph) {
				ms, _ := strconv.ParseFloat(cells[1], 64)
				switch name := cells[0]; {
				case strings.Contains(name, "the first in a tmux pane"):
					pane = ms
				case strings.HasPrefix(name, "gt-"), strings.HasPrefix(name, "the same"):
					least, most = min(least, ms), max(most, ms)
				}
			}
		}
		return []string{fmt.Sprintf("%.0f", least), fmt.Sprintf("%.0f", most), fmt.Sprintf("%.0f", pane)}
	}},
	{"docs/security.md", "bench/redact/recorded.txt", `catch (\d+) % of\s+gitleaks' ([\d,]+)\s+samples`, func(paragraphs []string) []string {
		var caught, all int
		fmt.Sscanf(paragraphs[0], "%d of %d samples", &caught, &all)
		return []string{strconv.Itoa(100 * caught / all), fmt.Sprintf("%d,%03d", all/1000, all%1000)}
	}},
}

// replace puts the record's figures into a page.
func (c claim) replace(t *testing.T, text string) string {
	t.Helper()
	at := regexp.MustCompile(c.sentence).FindStringSubmatchIndex(text)
	figures := c.figures(paragraphsOf(t, c.record))
	if len(at) != 2*len(figures)+2 {
		t.Fatalf("%s has no sentence '%s'", c.page, c.sentence)
	}
	for i := len(figures) - 1; i >= 0; i-- {
		text = text[:at[2*i+2]] + figures[i] + text[at[2*i+3]:]
	}
	return text
}

// TestPageHandover: what the record of a hand-over says to be the sum is the sum.
func TestPageHandover(t *testing.T) {
	table := paragraphsOf(t, "bench/handover/recorded.txt")[1]
	sums := make([]int, 20)
	found := false
	for _, cells := range rows(table) {
		found = found || cells[0] == "**all**"
		for i, cell := range cells[1:] {
			n, _ := strconv.Atoi(regexp.MustCompile(`^\d*`).FindString(cell))
			if cells[0] == "**all**" && sums[i] != n {
				t.Errorf("column %d adds up to %d, not %d", i+1, sums[i], n)
			}
			if cells[0] != "open to-dos (TodoWrite)" { // the other form of the same
				sums[i] += n
			}
		}
	}
	if !found {
		t.Error("there is no sum")
	}
}
