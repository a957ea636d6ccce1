package redact

import "strings"

// Values in calls, and default values of variables.

// called finds the value in setPassword("x") and password{"x"}. s[i] is the bracket. It
// accepts only known names, because other functions take ordinary words:
// hashPassword("x").
func (sc *scanner) called(i int) (from, to int) {
	s := sc.s
	if i == 0 || strings.IndexByte("dDyYtTnNeErRlLsS", s[i-1]) < 0 || !quoted(s, i+1) { // the last letters of those names
		return 0, 0
	}
	name := sc.nameBefore(i)
	word := name[strings.LastIndexByte(name, '.')+1:]
	if word == "" {
		return 0, 0
	}
	switch lower := strings.ToLower(word); lower {
	case "fill", "type", "typetext", "send_keys", "sendkeys", "setvalue", "set_value", "presssequentially", "keys": // in the field of that name
		before := s[max(sc.done, i-maxTag):i]
		if before = before[strings.LastIndexAny(before, "\n;")+1:]; strings.Contains(before, "assword") || strings.Contains(before, "assphrase") {
			return likelyValue(s, i+1, "password")
		}
		return 0, 0
	case "connect": // "user/x@host"
		from, to = head(s, i+1)
		user, rest, _ := strings.Cut(s[from:max(from, to)], "/")
		if at := strings.LastIndexByte(rest, '@'); at > 0 && run(user, 0, "w") == len(user) && looksSecret(rest[:at], minPassword) {
			return from + len(user) + 1, from + len(user) + 1 + at
		}
		return 0, 0
	case "unwrap_or", "orelse", "getorelse", "orelseget", "or_else":
		if n := i - len(word) - 1; n > sc.done && s[n-1] == ')' {
			if name = sc.nameBefore(sc.unquote(n - 1)); sureName(name) {
				return likelyValue(s, i+1, name)
			}
		}
		return 0, 0
	case "new": // with a key
		if name == "AES.new" || name == "hmac.new" {
			return likelyValue(s, i+1, "token")
		}
		return 0, 0
	default:
		rest := strings.TrimPrefix(strings.TrimPrefix(lower, "set"), "with")
		switch strings.Trim(rest, "_") {
		case "password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "secret", "clientsecret", "accesstoken", "authtoken",
			"api_key", "secret_key", "access_key", "client_secret", "access_token", "auth_token", "apitoken", "api_token":
		default:
			return 0, 0
		}
	}
	return likelyValue(s, i+1, word)
}

// alternative finds the default value of a variable: X || "x", X ?? "x", get("X") or "x".
// s[i] is the first character of what is between them.
func (sc *scanner) alternative(i int) (from, to int) {
	s, p := sc.s, i
	if s[p] == '"' || s[p] == '\'' {
		for p++; p < len(s) && (s[p] == ')' || s[p] == ']') && p-i < 3; p++ {
		}
		p = blanks(s, p)
	}
	if p == len(s) || strings.IndexByte("|?o/", s[p]) < 0 {
		return 0, 0
	}
	for _, or := range []string{"||", "??", "?:", "or ", "//"} {
		rest, ok := strings.CutPrefix(s[p:min(len(s), p+8)], or)
		if !ok {
			continue
		}
		v := p + len(or)
		if strings.HasPrefix(rest, "=") {
			v++
		}
		v = blanks(s, v)
		if v == len(s) || !quoted(s, v) && s[v] != '`' {
			return 0, 0
		}
		if name := sc.nameBefore(sc.unquote(i)); name != "" && sureName(name) {
			return likelyValue(s, v, name)
		}
	}
	return 0, 0
}
