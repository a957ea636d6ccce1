package brief

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"gt/lib/conversation/summary"
	"gt/lib/state/thread"
	"gt/lib/text/count"
	"gt/lib/text/frame"
	"gt/lib/text/pasted"
	"gt/lib/text/term"
)

const (
	// defaultRoom and promptRoomShort are the sizes of the list of messages, in characters: in a
	// hand-over, and for a summariser.
	defaultRoom     = 4000
	promptRoomShort = 1500
	// maxListed limits the messages of which a list is made, to those with the most points.
	maxListed = 600
	// In more than nearRoom, the last nearMessages of the person come before what is only worded
	// like a rule.
	nearRoom     = 2500
	nearMessages = 6
	nearPoints   = 10
)

// promptLengths are the lengths to which messages are cut, in characters. As many as there
// is room for get the first; then those with the most points get the others.
var promptLengths = []int{220, 600, 1500}

// Lists are the parts of a thread that the reader's text does not have yet, a line each,
// oldest first: the person's messages, what agents answered last in their turns, and the
// commands that they ran with what came of them.
type Lists struct{ Prompts, Answers, Actions []string }

// Lists returns the lists without what the text known has. Together they are at most room long, as
// size counts it; if not all fits, those with the most points are in. If messages or hand-overs are
// left out, Prompts says how many and names command, which prints all. Of messages that differ only
// in values, the last one stands for all, with the values of the others. Only what is cut is cleaned
// (see Clean), so the caller cleans the lists.
func (b Brief) Lists(known string, room int, size func(string) int, command string) Lists {
	l := b.chooseLines(known, room, size, command)
	var lists [3][]string
	if left := l.omittedCount(); left > 0 {
		lists[0] = append(lists[0], omittedLine(left, command))
	}
	for i, line := range l.lines {
		if line != "" {
			lists[l.candidates[i].kind] = append(lists[l.candidates[i].kind], line)
		}
	}
	return Lists{lists[0], lists[1], lists[2]}
}

// Chosen returns the line of each of the thread's Distinct messages that lists of room
// characters have, "" for the others.
func (b Brief) Chosen(room int) []string {
	return b.chooseLines("", room, utf8.RuneCountInString, b.threadCommand()).lines[:len(b.Thread.Distinct())]
}

// chooseLines returns the selection with the lines of the lists. The parameters are those of Lists.
func (b Brief) chooseLines(known string, room int, size func(string) int, command string) selection {
	l := b.collectCandidates(known, room)
	l.size = size
	l.fillLines(room - size(omittedLine(len(l.candidates), command)))
	return l
}

// omittedLine returns the line that says how many messages are left out, and what prints them.
func omittedLine(n int, command string) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("- [%s %s left out here: %s prints all]", count.Plural(n, "message"), verb, command)
}

// selection is a list of messages, answers and actions that are being chosen.
type selection struct {
	candidates       []candidate
	isKnown          []bool           // whether the reader is told a candidate elsewhere
	order            []int            // the indices of the others, those with the most points first
	lines            []string         // of the candidates; "" for one that is left out
	groups           map[[2]int][]int // by groupKey, the indices of those that differ only in values
	thread           *thread.Thread
	quotesStatements bool // there is room to tell what a bare message follows that answers no question
	clean            func(string) string
	size             func(string) int
}

// candidate is a quote and which of the Lists it belongs to. Of a hand-over it also has what the
// session wrote; of anything else that is "".
type candidate struct {
	thread.Quote
	kind     int
	handover string
}

// groupKey names the candidates that say the same as i with other values.
func (l selection) groupKey(i int) [2]int { return [2]int{l.candidates[i].kind, l.candidates[i].Group} }

