package pasted

import (
	"fmt"
	"strings"
	"testing"
)

func numbered(format string, n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, format+"\n", i)
	}
	return strings.TrimSpace(all.String())
}

// What a person types stays word for word, in any language and form.
func TestTypedStays(t *testing.T) {
	for _, text := range []string{
		"yes",
		"Use tabs, never spaces.",
		"the staging box listens on 7443, not 443",
		"no wait\n\nactually drop the CSV path, keep JSON",
		"Build a page for the settings.\n\nIt has:\n- a form for the name\n- a toggle for dark mode\n- a button that saves\n- an undo link\n- a hint below each field\n- keyboard shortcuts\n- tests\n- docs\n- a changelog entry\n- a screenshot\n- a demo\n- nothing else",
		strings.TrimSpace(strings.Repeat("1. Do the first thing well, and say when it is done.\n", 20)),
		strings.TrimSpace(strings.Repeat("Diese Zeile hat die Person von Hand getippt, und sie meint sie so.\n", 20)),
		strings.TrimSpace(strings.Repeat("请不要修改公共接口，除非我明确要求。\n", 20)),
		strings.TrimSpace(strings.Repeat("テストを先に書いて、それから実装してください。\n", 20)),
		strings.TrimSpace(strings.Repeat("A long paragraph that somebody wrote as one line without any break in it. ", 100)),
		"look at lib/parser/lexer.go:42, the loop never ends\nand at lib/parser/ast.go",
		"```\nshort(block)\n```\nkeep the name",
		"Map the fields like this:\n| old | new |\n|---|---|\n" + numbered("| field%d | Field%[1]d |", 20),
		"The config must be:\nservices:\n" + numbered("  web%d:\n    image: nginx\n    ports:\n      - 80%[1]d:80", 8),
		"Endpoints:\n" + numbered("GET /api/users/%d -> 200", 20),
		"Set:\n" + numbered("DB_HOST_%d=10.0.0.%[1]d", 20),
		"Rename:\n" + numbered("foo_%d -> bar_%[1]d", 20),
		"Rules\n" + numbered("    never touch file %d without asking", 20),
		"Feature: bookings\n" + numbered("  Scenario: case %d\n    Given a user %[1]d\n    When they log in\n    Then they see a page", 8),
		"My rules:\n```\n" + numbered("Never do thing %d", 20) + "\n```",
		numbered("> We saw the error on day %d again, please look", 40),
		"Spec:\n" + numbered("- `handle%d(req)` returns {code: 40%[1]d, msg: \"bad\"} if req.id < 0 && !req.force", 40),
		"Todo\n" + numbered("- [ ] port module_%d/*.go\n    - [ ] its_tests_%[1]d && docs/*.md", 40),
		strings.TrimSpace(strings.Repeat("change lib/a_b/c_d.go, so that get_user_by_id(id) calls find_user(id, opts) first, ", 50)),
	} {
		if got := Shorten(text); got != text {
			t.Errorf("%q became\n%s", text, got)
		}
	}
}

// Of a long paste both ends and its size stay, and what is typed around it.
func TestPastes(t *testing.T) {
	before, after := "this fails since yesterday:", "never mind the first warning, fix the panic"
	for name, paste := range map[string]string{
		"log":       numbered("2026-01-17T10:00:%02d.123Z INFO worker started id=%[1]d", 40),
		"levels":    numbered("INFO  [main] step %d of the pipeline has finished without errors", 40),
		"trace":     "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\n" + numbered("main.walk(0x%x, 0xc000012345)\n\t/src/app/walk.go:%[1]d +0x1d", 60),
		"python":    "Traceback (most recent call last):\n" + numbered("  File \"/src/app.py\", line %d, in run\n    return self.step(x)", 60),
		"fenced":    "```go\n" + numbered("the words of block %d look typed", 100) + "\n```",
		"code":      numbered("const value%d = compute(a, b);", 100),
		"indented":  numbered("    the words of line %d look typed", 100),
		"diff":      "diff --git a/x b/x\n@@ -1,9 +1,9 @@\n" + numbered("+	value := compute(%d)", 100),
		"listing":   numbered("-rw-r--r-- 1 me me %d Jan 17 10:00 file.txt", 100),
		"tests":     numbered("--- FAIL: TestParse (0.0%ds)", 100),
		"compiler":  numbered("src/main.c:%d:5: error: expected expression before token", 100),
		"json":      "{\n" + numbered("  \"key%d\": [1, 2, 3],", 100) + "\n}",
		"one error": numbered("2026-01-17 10:00:%02d ERROR cannot connect\nthe server said that it is busy", 40),
	} {
		text := before + "\n" + paste + "\n\n" + after
		got := Shorten(text)
		lines := strings.Split(got, "\n")
		if len(lines) > 14 || lines[0] != before || lines[len(lines)-1] != after || !strings.Contains(got, " lines, ") {
			t.Errorf("%s became\n%s", name, got)
		}
		if again := Shorten(got); again != got {
			t.Errorf("%s became, the second time,\n%s", name, again)
		}
	}
	long := `{"a":"` + strings.Repeat("x1", 5000) + `"}`
	if got := Shorten("see " + long); len(got) > 600 {
		t.Errorf("a line of %d bytes became one of %d", len(long), len(got))
	}
	if got := Shorten(strings.Repeat("words and words ", 100_000)); len(got) > maxText+100 {
		t.Errorf("a text became one of %d bytes", len(got))
	}
}

