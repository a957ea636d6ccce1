// Package brief writes what a session knows for the session that follows it: requests,
// open to-dos, failures, changed files. The text is the body of a hand-over note. After a
// crash, gt writes it in place of a note.
package brief

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gt/lib/conversation/summary"
	"gt/lib/place/git"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/thread"
	"gt/lib/text/term"
)

// Brief holds the facts of a hand-over. Text puts the most important ones first, because
// a client may show the model only the first 2 KB of a long start-up text.
type Brief struct {
	Message    string // the session's own message to its successor
	Checkpoint string // the lines of its checkpoint
	Session    summary.Summary
	Thread     *thread.Thread // of the session's chain; nil if there is none
	State      git.State
	Commits    []git.Commit // made during the session, oldest first
	Hooked     []mail.Note  // what the session was given to do
	Unread     []mail.Note
	More       int          // the number of unread notes that Unread leaves out
	Work       []beads.Work // the agent's work in bd
	Ready      []beads.Work // work in bd that anyone may begin
	// LivesOn reports that the reader is the same session and that its process goes on.
	LivesOn bool
	// AwaitsPermission reports that the session waits, or waited when it ended, for permission to do
	// what is unfinished.
	AwaitsPermission bool
	// PromptsElsewhere reports that the reader gets the list of Prompts in another place.
	PromptsElsewhere bool
	// RequestElsewhere reports that the reader gets the last request in another place.
	RequestElsewhere bool
	// PromptsAlone leaves what agents answered and did out of the Lists.
	PromptsAlone bool

	promptRoom int // of the list of messages, in characters; 0 means defaultRoom
	clean      func(string) string
}

// Clean returns the brief with clean applied to every text, except to those of the
// transcript: its reader has cleaned them.
func (b Brief) Clean(clean func(string) string) Brief {
	b.Message, b.Checkpoint = clean(b.Message), clean(b.Checkpoint)
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
		t := *b.Thread
		t.Prompts, t.Answers, t.Actions = nil, nil, nil // there can be many; those that are listed are cleaned then
		all := b.Thread
		b.Thread = t.Cleaned(clean)
		b.Thread.Prompts, b.Thread.Answers, b.Thread.Actions = all.Prompts, all.Answers, all.Actions
	}
	b.clean = clean
	return b
}

// The limits of the text. Numbers are lines; lengths are characters.
const (
	maxRequests = 6
	maxFiles    = 20
	maxCommits  = 10
	maxNotes    = 8
	maxMessages = 8
	maxTodos    = 20

	shortRequest      = 280  // one of the last requests
	goalLength        = 180  // the first request of the session
	fullRequest       = 1500 // a request, if there is room
	maxNoted          = 64 << 10
	originLength      = 300  // the first request of the chain
	fullOrigin        = 2000 // the first request of the chain, if there is room
	shortTodo         = 200
	shortMessage      = 160  // an earlier hand-over
	fullMessage       = 1500 // the last hand-over
	nextMessage       = 800  // the last but one, if the last is not a note of its own
	lastRequestLength = 300  // the last request
	lastAnswerLength  = 220  // the last answer, before all of it follows
)

// NoSubject is the subject of a note if nothing gives it one.
const NoSubject = "hand-over"

// Subject returns a line for a note without a subject of its own: the first line of the
// message, else the session's title, else the beginning of the last request.
func (b Brief) Subject() string {
	s, _, _ := strings.Cut(strings.TrimSpace(b.Message), "\n")
	return summary.Cut(term.OneLine(cmp.Or(s, b.Session.Title, b.LastRequest(), NoSubject)), 72)
}

