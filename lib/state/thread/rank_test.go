package thread

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func said(texts ...string) *Thread {
	t := &Thread{ChainID: "c"}
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for i, text := range texts {
		t.Prompts = append(t.Prompts, Quote{Text: text, Session: "s", Time: at.Add(time.Duration(i) * time.Minute)})
	}
	return t
}

// Of two messages in the middle of a long conversation the first carries more.
func TestScore(t *testing.T) {
	var plain []string
	for i := range 40 {
		plain = append(plain, fmt.Sprintf("please look at the %s again and go on with it", []string{"importer", "parser", "export", "cache"}[i%4]))
	}
	for name, c := range map[string][2]string{
		"what must not be done":    {"never look at the export", "please look at the export"},
		"a wish":                   {"I want the export in parts", "show me the export in parts"},
		"a name of a machine":      {"the box is build-03", "the box is slow"},
		"a number":                 {"the port is 7443", "the port is open"},
		"a person":                 {"the report goes to Dana Reeve", "the report goes to the printer"},
		"a label":                  {"FACT: the cache is cold", "well, the cache is cold"},
		"a correction":             {"the parser is right, not the importer", "the parser is right, and the importer"},
		"a fact before a request":  {"production runs the old kernel since monday", "please look at the parser again and go on"},
		"a taste, not a task":      {"tabs, width four, and braces on the same line", "look at the export of parser/export.go again and go on"},
		"a fact, not a log":        {"sessions live in the redis box", "the log says\n" + strings.Repeat("2027-03-04 05:06:07 INFO box=7 took 12ms id=98\n", 12)},
		"a fact, not one of many":  {"invoices are archived by the night crew", "please look at the parser again and go on with it at x/9931.py or y/4412.py"},
		"a fact, not an error":     {"invoices are archived by the night crew", "again:\nTraceback (most recent call last):\n" + strings.Repeat("  File \"/srv/box.py\", line 7, in dip\n", 6) + "ValueError: dip must not be none"},
		"an order, not a question": {"servers should answer within a second", "the RFC says that servers should answer within a second, is it true?"},
		"where the work stands":    {"left are TAV-478 and KIZ-347", "used are TAV-478 and KIZ-347"},
		"which value holds":        {"we have 956 for the trip, not 201 or so", "we do not have a plan for the trip of 956 or 201"},
		"a rare name":              {"the box is called dana/milas.py", "look into the cache/export.py"},
		"what was said only once":  {"one verdict beats three menus", "please look at the queue again and go on"},
		"in German":                {"nie auf den Server schreiben", "mal auf den Server schreiben"},
		"in Japanese":              {"本番には絶対に触らないで", "次のファイルを見て"},
		"in Spanish":               {"nunca toques el archivo", "mira el archivo"},
		"the later value":          {"the deadline of the port is the 21st", "the deadline of the port is the 14th"},
	} {
		all := slices.Concat(plain, []string{c[1]}, plain, []string{c[0]}, plain)
		if name != "the later value" { // the place decides there
			all = slices.Concat(plain, []string{c[0]}, plain, []string{c[1]}, plain)
		}
		th := said(all...)
		th.Rank()
		points := map[string]int{}
		for _, q := range th.Prompts {
			points[q.Text] = q.Points
		}
		if points[c[0]] <= points[c[1]] {
			t.Errorf("%s: %q has %d, %q has %d", name, c[0], points[c[0]], c[1], points[c[1]])
		}
	}
}

// Where words that oblige are said all day, they carry less than a sentence of its own.
func TestWornCues(t *testing.T) {
	things := []string{"the parser", "the export", "the cache", "the sidebar", "the login form", "the price table", "the router"}
	states := []string{"should be simpler", "always reloads", "must be faster than that", "is only half there", "needs another look", "never comes back"}
	var all []string
	for i := range 42 {
		all = append(all, things[i%7]+" "+states[i%6]+", and "+things[i/7]+" "+states[i%5])
	}
	const fact, cue = "invoices are archived by the night crew", "the sidebar should be simpler, and the router always reloads"
	all = slices.Concat(all[:20], []string{fact}, all[20:30], []string{cue}, all[30:])
	th := said(all...)
	th.Rank()
	points := map[string]int{}
	for _, q := range th.Prompts {
		points[q.Text] = q.Points
	}
	if points[fact] <= points[cue] {
		t.Errorf("%q has %d, %q has %d", fact, points[fact], cue, points[cue])
	}
}

// Of two answers of an agent the one that says what was decided carries more.
func TestScoreOfAnswers(t *testing.T) {
	for _, decided := range []string{"Decided: the flush stays in one step.", "The cause is the second booking.", "Wir haben uns für Redis entschieden.", "On a choisi la file unique."} {
		th := said("The tests of the importer pass again.", decided, "I went on with the parser.", "I went on with the export.", "I went on with the cache.")
		th.Answers, th.Prompts = th.Prompts, nil
		th.Rank()
		if th.Answers[1].Points <= th.Answers[0].Points {
			t.Errorf("%q has %d points, %q has %d", decided, th.Answers[1].Points, th.Answers[0].Text, th.Answers[0].Points)
		}
	}
}

