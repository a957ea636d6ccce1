package redact

import "strings"

// Syntax of programming languages and YAML between a name and its value.

// maxOpenings bounds how many pieces of such syntax are nested: Some(String::from("x")).
const maxOpenings = 5

// skipOpening returns the beginning of the value after s[i]. It skips wrapper functions,
// prefixes of string literals, tags and brackets. If what follows a wrapper is neither quoted nor
// in a bracket, it is ordinary code, and skipOpening returns i.
func skipOpening(s string, i int) int {
	p, mustQuote := i, false
	for range maxOpenings {
		next, wrapper := skipSyntax(s, p)
		if next == p {
			break
		}
		p, mustQuote = next, mustQuote || wrapper
	}
	if mustQuote && (p == len(s) || !isQuoted(s, p) && s[p] != '`' && s[p-1] != '(') {
		return i
	}
	if p < len(s) && s[p] == '`' { // a string in Go and JavaScript
		p++
	}
	return p
}

func isQuoted(s string, p int) bool {
	return p < len(s) && (s[p] == '"' || s[p] == '\'' || s[p] == '\\' && p+1 < len(s) && (s[p+1] == '"' || s[p+1] == '\''))
}

// isWrapper reports whether a function or type of that name only wraps a string, for example
// as a secret.
func isWrapper(name string) bool {
	return oneOf(name, "secretstr secret secretstring secretbytes sensitive sensitivestring redacted password apikey token credential securestring "+
		"hidden string str text from into some ok just bytes bytearray byte to ptr pointer of valueof box arc rc cow borrowed owned "+
		"stringvalue stringptr field secretkeyspec convertto-securestring strdup unicode encode utf8 raw literal quote char cstring bstr nsstring")
}

// skipHashCall returns the beginning of the text in MD5('x') at s[i], or i. It is for passwords:
// other hashes are usually those of files.
func skipHashCall(s string, i int) int {
	end := endOfRun(s[:min(len(s), i+maxName)], i, "a")
	switch strings.ToLower(s[i:end]) {
	case "crypt", "md5", "sha1", "sha2", "sha256":
		if end < len(s) && s[end] == '(' && isQuoted(s, end+1) {
			return end + 1
		}
	}
	return i
}

// skipSyntax returns the end of the piece of syntax that begins at s[i], in front of a value, or i
// if there is none. Such a piece is a bracket, []byte(, a tag or anchor of YAML, the name of a
// function with its bracket, the prefix of a literal, or the opening quotes of a text.
// wrapper reports whether a quoted text must follow, or the syntax is that of ordinary code.
func skipSyntax(s string, i int) (next int, wrapper bool) {
	if i >= len(s) {
		return i, false
	}
	switch s[i] {
	case '"', '\'':
		if strings.HasPrefix(s[i:], `"""`) || strings.HasPrefix(s[i:], "'''") {
			return i + 2, false
		}
		return i, false
	case '(', '[', '{':
		if strings.HasPrefix(s[i:], "[]") { // []byte("x")
			return i + 2, true
		}
		if strings.HasPrefix(s[i:], "[[") && i+2 < len(s) && isAlnum(s[i+2]) { // of Lua
			return i + 2, false
		}
		return skipChars(s, i+1, " \t\r\n", maxName/2), true
	case '!':
		return skipTag(s, i), false
	case '&': // a YAML anchor, or the address operator
		if end := endOfRun(s[:min(len(s), i+maxName)], i+1, "w-"); end > i+1 && end < len(s) && s[end] == ' ' {
			return skipBlanks(s, end), false
		}
		return i + 1, true
	}
	if strings.HasPrefix(s[i:], "q{") || strings.HasPrefix(s[i:], "qq{") { // of Perl
		return i + strings.IndexByte(s[i:], '{') + 1, false
	}
	end := endOfRun(s[:min(len(s), i+maxName)], i, "w.:-@$")
	if end == i || end == len(s) {
		return i, false
	}
	if s[end] == '"' || s[end] == '\'' {
		return skipLiteralPrefix(s, i, end)
	}
	return skipWrapper(s, i, end)
}

// skipTag returns the end of a YAML tag at s[i], or i if it is one that refers to something
// else.
func skipTag(s string, i int) int {
	for _, tag := range []string{"!Ref ", "!GetAtt ", "!Sub ", "!ImportValue ", "!reference "} {
		if strings.HasPrefix(s[i:], tag) {
			return i
		}
	}
	if end := endOfRun(s[:min(len(s), i+maxName)], i+1, "w!-./:"); end < len(s) && s[end] == ' ' {
		return skipBlanks(s, end)
	}
	return i
}

// skipLiteralPrefix is skipSyntax for the prefix of a string literal, b"x". Its quote is s[end].
func skipLiteralPrefix(s string, i, end int) (next int, wrapper bool) {
	if end-i > 3 || strings.Trim(strings.ToLower(s[i:end]), "brfuln8@$") != "" {
		return i, false
	}
	if s[end-1] == 'R' && strings.HasPrefix(s[end:], `"(`) { // of C++
		return end + 2, true
	}
	return end, true
}

// skipWrapper is skipSyntax for a function or type that wraps a value, SecretStr("x"), or gives it
// to a setting, default="x". Its name ends at s[end].
func skipWrapper(s string, i, end int) (next int, wrapper bool) {
	if strings.IndexByte("( =", s[end]) < 0 {
		return i, false
	}
	word := strings.ToLower(s[i:end])
	switch word {
	case "default", "default_value", "fallback", "value", "new":
		return skipBlanks(s, end+1), true
	}
	if !isWrapper(word[strings.LastIndexAny(word, ".:")+1:]) || s[end] == ' ' && !isQuoted(s, end+1) || s[end] == '=' {
		return i, false
	}
	p := end + 1
	if digits := endOfRun(s[:min(len(s), p+8)], p, "0"); digits > p && strings.HasPrefix(s[digits:], ") ") { // string(12) "x"
		return digits + 2, true
	}
	return skipChars(s, p, " \n", maxName/2), true
}
