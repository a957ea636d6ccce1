package redact

import "strings"

// Settings with blanks between name and value: in tables, in configuration files with one
// directive per line, in sentences.

// spacedBy are separators of a name and its value, with blanks around them.
var spacedBy = [...]string{"-", "|", "│", "->", "<-", "→", "➜", "=>", "is:", "is", "was", ":", "="}

// findSpacedValue finds the value after a name: auth_pass x, | token | x |, api_key ..... x.
// The part of the name that suggests a secret begins at s[i]. It also adds what the name labels in
// columns and in SQL to sc.cells (addColumns, addAliased).
func (sc *scanner) findSpacedValue(i int) (from, to int) {
	s := sc.s
	if !beginsSecret(s[i:min(len(s), i+3)]) {
		return 0, 0
	}
	end := endOfRun(s[:min(len(s), i+maxName)], i, "w-")
	sc.addColumns(i, end)
	sc.addAliased(i, end)
	name := sc.spacedName(i, end)
	if i > sc.done && end < len(s) && s[end] == ' ' && sc.isDirective(i, s[i:end]) {
		return likelySecret(s, skipBlanks(s, end), "password")
	}
	if name == "" {
		return 0, 0
	}
	g, ok := gapAt(s, end)
	if !ok {
		return 0, 0
	}
	begin := g.end
	switch {
	case g.sign != "":
	case begin+1 < len(s) && isDigit(s[begin]) && s[begin+1] == ' ': // password 7 0822455D0A16
		g.sign, begin = s[begin:begin+1], begin+2
	case begin+1 < len(s) && s[begin] == '(' && isQuoted(s, begin+1):
		begin++
	case name == "AUTH":
		begin = afterUser(s, begin)
	}
	from, to = boundedValueAt(s, begin)
	if from >= to || isPlaceholderText(s[from:to]) || onlyDescribes(name, s[from:to]) || g.sign == "" && strings.HasPrefix(s[from:to], "--") { // a flag
		return 0, 0
	}
	start := end - len(name)
	if isDirectiveName(name) && g.sign == "" && sc.isFirstWord(start) && looksSecret(s[from:to], minPassword) {
		return valueAt(s, begin)
	}
	if isPasswordName(name) && looksPassword(s[from:to]) {
		switch {
		case g.sign != "" && isDigit(g.sign[0]), // of a router: password 0 x
			from > begin && (g.sign == "<-" || g.sign == "."),                                                                    // of R, and of Lisp
			from > begin && g.sign == "" && (sc.isFirstWord(start) || strings.HasSuffix(strings.TrimRight(s[:start], " "), "{")), // storePassword "x"
			g.sign == "is:", strings.HasPrefix(g.sign, "is") && endsLine(s, to) && namesOwner(s[:start]),
			(g.sign == "-" || g.sign == "") && sc.isFirstWord(start) && endsLine(s, to) && !strings.ContainsAny(s[from:to], "/:"),
			g.sign == "|" && name == strings.ToUpper(name) && strings.Contains(name, "_") && sc.beginsCell(start):
			return valueAt(s, begin)
		}
	}
	// Otherwise the value must be strong, and stand where a setting would.
	switch {
	case !isStrongSecret(s[from:to]):
		return 0, 0
	case g.sign == "|" || g.sign == "│":
		if !sc.beginsCell(start) {
			return 0, 0
		}
		if bar := strings.IndexByte(s[from:to], '|'); bar > 0 {
			to = from + bar
		}
		return from, to
	case g.sign != "", g.wide && sc.isFirstWord(start), from > begin: // the last is a quoted value
	case !endsLine(s, to), !strings.ContainsAny(name, "_-.") && !isPasswordName(name) && !equalFold(name, "apikey") && (to-from < 24 || !isMixedCase(s[from:to])):
		return 0, 0
	}
	return valueAt(s, begin)
}

