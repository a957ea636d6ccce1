package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Settings: a name that suggests a secret, and its value.

// findSetting finds the value of a setting whose name ends before s[i], which is '=' or ':'. It
// returns 0, 0 if that is no secret. It adds further values, as of a list, to sc.cells.
//
// For NAME=value in capitals, as in a .env file or before a command, the name is enough.
// In any other form (password: x, "apiKey": "x", token = x) the value must look like a
// secret too, because code and prose are full of these.
func (sc *scanner) findSetting(i int) (from, to int) {
	s := sc.s
	name, end := sc.settingName(i)
	switch {
	case name == "":
		return 0, 0
	case end < 0 && isCookie(name): // {"name": "Cookie", "value": "a=x"}
		return likelyCookieValues(s, skipBlanks(s, i+1)+1)
	case name == "kind": // of an object of Kubernetes
		sc.addSecretData(end-len(name), i+1)
		return 0, 0
	}
	if from, to = sc.findShortNamed(end, i+1, name); to > 0 {
		return from, to
	}
	if from, to = sc.findIDOrPassword(i, name); to > 0 {
		return from, to
	}
	query := sc.inQuery(end, name) // its name need not be a secret's
	if !isSecretName(name) && !query {
		return 0, 0
	}
	if s[i] == '=' && end == i && name == strings.ToUpper(name) && !strings.HasPrefix(s[i+1:], "=") {
		from, to = filledValue(s, i+1)
		return spanIf(from < to && !onlyDescribes(name, s[from:min(to, from+maxLook)]), from, to)
	}
	begin := valueStart(s, i, end, name)
	if !isSureName(name) && !query && !isRandomKey(s, begin, name) || isAlias(s, i, begin) {
		return 0, 0
	}
	inBlock := false
	if s[i] == ':' && strings.HasPrefix(strings.TrimLeft(s[i+1:begin], " "), "<") { // in HTML
		from, to = boundedValueAt(s, begin)
		to = from + strings.IndexByte(s[from:max(from, to)]+"<", '<')
		return spanIf(from < to && isLikelySecret(s, from, to, name), from, to)
	}
	if s[i] == ':' {
		if begin, inBlock = sc.valueOnNextLines(begin); begin == 0 {
			return 0, 0
		}
	}
	if from, to = sc.connectionValue(begin, end, name); to > 0 {
		return from, to
	}
	if from, to = likelySecret(s, begin, name); inBlock && to > 0 {
		to = foldedBlockEnd(s, from, to)
	}
	if to > 0 && s[begin] == '[' { // "password": ["x", "y"]
		for p := to + 1; p < len(s); {
			if p = skipChars(s, p, " \t\r\n,", maxName); !isQuoted(s, p) {
				break
			}
			first, last := boundedValueAt(s, p)
			sc.addCell(first, last, name)
			p = last + 1
		}
	}
	return from, to
}

// findIDOrPassword finds the value of a setting that is a secret by its form and a name that is
// otherwise none: the UUID of a SecretID, a key of an Azure account or of Laravel, a one-time code,
// and what follows the user in auth: bob:x.
func (sc *scanner) findIDOrPassword(i int, name string) (from, to int) {
	const account = 88 // of a key's base64
	s := sc.s
	if strings.HasPrefix(name, "BUNDLE_") { // BUNDLE_GEMS__EXAMPLE__ORG: bob:x
		name = "login"
	}
	last := name[len(name)-1] | 0x20
	mayBeCode := last == 'e' && len(name) > 1 && name[len(name)-2]|0x20 == 'd'
	if !mayBeCode && strings.IndexByte("dyhsnp12", last) < 0 { // no name below ends like this
		return 0, 0
	}
	switch lower := strings.ToLower(name); {
	case len(name) == 2 && lower == "id" && equalFold(sc.nameBefore(max(sc.done, sc.wordEnd(i)-len(" ID"))), "secret"), strings.HasSuffix(lower, "secretid"), strings.HasSuffix(lower, "secret_id"):
		return wordAt(s, skipBlanks(s, i+1), isUUID)
	case strings.HasSuffix(lower, "key"), strings.HasSuffix(lower, "key1"), strings.HasSuffix(lower, "key2"):
		from, to = boundedValueAt(s, skipBlanks(s, i+1))
		if to-from == account && s[to-2:to] == "==" && isMixedCase(s[from:to]) || from < to && strings.HasSuffix(lower, "activation_key") && isStrongSecret(s[from:to]) {
			return from, to
		}
		if v, ok := strings.CutPrefix(s[from:max(from, to)], "base64:"); ok && strings.HasSuffix(lower, "app_key") && looksSecret(v, minValue) { // of Laravel
			return from, to
		}
	case lower == "pin", strings.HasSuffix(lower, "otp"), strings.HasSuffix(lower, "code"), strings.HasSuffix(lower, "codes"):
		return sc.findOneTimeCode(i, lower)
	case lower == "client_assertion":
		from, to = boundedValueAt(s, i+1)
		return spanIf(from < to && isStrongSecret(s[from:to]), from, to)
	case lower == "auth", lower == "creds", lower == "credentials", lower == "login":
		from, to = boundedValueAt(s, skipBlanks(s, i+1))
		user, word, _ := strings.Cut(s[from:max(from, to)], ":")
		isUser := user != "" && endOfRun(user, 0, "w-.@") == len(user)
		return spanIf(isUser && !strings.ContainsAny(word, "/:") && looksSecret(word, minPassword), from+len(user)+1, to)
	}
	return 0, 0
}

