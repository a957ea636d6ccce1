// Package brief puts what a session knows into words for the session after
// it: what was asked, what is open, what went wrong, what was changed. It is
// the body of a hand-over note, and after a crash it stands in for one.
package brief

import (
	"fmt"
	"slices"
	"strings"

	"gt/lib/conversation/summary"
	"gt/lib/place/git"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/thread"
	"gt/lib/text/term"
)

// Brief is what there is to say. Its order in Text is that of need: a client
// may show the model no more than the first 2 KB of a long start-up text.
type Brief struct {
	Message string // the session's own words to its successor
	Noted   string // what it had put into its checkpoint, a line each
	Session summary.Summary
	Thread  *thread.Thread // of the session's chain, nil where there is none
	State   git.State
	Commits []git.Commit // made during the session, the oldest first
	Hooked  []mail.Note
	Unread  []mail.Note
	More    int          // unread notes besides these
	Work    []beads.Work // that the agent has in bd, and
	Ready   []beads.Work // that somebody may begin
	// LivesOn reports that the session itself is told, and that its process goes on.
	LivesOn bool
}

// Clean returns the brief with all that is not from the transcript, which was
// read with a clean of its own, gone through clean.
func (b Brief) Clean(clean func(string) string) Brief {
	b.Message, b.Noted = clean(b.Message), clean(b.Noted)
	b.State.Branch = clean(b.State.Branch)
	b.State.Changes = slices.Clone(b.State.Changes)
	for i, c := range b.State.Changes {
		b.State.Changes[i].Path, b.State.Changes[i].From = clean(c.Path), clean(c.From)
	}
	b.Commits = slices.Clone(b.Commits)
	for i, c := range b.Commits {
		b.Commits[i].Subject = clean(c.Subject)
	}
	notes := func(all []mail.Note) []mail.Note {
		all = slices.Clone(all)
		for i, n := range all {
			all[i].From, all[i].Subject = clean(n.From), clean(n.Subject)
		}
		return all
	}
	b.Hooked, b.Unread = notes(b.Hooked), notes(b.Unread)
	issues := func(all []beads.Work) []beads.Work {
		all = slices.Clone(all)
		for i, w := range all {
			all[i].ID, all[i].Title = clean(w.ID), clean(w.Title)
		}
		return all
	}
	b.Work, b.Ready = issues(b.Work), issues(b.Ready)
	if b.Thread != nil {
		b.Thread = b.Thread.Cleaned(clean)
	}
	return b
}

// How much of each is told. The numbers are lines; lengths are characters.
const (
	maxRequests = 6
	maxFiles    = 20
	maxCommits  = 10
	maxNotes    = 8
	maxMessages = 8
	maxTodos    = 20

	shortRequest = 280  // one of the last requests
	shortGoal    = 180  // the beginning and end of what the session began with
	fullRequest  = 1500 // a request, where there is room
	maxNoted     = 64 << 10
	shortOrigin  = 300  // what the chain began with
	fullOrigin   = 2000 // where there is room
	shortTodo    = 200
	shortMessage = 160  // of what was handed over before
	fullMessage  = 1500 // the last of it
	nextMessage  = 800  // the one before, where the last is no note of its own
	lastRequest  = 300  // what it was asked last
	lastAnswer   = 220  // the beginning and end of the last answer, before all of it
)

// NoSubject is the subject of a note of which there is nothing to say.
const NoSubject = "hand-over"

// Subject is a line for a note whose writer gave none: the first line of the
// message, else the session's title, else the beginning of what it was asked
// last.
func (b Brief) Subject() string {
	s, _, _ := strings.Cut(strings.TrimSpace(b.Message), "\n")
	if s == "" {
		s = b.Session.Title
	}
	if s == "" {
		s = b.LastRequest()
	}
	if s == "" {
		return NoSubject
	}
	return summary.Cut(term.OneLine(s), 72)
}

