// Package frame marks somebody else's words for a model:
//
//	<note from="gastown/crew/max">
//	the words
//	</note>
//
// Nothing inside can end the frame, open one of a client or of gt, or look like a heading
// of the surrounding text or a turn of the conversation. Otherwise the words stay
// unchanged: such a tag begins with &lt;, a token of a model's own format with &#91;, and a
// heading of the first two levels or a line that begins with a speaker with a backslash.
// Quoting every line would take more of the limited room, and make models unquote what they
// copy.
//
// The rules for tags come from six clients, which use three hundred names for frames. Two
// in three have several words (ide_selection, persisted-output), unlike nearly all tags of
// HTML and comparisons. So a frame's tag is one with several words, one of the single words
// that clients and models use, or any end tag, but not the argument of a type, as in
// List<File>. Escaping every tag would change seven times as much of this project's pages,
// and eight times as much of a TypeScript library's types.
package frame

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/text/plain"
)

const End = "</note>"

// Begin returns the first line of a frame around the words of from.
func Begin(from string) string {
	return `<note from="` + strings.NewReplacer(`"`, "'", "<", "&lt;", ">", "&gt;").Replace(Line(from)) + `">`
}

// Line returns a plain line for a sentence of gt, in which no tag or token can be taken for
// a client's.
func Line(line string) string {
	line = plain.Line(line)
	if !strings.ContainsFunc(line, opensTag) {
		return line
	}
	var b strings.Builder
	writeEscaped(&b, line, len(line))
	return b.String()
}

func WrapText(from, text string) string {
	return Begin(from) + "\n" + InnerText(text) + "\n" + End
}

// InnerText returns a text for the inside of a frame: plain, without empty lines at its ends.
func InnerText(text string) string { return strings.Trim(Words(text), "\n") }

// Words is InnerText with empty lines, for output that is framed as a whole, as clients do
// with a command's output.
func Words(text string) string {
	text = plain.Text(text)
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	before := "" // the line above
	rest := text
	for line := range strings.Lines(text) {
		if n := escapeOffset(line, before); n >= 0 {
			b.WriteString(line[:n])
			b.WriteByte('\\')
			writeEscaped(&b, rest[n:], len(line)-n)
		} else {
			writeEscaped(&b, rest, len(line))
		}
		before, rest = line, rest[len(line):]
	}
	return b.String()
}

// escapeOffset returns where in a line a backslash keeps it from being a heading or from
// beginning with a speaker; -1 if it needs none. before is the line above, of which a line of =
// or - makes a heading.
func escapeOffset(line, before string) int {
	text := strings.TrimLeftFunc(line, unicode.IsSpace)
	if text == "" {
		return -1
	}
	n := len(line) - len(text)
	switch c := text[0]; {
	case c == '#' || c == '=' || c == '-':
		if makesHeading(text, before) {
			return n
		}
		if c != '#' { // a speaker can stand behind #
			return -1
		}
	case c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '*' || c == '_':
	default:
		return -1
	}
	name := strings.TrimLeft(text, "#*_ \t")
	if beginsWithSpeaker(name) { // mutant never: TestInside
		return len(line) - len(name)
	}
	return -1
}

// beginsWithSpeaker reports whether a line begins with a speaker of a conversation with a model
// and a colon: "Human:".
func beginsWithSpeaker(line string) bool {
	name, rest := cutName(line)
	switch name {
	case "human", "assistant", "system", "developer", "user":
		rest = strings.TrimLeft(rest, "*_ \t")
		return strings.HasPrefix(rest, ":") || strings.HasPrefix(rest, "：")
	}
	return false
}

// makesHeading reports whether a line makes itself or the line above a heading of the first two
// levels.
func makesHeading(line, before string) bool {
	line = strings.TrimRight(line, " \t\n")
	if strings.HasPrefix(line, "=") || strings.HasPrefix(line, "-") {
		return strings.TrimLeft(line, line[:1]) == "" && strings.TrimSpace(before) != ""
	}
	level := len(line) - len(strings.TrimLeft(line, "#"))
	return (level == 1 || level == 2) && (level == len(line) || strings.ContainsRune(" \t\u00a0", []rune(line[level:])[0]))
}

