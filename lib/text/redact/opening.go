package redact

import "strings"

// What programming languages and YAML put between a name and its value.

// maxOpenings is how many of them stand there at most: Some(String::from("x")).
const maxOpenings = 5

// opening returns where the value begins whose setting goes on at s[i]: behind what
// makes a secret of a text, the letters of a kind of text, tags and brackets. Where
// no text in quotes follows a wrapper, that is code, and nothing is passed over.
func opening(s string, i int) int {
	p, must := i, false
	for range maxOpenings {
		next, wrapper := opened(s, p)
		if next == p {
			break
		}
		p, must = next, must || wrapper
	}
	if must && (p == len(s) || !quoted(s, p) && s[p] != '`' && s[p-1] != '(') {
		return i
	}
	if p < len(s) && s[p] == '`' { // a string in Go and JavaScript
		p++
	}
	return p
}

// quoted reports whether a text in quotes begins at s[p].
func quoted(s string, p int) bool {
	return p < len(s) && (s[p] == '"' || s[p] == '\'' || s[p] == '\\' && p+1 < len(s) && (s[p+1] == '"' || s[p+1] == '\''))
}

// wraps reports whether a function or type of that name keeps a secret, or makes a
// text of another kind, and tells nothing of it.
func wraps(name string) bool {
	switch name {
	case "secretstr", "secret", "secretstring", "secretbytes", "sensitive", "sensitivestring", "redacted", "password", "apikey", "token", "credential", "securestring",
		"hidden", "string", "str", "text", "from", "into", "some", "ok", "just", "bytes", "bytearray", "byte",
		"to", "ptr", "pointer", "of", "valueof", "box", "arc", "rc", "cow", "borrowed", "owned", "stringvalue",
		"stringptr", "field", "secretkeyspec", "convertto-securestring", "strdup", "unicode", "encode", "utf8", "raw", "literal", "quote", "char",
		"cstring", "bstr", "nsstring":
		return true
	}
	return false
}

// opened passes over one thing that stands before a value at s[i]; wrapper is
// whether a text in quotes has to follow in the end.
func opened(s string, i int) (next int, wrapper bool) {
	if i >= len(s) {
		return i, false
	}
	switch c := s[i]; c {
	case '"', '\'':
		if strings.HasPrefix(s[i:], `"""`) || strings.HasPrefix(s[i:], "'''") {
			return i + 2, false
		}
		return i, false
	case '(', '[', '{':
		p := i + 1
		if c == '[' && p < len(s) && s[p] == ']' { // []byte("x")
			return p + 1, true
		}
		for p < len(s) && strings.IndexByte(" \t\r\n", s[p]) >= 0 && p-i < maxName/2 {
			p++
		}
		return p, true
	case '!': // a tag of YAML, but for those of templates that name another thing
		for _, tag := range []string{"!Ref ", "!GetAtt ", "!Sub ", "!ImportValue ", "!reference "} {
			if strings.HasPrefix(s[i:], tag) {
				return i, false
			}
		}
		if end := run(s[:min(len(s), i+maxName)], i+1, "w!-./:"); end < len(s) && s[end] == ' ' {
			return blanks(s, end), false
		}
		return i, false
	case '&': // an anchor of YAML, an address
		if end := run(s[:min(len(s), i+maxName)], i+1, "w-"); end > i+1 && end < len(s) && s[end] == ' ' {
			return blanks(s, end), false
		}
		return i + 1, true
	}
	end := run(s[:min(len(s), i+maxName)], i, "w.:-@$")
	if end == i || end == len(s) {
		return i, false
	}
	word := strings.ToLower(s[i:end])
	switch s[end] {
	case '"', '\'':
		if end-i > 3 || strings.Trim(word, "brful8@$") != "" {
			return i, false
		}
		if s[end-1] == 'R' && strings.HasPrefix(s[end:], `"(`) { // of C++
			return end + 2, true
		}
		return end, true
	case '(', ' ', '=':
		if word == "default" || word == "default_value" || word == "fallback" || word == "value" || word == "new" {
			return blanks(s, end+1), true
		}
		if !wraps(word[strings.LastIndexAny(word, ".:")+1:]) || s[end] == ' ' && !quoted(s, end+1) || s[end] == '=' {
			return i, false
		}
		p := end + 1
		if digits := run(s[:min(len(s), p+8)], p, "0"); digits > p && strings.HasPrefix(s[digits:], ") ") { // string(12) "x"
			return digits + 2, true
		}
		for p < len(s) && (s[p] == ' ' || s[p] == '\n') && p-end < maxName/2 {
			p++
		}
		return p, true
	}
	return i, false
}