// findOneTimeCode finds the value of a setting for a number or a code that stands for a person, once or
// always: pin, otp, recovery code. s[i] is the sign behind the name, such as = or :, and the caller
// knows that the name is one of those. It returns 0, 0 if the value is none.
func (sc *scanner) findOneTimeCode(i int, name string) (from, to int) {
	s := sc.s
	least := 6 // of digits
	switch bare := strings.TrimRight(name, "s"); {
	case name == "pin":
		least = 4
	case name == "code" && strings.Contains(s[max(0, i-maxLook/2):min(len(s), i+maxLook)], "grant_type="):
		least = maxName // OAuth's code is never a number
	case strings.HasSuffix(bare, "code"):
		end := sc.wordEnd(i) - len(name)
		of := splitName(bare[:len(bare)-len("code")])
		if bare == "code" && end > sc.done && s[end-1] == ' ' {
			of = splitName(sc.nameBefore(end - 1))
		}
		if len(of) == 0 {
			return 0, 0
		}
		isOneTime := len(of) > 1 && of[len(of)-2] == "one" && of[len(of)-1] == "time"
		if !isOneTime && !oneOf(of[len(of)-1], "recovery backup verification totp otp 2fa mfa onetime scratch emergency") {
			return 0, 0
		}
	}
	v := skipBlanks(s, i+1)
	if strings.HasSuffix(name, "codes") { // one or more on a line
		sc.addCodes(v)
		return 0, 0
	}
	if from, to = boundedValueAt(s, v); from >= to || isPlaceholder(s, from, to) {
		return 0, 0
	}
	word, signs := s[from:to], "0"
	if strings.HasSuffix(name, "code") {
		signs = "0-"
	}
	isNumber := endOfRun(word, 0, signs) == len(word) && to-from >= least && to-from <= 16
	return spanIf(isNumber || isStrongSecret(word) && (name != "pin" || isMixedCase(word)), from, to)
}

// addCodes adds one-time codes from s[i] on to sc.cells: some on a line, with the signs of a list.
func (sc *scanner) addCodes(i int) {
	s := sc.s
	const most = 32
	for n := 0; n < most; {
		i = skipChars(s, i, " \t\r\n\"',[]-*.", maxName/2)
		end := endOfRun(s[:min(len(s), i+maxName)], i, "a-")
		switch word := s[i:end]; {
		case end < len(s) && s[end] == '.' && endOfRun(word, 0, "0") == len(word) && word != "": // of a list
		case len(word) >= minValue && (countAlternations(word) > 1 || endOfRun(word, 0, "0-") == len(word)):
			sc.cells = append(sc.cells, span{i, end})
			n++
		default:
			return
		}
		i = end
	}
}