// collectCandidates returns what can be listed, ordered by points. text is what the reader gets
// beside the lists: what it has is marked as known and is not in the order. In a large room, the
// person's last messages get more points.
func (b Brief) collectCandidates(text string, room int) (selected selection) {
	if b.Thread == nil {
		return selected
	}
	selected.clean, selected.thread = b.clean, b.Thread
	lines := map[string]bool{} // of the text; of a reply also without the question behind it
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "- ")
		lines[line] = true
		for _, how := range [...]string{answeringPrefix, afterPrefix} {
			if reply, _, found := strings.Cut(line, how); found {
				lines[reply] = true
			}
		}
	}
	text = term.OneLine(text)
	all := [][]thread.Quote{b.Thread.Distinct(), b.Thread.Answers, b.Thread.Actions}
	if b.PromptsAlone {
		all[answers], all[actions] = nil, nil
	}
	for i, quotes := range all {
		for _, q := range quotes {
			selected.candidates = append(selected.candidates, candidate{Quote: q, kind: i})
		}
		if i == answers {
			selected.addHandovers(b.Thread.Messages)
		}
	}
	selected.isKnown, selected.lines, selected.groups = make([]bool, len(selected.candidates)), make([]string, len(selected.candidates)), map[[2]int][]int{}
	for i, q := range selected.candidates {
		selected.order = append(selected.order, i)
		if q.Group != 0 {
			selected.groups[selected.groupKey(i)] = append(selected.groups[selected.groupKey(i)], i)
		}
	}
	if room > nearRoom {
		near := 0
		for i := len(all[prompts]) - 1; i >= 0 && near < nearMessages; i-- {
			selected.candidates[i].Points += nearPoints
			if !selected.candidates[i].Reply {
				near++
			}
		}
	}
	sort.Slice(selected.order, func(a, b int) bool {
		i, j := selected.order[a], selected.order[b]
		return cmp.Or(selected.candidates[i].Points-selected.candidates[j].Points, i-j) > 0
	})
	selected.order = slices.DeleteFunc(firstN(selected.order, maxListed), func(i int) bool {
		said := term.OneLine(selected.candidates[i].Text)
		switch selected.candidates[i].kind {
		case actions:
			selected.isKnown[i] = strings.Contains(text, thread.ActionOf(said)) || isFailureTold(text, said)
		case answers:
			if message := selected.candidates[i].handover; message != "" {
				selected.isKnown[i] = lines[strings.TrimPrefix(said, handedOver)] || isHandoverTold(text, lines, message)
			} else { // the text can have the end of a long answer in another part
				selected.isKnown[i] = strings.Contains(text, said[:runeStart(said, min(max(0, len(said)-1), originLength/3))])
			}
		default: // a short message only as a whole line, for its words can be part of another text
			selected.isKnown[i] = lines[said] && isQuestionTold(text, selected.questionText(i)) || len(said) >= uniqueLength && (isTold(text, said) || isTold(text, frameText(selected.candidates[i].Text)))
		}
		return selected.isKnown[i]
	})
	return selected
}

// handedOver begins what is listed of a hand-over. In other places its subject begins it.
const handedOver = "handed over: "

// uniqueLength is how long a text is, in bytes, that is not part of another one by chance.
const uniqueLength = 40

// isQuestionTold reports whether a text in one line has the end of what a short message answers, as
// questionText returns it. It returns true if that is "".
func isQuestionTold(text, question string) bool {
	question = strings.TrimSuffix(question, `")`)
	return strings.Contains(text, question[runeStart(question, max(0, len(question)-uniqueLength)):])
}

// isFailureTold reports whether a text in one line has a command that failed among the failures,
// with the beginning of what it said.
func isFailureTold(text, action string) bool {
	command, bad, failed := strings.Cut(action, "` failed: ")
	return failed && strings.Contains(text, "- "+strings.TrimPrefix(command, "`")+": "+bad[:runeStart(bad, min(len(bad), uniqueLength))])
}

// isHandoverTold reports whether a text in one line has what a session handed over, as it is or as it
// looks inside a frame: the beginning of a long message, or each of the lines of a short one.
func isHandoverTold(text string, lines map[string]bool, message string) bool {
	said := term.OneLine(message)
	if len(said) >= uniqueLength {
		begins := func(said string) bool {
			return strings.Contains(text, said[:runeStart(said, min(len(said), originLength/3))])
		}
		return begins(said) || begins(frameText(message))
	}
	for line := range strings.Lines(message) {
		if line = strings.TrimSpace(line); line != "" && !lines[strings.TrimPrefix(line, "- ")] {
			return false
		}
	}
	return true
}

