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

// made is what a page shows of a record.
var made = regexp.MustCompile(`(?s)(<!-- made from (bench/\S+\.txt) -->\n)(.*?)(<!-- made -->\n)`)

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
			return m[1] + figuresOf(t, page, m[2], m[3]) + m[4]
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
		has := strings.Split(is, "\n")
		lacks := slices.DeleteFunc(strings.Split(want, "\n"), func(line string) bool { return slices.Contains(has, line) })
		t.Errorf("%s has other figures than the records; 'go test . -run TestPageFigures -u' writes\n%s", page, strings.Join(lacks, "\n"))
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

// figuresOf returns the sentences and tables of a record. Of a table it returns the columns that
// the page shows of it, which is told by the heads, and always the first one.
func figuresOf(t *testing.T, page, record, shown string) string {
	t.Helper()
	var heads [][]string
	for paragraph := range strings.SplitSeq(shown, "\n\n") {
		if strings.HasPrefix(paragraph, "|") {
			first, _, _ := strings.Cut(paragraph, "\n")
			heads = append(heads, cellsOf(first))
		}
	}
	var all []string
	for _, paragraph := range paragraphsOf(t, record) {
		if !strings.HasPrefix(paragraph, "|") {
			all = append(all, paragraph)
			continue
		}
		lines := strings.Split(paragraph, "\n")
		head := cellsOf(lines[0])
		var columns []int
		if len(heads) > 0 {
			columns = append(columns, 0)
			for _, name := range heads[0][1:] {
				if i := slices.Index(head, name); i > 0 {
					columns = append(columns, i)
				} else {
					t.Errorf("%s shows a column '%s', which %s does not have", page, name, record)
				}
			}
			heads = heads[1:]
		}
		for i, line := range lines {
			cells := cellsOf(line)
			if len(cells) != len(head) {
				t.Fatalf("%s has a row with another number of cells: %s", record, line)
			}
			if len(columns) > 0 {
				var kept []string
				for _, c := range columns {
					kept = append(kept, cells[c])
				}
				cells = kept
			}
			lines[i] = "|" + strings.Join(cells, "|") + "|"
		}
		all = append(all, strings.Join(lines, "\n"))
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
