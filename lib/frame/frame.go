// Package frame tells somebody else's words to a model as what they are:
//
//	<note from="gastown/crew/max">
//	the words
//	</note>
//
// Nothing within can end the frame, open one of a client's or of gt's, or be a
// heading of the text around it, however it is written. The words stay as they
// are but for that: a tag that might do so begins with &lt;, a heading of the first
// two levels with a backslash. Quoting every line instead would cost more of the
// little room there is, and would have a model unquote what it copies.
package frame

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/plain"
)

// End is the line that ends a frame.
const End = "</note>"

// Begin is the line that begins the frame of what from wrote, a plain line.
func Begin(from string) string {
	return `<note from="` + strings.NewReplacer(`"`, "'", "<", "&lt;", ">", "&gt;").Replace(from) + `">`
}

// Of frames a text that may be told whole.
func Of(from, text string) string {
	return Begin(from) + "\n" + Inside(text) + "\n" + End
}

// Inside returns a text as it stands within a frame, without empty lines at its
// ends. It is plain.
func Inside(text string) string {
	text = strings.Trim(plain.Text(text), "\n")
	if !strings.ContainsFunc(text, opens) && !strings.ContainsAny(text, "#=-") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	before := "" // the line above
	rest := text
	for line := range strings.Lines(text) {
		if n := len(line) - len(strings.TrimLeft(line, " \t")); heading(line[n:], before) {
			b.WriteString(line[:n])
			b.WriteByte('\\')
			writeTags(&b, rest[n:], len(line)-n)
		} else {
			writeTags(&b, rest, len(line))
		}
		before, rest = line, rest[len(line):]
	}
	return b.String()
}

// heading reports whether a line makes a heading of the first two levels, of
// itself or of the line above it.
func heading(line, before string) bool {
	line = strings.TrimRight(line, " \t\n")
	if strings.HasPrefix(line, "=") || strings.HasPrefix(line, "-") {
		return strings.TrimLeft(line, line[:1]) == "" && strings.TrimSpace(before) != ""
	}
	level := len(line) - len(strings.TrimLeft(line, "#"))
	return (level == 1 || level == 2) && (level == len(line) || strings.ContainsRune(" \t\u00a0", []rune(line[level:])[0]))
}

// writeTags writes the first n bytes of a text, a line, with every tag that could
// be of a frame made harmless. A tag may go on in the next line.
func writeTags(b *strings.Builder, text string, n int) {
	for i, r := range text[:n] {
		if opens(r) && frames(text[i+utf8.RuneLen(r):]) {
			b.WriteString("&lt;")
			continue
		}
		b.WriteRune(r)
	}
}

// opens reports whether r is the character that opens a tag, or looks like it.
func opens(r rune) bool { return strings.ContainsRune("<＜﹤‹〈⟨❮˂ᐸ", r) }

// names are what the frames of gt and of clients begin with. What an agent writes
// of code has other names.
var names = []string{
	"note", "system", "user", "human", "assistant", "developer", "model", "tool", "function", "antml", "claude", "codex", "gemini", "anthropic",
	"command", "local-command", "bash-", "hook", "session", "environment", "instruction", "reminder", "important", "admin", "context", "prompt",
	"agent", "task-notification", "memory", "policy", "extremely",
}

// frames reports whether what follows the opening of a tag makes it the end of any,
// or the beginning of a frame's.
func frames(rest string) bool {
	rest = strings.TrimLeftFunc(rest[:min(len(rest), 400)], func(r rune) bool { return unicode.IsSpace(r) || unicode.IsMark(r) })
	first, _ := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune(`/\|!?／⁄∕⧸╱`, first) {
		return true
	}
	var name strings.Builder
	for _, r := range rest {
		switch {
		case r >= 0xff01 && r <= 0xff5e: // as wide as an ideograph
			r -= 0xff01 - '!'
		case r == '_':
			r = '-'
		case unicode.IsMark(r):
			continue
		case r >= 0x80 && unicode.IsLetter(r): // another alphabet's, or one that looks alike
			return true
		}
		if name.Len() == 20 || r >= 0x80 || unicode.IsSpace(r) || r == '>' {
			break
		}
		name.WriteRune(unicode.ToLower(r))
	}
	for _, n := range names {
		if strings.HasPrefix(name.String(), n) {
			return true
		}
	}
	return false
}
