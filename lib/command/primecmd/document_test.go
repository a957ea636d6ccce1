package primecmd

import (
	"fmt"
	"strings"
	"testing"

	"gt/lib/client/contract"
)

func TestDocumentFits(t *testing.T) {
	long := strings.Repeat("äöü 𝄞 line of text that goes on\n", 400)
	sections := []section{
		{body: "# Banner\n\nwho"},
		{title: "Note", body: long, fullCommand: "`gt-mail read x`"},
		{title: "Work", body: long, fullCommand: "`gt-mail read y`"},
		{title: "Empty"},
		{title: "Role", body: strings.Repeat("one endless line ", 3000), fullCommand: "`cat role`"},
	}
	for limit := 600; limit < 40_000; limit += 97 {
		size := contract.UTF16Units
		if limit%2 == 0 {
			size = (&contract.Dialect{CountsBytes: true}).Size // Codex counts bytes
		}
		text := document(limit, size, sections)
		if n := size(text); n > limit {
			t.Fatalf("limit %d: %d units", limit, n)
		}
		if !strings.HasPrefix(text, "# Banner\n\nwho\n") {
			t.Fatalf("limit %d: begins with %q", limit, text[:40])
		}
		for _, s := range sections {
			if s.fullCommand != "" && !strings.Contains(text, s.fullCommand) && !strings.Contains(text, s.body) {
				t.Fatalf("limit %d: nothing says how to print %q:\n%s", limit, s.title, text)
			}
		}
		if strings.Contains(text, "Empty") {
			t.Fatal("an empty section has a heading")
		}
	}
	if whole := document(1<<20, contract.UTF16Units, sections); strings.Contains(whole, "left out") {
		t.Fatal("something was left out where there was room")
	}
}

func TestFitCountsWhatIsLeftOut(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	text := fitSection(section{body: strings.TrimSpace(b.String()), fullCommand: "`all`"}, 200, contract.UTF16Units)
	kept := strings.Count(text, "line ")
	if want := fmt.Sprintf("[%d more lines are left out: `all` prints all]\n", 50-kept); !strings.HasSuffix(text, want) {
		t.Fatalf("want the end %q:\n%s", want, text)
	}
}

// A section that is cut does not end with a heading or a blank line.
func TestFitEndsWithWords(t *testing.T) {
	body := strings.Repeat("### Heading\none line of words\n\n", 9)
	for room := 80; room < len(body); room++ {
		kept, _, _ := strings.Cut(fitSection(section{body: body, end: "END\n"}, room, contract.UTF16Units), "END\n")
		if kept != "" && !strings.HasSuffix(kept, "words\n") && !strings.HasPrefix(kept, "[") {
			t.Fatalf("room for %d:\n%s", room, kept)
		}
	}
}

// Many hooked notes with long subjects do not displace the most important text.
func TestDocumentOfManySections(t *testing.T) {
	for _, many := range []int{3, 30, 61, 300, 3000} {
		sections := []section{
			{body: "# Banner\n\nwho"},
			{title: "What to do now", body: "Go on."},
			{title: "The note", body: strings.Repeat("a line of the note\n", 100), fullCommand: "`gt-mail read x`"},
		}
		for i := range many {
			sections = append(sections, section{
				title:       fmt.Sprintf("Hooked work: %d %s", i, strings.Repeat("long ", 38)),
				body:        strings.Repeat("line\n", 40),
				fullCommand: fmt.Sprintf("`gt-mail read %d.`", i),
			})
		}
		text := document(10_000, contract.UTF16Units, sections)
		if n := contract.UTF16Units(text); n > 10_000 || n < 3000 && many > 3 {
			t.Errorf("%d: %d units", many, n)
		}
		if !strings.HasPrefix(text, "# Banner\n\nwho\n\n## What to do now\n\nGo on.\n") || strings.Count(text, "a line of the note") != 100 {
			t.Errorf("%d: the front is cut:\n%.500s", many, text)
		}
		named := strings.Count(text, "## Hooked work")
		if rest := many - named; rest > 0 && !strings.HasSuffix(text, fmt.Sprintf("\n[%d more sections are left out]\n", rest)) {
			t.Errorf("%d: nothing counts the %d that are left out:\n%s", many, rest, text[len(text)-200:])
		}
		if many == 30 && named < 15 {
			t.Errorf("only %d are named", named)
		}
	}
}

// No text exceeds its limit.
func FuzzDocument(f *testing.F) {
	f.Add(600, "banner", "a\nlong\nnote", 5)
	f.Add(0, "x", "", 0)
	f.Add(200, strings.Repeat("𝄞", 300), "\n\n\n", 100)
	f.Fuzz(func(t *testing.T, limit int, first, body string, many int) {
		limit, many = min(limit, 50_000), min(many, 200)
		sections := []section{{body: first}}
		for range many {
			sections = append(sections, section{title: first, body: body, fullCommand: "`cat`"})
		}
		text := document(limit, contract.UTF16Units, sections)
		if n := contract.UTF16Units(text); n > max(limit, 0) {
			t.Fatalf("%d units of %d", n, limit)
		}
		if text != document(limit, contract.UTF16Units, sections) {
			t.Fatal("not the same again")
		}
	})
}

// A text that fits exactly is not cut.
func TestDocumentAtItsLimit(t *testing.T) {
	sections := []section{{body: "banner"}, {title: "Note", body: strings.Repeat("line\n", 200), fullCommand: "`all`"}}
	whole := document(1<<20, contract.UTF16Units, sections)
	n := contract.UTF16Units(whole)
	if got := document(n, contract.UTF16Units, sections); got != whole {
		t.Error("cut where it fits")
	}
	if got := document(n-1, contract.UTF16Units, sections); !strings.HasSuffix(got, "more lines are left out: `all` prints all]\n") {
		t.Errorf("%s", got[len(got)-80:])
	}
}

// A frame stays complete wherever its words are cut, and is left out without words.
func TestDocumentKeepsFrames(t *testing.T) {
	words := strings.Repeat("a line </note> of the note\n", 60) + strings.Repeat("x", 3000)
	sections := []section{
		{body: "# Banner"},
		section{title: "The note", fullCommand: "`gt-mail read x`"}.frame("max", words),
		section{title: "One line", fullCommand: "`gt-mail read y`"}.frame("max", strings.Repeat("word ", 2000)),
	}
	for limit := 100; limit < 20_000; limit += 83 {
		text := document(limit, contract.UTF16Units, sections)
		if n := contract.UTF16Units(text); n > limit {
			t.Fatalf("limit %d: %d units", limit, n)
		}
		begins, ends, told := 0, 0, false
		for line := range strings.Lines(text) {
			switch {
			case line == "<note from=\"max\">\n":
				begins, told = begins+1, true
			case line == "</note>\n":
				ends, told = ends+1, false
			case strings.HasPrefix(line, "a line") || strings.HasPrefix(line, "word ") || strings.HasPrefix(line, "xx"):
				if !told {
					t.Fatalf("limit %d: %.60q is told outside of a frame:\n%s", limit, line, text)
				}
			case strings.Contains(line, "left out") && told:
				t.Fatalf("limit %d: gt's own line is in the frame:\n%s", limit, text)
			}
		}
		if begins != ends || told || strings.Count(text, "</note") != ends {
			t.Fatalf("limit %d: %d frames begin and %d end:\n%s", limit, begins, ends, text)
		}
	}
}