// What says the same with other values is a group; what speaks of something else is none.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"the budget is $201 in total", "the budget is $956 in total", true},
		{"please check a/b.go: add a smoke test", "please check c.go: add a smoke test", true},
		{"Mara Lind reviews the release", "Toni Brandt reviews the release", true},
		{"the production database is MySQL 8", "the staging database is MySQL 8", false},
		{"schau dir bitte a/b.go an", "schau dir bitte c.go an", true},
		{"{a.go} を見てください", "{b.go} を見てください", false}, // one word is no frame
		{"a.go を見て、テストを足して", "b.go を見て、テストを足して", true},
		{"option 2", "option 3", false},
		{"the budget is 201 for now", "the budget is 956, not 201", true},
		{"Der Port ist 443", "der Port ist 7443, nicht 443", true},
		{"look at line 201 of a.go", "the budget is 956, not 201", false},
		{"FACT: the freeze is on 2027-01-02", "the freeze is on 2027-03-04", true},
		{"these must stay as they are:\n" + strings.Repeat("src/auth/login.go\n", 6), "these must stay as they are:\n" + strings.Repeat("lib/pay/book.go\n", 6), false},
	} {
		th := said(c.one, c.other)
		th.Rank()
		if same := th.Prompts[0].Group != 0 && th.Prompts[0].Group == th.Prompts[1].Group; same != c.same {
			t.Errorf("%q and %q: %v", c.one, c.other, same)
		}
		if c.same && th.Prompts[0].Points >= th.Prompts[1].Points {
			t.Errorf("%q has %d points, which %q replaces", c.one, th.Prompts[0].Points, c.other)
		}
	}
}

// Of two limits that differ in their amounts the later one holds; of two that differ in what
// they are about both do.
func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		one, other string
		want       int
	}{
		{"HARD CONSTRAINT: the budget is $201.", "HARD CONSTRAINT: the budget is $956.", 1},
		{"Rule: the freeze begins on 2027-01-02.", "Rule: the freeze begins on 2027-03-04.", 1},
		{"Never touch lexer.go in the old module.", "Never touch parser.go in the old module.", 2},
		{"HARD CONSTRAINT: the budget is $201.", "HARD CONSTRAINT: the travel budget is $956.", 2},
	} {
		th := &Thread{ChainID: "c"}
		th.AddPrompts(Part{Session: "s", Prompts: said(c.one, c.other).Prompts})
		if n := len(th.Instructions); n != c.want || th.Instructions[n-1].Text != c.other {
			t.Errorf("%+v", th.Instructions)
		}
	}
}

// Explain says why, and what the points add up to.
func TestExplain(t *testing.T) {
	th := said("FACT: the box is build-03", "and never reboot it", "yes", "ok", "go on")
	th.Rank()
	for i, s := range th.Explain(th.Prompts, false) {
		if s.Points != th.Prompts[i].Points {
			t.Errorf("%q has %d points, explained are %d: %q", th.Prompts[i].Text, th.Prompts[i].Points, s.Points, s.Why)
		}
	}
	if why := strings.Join(th.Explain(th.Prompts, false)[0].Why, "; "); !strings.Contains(why, "begins with what it is") || !strings.Contains(why, "names") {
		t.Errorf("%s", why)
	}
}

// What an earlier gt ranked is ranked anew, and marked as done where a command and an answer
// follow.
func TestRankingOfOld(t *testing.T) {
	want := said("never push to main", "look at the parser", "go on", "and on", "and on with it")
	want.Prompts[1].Done = true
	want.Actions = []Quote{{Text: "`go test`: ok", Session: "s", Time: want.Prompts[1].Time.Add(time.Second)}, {Text: "`go vet`: ok", Session: "s", Time: want.Prompts[3].Time.Add(time.Second)}}
	want.Answers = []Quote{{Text: "It passes.", Session: "s", Time: want.Prompts[1].Time.Add(2 * time.Second)}}
	old := *want
	old.Prompts, old.Answers, old.Actions = slices.Clone(want.Prompts), slices.Clone(want.Answers), slices.Clone(want.Actions)
	old.Prompts[1].Done = false
	for _, all := range [][]Quote{old.Prompts, old.Answers, old.Actions} {
		for i := range all {
			all[i].Points, all[i].Cues, all[i].Group = 7, 7, 7
		}
	}
	want.Rank()
	if old.Rank(); !reflect.DeepEqual(&old, want) {
		t.Errorf("%+v, want %+v", old, want)
	}
	old.Prompts[0].Points = 7
	if old.Rank(); old.Prompts[0].Points != 7 {
		t.Error("it is ranked again")
	}
}

func BenchmarkRank(b *testing.B) {
	var all []string
	for i := range 2500 {
		all = append(all, fmt.Sprintf("please look at the importer number %d again, the retry in internal/x%d.go backs off with jitter %d", i, i%50, i*7))
	}
	th := said(all...)
	for b.Loop() {
		th.Prompts[0].Points = 0
		th.Rank()
	}
}