// addHandovers adds what sessions handed over to the answers, by its time. The last two come
// before all that agents answered.
func (l *selection) addHandovers(all []thread.Message) {
	const pointsLast, points = 100, 8
	for i, m := range all {
		text := handedOver + m.Subject
		if m.Text != m.Subject {
			text += ": " + m.Text
		}
		q := candidate{thread.Quote{Text: text, Session: m.Session, Time: m.Time, Points: points}, answers, cmp.Or(m.Text, m.Subject)}
		if i >= len(all)-2 {
			q.Points = pointsLast
		}
		l.candidates = append(l.candidates, q)
		for at := len(l.candidates) - 1; at > 0 && l.candidates[at-1].kind == answers && l.candidates[at-1].Time.After(m.Time); at-- {
			l.candidates[at-1], l.candidates[at] = q, l.candidates[at-1]
		}
	}
}

// The indices of the Lists.
const (
	prompts = iota
	answers
	actions
)

// fillLines makes the lines of those with the most points. A fifth of the room is for answers, a fifth
// for actions, the rest for the person's messages; what one list leaves goes to the next. If not all
// fit, one more message is cut to the room that is left. If all fit, the room goes to longer lines,
// and to the values of messages that are alike.
func (l selection) fillLines(room int) {
	// setLine makes the line of i, or replaces it, and returns false if there is no room.
	setLine := func(i int, line string) bool {
		n := l.size(line + "\n")
		if l.lines[i] != "" {
			n -= l.size(l.lines[i] + "\n")
		}
		if n > room {
			return false
		}
		l.lines[i], room = line, room-n
		return true
	}
	short, shortened := min(promptLengths[0], max(room/5, 90)), false
	var shares [actions + 2]int // of each list, and last of what is left
	if slices.ContainsFunc(l.order, func(i int) bool { return l.candidates[i].kind > 0 }) {
		shares[answers], shares[actions] = room/5, room/5
	}
	room -= shares[answers] + shares[actions]
	for pass, share := range shares {
		room += share
		rest, length := pass > actions, short // in the rest, a candidate of any list can still get a line
		if pass == actions {
			length = short * 2 / 3 // a list of files says enough by then
		}
		for _, i := range l.order {
			// setLine comes after all that rules a line out. In the rest, one line that does not fit is
			// cut to the room that is left.
			if l.lines[i] != "" || l.isAlike(i) || l.isQuoted(i) || !rest && l.candidates[i].kind != pass || setLine(i, l.formatLine(i, length)+l.earlierValues(i, 0)) || !rest || shortened {
				continue
			}
			for n := min(room, short); n > 80 && !shortened; n -= 20 {
				shortened = setLine(i, l.formatLine(i, n))
			}
		}
	}
	// Longer lines are for long messages, and for short ones with the question that they answer.
	l.quotesStatements = true
	for _, length := range promptLengths {
		for _, i := range l.order {
			if l.lines[i] != "" && !shortened && (len(l.candidates[i].Text) > short || len(l.candidates[i].Text) < shortAnswer) {
				setLine(i, l.formatLine(i, length)+l.earlierValues(i, 0))
			}
		}
	}
	for _, i := range l.order {
		if l.lines[i] != "" && !shortened && len(l.groups[l.groupKey(i)]) > 1 {
			setLine(i, strings.TrimSuffix(l.lines[i], l.earlierValues(i, 0))+l.earlierValues(i, room))
		}
	}
}

// isAlike reports whether a later message stands for this one: it says the same with other values.
func (l selection) isAlike(i int) bool {
	group := l.groups[l.groupKey(i)]
	return len(group) > 0 && i != group[len(group)-1]
}

