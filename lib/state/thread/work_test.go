package thread

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func textsOf(all []Quote) (texts []string) {
	for _, q := range all {
		texts = append(texts, q.Text)
	}
	return texts
}

// The last answer of each turn is kept, once, and not what was taken back with its question.
func TestAnswers(t *testing.T) {
	at := func(minute int, text string) Quote {
		return Quote{Text: text, Time: time.Date(2026, 1, 17, 1, minute, 0, 0, time.UTC)}
	}
	to := func(asked, minute int, text string) Quote {
		q := at(minute, text)
		q.Asked = at(asked, "").Time
		return q
	}
	th := &Thread{ChainID: "c"}
	take := func(p Part, want ...string) {
		t.Helper()
		p.Session = "s"
		for range 2 {
			if th.AddPart(p); !slices.Equal(textsOf(th.Answers), want) {
				t.Errorf("%q, want %q", textsOf(th.Answers), want)
			}
		}
	}
	take(Part{Prompts: []Quote{at(1, "how?")}, Answers: []Quote{to(1, 2, "I look.")}}, "I look.")
	take(Part{Answers: []Quote{to(1, 4, "With a lock.")}}, "With a lock.")
	take(Part{Answers: []Quote{to(1, 4, " ")}}, "With a lock.") // an empty text is no answer
	take(Part{Prompts: []Quote{at(5, "and then?")}, Answers: []Quote{to(5, 6, "Done.")}}, "With a lock.", "Done.")
	take(Part{TakenBack: []Quote{at(5, "and then?")}, Prompts: []Quote{at(1, "how?")}, Answers: []Quote{to(1, 4, "With a lock.")}}, "With a lock.")
	th.AddPart(Part{Session: "other", Answers: []Quote{at(3, "Another's.")}})
	if got := textsOf(th.Answers); !slices.Equal(got, []string{"Another's.", "With a lock."}) {
		t.Errorf("%q", got)
	}
	for i := range 400 {
		th.AddPart(Part{Session: "s", Prompts: []Quote{at(10+2*i, fmt.Sprint("go on ", i))}, Answers: []Quote{to(10+2*i, 11+2*i, fmt.Sprint(i, strings.Repeat(" word", 300)))}})
	}
	size := len(strings.Join(textsOf(th.Answers), ""))
	if n := len(th.Answers); n != 402 || size > maxPrompts || len(th.Answers[n-1].Text) < 1500 || len(th.Answers[2].Text) > 400 {
		t.Errorf("%d answers of %d bytes", n, size)
	}
}

// Of a command the last run is kept, of a session its changed files once.
func TestActions(t *testing.T) {
	th := &Thread{ChainID: "c"}
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	for i, text := range []string{"`go test ./a`: ok a 0.4s", "`make lint` failed: x.go:3", "`go test ./a` failed: FAIL a", "`make lint`: ok"} {
		th.AddPart(Part{Session: "s", Actions: []Quote{{Text: text, Time: at.Add(time.Duration(i) * time.Minute)}}, Files: []string{fmt.Sprint("f", i), "b.go"}, Time: at.Add(time.Duration(i) * time.Minute)})
	}
	if got, want := textsOf(th.Actions), []string{"`go test ./a` failed: FAIL a", "`make lint`: ok", "files changed: f3, b.go"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for i := range 300 {
		th.AddPart(Part{Session: "s", Actions: []Quote{{Text: fmt.Sprintf("`run %d`", i), Time: at.Add(time.Hour)}}})
	}
	if n := len(th.Actions); n != maxActions || th.Actions[n-1].Text != "`run 299`" {
		t.Errorf("%d: %v", n, th.Actions[n-1])
	}
	into := &Thread{ChainID: "d"}
	into.JoinSession(th, "s")
	if th.RemoveSession("s"); len(into.Actions) != maxActions || len(th.Actions) > 0 {
		t.Errorf("%d and %d", len(into.Actions), len(th.Actions))
	}
}

// What the agent worked on and answered carries less than what it only took note of.
func TestDone(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 17, 1, minute, 0, 0, time.UTC) }
	th := &Thread{ChainID: "c"}
	for range 2 {
		th.AddPart(Part{Session: "s", Prompts: []Quote{{Text: "split the parser in two", Time: at(1)}}, Answers: []Quote{{Text: "I split it.", Time: at(2), Asked: at(1), Done: true}}})
		th.AddPart(Part{Session: "s", Prompts: []Quote{{Text: "split is the name of the tool", Time: at(3)}}, Answers: []Quote{{Text: "Noted.", Time: at(4), Asked: at(3)}}})
	}
	if !th.Prompts[0].Done || th.Prompts[1].Done {
		t.Errorf("%+v", th.Prompts)
	}
	scores := th.Explain(th.Prompts, false)
	if why := strings.Join(scores[0].Why, "; "); !strings.Contains(why, "done") || scores[0].Points >= scores[1].Points {
		t.Errorf("%+v", scores)
	}
}

// The files that a session changed have the time of its last entry, or at which they are first
// heard of, not that of a later reading, so that what happened in the folder between the two is
// told.
func TestTimeOfFiles(t *testing.T) {
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	th := &Thread{ChainID: "c"}
	for i, c := range []struct {
		files            []string
		last, read, want time.Time
	}{
		{[]string{"a.go"}, time.Time{}, at, at},
		{[]string{"a.go"}, time.Time{}, at.Add(time.Hour), at},
		{[]string{"b.go", "a.go"}, time.Time{}, at.Add(time.Hour), at.Add(time.Hour)},
		{[]string{"b.go", "a.go"}, at.Add(2 * time.Hour), at.Add(3 * time.Hour), at.Add(2 * time.Hour)},
	} {
		if th.AddPart(Part{Session: "s", Files: c.files, Time: c.read, Last: c.last}); !th.LastTime().Equal(c.want) {
			t.Errorf("%d: %v, want %v", i, th.LastTime(), c.want)
		}
	}
}
