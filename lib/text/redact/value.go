package redact

import (
	"math/bits"
	"slices"
	"strings"
)

// The end of a value, and whether it looks like a secret.

// spanIf returns a span if it is that of a secret, else none.
func spanIf(secret bool, from, to int) (int, int) {
	if secret {
		return from, to
	}
	return 0, 0
}

// wordAt finds the value at s[i] if it is no placeholder, and looks says that it is a secret.
func wordAt(s string, i int, looks func(word string) bool) (from, to int) {
	from, to = boundedValueAt(s, i)
	return spanIf(from < to && !isPlaceholder(s, from, to) && looks(s[from:to]), from, to)
}

// likelySecret finds the value at s[i] of a setting of that name, if it looks like a secret: a
// token behind its scheme (Bearer x), an app's password in four words, or what is random enough.
func likelySecret(s string, i int, name string) (from, to int) {
	if isPasswordName(name) {
		i = skipHashCall(s, i)
	}
	i = skipOpening(s, i)
	from, to = boundedValueAt(s, i)
	for _, scheme := range [...]string{"Bearer ", "Basic ", "Token ", "token "} {
		if from > i && strings.HasPrefix(s[from:max(from, to)], scheme) && isLikelySecret(s, from+len(scheme), to, name) {
			return from + len(scheme), to
		}
	}
	if last := from + len("abcd efgh ijkl mnop"); last <= len(s) && isPasswordName(name) && endsLine(s, last) && isAppPassword(strings.ReplaceAll(s[from:last], " ", "-")) {
		return from, last
	}
	if from < to && from > i && isPasswordName(name) && (endsLine(s, to) && hasManySigns(s[from:to]) || isPassphrase(s[from:to])) {
		return from, to // in quotes, signs or a word with digits are enough
	}
	if from >= to || !isLikelySecret(s, from, to, name) {
		return 0, 0
	}
	return valueAt(s, i)
}

// isLikelySecret reports whether s[from:to] looks like a secret. name is that of the setting or
// column: it decides how long the value must be, and what it may repeat or describe.
func isLikelySecret(s string, from, to int, name string) bool {
	v := s[from:to]
	if isPlaceholder(s, from, to) || !looksSecret(v, minLength(name)) && !hasManySymbols(v) && (!isPasswordName(name) || !isAppPassword(v)) || onlyDescribes(name, v) {
		return false
	}
	// A value that is the name and up to four digits, token: "token12", is no secret.
	rest := v[min(len(name), len(v)):]
	return minLength(name) < minValue || len(rest) >= 5 || endOfRun(rest, 0, "0") < len(rest) || !strings.HasPrefix(v, name)
}

// valueAt returns the span of the value that begins at s[i]. It ends at the closing quote,
// or at the next blank.
func valueAt(s string, i int) (from, to int) {
	if i+1 < len(s) && s[i] == '$' && (s[i+1] == '\'' || s[i+1] == '"') { // of a shell
		i++
	}
	within := i < len(s) && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\'')
	if within {
		i++ // a quote within quotes
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		quote := s[i]
		for to = i + 1; to < len(s) && s[to] != '\n'; to++ {
			if s[to] != quote {
				continue
			}
			if more := shellQuote(s, to); more > 0 && !within {
				to += more
				continue
			}
			if within || to == i+1 || !isInnerQuote(s, to) {
				break
			}
			if s[to-1] != '\\' {
				to++
			}
		}
		if to > i+1 && s[to-1] == '\\' {
			to--
		}
		return i + 1, to
	}
	to = unquotedEnd(s, i)
	// Punctuation between commands, or at the end of a sentence.
	for to > i && strings.IndexByte(";,.)&|", s[to-1]) >= 0 {
		to--
	}
	return i, to
}

// shellQuote returns the length of what follows the quote at s[to] if a shell's text ends there
// only to have a quote in it: \' or "'", and the quote of the next part. 0 if the text ends.
func shellQuote(s string, to int) int {
	for _, within := range [...]string{`'\''`, `'"'"'`, `"'"'"`} {
		if strings.HasPrefix(s[to:], within) && to+len(within) < len(s) && s[to+len(within)] > ' ' {
			return len(within) - 1
		}
	}
	return 0
}

// boundedValueAt is valueAt, which examines at most maxLook bytes.
func boundedValueAt(s string, i int) (from, to int) { return valueAt(s[:min(len(s), i+maxLook)], i) }

