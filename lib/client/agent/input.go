package agent

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// Input is the state of the input box on an agent's screen.
type Input int

const (
	NoInput    Input = iota // there is no box, or an unknown one
	EmptyInput              // nothing is typed
	Draft                   // typed, but not submitted
	Asks                    // the client asks the person something
)

// Input returns the state of the input box on a screen that was captured with its styles,
// and the screen's text from the box on. Faint text in the box is the client's own
// suggestion; reversed text is the cursor. A faint arrow at the end of a row is neither:
// it means that the box has more rows than the visible ones, which can be empty.
func (c Client) Input(styled string) (shown Input, below string) {
	all, plain := stripStyles(styled) // all has the faint and the reversed text, too
	if !slices.ContainsFunc(c.EmptyInput, func(p string) bool { return strings.Contains(p, `\x1a`) }) {
		plain = strings.ReplaceAll(plain, suggested, "")
	}
	all, plain = strings.ToLower(all), strings.ToLower(plain)
	// Each of the three is where the last such text begins, or -1.
	empty, asks := c.EmptyInput.lastMatch(plain), c.PromptPatterns.lastMatch(plain)
	box := max(c.InputBox.lastMatch(plain), empty)
	switch { // What stands lower on the screen is newer.
	case empty >= box && empty > asks:
		return EmptyInput, plain[empty:]
	case box > asks, box >= 0 && isTyped(plain, box, asks, styled):
		return Draft, plain[box:]
	case c.isAnswered(all):
		return NoInput, plain
	case asks >= 0 || c.PromptPatterns.lastMatch(all) >= 0:
		return Asks, plain
	case c.KnowsInput() && c.BusyPatterns.lastMatch(all) < 0 && isMenu(styled):
		return Asks, plain
	}
	return NoInput, plain
}

// isTyped reports whether the person typed what looks like a client's question, at screen[words:],
// into the box that begins at screen[box:]. A box whose first row is a rule ends at the next rule.
// Without that second rule below the words, it is a question, whose options can stand below a rule.
// Another box ends at an empty row, and is a question if an option is selected.
func isTyped(screen string, box, words int, styled string) bool {
	ruled, within, end := false, false, box
	for row := range strings.Lines(screen[box:]) {
		switch text := strings.TrimSpace(row); {
		case end == box && isRule(text):
			ruled = true
		case isRule(text):
			return within
		case text == "" && !ruled:
			return false
		case words < end+len(row):
			if !ruled {
				return parseOptions(styled).Selected() < 0
			}
			within = true
		}
		end += len(row)
	}
	return false
}

func isRule(row string) bool {
	return len(row) > len("─────") && strings.Trim(row, borders) == ""
}

const borders = "─━╭╮╰╯╹▀┃│ "

// isAnswered reports whether the last question on a screen, in lower case, was answered.
func (c Client) isAnswered(screen string) bool {
	return c.AnsweredPatterns.lastMatch(screen) > c.PromptPatterns.lastMatch(screen)
}

// KnowsInput reports whether the look of the agent's empty input box is known.
func (c Client) KnowsInput() bool { return len(c.EmptyInput) > 0 }

// DropsPrompt reports whether the screen, captured with its styles, shows that the agent would
// drop a prompt now, although its input box accepts text.
func (c Client) DropsPrompt(styled string) bool {
	return c.DeafPatterns.lastMatch(strings.ToLower(Plain(styled))) >= 0
}

// MayAskTrust reports whether the screen shows that the agent is about to open its folder: it
// may still ask whether to trust it, although it shows the input box.
func (c Client) MayAskTrust(screen string) bool {
	return c.OpensPatterns.lastMatch(strings.ToLower(screen)) >= 0
}

// Plain returns the text of a screen that was captured with its styles.
func Plain(styled string) string {
	all, _ := stripStyles(styled)
	return all
}

// suggested stands in a screen without styles before text that a client suggests in its box:
// it follows a cursor of one character in the default colour, and has a colour of its own up to
// the end of its row. Only for clients whose empty_input has it the mark means anything.
const suggested = "\x1a"