// settingName returns the name of the setting whose sign is s[i], and its end, which is -1
// if the name is not the word before the sign.
func (sc *scanner) settingName(i int) (name string, end int) {
	last := sc.wordEnd(i)
	end = last
	word := sc.nameBefore(end)
	if start := end - len(word); strings.Trim(word, "0123456789") == "" && start > sc.done && sc.s[start-1] == '[' && strings.Contains(sc.s[last:i], "]") { // char name[32] = "x"
		end = start - 1
		word = sc.nameBefore(end)
	}
	name, end = sc.fullName(i, end, word)
	if (name == "" || !isSecretName(name)) && sc.isForeign(last) {
		return "password", -1
	}
	return name, end
}

// wordEnd returns the end of the word before the sign of a setting at s[i].
func (sc *scanner) wordEnd(i int) int {
	s, n := sc.s, i
	if s[i] == '=' && n > sc.done && strings.IndexByte("?+.", s[n-1]) >= 0 { // NAME ?= value
		n--
	}
	n = sc.skipQuotesBack(n)
	if n > sc.done && s[n-1] == ']' && s[i] == ':' { // AWS Secret Access Key [None]: x
		if open := strings.LastIndex(s[max(sc.done, n-maxName):n], " ["); open >= 0 {
			return max(sc.done, n-maxName) + open
		}
	}
	if n > sc.done && s[n-1] == ']' && s[i] == '=' { // x['NAME'] = 'value'
		n = sc.skipQuotesBack(n - 1)
	}
	for ; n > sc.done && s[n-1] == '*' && i-n < 8; n-- { // **API key**: x
	}
	return n
}

// fullName returns the name of a setting, and its end as settingName does, from the word before the
// sign at s[i], which ends at s[end]. A word like "value" or "key" is only a part of the name, or
// stands for a name elsewhere: "" then means that there is none, or that it is no secret's.
func (sc *scanner) fullName(i, end int, word string) (string, int) {
	s := sc.s
	switch word {
	case "":
		if s[i] == '=' {
			return sc.declaredName(i)
		}
	case "value", "Value", "VALUE", "default", "Default", "ParameterValue", "parameterValue", "val", "v", "content", "data", "text", "current", "body": // name="TOKEN" value="x", {"name": "TOKEN", "value": "x"}
		name := sc.findNameOfValue(end - len(word))
		if name == "" {
			name = sc.nameAfter(i + 1)
		}
		if name == "" && word == "value" && strings.Contains(s[i:min(len(s), i+maxLook)], `httpOnly`) { // of a browser's cookies
			if from, to := boundedValueAt(s, skipBlanks(s, i+1)); from < to && looksSession(s[from:to]) {
				name = "token"
			}
		}
		switch word {
		case "content", "data", "text", "body": // of anything: only what is a password, or random
			if from, to := boundedValueAt(s, skipBlanks(s, i+1)); name != "" && !isPasswordName(name) && !isCookie(name) && (from >= to || !looksSession(s[from:to])) {
				return "", -1
			}
		}
		return name, -1
	case "key", "Key", "KEY", "keys", "Keys", "rekey": // API key: x
		if start := end - len(word); s[i] == '=' && equalFold(s[max(0, start-len("pragma ")):start], "pragma ") {
			return "password", end
		}
		if words := sc.nameOfTwoWords(end, word); words != "" {
			return words, end
		}
		if s[i] == ':' && strings.HasPrefix(strings.TrimPrefix(strings.ToLower(s[max(sc.done, end-len("here is your key")):max(sc.done, end-len(" key"))]), " "), "here") {
			if from, to := boundedValueAt(s, skipOpening(s, skipBlanks(s, i+1))); from < to && isStrongSecret(s[from:to]) {
				return "api_key", end
			}
		}
		if start := end - len(word); strings.Contains(s[max(sc.done, start-maxName/2):max(sc.done, start)], "cookieSession(") {
			return "signing_key", end
		}
		if of := sc.findNameOfValue(end - len(word)); of != "" { // "Jwt": {"Key": "x"}
			return of + "_key", end
		}
	case "result": // in the state of Terraform
		if strings.Contains(s[max(sc.done, end-maxLook):max(sc.done, end)], "random_password") {
			return "password", end
		}
	case "1", "2", "3", "4", "5": // Unseal Key 1: x
		if n := sc.skipQuotesBack(end - 1); n < end-1 && s[i] == ':' {
			last := sc.nameBefore(n)
			return cmp.Or(sc.nameOfTwoWords(n, last), last), n
		}
	default:
		switch start := end - len(word); {
		case end < i && strings.HasSuffix(word, "Value"):
			if name := cmp.Or(sc.findNameOfValue(start), sc.nameAfter(i+1)); name != "" {
				return name, -1
			}
		case end == i && isDigit(word[0]) && strings.HasSuffix(s[sc.done:start], `";s:`) && isQuoted(s, i+1): // of PHP: s:8:"password";s:1:"x"
			return sc.nameBefore(start - len(`";s:`)), end
		case end == i && s[i] == '=' && strings.HasSuffix(s[sc.done:start], "--from-literal=") && namesSecret(s[:start]):
			return "password", end
		case end < i && s[i] == ':' && strings.IndexByte(word, '.') > 0 && start > sc.done+1 && s[start-1] == '"': // "gitlab-token": {"gitlab.com": "x"}
			before := strings.TrimRight(s[max(sc.done, start-maxName):start-1], " \t\r\n")
			if before, ok := strings.CutSuffix(before, "{"); ok {
				if n := strings.LastIndexByte(s[max(sc.done, start-maxName):start], '{') + max(sc.done, start-maxName); strings.HasSuffix(strings.TrimRight(before, " "), ":") {
					switch of := sc.nameBefore(sc.skipQuotesBack(sc.skipQuotesBack(n) - 1)); of {
					case "github-oauth", "gitlab-oauth":
						return "token", -1
					default:
						if isSureName(of) {
							return of, -1
						}
					}
				}
			}
		}
		if s[i] == '=' && !isSecretName(word) {
			if name, n := sc.declaredName(i); name != "" {
				return name, n
			}
		}
	}
	return word, end
}

