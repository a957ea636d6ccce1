package thread

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/standing"
)

var testTime = time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)

func part(id string, said ...string) Part {
	p := Part{Session: session.ID(id), Agent: "claude", Time: testTime}
	for i, text := range said {
		at := testTime.Add(time.Duration(i) * time.Second)
		if i == 0 {
			p.First = Quote{Text: text, Time: at}
		}
		p.Prompts = append(p.Prompts, Quote{Text: text, Time: at})
	}
	return p
}

func rules(t *Thread) string {
	var all []string
	for _, in := range t.Instructions {
		all = append(all, in.Text)
	}
	return strings.Join(all, "|")
}

// A session is taken at the end of each turn. An instruction is taken only once, and does
// not come back after another has replaced it.
func TestTake(t *testing.T) {
	th := new(Thread)
	first := part("a", "Port the parser.", "Never push to main.", "Always run the tests.")
	th.AddPart(first)
	th.AddPart(first)
	if got := rules(th); got != "Never push to main.|Always run the tests." || th.Request.Text != "Port the parser." || len(th.Sessions) != 1 {
		t.Fatalf("%s, %+v", got, th)
	}
	th.AddPart(part("b", "Go on.", "You can push to main now."))
	th.AddPart(first)
	if got := rules(th); got != "Always run the tests." || th.Request.Text != "Port the parser." {
		t.Errorf("after it was taken back: %s, %q", got, th.Request.Text)
	}
	th.AddPart(part("b", "Go on.", "You can push to main now.", "Never push to main."))
	if got := rules(th); got != "Always run the tests.|Never push to main." {
		t.Errorf("after it was said again: %s", got)
	}
	if in, ok := th.Drop(2); !ok || in.Text != "Never push to main." {
		t.Errorf("dropped %+v", in)
	}
	th.AddPart(part("b", "Go on.", "You can push to main now.", "Never push to main."))
	if got := rules(th); got != "Always run the tests." {
		t.Errorf("what the person dropped is back: %s", got)
	}
	if _, ok := th.Drop(2); ok {
		t.Error("a rule was dropped that is not there")
	}
}

// The list of a session that has one counts, also when it is empty at the end.
func TestTodos(t *testing.T) {
	th := new(Thread)
	p := part("a", "Go.")
	p.Todos, p.Done = []Todo{{"port", "in_progress"}, {"test", "pending"}}, 1
	th.AddPart(p)
	th.AddPart(part("b", "Go on.")) // has none yet
	if len(th.Todos) != 2 || th.Done != 1 || th.TodosOf != "a" {
		t.Errorf("%+v", th)
	}
	p.Todos, p.Done = nil, 3
	th.AddPart(p)
	if len(th.Todos) != 0 || th.Done != 3 {
		t.Errorf("%+v", th)
	}
}

// Everything is bounded, and what the person added stays longest.
func TestBounds(t *testing.T) {
	th := &Thread{ChainID: "c"}
	th.AddInstruction(standing.Instruction{Text: "Never sleep.", Kind: standing.KindNever}, testTime)
	for i := range 300 {
		p := part(fmt.Sprint("s", i), strings.Repeat("ä", MaxRequest), fmt.Sprintf("Never touch file%d.go", i))
		for range 100 {
			p.Todos = append(p.Todos, Todo{strings.Repeat("x", 1000), "pending"})
		}
		th.AddPart(p)
		th.AddHandover(Message{Session: p.Session, Note: fmt.Sprint(i), Subject: fmt.Sprint("subject ", i), Text: strings.Repeat("m", 100<<10)})
	}
	last := th.Messages[len(th.Messages)-1]
	if len(th.Instructions) != MaxInstructions || th.Instructions[0].Text != "Never sleep." || len(th.Messages) != maxMessages ||
		len(last.Text) != maxLast || len(th.Messages[0].Text) != maxOlder || len(th.Request.Text) > MaxRequest ||
		len(th.Sessions) != maxSessions || th.Sessions[0].ID != "s0" || len(th.Todos) != maxTodos {
		t.Errorf("%d rules from %q on, %d messages of %d to %d, %d of the request, %d sessions from %s on, %d todos", len(th.Instructions), th.Instructions[0].Text,
			len(th.Messages), len(th.Messages[0].Text), len(last.Text), len(th.Request.Text), len(th.Sessions), th.Sessions[0].ID, len(th.Todos))
	}
	state := place.State(t.TempDir())
	if _, err := Update(state, "c", atomicfile.Unsynced, nil, func(x *Thread) { *x = *th }); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(state, "c", nil); err != nil {
		t.Errorf("the largest thread cannot be read: %v", err)
	}
}