// Text returns the whole brief. The same facts give the same text. It leaves out parts without
// lines. The first parts are short (see Brief); what is cut there comes below.
func (b Brief) Text() string {
	var parts []string
	addSection := func(title string, lines ...string) {
		body := strings.TrimSpace(strings.Join(lines, "\n"))
		if body == "" {
			return
		}
		body = quoteTitles(body) // mutant skip: TestTitlesInWords
		if title != "" {
			body = "### " + title + "\n" + body
		}
		parts = append(parts, body)
	}
	session := b.Session
	last, first := b.LastRequest(), session.First.Text
	answer := summary.Cut(session.Answer, lastAnswerLength)
	addSection("", b.Message)
	origin := b.originUnlessShown()
	begun := summary.Cut(origin, originLength)
	addSection(originTitle, begun)
	rules, lastShown := b.standingInstructions()
	addSection(standingTitle, rules...)
	title, lines := b.todos()
	addSection(title, lines...)
	addSection("Notes made along the way", summary.Cut(b.Checkpoint, maxNoted))
	running, team := b.backgroundWork()
	if b.LivesOn {
		addSection("Running in the background when the last turn ended", bullets(running)...)
	} else {
		addSection("Ran in the background when the last turn ended; nothing watches it any more", bullets(running)...)
	}
	if len(team) > 1 {
		addSection("The agents of its team "+cutLine(team[0]), bullets(team[1:])...)
	}
	if session.AnswerIsEarlier {
		addSection(earlierAnswerTitle, answer)
	}
	switch asks := summary.Cut(last, lastRequestLength); {
	case lastShown || b.RequestElsewhere: // the reader has it
	case session.AnswerIsEarlier: // the question is above
		addSection(lastRequestTitle, asks)
	default:
		addSection(lastRequestTitle, asks, b.lastQuestion())
	}
	goal := summary.Cut(first, goalLength)
	if b.hasPrompts() {
		first = last // the messages have the first request, so it gets no part of its own
	}
	if first != last {
		addSection("First request of the session", goal)
	}
	addSection("Failures that are not fixed yet", bullets(session.Failures)...)
	if !session.AnswerIsEarlier {
		addSection(lastAnswerTitle, answer)
	}
	title, lines = b.unfinished()
	addSection(title, lines...)
	addSection(worktreeTitle, b.worktree()...)
	addSection("Commits of this session", b.commits()...)
	addSection("Files changed in this session, latest first", strings.Join(firstN(session.Files, maxFiles), ", "))
	if !b.RequestElsewhere {
		addSection(lastRequestTitle+restSuffix, summary.Cut(summary.CutMiddle(last, lastRequestLength), fullRequest))
	}
	if first != last {
		addSection("First request of the session"+restSuffix, summary.Cut(summary.CutMiddle(first, goalLength), fullRequest))
	}
	if b.hasPrompts() && !b.PromptsElsewhere {
		lists := b.Lists(strings.Join(parts, "\n"), cmp.Or(b.promptRoom, defaultRoom), utf8.RuneCountInString, b.threadCommand())
		addSection(promptsTitle, lists.Prompts...)
		addSection(answersTitle, lists.Answers...)
		addSection(doneTitle, lists.Actions...)
	}
	addSection(originTitle+restSuffix, summary.Cut(summary.CutMiddle(origin, originLength), fullOrigin))
	if !b.hasPrompts() || b.PromptsElsewhere { // otherwise the lists have them
		addSection(earlierTitle, b.earlierHandovers()...)
	}
	if !b.hasPrompts() { // otherwise the thread has them
		addSection("Earlier requests and answers", b.earlierTurns()...)
	}
	addSection(lastAnswerTitle+restSuffix, summary.CutMiddle(session.Answer, lastAnswerLength))
	addSection("Work in bd", b.issues()...)
	addSection("Given and unread notes", b.notes()...)
	if b.Thread == nil || len(b.Thread.Actions) == 0 {
		addSection("Last commands", commands(session.Commands)...)
	}
	addSection("Summary of the last compaction", session.Compacted)
	return strings.Join(parts, "\n\n") + "\n"
}

// The titles of the parts that belong to the chain and not to the session.
const (
	originTitle        = "What the person asked for first"
	standingTitle      = "Standing instructions, in the person's words"
	promptsTitle       = "What else the person said, oldest first"
	answersTitle       = "What agents answered, oldest first"
	doneTitle          = "What was run and changed, oldest first"
	lastRequestTitle   = "Last request"
	lastAnswerTitle    = "Last answer"
	earlierAnswerTitle = "Last answer, before the last request"
	restSuffix         = ": the part cut above"
	worktreeTitle      = "Worktree"
	earlierTitle       = "Earlier hand-overs, latest first"

	// The titles in notes of gt v0.1.0 and before.
	firstInFull    = "What the person asked for first, in full"
	oldThroughout  = "What holds throughout, in the person's words"
	oldFirstInFull = "What was asked for first, in full"
	oldBefore      = "Handed over before, the latest first"
)

// chainTitles are the titles of the parts that a reader of the thread gets from there.
var chainTitles = []string{originTitle, originTitle + restSuffix, standingTitle, promptsTitle, answersTitle, doneTitle, firstInFull, earlierTitle, oldThroughout, oldFirstInFull, oldBefore}

