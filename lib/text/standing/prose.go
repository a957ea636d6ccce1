package standing

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// line is one that the person wrote.
type line struct {
	text string
	item bool // of a list
	// heads reports that it leads a list, or a part of the text; rules that what it
	// leads are standing instructions, by its words.
	heads, rules bool
}

// maxParagraph bounds the lines that are put together, for nobody writes longer ones.
const maxParagraph = 4 << 10

// prose returns the lines that the person wrote: without blocks of code, quoted
// lines, tags with what stands between them, and what looks like a paste of a
// program's output. A paragraph that was wrapped by hand is one line again.
func prose(text string) []line {
	var (
		lines []line
		fence string // what closes the block of code
		tag   string // what closes the tag
		open  bool   // the next line can go on with the last one
		paste int    // lines of output in a row
		blank = true
	)
	all := strings.Split(text, "\n")
	for i, raw := range all {
		raw = strings.TrimRight(raw, " \t\r")
		bare := strings.TrimSpace(raw)
		switch {
		case fence != "":
			if strings.HasPrefix(bare, fence) && strings.Trim(bare, fence[:1]) == "" {
				fence = ""
			}
			open = false
			continue
		case tag != "":
			if strings.Contains(bare, tag) {
				tag = ""
			}
			open = false
			continue
		}
		if f := fenceOf(bare); f != "" {
			fence, open = f, false
			continue
		}
		if t := tagOf(bare, all[i:]); t != "" {
			if !strings.Contains(bare, t) {
				tag = t
			}
			open = false
			continue
		}
		indented := strings.HasPrefix(raw, "    ") || strings.HasPrefix(raw, "\t")
		switch {
		case bare == "":
			open, blank, paste = false, true, 0
			continue
		case strings.HasPrefix(bare, ">"), strings.HasPrefix(bare, "|"):
			open = false
		case indented && (blank || paste > 0) && bullet(bare) == bare: // code, in Markdown's way
			open, paste = false, paste+1
		case isOutput(bare):
			open, paste = false, paste+1
		case paste > 1 && !isSentence(bare): // in the middle of a paste
			open = false
		default:
			paste = 0
			item := bullet(bare)
			if n := len(lines) - 1; open && n >= 0 && len(lines[n].text) < maxParagraph && item == bare && !isHeading(bare) && !endsSentence(lines[n].text) {
				lines[n].text += " " + item
			} else if item != "" {
				lines = append(lines, line{text: item, item: item != bare && !strings.HasPrefix(bare, "#"), heads: isHeading(bare), rules: isHeading(bare) && headsRules(item)})
			}
			// Wrapped by hand at some width: a short line ends what it says.
			open = utf8.RuneCountInString(bare) >= 50 && !isHeading(bare)
		}
		blank = false
	}
	return lines
}

// fenceOf returns what opens, and will close, a block of code.
func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			// One that is closed on its line is none.
			if rest := strings.TrimLeft(line, mark[:1]); !strings.Contains(rest, mark) {
				return mark
			}
		}
	}
	return ""
}

// tagOf returns what closes the tag that stands at the beginning of the line, where
// it is closed at all.
func tagOf(line string, rest []string) string {
	if !strings.HasPrefix(line, "<") {
		return ""
	}
	n := 1
	for n < len(line) && (line[n] >= 'a' && line[n] <= 'z' || line[n] >= 'A' && line[n] <= 'Z' || n > 1 && (line[n] == '-' || line[n] == '_' || line[n] >= '0' && line[n] <= '9')) {
		n++
	}
	if n == 1 || n == len(line) || line[n] != '>' && line[n] != ' ' {
		return ""
	}
	end := "</" + line[1:n] + ">"
	for _, l := range rest {
		if strings.Contains(l, end) {
			return end
		}
	}
	return ""
}