// stripStyles removes the sequences that set styles from a screen. all is the whole text;
// plain has no faint or reversed text, and has the mark suggested before what may be a suggestion.
func stripStyles(styled string) (all, plain string) {
	var whole, normal strings.Builder
	var now style
	cursor := 0 // how many characters of a cursor come before
	for styled != "" {
		if codes, styles, rest, ok := parseSequence(styled); ok {
			if styles {
				now.applyCodes(codes)
			}
			styled = rest
			continue
		}
		if now.faint && isScrollMark(styled) {
			normal.WriteString(styled[:len("↑")])
		}
		c := styled[0]
		styled = styled[1:]
		if c < ' ' && c != '\n' && c != '\t' {
			continue
		}
		if utf8.RuneStart(c) {
			switch {
			case (now.reversed || now.underlined) && !now.coloured && c != '\n':
				cursor++
			case cursor == 1 && now.coloured && !now.faint && c != '\n' && keepsColour(styled):
				normal.WriteString(suggested) // its comment says when
				fallthrough
			default:
				cursor = 0
			}
		}
		whole.WriteByte(c)
		if c == '\n' || !now.faint && !now.reversed {
			normal.WriteByte(c)
		}
	}
	return whole.String(), normal.String()
}

// keepsColour reports whether no other style begins in a row before its end.
func keepsColour(styled string) bool {
	row, _, _ := strings.Cut(styled, "\n")
	for row != "" {
		if _, styles, rest, ok := parseSequence(row); ok {
			if styles && strings.TrimSpace(Plain(rest)) != "" {
				return false
			}
			row = rest
			continue
		}
		row = row[1:]
	}
	return true
}

// parseSequence parses the terminal sequence at the beginning of a text. styles reports
// whether it sets styles, with these codes. rest is the text after it, or "" if the
// sequence is cut off.
func parseSequence(styled string) (codes string, styles bool, rest string, ok bool) {
	if inside, ok := strings.CutPrefix(styled, "\x1b["); ok {
		end := strings.IndexFunc(inside, func(r rune) bool { return r >= '@' && r <= '~' })
		if end < 0 {
			return "", false, "", true
		}
		return inside[:end], inside[end] == 'm', inside[end+1:], true
	}
	if inside, ok := strings.CutPrefix(styled, "\x1b]"); ok { // a link
		_, rest, _ = strings.Cut(inside, "\x1b\\")
		return "", false, rest, true
	}
	return "", false, styled, false
}

// isScrollMark reports whether a text begins with an arrow that ends its row.
func isScrollMark(styled string) bool {
	rest, up := strings.CutPrefix(styled, "↑")
	rest, down := strings.CutPrefix(rest, "↓")
	if up == down { // no arrow, or two
		return false
	}
	for strings.HasPrefix(rest, "\x1b[") {
		_, after, ok := strings.Cut(rest, "m")
		if !ok {
			return false
		}
		rest = after
	}
	return rest == "" || rest[0] == '\n'
}

// style is how a terminal shows text.
type style struct{ faint, reversed, underlined, coloured bool }

// applyCodes changes a style by the codes of a terminal sequence.
func (s *style) applyCodes(codes string) {
	for code := range iterStyles(codes) {
		switch code {
		case "", "0":
			*s = style{}
		case "2":
			s.faint = true
		case "22":
			s.faint = false
		case "4":
			s.underlined = true
		case "24":
			s.underlined = false
		case "7":
			s.reversed = true
		case "27":
			s.reversed = false
		case "39":
			s.coloured = false
		default: // 30 to 38 and 90 to 97 set the colour of the text
			s.coloured = s.coloured || len(code) == 2 && (code[0] == '3' || code[0] == '9')
		}
	}
}

// iterStyles yields the codes of a sequence that sets styles. whole also has the colour that
// follows the code.
func iterStyles(codes string) iter.Seq2[string, string] {
	return func(yield func(code, whole string) bool) {
		for words := strings.Split(codes, ";"); len(words) > 0; {
			n := 1
			if code := words[0]; code == "38" || code == "48" || code == "58" {
				n = 5 // 38;2;R;G;B
				if len(words) > 1 && words[1] == "5" {
					n = 3 // 38;5;N
				}
			}
			n = min(n, len(words))
			if !yield(words[0], strings.Join(words[:n], ";")) {
				return
			}
			words = words[n:]
		}
	}
}
