package redact

import "strings"

// Values in calls, and default values of variables.

// findCallValue finds the value in setPassword("x") and password{"x"}. s[i] is the bracket. It
// accepts only known names, because other functions take ordinary words:
// hashPassword("x").
func (sc *scanner) findCallValue(i int) (from, to int) {
	s := sc.s
	const last = "dDyYtTnNeErRlLsSwW"  // the last letters of the names below
	begin := skipChars(s, i+1, "b", 1) // of Python
	if i == 0 || strings.IndexByte(last, s[i-1]) < 0 || !isQuoted(s, begin) {
		return 0, 0
	}
	name := sc.nameBefore(i)
	word := name[strings.LastIndexByte(name, '.')+1:]
	if word == "" {
		return 0, 0
	}
	switch lower := strings.ToLower(word); lower {
	case "fill", "type", "typetext", "send_keys", "sendkeys", "setvalue", "set_value", "presssequentially", "keys": // into a password's field
		before := s[max(sc.done, i-maxTag):i]
		if before = before[strings.LastIndexAny(before, "\n;")+1:]; !strings.Contains(before, "assword") && !strings.Contains(before, "assphrase") {
			return 0, 0
		}
		word = "password"
	case "connect": // "user/x@host"
		from, to = boundedValueAt(s, begin)
		user, rest, _ := strings.Cut(s[from:max(from, to)], "/")
		from += len(user) + 1
		at := strings.LastIndexByte(rest, '@')
		return spanIf(at > 0 && endOfRun(user, 0, "w") == len(user) && looksSecret(rest[:at], minPassword), from, from+at)
	case "unwrap_or", "orelse", "getorelse", "orelseget", "or_else": // var("TOKEN").unwrap_or("x")
		n := i - len(word) - 1
		if n <= sc.done || s[n-1] != ')' {
			return 0, 0
		}
		if word = sc.nameBefore(sc.skipQuotesBack(n - 1)); !isSureName(word) {
			return 0, 0
		}
	case "new": // AES.new("x"), with a key
		if name != "AES.new" && name != "hmac.new" {
			return 0, 0
		}
		word = "token"
	case "client": // of a service: Client("x"), if x is long and random
		from, to = boundedValueAt(s, begin)
		return spanIf(to-from >= 24 && endOfRun(s[:to], from, "w-") == to && isMixedCase(s[from:to]), from, to)
	case "fernet", "stripe": // Fernet("x"), Stripe("x")
		return wordAt(s, begin, isStrongSecret)
	case "login", "run": // of a bot: bot.run("x"), client.login("x")
		receiver := strings.ToLower(name[:len(name)-len(word)])
		if !strings.HasSuffix(receiver, "bot.") && !strings.HasSuffix(receiver, "client.") {
			return 0, 0
		}
		return wordAt(s, begin, isStrongSecret)
	case "crypt": // of PostgreSQL: crypt('x', gen_salt('bf'))
		if from, to = boundedValueAt(s, begin); from >= to || !strings.HasPrefix(s[min(to+1, len(s)):], ", gen_salt(") {
			return 0, 0
		}
		word = "password"
	default: // setPassword("x"), with_api_key("x"), SecretCredential("x")
		plain := strings.ReplaceAll(lower, "_", "")
		rest := strings.TrimSuffix(plain, "credential")
		for _, verb := range [...]string{"set", "with", "from"} {
			rest = strings.TrimPrefix(rest, verb)
		}
		switch rest {
		case "password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "secret", "clientsecret", "accesstoken", "authtoken", "apitoken":
		case "token":
			from, to = boundedValueAt(s, begin)
			if rest == plain || from >= to || !isStrongSecret(s[from:to]) { // set_token('IDENT_2')
				return 0, 0
			}
		default:
			return 0, 0
		}
	}
	return likelySecret(s, begin, word)
}

// findDefault finds the default value of a variable that is named like a secret: X || "x", X ?? "x",
// get("X") or "x", and password: <%= X || "x" %>. s[i] is the first character behind the variable's
// name. It returns 0, 0 if there is none.
func (sc *scanner) findDefault(i int) (from, to int) {
	s, p := sc.s, i
	if s[p] == '"' || s[p] == '\'' {
		for p++; p < len(s) && (s[p] == ')' || s[p] == ']') && p-i < 3; p++ {
		}
		p = skipBlanks(s, p)
	}
	if p == len(s) || strings.IndexByte("|?o/", s[p]) < 0 {
		return 0, 0
	}
	for _, or := range []string{"||", "??", "?:", "or ", "//"} {
		rest, ok := strings.CutPrefix(s[p:min(len(s), p+8)], or)
		if !ok {
			continue
		}
		begin := p + len(or)
		if strings.HasPrefix(rest, "=") {
			begin++
		}
		begin = skipBlanks(s, begin)
		if begin == len(s) || !isQuoted(s, begin) && s[begin] != '`' {
			return 0, 0
		}
		if name := sc.nameBefore(sc.skipQuotesBack(i)); isSureName(name) {
			return likelySecret(s, begin, name)
		}
		before := sc.lineBefore(i, maxName)
		if at := strings.LastIndex(before, ": <%="); at >= 0 { // in the template of a setting
			if name := sc.nameBefore(i - len(before) + at); isSureName(name) {
				return likelySecret(s, begin, name)
			}
		}
	}
	return 0, 0
}