// isDirective reports whether the word at s[i] is one that the command or line before it makes the
// name of a secret: iwconfig wlan0 key x, ATTACH 'f' AS f KEY 'x', username bob secret x.
func (sc *scanner) isDirective(i int, word string) bool {
	switch word {
	case "key":
		return sc.inCommand(i, "iwconfig ")
	case "KEY":
		return sc.inCommand(i, "ATTACH ")
	case "cret": // of secret: beginsSecret stops there
		words := strings.Fields(sc.s[max(sc.done, i-maxLook/2):i])
		return len(words) > 2 && words[len(words)-1] == "se" && (words[len(words)-3] == "username" || words[len(words)-3] == "privilege")
	}
	return false
}

// namesOwner reports whether the text before a password says whose it is.
func namesOwner(s string) bool {
	s = strings.ToLower(s[max(0, len(s)-5):])
	return strings.HasSuffix(s, "my ") || strings.HasSuffix(s, "your ") || strings.HasSuffix(s, "new ")
}

// spacedName returns the name that ends at s[end] if blanks or signs follow it.
func (sc *scanner) spacedName(i, end int) string {
	s := sc.s
	if end == len(s) || end == i || strings.IndexByte(" \t|.`*", s[end]) < 0 {
		return ""
	}
	name := sc.nameBefore(end)
	if equalFold(name, "key") {
		name = sc.nameOfTwoWords(end, name)
	}
	if isSureName(name) || isDirectiveName(name) {
		return name
	}
	return ""
}

// A gap separates a name from its value.
type gap struct {
	sign string // one of spacedBy, or ""
	wide bool   // as between columns, not only a blank
	end  int
}

// gapAt returns the gap that begins at s[i]. ok is false if there is none, or if it is that
// of a setting.
func gapAt(s string, i int) (g gap, ok bool) {
	begin := skipEmphasis(s, i) // | `name` | in a table
	v := skipBlanks(s, begin)
	g.wide = v-begin > 1 || v > begin && s[begin] == '\t'
	if dots := endOfRun(s[:min(len(s), v+maxName)], v, "."); dots-v > 2 {
		g.wide = true
		v = skipBlanks(s, dots)
		if v < len(s) && s[v] == ':' {
			v = skipBlanks(s, v+1)
		}
	}
	for _, sign := range spacedBy {
		if after := v + len(sign); strings.HasPrefix(s[v:], sign) {
			if next := skipBlanks(s, after); next > after || sign == "|" {
				g.sign, v = sign, next
				break
			}
		}
	}
	if v == begin || g.sign == "=" || g.sign == ":" {
		return g, false
	}
	if g.end = skipEmphasis(s, v); g.end > v {
		g.wide = true
	}
	return g, true
}

// skipEmphasis returns the end of the signs of Markdown around a word, which begin at s[i].
func skipEmphasis(s string, i int) int {
	return skipChars(s, i, "`*", 3)
}

// afterUser returns the beginning of the second of two words at s[v] if it is the last one and
// the first is no secret: AUTH user x.
func afterUser(s string, v int) int {
	if word, _ := boundedValueAt(s, v); word != v {
		return v
	}
	next := unquotedEnd(s[:min(len(s), v+maxName)], v)
	if next+1 < len(s) && s[next] == ' ' && s[next+1] > ' ' && !looksSecret(s[v:next], minPassword) && isAloneOnLine(s, next+1) {
		return next + 1
	}
	return v
}

// findLabeled finds the value after the word password at s[i] and further words:
// password for bob: x. Before that it looks for a value before the word (findUsedAs).
func (sc *scanner) findLabeled(i int) (from, to int) {
	s := sc.s
	const word = "password "
	if from, to = sc.findUsedAs(i); to > 0 {
		return from, to
	}
	if i+len(word) > len(s) || !strings.EqualFold(s[i:i+len(word)], word) {
		return 0, 0
	}
	rest := s[i+len(word) : min(len(s), i+maxName)]
	sign := strings.IndexAny(rest, ":=;(){}\n")
	if sign > 0 && strings.HasPrefix(rest[sign:], "://") { // password for 'https://bob@h': x
		if more := strings.Index(rest[sign+3:], ": "); more >= 0 {
			sign += 3 + more
		}
	}
	if sign < 0 || rest[sign] != ':' && rest[sign] != '=' || !strings.HasPrefix(rest[sign+1:], " ") {
		return 0, 0
	}
	if more := strings.ToLower(rest[:sign]); strings.Contains(more, "hash") || strings.Contains(more, "sha") {
		return 0, 0
	}
	v := i + len(word) + sign + 2
	from, to = boundedValueAt(s, v)
	isSecret := from < to && !isPlaceholderText(s[from:to]) && (isStrongSecret(s[from:to]) || hasManySigns(s[from:to]))
	return spanIf(isSecret && endsLine(s, to), from, to)
}

