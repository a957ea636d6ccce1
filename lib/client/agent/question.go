package agent

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Question is what a client asks the person instead of taking a prompt.
type Question struct {
	Options []Option // as they stand there, from 1 on
	// Previous and Next are the keys of tmux that select another option, where the options
	// have no numbers.
	Previous, Next string
	// Screen is the text of the screen, by which one question is told from another.
	Screen string
}

// Option is an answer that the client offers.
type Option struct {
	Text     string
	Selected bool // Enter takes it
}

// Question reports what a screen, captured with its styles, asks the person. It has no
// options where none are known in what it asks.
func (c Client) Question(styled string) (q Question, ok bool) {
	all, _ := unstyled(styled)
	shown, _ := c.Input(styled)
	if shown != Asks {
		return q, false
	}
	q.Screen = all
	for line := range strings.SplitSeq(all, "\n") {
		n, o, ok := option(line)
		switch {
		case !ok:
		case n == 1:
			q.Options = []Option{o} // what stands above is of the conversation
		case n == len(q.Options)+1:
			q.Options = append(q.Options, o)
		}
	}
	if q.Selected() < 0 {
		q.Options = column(all) // what is numbered is a list that the agent wrote
		if q.Options != nil {
			q.Previous, q.Next = "Up", "Down"
		}
	}
	return q, true
}

// Selected returns the index of the option that Enter takes, -1 where there is none.
func (q Question) Selected() int {
	return slices.IndexFunc(q.Options, func(o Option) bool { return o.Selected })
}

// Same reports whether q offers what other does.
func (q Question) Same(other Question) bool {
	return slices.EqualFunc(q.Options, other.Options, func(a, b Option) bool { return a.Text == b.Text })
}

// column reads options that stand below each other and have no numbers, the last ones of a
// screen: " ❯ No", and at the same column "   Yes". A mark at the beginning of a line is that
// of a prompt which the person gave.
func column(screen string) []Option {
	lines := strings.Split(screen, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		at, text, marked := item(lines[i])
		if !marked || strings.IndexAny(lines[i], "❯›●") == 0 {
			continue
		}
		all := []Option{{text, true}}
		for above := i - 1; above >= 0; above-- {
			column, text, marked := item(lines[above])
			if column != at || marked {
				break
			}
			all = slices.Insert(all, 0, Option{Text: text})
		}
		for below := i + 1; below < len(lines); below++ {
			column, text, marked := item(lines[below])
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

// item returns the column at which a line's text begins behind its border and its mark, -1
// where there is none.
func item(line string) (column int, text string, marked bool) {
	trimmed := strings.TrimLeft(line, " \u00a0│┃|")
	for _, mark := range []string{"❯", "›", "●"} {
		if rest, ok := strings.CutPrefix(trimmed, mark); ok {
			trimmed, marked = strings.TrimLeft(rest, " \u00a0"), true
			break
		}
	}
	text = strings.TrimRight(trimmed, " \u00a0│┃|")
	if text == "" {
		return -1, "", false
	}
	return utf8.RuneCountInString(line) - utf8.RuneCountInString(trimmed), text, marked
}

// option reads a line of numbered options: "❯ 1. Yes", "│ ● 2. No │".
func option(line string) (n int, o Option, ok bool) {
	line = strings.Trim(line, " \u00a0│┃|")
	for _, mark := range []string{"❯", "›", "●", ">", "→"} {
		if rest, marked := strings.CutPrefix(line, mark); marked {
			o.Selected, line = true, strings.TrimLeft(rest, " \u00a0")
			break
		}
	}
	number, text, ok := strings.Cut(line, ". ")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > 9 {
		return 0, o, false
	}
	o.Text = strings.TrimSpace(text)
	return n, o, true
}

// Accepts returns the number of the option that accepts a dialog of the client's start, 0
// where the question is another one.
func (c Client) Accepts(q Question) int {
	for i, o := range q.Options {
		if c.AcceptDialogs.whole(o.Text) {
			return i + 1
		}
	}
	return 0
}
