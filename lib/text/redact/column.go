package redact

import "strings"

// Tables: names of columns, and rows with a cell for each of them. CSV, Markdown, what
// programs print, and the statements that fill a table of SQL.

// addColumns finds the cells below the name of a column, which ends at s[end], and adds them to
// sc.cells. The part of the name that suggests a secret begins at s[i].
func (sc *scanner) addColumns(i, end int) {
	s, p := sc.s, skipChars(sc.s, end, "\"'`] ", maxName/2)
	if i >= sc.tableEnd && sc.addArrays(i, end) {
		return
	}
	// The table was handled, or no sign that can divide columns follows the name.
	if i < sc.tableEnd || p < len(s) && strings.IndexByte(",;|\t)\r\n\xe2", s[p]) < 0 && p-end < 2 {
		return
	}
	low := max(0, i-maxLook)
	before := s[low:i]
	if open := strings.LastIndexByte(before, '('); open >= 0 && strings.IndexByte(before[open:], ')') < 0 {
		// In brackets that are still open, it is a table only in SQL.
		words := strings.Fields(strings.ToLower(before[max(0, open-maxTag):open]))
		if n := len(words) - 2; n >= 0 && (words[n] == "into" || strings.HasSuffix(words[n], "copy")) {
			sc.addInserted(low + open + 1)
		}
		return
	}
	start := low + strings.LastIndexByte(before, '\n') + 1
	eol := strings.IndexByte(s[i:min(len(s), i+maxLook)], '\n')
	if eol < 0 {
		return
	}
	eol += i
	sc.tableEnd = eol
	for _, sep := range [...]string{"|", "│", "\t", ";", ",", "  "} {
		if head := s[start:eol]; strings.Contains(head, sep) {
			names := columnNames(strings.TrimRight(head, "\r "), sep)
			if quote := strings.LastIndexByte(s[start:i], '"'); names == nil && quote >= 0 { // in another text
				names = columnNames(strings.TrimRight(head[quote+1:], "\r "), sep)
			}
			if names != nil {
				sc.addRows(eol+1, sep, names)
				return
			}
		}
	}
}

// columnNames returns the names of a table's columns, with "" for those whose cells are no
// secrets; nil if the line has no such names. What is before the first name may be anything.
func columnNames(line, sep string) []string {
	var names []string
	found := false
	for p, more := 0, true; more; {
		var from, to int
		from, to, p, more = cellAt(line, p, sep)
		name := line[from:to]
		bar := sep == "|" || sep == "│"
		switch {
		case len(names) == 0:
			name = name[strings.LastIndexAny(name, "\"'`>:=")+1:]
		case bar && name == "" && !more:
		case name == "" || len(name) > maxName || endOfRun(name, 0, "w-./ #?*`") < len(name) || isDigit(name[0]) || strings.Count(name, " ") > 3,
			sep == "  " && name[0] > 'Z': // a program prints such a head in capitals
			return nil
		}
		if name = strings.Trim(strings.ReplaceAll(name, " ", "_"), "_*`"); name != "" && (isSureName(name) || isPasswordName(name)) {
			found = true
		} else {
			name = ""
		}
		names = append(names, name)
	}
	// One name behind nothing but a number is a line of a listing, not the head of a table.
	if !found || len(names) < 2 || len(names) == 2 && names[1] != "" && strings.Trim(line[:strings.Index(line, sep)], " 0123456789+-") == "" {
		return nil
	}
	return names
}

// cellAt returns the text of the cell at s[p], without quotes and blanks, the beginning of the
// next one, and whether that is on the same line.
func cellAt(s string, p int, sep string) (from, to, next int, more bool) {
	p = skipChars(s, p, " ", len(s))
	from = p
	if p < len(s) && s[p] == '"' {
		from++
		for to = from; to < len(s) && s[to] != '\n'; to++ {
			if s[to] == '"' {
				if to+1 == len(s) || s[to+1] != '"' {
					break
				}
				to++
			}
		}
		for p = min(to+1, len(s)); p < len(s) && s[p] == ' ' && sep != "  "; p++ {
		}
		return from, to, p + len(sep), strings.HasPrefix(s[p:], sep)
	}
	for p < len(s) && s[p] != '\n' && s[p] != '"' && !strings.HasPrefix(s[p:], sep) {
		p++
	}
	for to = p; to > from && (s[to-1] == ' ' || s[to-1] == '\r'); to-- {
	}
	return from, to, p + len(sep), strings.HasPrefix(s[p:], sep)
}