// isInnerQuote reports whether the quote at s[to] is one in a quoted text: escaped, or doubled as
// in YAML, and followed by more of the same word and another quote.
func isInnerQuote(s string, to int) bool {
	next := to + 1
	switch {
	case s[to-1] == '\\' && s[to-2] != '\\':
	case s[to] == '\'' && next < len(s) && s[next] == '\'':
		next++
	default:
		return false
	}
	end := next
	for end < len(s) && s[end] > ' ' && strings.IndexByte("\"',;:)]}", s[end]) < 0 {
		end++
	}
	return end > next && end < len(s) && s[end] == s[to]
}

// unquotedEnd returns the end of the unquoted value that begins at s[i]: a blank, a quote, an
// escaped line end, the next setting, or a closing bracket that was opened before it.
func unquotedEnd(s string, i int) int {
	depth := 0
	for ; i < len(s) && s[i] > ' ' && strings.IndexByte("\"'`", s[i]) < 0; i++ {
		switch s[i] {
		case '\\':
			if i+1 < len(s) && strings.IndexByte("nrt\"'", s[i+1]) >= 0 {
				return i
			}
			if i+2 < len(s) && s[i+1] == ' ' && isAlnum(s[i+2]) { // of a shell
				i++
			}
		case ';', ',', '&':
			if nextSetting(s, i+1) {
				return i
			}
		case '(', '[', '{', '<':
			depth++
		case ')', ']', '}', '>':
			if depth--; depth < 0 {
				if i+1 == len(s) || s[i+1] <= ' ' || strings.IndexByte(",;.:)]}>|&<\"'`\\", s[i+1]) >= 0 {
					return i
				}
				depth = 0
			}
		}
	}
	return i
}

// nextSetting reports whether another setting begins at s[i], as in a connection string
// (Password=x;Timeout=3) and in {a:x,b:y}.
func nextSetting(s string, i int) bool {
	end := endOfRun(s[:min(len(s), i+24)], i, "w")
	return end > i && end < len(s) && (s[end] == '=' || s[end] == ':') && !isDigit(s[i])
}

// isPlaceholder is isPlaceholderText for the value s[from:to]. In single quotes a value that
// begins with a dollar sign is a secret, unless the rest looks like a variable.
func isPlaceholder(s string, from, to int) bool {
	v := s[from:to]
	if from > 0 && s[from-1] == '\'' && v[0] == '$' && len(v) > minPassword && (isDigit(v[1]) || countAlternations(v) > 2 || countAlternations(v) > 0 && strings.IndexByte(v, '_') < 0) && looksSecret(v[1:], minPassword) {
		return false
	}
	return isPlaceholderText(v)
}

// isAppPassword reports whether v has the form of the passwords that Apple makes for one app:
// four times four small letters.
func isAppPassword(v string) bool {
	if len(v) != 19 {
		return false
	}
	for i, c := range v {
		if i%5 == 4 && c != '-' || i%5 < 4 && !isLower(c) {
			return false
		}
	}
	return true
}

// isPassphrase reports whether a quoted text of a few words has one with digits in it, as words
// of a language have none.
func isPassphrase(v string) bool {
	if n := strings.Count(v, " "); n == 0 || n > 3 || len(v) < minValue || strings.ContainsAny(v, "<>{}$%=") {
		return false
	}
	codings := []string{"md5", "b64", "sha", "base64", "utf"}
	return slices.ContainsFunc(strings.Split(v, " "), func(word string) bool {
		isCoding := func(coding string) bool { return strings.HasPrefix(strings.ToLower(word), coding) }
		return len(word) >= 5 && countAlternations(word) > 1 && looksSecret(word, 5) && !slices.ContainsFunc(codings, isCoding)
	})
}

// isPlaceholderText reports whether v stands for a value, as a variable, template or "none" does.
func isPlaceholderText(v string) bool {
	switch {
	case strings.HasPrefix(v, Mark), strings.Trim(v, ".*xX") == "":
		return true
	}
	switch v[0] {
	case '$', '%':
		return !hasManySymbols(v) && !isMixedCase(v[1:])
	case '<', '{', '(', '[':
		return !hasManySymbols(v)
	}
	switch strings.ToLower(v) {
	case "true", "false", "null", "none", "nil", "yes", "no", "on", "off", "0", "1", "undefined", "value", "required", "redacted":
		return true
	}
	return false
}