// writeEscaped writes the line that is the first n bytes of a text, and escapes each tag that
// could be a frame's. It looks at the lines behind, because a tag may continue there.
func writeEscaped(b *strings.Builder, text string, n int) {
	done := 0 // what is written
	for i := 0; i < n; i++ {
		c := text[i]
		if c < utf8.RuneSelf && c != '<' && c != '[' {
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:n])
		instead := ""
		switch {
		case !opensTag(r):
		case r == '[' || r == '［':
			if isToken(text[i+size:]) {
				instead = "&#91;"
			}
		case isFrameTag(text[:i], text[i+size:]):
			instead = "&lt;"
		}
		if instead != "" {
			b.WriteString(text[done:i])
			b.WriteString(instead)
			done = i + size
		}
		i += size - 1
	}
	b.WriteString(text[done:n])
}

// opensTag reports whether r opens a tag or a token, or looks like it.
func opensTag(r rune) bool {
	if r < 0x80 {
		return r == '<' || r == '['
	}
	return strings.ContainsRune("＜﹤‹〈\u2329⟨❬❮˂ᐸ［", r)
}

// framePrefixes are the beginnings of names of frames of gt and clients.
var framePrefixes = []string{
	"note", "system", "user", "human", "assistant", "developer", "model", "tool", "function", "antml", "antthinking", "antartifact",
	"claude", "codex", "gemini", "anthropic", "command", "local-command", "bash-", "hook", "session", "environment", "instruction",
	"reminder", "important", "admin", "context", "prompt", "agent", "subagent", "teammate", "task-notification", "memory", "policy",
	"extremely", "ide-", "mcp", "skill", "persisted-", "handoff", "thinking", "persona",
}

// frameNames are further names that clients and models use. They match exactly, because code has
// longer words that begin with them.
var frameNames = map[string]bool{
	"analysis": true, "answer": true, "bos": true, "channel": true, "commentary": true, "conversation": true, "critical": true,
	"decision": true, "diagnostics": true, "doc": true, "docs": true, "document": true, "documents": true, "env": true, "eos": true,
	"error": true, "event": true, "example": true, "examples": true, "file": true, "files": true, "final": true, "goal": true,
	"guidelines": true, "heartbeat": true, "inst": true, "invoke": true, "issue": true, "message": true, "messages": true,
	"metadata": true, "notice": true, "notification": true, "objective": true, "observation": true, "output": true,
	"parameter": true, "parameters": true, "permission": true, "permissions": true, "plan": true, "plugin": true, "plugins": true,
	"question": true, "reasoning": true, "recap": true, "recovery": true, "request": true, "response": true, "result": true, "results": true,
	"rule": true, "rules": true, "s": true, "scratchpad": true, "shell": true, "situations": true, "sop": true, "status": true, "stderr": true, "stdin": true,
	"stdout": true, "summary": true, "sys": true, "task": true, "tasks": true, "think": true, "thought": true, "thoughts": true,
	"todo": true, "todos": true, "transcript": true, "ultraplan": true, "urgent": true, "warning": true,
}

// modelTokens are the bracketed marks between the turns that models were trained on, in
// capitals, the beginning of Claude Code's notices, and Gas Town's beacon.
var modelTokens = []string{"inst", "sys", "system", "system-", "tool-calls", "tool-results", "available-tools", "gas-town"}

// isToken reports whether the bracket before rest begins one of modelTokens.
func isToken(rest string) bool {
	rest = strings.TrimLeft(rest[:min(len(rest), maxTagSearch)], " /")
	if rest == "" || rest[0] >= 'a' && rest[0] <= 'z' {
		return false // all tokens begin with a capital
	}
	name, after := cutName(rest)
	if name == "gas" { // Gas Town's has a blank, which ends a name
		second, rest := cutName(strings.TrimLeft(after, " "))
		name, after = name+"-"+second, rest
	}
	for _, t := range modelTokens {
		if name == t || strings.HasSuffix(t, "-") && strings.HasPrefix(name, t) {
			r, _ := utf8.DecodeRuneInString(after)
			return after == "" || unicode.IsSpace(r) || strings.ContainsRune("]］:：…", r) // … if it was cut
		}
	}
	return false
}

