package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/client/contract"
)

// The ends of a generation: why the next one does not know what this one knew.
const (
	handover   = "hand-over"
	compaction = "compaction"
	clearing   = "/clear"
	crash      = "crash"
	resume     = "resume" // it does know, but its process is another
	change     = "change of agent"
)

// turns is the order of the ends. Of the generations that are counted, the second and the
// twentieth begin with a hand-over, the fifth behind a crash, the tenth behind a /clear.
var turns = []string{handover, compaction, clearing, crash, resume, change}

const generations = 20

// counted are the generations of the table.
var counted = []int{2, 5, 10, 20}

// endOf returns how generation n ends.
func endOf(n int) string { return turns[(n-1)%len(turns)] }

// agentOf returns which agent generation n is of: each change of agent is one to the other.
func agentOf(n int) string {
	name := "claude"
	for i := 1; i < n; i++ {
		if endOf(i) == change {
			name = map[string]string{"claude": "codex", "codex": "claude"}[name]
		}
	}
	return name
}

// The kinds of facts that generations know.
const (
	firstRequest = "first request"
	instruction  = "standing instructions"
	lastMessages = "last two messages"
	oldMessages  = "older messages"
	openItems    = "open to-dos"
	askedLast    = "asked last"
	decidedLast  = "decided last"
	saidBefore   = "asked or decided earlier"
	remarks      = "short messages"
	ranLast      = "commands, paths, numbers of the last"
	ranBefore    = "those of the others"
)

var lasting = []string{firstRequest, instruction, remarks, lastMessages, oldMessages, openItems, askedLast, decidedLast, saidBefore, ranLast, ranBefore}

// known is what those before generation n knew, by the kind that it is of by then.
func (l *line) known(n int) map[string][]string {
	all := map[string][]string{}
	add := func(kind string, markers ...string) { all[kind] = append(all[kind], markers...) }
	messages := 0
	for i := n - 1; i > 0; i-- {
		g := l.all[i]
		add(firstRequest, g.task...)
		add(instruction, g.rule)
		add(remarks, shapes[i-1]...)
		switch {
		case g.message == nil:
		case messages < 2:
			messages++
			add(lastMessages, g.message...)
		default:
			add(oldMessages, g.message...)
		}
		if i == n-1 {
			add(askedLast, g.asked...)
			add(decidedLast, g.decided)
			add(ranLast, g.ran...)
			for _, t := range g.todos {
				if t.status != "completed" {
					add(openItems, t.text[strings.LastIndex(t.text, " ")+1:])
				}
			}
		} else {
			add(saidBefore, g.asked[0], g.asked[1], g.decided)
			add(ranBefore, g.ran...)
		}
	}
	return all
}

// generation is what one session, or one part of it between two compactions, knew.
type generation struct {
	task    []string // the facts of the first request
	rule    string   // of the standing instruction
	message []string // of what it wrote for its successor
	asked   []string // of the last request
	decided string
	ran     []string // in commands, in paths and in what came of them
	todos   []todo   // the whole list at its end
}

// line is a line of generations on one task.
type line struct {
	*world
	all     []generation // from 1 on
	rand    *rand.Rand
	now     time.Time
	talk    talk   // of the session that runs
	session string // its id
}

// talk is a conversation that a client writes down.
type talk interface {
	asks(text string)
	says(text, stop string)
	work(steps int)
	bash(command, out string, failed bool)
	plan([]todo)
	compact(summary string)
	save() error
	path() string
}

// rules are the ways in which people say what always holds. The markers in them are
// names of files, as they would be.
var rules = []string{
	"Never edit gen/%s.go by hand.",
	"From now on, run ./%s before you commit anything.",
	"Please don't touch internal/legacy/%s.go, whatever happens.",
	"Always write tests of the kind that testdata/%s shows.",
	"One more thing: only ever use the client in internal/%s for that.",
	"You must not log what is in config/%s.",
	"The images in deploy/%s must never be rebuilt here.",
	"Do not add a dependency other than %s.",
}

