package redact

import (
	"bytes"
	_ "embed" // bip39.txt
	"encoding/base64"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Secrets that are recognized by the words around them, in the syntax of programs, their
// settings and their command lines. Each form requires more than the name, so that prose
// about passwords stays as it is.

// findByWord finds a secret in one of the forms that are recognized by their first letter or
// sign, which is s[i].
func (sc *scanner) findByWord(i int) (from, to int) {
	s := sc.s
	switch s[i] {
	case '.':
		return sc.findDiscordToken(i)
	case '0':
		return sc.findHexKey(i)
	case '_':
		return sc.findNpmrcToken(i)
	case '#':
		if !strings.HasPrefix(s[i:], "#define ") {
			return 0, 0
		}
		from, to = sc.findAssigned(i, i+len("#define"))
		return spanIf(to > 0 && s[from-1] == '"', from, to)
	}
	word := endOfRun(s[:min(len(s), i+16)], i, "a")
	find := sc.findAssigned // for ENV and set
	switch name := s[i:word]; {
	case equalFold(name[:min(4, len(name))], "seed"), equalFold(name[:min(6, len(name))], "phrase"), equalFold(name, "mnemonic"), equalFold(name, "recovery"), equalFold(name, "bip39"):
		if from, to = sc.findWallet(word); to > 0 {
			return from, to
		}
		return sc.findForeignWords(i, word)
	case equalFold(name, "frase"), equalFold(name, "share"), equalFold(name, "shamir"):
		return sc.findForeignWords(i, word)
	case equalFold(name, "send"), equalFold(name, "sendline"):
		return sc.findSent(i, word)
	case name == "ENV", equalFold(name, "set"), equalFold(name, "setx"), equalFold(name, "setenv"):
	case equalFold(name, "password"), equalFold(name, "pass"):
		find = sc.findSpelled
	case equalFold(name, "identified"):
		find = sc.findIdentifiedBy
	case name == "Private":
		find = sc.findPuttyKey
	default:
		return 0, 0
	}
	if !sc.beginsWord(i) {
		return 0, 0
	}
	return find(i, word)
}

// skipBlanks skips a few blanks and tabs, and the end of a line that a shell continues.
func skipBlanks(s string, i int) int {
	for n := i; i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\\' && strings.HasPrefix(s[i:], "\\\n")) && i-n < maxName; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return i
}

// skipChars returns the end of these characters at s[i], of which it skips at most most.
func skipChars(s string, i int, chars string, most int) int {
	for n := i; i < len(s) && i-n < most && strings.IndexByte(chars, s[i]) >= 0; i++ {
	}
	return i
}

// findAssigned finds the value in ENV NAME x, set -gx NAME x, setx NAME x, and … set NAME x.
// The first word ends at s[i].
func (sc *scanner) findAssigned(_, i int) (from, to int) {
	s := sc.s
	var name string
	flags := false
	begin := i
	for range 4 { // options come before the name
		p := skipBlanks(s, begin)
		end := endOfRun(s[:min(len(s), p+2*maxName)], p, "w-.:/")
		if p == begin || end == p {
			return 0, 0
		}
		begin = end
		if s[p] != '-' {
			name = s[p+strings.LastIndexAny(s[p:end], ":/.")+1 : end]
			break
		}
		flags = true
	}
	begin = skipBlanks(s, begin)
	if name == "" || begin == len(s) || !isSecretName(name) && !isPasswordName(name) || strings.IndexByte("-=:\n", s[begin]) >= 0 {
		return 0, 0
	}
	from, to = boundedValueAt(s, begin)
	if from >= to || isPlaceholderText(s[from:to]) || onlyDescribes(name, s[from:to]) {
		return 0, 0
	}
	looks := looksSecret(s[from:to], minLength(name)) || hasManySymbols(s[from:to])
	// A name in capitals needs one sign more: the look of the value, a flag, or no more on the line,
	// which is not enough after set, a common word. Another name needs the look, and must be sure.
	if name == strings.ToUpper(name) && (looks || flags || s[i-1] != 't' && isAloneOnLine(s, begin)) || looks && (isSureName(name) || isPasswordName(name)) {
		return valueAt(s, begin)
	}
	return 0, 0
}

// isAloneOnLine reports whether the line from s[v] on is only one word or one quoted text.
func isAloneOnLine(s string, v int) bool {
	_, to := boundedValueAt(s, v)
	to = skipChars(s, to, "\"'", 1)
	return to == len(s) || s[to] == '\n' || s[to] == '\\'
}

// findNpmrcToken finds the value in _authToken x and "…:_authToken" x. The name begins at s[i].
func (sc *scanner) findNpmrcToken(i int) (from, to int) {
	s := sc.s
	end := endOfRun(s[:min(len(s), i+12)], i, "w")
	if !oneOf(s[i:end], "_authToken _auth _password") {
		return 0, 0
	}
	end = skipChars(s, end, `"`, 1)
	v := skipBlanks(s, end)
	if v == end {
		return 0, 0
	}
	return likelySecret(s, v, "password")
}

// findSpelled finds the value in SQL's PASSWORD 'x', in netrc's password x, and in user bob pass x.
// The word begins at s[i] and ends at s[word]. In netrc and in a statement of SQL about a user or a
// role, any value counts; elsewhere it must look like a secret.
func (sc *scanner) findSpelled(i, word int) (from, to int) {
	s := sc.s
	begin := skipChars(s, word, " \t\r\n", maxName)
	if begin == word || begin == len(s) {
		return 0, 0
	}
	before := strings.ToLower(s[max(sc.done, i-maxLook):i])
	words := strings.Fields(before[strings.LastIndex(before, "\n\n")+1:])
	if (s[begin] == '\'' || s[begin] == '"') && !isNetrcLogin(words) {
		statement := before[strings.LastIndexByte(before, ';')+1:]
		if !strings.Contains(statement, "user ") && !strings.Contains(statement, "role ") {
			return likelySecret(s, begin, "password")
		}
	} else if !isNetrcLogin(words) && followsUser(words, s[begin:]) {
		return likelySecret(s, begin, "password")
	} else if !isNetrcLogin(words) ||
		strings.HasPrefix(strings.ToLower(s[begin:min(len(s), begin+maxLook)]), words[len(words)-1]) { // login string, password string
		return 0, 0
	}
	from, to = valueAt(s, begin)
	return spanIf(from < to && !isPlaceholderText(s[from:min(to, from+maxLook)]), from, to)
}

// followsUser reports whether the words before a password name its user, and v is one word at the
// end of a line: user bob pass x.
func followsUser(words []string, v string) bool {
	n := len(words)
	return n > 1 && (words[n-2] == "user" || words[n-2] == "username" || words[n-2] == "login") && endOfRun(words[n-1], 0, "w-.@") == len(words[n-1]) && endsLine(v, unquotedEnd(v, 0))
}

// isNetrcLogin reports whether the words before a password are from a .netrc file: machine h
// login u.
func isNetrcLogin(words []string) bool {
	n := len(words)
	switch {
	case n > 1 && words[n-2] == "machine":
		return true
	case n > 4 && words[n-2] == "account":
		return isNetrcLogin(words[:n-2])
	case n > 2 && words[n-2] == "login":
		return words[n-3] == "default" || n > 3 && words[n-4] == "machine"
	}
	return false
}

// bip39 has the 2,048 English words of BIP39, sorted, one a line.
//
//go:embed bip39.txt
var bip39 string

// isSeedWord reports whether BIP39 has a word, in lower or upper case.
func isSeedWord(word string) bool {
	if len(word) < 3 || len(word) > 8 {
		return false
	}
	word = strings.ToLower(word)
	// Where the lines that are not before the word begin.
	at := sort.Search(len(bip39), func(n int) bool {
		start := strings.LastIndexByte(bip39[:n], '\n') + 1
		line, _, _ := strings.Cut(bip39[start:], "\n")
		return line >= word
	})
	return strings.HasPrefix(bip39[at:], word+"\n")
}

// findWallet finds the words from which a wallet is restored, behind their label, which ends at
// s[i]: seed phrase: abandon ability … They are words of BIP39, perhaps with numbers; each phrase
// has 12, 15, 18, 21 or 24. A word that labels something else ends them.
func (sc *scanner) findWallet(i int) (from, to int) {
	s, n, first, last := sc.s, 0, 0, i // n words from s[first] to s[last]
	for p := i; p < len(s) && (n > 0 || p-i < maxName) && p-last < maxName && !strings.HasPrefix(s[p:], Mark); {
		end := p
		for end < len(s) && end-p < maxName/2 && isWord(s[end]) && !isDigit(s[end]) {
			end++
		}
		if end == p {
			switch {
			case s[p] == '\\' && p+1 < len(s) && strings.IndexByte("nrt", s[p+1]) >= 0: // in JSON
				p++
			case n > 0 && strings.IndexByte(" \t\r\n,\"'`.)0123456789:;|*[]-\\", s[p]) < 0:
				if n = 0; to > 0 {
					return from, to
				}
			}
			p++
			continue
		}
		next := n + 2
		if n == 0 && strings.IndexByte(s[max(i, p-4):p], '1') < 0 { // no numbered list begins
			next = 0
		}
		if end < len(s) && s[end] >= 0x80 || !isSeedWord(s[p:end]) || isLabel(s, end, next) {
			if to > 0 {
				break
			}
			n = 0
		} else if n++; n == 1 {
			first = p
		}
		if n >= 12 && (n%3 == 0 || !strings.Contains(s[last:p], "\n")) { // or a word of the list stands before the phrase
			from, to = first, end
		}
		p, last = end, end
	}
	return from, to
}

// isLabel reports whether the word that ends at s[i] is a name, before a colon or an equals sign,
// perhaps with a number; next is the number of the word behind it in a list.
func isLabel(s string, i, next int) bool {
	line, _, _ := strings.Cut(s[i:min(len(s), i+maxName/2)], "\n")
	line = strings.TrimLeft(line, " \t\"'`\\_#")
	rest := strings.TrimLeft(line, "0123456789")
	number := line[:len(line)-len(rest)]
	rest = strings.TrimLeft(rest, " \t\"'`\\")
	return rest != "" && (rest[0] == ':' || rest[0] == '=') && (number == "" || number != strconv.Itoa(next))
}

// findSent finds the answer to a prompt for a password in a script of expect: send "x\r",
// child.sendline("x"). The word ends at s[word].
func (sc *scanner) findSent(i, word int) (from, to int) {
	s := sc.s
	v := skipBlanks(s, word)
	for v+2 < len(s) && s[v] == '-' && s[v+2] == ' ' {
		v = skipBlanks(s, v+2)
	}
	if v < len(s) && s[v] == '(' {
		v++
	}
	if !isQuoted(s, v) {
		return 0, 0
	}
	from, to = boundedValueAt(s, v)
	word = to // with the line end, which is cut off below
	for _, end := range [...]string{"\r\n", `\r\n`, "\r", `\r`, "\n", `\n`} {
		to = from + len(strings.TrimSuffix(s[from:max(from, to)], end))
	}
	before := s[max(sc.done, i-maxLook/2):i]
	before = before[max(0, strings.LastIndex(before, "send")):]
	if to-from < 4 || isPlaceholder(s, from, to) || strings.IndexByte(s[from:to], ' ') >= 0 {
		return 0, 0
	}
	asked := strings.Contains(before, "assw") || strings.Contains(before, "assphrase") || strings.Contains(before, "asscode")
	return spanIf(asked || to < word && looksPassword(s[from:to]), from, to)
}

// findIdentifiedBy finds the value in SQL's IDENTIFIED BY 'x', and with a method, IDENTIFIED WITH m
// BY 'x'. IDENTIFIED begins at s[start] and ends at s[i]. Without a method the words count only in
// a statement that defines a user. Oracle's values have no quotes; the old one, behind REPLACE,
// goes to addCell.
func (sc *scanner) findIdentifiedBy(start, i int) (from, to int) {
	s := sc.s
	statement, names := definesUser(s[:start])
	rest := s[i:min(len(s), i+96)]
	if v := skipBlanks(s, i); len(rest) > 4 && v+3 < len(s) && equalFold(s[v:v+3], "by ") && !isQuoted(s, skipBlanks(s, v+3)) { // Oracle's
		if !names {
			return 0, 0
		}
		from, to = boundedValueAt(s, skipBlanks(s, v+3))
		if next := skipBlanks(s, to); to > from && next+8 < len(s) && equalFold(s[next:next+8], "replace ") {
			first, last := boundedValueAt(s, skipBlanks(s, next+8))
			sc.addCell(first, last, "password")
		}
		return spanIf(from < to && looksSecret(s[from:to], minPassword) && !isPlaceholder(s, from, to), from, to)
	}
	quote := strings.IndexAny(rest, "'\"\n;")
	if quote < 0 || rest[quote] == '\n' || rest[quote] == ';' {
		return 0, 0
	}
	words := strings.Fields(strings.ToLower(rest[:quote]))
	switch n := len(words); {
	case n > 1 && words[0] == "with" && (words[n-1] == "as" || words[n-1] == "by"):
	case n > 0 && words[n-1] == "by", n > 1 && words[n-1] == "password" && words[n-2] == "by":
		if !statement {
			return 0, 0
		}
	default:
		return 0, 0
	}
	from, to = valueAt(s, i+quote)
	return spanIf(from < to && !isPlaceholderText(s[from:min(to, from+maxLook)]), from, to)
}

// definesUser reports whether s ends with the beginning of a statement of SQL that defines or
// names a user, and whether its last word is that name: CREATE USER bob. A second user, behind the
// IDENTIFIED of the first, counts as named.
func definesUser(s string) (statement, named bool) {
	s = strings.ToLower(s[max(0, len(s)-maxLook):])
	for _, end := range [...]string{";", "\n\n", ". "} { // of another one
		s = s[strings.LastIndex(s, end)+1:]
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`(,", r) })
	n := len(words) - 1
	if n < 1 {
		return false, false
	}
	if oneOf(words[n], "is are was were be been and or not") {
		return false, false // a sentence
	}
	verb := slices.ContainsFunc(words, func(word string) bool { return oneOf(word, "create alter grant connect set") })
	named = verb && oneOf(words[n-1], "user role to exists")
	return verb || named || slices.Contains(words, "user") || slices.Contains(words, "role"), named || verb && slices.Contains(words, "identified")
}

// findPuttyKey finds the lines of a private key in PuTTY's format. The line with their number
// begins at s[i].
func (sc *scanner) findPuttyKey(i, _ int) (from, to int) {
	s := sc.s
	const count = "Private-Lines:"
	if !strings.HasPrefix(s[i:], count) || i+len(count) == len(s) {
		return 0, 0
	}
	from = endOfRun(s, skipBlanks(s, i+len(count)), "0")
	for p := from; p < len(s) && p-from < maxKey; {
		q := keyLine(s, p)
		end := endOfRun(s, q, "a+/=")
		if q == p || end-q < 4 || end < len(s) && s[end] != '\n' && s[end] != '\r' && s[end] != '\\' {
			break
		}
		p, to = end, end
		if strings.HasPrefix(s[p:], `\n`) { // in JSON
			p++
		}
	}
	return spanIf(to > 0, skipChars(s, from, "\r\n", to-from), to)
}

// findInDataSource finds the password in root:x@tcp(host) or bob/x@host:1521. s[i] is the colon.
func (sc *scanner) findInDataSource(i int) (from, to int) {
	s := sc.s
	window := s[i:min(len(s), i+maxLook/2)]
	at := strings.IndexByte(window, '@')
	if strings.HasPrefix(window, ":1521") || strings.HasPrefix(window, ":1522") { // of Oracle: bob/x@host:1521/name
		host := sc.skipBack(i, "w.-", maxName)
		if host > sc.done && s[host-1] == '@' {
			begin := max(sc.done, host-maxName)
			word := s[begin+strings.LastIndexAny(s[begin:host-1], " \t\r\n\"'`=(")+1 : host-1]
			if user, v, _ := strings.Cut(word, "/"); endOfRun(user, 0, "w") == len(user) && user != "" && looksSecret(v, minPassword) {
				return host - 1 - len(v), host - 1
			}
		}
	}
	if at < 0 || i == sc.done || !isWord(s[i-1]) {
		return 0, 0
	}
	for _, host := range []string{"@tcp(", "@unix(", "@tcp4(", "@tcp6(", "@/"} {
		if n := strings.Index(window[at:], host); n >= 0 {
			v := window[1 : at+n]
			if host == "@/" && (n > 0 || !looksSecret(v, minPassword)) || v == "" || strings.ContainsAny(v, " \t\r\n\"'`") || isPlaceholderText(v) {
				return 0, 0
			}
			return i + 1, i + at + n
		}
	}
	return 0, 0
}

// findLogin finds the password in bob:x behind a word for the two, or behind a mail server and its
// port, as Postfix has them. s[i] is the colon.
func (sc *scanner) findLogin(i int) (from, to int) {
	s := sc.s
	if i+1 >= len(s) || s[i+1] <= ' ' || s[i+1] == '/' || s[i+1] == ':' {
		return 0, 0
	}
	user := sc.skipBack(i, "w-.@", maxName)
	name := s[user:i]
	if name == "" || user == sc.done || strings.IndexByte(" \"'", s[user-1]) < 0 || strings.IndexByte(name, '.') >= 0 && strings.IndexByte(name, '@') < 0 { // a file
		return 0, 0
	}
	before := strings.TrimRight(strings.ToLower(s[max(sc.done, user-maxName/2):user]), " ")
	from, to = boundedValueAt(s, i+1)
	if at := strings.LastIndexByte(s[from:max(from, to)], '@'); at > 0 && strings.Contains(before, "winscp") { // and the host
		to = from + at
	}
	if !isSecretWord(s, from, to) || strings.ContainsAny(s[from:to], "/:") {
		return 0, 0
	}
	for _, word := range [...]string{"credentials", "creds", "basic auth", "winscp", "winscp.com", "winscp.exe"} {
		if strings.HasSuffix(before, word) {
			return from, to
		}
	}
	port := strings.TrimRight(before, "0123456789")
	isServer := port != before && strings.HasSuffix(port, "]:")
	return spanIf(isServer || strings.Contains(s[max(0, user-maxLook):user], "chpasswd:") || sc.inCommand(i, "bundle config "), from, to)
}

// findDiscordToken finds the token of a Discord bot: the base64 of its number, six characters of a
// time, and a signature. s[i] is the first full stop.
func (sc *scanner) findDiscordToken(i int) (from, to int) {
	s := sc.s
	const stamp = 6
	dot := i + 1 + stamp
	if i == 0 || dot >= len(s) || s[dot] != '.' || endOfRun(s[:dot], i+1, "w-") != dot {
		return 0, 0
	}
	if to = wrappedRun(s[:min(len(s), dot+256)], dot+1); to-dot-1 < 25 {
		return 0, 0
	}
	for n := 23; n <= 28 && i-n >= sc.done; n++ { // of 17 to 20 digits, which begin with 0 to 9
		from = i - n
		if strings.IndexByte("MNO", s[from]) < 0 || !sc.beginsWord(from) && !sc.isAfterJoint(from) || endOfRun(s[:i], from, "w-") != i {
			continue
		}
		id, err := base64.RawStdEncoding.DecodeString(s[from:i])
		if err == nil && endOfRun(string(id), 0, "0") == len(id) || isMixedCase(s[from:i]) || isMixedCase(s[dot+1:to]) {
			return from, to
		}
	}
	return 0, 0
}

// findSecureString finds the text that PowerShell's ConvertTo-SecureString takes in plain: as
// an argument, or from a pipe. Its second word begins at s[i].
func (sc *scanner) findSecureString(i int) (from, to int) {
	const verb, command, plainly = "convert", "convertto-securestring", "-asplaintext"
	s := sc.s
	if i -= len(verb); i < sc.done || !equalFold(s[i:min(len(s), i+len(command))], command) {
		return 0, 0
	}
	begin := i + len(command)
	line, _, _ := strings.Cut(s[begin:min(len(s), begin+maxLook)], "\n")
	if !strings.Contains(strings.ToLower(line), plainly) {
		return 0, 0
	}
	for range 3 { // switches, and the name of the argument
		begin = skipBlanks(s, begin)
		end := endOfRun(s[:min(len(s), begin+maxName)], begin, "w-")
		if end == begin || s[begin] != '-' {
			break
		}
		begin = end
	}
	begin = skipBlanks(s, begin)
	if strings.HasPrefix(s[begin:], ")") || begin >= len(s) || strings.IndexByte("-);|\n", s[begin]) >= 0 { // 'x' | ConvertTo-SecureString
		end := strings.TrimRight(s[sc.done:i], " \t")
		bare, piped := strings.CutSuffix(end, "|")
		bare = strings.TrimRight(bare, " \t")
		if !piped || bare == "" || strings.IndexByte("\"'", bare[len(bare)-1]) < 0 {
			return 0, 0
		}
		quote := strings.LastIndexByte(bare[:len(bare)-1], bare[len(bare)-1])
		if quote < 0 || strings.IndexByte(bare[quote:], '\n') >= 0 {
			return 0, 0
		}
		from, to = sc.done+quote+1, sc.done+len(bare)-1
	} else {
		from, to = valueAt(s, begin)
	}
	return spanIf(from < to && !isPlaceholderText(s[from:to]), from, to)
}

// findHexKey finds 0x and 64 hexadecimal digits if the text before mentions private keys.
func (sc *scanner) findHexKey(i int) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], "0x") || !sc.beginsWord(i) {
		return 0, 0
	}
	to = endOfRun(s[:min(len(s), i+68)], i+2, "x")
	if to-i != 66 {
		return 0, 0
	}
	before := strings.ToLower(s[max(0, i-maxLook):i])
	said := max(strings.LastIndex(before, "private key"), strings.LastIndex(before, "private_key"), strings.LastIndex(before, "privatekey"))
	return spanIf(said >= 0 && !strings.Contains(before[said:], "hash") && !strings.Contains(before[said:], "public"), i, to)
}