// Text is the whole brief. The same facts give the same text.
func (b Brief) Text() string {
	var parts []string
	add := func(title string, lines ...string) {
		body := strings.TrimSpace(strings.Join(lines, "\n"))
		if body == "" {
			return
		}
		if title != "" {
			body = "### " + title + "\n" + body
		}
		parts = append(parts, body)
	}
	s := b.Session
	last, first := b.LastRequest(), s.First.Text
	answer := summary.Cut(s.Answer, lastAnswer)
	add("", b.Message)
	origin := b.origin()
	begun := summary.Cut(origin, shortOrigin)
	add(firstAsked, begun)
	add(throughout, b.standing()...)
	list, lines := b.todos()
	add(list, lines...)
	add("Notes made along the way", summary.Cut(b.Noted, maxNoted))
	running, team := b.beside()
	if b.LivesOn {
		add("Running in the background when the last turn ended", bullets(running)...)
	} else {
		add("Ran in the background when the last turn ended; nothing watches it any more", bullets(running)...)
	}
	if len(team) > 1 {
		add("The agents of its team "+line(team[0]), bullets(team[1:])...)
	}
	asked := summary.Cut(last, lastRequest)
	add("Last request", asked)
	goal := summary.Cut(first, shortGoal)
	if first != last {
		add("First request of the session", goal)
	}
	add("Failures that are not fixed yet", bullets(s.Failures)...)
	add("Last answer", answer)
	add("Worktree", b.worktree()...)
	add("Files changed in this session, latest first", strings.Join(firstN(s.Files, maxFiles), ", "))
	if asked != last {
		add("Last request in full", summary.Cut(last, fullRequest))
	}
	if first != last && first != goal {
		add("First request of the session in full", summary.Cut(first, fullRequest))
	}
	if origin != begun {
		add(firstInFull, summary.Cut(origin, fullOrigin))
	}
	add(before, b.messages()...)
	add("Commits of this session", b.commits()...)
	add("Earlier requests and answers", b.turns()...)
	if answer != s.Answer {
		add("Last answer in full", s.Answer)
	}
	add("Work in bd", b.issues()...)
	add("Given and unread notes", b.notes()...)
	add("Last commands", commands(s.Commands)...)
	add("Summary of the last compaction", s.Compacted)
	return strings.Join(parts, "\n\n") + "\n"
}

// The titles of what is the chain's and no session's own.
const (
	firstAsked  = "What the person asked for first"
	throughout  = "Standing instructions, in the person's words"
	firstInFull = "What the person asked for first, in full"
	before      = "Earlier hand-overs, latest first"

	// In notes that gt wrote up to November 2026.
	oldThroughout  = "What holds throughout, in the person's words"
	oldFirstInFull = "What was asked for first, in full"
	oldBefore      = "Handed over before, the latest first"
)

// Own returns a brief that was saved without what is the chain's, for who is told that
// already.
func Own(text string) string {
	var own strings.Builder
	told := false
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			switch strings.TrimSpace(title) {
			case firstAsked, throughout, firstInFull, before, oldThroughout, oldFirstInFull, oldBefore:
				told = true
			default:
				told = false
			}
		}
		if !told {
			own.WriteString(line)
		}
	}
	return own.String()
}

// Essentials are the lines that a summary of the conversation must keep: open
// to-dos, what was asked last, what went wrong, which files were changed, what
// work is hooked.
func (b Brief) Essentials() string {
	s := b.Session
	last := max(0, len(s.Requests)-1)
	for last > 0 && s.Requests[last].Reply {
		last--
	}
	t := b.Thread.Essential()
	if t != nil {
		t.Beside = b.Thread.Beside
	}
	return Brief{
		Hooked: b.Hooked, Thread: t, LivesOn: true,
		Session: summary.Summary{
			Standing: s.Standing, Todos: s.Todos, Done: s.Done, Failures: s.Failures,
			Files:    firstN(s.Files, maxFiles),
			Requests: s.Requests[last:], First: summary.Request{Text: b.LastRequest()},
		},
	}.Text()
}

