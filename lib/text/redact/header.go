package redact

import "strings"

// Parts of requests: passwords in URLs, headers, cookies.

// urlPassword finds the password in the user part of a URL that begins at s[i], or a token
// that is the whole user part.
func urlPassword(s string, i int) (from, to int) {
	colon, at := -1, -1
loop:
	for j := i; j < len(s) && j-i < 4096; j++ {
		switch c := s[j]; {
		case c == ':' && colon < 0:
			colon = j
		case c == '@':
			at = j
		case c <= ' ', strings.IndexByte("/?#\"'<>`\\()[]{}|", c) >= 0:
			break loop
		}
	}
	if colon > at { // it is the port's
		colon = -1
	}
	switch {
	case at < 0:
		return 0, 0
	case colon >= 0 && colon < at-1 && s[colon+1:at] != "x-oauth-basic" && !isPlaceholderText(s[colon+1:at]):
		return colon + 1, at
	case colon-i >= 20 && (colon == at-1 || s[colon+1:at] == "x-oauth-basic") && strings.ContainsAny(s[i:colon], "0123456789"): // the token is the user
		return i, colon
	case colon < 0 && (at-i >= 20 || isMixedCase(s[i:at])) && strings.ContainsAny(s[i:at], "0123456789"):
		return i, at
	}
	return 0, 0
}

// findHeaderValue finds the value of an Authorization or Cookie header, or the token after Bearer.
func (sc *scanner) findHeaderValue(i int) (from, to int) {
	s := sc.s
	if i+2 >= len(s) {
		return 0, 0
	}
	if strings.IndexByte("ueo", s[i+1]|0x20) < 0 { // Authorization, Bearer, Set-Cookie, Cookie
		return 0, 0
	}
	if !sc.beginsWord(i) && (s[i-1] != '-' || s[i]|0x20 != 'a') { // Proxy-Authorization
		return 0, 0
	}
	word := endOfRun(s[:min(len(s), i+16)], i, "w-")
	switch strings.ToLower(s[i:word]) {
	case "authorization":
		p := word
		least := 1
		for p < len(s) && strings.IndexByte("\"'\\: =\t,]", s[p]) >= 0 && p-word < maxName {
			if s[p] == ',' || s[p] == ']' { // header("Authorization", "token x")
				least = 16
			}
			p++
		}
		if p == word {
			return 0, 0
		}
		scheme := endOfRun(s[:min(len(s), p+16)], p, "w-")
		switch strings.ToLower(s[p:scheme]) {
		case "bearer", "basic", "token", "apikey", "digest", "negotiate":
			if next := skipSeparator(s, scheme); next > scheme {
				return credentialAt(s, next, 16)
			}
			return credentialAt(s, scheme, least)
		}
		if from, to = credentialAt(s, p, 16); to > 0 {
			return from, to
		}
		if skipChars(s, scheme, " \t", 1) > scheme { // an unknown scheme
			return credentialAt(s, scheme, 10)
		}
	case "bearer":
		if strings.HasPrefix(s[word:], " ") {
			return credentialAt(s, word, 16)
		}
	case "cookie", "set-cookie":
		if strings.HasPrefix(s[word:], ": ") {
			return cookieValues(s, word+2)
		}
		return findCookie(s, word)
	}
	return 0, 0
}

// findCookie finds the values in --cookie 'a=x', cookie = "a=x" and "Cookie": "a=x". The name
// ends at s[end]. Outside a header, the values must look like secrets.
func findCookie(s string, end int) (from, to int) {
	v := skipChars(s, end, " \t:=\"'`\\(,", 8)
	if v == end {
		return 0, 0
	}
	return likelyCookieValues(s, v)
}