// beginsSecret reports whether s begins like a part of a name that suggests a secret. For
// token and secret it compares their middle, which is rarer than their beginning.
func beginsSecret(s string) bool {
	if len(s) < 3 {
		return false
	}
	switch string([]byte{s[0] | 0x20, s[1] | 0x20, s[2] | 0x20}) {
	case "key", "ken", "pas", "pwd", "aut", "cre":
		return true
	}
	return false
}

// isDirectiveName reports whether the name is a directive in some program's configuration whose
// value is a secret.
func isDirectiveName(name string) bool {
	switch strings.ToLower(name) {
	case "requirepass", "masterauth", "auth_pass", "bindpw", "rootpw", "userpassword", "smtp_auth_password", "askpass":
		return true
	}
	return name == "AUTH" // a command of Redis
}

// isFirstWord reports whether the line has only blanks and signs before s[i], or a command
// such as SET.
func (sc *scanner) isFirstWord(i int) bool {
	line := sc.s[max(sc.done, i-maxName):i]
	line = strings.TrimLeft(line[strings.LastIndexByte(line, '\n')+1:], " \t-+>#*$\"'`")
	switch strings.ToUpper(strings.TrimRight(line, " ")) {
	case "", "SET", "CONFIG SET", "127.0.0.1:6379>", "SENTINEL":
		return true
	}
	return strings.HasSuffix(line, "> ")
}

// findUsedAs finds the value before the word password at s[i], which a verb says to use: use x as the
// password.
func (sc *scanner) findUsedAs(i int) (from, to int) {
	s := sc.s
	if i-len("x as ") <= sc.done || s[i-1] != ' ' || !strings.HasPrefix(s[i+1:], "assword") && !strings.HasPrefix(s[i+1:], "assphrase") {
		return 0, 0
	}
	first := max(sc.done, i-maxTag)
	before := strings.TrimSuffix(s[first:i], " ")
	for _, article := range [...]string{" the", " my", " your", " a", " its", " our"} {
		before = strings.TrimSuffix(before, article)
	}
	before, ok := strings.CutSuffix(before, " as")
	if !ok {
		return 0, 0
	}
	to = first + len(before)
	from = first + strings.LastIndexByte(before, ' ') + 1
	verb := before[:from-first]
	verb = strings.TrimRight(verb, " ")
	if !oneOf(strings.ToLower(verb[strings.LastIndexAny(verb, " \n,.;:(")+1:]), "use used using set enter type put try choose chose with pick") {
		return 0, 0
	}
	for from < to && strings.IndexByte("\"'`", s[from]) >= 0 && s[to-1] == s[from] {
		from, to = from+1, to-1
	}
	isSecret := from < to && !isPlaceholder(s, from, to) && (isStrongSecret(s[from:to]) || hasManySigns(s[from:to]))
	return spanIf(isSecret, from, to)
}

// beginsCell reports whether a cell of a table, or a line, begins at s[i].
func (sc *scanner) beginsCell(i int) bool {
	i = sc.skipBack(i, " \t`*", maxName)
	return i == 0 || sc.s[i-1] == '|' || sc.s[i-1] == '\n' || strings.HasSuffix(sc.s[:i], "│")
}

// endsLine reports whether the line, perhaps after punctuation, ends at s[i].
func endsLine(s string, i int) bool {
	i = skipChars(s, i, "\"'`;,.) \r", 4)
	return i == len(s) || s[i] == '\n' || s[i] == '\\'
}

// isStrongSecret reports whether v looks like a secret even if the context hardly suggests one.
func isStrongSecret(v string) bool {
	return looksSecret(v, minValue) && (isMixedCase(v) || countAlternations(v) > 2) && !isUUID(v) || hasManySymbols(v)
}
