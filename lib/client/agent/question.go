package agent

import (
	"slices"
	"strconv"
	"strings"
)

// Question is what a client asks the person instead of taking a prompt.
type Question struct {
	Options []Option // as they stand there, from 1 on
	// Screen is the text of the screen, by which one question is told from another.
	Screen string
}

// Option is an answer that the client offers.
type Option struct {
	Text     string
	Selected bool // Enter takes it
}

// Question reports what a screen, captured with its styles, asks the person. It has no
// options where the client numbers none.
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
	if !slices.ContainsFunc(q.Options, func(o Option) bool { return o.Selected }) {
		q.Options = nil // a list that the agent wrote
	}
	return q, true
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
