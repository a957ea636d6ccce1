package standing

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// labelled is a prompt with what a careful person finds in it.
type labelled struct {
	name, lang, text string
	labels           []string
}

func prompts(t *testing.T) []labelled {
	path := "testdata/prompts.txt"
	if p := os.Getenv("PROMPTS"); p != "" {
		path = p
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []labelled
	for record := range strings.SplitSeq("\n"+string(data), "\n=== ") {
		head, rest, ok := strings.Cut(record, "\n")
		if !ok {
			continue
		}
		text, labels, ok := strings.Cut("\n"+rest, "\n---\n")
		if !ok {
			text = strings.TrimSuffix("\n"+rest, "\n---")
		}
		name, lang, _ := strings.Cut(head, " ")
		p := labelled{name: name, lang: lang, text: strings.TrimPrefix(text, "\n")}
		for line := range strings.Lines(labels) {
			if line = oneLine(line); line != "" {
				p.labels = append(p.labels, line)
			}
		}
		all = append(all, p)
	}
	return all
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// How much of what a careful person finds is found, and how much else.
func TestPrompts(t *testing.T) {
	type score struct{ labels, found, right, given int }
	scores := map[string]*score{}
	for _, p := range prompts(t) {
		s := scores[p.lang]
		if s == nil {
			s = new(score)
			scores[p.lang] = s
		}
		found := slices.DeleteFunc(Find(p.text), func(i Instruction) bool { return i.Kind == Lifted })
		s.labels += len(p.labels)
		s.given += len(found)
		for _, l := range p.labels {
			if matched(l, found) {
				s.found++
			} else {
				t.Logf("%s %s missed: %s", p.name, p.lang, l)
			}
		}
		for _, f := range found {
			ok := false
			for _, l := range p.labels {
				ok = ok || matched(l, []Instruction{f})
			}
			if ok {
				s.right++
			} else {
				t.Logf("%s %s wrong: %s", p.name, p.lang, f.Text)
			}
		}
	}
	all := score{}
	for lang, s := range scores {
		fmt.Printf("%s: %d of %d found, %d of %d right\n", lang, s.found, s.labels, s.right, s.given)
		all = score{all.labels + s.labels, all.found + s.found, all.right + s.right, all.given + s.given}
	}
	precision, recall := float64(all.right)/float64(max(all.given, 1)), float64(all.found)/float64(max(all.labels, 1))
	fmt.Printf("precision %.3f, recall %.3f\n", precision, recall)
	if precision < 0.90 || recall < 0.80 {
		t.Errorf("precision %.3f and recall %.3f, want 0.90 and 0.80", precision, recall)
	}
}

// matched reports whether one of them is what the label says: the one contains the
// other, or most of its words.
func matched(label string, found []Instruction) bool {
	label = strings.ToLower(label)
	for _, f := range found {
		text := strings.ToLower(strings.TrimSuffix(f.Text, "…"))
		if strings.Contains(text, label) || strings.Contains(label, text) {
			return true
		}
		in, words := 0, strings.Fields(label)
		for _, w := range words {
			if strings.Contains(text, w) {
				in++
			}
		}
		if utf8.RuneCountInString(label) > 20 && in*10 >= len(words)*7 {
			return true
		}
	}
	return false
}

// What is said later holds, where it says the same or the opposite.
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		said string // a line each time
		want string
	}{
		{"Never push to main.\nAlways run the tests.", "Never push to main.|Always run the tests."},
		{"Never push to main.\nYou can push to main now.", ""},
		{"Never push to main.\nYou can push now.", ""},
		{"Never push to main.\nAlways push to main.", "Always push to main."},
		{"Don't touch the tests.\nFrom now on, never touch the tests!", "From now on, never touch the tests!"},
		{"Don't touch the tests.\nDon't touch the docs.", "Don't touch the tests.|Don't touch the docs."},
		{"Never push to main.\nAlways push to main behind a flag and tag each of the releases.", "Never push to main.|Always push to main behind a flag and tag each of the releases."},
		{"Use only tabs.\nWhy can you never push now?", "Use only tabs."},
		{"Bitte nie auf main pushen.\nDu darfst jetzt auf main pushen.", ""},
		{"Don't commit yet.\nok you can commit now", ""},
		{"Never push to main.\nNever push to main.", "Never push to main."},
		{"You can see it now.\nnever use sudo", "never use sudo"},
	} {
		var all []Instruction
		for said := range strings.SplitSeq(c.said, "\n") {
			all = Merge(all, Find(said), 20)
		}
		var texts []string
		for _, i := range Holding(all) {
			texts = append(texts, i.Text)
		}
		if got := strings.Join(texts, "|"); got != c.want {
			t.Errorf("%q leaves %q, want %q", c.said, got, c.want)
		}
	}
	var many []Instruction
	for i := range 30 {
		many = Merge(many, Find(fmt.Sprintf("Never touch file%d.go", i)), 20)
	}
	if len(many) != 20 || many[0].Text != "Never touch file10.go" {
		t.Errorf("of many are kept %d, from %q on", len(many), many[0].Text)
	}
}

// The end of a turn waits for this.
func BenchmarkFind(b *testing.B) {
	for name, text := range map[string]string{
		"request": strings.Repeat("Port the parser to the new grammar, but never touch the tests. ", 10),
		"paste":   strings.Repeat("2026-01-17T01:00:00Z INFO  server: request 4711 took 12 ms and must not be retried\n", 800),
		"word":    strings.Repeat("ä", maxText/2),
		"prose":   strings.Repeat("the quick brown fox jumps over the lazy dog and never comes back to us\n", 900),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}

// Whatever is said, what is found is short and stands on one line.
func FuzzFind(f *testing.F) {
	for _, s := range []string{"Never push to main.", "a) don't\n> never\n```\nmust\n", "`never`", "必须用 tabs。", "«ne touche pas»", "1. always\n\n\tnever", "\"do not\" only", "MUST NOT\xff", "<a>never</a>", "::(", "-/", "a/", "'", "(()("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, in := range Find(text) {
			if utf8.RuneCountInString(in.Text) > MaxLength || strings.ContainsAny(in.Text, "\n\r") || in.Text == "" || in.Kind.String() == "" {
				t.Errorf("%q gives %+v", text, in)
			}
		}
	})
}

// What stands in code, in a quotation or in output that was pasted is nobody's order.
func TestPlaces(t *testing.T) {
	for _, text := range []string{
		"Look at this:\n```\nnever push to main\n```\nWhat does it do?",
		"Look at this:\n~~~sh\nalways run this\n~~~\n",
		"Tom wrote:\n> Never push to main.\n\nIs he right?",
		"It prints \"you must never do that\" and stops.",
		"It prints `never do that`.",
		"2026-01-17T01:00:00Z WARN never retry this request",
		"[error] you must not call this",
		"src/a.go:12:3: value must be a string",
		"TypeError: argument must be a number",
		"<log>\nnever do this\n</log>\nfix it",
		"<system-reminder>You must always answer.</system-reminder>",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%q gives %+v", text, found)
		}
	}
	for text, want := range map[string]string{
		"Rules:\n- tabs\n- British spelling\n\nNow port the parser.": "tabs|British spelling",
		"1. Never push to main.":                                     "Never push to main.",
		"Never use `git push --force`.":                              "Never use `git push --force`.",
		strings.Repeat("word ", 60) + "and, please, never push":      "never push",
	} {
		var texts []string
		for _, in := range Find(text) {
			texts = append(texts, in.Text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}