// addRows adds the secrets of a table whose rows begin at s[p]. names are those of its columns, ""
// for one without secrets. It ends before a line that has another number of cells, and with the
// line on which a quoted text ends that has the table in it. It moves sc.tableEnd along.
func (sc *scanner) addRows(p int, sep string, names []string) {
	s := sc.s
	for p < len(s) && s[p] != '\n' {
		line, _, _ := strings.Cut(s[p:], "\n")
		n, more := 0, true
		known := len(sc.cells)
		for q := 0; more; n++ {
			var from, to int
			from, to, q, more = cellAt(line, q, sep)
			if n < len(names) && names[n] != "" {
				sc.addCell(p+from, p+to, names[n])
			}
		}
		ended := n < len(names) && strings.IndexByte(line, '"') >= 0 && len(sc.cells) > known
		if n != len(names) && !ended && strings.Trim(line, "-+|=: ─┼├┤") != "" {
			sc.cells = sc.cells[:known]
			return
		}
		if p += len(line) + 1; ended {
			break
		}
		sc.tableEnd = min(p, len(s))
	}
}

// addCell adds s[from:to], a value of that name, to sc.cells if it looks like a secret.
func (sc *scanner) addCell(from, to int, name string) {
	for ; from < to && strings.IndexByte("`*", sc.s[from]) >= 0 && sc.s[to-1] == sc.s[from]; to-- {
		from++
	}
	if from < to && isLikelySecret(sc.s, from, to, name) {
		sc.cells = append(sc.cells, span{from, to})
	}
}

// addInserted adds the secrets of a statement of SQL, INSERT INTO t (a, b) VALUES (…), (…) or COPY
// t (a, b) FROM stdin, whose first name begins at s[p].
func (sc *scanner) addInserted(p int) {
	s := sc.s
	end := strings.IndexByte(s[p:min(len(s), p+2*maxLook)], ')')
	if end < 0 {
		return
	}
	names := listedNames(s[p:p+end], " \t\r\n\"'`[]\\")
	p += end + 1
	sc.tableEnd = p
	words := strings.ToLower(s[p:min(len(s), p+maxTag)])
	if strings.HasPrefix(strings.TrimLeft(words, " \n"), "from ") {
		if eol := strings.Index(words, "\n"); eol >= 0 {
			sc.addRows(p+eol+1, "\t", names)
		}
		return
	}
	if query := strings.TrimLeft(words, " \n"); strings.HasPrefix(query, "select ") {
		sc.tableEnd, _ = sc.addTuple(p+len(words)-len(query), names)
		return
	}
	values := strings.Index(words, "values")
	if values < 0 || strings.Contains(words[:values], ";") {
		return
	}
	for p += values + len("values"); p < len(s); {
		open := p + len(s[p:]) - len(strings.TrimLeft(s[p:], " \t\r\n,"))
		if open == len(s) || s[open] != '(' {
			return
		}
		var bound bool
		p, bound = sc.addTuple(open+1, names)
		if sc.tableEnd = p; bound { // VALUES (?, ?)", ("bob", "x")
			args, _, _ := strings.Cut(s[p:min(len(s), p+maxName)], ",")
			if args = strings.Trim(args, "; \t\n\r"); strings.Trim(args, "\"'`") == "" {
				p = skipBlanks(s, p+strings.IndexByte(s[p:min(len(s), p+maxName)], ',')+1)
				sc.tableEnd, _ = sc.addTuple(skipChars(s, p, "[({", 1), names)
			}
			return
		}
	}
}