// namesSecret reports whether the command at the end of s has secret among its words.
func namesSecret(s string) bool {
	s = strings.ReplaceAll(s[max(0, len(s)-maxLook):], "\\\n", " ")
	s = s[strings.LastIndexAny(s, "\n;|")+1:]
	return slices.Contains(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\"',[]", r) }), "secret")
}

// valueStart returns where the value begins after the sign (= or :) at s[i]. The name ends at
// s[end].
func valueStart(s string, i, end int, name string) int {
	v := i + 1
	switch {
	case s[i] == '=' && strings.HasPrefix(s[v:], ">\n"): // of var_dump in PHP
		v += 2
	case s[i] == '=' && strings.HasPrefix(s[v:], ">"): // name => value
		v++
	case s[i] == ':' && end > 1 && strings.HasPrefix(s[v:], "-") && s[max(0, end-len(name)-1)] == '{': // ${NAME:-value}
		v++
	}
	v = skipChars(s, v, " =:\t*", 8)
	if s[i] == ':' && v < len(s) && s[v] == '<' { // <b>Password:</b> <code>x
		return skipTags(s, v)
	}
	return v
}

// isAlias reports whether the value at s[v], of a setting whose sign is s[i], is the name of
// an anchor of YAML.
func isAlias(s string, i, v int) bool {
	return v-i > 2 && v < len(s) && s[v-1] == '*' && s[v-2] == ' ' && isWord(s[v])
}

// valueOnNextLines returns the beginning of a value that is at s[v] or on one of the next lines, or 0
// if there is something else. inBlock reports whether it is in a block of YAML.
func (sc *scanner) valueOnNextLines(v int) (at int, inBlock bool) {
	at = skipBlockStart(sc.s, v)
	inBlock = at > v
	if at < len(sc.s) && sc.s[at] == '\n' {
		at = sc.valueBelow(at)
	}
	return at, inBlock
}

// filledValue is valueAt for a value that is no placeholder.
func filledValue(s string, v int) (from, to int) {
	if from, to = boundedValueAt(s, v); from >= to || isPlaceholder(s, from, to) {
		return 0, 0
	}
	return valueAt(s, v)
}

// foldedBlockEnd returns the end of a YAML block whose first line is s[from:to]. Its other lines
// have the same indentation and are one long word each.
func foldedBlockEnd(s string, from, to int) int {
	margin := s[strings.LastIndexByte(s[max(0, from-maxName):from], '\n')+1+max(0, from-maxName) : from]
	for to < len(s) && s[to] == '\n' && margin != "" && strings.HasPrefix(s[to+1:], margin) {
		end := unquotedEnd(s, to+1+len(margin))
		if end-to-1-len(margin) < minValue || end < len(s) && s[end] != '\n' {
			break
		}
		to = end
	}
	return to
}