// isQuoted reports whether the line of the message that follows an answer has all of the answer.
func (l selection) isQuoted(i int) bool {
	q := l.candidates[i]
	if q.kind != answers || q.handover != "" || len(q.Text) > 4*longQuestion {
		return false
	}
	// The candidates begin with the messages by time; next is the first one after the answer.
	next := sort.Search(len(l.candidates), func(i int) bool { return l.candidates[i].kind != prompts || l.candidates[i].Time.After(q.Time) })
	return strings.Contains(l.lines[next], quoteWords(term.OneLine(l.cleaned(q.Text))))
}

// omittedCount counts the messages that the text leaves out: the person's, and what was handed
// over. One for which a later one stands counts only if that has no line and is not known either.
func (l selection) omittedCount() (n int) {
	for i := range l.candidates {
		at := i
		if l.isAlike(i) {
			group := l.groups[l.groupKey(i)]
			at = group[len(group)-1]
		}
		if (l.candidates[i].kind == prompts || l.candidates[i].handover != "") && l.lines[i] == "" && l.lines[at] == "" && !l.isKnown[i] && !l.isKnown[at] {
			n++
		}
	}
	return n
}

// earlierValues returns what to add to the line of a message that was said before with other
// values, " (before: 7; 8)" or " (35 times before: 8; 9)", else "". Of few earlier messages it has
// all values, of more the latest for which there is room.
func (l selection) earlierValues(i, room int) string {
	const few, longest, most = 3, 60, 120
	if room = min(room, most); l.candidates[i].kind == actions { // what ran is worth more than how often
		room = most
	}
	group := l.groups[l.groupKey(i)]
	if len(group) < 2 {
		return ""
	}
	group = group[:len(group)-1]
	var values []string
	words := func(i int, known []string) (all []string) {
		for w := range strings.FieldsSeq(l.thread.WithQuestion(l.candidates[i].Quote)) {
			if w = strings.TrimLeft(strings.TrimRight(w, "`\"')].,:;?!"), "`\"'(["); w != "" && !slices.Contains(known, w) && !slices.Contains(all, w) {
				all = append(all, w)
			}
		}
		return all
	}
	now := words(i, nil)
	for _, j := range slices.Backward(group) {
		value := summary.Cut(strings.Join(words(j, now), " "), longest)
		if value == "" || slices.Contains(values, value) {
			continue
		}
		if room -= l.size(value + "; "); room < 0 && len(group) > few {
			break
		}
		values = append(values, value)
	}
	text := fmt.Sprintf(" (%d times before", len(group))
	switch {
	case len(group) <= few && len(values) == 0: // it has their values itself: "7443, not 443"
		return ""
	case len(group) <= few:
		text = " (before"
	}
	if len(values) > 0 {
		text += ": " + strings.Join(values, "; ")
	}
	return text + ")"
}

// formatLine returns the line of a message, cut to a length, with what the message answers. Pasted
// text is left out before typed text is cut. A text that is cut is cleaned before, but not all of a
// long one, of which little is shown.
func (l selection) formatLine(i, length int) string {
	text := term.OneLine(l.candidates[i].Text)
	if l.candidates[i].kind == prompts && utf8.RuneCountInString(text) > length {
		typed := pasted.Typed(l.candidates[i].Text, func([]string) string { return "" })
		if strings.TrimSpace(typed) != "" {
			text = term.OneLine(pasted.Typed(l.candidates[i].Text, pasted.Mark(l.cleaned)))
		}
	}
	if utf8.RuneCountInString(text) > length { // mutant never: TestPromptsFit
		text = term.OneLine(l.cleaned(summary.Cut(text, 4*length)))
	}
	return "- " + summary.Cut(text, length) + l.questionText(i)
}

// questionText returns what a short message of the person answers, "" if that is unknown.
func (l selection) questionText(i int) string {
	q := l.candidates[i]
	if q.kind != prompts {
		return ""
	}
	said := l.thread.AnswerBefore(q.Quote)
	return answeredQuestion(l.cleaned(said[runeStart(said, max(0, len(said)-8*longQuestion)):]), q.Text, l.quotesStatements)
}