// listedNames returns the names of columns in a list with commas, without the characters around
// them, and with "" for those whose cells are no secrets.
func listedNames(list, around string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.Trim(name, around); !isSureName(name) && !isPasswordName(name) {
			name = ""
		}
		names = append(names, name)
	}
	return names
}

// maxTuple is how many bytes of one row of values are examined.
const maxTuple = 8 << 10

// addTuple adds the secrets of one row of SQL's VALUES (…), which begins at s[p], and returns where it
// ends: behind its bracket, at the next statement, or after maxTuple bytes without a long value. names
// are those of the columns, "" for one without secrets. bound reports whether a value is a parameter:
// ?, $1, %s, :name.
func (sc *scanner) addTuple(p int, names []string) (end int, bound bool) {
	s := sc.s[:min(len(sc.s), p+maxTuple)]
	// fresh is true until the column has a quoted text.
	for column, depth, fresh := 0, 0, true; p < len(s); p++ {
		switch c := s[p]; c {
		case '(', '[':
			depth++
		case ')', ']', '}', ';':
			if depth--; depth < 0 || c == ';' {
				return p + 1, bound
			}
		case ',':
			if depth == 0 {
				column, fresh = column+1, true
			}
		case 'I', 'i':
			if equalFold(s[p:min(len(s), p+len("insert into"))], "insert into") {
				return p, bound
			}
		case '?', '%', '$', ':', '@':
			bound = bound || fresh && column < len(names) && names[column] != ""
		case '\'', '"':
			from := p + 1
			for p = from; p < len(s) && s[p] != c; p++ {
				if s[p] == '\\' || c == '\'' && strings.HasPrefix(s[p:], "''") {
					p++
				}
			}
			if fresh && column < len(names) && names[column] != "" {
				sc.addCell(from, min(p, len(s)), names[column])
			}
			if fresh = false; p >= len(s) { // a picture, say, is not examined
				if p = strings.IndexByte(sc.s[len(s):], c); p < 0 {
					return len(sc.s), bound
				}
				p += len(s)
				s = sc.s[:min(len(sc.s), p+maxTuple)]
			}
		}
	}
	return len(s), bound
}

// addArrays adds the secrets of arrays of JSON below one of names, ["user", "password"], of which
// one ends at s[end]. It reports whether there is such an array.
func (sc *scanner) addArrays(i, end int) bool {
	s := sc.s
	if end+1 >= len(s) || s[end] != '"' || s[end+1] != ',' && s[end+1] != ']' {
		return false
	}
	low := max(sc.done, i-maxLook)
	open := strings.LastIndexByte(s[low:i], '[')
	stop := strings.IndexByte(s[end:min(len(s), end+maxLook)], ']')
	if open < 0 || stop < 0 || strings.IndexByte(s[low+open:i], ':') >= 0 {
		return false
	}
	names := listedNames(s[low+open+1:end+stop], " \t\r\n\"")
	sc.tableEnd = end + stop
	if len(names) < 2 {
		return false
	}
	for p := end + stop + 1; ; {
		between := strings.IndexByte(s[p:min(len(s), p+maxName)], '[')
		if between < 0 || strings.ContainsAny(s[p:p+between], "(;=") {
			return true
		}
		p, _ = sc.addTuple(skipChars(s, p+between, " \t\r\n[", len(s)), names)
		sc.tableEnd = p
	}
}

