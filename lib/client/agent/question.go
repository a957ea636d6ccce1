package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Question is a dialog in which a client asks the person instead of taking a prompt.
type Question struct {
	Options []Option // in their order on the screen, numbered from 1
	Text    string   // what it asks: the lines above the options, up to a rule
	// Previous and Next are tmux's names of the keys that move the selection, if the
	// options have no numbers.
	Previous, Next string
}

type Option struct {
	Text     string
	Selected bool // Enter takes it
}

// Question returns the question on a screen that was captured with its styles. It has no
// options if gt recognises none.
func (c Client) Question(styled string) (q Question, ok bool) {
	if shown, _ := c.Input(styled); shown != Asks {
		return q, false
	}
	q = parseOptions(styled)
	q.Text = c.questionText(Plain(styled), q)
	return q, true
}

// EndsInQuestion reports whether a screen ends in words of a question: the keys of a form, or what
// is asked without options. A status row or two can stand below them, besides borders. The same
// words further up can be of an answer, and so can those at or above the mark of a message.
func (c Client) EndsInQuestion(styled string) bool {
	rows := strings.Split(strings.ToLower(Plain(styled)), "\n")
	end, texts := len(rows), 0
	for i, row := range slices.Backward(rows) {
		if texts == maxFormRows || strings.IndexAny(row, "●⏺•✦✻") == 0 {
			break
		}
		if strings.Trim(row, borders) != "" {
			end, texts = i, texts+1
		}
	}
	return c.PromptPatterns.lastMatch(strings.Join(rows[end:], "\n")) >= 0
}

// maxFormRows is how many last rows with text can have the words of a question.
const maxFormRows = 3