// quoteTitles puts a backslash before the lines of a part that are a title of the person's
// words: what somebody pasted, or an agent wrote, must not pass for them, nor be removed
// with them.
func quoteTitles(body string) string {
	if !strings.Contains(body, "### ") {
		return body
	}
	var quoted strings.Builder
	for line := range strings.Lines(body) {
		title, ok := strings.CutPrefix(line, "### ")
		if title = strings.TrimSpace(title); ok && (slices.Contains(chainTitles, title) || title == lastRequestTitle) {
			quoted.WriteString(`\`)
		}
		quoted.WriteString(line)
	}
	return quoted.String()
}

// WrittenMessage returns the Message of a saved brief, which stands before all titles, or "".
func WrittenMessage(text string) string {
	if strings.HasPrefix(text, "### ") {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n### ")
	return strings.TrimSpace(text)
}

// StripChain returns a saved brief without the parts of the chain, for a reader that gets those
// another way.
func StripChain(text string) string {
	return stripSections(text, chainTitles...)
}

// WithoutWorktree returns a saved brief without the state of the worktree, which a later one has.
func WithoutWorktree(text string) string { return stripSections(text, worktreeTitle) }

// WithoutPrompts returns a saved brief without the Lists, for a reader that gets them another
// way.
func WithoutPrompts(text string) string {
	return stripSections(text, promptsTitle, answersTitle, doneTitle)
}

// stripSections returns a text without the sections with these titles, which begin with "### ".
func stripSections(text string, titles ...string) string {
	var kept strings.Builder
	skip := false
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "### "); ok {
			skip = slices.Contains(titles, strings.TrimSpace(title))
		}
		if !skip {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Essentials returns the lines that a summary of the conversation must keep: what the person
// said, open to-dos, failures, changed files, hooked work. Of the session's requests it has the
// last prompt with the replies to it. If there was a prompt before, it comes first: the last one
// can be an answer to it.
func (b Brief) Essentials() string {
	session := b.Session
	promptAtOrBefore := func(i int) int { // a reply belongs to the prompt before it
		for i > 0 && session.Requests[i].Reply {
			i--
		}
		return max(0, i)
	}
	last := promptAtOrBefore(len(session.Requests) - 1)
	requests := slices.Clone(session.Requests[last:])
	if before := promptAtOrBefore(last - 1); before < last && b.hasPrompts() {
		asked := session.Requests[before]
		if session.AnswerIsEarlier {
			asked.Answer = session.Answer
		}
		requests = append([]summary.Request{asked}, requests...)
	}
	t := b.Thread.Essential()
	if t != nil {
		t.Beside, t.Answers = b.Thread.Beside, b.Thread.Answers // a short prompt is shown with the question it answers
	}
	return Brief{
		Hooked: b.Hooked, Thread: t, LivesOn: true, promptRoom: promptRoomShort, PromptsAlone: true, clean: b.clean,
		Session: summary.Summary{
			Todos: session.Todos, Done: session.Done, Failures: session.Failures,
			Files:    firstN(session.Files, maxFiles),
			Requests: requests, First: summary.Request{Text: b.LastRequest()}, // what is wanted now stands on top
		},
	}.Text()
}

// asLast marks an instruction that is the whole last request. The brief does not repeat it.
const asLast = " (this was the last request)"

// standingInstructions returns the standing instructions of the chain, and whether one of them is the
// whole last request.
func (b Brief) standingInstructions() (lines []string, asked bool) {
	if b.Thread == nil {
		return nil, false
	}
	for _, i := range b.Thread.Instructions {
		line := "- " + term.OneLine(i.Text)
		if term.OneLine(i.Text) == term.OneLine(b.LastRequest()) {
			line += asLast
			asked = true
		}
		lines = append(lines, line)
	}
	return lines, asked
}

// originUnlessShown returns the first request of the chain, or "" if it begins with the request of
// the session that the brief shows: the last one if the messages are listed, else the first.
func (b Brief) originUnlessShown() string {
	if b.Thread == nil {
		return ""
	}
	shown := b.Session.First.Text
	if b.hasPrompts() {
		shown = b.LastRequest()
	}
	if shown != "" && strings.HasPrefix(b.Thread.Request.Text, shown) {
		return ""
	}
	return b.Thread.Request.Text
}

// earlierHandovers returns the hand-overs of earlier sessions, the latest first. The last two, this
// session's own message included, are long; of the others it has a beginning and an end.
func (b Brief) earlierHandovers() []string {
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

// backgroundWork returns what was working beside the session when its last turn ended.
func (b Brief) backgroundWork() (running, team []string) {
	if b.Thread == nil || b.Thread.Beside == nil {
		return nil, nil
	}
	return b.Thread.Beside.Running, b.Thread.Beside.Team
}

// OpenTodos returns the open items of the agent's list and counts the finished ones. If the
// session has no list, it takes the chain's.
func (b Brief) OpenTodos() (open []summary.Todo, done int) {
	open, done = b.Session.Todos, b.Session.Done
	if b.Thread != nil && len(open) == 0 && done == 0 {
		done = b.Thread.Done
		for _, t := range b.Thread.Todos {
			open = append(open, summary.Todo(t))
		}
	}
	return open, done
}

// todos returns the open items of the agent's list and a title that counts the finished ones.
func (b Brief) todos() (title string, lines []string) {
	open, done := b.OpenTodos()
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
			line := fmt.Sprintf("- and %d more", len(open)-i)
			if b.Thread != nil {
				line += ": " + b.threadCommand()
			}
			lines = append(lines, line)
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

// LastRequest returns the last request of the person that is not a reply.
func (b Brief) LastRequest() string {
	for _, r := range slices.Backward(b.Session.Requests) {
		if !r.Reply {
			return r.Text
		}
	}
	return ""
}

// LastAsked returns the last request and, if it is short, what it answers.
func (b Brief) LastAsked() string {
	return strings.TrimSpace(b.LastRequest() + "\n" + b.lastQuestion())
}

// lastQuestion returns what a short last request answers, in a line of its own, or "" if the
// request is long or nothing before it is known.
func (b Brief) lastQuestion() string {
	last := ""
	for _, r := range slices.Backward(b.Session.Requests) {
		switch {
		case r.Reply:
		case last != "": // it may reply to what r was answered
			said := r.Answer
			if b.Session.AnswerIsEarlier {
				said = b.Session.Answer
			}
			return strings.TrimSpace(answeredQuestion(said, last, true))
		default:
			last = r.Text
		}
	}
	return ""
}

// earlierTurns returns the last turns, oldest first: each request with its answer, and the person's
// replies in between. Of the very last turn it has only the replies.
func (b Brief) earlierTurns() []string {
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
		case len(turns) == 0: // the text has it already
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

// worktree returns the branch and the changed files as two lines, or nil outside a worktree.
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

// commits returns a line for each of the last commits, and one for the number of earlier ones.
func (b Brief) commits() []string {
	cs := b.Commits
	var lines []string
	if n := len(cs) - maxCommits; n > 0 {
		lines = append(lines, fmt.Sprintf("- %d earlier ones", n))
		cs = cs[n:]
	}
	for _, c := range cs {
		lines = append(lines, "- "+cutLine(c.Hash[:min(len(c.Hash), 10)])+" "+cutLine(c.Subject))
	}
	return lines
}

// cutLine returns a text that somebody else wrote, and that may hold anything, as one clean line of
// at most 120 characters.
func cutLine(s string) string { return summary.Cut(term.OneLine(term.Clean(s)), 120) }

// notes returns lines for the notes that the session was given and those that are unread.
func (b Brief) notes() []string {
	var lines []string
	for _, n := range firstN(b.Hooked, maxNotes) {
		lines = append(lines, "- given: "+cutLine(n.Subject)+" (gt-mail read "+n.ID+")")
	}
	for _, n := range firstN(b.Unread, maxNotes) {
		lines = append(lines, "- unread, from "+cutLine(n.From)+": "+cutLine(n.Subject)+" (gt-mail read "+n.ID+")")
	}
	if more := len(b.Hooked) + len(b.Unread) + b.More - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more: gt-mail inbox", more))
	}
	return lines
}

// issues returns lines for the agent's work in bd, then for work that anyone may begin.
func (b Brief) issues() []string {
	var lines []string
	for _, w := range firstN(b.Work, maxNotes) {
		lines = append(lines, "- "+strings.ReplaceAll(cutLine(w.Status), "_", " ")+": "+cutLine(w.ID)+" "+cutLine(w.Title))
	}
	if more := len(b.Work) - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more: bd list", more))
	}
	for _, w := range b.Ready {
		lines = append(lines, "- ready: "+cutLine(w.ID)+" "+cutLine(w.Title))
	}
	return lines
}

// unfinished returns what the agent had begun and what has no result, with a title that says
// whether it can have happened. It leaves out commands of gt's whose text the brief has elsewhere.
func (b Brief) unfinished() (title string, lines []string) {
	lines = slices.DeleteFunc(bullets(b.Session.Unfinished), runsGT)
	if b.AwaitsPermission {
		return "Waiting for the person's permission, so it has not happened", lines
	}
	return "Without a result: it may not have happened, or only in part", lines
}

// runsGT reports whether a line is a command of gt's whose text the brief has elsewhere.
func runsGT(line string) bool {
	return strings.Contains(line, "gt-handoff ") || strings.Contains(line, "gt-checkpoint ")
}

// commands returns a line for each command, but not for those whose text the brief has elsewhere.
func commands(cs []summary.Command) []string {
	var lines []string
	for _, c := range cs {
		line := "- `" + term.OneLine(c.Text) + "`"
		if runsGT(line) {
			continue
		}
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