// findPgpass finds the password in a line of a .pgpass file, which is
// host:port:database:user:password. s[i] is the first colon.
func (sc *scanner) findPgpass(i int) (from, to int) {
	s := sc.s
	port := i + 1
	if port < len(s) && s[port] == '*' {
		port++
	} else if port = endOfRun(s[:min(len(s), i+7)], port, "0"); port-i < 5 {
		return 0, 0 // no port of four digits
	}
	if port >= len(s) || s[port] != ':' {
		return 0, 0
	}
	host := sc.skipBack(i, "w.-*", maxName)
	if s[i+1:port] == "5432" { // a socket, or an address of IPv6
		host = sc.skipBack(i, "w.-*:[]/", maxName)
	}
	if host == i || host > 0 && s[host-1] > ' ' && strings.IndexByte("\"'`", s[host-1]) < 0 && host != sc.done {
		return 0, 0
	}
	p := port
	for range 2 { // the database and the user
		end := endOfRun(s[:min(len(s), p+maxName)], p+1, "w.-*@")
		if end == p+1 || end == len(s) || s[end] != ':' {
			return 0, 0
		}
		p = end
	}
	from = p + 1
	for to = from; to < len(s) && s[to] > ' ' && strings.IndexByte("\"'`", s[to]) < 0 && to-from < maxLook; to++ {
		if s[to] == '\\' && to+1 < len(s) && s[to+1] == 'n' {
			break
		}
	}
	if from == to || isPlaceholderText(s[from:to]) || strings.IndexByte(strings.ReplaceAll(s[from:to], `\:`, ""), ':') >= 0 {
		return 0, 0 // an IPv6 address, a line of /etc/shadow
	}
	isUsual := oneOf(s[i+1:port], "5432 5433 6432 *")
	return spanIf(isUsual || looksSecret(s[from:to], minPassword), from, to)
}