// bullet returns the line without what makes it an item of a list or a heading.
func bullet(line string) string {
	rest := strings.TrimLeft(line, "#")
	if len(rest) < len(line) && strings.HasPrefix(rest, " ") {
		return strings.TrimSpace(rest)
	}
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– ", "— ", "· "} {
		if r, ok := strings.CutPrefix(line, mark); ok {
			r = strings.TrimSpace(r)
			for _, box := range []string{"[ ] ", "[x] ", "[X] "} {
				r = strings.TrimPrefix(r, box)
			}
			return r
		}
	}
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n == 0 && len(line) > 3 && line[1] == ')' && line[0] >= 'a' && line[0] <= 'z' {
		n = 1
	}
	if n > 0 && n < 3 && n < len(line)-1 && (line[n] == '.' || line[n] == ')') && line[n+1] == ' ' {
		return strings.TrimSpace(line[n+1:])
	}
	return line
}

// headsRules reports whether what stands under a heading are standing instructions.
func headsRules(heading string) bool {
	heading = strings.ToLower(heading)
	for _, w := range strings.FieldsFunc(heading, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' }) {
		if oneOf(w, "rules constraints conventions guidelines boundaries restrictions non-negotiables guardrails limits conditions don'ts regeln vorgaben randbedingungen einschränkungen règles contraintes consignes reglas restricciones normas regole vincoli regras restrições regels voorwaarden") {
			return true
		}
	}
	return strings.Contains(heading, "for the whole") || strings.Contains(heading, "for everything") || strings.Contains(heading, "throughout") || strings.Contains(heading, "约束") || strings.Contains(heading, "规则") || strings.Contains(heading, "要求") || strings.Contains(heading, "ルール") || strings.Contains(heading, "条件") || strings.Contains(heading, "制約")
}

func isHeading(line string) bool { return strings.HasPrefix(line, "#") || strings.HasSuffix(line, ":") }

func endsSentence(line string) bool {
	r, _ := utf8.DecodeLastRuneInString(line)
	return strings.ContainsRune(".!?:;。！？", r)
}

// isSentence reports whether a line within a paste looks like a person's words.
func isSentence(line string) bool {
	r, _ := utf8.DecodeRuneInString(line)
	return unicode.IsLetter(r) && strings.Count(line, " ") >= 3 && symbols(line) <= 2+len(line)/40
}

// symbols counts what stands in code and output far more often than in prose.
func symbols(line string) int {
	n := 0
	for _, r := range line {
		if strings.ContainsRune("{}[]<>=|;$\\@#%^~_&*+", r) {
			n++
		}
	}
	return n
}

// withoutMarks returns a line without the code between backquotes in it.
func withoutMarks(line string) string {
	for {
		i := strings.IndexByte(line, '`')
		n := strings.IndexByte(line[i+1:], '`')
		if i < 0 || n < 0 {
			return line
		}
		line = line[:i] + "x" + line[i+n+2:]
	}
}