// standing are the standing instructions: the chain's, or the session's own.
func (b Brief) standing() []string {
	var lines []string
	if b.Thread != nil {
		for _, i := range b.Thread.Instructions {
			lines = append(lines, "- "+term.OneLine(i.Text))
		}
		return lines
	}
	for _, i := range b.Session.Standing {
		lines = append(lines, "- "+term.OneLine(i.Text))
	}
	return lines
}

// origin is what the person asked for first, where that was in an earlier session.
func (b Brief) origin() string {
	if b.Thread == nil || b.Session.First.Text != "" && strings.HasPrefix(b.Thread.Request.Text, b.Session.First.Text) {
		return ""
	}
	return b.Thread.Request.Text
}

// messages are what earlier sessions handed over: the last two with that of this
// session, of those before them the subjects, how they begin and how they end.
func (b Brief) messages() []string {
	if b.Thread == nil {
		return nil
	}
	var lines []string
	for i, m := range slices.Backward(b.Thread.Messages) {
		length := shortMessage
		switch n := len(b.Thread.Messages) - 1 - i; {
		case n == 0:
			length = fullMessage
		case n == 1 && b.Message == "": // else the last one is above
			length = nextMessage
		case n == maxMessages:
			return append(lines, fmt.Sprintf("- and %d more: `gt-seance thread %s`", i+1, b.Thread.ChainID))
		}
		line := "- " + term.OneLine(m.Subject)
		if text := summary.Cut(term.OneLine(m.Text), length); text != "" && text != term.OneLine(m.Subject) {
			line += ": " + text
		}
		lines = append(lines, line)
	}
	return lines
}

// beside is what worked beside the session when its last turn ended.
func (b Brief) beside() (running, team []string) {
	if b.Thread == nil || b.Thread.Beside == nil {
		return nil, nil
	}
	return b.Thread.Beside.Running, b.Thread.Beside.Team
}

// todos are the open items of the agent's list and a title that counts the finished
// ones: the session's own list, else the one that the chain has.
func (b Brief) todos() (title string, lines []string) {
	open, done := b.Session.Todos, b.Session.Done
	more := ""
	if b.Thread != nil {
		more = fmt.Sprintf(": `gt-seance thread %s`", b.Thread.ChainID)
		if len(open) == 0 && done == 0 {
			done = b.Thread.Done
			for _, t := range b.Thread.Todos {
				open = append(open, summary.Todo(t))
			}
		}
	}
	if len(open) == 0 {
		if done == 0 {
			return "", nil
		}
		return "To-dos", []string{fmt.Sprintf("all %d are done", done)}
	}
	title = "Open to-dos"
	if done > 0 {
		title += fmt.Sprintf(" (%d done)", done)
	}
	for i, t := range open {
		if i == maxTodos {
			lines = append(lines, fmt.Sprintf("- and %d more%s", len(open)-i, more))
			break
		}
		mark := "[ ]"
		if t.Status == "in_progress" {
			mark = "[in progress]"
		}
		lines = append(lines, "- "+mark+" "+summary.Cut(term.OneLine(t.Text), shortTodo))
	}
	return title, lines
}

// LastRequest is what the person asked for last, replies aside.
func (b Brief) LastRequest() string {
	for _, r := range slices.Backward(b.Session.Requests) {
		if !r.Reply {
			return r.Text
		}
	}
	return ""
}