// What a person typed between the lines of a paste stays, unless the paste itself has many
// such lines.
func TestRemarksInPastes(t *testing.T) {
	log := numbered("2026-01-17T10:00:%02d.123Z INFO worker started id=%[1]d", 40)
	const remark = "this one above is the real problem, ignore the rest"
	got := Shorten(log + "\n" + remark + "\n" + log)
	if lines := strings.Split(got, "\n"); len(lines) != 9 || lines[4] != remark {
		t.Errorf("it became\n%s", got)
	}
	if again := Shorten(got); again != got {
		t.Errorf("it became, the second time,\n%s", again)
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("```\n" + numbered("x%d", 20))
	f.Add(numbered("\tä%d", 20) + "\n\nwords")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Shorten(text); len(got) > len(text)+100 {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	})
}

// What is typed beside a paste stays, the paste is named, and a list of values is no paste.
func TestTypedBesidePastes(t *testing.T) {
	log := strings.Repeat("2027-03-04 05:06:07 INFO took 12ms id=98\n", 12)
	code := "```\n" + strings.Repeat("x, err := a.B(ctx, \"c\", 7)\n", 12) + "```"
	values := "Deadline: 2027-01-02\nBudget: $956\nPort: 7443\nHost: build-03\nBranch: topic/x-31\nOwner: D. R.\nZone: UTC"
	files := "these are left:\n" + strings.Repeat("src/a/b_c.ts\n", 8) + "take them one by one"
	mark := Mark(func(s string) string { return strings.ReplaceAll(s, "hunter-"+strings.Repeat("x1", 40), "***") })
	for _, c := range []struct{ text, want string }{
		{"the log says\n" + strings.TrimSpace(Shorten(strings.Repeat(log, 10))) + "\nwhy", "the log says\n[120 lines: 2027-03-04 05:06:07 INFO took 12ms id=98…]\nwhy"},
		{"2027-03-04 05:06:07 by=hunter-" + strings.Repeat("x1", 40) + "\n" + log, "[13 lines: 2027-03-04 05:06:07 by=***…]\n"},
		{"the log says\n" + log + "why is that so slow", "the log says\n[12 lines: 2027-03-04 05:06:07 INFO took 12ms id=98…]\nwhy is that so slow"},
		{"look\n" + code, "look\n[14 lines: x, err := a.B(ctx, \"c\", 7)…]"},
		{files, "these are left:\n[8 lines: src/a/b_c.ts…]\ntake them one by one"},
		{values, values},
		{"- " + strings.Repeat("never push to main\n- ", 8) + "ask", "- " + strings.Repeat("never push to main\n- ", 8) + "ask"},
		{"x := 1\ny := 2\nwhy", "x := 1\ny := 2\nwhy"},
		{log[:200] + "\nplease never keep this id\n" + log, "[18 lines: 2027-03-04 05:06:07 INFO took 12ms id=98…]\nplease never keep this id\n"},
	} {
		if got := Typed(c.text, mark); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

// Each line is looked at a few times at most, and Typed looks at the beginning alone.
func TestManyLines(t *testing.T) {
	blank := "a" + strings.Repeat("\n", 1<<20) + "b"
	if got := Shorten(blank); len(got) > maxText+100 {
		t.Errorf("%d bytes", len(got))
	}
	none := func([]string) string { return "" }
	long := "keep the name\n" + strings.Repeat("x, err := a.B(ctx, 7)\n", 1000) + "why"
	if got := Typed(long, none); got != "keep the name\n…" {
		t.Errorf("%q", got)
	}
	line := strings.Repeat("words and words ", 1000)
	if got := Typed(line+"\nwhy", none); got != line+"\n…" {
		t.Errorf("%d bytes", len(got))
	}
}