// converse lets the model and the person of generation n talk. The session begins with an
// opening where there is one: what is typed to start it.
func (l *line) converse(n int, opening string) {
	g := generation{rule: fmt.Sprintf("rule-heron%02d", n), decided: fmt.Sprintf("decided-heron%02d", n)}
	fact := func(kind string, i int) string { return fmt.Sprintf("%s-heron%02d-%d", kind, n, i) }
	w := &writer{rand: l.rand}
	if opening != "" {
		l.talk.asks(opening)
		l.talk.says("I go on. "+w.prose(20), "end_turn")
	}
	rule := fmt.Sprintf(rules[(n-1)%len(rules)], g.rule)
	if n == 1 {
		g.task = []string{fact("task", 1), fact("task", 2)}
		l.talk.asks("Rework the settlement of the ledger so that it books each transfer exactly once; the goal is " + g.task[0] + ". " + w.prose(150) +
			". " + rule + " " + w.prose(100) + ".\n\nIt is done when " + g.task[1] + " passes.")
	} else {
		l.talk.asks("Next is the " + w.word() + ": " + w.prose(30) + ". " + rule + " " + w.prose(20) + ".")
	}
	l.talk.work(12)

	// The list grows by an item each time and the one before is finished; every fourth stays.
	if n > 1 {
		g.todos = slices.Clone(l.all[n-1].todos)
	}
	for i := range g.todos {
		if g.todos[i].status == "in_progress" && !strings.HasPrefix(g.todos[i].text, "Later") {
			g.todos[i].status = "completed"
		}
	}
	if n%4 == 1 {
		g.todos = append(g.todos, todo{"Later: " + w.word() + " " + fact("todo", 1), "pending"})
	} else {
		g.todos = append(g.todos, todo{"Settle " + w.word() + " " + fact("todo", 1), "in_progress"})
	}
	l.talk.plan(g.todos)

	for _, text := range shapes[n-1] {
		l.talk.asks(text)
		l.talk.says("Yes. "+w.prose(10), "end_turn")
	}
	g.asked = []string{fact("asked", 1), fact("asked", 2)}
	l.talk.asks("Now the flush: " + g.asked[0] + ". " + w.prose(60) + ". Tell me about " + g.asked[1] + " when you are through.")
	g.ran = []string{fact("ran", 1), fact("ran", 2), fmt.Sprintf("%d.%02d ms at p99", 100+n, n*7%100)}
	l.talk.bash(fmt.Sprintf("./bench/%s --input testdata/%s.json", g.ran[0], g.ran[1]), "warming up\nit takes "+g.ran[2]+"\n", false)
	l.talk.work(6)
	l.talk.says("Decided: "+g.decided+", since halves must not drift. "+w.prose(80), "end_turn")
	if end := endOf(n); end == handover || end == change {
		g.message = []string{fact("message", 1), fact("message", 2)}
	}
	l.all = append(l.all, g)
}

// message is what generation n writes for its successor.
func (l *line) message(n int) (subject, text string) {
	m := l.all[n].message
	w := &writer{rand: l.rand}
	return fmt.Sprintf("Step %d of the settlement", n), "The reason is " + m[0] + ". " + w.prose(200) + ".\n\nNext: " + m[1] + "."
}

// open begins the conversation of a new session.
func (l *line) open(n int) error {
	l.session = fmt.Sprintf("5e55104a-0000-4000-8000-%012d", n)
	w := &writer{rand: l.rand, session: l.session, cwd: l.repo, branch: "main", now: l.now.Add(time.Duration(n) * time.Hour)}
	var err error
	if agentOf(n) == "codex" {
		l.talk, err = newRollout(w, l.home)
	} else {
		l.talk, err = newTranscript(w, l.home)
	}
	return err
}

// pass is a way in which what one generation knew comes to the next.
type pass struct {
	name string
	// next ends generation n, whose conversation is written, and begins the next one. It
	// returns what that is told, and what is typed to start it.
	next func(l *line, n int) (told, opening string, err error)
	end  func(l *line)
}

func passes() []pass {
	g := &relay{}
	return []pass{
		{"gt", g.nextGeneration, g.end},
		{"Gas Town", gasTown, nil},
		{"end pasted", pasteEnd, nil},
	}
}

// grow lets a line grow to twenty generations and returns what each was told.
func grow(dir string, p pass) (*line, []string, error) {
	w, err := newWorld(dir)
	if err != nil {
		return nil, nil, err
	}
	l := &line{world: w, all: make([]generation, 1), rand: rand.New(rand.NewPCG(3, 4)), now: time.Now().UTC().Add(-24 * time.Hour)}
	if p.end != nil {
		defer p.end(l)
	}
	told, opening := make([]string, generations+1), ""
	if err := l.open(1); err != nil {
		return nil, nil, err
	}
	for n := 1; ; n++ {
		l.converse(n, opening)
		if err := l.talk.save(); err != nil {
			return nil, nil, err
		}
		if n == generations {
			return l, told, nil
		}
		if told[n+1], opening, err = p.next(l, n); err != nil {
			return nil, nil, fmt.Errorf("generation %d, at the %s: %w", n, endOf(n), err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("told-%d.txt", n+1)), []byte(told[n+1]), 0o600); err != nil {
			return nil, nil, err
		}
	}
}