// maxTagSearch bounds, in bytes, where the rest of a tag is looked for.
const maxTagSearch = 400

// isFrameTag reports whether the tag that opens between before and rest is any end tag, or the
// start of a frame.
func isFrameTag(before, rest string) bool {
	rest = rest[:min(len(rest), maxTagSearch)]
	tight := strings.TrimLeftFunc(rest, unicode.IsMark) // still with blanks, as a comparison has them
	rest = strings.TrimLeftFunc(rest, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsMark(r) })
	first, _ := utf8.DecodeRuneInString(rest)
	if strings.ContainsRune(`/\|!?／⁄∕⧸╱｜│¦∣ǀ`, first) { // mutant never: TestInside
		return true
	}
	name, after := cutName(rest)
	if name == foreign { // it could look like any name
		return true
	}
	if slices.ContainsFunc(framePrefixes, func(n string) bool { return strings.HasPrefix(name, n) }) {
		return true
	}
	if len(tight) != len(rest) || isTypeArgument(before, rest, hasSeveralWords(name)) || after == "" {
		return false // a comparison, the argument of a type, or the end of the text
	}
	if frameNames[name] {
		r, _ := utf8.DecodeRuneInString(after)
		return unicode.IsSpace(r) || closesTag(r) || strings.HasPrefix(after, "/>")
	}
	// Of other names, those with several words or a prefix (antml:x) are a client's, if > follows.
	return (hasSeveralWords(name) || name != "" && len(after) > 1 && after[0] == ':' && isLetter(after[1])) && strings.ContainsFunc(after, closesTag)
}

// closesTag reports whether r closes a tag, or looks like it.
func closesTag(r rune) bool {
	if r < 0x80 {
		return r == '>'
	}
	return strings.ContainsRune("＞﹥›〉\u232a⟩❭❯˃ᐳ", r)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isTypeArgument reports whether a tag is the argument of a type, as in List<File>. several says
// that its name has several words.
func isTypeArgument(before, rest string, several bool) bool {
	if before == "" || len(rest) < 2 {
		return false
	}
	c := before[len(before)-1]
	return (isLetter(c) || c >= '0' && c <= '9' || c == '_') && rest[0] >= 'A' && rest[0] <= 'Z' &&
		(several || rest[1] >= 'a' && rest[1] <= 'z') // no client's single-word name is in mixed case
}

// hasSeveralWords reports whether a tag's name has a hyphen inside, as system-reminder.
func hasSeveralWords(name string) bool {
	for i := 1; i+1 < len(name); i++ {
		if name[i] == '-' && name[i-1] != '-' && isLetter(name[i+1]) {
			return true
		}
	}
	return false
}

// foreign replaces a name with letters of another alphabet, or lookalikes.
const foreign = "?"

// cutName cuts the name off the beginning of a text. The name is in lower case,
// with - for _, without combining marks, and in normal width.
func cutName(text string) (name, rest string) {
	var b [40]byte // no name that matters is longer
	n := 0
	for i, r := range text {
		if r >= 0xff01 && r <= 0xff5e { // full-width
			r -= 0xff01 - '!'
		}
		switch {
		case n == len(b):
			return string(b[:n]), text[i:]
		case r >= 'A' && r <= 'Z':
			r += 'a' - 'A'
		case r == '_':
			r = '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
		case r < 0x80:
			return string(b[:n]), text[i:]
		case unicode.IsMark(r):
			continue
		case unicode.IsLetter(r):
			return foreign, text[i:]
		default:
			return string(b[:n]), text[i:]
		}
		b[n] = byte(r)
		n++
	}
	return string(b[:n]), ""
}