// isOutput reports whether a line looks like what a program printed: a log's line, a
// trace, a compiler's message, a diff, a prompt with a command, code.
func isOutput(line string) bool {
	if strings.HasPrefix(line, "`") || symbols(line) > 0 {
		line = withoutMarks(line)
	}
	switch {
	case hasAnyPrefix(line, "+++", "---", "@@", "diff --git", "index ", "$ ", "% ", ">>> ", "... ", "# ", "// ", "/*", "* @", "<", "at ", "File \"", "Traceback", "goroutine ", "panic:", "fatal:", "FAIL", "PASS", "ok  ", "--- ", "=== ", "npm ", "yarn ", "warning:", "error:", "note:", "hint:", "info:", "E ", "W ", "import ", "from ", "def ", "func ", "class ", "return ", "const ", "let ", "var ", "export ", "#include", "SELECT ", "INSERT ", "Caused by:", "Exception in", "remote:", "✓", "✗", "✖", "×", "●", "⎿", "│", "└", "├", "╭", "╰"):
		// "# Rules" is a heading, "from now on" is what is looked for.
		switch {
		case strings.HasPrefix(line, "# ") && !strings.ContainsAny(line, "=$"), isHTMLFree(line):
			return false
		}
		return true
	case isStamp(line), isLevel(line):
		return true
	case strings.HasSuffix(line, "{"), strings.HasSuffix(line, ");"), strings.HasSuffix(line, "}"), strings.HasSuffix(line, "};"), strings.HasSuffix(line, "\\"), strings.HasSuffix(line, "),"):
		return true
	}
	if hasError(line) || isPlace(line) {
		return true
	}
	letters := 0
	for _, r := range line {
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	return symbols(line) >= 4 && letters*10 < utf8.RuneCountInString(line)*8
}

// isHTMLFree reports whether a line that begins like code goes on like prose.
func isHTMLFree(line string) bool {
	first, rest, _ := strings.Cut(line, " ")
	switch first {
	case "from", "import", "return", "class", "let", "at", "note:", "hint:", "E", "W", "info:", "npm", "yarn", "export", "...", "PASS", "FAIL":
		return symbols(line) == 0 && strings.Count(rest, " ") >= 2 && !strings.ContainsAny(rest, "(\"'")
	}
	return false
}

func hasAnyPrefix(s string, all ...string) bool {
	for _, p := range all {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// isStamp reports whether a line begins with a date or a time, as a log's do.
func isStamp(line string) bool {
	line = strings.TrimLeft(line, "[( ")
	if len(line) > 5 && line[2] == ':' && line[5] <= ' ' || len(line) > 6 && line[2] == ':' && line[5] == ':' {
		return isDigits(line[:2]) && isDigits(line[3:5])
	}
	digits, marks := 0, 0
	for i := 0; i < len(line) && i < 24; i++ {
		switch c := line[i]; {
		case c >= '0' && c <= '9':
			digits++
		case (c == ':' || c == '-' || c == '/' || c == '.') && i > 0:
			marks++
		case c == 'T' || c == 'Z' || c == ' ' || c == ',' || c == ']' || c == '+':
		default:
			return digits >= 4 && marks >= 2
		}
	}
	return digits >= 4 && marks >= 2
}

// isLevel reports whether a line begins with a log's level.
func isLevel(line string) bool {
	word, rest, _ := strings.Cut(strings.TrimLeft(line, "["), " ")
	word = strings.TrimRight(word, ":]")
	if line[0] == '[' {
		word = strings.ToUpper(word)
	}
	switch word {
	case "ERROR", "WARN", "WARNING", "INFO", "DEBUG", "FATAL", "TRACE", "CRITICAL", "ERR", "ERR!", "HINT", "DETAIL", "STATEMENT", "CONTEXT", "FAILED":
		return rest != "" && !strings.HasPrefix(line, "WARNING: do") // a person shouts, too
	}
	return false
}

// hasError reports whether the line begins with an error's name: "TypeError: …",
// "src/x.go:12:3: …", "error[E0502]: …".
func hasError(line string) bool {
	head, _, found := strings.Cut(line, ": ")
	if found && strings.HasSuffix(head, "]") && !strings.Contains(head, " ") { // systemd[1]:
		return true
	}
	if fields := strings.Fields(head); found && len(fields) == 2 && fields[0] == "E" {
		head = fields[1]
	}
	if !found || strings.Count(head, " ") > 3 {
		return false
	}
	if strings.Contains(head, " ") {
		return strings.HasSuffix(head, " error") || strings.HasPrefix(head, "error ")
	}
	return strings.HasSuffix(head, "Error") || strings.HasSuffix(head, "Exception") || strings.HasPrefix(head, "error") ||
		strings.HasPrefix(head, "warning[") || strings.HasSuffix(head, "error") || strings.HasSuffix(head, "Warning")
}

// isPlace reports whether a line begins with a place in a file: "a/b.go:12:3:".
func isPlace(line string) bool {
	word, _, _ := strings.Cut(line, " ")
	i := strings.IndexAny(word, ":(")
	return i > 0 && strings.ContainsAny(word[:i], "./") && i+1 < len(word) && word[i+1] >= '0' && word[i+1] <= '9'
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