// hasManySymbols reports whether v is so long and has so many kinds of characters that it is
// neither an identifier nor text, such as Django's keys.
func hasManySymbols(v string) bool {
	if len(v) < 30 {
		return false
	}
	v = v[:min(len(v), 64)]
	letters, digits, signs := false, false, uint32(0)
	for i := range len(v) {
		switch c := v[i]; {
		case isDigit(c):
			digits = true
		case isWord(c):
			letters = true
		default:
			n := strings.IndexByte("!@#$%^&*+=?~", c)
			if n < 0 && strings.IndexByte("-._/:(){}[]<>|;,", c) < 0 {
				return false // a blank, a quote
			}
			if n >= 0 {
				signs |= 1 << n
			}
		}
	}
	return letters && digits && bits.OnesCount32(signs) > 2 &&
		!strings.Contains(v, "${") && !strings.Contains(v, "{{") && !strings.Contains(v, "://")
}

// isDockerAuth reports whether v is the base64 of user:password, as in the settings of docker
// and npm.
func isDockerAuth(v string) bool {
	plain, err := base64.StdEncoding.DecodeString(v + "==="[:(4-len(v)%4)%4])
	if err != nil || len(plain) < 3 {
		return false
	}
	isPrinted := !slices.ContainsFunc(plain, func(c byte) bool { return c < ' ' || c > '~' })
	return isPrinted && bytes.IndexByte(plain, ':') > 0
}

func isSessionCookie(name string) bool {
	return oneOf(name, "JSESSIONID PHPSESSID ASP.NET_SessionId connect.sid laravel_session sessionid _session_id wordpress_logged_in next-auth.session-token")
}

// looksSession reports whether v looks like the secret of a session: long, random, and not
// a UUID, which is usually just an ID.
func looksSession(v string) bool {
	return len(v) >= 16 && !isUUID(v) && looksSecret(v, 16) && (isMixedCase(v) || countAlternations(v) > 2)
}

func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (v[i] == '-') || !dash && !inClass(v[i], "x") {
			return false
		}
	}
	return true
}