// turns are the requests before the last, with what was said to them, and what
// the person replied to the agent in between, in the last turn too.
func (b Brief) turns() []string {
	var turns [][]string // the last one first
	var replies []string
	for _, r := range slices.Backward(b.Session.Requests) {
		if r.Reply {
			replies = append(replies, "  the person replied: "+summary.Cut(term.OneLine(r.Text), shortRequest))
			continue
		}
		slices.Reverse(replies)
		var turn []string
		switch {
		case len(turns) == 0 && len(replies) > 0:
			turn = append(turn, "- (the last request)")
		case len(turns) == 0: // it stands above
		case r.Text == b.Session.First.Text:
			turn = append(turn, "- (the first request)")
		default:
			turn = append(turn, "- "+summary.Cut(term.OneLine(r.Text), shortRequest))
		}
		turn = append(turn, replies...)
		if r.Answer != "" && len(turns) > 0 {
			turn = append(turn, "  → "+term.OneLine(r.Answer))
		}
		turns, replies = append(turns, turn), nil
	}
	turns = firstN(turns, maxRequests)
	slices.Reverse(turns)
	return slices.Concat(turns...)
}

func (b Brief) worktree() []string {
	if b.State.Branch == "" {
		return nil
	}
	head := b.State.Head
	if head == "" {
		head = "no commit yet"
	} else {
		head = head[:min(len(head), 10)]
	}
	text := fmt.Sprintf("branch %s at %s: %s", git.Quote(b.State.Branch), head, b.State.Summary())
	var changes []string
	for i, c := range b.State.Changes {
		if i == maxFiles {
			changes = append(changes, fmt.Sprintf("and %d more (git status)", len(b.State.Changes)-i))
			break
		}
		change := c.XY + " " + git.Quote(c.Path)
		if c.From != "" {
			change += " (was " + git.Quote(c.From) + ")"
		}
		changes = append(changes, change)
	}
	return []string{text, strings.Join(changes, ", ")}
}

func (b Brief) commits() []string {
	cs := b.Commits
	var lines []string
	if n := len(cs) - maxCommits; n > 0 {
		lines = append(lines, fmt.Sprintf("- %d earlier ones", n))
		cs = cs[n:]
	}
	for _, c := range cs {
		lines = append(lines, "- "+line(c.Hash[:min(len(c.Hash), 10)])+" "+line(c.Subject))
	}
	return lines
}

// line is the beginning and end of somebody else's line, which may hold anything.
func line(s string) string { return summary.Cut(term.OneLine(term.Clean(s)), 120) }

func (b Brief) notes() []string {
	var lines []string
	for _, n := range firstN(b.Hooked, maxNotes) {
		lines = append(lines, "- given: "+line(n.Subject)+" (gt-mail read "+n.ID+")")
	}
	for _, n := range firstN(b.Unread, maxNotes) {
		lines = append(lines, "- unread, from "+line(n.From)+": "+line(n.Subject)+" (gt-mail read "+n.ID+")")
	}
	if more := len(b.Hooked) + len(b.Unread) + b.More - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more: gt-mail inbox", more))
	}
	return lines
}

// issues are what bd has for the agent, a line each.
func (b Brief) issues() []string {
	var lines []string
	for _, w := range firstN(b.Work, maxNotes) {
		lines = append(lines, "- "+strings.ReplaceAll(line(w.Status), "_", " ")+": "+line(w.ID)+" "+line(w.Title))
	}
	if more := len(b.Work) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more: bd list", more))
	}
	for _, w := range b.Ready {
		lines = append(lines, "- ready: "+line(w.ID)+" "+line(w.Title))
	}
	return lines
}

// commands leaves out gt's own: what they said stands elsewhere.
func commands(cs []summary.Command) []string {
	var lines []string
	for _, c := range cs {
		if strings.Contains(c.Text, "gt-handoff ") || strings.Contains(c.Text, "gt-checkpoint ") {
			continue
		}
		line := "- `" + term.OneLine(c.Text) + "`"
		if c.Failed {
			line += " failed"
		} else if c.Open {
			line += " (without a result: it may not have run)"
		}
		lines = append(lines, line)
	}
	return lines
}

func bullets(texts []string) []string {
	var lines []string
	for _, t := range texts {
		lines = append(lines, "- "+term.OneLine(t))
	}
	return lines
}

func firstN[T any](s []T, n int) []T { return s[:min(len(s), n)] }