// A note that says something else later takes its own place.
func TestHand(t *testing.T) {
	th := new(Thread)
	th.AddHandover(Message{Note: "1", Subject: "one"})
	th.AddHandover(Message{Note: "2", Subject: "two"})
	th.AddHandover(Message{Note: "1", Subject: "one again"})
	if len(th.Messages) != 2 || th.Messages[1].Subject != "one again" {
		t.Errorf("%+v", th.Messages)
	}
}

// Those who change a thread at the same time lose nothing of each other, a change of
// nothing writes nothing, and what a newer gt wrote stays.
func TestUpdate(t *testing.T) {
	state := place.State(t.TempDir())
	if _, err := Read(state, "c", nil); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.AddPart(part(fmt.Sprint("s", i), "Never touch file"+fmt.Sprint(i)+".go")) })
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	th, err := Read(state, "c", nil)
	if err != nil || len(th.Sessions) != 20 || len(th.Instructions) != 20 {
		t.Fatalf("%v, %+v", err, th)
	}
	path := state.Path("threads", "c.json")
	before, _ := os.Stat(path)
	if _, err := Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.AddPart(part("s3", "Never touch file3.go")) }); err != nil {
		t.Error(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) || before.Mode().Perm() != 0o600 {
		t.Errorf("it was written anew, of mode %v", after.Mode())
	}
	data, _ := os.ReadFile(path)
	os.WriteFile(path, []byte(strings.Replace(string(data), "{", `{"later":[1.50],`, 1)), 0o600)
	if _, err := Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.Drop(1) }); err != nil {
		t.Error(err)
	}
	if data, _ = os.ReadFile(path); !strings.Contains(string(data), "1.50") {
		t.Error("what a newer gt wrote is gone")
	}
	if _, err := Update(state, "../x", atomicfile.Unsynced, nil, func(*Thread) {}); err == nil {
		t.Error("an id that is a path was taken")
	}
}

// What cannot be used is set aside, and what was there before it counts.
func TestTorn(t *testing.T) {
	state := place.State(t.TempDir())
	for i := range 3 {
		if _, err := Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.AddHandover(Message{Note: fmt.Sprint(i)}) }); err != nil {
			t.Fatal(err)
		}
	}
	path := state.Path("threads", "c.json")
	for _, torn := range []string{`{"chain_id":"c",`, `{"chain_id":"d"}`, ""} {
		testenv.NoError(t, os.WriteFile(path, []byte(torn), 0o600))
		told := 0
		th, err := Read(state, "c", func(error) { told++ })
		if err != nil || len(th.Messages) < 2 || told == 0 {
			t.Errorf("%q: %v, %+v, told %d times", torn, err, th, told)
		}
		if th, err = Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.AddHandover(Message{Note: torn}) }); err != nil || len(th.Messages) < 3 {
			t.Errorf("%q: %v, %+v", torn, err, th)
		}
	}
}