// addAliased adds the value of a column of SQL that gets its name, s[i:end], behind the value:
// SELECT 'x' AS password.
func (sc *scanner) addAliased(i, end int) {
	s := sc.s
	for n := i; i > sc.done && n-i < maxName && (isWord(s[i-1]) || s[i-1] == '-'); i-- {
	}
	p := i
	for p > sc.done && strings.IndexByte("\"'`[", s[p-1]) >= 0 {
		p--
	}
	// A cheap check, because every such name calls this: a blank is before it, and before that AS,
	// or the end of a value.
	if p-sc.done < minPassword || s[p-1] != ' ' || strings.IndexByte("sS'\")", s[p-2]) < 0 || isWord(s[p-2]) && s[p-3]|0x20 != 'a' {
		return
	}
	low := max(sc.done, p-maxLook)
	before := strings.TrimRight(s[low:p], " ")
	bare := strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(before, "AS"), "as"), " ")
	if kind := strings.TrimRight(bare, "abcdefghijklmnopqrstuvwxyz"); kind != bare { // of PostgreSQL
		bare = strings.TrimSuffix(kind, "::")
	}
	bare = strings.TrimRight(bare, ")") // ends with the quote behind the value
	n := len(bare) - 1
	if n < minPassword || bare[n] != '\'' && bare[n] != '"' || len(bare) == len(before) && !strings.Contains(strings.ToLower(before), "select ") {
		return
	}
	if open := strings.LastIndexByte(bare[:n], bare[n]); open >= 0 && (isSureName(s[i:end]) || isPasswordName(s[i:end])) {
		sc.addCell(low+open+1, low+n, s[i:end])
	}
}

// maxSecretData is how many bytes before and behind its kind are examined of a Secret.
const maxSecretData = 8 << 10

// addSecretData adds the data of an object of Kubernetes, kind: Secret, whatever their names. The
// word kind begins at s[i], and its value behind the sign at s[v-1].
func (sc *scanner) addSecretData(i, v int) {
	const mark, kind = "kind", "Secret"
	s := sc.s
	v = skipChars(s, skipBlanks(s, v), `"`, 1)
	if i < 0 || !strings.HasPrefix(s[v:], kind) || v+len(kind) < len(s) && isWord(s[v+len(kind)]) {
		return
	}
	v += len(kind)
	low := max(sc.done, sc.secretDataEnd, i-maxSecretData)
	before := s[min(low, i):i]
	for _, mark := range [...]string{mark, "\n---"} { // not the data of another object
		before = before[max(strings.LastIndex(before, mark), 0):]
	}
	behind := s[v:min(len(s), v+maxSecretData)]
	for _, mark := range [...]string{mark, "\n---"} {
		behind, _, _ = strings.Cut(behind, mark)
	}
	for _, name := range [...]string{"data", "stringData"} {
		sc.addMembers(i-len(before), before, name)
		sc.addMembers(v, behind, name)
	}
}

// addMembers adds the values of the first object of that name in a document, YAML or JSON. doc is
// its text, which begins at s[low].
func (sc *scanner) addMembers(low int, doc, name string) {
	start, p := 0, 0
	for whole := false; !whole; whole = start == 0 || !isWord(doc[start-1]) { // data, but not metadata
		n := strings.Index(doc[p:], name)
		if n < 0 {
			return
		}
		start, p = p+n, p+n+len(name)
	}
	margin := start - strings.LastIndexByte(doc[:start], '\n') - 1 // of YAML; -1 in JSON
	if strings.HasPrefix(doc[p:], `"`) {
		p++
		margin = -1
	}
	if p = skipBlanks(doc, p); p == len(doc) || doc[p] != ':' {
		return
	}
	for p++; p < len(doc); {
		line := p
		for p < len(doc) && strings.IndexByte(" \t\r\n,{\"", doc[p]) >= 0 {
			if doc[p] == '\n' {
				line = p + 1
			}
			p++
		}
		end := endOfRun(doc, p, "w-./")
		if end == p || margin >= 0 && p-line <= margin {
			return
		}
		v := skipBlanks(doc, skipChars(doc, end, `"`, 1))
		if v == len(doc) || doc[v] != ':' {
			return
		}
		from, to := boundedValueAt(doc, skipBlanks(doc, v+1))
		if from >= to {
			return
		}
		if to-from >= minPassword && !isPlaceholder(doc, from, to) && doc[from] != '|' && doc[from] != '>' {
			sc.cells = append(sc.cells, span{low + from, low + to})
		}
		p = to
		sc.secretDataEnd = max(sc.secretDataEnd, low+p)
	}
}