// likelyCookieValues finds the values of a Cookie header that begin at s[v], as cookieValues does, if
// the first one looks like a secret. It looks at the first near v, and then finds the end of all.
func likelyCookieValues(s string, v int) (from, to int) {
	near := s[:min(len(s), v+maxLook)]
	if from, to = cookieValues(near, v); to == 0 {
		return 0, 0
	}
	quoted := strings.IndexByte("\"'`", s[v-1]) >= 0
	if blank := strings.IndexByte(near[from:to], ' '); blank >= 0 && !quoted { // without quotes, they end at a blank
		to = from + blank
	}
	_, first, _ := strings.Cut(s[from:to], "=")
	first, _, _ = strings.Cut(first, ";")
	if !looksSecret(first, minValue) {
		return 0, 0
	}
	if blank := strings.IndexByte(s[v:], ' '); blank >= 0 && !quoted {
		s = s[:v+blank]
	}
	return cookieValues(s, v)
}

// cookieValues finds the values of a Cookie header that begin at s[i]: the rest of the line, if
// it has the form name=value.
func cookieValues(s string, i int) (from, to int) {
	name := endOfRun(s[:min(len(s), i+maxName)], i, "w-.")
	if name == i || name == len(s) || s[name] != '=' {
		return 0, 0
	}
	first, _, _ := strings.Cut(s[name+1:min(len(s), name+maxLook)], ";")
	if first == "" || isPlaceholderText(first) {
		return 0, 0
	}
	for to = name; to < len(s) && s[to] >= ' ' && strings.IndexByte("\"'`\\", s[to]) < 0; to++ {
	}
	return spanIf(to-name >= minValue, i, to)
}

// findInCookieFile finds the value on a line of a file of cookies, behind the domain, whose end is s[i], and
// five other fields.
func (sc *scanner) findInCookieFile(i int) (from, to int) {
	if !strings.HasPrefix(sc.s[i:], "\tTRUE\t/") && !strings.HasPrefix(sc.s[i:], "\tFALSE\t/") {
		return 0, 0
	}
	line, _, _ := strings.Cut(sc.s[i+1:min(len(sc.s), i+2*maxLook)], "\n")
	fields := strings.SplitN(line, "\t", 6) // subdomains, path, TLS, expiry, name, value
	if len(fields) < 6 || endOfRun(fields[3], 0, "0") < len(fields[3]) || !looksSecret(strings.TrimRight(fields[5], "\r"), minValue) {
		return 0, 0
	}
	from = i + 1 + len(line) - len(fields[5])
	value, _, _ := strings.Cut(sc.s[from:], "\n")
	value, _, _ = strings.Cut(value, "\r")
	return from, from + len(value)
}

// skipSeparator returns the beginning of a credential that a quote, an operator or the end of a
// line separates from its scheme, which ends at s[i]; i if nothing does.
func skipSeparator(s string, i int) int {
	p, more, joined := i, false, false
	for ; p < len(s) && p-i < 24 && strings.IndexByte(" \t\n\"'+.&\\", s[p]) >= 0; p++ {
		more = more || s[p] > ' ' || s[p] == '\n'
		joined = joined || strings.IndexByte("+.&", s[p]) >= 0
	}
	if !more || joined && strings.IndexByte("\"'", s[p-1]) < 0 { // only blanks, or code in which a variable follows
		return i
	}
	return p
}

// credentialAt finds the word at s[i] after blanks. With least 1 any word counts. Otherwise
// it must have at least that many characters and a digit near its beginning.
func credentialAt(s string, i, least int) (from, to int) {
	i = skipChars(s, i, " \t", maxName)
	stop := func(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`\\<>,;[", c) >= 0 }
	if i == len(s) || isPlaceholderText(s[i:min(len(s), i+maxLook)]) {
		return 0, 0
	}
	digit := least == 1
	for to = i; to < len(s) && !stop(s[to]); to++ {
		digit = digit || isDigit(s[to])
		if !digit && to-i == maxLook {
			return 0, 0
		}
	}
	for to > i && s[to-1] == '.' { // the end of the sentence
		to--
	}
	return spanIf(digit && to-i >= least && !isPlaceholderText(s[i:to]), i, to)
}

func isCookie(name string) bool { return equalFold(name, "cookie") || equalFold(name, "set-cookie") }
