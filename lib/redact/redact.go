// Package redact takes secrets out of a text before it reaches a file, an
// event, a note or a start-up text.
//
// It knows the values of the variables around it whose names say secret, the
// tokens that services mark with a prefix of their own, private keys, passwords
// in URLs and headers, and settings whose name says secret. It cannot know a
// secret that looks like any other word. It leaves alone what only looks
// random: hashes, UUIDs, paths. A later issue weighs a library with a full
// rule set against this table.
package redact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minValue is the length from which on a variable's value is looked for
// everywhere; a shorter one stands in too many words.
const minValue = 8

// Text returns s with every secret replaced by Mark; the names, users and
// schemes around it stay. environ is "KEY=value" as os.Environ gives it. A text
// without secrets comes back as it is, and one that went through before does
// not change. The time it takes is linear in s.
func Text(s string, environ []string) string { return Of(environ)(s) }

// Of is Text for many texts and one environment.
func Of(environ []string) func(string) string {
	vs := values(environ)
	return func(s string) string { return text(s, vs) }
}

func text(s string, values []string) string {
	for _, v := range values {
		s = strings.ReplaceAll(s, v, Mark)
	}
	var out strings.Builder
	done := 0
	sc := scanner{s: s, end: -1}
	for i := 0; i < len(s); {
		from, to := sc.at(i)
		if to <= i {
			i++
			continue
		}
		out.WriteString(s[done:from])
		out.WriteString(Mark)
		i, done = to, to
		sc.done = to
	}
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// words are values of variables that are called a secret and are none.
var words = []string{
	"password", "postgres", "changeme", "mongodb", "rabbitmq", "disabled", "required", "optional", "undefined", "localhost",
}

// values returns what to look for literally: the values of secret variables as
// they are, and as they stand in JSON and in URLs, the longest first.
func values(environ []string) []string {
	var all []string
	for _, kv := range environ {
		name, v, ok := strings.Cut(kv, "=")
		v = strings.TrimSpace(v)
		if !ok || len(v) < minValue || !secretName(name) || slices.Contains(words, strings.ToLower(v)) || strings.Contains(Mark, v) {
			continue
		}
		quoted, _ := json.Marshal(v) // a string always marshals
		all = append(all, v, string(quoted[1:len(quoted)-1]), escape(v, "%20"), escape(v, "+"))
		if strings.ContainsAny(v, "<>&") { // which encoders may leave as they are
			plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
			all = append(all, plain.Replace(string(quoted[1:len(quoted)-1])))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(all)
}

// escape writes v as it stands in a URL.
func escape(v, blank string) string {
	var b strings.Builder
	for _, c := range []byte(v) {
		switch {
		case isWord(c) || c == '-' || c == '.' || c == '~':
			b.WriteByte(c)
		case c == ' ':
			b.WriteString(blank)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// scanner finds secrets by their form.
type scanner struct {
	s    string
	done int // what is before this is written already
	end  int // the next end of a private key, -1 where that was not looked for
}

// at returns where the secret lies that shows itself at s[i]; to is 0 when
// there is none. What it looks at is bounded, or looked at once.
func (sc *scanner) at(i int) (from, to int) {
	s := sc.s
	switch c := s[i]; c {
	case '=', ':':
		if strings.HasPrefix(s[i:], "://") {
			return password(s, i+3)
		}
		return setting(s, sc.done, i)
	case '-':
		if strings.HasPrefix(s[i:], beginKey) {
			return sc.privateKey(i)
		}
		if strings.HasPrefix(s[i:], "--") && begins(s, i) {
			return flag(s, i)
		}
		return 0, 0
	case 'A', 'a', 'B', 'b':
		if from, to = header(s, i); to > 0 {
			return from, to
		}
	case 'e':
		return jwt(s, i)
	}
	return shaped(s, i)
}

// shape is the form of the tokens of one service.
type shape struct {
	prefix string
	chars  string // what may follow, by class (see in)
	min    int    // how many of them must
	bare   bool   // the prefix can be part of other words, so it has to begin one, and a digit follows
}

// shapes are looked through in this order: the longer of two prefixes stands
// first. How each begins stands in shaped, too.
var shapes = [...]shape{
	{"sk-ant-", "w-", 8, false},
	{"sk-", "w-", 20, true},
	{"sk_live_", "w", 10, false}, {"sk_test_", "w", 10, false}, {"rk_live_", "w", 10, false}, {"rk_test_", "w", 10, false},
	{"ghp_", "w", 20, false}, {"gho_", "w", 20, false}, {"ghu_", "w", 20, false}, {"ghs_", "w", 20, false}, {"ghr_", "w", 20, false},
	{"github_pat_", "w", 20, false},
	{"glpat-", "w-.", 16, false}, {"gldt-", "w-", 16, true}, {"glrt-", "w-", 16, true}, {"glptt-", "w-", 16, true},
	{"gsk_", "w", 32, true},
	{"xoxa-", "w-", 10, false}, {"xoxb-", "w-", 10, false}, {"xoxe-", "w-", 10, false}, {"xoxp-", "w-", 10, false},
	{"xoxr-", "w-", 10, false}, {"xoxs-", "w-", 10, false}, {"xapp-", "w-", 10, true}, {"xai-", "w", 32, true},
	{"AKIA", "U", 16, true}, {"ASIA", "U", 16, true},
	{"AIza", "w-", 35, true},
	{"AGE-SECRET-KEY-1", "U", 40, false},
	{"ya29.", "w-.", 20, true},
	{"hf_", "w", 30, true}, {"hvs.", "w-", 24, true},
	{"npm_", "a", 36, true}, {"nvapi-", "w-", 32, true},
	{"pypi-", "w-", 50, true},
	{"dop_v1_", "w", 40, false}, {"doo_v1_", "w", 40, false}, {"dor_v1_", "w", 40, false}, {"dckr_pat_", "w-", 20, false},
	{"SG.", "w-.", 40, true},
	{"shpat_", "w", 32, false}, {"lin_api_", "w", 32, false},
}

// shaped finds a token of one of the shapes.
func shaped(s string, i int) (from, to int) {
	if i+1 == len(s) {
		return 0, 0
	}
	switch uint16(s[i])<<8 | uint16(s[i+1]) { // how the prefixes begin
	case 's'<<8 | 'k', 'r'<<8 | 'k', 'g'<<8 | 'h', 'g'<<8 | 'i', 'g'<<8 | 'l', 'g'<<8 | 's', 'x'<<8 | 'o', 'x'<<8 | 'a',
		'A'<<8 | 'K', 'A'<<8 | 'S', 'A'<<8 | 'I', 'A'<<8 | 'G', 'y'<<8 | 'a', 'h'<<8 | 'f', 'h'<<8 | 'v', 'n'<<8 | 'p',
		'n'<<8 | 'v', 'p'<<8 | 'y', 'd'<<8 | 'o', 'd'<<8 | 'c', 'S'<<8 | 'G', 's'<<8 | 'h', 'l'<<8 | 'i':
	default:
		return 0, 0
	}
	for k := range shapes {
		sh := &shapes[k]
		if sh.prefix[0] != s[i] || !strings.HasPrefix(s[i:], sh.prefix) || sh.bare && !begins(s, i) {
			continue
		}
		end, digit := i+len(sh.prefix), false
		for end < len(s) && in(s[end], sh.chars) {
			// A digit that comes very late is no token's.
			digit = digit || isDigit(s[end]) && end-i < 100
			end++
			if !digit && sh.bare && end-i > 100 {
				return 0, 0
			}
		}
		// A full stop ends the sentence, not the token.
		for s[end-1] == '.' {
			end--
		}
		if end-i-len(sh.prefix) >= sh.min && (digit || !sh.bare) {
			return i, end
		}
	}
	return 0, 0
}

// in says whether c belongs to one of the classes: w a letter, a digit or '_';
// a a letter or a digit; U a capital or a digit; else the character itself.
func in(c byte, classes string) bool {
	for _, k := range []byte(classes) {
		switch {
		case k == 'w' && isWord(c),
			k == 'a' && isWord(c) && c != '_',
			k == 'U' && (c >= 'A' && c <= 'Z' || isDigit(c)),
			k == c && (c == '-' || c == '.'):
			return true
		}
	}
	return false
}

// begins says whether no word runs on across s[i]. The n of an escaped line
// feed is no letter.
func begins(s string, i int) bool {
	return i == 0 || !isWord(s[i-1]) && s[i-1] != '-' ||
		i > 1 && s[i-2] == '\\' && (s[i-1] == 'n' || s[i-1] == 't' || s[i-1] == 'r')
}

// jwt finds a JSON Web Token: three parts in base64 with dots between, of
// which the first two begin as the base64 of a JSON object does.
func jwt(s string, i int) (from, to int) {
	if !strings.HasPrefix(s[i:], "eyJ") || !begins(s, i) {
		return 0, 0
	}
	head := run(s, i, "w-")
	if !strings.HasPrefix(s[head:], ".eyJ") {
		return 0, 0
	}
	body := run(s, head+1, "w-")
	if body == len(s) || s[body] != '.' || head-i < 10 || body-head < 10 {
		return 0, 0
	}
	return i, run(s, body+1, "w-")
}

// run returns where the characters of the classes end that begin at s[i].
func run(s string, i int, classes string) int {
	for i < len(s) && in(s[i], classes) {
		i++
	}
	return i
}

const (
	beginKey = "-----BEGIN "
	endKey   = "-----END "
	dashes   = "-----"
	maxKey   = 16 << 10 // of a private key
)

// privateKey finds the PEM block that begins at s[i], where it is a private
// key, or what is left of one that was cut off.
func (sc *scanner) privateKey(i int) (from, to int) {
	s := sc.s
	name := s[i+len(beginKey) : min(i+len(beginKey)+64, len(s))]
	end := strings.Index(name, dashes)
	if end < 0 || !strings.Contains(name[:end], "PRIVATE KEY") {
		return 0, 0
	}
	body := i + len(beginKey) + end + len(dashes)
	if sc.end < body { // look once, also where there is none
		sc.end = len(s)
		if n := strings.Index(s[body:], endKey); n >= 0 {
			sc.end = body + n
		}
	}
	if sc.end < len(s) && sc.end-body < maxKey {
		to = sc.end + len(endKey)
		if n := strings.Index(s[to:min(to+64, len(s))], dashes); n >= 0 {
			to += n + len(dashes)
		}
		return i, to
	}
	// Without an end: the lines that are base64, and the two headers that an
	// encrypted key has.
	to = body
	for p := body; p < len(s); {
		for p < len(s) && (s[p] == '\n' || s[p] == '\r') {
			p++
		}
		q := p
		if strings.HasPrefix(s[p:], "Proc-Type:") || strings.HasPrefix(s[p:], "DEK-Info:") {
			for q < len(s) && s[q] != '\n' {
				q++
			}
		}
		for q < len(s) && (isWord(s[q]) || strings.IndexByte(`+/=\`, s[q]) >= 0) {
			q++
		}
		if q == p || q < len(s) && s[q] != '\n' && s[q] != '\r' && q-p < 16 {
			break
		}
		p, to = q, q
	}
	return i, to
}

// password finds the password in the user part of a URL whose host begins at
// s[i], or a token that stands there alone.
func password(s string, i int) (from, to int) {
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
	switch {
	case at < 0:
		return 0, 0
	case colon >= 0 && colon < at-1 && !placeholder(s[colon+1:at]):
		return colon + 1, at
	case colon < 0 && at-i >= 20 && strings.ContainsAny(s[i:at], "0123456789"):
		return i, at
	}
	return 0, 0
}

// header finds the value of an Authorization header, or what follows Bearer.
func header(s string, i int) (from, to int) {
	if !begins(s, i) {
		return 0, 0
	}
	word := run(s[:min(len(s), i+16)], i, "w")
	switch {
	case equalFold(s[i:word], "authorization"):
		p := word
		for p < len(s) && strings.IndexByte("\"'\\: =", s[p]) >= 0 {
			p++
		}
		if p == word {
			return 0, 0
		}
		scheme := run(s, p, "w-")
		switch strings.ToLower(s[p:scheme]) {
		case "bearer", "basic", "token", "apikey", "digest", "negotiate":
			return credential(s, scheme, 1)
		}
		return credential(s, p, 16)
	case equalFold(s[i:word], "bearer") && strings.HasPrefix(s[word:], " "):
		return credential(s, word, 16)
	}
	return 0, 0
}

// credential finds the word that stands at s[i] after blanks. One that is not
// sure to be a credential has at least least characters, and a digit among the
// first.
func credential(s string, i, least int) (from, to int) {
	for i < len(s) && s[i] == ' ' {
		i++
	}
	stop := func(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`\\<>,;", c) >= 0 }
	digit := least == 1
	for to = i; to < len(s) && !stop(s[to]); to++ {
		digit = digit || isDigit(s[to])
		if !digit && to-i == maxLook {
			return 0, 0
		}
	}
	if !digit || to-i < least || placeholder(s[i:to]) {
		return 0, 0
	}
	return i, to
}

// maxLook bounds how far anything is looked at that may be no secret, so that
// no text makes us look at the same bytes again and again.
const maxLook = 512

// maxName bounds how far back the name of a setting is looked for.
const maxName = 64

// setting finds the value of a setting whose name ends at the '=' or ':' that
// is s[i]. done is what the name must not reach into.
//
// NAME=value in capitals, as in a .env file or before a command, is taken at
// its word. For any other form (password: x, "apiKey": "x", token = x) the
// value has to look like a secret too, for code and prose are full of those.
func setting(s string, done, i int) (from, to int) {
	n := i
	for n > done && (s[n-1] == ' ' || s[n-1] == '"' || s[n-1] == '\'' || s[n-1] == '\\') && i-n < 4 {
		n--
	}
	name := nameBefore(s, done, n)
	if name == "" || !secretName(name) {
		return 0, 0
	}
	v := i + 1
	if s[i] == '=' && n == i && name == strings.ToUpper(name) && !strings.HasPrefix(s[v:], "=") {
		if from, to = value(s, v); from == to || placeholder(s[from:to]) {
			return 0, 0
		}
		return from, to
	}
	for v < len(s) && (s[v] == ' ' || s[v] == '=') && v-i < 4 {
		v++
	}
	if !sureName(name) {
		return 0, 0
	}
	return likely(s, v)
}

// likely is value for one that has to look like a secret.
func likely(s string, i int) (from, to int) {
	from, to = value(s[:min(len(s), i+maxLook)], i)
	if from >= to || placeholder(s[from:to]) || !looksSecret(s[from:to]) {
		return 0, 0
	}
	return value(s, i)
}

// flag finds the value of --some-token value, whose name begins at s[i].
func flag(s string, i int) (from, to int) {
	end := i
	for end < len(s) && end-i < maxName && (isWord(s[end]) || s[end] == '-') {
		end++
	}
	if end == len(s) || s[end] != ' ' || !sureName(s[i:end]) {
		return 0, 0
	}
	return likely(s, end+1)
}

// nameBefore returns the name that ends at s[end].
func nameBefore(s string, done, end int) string {
	start := end
	for start > done && end-start < maxName && (isWord(s[start-1]) || s[start-1] == '-' || s[start-1] == '.') {
		start--
	}
	// The n of an escaped line feed is no part of the name.
	if start > done && start < end && s[start-1] == '\\' && strings.IndexByte("ntr", s[start]) >= 0 {
		start++
	}
	return s[start:end]
}

// value returns where the value lies that begins at s[i]: up to the closing
// quote, or the next blank.
func value(s string, i int) (from, to int) {
	if i < len(s) && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\'') {
		i++ // a quote within quotes
	}
	if i < len(s) && (s[i] == '"' || s[i] == '\'') {
		quote := s[i]
		for to = i + 1; to < len(s) && s[to] != quote && s[to] != '\n'; to++ {
		}
		if to > i+1 && s[to-1] == '\\' {
			to--
		}
		return i + 1, to
	}
	for to = i; to < len(s) && s[to] > ' ' && strings.IndexByte("\"'`", s[to]) < 0; to++ {
		if s[to] == '\\' && to+1 < len(s) && strings.IndexByte("nrt\"'", s[to+1]) >= 0 {
			break
		}
	}
	// Between a command and the next, and at the end of a sentence.
	for to > i && strings.IndexByte(";,.)&|", s[to-1]) >= 0 {
		to--
	}
	return i, to
}

// placeholder says whether a value only stands for a secret.
func placeholder(v string) bool {
	switch {
	case strings.HasPrefix(v, Mark), strings.Trim(v, ".*xX") == "":
		return true
	}
	switch v[0] {
	case '$', '<', '%', '{', '(', '[':
		return true
	}
	switch strings.ToLower(v) {
	case "true", "false", "null", "none", "nil", "yes", "no", "on", "off", "0", "1", "undefined", "value", "required", "redacted":
		return true
	}
	return false
}

// looksSecret says whether a value is more than a word: it has eight
// characters, letters and digits, and is no name in a program.
func looksSecret(v string) bool {
	if len(v) < minValue || strings.ContainsAny(v, " (){}<>[]") || strings.HasPrefix(v, "/") {
		return false
	}
	letters, digits := false, false
	for _, c := range []byte(v) {
		letters = letters || isWord(c) && !isDigit(c)
		digits = digits || isDigit(c)
	}
	if !letters || !digits {
		return false
	}
	parts := strings.Split(v, ".")
	return len(parts) == 1 || slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || isDigit(p[0]) || run(p, 0, "w") < len(p)
	})
}

// secretName says whether the name of a variable or setting says that its
// value is a secret.
func secretName(name string) bool {
	parts := split(name)
	if len(parts) == 0 {
		return false
	}
	last := parts[len(parts)-1]
	switch last {
	// What is said of a secret is none.
	case "file", "path", "dir", "url", "uri", "endpoint", "host", "type", "name", "sock", "socket", "ttl", "expiry",
		"expires", "limit", "count", "length", "size", "budget", "max", "min", "helper", "policy", "store", "method",
		"format", "version", "enabled", "required", "env", "var":
		return false
	case "key", "keys":
		if len(parts) == 1 {
			return false // of a map, of a keyboard
		}
		switch parts[len(parts)-2] {
		case "primary", "foreign", "sort", "cache", "public", "partition", "hot", "host":
			return false
		}
		return true
	case "auth", "pat", "pwd":
		return len(parts) > 1 || name == "AUTH"
	case "authorization":
		return true
	}
	return parts[0] == "auth" || slices.ContainsFunc(parts, func(p string) bool {
		switch p {
		case "secrets", "credential", "credentials":
			return true
		}
		for _, end := range []string{"secret", "password", "passwd", "passphrase", "token", "apikey"} {
			if strings.HasSuffix(p, end) { // PGPASSWORD
				return true
			}
		}
		return false
	})
}

// sureName is secretName for names that stand in code and prose, where auth
// and key are common words.
func sureName(name string) bool {
	parts := split(name)
	if !secretName(name) {
		return false
	}
	last := parts[len(parts)-1]
	if last == "key" || last == "keys" {
		switch parts[len(parts)-2] {
		case "api", "access", "private", "secret", "signing", "encryption", "master", "account", "deploy", "auth", "service", "webhook":
			return true
		}
		return false
	}
	return last != "auth" && parts[0] != "auth" || slices.Contains(parts, "token")
}

// split takes a name apart into its words, in lower case: API_KEY, api-key and
// apiKey all give api and key.
func split(name string) []string {
	var parts []string
	start := 0
	flush := func(end int) {
		if end > start {
			parts = append(parts, strings.ToLower(name[start:end]))
		}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case !isWord(c) || c == '_':
			flush(i)
			start = i + 1
		case i > start && c >= 'A' && c <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z':
			flush(i)
			start = i
		}
	}
	flush(len(name))
	return parts
}

func equalFold(s, lower string) bool {
	return len(s) == len(lower) && strings.EqualFold(s, lower)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
