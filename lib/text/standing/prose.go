package standing

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

type line struct {
	text  string
	ruled bool // an item under a heading that says that its items are instructions
}

// part is what the lines that follow belong to.
type part int

const (
	ownLines       part = iota
	rules               // items under "Rules:"
	announced           // the line after "The ticket says:"
	followingLines      // the lines after that, up to an empty one
)

type reader struct {
	lines []line
	in    part
	size  int  // bytes, without blocks of code
	open  bool // the next line can go on with the last one
}

// typedLines returns the lines that the person wrote: without blocks of code, quoted lines,
// tags with what stands between them, and what looks like a program's output or was announced
// as somebody else's; nil for a document. A paragraph that was wrapped by hand is one line again.
func typedLines(text string) []line {
	var r reader
	until := "" // what closes the block of code or the tag
	for raw := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimSpace(raw)
		switch closes := opensBlock(bare, text); {
		case until != "" && strings.HasSuffix(bare, until):
			until = ""
		case until != "":
		case closes != "":
			until, r.open = closes, false
		case bare == "":
			if r.open = false; r.in == followingLines {
				r.in = ownLines
			}
		default:
			if r.size += len(bare); r.size > maxTyped { // mutant never: TestNoOrders
				return nil
			}
			r.read(bare, bullet(bare), strings.HasPrefix(raw, "    ") || strings.HasPrefix(raw, "\t"))
		}
	}
	return r.lines
}

// opensBlock returns what closes the block of code or the tag that a line opens, "" if it
// opens none. A tag that text closes nowhere is none.
func opensBlock(bare, text string) string {
	if mark := bare[:min(3, len(bare))]; oneOf(mark, "``` ~~~") && !strings.Contains(bare[3:], mark) {
		return mark
	}
	if end := strings.IndexAny(bare, "> "); end > 1 && bare[0] == '<' {
		if closes := "</" + bare[1:end] + ">"; !strings.Contains(bare, closes) && strings.Contains(text, closes) {
			return closes
		}
	}
	return ""
}

// read takes a line. text is the line without what makes it an item of a list or a heading.
func (r *reader) read(bare, text string, indented bool) {
	isItem := text != bare && bare[0] != '#'
	switch {
	case r.in == announced || r.in == followingLines:
		r.in = followingLines
		return
	case strings.ContainsAny(bare[:1], ">|<"), isOutput(bare), indented && text == bare && !r.open:
		r.open = false // a quoted line, a table, a tag, output or code
		return
	case r.open && text == bare:
		r.lines[len(r.lines)-1].text += " " + text
	default:
		if !isItem {
			r.in = leadsTo(bare)
		}
		r.lines = append(r.lines, line{text, isItem && r.in == rules})
	}
	// A line of less than 50 characters was not wrapped, and ends what it says.
	last, _ := utf8.DecodeLastRuneInString(bare)
	r.open = utf8.RuneCountInString(bare) >= 50 && !strings.ContainsRune(".!?:;。！？", last)
}

// bullet returns the line without what makes it an item of a list or a heading.
func bullet(line string) string {
	mark, rest, found := strings.Cut(line, " ")
	number := strings.TrimRight(mark, ".)")
	isNumber := number != mark && len(number) < 3 && strings.Trim(number, "0123456789abcdefgh") == ""
	if found && (isNumber || oneOf(mark, "- * + • – — · # ## ### ####")) {
		return strings.TrimSpace(rest)
	}
	return line
}

// leadsTo returns what the lines under a line are. A heading is about rules if it says
// nothing else: "Ground rules", but not "Validation rules".
func leadsTo(line string) part {
	const ruleWords = "rules constraints conventions guidelines restrictions guardrails regeln vorgaben règles contraintes reglas restricciones regole vincoli regras restrições regels 要求 规则 约束 ルール 制約"
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return !unicode.IsLetter(r) })
	heads := strings.HasPrefix(line, "#") || strings.HasSuffix(strings.Trim(line, "*"), ":") || strings.HasSuffix(line, "：")
	switch {
	case !heads && !hasAnyWord(words, "below following"), len(words) == 0:
		return ownLines
	case hasAnyWord(words, "docs documentation readme spec ticket issue log logs output error email mail message reviewer review wiki says said writes wrote datasheet answer plan comment comments manual acceptance criteria requirements features todo steps expected"):
		return announced
	case oneOf(words[0], ruleWords), len(words) > 1 && oneOf(words[1], ruleWords) && oneOf(words[0], "the some hard ground house my our general important coding project strict"):
		return rules
	}
	return ownLines
}

// isRule reports whether a line says before a colon that a rule follows: "SAFETY RULE: …",
// "Rule two: …", but not "Validation rule: …".
func (l line) isRule() bool {
	label, rest, ok := strings.Cut(l.text, ": ")
	words := strings.Fields(strings.ToLower(strings.Trim(label, "*# ")))
	if !ok || rest == "" || len(words) == 0 || len(words) > 3 {
		return false
	}
	return hasAnyWord(words, "rule constraint policy guardrail regel vorgabe règle contrainte regla restricción regola vincolo regra restrição") &&
		!slices.ContainsFunc(words, func(w string) bool {
			return !oneOf(w, "rule constraint policy guardrail regel vorgabe règle contrainte regla restricción regola vincolo regra restrição the a my our one two three four 1 2 3 4 first second third new hard safety strict house ground general project coding important absolute")
		})
}

// isOutput reports whether a line looks like what a program printed or like code: a log's
// line, a trace, a compiler's message, a diff, a shell's prompt.
func isOutput(line string) bool {
	first, _, _ := strings.Cut(line, " ")
	head, _, named := strings.Cut(line, ": ")
	_, place, _ := strings.Cut(first, ":")
	return oneOf(first, "+++ --- @@ diff $ % >>> // /* at File Traceback goroutine panic: fatal: error error: [error] warning: note: HINT: FAIL PASS npm #include SELECT Exception remote: func def │ └ ├ ╭ ╰ ● ⎿ ✓ ✗ ✖ ERROR WARN INFO DEBUG FATAL") ||
		len(first)-len(strings.TrimLeft(first, "[(0123456789:-/.T")) >= 5 || // a date, or a time
		place != "" && unicode.IsDigit(rune(place[0])) || // a/b.go:12:3:
		named && (strings.HasSuffix(head, "Error") || strings.HasSuffix(head, "Exception") || strings.HasSuffix(head, "]")) ||
		strings.IndexByte("{}\\", line[len(line)-1]) >= 0 || strings.HasSuffix(line, ");") // code
}