// isTypeWord reports whether a word can be part of a string type in a declaration, between
// the name and the '='.
func isTypeWord(word string) bool {
	return oneOf(word, "string str static mut option optional none undefined null nil char const text bytes byte secretstr secret charsequence "+
		"nsstring as readonly union nullable final any unknown get set init private protected public maybe varchar")
}

// declaredName returns the name, and its end, in a declaration whose type is between the name and
// the '=' at s[i]: var token string = "x", token: string | None = "x", and
// TOKEN: &'static str = "x".
func (sc *scanner) declaredName(i int) (name string, end int) {
	s, found := sc.s, false
	if v := skipBlanks(s, i+1); v == len(s) || strings.IndexByte("\"'`@$(", s[v]) < 0 && (s[v] < 'A' || s[v] > 'Z') {
		return "", 0 // neither a text nor a call, Some("x"), follows
	}
	for p := i; p > sc.done && i-p < maxName; {
		switch c := s[p-1]; {
		case isWord(c):
			start := sc.skipBack(p, "w", maxName)
			if !isTypeWord(strings.ToLower(s[start:p])) {
				if word := sc.nameBefore(p); found && isSureName(word) {
					return word, p
				}
				return "", 0
			}
			p, found = start, true
		case strings.IndexByte(" :?|&<>[]{};'", c) >= 0:
			p--
		default:
			return "", 0
		}
	}
	return "", 0
}

// skipBlockStart returns the end of the line at s[v] if it only introduces a YAML block on the next
// lines (password: |-, perhaps with a # comment), else v.
func skipBlockStart(s string, v int) int {
	for n := 0; n < 2 && v < len(s) && (s[v] == '!' || s[v] == '&'); n++ { // tags
		v, _ = skipSyntax(s, v)
	}
	p := v
	if p < len(s) && (s[p] == '|' || s[p] == '>') {
		p = skipChars(s, p+1, "+-123456789", 2)
	}
	p = skipBlanks(s, p)
	if p < len(s) && s[p] == '#' && (p > v || s[p-1] == ' ') {
		for n := p; p < len(s) && s[p] != '\n' && p-n < maxLook; p++ {
		}
	}
	if strings.HasPrefix(s[p:], "\r\n") {
		p++
	}
	if p < len(s) && s[p] == '\n' {
		return p
	}
	return v
}

// nameOfTwoWords returns the name for two words, the second of which ends at s[n]: api_key for
// "API key".
func (sc *scanner) nameOfTwoWords(n int, last string) string {
	start := n - len(last)
	if start <= sc.done+1 || sc.s[start-1] != ' ' {
		return ""
	}
	first := strings.ToLower(sc.nameBefore(start - 1))
	if !oneOf(first, "api access secret private signing encryption master account auth service webhook subscription unseal recovery license licence") {
		return ""
	}
	return first + "_key"
}

// valueBelow returns the beginning of a value on its own line below the name, whose line ends
// at s[v], or 0 if there is something else.
func (sc *scanner) valueBelow(v int) int {
	s := sc.s
	from := skipChars(s, v, "\n \t", 24)
	if strings.Count(s[v:from], "\n") > 2 {
		return 0
	}
	at := from
	if at < len(s) && s[at] == '`' {
		at++
	}
	start, end := boundedValueAt(s, at)
	if start == end || strings.IndexByte("-#", s[start]) >= 0 || strings.IndexByte(":=,", s[end-1]) >= 0 {
		return 0
	}
	if end = skipChars(s, end, "\"'`", len(s)); end < len(s) && s[end] != '\n' {
		return 0
	}
	return from
}

// inConnectionString reports whether a setting whose name ends at s[n] is part of a connection
// string: Server=h;Uid=u;Pwd=x.
func (sc *scanner) inConnectionString(n int, name string) bool {
	if !isPasswordName(name) {
		return false
	}
	before := strings.ToLower(sc.lineBefore(max(sc.done, n-len(name)), maxLook/2))
	if !strings.HasSuffix(strings.TrimRight(before, " "), ";") {
		return false
	}
	others := []string{"server=", "uid=", "user id=", "host=", "data source=", "database=", "driver=", "user=", "jdbc:", "dsn=", "dbq="}
	return slices.ContainsFunc(others, func(other string) bool { return strings.Contains(before, other) })
}