// Secrets that became known later are taken out, and nothing else changes.
func TestCleaned(t *testing.T) {
	th := &Thread{ChainID: "c"}
	p := part("a", "The key is hunter2.", "Never print hunter2.")
	p.Todos = []Todo{{"rotate hunter2", "pending"}}
	th.AddPart(p)
	th.AddHandover(Message{Note: "1", Subject: "hunter2", Text: "hunter2"})
	clean := th.Cleaned(func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") })
	if text := fmt.Sprintf("%+v", *clean); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	if !strings.Contains(fmt.Sprintf("%+v", *th), "hunter2") || !reflect.DeepEqual(th.Cleaned(func(s string) string { return s }), th) {
		t.Error("the thread itself was changed")
	}
	if (*Thread)(nil).Essential() != nil || th.Essential().Request.Text == "" || len(th.Essential().Messages) > 0 {
		t.Error(th.Essential())
	}
}

// Earlier hand-overs lose their middle, in whole characters: the next steps are at their
// end.
func TestOlderMessages(t *testing.T) {
	for pad := range 4 {
		th := &Thread{ChainID: "c"}
		th.AddHandover(Message{Note: "1", Text: "the reason " + strings.Repeat("x", pad) + strings.Repeat("ä€", 2000) + " and next"})
		th.AddHandover(Message{Note: "2", Text: "short"})
		old := th.Messages[0].Text
		if len(old) > maxOlder || !utf8.ValidString(old) || !strings.HasPrefix(old, "the reason ") || !strings.HasSuffix(old, " and next") || !strings.Contains(old, "€ … [cut] … ") && !strings.Contains(old, "ä … [cut] … ") {
			t.Errorf("%d bytes: %s", len(old), old)
		}
		th.AddHandover(Message{Note: "3", Text: "short"})
		if th.Messages[0].Text != old {
			t.Errorf("it is cut again: %s", th.Messages[0].Text)
		}
	}
}

// The conversation tells what was asked first in a session; another session's request
// stays, and so does an earlier one.
func TestRequestOfTheSession(t *testing.T) {
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	var th Thread
	take := func(id session.ID, text string, at time.Time, want string) {
		t.Helper()
		th.AddPart(Part{Session: id, First: Quote{Text: text, Time: at}})
		if th.Request.Text != want {
			t.Errorf("the request is %q, not %q", th.Request.Text, want)
		}
	}
	take("one", "second", at.Add(time.Minute), "second") // a hook missed the first
	take("one", "undated", time.Time{}, "second")
	take("two", "other", at, "second")
	take("one", "first", at, "first")
	take("one", "second", at.Add(time.Minute), "first")
}

func texts(all []Quote) string {
	var said []string
	for _, q := range all {
		said = append(said, q.Text)
	}
	return strings.Join(said, "|")
}

// Every message is kept in the order in which it was said, whether the hook of a prompt or
// the conversation reports it first. A message that is said again moves to its last place.
func TestSaid(t *testing.T) {
	th := new(Thread)
	hook := part("a", "Port the parser.")
	th.AddPrompts(hook)
	th.AddPart(part("a", "Port the parser.", "Use tabs.", "yes"))
	late := part("a")
	late.Prompts = []Quote{{Text: "Use tabs.", Time: testTime.Add(1500 * time.Millisecond)}, {Text: " and the lexer\n", Time: testTime.Add(500 * time.Millisecond)}, {Text: "without a time"}}
	th.AddPart(late)
	th.AddPart(late)
	if got := texts(th.Prompts); got != "Port the parser.|and the lexer|Use tabs.|yes|without a time" {
		t.Errorf("%s", got)
	}
	again := part("b")
	again.Prompts = []Quote{{Text: "yes", Time: testTime.Add(time.Hour)}}
	th.AddPart(again)
	if got := texts(th.Distinct()); got != "Port the parser.|and the lexer|Use tabs.|without a time|yes" || len(th.Prompts) != 6 {
		t.Errorf("each once: %s", got)
	}
	// A rule that was dropped holds again if it is said again, but not if it is only read
	// again.
	th = new(Thread)
	p := part("a", "Never push to main.")
	th.AddPart(p)
	th.Drop(1)
	p.Prompts[0].Time = testTime.Add(2 * time.Second)
	th.AddPart(p)
	if got := rules(th); got != "" {
		t.Errorf("read again: %s", got)
	}
	p.Prompts[0].Time = testTime.Add(time.Hour)
	th.AddPart(p)
	if got := rules(th); got != "Never push to main." {
		t.Errorf("said again: %s", got)
	}
}

// When there is no room, the oldest plain messages are shortened first, then the first
// request and those with instructions; a message that was shortened is known again.
func TestSaidIsBounded(t *testing.T) {
	th := new(Thread)
	long := func(i int) string {
		return fmt.Sprintf("message %d: ", i) + strings.Repeat("words ", 1000) + fmt.Sprint(i)
	}
	said := []string{"The first request. " + strings.Repeat("more ", 500), "Never push to main. " + strings.Repeat("really ", 300)}
	for i := range 60 {
		said = append(said, long(i))
	}
	p := part("a", said...)
	th.AddPart(p)
	size := func() (n int) {
		for _, q := range th.Prompts {
			n += len(q.Text)
		}
		return n
	}
	if size() > maxPrompts || len(th.Prompts) != len(said) || th.Prompts[0].Text != strings.TrimSpace(said[0]) || th.Prompts[1].Text != strings.TrimSpace(said[1]) ||
		len(th.Prompts[2].Text) > shortPrompt || th.Prompts[61].Text != long(59) {
		t.Errorf("%d bytes in %d messages: %d, %d, %d … %d", size(), len(th.Prompts), len(th.Prompts[0].Text), len(th.Prompts[1].Text), len(th.Prompts[2].Text), len(th.Prompts[61].Text))
	}
	n := len(th.Prompts)
	th.AddPart(p)
	if len(th.Prompts) != n {
		t.Errorf("%d messages became %d when they were read again", n, len(th.Prompts))
	}
	many := part("b")
	for i := range 5000 {
		many.Prompts = append(many.Prompts, Quote{Text: fmt.Sprintf("message %d of the day, which is not so very short as to be nothing", i), Time: testTime.Add(time.Duration(i) * time.Hour)})
	}
	th.AddPart(many)
	if size() > maxPrompts || th.Dropped == 0 || len(th.Prompts)+th.Dropped != n+5000 || !strings.HasPrefix(th.Prompts[0].Text, "The first request.") || th.Prompts[len(th.Prompts)-1].Text != many.Prompts[4999].Text {
		t.Errorf("%d bytes in %d messages, %d dropped", size(), len(th.Prompts), th.Dropped)
	}
}

// A thread goes from one chain to another with what was said in the session.
func TestSaidJoins(t *testing.T) {
	old, to := new(Thread), new(Thread)
	old.AddPart(part("a", "Port the parser."))
	old.AddPart(part("b", "Another task.", "With tests."))
	to.JoinSession(old, "b")
	old.RemoveSession("b")
	if texts(old.Prompts) != "Port the parser." || texts(to.Prompts) != "Another task.|With tests." {
		t.Errorf("%s; %s", texts(old.Prompts), texts(to.Prompts))
	}
}

// Remove leaves nothing of the thread but its lock.
func TestRemove(t *testing.T) {
	state := place.State(t.TempDir())
	if err := Remove(state, "c"); !errors.Is(err, ErrNone) {
		t.Errorf("nothing is there: %v", err)
	}
	for i := range 5 {
		if _, err := Update(state, "c", atomicfile.Unsynced, nil, func(x *Thread) { x.AddPart(part("a", fmt.Sprint("message ", i))) }); err != nil {
			t.Fatal(err)
		}
	}
	testenv.NoError(t, Remove(state, "c"))
	// A damaged one is forgotten as well: it still has what was said.
	testenv.NoError(t, os.WriteFile(state.Path("threads", "c.json"), []byte(`{"prompts":[{"text":"a secret wish"`), 0o600))
	if err := Remove(state, "c"); err != nil {
		t.Errorf("a damaged one: %v", err)
	}
	left, err := os.ReadDir(state.Path("threads"))
	if err != nil || len(left) != 1 || left[0].Name() != "c.lock" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A prompt that is appended is in the thread for every reader, once, and the next writer
// takes it in. A line that was torn costs nothing but itself.
func TestJournal(t *testing.T) {
	state := place.State(t.TempDir())
	appendAt := func(text string, at time.Time) {
		t.Helper()
		testenv.NoError(t, Append(state, "c", Part{Session: "a", Agent: "claude", Time: at, Prompts: []Quote{{Text: text, Time: at}}}, nil))
	}
	want := func(prompts, instructions string) {
		t.Helper()
		th, err := Read(state, "c", nil)
		testenv.NoError(t, err)
		if texts(th.Prompts) != prompts || rules(th) != instructions || len(th.Sessions) != 1 || th.Sessions[0].Agent != "claude" {
			t.Errorf("%s; %s; %+v", texts(th.Prompts), rules(th), th.Sessions)
		}
	}
	appendAt("Port the parser.", testTime) // no thread yet
	want("Port the parser.", "")
	appendAt("Never push to main.", testTime.Add(time.Second))
	appendAt("Never push to main.", testTime.Add(time.Second))
	want("Port the parser.|Never push to main.", "Never push to main.")
	data, err := os.ReadFile(journal(state, "c"))
	testenv.NoError(t, err)
	testenv.NoError(t, os.WriteFile(journal(state, "c"), append(data, `{"text":"torn`...), 0o600))
	appendAt("and then", testTime.Add(2*time.Second))
	want("Port the parser.|Never push to main.|and then", "Never push to main.")
	th, err := Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.Drop(1) })
	if err != nil || texts(th.Prompts) != "Port the parser.|Never push to main.|and then" {
		t.Fatal(th, err)
	}
	if _, err := os.Lstat(journal(state, "c")); !os.IsNotExist(err) {
		t.Errorf("the journal is left: %v", err)
	}
	want("Port the parser.|Never push to main.|and then", "")
	// Taken in twice, as after a kill before it was removed.
	testenv.NoError(t, os.WriteFile(journal(state, "c"), data, 0o600))
	want("Port the parser.|Never push to main.|and then", "")
	// Without room in the journal the thread takes the prompt.
	appendAt(strings.Repeat("long ", maxJournal/6), testTime.Add(3*time.Second))
	appendAt(strings.Repeat("more ", maxJournal/6), testTime.Add(4*time.Second))
	if info, err := os.Lstat(journal(state, "c")); err == nil && info.Size() > maxJournal {
		t.Errorf("the journal has %d bytes", info.Size())
	}
	if th, err := Read(state, "c", nil); err != nil || len(th.Prompts) != 5 {
		t.Errorf("%v, %d prompts", err, len(th.Prompts))
	}
	testenv.NoError(t, Remove(state, "c"))
	appendAt("anew", testTime)
	want("anew", "")
	testenv.NoError(t, Remove(state, "c"))
	if _, err := Read(state, "c", nil); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

// Many hooks at once lose no prompt, also while turns end.
func TestJournalTogether(t *testing.T) {
	state := place.State(t.TempDir())
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			p := Part{Session: "a", Agent: "claude", Prompts: []Quote{{Text: fmt.Sprint("message ", i), Time: testTime}}}
			if err := Append(state, "c", p, nil); err != nil {
				t.Error(err)
			}
		})
		if i%5 == 0 {
			all.Go(func() {
				if _, err := Update(state, "c", atomicfile.Unsynced, nil, func(th *Thread) { th.AddPart(part("b", fmt.Sprint("turn ", i))) }); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	if th, err := Read(state, "c", nil); err != nil || len(th.Prompts) != 48 {
		t.Errorf("%v, %d prompts", err, len(th.Prompts))
	}
}

// What a session said moves to another chain as a whole, also if that is tried again, and a
// thread of which nothing is left goes with its earlier contents.
func TestMove(t *testing.T) {
	state := place.State(t.TempDir())
	for _, p := range []Part{part("a", "Port the parser.", "Never push to main."), part("b", "yes")} {
		if _, err := Update(state, "a", atomicfile.Unsynced, nil, func(th *Thread) { th.AddPart(p) }); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		testenv.NoError(t, Move(state, "a", "c", "a", atomicfile.Unsynced, nil))
	}
	from, err := Read(state, "a", nil)
	if err != nil || texts(from.Prompts) != "yes" || rules(from) != "" {
		t.Errorf("%v, left: %+v", err, from)
	}
	to, err := Read(state, "c", nil)
	if err != nil || texts(to.Prompts) != "Port the parser.|Never push to main." || rules(to) != "Never push to main." || to.Request.Text != "Port the parser." {
		t.Errorf("%v, moved: %+v", err, to)
	}
	if err := Move(state, "a", "c", "b", atomicfile.Unsynced, nil); err != nil {
		t.Error(err)
	}
	if all, _ := filepath.Glob(state.Path("threads", "a.json*")); len(all) > 0 {
		t.Errorf("left: %s", all)
	}
	if err := Move(state, "none", "c", "b", atomicfile.Unsynced, nil); err != nil {
		t.Error(err)
	}
}

// A request that is a whole file ends with what the person wants of it.
func TestLongRequest(t *testing.T) {
	th := new(Thread)
	th.AddPart(part("a", "Look at this: "+strings.Repeat("ERROR ä\n", 20_000)+"\nNever restart worker 7."))
	if got := th.Request.Text; len(got) > MaxRequest || !strings.HasPrefix(got, "Look at this: ") || !strings.HasSuffix(got, "Never restart worker 7.") {
		t.Errorf("%d bytes: %.40s … %s", len(got), got, got[max(0, len(got)-40):])
	}
}

// What the person took back is no message, no first request and no instruction; what it
// lifted holds again, and the same words said again count.
func TestTakenBack(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 1, minute, 0, 0, time.UTC) }
	say := func(minute int, text string) Quote { return Quote{Text: text, Time: at(minute)} }
	var x Thread
	x.AddPart(Part{Session: "s", First: say(1, "Port it"), Prompts: []Quote{say(1, "Port it"), say(2, "Never push to main."), say(3, "You can push to main now. Always use tabs."), say(4, "go on")}})
	x.AddPart(Part{Session: "s", First: say(5, "Port it in Rust"), TakenBack: []Quote{say(1, "Port it"), say(3, "You can push to main now. Always use tabs."), say(4, "go on"), say(4, "never said")},
		Prompts: []Quote{say(5, "Port it in Rust"), say(2, "Never push to main."), say(6, "go on")}})
	var got []string
	for _, q := range x.Prompts {
		got = append(got, q.Text)
	}
	if want := []string{"Never push to main.", "Port it in Rust", "go on"}; !slices.Equal(got, want) || x.Request.Text != "Port it in Rust" {
		t.Errorf("%q, first %q", got, x.Request.Text)
	}
	if len(x.Instructions) != 1 || x.Instructions[0].Text != "Never push to main." {
		t.Errorf("%+v", x.Instructions)
	}
}
