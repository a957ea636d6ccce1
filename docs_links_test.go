package gt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestDocLinks follows every relative link of the pages: the file is there, and so is the
// heading that the link names.
func TestDocLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	pages = append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	followed := 0
	for _, page := range pages {
		for _, m := range link.FindAllStringSubmatch(prose(t, page), -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			followed++
			name, anchor, _ := strings.Cut(target, "#")
			file := page
			if name != "" {
				file = filepath.Join(filepath.Dir(page), name)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: no such file", page, target)
			} else if anchor != "" && !anchors(t, file)[anchor] {
				t.Errorf("%s links to %s: %s has no such heading", page, target, file)
			}
		}
	}
	if followed < 50 {
		t.Errorf("only %d links were followed: does the test find them?", followed)
	}
}

// TestDocExamples looks for commands in the pages' examples of templates that run git where a
// tick runs them, outside of any sandbox: a repository's own configuration names programs
// that git runs.
func TestDocExamples(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^ *(pre_start|session_setup|check|command|alive)\s*= (.*)$`)
	found := 0
	for _, page := range append(pages, "README.md") {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(string(data), -1) {
			found++
			if regexp.MustCompile(`\bgit\b`).MatchString(m[2]) {
				t.Errorf("%s: %s runs what the repository names", page, m[0])
			}
		}
	}
	if found < 4 {
		t.Errorf("only %d commands were looked at", found)
	}
}

// prose returns a page without its code, in which brackets are no links.
func prose(t *testing.T, page string) string {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(string(data), "")
	return regexp.MustCompile("`[^`\n]*`").ReplaceAllString(fenced, "code")
}

// anchors are the names that GitHub gives the headings of a page.
func anchors(t *testing.T, page string) map[string]bool {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fenced := regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(string(data), "")
	all := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`).FindAllStringSubmatch(fenced, -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])
		anchor := name
		for n := 1; all[anchor]; n++ {
			anchor = fmt.Sprintf("%s-%d", name, n)
		}
		all[anchor] = true
	}
	return all
}