// connectionValue finds the value at s[v] of a setting in a connection string (inConnectionString),
// in which ODBC puts a value with signs in braces. A word in braces is a template's.
func (sc *scanner) connectionValue(v, n int, name string) (from, to int) {
	if !sc.inConnectionString(n, name) {
		return 0, 0
	}
	s := sc.s[:min(len(sc.s), v+maxLook)]
	from, to = valueAt(s, v)
	if v < len(s) && s[v] == '{' {
		from, to = v+1, v+strings.IndexByte(s[v:], '}')
		return spanIf(from <= to && looksPassword(s[from:to]) && !isPlaceholderText(s[from:to]), from, to)
	}
	return spanIf(from < to && !isPlaceholderText(s[from:to]), from, to)
}

// findShortNamed finds the value, which begins at s[v], of a setting whose name, which ends at
// s[n], is also a common word. So the value must look like a secret.
func (sc *scanner) findShortNamed(n, v int, name string) (from, to int) {
	s := sc.s
	lower := strings.ToLower(name)
	switch {
	case lower == "pwd" || lower == "pw" || lower == "pass":
		if name == strings.ToUpper(name) && !sc.inConnectionString(n, name) && (lower == "pwd" || s[v-1] != '=') {
			return 0, 0 // PWD=/a/folder, PASS: TestName
		}
	case lower == "auth" || name == "_auth", isSessionCookie(name):
	default:
		return 0, 0
	}
	v = skipBlanks(s, v)
	if from, to = sc.connectionValue(v, n, name); to > 0 {
		return from, to
	}
	from, to = boundedValueAt(s, v)
	if name == "PWD" && sc.inConnectionString(n, name) || from >= to || isPlaceholderText(s[from:to]) {
		return 0, 0
	}
	switch word := s[from:to]; {
	case lower == "auth" || name == "_auth":
		// The base64 of user:password. The name _auth also takes any other strong secret.
		if len(word) < minValue || !isDockerAuth(word) && (lower != name || name == "auth" || !isStrongSecret(word)) {
			return 0, 0
		}
	case isSessionCookie(name):
		word, _, _ = strings.Cut(word, ";")
		return spanIf(looksSession(word), from, from+len(word))
	case !looksSecret(word, minPassword) || strings.ContainsAny(word, "/:") ||
		strings.HasPrefix(strings.ToLower(word), "test") || strings.HasPrefix(strings.ToLower(word), "case"):
		return 0, 0
	}
	return valueAt(s, v)
}

// skipQuotesBack goes back from s[n] over blanks and quotes.
func (sc *scanner) skipQuotesBack(n int) int {
	for end := n; n > sc.done && strings.IndexByte(" \"'\\", sc.s[n-1]) >= 0 && end-n < 4; n-- {
	}
	return n
}

// inQuery reports whether a name that ends at s[n] is a parameter of a URL that signs it or
// grants access.
func (sc *scanner) inQuery(n int, name string) bool {
	start := n - len(name)
	if start > sc.done && equalFold(name, "signature") && strings.Contains(sc.s[max(0, start-maxLook):start], "Credential=") {
		return true // of AWS, in a header
	}
	if start <= sc.done || sc.s[start-1] != '?' && sc.s[start-1] != '&' && !strings.HasSuffix(sc.s[:start], "&amp;") {
		return false
	}
	if name = strings.ToLower(name); !oneOf(name, "auth key code sid pass pwd") {
		return oneOf(name, "sig signature x-amz-signature x-goog-signature")
	}
	from, to := valueAt(sc.s[:min(len(sc.s), n+1+maxLook)], min(n+1, len(sc.s)))
	v, _, _ := strings.Cut(sc.s[from:max(from, to)], "&")
	return looksSession(v)
}

// isNameKey reports whether a word is the key for the name of a setting.
func isNameKey(word string) bool {
	const words = "k id label field title variable param parameter property env slug setting attribute option header"
	return oneOf(word, words) || strings.HasSuffix(word, "name") || strings.HasSuffix(word, "key")
}

// maxNamed bounds the distance between a name and the value that findNameOfValue gives it.
const maxNamed = 200