// Digest identifies a question by its text and its options, whichever is selected.
func (q Question) Digest() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", q.Text)
	for _, o := range q.Options {
		fmt.Fprintf(sum, "%s\x00", o.Text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

const maxQuestionLines = 20

// questionText returns the lines above a question's options, up to the rule or border that begins
// the dialog, or to the first line without the border that stands left of the options. It leaves
// out lines that show how long the client has worked. These, and what stands above the dialog,
// can change while it is the same question (see Digest).
func (c Client) questionText(screen string, q Question) string {
	lines := strings.Split(screen, "\n")
	at := len(lines) // becomes the line of the first option
	for i := len(q.Options) - 1; i >= 0; i-- {
		if i > 0 && q.Previous == "Left" {
			continue // they are on one line
		}
		for at--; at > 0 && !strings.Contains(lines[at], q.Options[i].Text); at-- {
		}
	}
	var text []string
	left := ""
	if at < len(lines) {
		left = leftBorder(lines[at])
	}
	for at--; at >= 0 && len(text) < maxQuestionLines && (left == "" || leftBorder(lines[at]) == left); at-- {
		line := strings.Trim(lines[at], " \u00a0│┃|")
		if strings.Trim(line, "─━═▔╌╭╮┌┐┏┓") == "" && utf8.RuneCountInString(line) > 5 { // a rule
			break
		}
		if line != "" && c.BusyPatterns.lastMatch(strings.ToLower(line)) < 0 {
			text = append(text, line)
		}
	}
	slices.Reverse(text)
	return strings.Join(text, "\n")
}

// leftBorder returns a line up to the border that it begins with, "" without one.
func leftBorder(line string) string {
	rest := strings.TrimLeft(line, " \u00a0")
	if at := len(line) - len(rest); strings.HasPrefix(rest, "│") || strings.HasPrefix(rest, "┃") {
		return line[:at+len("│")]
	}
	return ""
}

// isMenu reports whether a screen without an input box ends in options of which one is
// selected: a question in words that the table of agents does not have. Options beside each other
// do not count.
func isMenu(styled string) bool {
	q := parseOptions(styled)
	if len(q.Options) < 2 || q.Previous == "Left" || !oneSelected(q.Options) {
		return false
	}
	lines, below := strings.Split(strings.TrimRight(Plain(styled), " \n"), "\n"), 0
	for _, line := range slices.Backward(lines) {
		switch last := q.Options[len(q.Options)-1].Text; {
		case strings.Contains(line, last):
			return true
		case strings.TrimSpace(line) != "":
			below++
		}
		if below > maxLinesBelow {
			break
		}
	}
	return false
}

// maxLinesBelow is how many lines below its options a menu can have: a note, and the keys.
const maxLinesBelow = 6

// parseOptions reads the options on a screen; the question has none if gt recognises none.
func parseOptions(styled string) (question Question) {
	all := Plain(styled)
	for line := range strings.SplitSeq(all, "\n") {
		n, o, ok := parseOption(line)
		switch {
		case !ok:
		case n == 1:
			question.Options = []Option{o} // lines above are part of the conversation
		case n == len(question.Options)+1:
			question.Options = append(question.Options, o)
		}
	}
	if question.Selected() >= 0 {
		return question
	}
	// Numbered lines are a list that the agent wrote, unless a colour selects one of them, which
	// markColoured finds.
	if markColoured(question.Options, styled) {
		return question
	}
	if question.Options = columnOptions(all); question.Options != nil {
		question.Previous, question.Next = "Up", "Down"
	} else if question.Options = rowOptions(styled); question.Options != nil {
		question.Previous, question.Next = "Left", "Right"
	}
	return question
}

func (q Question) Selected() int {
	return slices.IndexFunc(q.Options, func(o Option) bool { return o.Selected })
}

// IsSameQuestion reports whether both are the same question, whichever option is selected.
func (q Question) IsSameQuestion(other Question) bool { return q.Digest() == other.Digest() }

// columnOptions reads the screen's last options below each other without numbers: " ❯ No", and
// at the same column "   Yes". A mark at the beginning of a line is not a selection but
// an earlier prompt of the person.
func columnOptions(screen string) []Option {
	lines := strings.Split(screen, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		at, text, marked := parseItem(lines[i])
		if !marked || strings.IndexAny(lines[i], "❯›●>") == 0 {
			continue
		}
		all := []Option{{text, true}}
		for above := i - 1; above >= 0; above-- {
			column, text, marked := parseItem(lines[above])
			if column != at || marked {
				break
			}
			all = append([]Option{{Text: text}}, all...)
		}
		for below := i + 1; below < len(lines); below++ {
			column, text, marked := parseItem(lines[below])
			if column != at || marked {
				break
			}
			all = append(all, Option{Text: text})
		}
		if len(all) > 1 {
			return all
		}
	}
	return nil
}

// parseItem returns a line's text after its border and mark, and the column at which it
// begins, or -1.
func parseItem(line string) (column int, text string, marked bool) {
	trimmed := strings.TrimLeft(line, " \u00a0│┃|")
	trimmed, marked = cutMark(trimmed, "❯›●>")
	text = strings.TrimRight(trimmed, " \u00a0│┃|")
	if text == "" {
		return -1, "", false
	}
	return utf8.RuneCountInString(line) - utf8.RuneCountInString(trimmed), text, marked
}

// cutMark removes one of the marks and the blanks after it from the beginning of a text.
func cutMark(text, marks string) (rest string, marked bool) {
	r, size := utf8.DecodeRuneInString(text)
	if !strings.ContainsRune(marks, r) {
		return text, false
	}
	return strings.TrimLeft(text[size:], " \u00a0"), true
}

// parseOption parses a numbered option: "❯ 1. Yes", "│ ● 2. No │", "→ [1] Red".
func parseOption(line string) (n int, o Option, ok bool) {
	line, o.Selected = cutMark(strings.Trim(line, " \u00a0│┃|"), "❯›●>→▶")
	number, text, ok := strings.Cut(line, ". ")
	if rest, brackets := strings.CutPrefix(line, "["); brackets {
		number, text, ok = strings.Cut(rest, "] ")
	}
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > 9 {
		return 0, o, false
	}
	o.Text = strings.TrimSpace(text)
	return n, o, true
}

// AcceptingOption returns the number of the option that accepts a dialog at the client's start,
// or 0 if this is another question.
func (c Client) AcceptingOption(q Question) int {
	for i, o := range q.Options {
		if c.AcceptDialogs.matchesWhole(o.Text) {
			return i + 1
		}
	}
	return 0
}

// markColoured marks the numbered option with a background of its own as selected, and
// reports whether there is exactly one.
func markColoured(options []Option, styled string) bool {
	for _, line := range screenCells(styled) {
		n, o, ok := parseOption(line.String())
		if !ok || n > len(options) || o.Text != options[n-1].Text {
			continue
		}
		options[n-1].Selected = line.standsOut(slices.IndexFunc(line, func(c cell) bool { return c.rune >= '1' && c.rune <= '9' }))
	}
	return oneSelected(options)
}

// rowOptions reads the last row of options beside each other in which the selected one has a
// background of its own: "Allow once   Allow always   Reject". Two blanks divide options. What
// stands behind four blanks explains the keys.
func rowOptions(styled string) []Option {
	for _, line := range slices.Backward(screenCells(styled)) {
		var all []Option
		blanks := 2 // before a character; the first one begins an option
	row:
		for i, c := range line {
			if strings.ContainsRune(" \u00a0│┃|", c.rune) {
				blanks++
				continue
			}
			switch {
			case all != nil && blanks >= 4:
				break row
			case blanks >= 2:
				all = append(all, Option{Selected: line.standsOut(i)})
			default:
				all[len(all)-1].Text += strings.Repeat(" ", blanks)
			}
			all[len(all)-1].Text += string(c.rune)
			blanks = 0
		}
		if len(all) > 1 && oneSelected(all) {
			return all
		}
	}
	return nil
}

func oneSelected(options []Option) bool {
	n := 0
	for _, o := range options {
		if o.Selected {
			n++
		}
	}
	return n == 1
}

// cell is a character of a screen. ground holds the codes of its background.
type cell struct {
	rune   rune
	ground string
}

type screenLine []cell

func (l screenLine) String() string {
	text := make([]rune, len(l))
	for i, c := range l {
		text[i] = c.rune
	}
	return string(text)
}

// standsOut reports whether the text at a cell has another background than the text before it. It
// skips the cell before the text, a blank that can have the background of either.
func (l screenLine) standsOut(at int) bool { return at >= 2 && l[at].ground != l[at-2].ground }

// screenCells returns the lines of a screen that was captured with its styles.
func screenCells(styled string) (lines []screenLine) {
	var now screenLine
	ground := ""
	for styled != "" {
		if codes, styles, rest, ok := parseSequence(styled); ok {
			if styles {
				ground = background(codes, ground)
			}
			styled = rest
			continue
		}
		r, size := utf8.DecodeRuneInString(styled)
		styled = styled[size:]
		switch {
		case r == '\n':
			lines, now = append(lines, now), nil
		case r >= ' ':
			now = append(now, cell{r, ground})
		}
	}
	return append(lines, now)
}

// background applies the codes of a style sequence.
func background(codes, ground string) string {
	for code, whole := range iterStyles(codes) {
		n, err := strconv.Atoi(code)
		switch {
		case err != nil, n == 0, n == 49:
			ground = ""
		case n >= 40 && n <= 48, n >= 100 && n <= 107:
			ground = whole
		}
	}
	return ground
}