// hasManySigns reports whether a quoted text has so many kinds of signs that it is a password and
// not code, a template or a sentence.
func hasManySigns(v string) bool {
	if len(v) < minPassword || strings.Count(v, " ") > 1 || strings.Trim(v, ".*xX") == "" {
		return false
	}
	code := []string{"${", "{{", "$(", "<%", "%(", "(?", ".*", "://", "[^", "\\d", "\\s", "\\w", "%s", "%v", "%d", Mark}
	if slices.ContainsFunc(code, func(part string) bool { return strings.Contains(v, part) }) {
		return false
	}
	signs := uint32(0)
	for i := range len(v) {
		if n := strings.IndexByte("!@#$%^&*?~", v[i]); n >= 0 {
			signs |= 1 << n
		} else if strings.IndexByte("(){}[]<>", v[i]) >= 0 {
			signs |= 1 << 16 // all brackets are one kind
		}
	}
	// What looks like a tag of HTML must have further signs, or a digit.
	return bits.OnesCount32(signs) > 1 && (v[0] != '<' || !strings.HasSuffix(v, ">") || bits.OnesCount32(signs) > 2 || strings.ContainsAny(v, "0123456789"))
}

// minLength returns the minimum length of a secret in a setting of that name.
func minLength(name string) int {
	if isPasswordName(name) {
		return minPassword
	}
	return minValue
}

// looksSecret reports whether a value is more than a word: it has at least that many
// characters, is mixed or has both letters and digits, and is not an identifier.
func looksSecret(value string, least int) bool {
	if len(value) < least || strings.ContainsAny(value, " (){}<>[]") {
		return false
	}
	if value[0] == '/' { // a path, unless it is base64, which begins with / once in 64 times
		return len(value) >= 40 && isMixedCase(value) && strings.Count(value, "/")*10 <= len(value) && endOfRun(value, 0, "w/+=-") == len(value)
	}
	if isMixedCase(value) {
		return true
	}
	if isIdentifier(value) {
		return false
	}
	const numerals = "0123456789"
	if !strings.ContainsAny(value, numerals) || !strings.ContainsFunc(value, func(r rune) bool { return isUpper(r) || isLower(r) || r == '_' }) {
		return false
	}
	parts := strings.Split(value, ".") // one of which is no identifier, as all are in a.b2
	return len(parts) == 1 || slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || isDigit(p[0]) || endOfRun(p, 0, "w") < len(p) || countAlternations(p) > 3
	})
}

// isIdentifier reports whether v is an identifier with a number in it: testRSA2048PrivateKey.
func isIdentifier(v string) bool {
	if isDigit(v[0]) {
		return false
	}
	humps, numbers := 0, 0
	for i := range len(v) {
		switch {
		case !isWord(v[i]):
			return false
		case i == 0:
		case isDigit(v[i]) && !isDigit(v[i-1]):
			numbers++
		case v[i] >= 'A' && v[i] <= 'Z' && !(v[i-1] >= 'A' && v[i-1] <= 'Z'):
			humps++
		}
	}
	return humps > 1 && numbers == 1
}

// isMixedCase reports whether capital letters, small letters and digits alternate more often
// than in any identifier: in a random word at every second character, in
// identifiersLikeThis at every third at most.
func isMixedCase(v string) bool {
	const least, enough = 12, 128
	if len(v) < least {
		return false
	}
	v = v[:min(len(v), enough)]
	changes, _ := alternations(v)
	return strings.ContainsFunc(v, isUpper) && strings.ContainsFunc(v, isLower) && changes*5 >= (len(v)-1)*2
}

func isUpper(r rune) bool { return r >= 'A' && r <= 'Z' }
func isLower(r rune) bool { return r >= 'a' && r <= 'z' }

// alternations counts how often capital letters, small letters and digits follow on each
// other, and reports whether there are digits.
func alternations(v string) (changes int, digits bool) {
	kind := func(c byte) int {
		switch {
		case c >= 'a' && c <= 'z':
			return 1
		case c >= 'A' && c <= 'Z':
			return 2
		case isDigit(c):
			return 3
		}
		return 0
	}
	before := 0
	for i := range len(v) {
		now := kind(v[i])
		if now != before && now > 0 && before > 0 {
			changes++
		}
		before, digits = now, digits || now == 3
	}
	return changes, digits
}