// findNameOfValue returns the name of a setting whose value stands behind the word value or
// default, which begins at s[n]: TOKEN in name="TOKEN" value="x", in {"TOKEN": {"value": "x"}} and
// in variable "TOKEN" { default = "x" }. It returns "" for a name that is no secret's.
func (sc *scanner) findNameOfValue(n int) string {
	window := sc.s[max(sc.done, n-maxNamed):max(n, sc.done)]
	if end := strings.LastIndexByte(window, '}'); end >= 0 {
		window = window[end+1:]
	}
	name := ""
	for p := 0; p < len(window); {
		end := endOfRun(window, p, "w-.")
		if end == p {
			p++
			continue
		}
		this := window[p:end]
		sep := skipChars(window, end, " \t\r\n\"'=:\\/", len(window))
		next := endOfRun(window, sep, "w-.")
		for sep > end && window[sep-1] == '/' && next > sep && next < len(window) && window[next] == '/' { // the path of a parameter
			sep, next = next+1, endOfRun(window, next+1, "w-.")
		}
		switch between := window[end:sep]; {
		case isNameKey(strings.ToLower(this)) && next > sep && between != "" && (strings.Trim(between, " \n") != "" || this == "variable"):
			name, p = window[sep:next], next
			continue
		case p > 0 && window[p-1] == '<' && isSureName(this): // <Password Value="x"/>
			name = this
		case this == "type" && window[sep:next] == "password" && between != "": // of an input
			name, p = "password", next
			continue
		case sep < len(window) && window[sep] == '{' && strings.ContainsAny(between, ":="): // "TOKEN": {
			name = this
		}
		p = max(end, sep)
	}
	if name == "" || !isSecretName(name) && !isCookie(name) {
		return ""
	}
	return name
}

// nameAfter is findNameOfValue for a name after the value, which begins near s[v]:
// {"value": "x", "name": "TOKEN"}.
func (sc *scanner) nameAfter(v int) string {
	s := sc.s
	_, end := boundedValueAt(s, skipChars(s, v, " ", len(s)))
	key, word := false, "" // the last word that was a key, before = or :
	for p := end; p < len(s) && p-end < maxNamed/2 && s[p] != '}' && s[p] != '{' && s[p] != '<'; {
		to := endOfRun(s[:min(len(s), p+maxName)], p, "w-.")
		if to == p {
			p++
			continue
		}
		// A key has = or : within three bytes. IndexByte returns -1 for each that is missing.
		if key = !key && to < len(s) && strings.IndexByte(s[to:min(len(s), to+3)], '=')+strings.IndexByte(s[to:min(len(s), to+3)], ':') > -2; key {
			word = strings.ToLower(s[p:to])
		} else if isNameKey(word) {
			if isSecretName(s[p:to]) {
				return s[p:to]
			}
			return ""
		}
		p = to
	}
	return ""
}

// passwordBehindUser returns "password", as the name of the next argument, if the quoted text at
// s[i] is the user in a call that logs in: auth("bob", "x"), auth=("bob", "x"); else "".
func (sc *scanner) passwordBehindUser(i int) string {
	if i <= sc.done || sc.s[i-1] != '(' {
		return ""
	}
	end := sc.skipQuotesBack(strings.LastIndexFunc(sc.s[sc.done:i-1], func(r rune) bool { return r != '=' && r != ' ' }) + 1 + sc.done)
	name := strings.ToLower(sc.nameBefore(end))
	if class, ok := strings.CutSuffix(sc.s[max(sc.done, end-maxName):end], "]::new"); ok { // of PowerShell
		name = strings.ToLower(class)
	}
	calls := []string{"auth", "login", "credential", "credentials", "createhmac"}
	if slices.ContainsFunc(calls, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return "password"
	}
	return ""
}