// The lengths of what somebody says to a question, and of the question, in characters.
const (
	shortAnswer   = 40
	bareAnswer    = 10 // one that says nothing without what it follows, even if that does not ask
	shortQuestion = 160
	longQuestion  = 400 // with its choices
)

// answeredQuestion says, for a short reply of the person, what it replies to: the end of what the
// agent said. That is the last sentence that asks, with the choices before it if the reply is one
// of them ("2", "b, but …"). If nothing asks and quoteStatement is set, it is the last sentence,
// for a bare reply. It is "" for any other reply.
func answeredQuestion(answer, reply string, quoteStatement bool) string {
	answer = term.OneLine(answer)
	if !thread.IsShort(reply) || answer == "" {
		return ""
	}
	// The quotation ends at end. The sentence that it begins with is the one around last.
	end, last, label := len(answer), len(answer), answeringPrefix
	switch questionMark := thread.LastQuestionMark(answer); {
	case questionMark >= 0 && len(answer)-questionMark < shortQuestion:
		last = questionMark
		// A few words behind the question are quoted with it.
		if _, size := utf8.DecodeRuneInString(answer[questionMark:]); len(answer)-questionMark > shortAnswer {
			end = questionMark + size
		}
	case !quoteStatement || utf8.RuneCountInString(reply) > bareAnswer || len(reply) > 2*bareAnswer: // "那个超时改成三十秒" says all
		return ""
	default:
		label = afterPrefix
	}
	choice, _, _ := strings.Cut(strings.TrimLeft(reply, "(["), " ")
	choice = strings.TrimRight(choice, ".,:;)]")
	begin, length := 0, longQuestion
	if isChoice := utf8.RuneCountInString(choice) == 1 && choice != "y" && choice != "n" || choice != "" && choice[0] >= '0' && choice[0] <= '9'; !isChoice {
		begin, length = thread.SentenceStart(answer[:last]), shortQuestion
	}
	answer = answer[begin:end]
	if n := utf8.RuneCountInString(answer); n > length {
		answer = string([]rune(answer)[n-length:])
		if i := strings.IndexByte(answer, ' '); i >= 0 && i < len(answer)/4 {
			answer = answer[i+1:]
		}
		answer = "…" + answer
	}
	return label + quoteWords(answer) + `")`
}

// quoteWords returns an agent's words without double quotes, which would end the quotation.
func quoteWords(said string) string {
	return strings.NewReplacer(`"`, "'", "“", "'", "”", "'").Replace(said)
}

// The beginnings of what stands behind a short message.
const (
	answeringPrefix = ` (answering the agent's "`
	afterPrefix     = ` (after the agent's "`
)

// cleaned returns a text as the brief's clean returns it (see Clean).
func (l selection) cleaned(text string) string {
	if l.clean == nil {
		return text
	}
	return l.clean(text)
}

// isTold reports whether a text has a message: all of one that is never cut, else what is
// left at both ends even of one that is cut.
func isTold(told, text string) bool {
	if len(text) <= originLength {
		return strings.Contains(told, text)
	}
	front, back := runeStart(text, originLength/2), runeStart(text, len(text)-originLength/4)
	return strings.Contains(told, text[:front]) && strings.Contains(told, text[back:])
}

// frameText returns a message, or both ends of a long one, as it looks inside a frame.
func frameText(text string) string {
	const most = 2 << 10
	if len(text) > 2*most {
		text = text[:runeStart(text, most)] + text[runeStart(text, len(text)-most):]
	}
	return term.OneLine(frame.InnerText(quoteTitles(text)))
}

// runeStart returns n, or where the character begins in whose middle n is.
func runeStart(text string, n int) int {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// hasPrompts reports whether a reader of the brief gets the person's messages.
func (b Brief) hasPrompts() bool { return b.Thread != nil && len(b.Thread.Prompts) > 0 }

func (b Brief) threadCommand() string { return fmt.Sprintf("`gt-seance thread %s`", b.Thread.ChainID) }
