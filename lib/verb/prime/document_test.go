package prime

import (
	"fmt"
	"strings"
	"testing"

	"gt/lib/hook"
)

func TestDocumentFits(t *testing.T) {
	long := strings.Repeat("äöü 𝄞 line of text that goes on\n", 400)
	sections := []section{
		{body: "# Banner\n\nwho"},
		{title: "Note", body: long, all: "`gt-mail read x`"},
		{title: "Work", body: long, all: "`gt-mail read y`"},
		{title: "Empty"},
		{title: "Role", body: strings.Repeat("one endless line ", 3000), all: "`cat role`"},
	}
	for limit := 600; limit < 40_000; limit += 97 {
		text := document(limit, sections)
		if n := hook.Units(text); n > limit {
			t.Fatalf("limit %d: %d units", limit, n)
		}
		if !strings.HasPrefix(text, "# Banner\n\nwho\n") {
			t.Fatalf("limit %d: begins with %q", limit, text[:40])
		}
		for _, s := range sections {
			if s.all != "" && !strings.Contains(text, s.all) && !strings.Contains(text, s.body) {
				t.Fatalf("limit %d: nothing says how to print %q:\n%s", limit, s.title, text)
			}
		}
		if strings.Contains(text, "Empty") {
			t.Fatal("an empty section has a heading")
		}
	}
	if whole := document(1<<20, sections); strings.Contains(whole, "left out") {
		t.Fatal("something was left out where there was room")
	}
}

func TestFitCountsWhatIsLeftOut(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	text := fit(section{body: strings.TrimSpace(b.String()), all: "`all`"}, 200)
	kept := strings.Count(text, "line ")
	if want := fmt.Sprintf("[%d more lines are left out: `all` prints all]\n", 50-kept); !strings.HasSuffix(text, want) {
		t.Fatalf("want the end %q:\n%s", want, text)
	}
}