// begins reports whether the next generation is another session than generation n.
func begins(n int) bool { return endOf(n) != compaction && endOf(n) != resume }

// relay passes with gt, as the clients' hooks and the agents' own commands have it.
type relay struct{ a *agent }

func (r *relay) end(*line) {
	if r.a != nil {
		r.a.kill()
	}
}

func (r *relay) nextGeneration(l *line, n int) (told, opening string, err error) {
	if n == 1 {
		if r.a, err = l.begin(1); err != nil {
			return "", "", err
		}
		if _, err := r.a.starts("startup"); err != nil {
			return "", "", err
		}
	}
	if _, err := r.a.hook("Stop", object{"stop_hook_active": false, "last_assistant_message": "…"}, "gt-checkpoint", "write", "--hook", "--agent", r.a.name); err != nil {
		return "", "", err
	}
	source := "startup"
	switch endOf(n) {
	case handover, change:
		subject, text := l.message(n)
		if _, err := r.a.run(step{Args: []string{"gt-handoff", "--no-git-check", "-s", subject, "-m", text}, Env: []string{"GT_HOME=" + l.repo}}); err != nil {
			return "", "", err
		}
		opening = handed(subject)
		err = r.a.end()
	case compaction:
		if _, err := r.a.hook("PreCompact", object{"trigger": "auto", "custom_instructions": nil}, "gt-handoff", "--auto", "--hook", "--reason", "compaction", "--agent", r.a.name); err != nil {
			return "", "", err
		}
		l.talk.compact("1. Primary Request and Intent: " + (&writer{rand: l.rand}).prose(200))
		source = "compact"
	case clearing:
		// The process stays. Codex tells of no end here.
		if r.a.name == "claude" {
			_, err = r.a.hook("SessionEnd", object{"reason": "clear"}, "gt-keepalive", "end", "--hook", "--agent", r.a.name)
		}
		source = "clear"
	case crash:
		r.a.kill()
	case resume:
		err = r.a.end()
		source = "resume"
	}
	if err != nil {
		return "", "", err
	}
	if begins(n) {
		if err := l.open(n + 1); err != nil {
			return "", "", err
		}
	}
	if source == "clear" || source == "compact" {
		r.a.session, r.a.path = l.session, l.talk.path()
	} else if r.a, err = l.begin(n + 1); err != nil {
		return "", "", err
	}
	told, err = r.a.starts(source)
	return told, opening, err
}

// begin starts the client of generation n in the session that runs.
func (l *line) begin(n int) (*agent, error) {
	a, err := l.start(l.session)
	if err != nil {
		return nil, err
	}
	a.name, a.path = agentOf(n), l.talk.path()
	return a, nil
}

// handed is what gt types to start the session behind a hand-over.
func handed(subject string) string {
	return "Handoff: " + subject + ". Go on from the note."
}