// isPasswordArgument reports whether a password follows the comma at s[i] in a call that takes one
// behind other arguments.
func (sc *scanner) isPasswordArgument(i int) bool {
	before := sc.s[max(sc.done, i-maxTag):i]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	call, arguments, ok := strings.Cut(before, "(")
	for ok && strings.IndexByte(arguments, '(') >= 0 { // of the innermost call
		call, arguments, ok = strings.Cut(arguments, "(")
	}
	if !ok || strings.IndexByte(arguments, ')') >= 0 {
		return false
	}
	commas := strings.Count(arguments, ",") + 1 // as many arguments are before this one
	switch strings.TrimLeft(call[strings.LastIndexAny(call, " \t=.:>")+1:], "$@&!") {
	case "mysqli_connect", "mysql_connect", "mysqli", "PDO", "getConnection", "ftp_login", "create_superuser", "Sequelize", "FTP", "PlainAuth":
		return commas == 2
	case "connect":
		switch receiver := strings.TrimRight(call[:len(call)-len("connect")], ".->:"); receiver[strings.LastIndexAny(receiver, " \t=(")+1:] {
		case "pymysql", "MySQLdb", "DBI", "mariadb":
			return commas == 2
		case "oracledb", "cx_Oracle":
			return commas == 1
		case "ssh":
			return commas == 3
		}
	case "fill", "type":
		return commas == 1 && strings.Contains(arguments, "assword")
	case "basic", "pgp_sym_encrypt", "pgp_sym_decrypt", "aes_encrypt", "aes_decrypt", "AES_ENCRYPT", "AES_DECRYPT", "createCipheriv", "createDecipheriv", "Twilio":
		return commas == 1
	case "Credentials":
		return commas == 2 || commas == 3
	case "sign", "verify", "encode", "decode":
		return commas == 1 && strings.Contains(strings.ToLower(call[max(0, len(call)-len("jwt::decode")):]), "jwt")
	}
	return false
}

// findNamedArgument finds the value behind the comma at s[i] if its name stands before that, as in
// ("TOKEN", "x") and {password, "x"}, or if the call takes a password there: login("bob", "x").
func (sc *scanner) findNamedArgument(i int) (from, to int) {
	s := sc.s
	n := sc.skipQuotesBack(i)
	name := ""
	if binary := i - len(">>"); binary > sc.done && s[binary:i] == ">>" { // of Erlang
		n = sc.skipQuotesBack(binary)
	}
	begin := skipBlanks(s, i+1)
	if strings.HasPrefix(s[begin:], "<<") {
		begin += len("<<")
	}
	if n == i && n > sc.done && isWord(s[n-1]) && isQuoted(s, begin) { // {password, "x"}, -define(PASSWORD, "x")
		word := sc.nameBefore(n)
		start := strings.TrimRight(s[max(sc.done, n-len(word)-len("-define(")):n-len(word)], ":")
		if (strings.HasSuffix(start, "{") || start == "-define(") && endOfRun(word, 0, "w") == len(word) && (word == strings.ToLower(word) || word == strings.ToUpper(word)) && (isSureName(word) || isPasswordName(word)) {
			if from, to = boundedValueAt(s, begin); from < to && isStrongSecret(s[from:to]) {
				return likelySecret(s, begin, word)
			}
		}
	}
	if n < i {
		name = sc.nameBefore(n)
		start := n - len(name)
		switch {
		case start > sc.done && strings.IndexByte("\"'#", s[start-1]) >= 0:
			if !isSureName(name) {
				name = sc.passwordBehindUser(start - 1)
			}
		case start > sc.done && s[start-1] == '@': // login("bob@example.org", "x")
			user := len(sc.nameBefore(start - 1))
			name = sc.passwordBehindUser(start - 1 - user - 1)
		default:
			name = ""
		}
	}
	if name == "" {
		if !isQuoted(s, begin) || !sc.isPasswordArgument(i) {
			return 0, 0
		}
		name = "password"
	}
	if begin = skipOpening(s, skipChars(s, begin, " \\", maxName/2)); begin == len(s) || s[begin] != '"' && s[begin] != '\'' {
		return 0, 0
	}
	return likelySecret(s, begin, name)
}

// nameBefore returns the name before s[end], or "". It stops after maxName bytes and at done.
func (sc *scanner) nameBefore(end int) string {
	s, done := sc.s, sc.done
	start := end
	for start > done && end-start < maxName && (isWord(s[start-1]) || s[start-1] == '-' || s[start-1] == '.') {
		start--
	}
	// The n of an escaped line feed is not part of the name.
	if start > done && start < end && s[start-1] == '\\' && strings.IndexByte("ntr", s[start]) >= 0 {
		start++
	}
	return s[start:end]
}