// starts runs the hook of a start and returns what the model is told.
func (a *agent) starts(source string) (string, error) {
	text, err := a.hook("SessionStart", object{"source": source}, "gt-prime", "--hook", "--agent", a.name)
	if err != nil || a.name != "codex" || text == "" {
		return text, err
	}
	var answer struct {
		Output struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	err = json.Unmarshal([]byte(text), &answer)
	return answer.Output.Context, err
}

// gasTown passes by Gas Town's rules, which are played here and not run (its own programs
// need a town and a database). A start prints 14 to 46 KB, of which Claude Code shows the
// first 2 KB, and those hold nothing of what the session before knew. Counted is also
// what the agent reads when it does as it is told there: the mail of a hand-over.
// Nothing writes a checkpoint unless the agent does, so behind a crash or a /clear there is
// nothing; a compaction and a resume are told to go on.
func gasTown(l *line, n int) (told, opening string, err error) {
	const banner = "HANDOFF COMPLETE - You are the NEW session\n\nYour predecessor handed off to you.\n\n"
	const role = "# Crew Worker Context\n\n"
	w := &writer{rand: rand.New(rand.NewPCG(5, 6))}
	if begins(n) {
		if err := l.open(n + 1); err != nil {
			return "", "", err
		}
	}
	switch endOf(n) {
	case handover, change:
		subject, text := l.message(n)
		return clip(banner+role+w.prose(3000), preview) + "\n\n" + subject + "\n\n" + text, "[GAS TOWN] crew max (rig: ledger) <- self • 2026-01-17T01:00 • handoff", nil
	case clearing, crash:
		return clip(role+w.prose(3000), preview), "[GAS TOWN] crew max (rig: ledger) <- self • 2026-01-17T01:00 • cold-start", nil
	case compaction:
		l.talk.compact("1. Primary Request and Intent: " + w.prose(200))
	}
	return "> **Recovery**: Context complete.\n\n**Continue your current task.**", "", nil
}

// pasteEnd passes what a person can paste: the end of the conversation, with calls and results.
func pasteEnd(l *line, n int) (told, opening string, err error) {
	if !begins(n) {
		if endOf(n) == compaction {
			l.talk.compact("1. Primary Request and Intent: " + (&writer{rand: l.rand}).prose(200))
		}
		return "", "", nil
	}
	text, err := endOfFile(l.talk.path())
	if err != nil {
		return "", "", err
	}
	return text, "This is where we were:\n\n" + text, l.open(n + 1)
}

func clip(s string, n int) string { return s[:min(len(s), n)] }

// lineage lets a line of each way grow, and prints how often all arrived and what the last
// generation was told; details are what the generations between were told.
func lineage(dir string, keep bool) (details string, err error) {
	type column struct {
		name string
		l    *line
		told []string
	}
	var columns []column
	for i, p := range passes() {
		at := filepath.Join(dir, fmt.Sprintf("generations-%d", i))
		l, told, err := grow(at, p)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		columns = append(columns, column{p.name, l, told})
		if !keep {
			os.RemoveAll(at)
		}
	}
	fmt.Print("\n| what | sessions |")
	for _, c := range columns {
		fmt.Printf(" %s |", c.name)
	}
	fmt.Printf(" the twentieth, gt |\n|---|---|%s---|\n", strings.Repeat("---|", len(columns)))
	var b strings.Builder
	fmt.Fprintf(&b, "\nFacts of all before it that a generation is told: within %d units / within the first %d bytes, of how many.\n\n| what | by |", limit, preview)
	for _, n := range counted {
		fmt.Fprintf(&b, " %d, %s |", n, endOf(n-1))
	}
	fmt.Fprintf(&b, "\n|---|---|%s\n", strings.Repeat("---|", len(counted)))
	for _, kind := range lasting {
		name := kind
		for i, c := range columns {
			fmt.Fprintf(&b, "| %s | %s |", name, c.name)
			name = ""
			for _, n := range counted {
				fmt.Fprintf(&b, " %s |", c.l.arrived(kind, n, c.told[n]))
			}
			fmt.Fprintln(&b)
			whole, times := 0, 0
			for n := 2; n <= generations; n++ {
				of := c.l.known(n)[kind]
				if len(of) == 0 || endOf(n-1) == resume {
					continue
				}
				times++
				if found(c.told[n], of) == len(of) {
					whole++
				}
			}
			if i == 0 {
				fmt.Printf("| %s | %d |", kind, times) // so many know such facts, in each way
			}
			fmt.Printf(" %d |", whole)
		}
		fmt.Printf(" %s |\n", columns[0].l.arrived(kind, generations, columns[0].told[generations]))
	}
	fmt.Fprint(&b, "| told twice | gt |")
	for _, n := range counted {
		var all []string
		for _, of := range columns[0].l.known(n) {
			all = append(all, of...)
		}
		twice := repeated(columns[0].told[n], all)
		fmt.Fprintf(&b, " %d %s |", len(twice), strings.Join(twice, ", "))
	}
	fmt.Fprintln(&b)
	name := "units"
	for _, c := range columns {
		fmt.Fprintf(&b, "| %s | %s |", name, c.name)
		name = ""
		for _, n := range counted {
			fmt.Fprintf(&b, " %d |", contract.UTF16Units(c.told[n]))
		}
		fmt.Fprintln(&b)
	}
	return b.String(), nil
}

// arrived says how many facts of a kind from before a generation stand in what it was told:
// within all of it, within its beginning, and of how many.
func (l *line) arrived(kind string, n int, told string) string {
	of := l.known(n)[kind]
	if len(of) == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d of %d", found(told, of), found(clip(told, preview), of), len(of))
}

// found counts the markers that stand in a text.
func found(text string, markers []string) int {
	n := 0
	for _, m := range markers {
		if times(text, m) > 0 {
			n++
		}
	}
	return n
}

// repeated returns the markers that stand in a text more than once.
func repeated(text string, markers []string) []string {
	var all []string
	for _, m := range markers {
		if times(text, m) > 1 {
			all = append(all, clip(m, 20))
		}
	}
	return all
}

// times returns how often a marker, or a message's first line, stands in a text.
func times(text, marker string) int {
	first, _, _ := strings.Cut(marker, "\n")
	if len(first) >= 12 {
		return strings.Count(text, first)
	}
	// A short one can stand in anything; "(answering the agent's …" or "(after the agent's …" can follow it.
	return strings.Count(text, "\n- "+first+"\n") + strings.Count(text, "\n- "+first+" (a")
}
