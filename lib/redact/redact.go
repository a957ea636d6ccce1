// Package redact takes secrets out of a text before it reaches a file, an
// event, a note or a start-up text.
//
// It knows the values of the variables around it whose names say secret, the
// tokens that services mark with a form of their own (shape.go), private keys,
// passwords in URLs and headers, and settings whose name says secret. It cannot
// know a secret that looks like any other word. It leaves alone what only looks
// random: hashes, UUIDs, paths.
//
// It looks at what a reader is shown: colours, characters of no width and the
// like hide nothing from it, so nobody has to clean a text before. Whoever cuts a
// text cuts it after, for half a secret is not known for one.
//
// Why it is no library, and what it catches of what one does: docs/security.md.
package redact

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"gt/lib/plain"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// minValue is the length from which on a variable's value is looked for
// everywhere; a shorter one stands in too many words.
const minValue = 8

// minPassword is minValue for a password, which has to have letters and digits
// then.
const minPassword = 6

// Text returns s with every secret replaced by Mark; the names, users and
// schemes around it stay. environ is "KEY=value" as os.Environ gives it. A text
// without secrets comes back as it is, whatever is in it, so that data stays
// what it was; of one with a secret comes what a reader is shown (see package
// plain). A text that went through before does not change. The time it takes is
// linear in s.
func Text(s string, environ []string) string { return Of(environ)(s) }

// Of is Text for many texts and one environment.
func Of(environ []string) func(string) string {
	vs := values(environ)
	return func(s string) string { return text(s, vs) }
}

// maxPasses bounds how often a text is looked through.
const maxPasses = 8

// text looks through what is shown of s until there is nothing more to find:
// where a secret was taken out of a long word, what is left of it can have become
// a known form.
func text(s string, values []string) string {
	shown, seams := s, []int(nil)
	if !plain.IsText(s) || strings.ContainsRune(s, utf8.RuneError) { // which stands for what was there
		shown, seams = plain.Shown(s, plain.Look{
			Begins: beginsShape,
			Holds:  func(s string) bool { return pass(s, values, nil) != s },
		})
	}
	clean := shown
	for range maxPasses {
		next := pass(clean, values, seams)
		if next == clean {
			break
		}
		clean, seams = next, nil
	}
	if clean == shown {
		return s
	}
	return clean
}

// pass looks through s once. seams are the places in it where something was left
// out, so that a word may begin or end there.
func pass(s string, values []string, seams []int) string {
	for _, v := range values {
		s, seams = replaceAll(s, v, seams)
	}
	var out strings.Builder
	written := 0
	replace := func(from, to int) {
		out.WriteString(s[written:from])
		out.WriteString(Mark)
		written = to
	}
	sc := scanner{s: s, end: -1, index: shapeIndex(), seams: seams}
	for i := 0; i < len(s); {
		if !sc.index.asks(s, i) {
			i++
			continue
		}
		if s[i] == Mark[0] && strings.HasPrefix(s[i:], Mark) {
			// As if it had been put there now: a second time changes nothing.
			i += len(Mark)
			sc.done = i
			continue
		}
		from, to := sc.at(i)
		if to <= i {
			i++
			continue
		}
		for i < from { // also a name can be a secret
			f, t := sc.shaped(i)
			if t <= i || t > from {
				i++
				continue
			}
			replace(f, t)
			i, sc.done = t, t
		}
		replace(from, to)
		i, sc.done = to, to
	}
	if written == 0 {
		return s
	}
	out.WriteString(s[written:])
	return out.String()
}

// replaceAll puts Mark for every v in s, and moves the seams along.
func replaceAll(s, v string, seams []int) (string, []int) {
	if len(seams) == 0 {
		return strings.ReplaceAll(s, v, Mark), nil
	}
	if !strings.Contains(s, v) {
		return s, seams
	}
	var b strings.Builder
	var moved []int
	for {
		i := strings.Index(s, v)
		n := i + len(v)
		if i < 0 {
			i, n = len(s), len(s)
		}
		for ; len(seams) > 0 && seams[0] < n; seams = seams[1:] {
			if seams[0] <= i {
				moved = append(moved, b.Len()+seams[0])
			}
		}
		b.WriteString(s[:i])
		for k := range seams {
			seams[k] -= n
		}
		s = s[n:]
		if n == i {
			for range seams { // at the end of the text
				moved = append(moved, b.Len())
			}
			return b.String(), slices.Compact(moved)
		}
		b.WriteString(Mark)
	}
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
		if !ok {
			continue
		}
		chosen := passwordName(name)
		if v = strings.TrimSpace(v); !secretName(name) {
			// A variable of any name may hold a URL with a password.
			i := strings.Index(v, "://")
			if i < 0 {
				continue
			}
			from, to := password(v, i+len("://"))
			v, chosen = v[from:to], true
		}
		if len(v) < minValue && !(chosen && looksSecret(v, minPassword)) ||
			slices.Contains(words, strings.ToLower(v)) || strings.Contains(Mark, v) {
			continue
		}
		quoted, _ := json.Marshal(v) // a string always marshals
		all = append(all, v, string(quoted[1:len(quoted)-1]), escape(v, "%20"), escape(v, "+"))
		if shown, _ := plain.Shown(v, plain.Look{}); len(shown) >= minPassword && !strings.Contains(Mark, shown) {
			all = append(all, shown)
		}
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
	s     string
	done  int // what is before this is replaced, or not part of anything
	end   int // the next end of a private key, -1 where that was not looked for
	index *index
	seams []int // where something was left out of the text
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
		if from, to = sc.setting(i); to == 0 && c == ':' {
			if from, to = sc.numbered(i); to == 0 {
				from, to = sc.pgpass(i)
			}
			if to == 0 {
				from, to = sc.dataSource(i)
			}
		}
		return from, to
	case ',':
		return sc.argument(i)
	case '>':
		return sc.element(i)
	case '-':
		switch {
		case strings.HasPrefix(s[i:], beginKey):
			return sc.privateKey(i)
		case strings.HasPrefix(s[i:], endKey):
			return sc.keyEnd(i)
		case strings.HasPrefix(s[i:], "-us"):
			return sc.mailchimp(i)
		case sc.begins(i):
			return sc.flag(i)
		}
		return 0, 0
	case 'A', 'a', 'B', 'b', 'C', 'c':
		if from, to = sc.header(i); to > 0 {
			return from, to
		}
	case 'S', 's':
		if from, to = sc.header(i); to > 0 {
			return from, to
		}
		if from, to = sc.form(i); to > 0 {
			return from, to
		}
	case 'E', 'I', 'i', 'P', 'p', '0':
		if from, to = sc.form(i); to > 0 {
			return from, to
		}
	case 'e':
		if from, to = sc.jwt(i); to > 0 {
			return from, to
		}
	case '|', '%', 'Q', '.', '_':
		if from, to = sc.marked(i); to > 0 {
			return from, to
		}
		if from, to = sc.form(i); to > 0 {
			return from, to
		}
	}
	return sc.shaped(i)
}

// begins reports whether no word runs on across s[i]. A dash goes on with a word,
// and begins none: a list, a flag and a line of a diff begin with it. The end of an
// escape is no letter, what was replaced no part of a word, and one may begin
// where something was left out.
func (sc *scanner) begins(i int) bool {
	s := sc.s
	return i == sc.done || !isWord(s[i-1]) && (s[i-1] != '-' || i == 1 || !isWord(s[i-2])) ||
		sc.seam(i) || escaped(s[max(sc.done, i-32):i])
}

// joined reports whether a word goes on at s[i] after a dash or an underscore,
// where a token may stand.
func (sc *scanner) joined(i int) bool {
	return i > sc.done && (sc.s[i-1] == '-' || sc.s[i-1] == '_')
}

// seam reports whether something was left out of the text before s[i].
func (sc *scanner) seam(i int) bool {
	_, found := slices.BinarySearch(sc.seams, i)
	return found
}

// escaped reports whether s ends with a character that is written as an escape:
// \n, \u003d, \x3d, \033, %3D, =3D, or with a colour: [32m.
func escaped(s string) bool {
	n := len(s)
	at := func(back int, c byte) bool { return n >= back && s[n-back] == c }
	hex := func(digits int) bool { return run(s, n-digits, "x") == n }
	if n < 2 {
		return false
	}
	switch last := s[n-1]; {
	case at(2, '\\'):
		return strings.IndexByte("abefnrtv0", last) >= 0
	case at(3, '%'), at(3, 'x') && at(4, '\\'), at(5, '%') && s[n-4:n-2] == "25", at(3, '=') && strings.ToUpper(s[n-2:]) == s[n-2:]:
		return hex(2)
	case at(5, 'u') && (at(6, '\\') || at(6, '%')):
		return hex(4)
	case at(9, 'U') && at(10, '\\'):
		return hex(8)
	case at(3, '\\'), at(4, '\\'):
		for _, c := range []byte(s[strings.LastIndexByte(s, '\\')+1:]) {
			if c < '0' || c > '7' {
				return false
			}
		}
		return true
	case last == 'm' || last == 'K':
		i := n - 1
		for i > 0 && n-i < 24 && (isDigit(s[i-1]) || s[i-1] == ';' || s[i-1] == ':') {
			i--
		}
		return i > 0 && s[i-1] == '['
	}
	return false
}

// in says whether c belongs to one of the classes: w a letter, a digit or '_';
// a a letter or a digit; 0 a digit; U a capital or a digit; x a hexadecimal
// digit; else
// the character itself.
func in(c byte, classes string) bool {
	for _, k := range []byte(classes) {
		switch {
		case k == 'w' && isWord(c),
			k == 'a' && isWord(c) && c != '_',
			k == '0' && isDigit(c),
			k == 'U' && (c >= 'A' && c <= 'Z' || isDigit(c)),
			k == 'x' && (isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'),
			k == c && !isWord(c):
			return true
		}
	}
	return false
}

// jwt finds a JSON Web Token: parts in base64 with dots between, of which the
// first two begin as the base64 of a JSON object does (eyJ is {"). One that was
// cut off after them is one too.
func (sc *scanner) jwt(i int) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], "ey") || !sc.begins(i) && !sc.joined(i) {
		return 0, 0
	}
	head := runOn(s, i, "w-")
	if !strings.HasPrefix(s[head:], ".ey") {
		return 0, 0
	}
	body := runOn(s, head+1, "w-")
	least := 20 // where white space follows the brace
	if strings.HasPrefix(s[i:], "eyJ") && strings.HasPrefix(s[head:], ".eyJ") {
		least = 10
	}
	if head-i < least || body-head < least {
		return 0, 0
	}
	if body == len(s) || s[body] != '.' {
		return i, body
	}
	return i, runOn(s, body+1, "w-")
}

// run returns where the characters of the classes end that begin at s[i].
func run(s string, i int, classes string) int {
	for i < len(s) && in(s[i], classes) {
		i++
	}
	return i
}

// runOn is run for a token that a terminal or an editor may have wrapped.
func runOn(s string, i int, classes string) int {
	end := run(s, i, classes)
	for range maxLines {
		next := wrapped(s, end, classes)
		if next == end {
			break
		}
		end = next
	}
	return end
}

// maxLines is over how many lines a token is wrapped at most.
const maxLines = 12

// wrapped returns where a token goes on to that the end of a line cuts at s[end];
// end where it does not. What follows has to look as random as a token does, or
// to be all that stands on its line.
func wrapped(s string, end int, classes string) int {
	p := end
	if p < len(s) && s[p] == '\\' { // a shell's way, or the end of a line written as an escape
		p++
		if p < len(s) && s[p] == 'r' && strings.HasPrefix(s[p+1:], `\n`) {
			p += 2
		}
	}
	switch {
	case p < len(s) && s[p] == '\n', p > end && p < len(s) && s[p] == 'n':
		p++
	default:
		return end
	}
	for n := p; p < len(s) && p-n < 12 && (s[p] == ' ' || s[p] == '\t'); p++ {
	}
	to := run(s[:min(len(s), p+maxLook)], p, classes)
	rest := s[p:to]
	if to == len(s) || s[to] < ' ' || strings.IndexByte("\"'`\\,;)", s[to]) >= 0 {
		if len(rest) > 1 && changes(rest) > 0 {
			return to
		}
	}
	if len(rest) >= 8 && (mixed(rest) || changes(rest) > 2) {
		return to
	}
	return end
}

// changes counts how often letters and digits follow each other within words.
func changes(v string) int {
	n := 0
	for i := 1; i < len(v); i++ {
		if isDigit(v[i]) != isDigit(v[i-1]) && isAlnum(v[i]) && isAlnum(v[i-1]) {
			n++
		}
	}
	return n
}

func isAlnum(c byte) bool { return isWord(c) && c != '_' }

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
		p = keyLine(s, p)
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

// keyLine passes over line ends, and what a program that shows a file puts
// before its lines: blanks, a number, a bar or arrow, the sign of a diff.
func keyLine(s string, p int) int {
	start := p
	for p < len(s) && (s[p] == '\n' || s[p] == '\r' || s[p] == ' ' || s[p] == '\t') {
		p++
	}
	if p == start {
		return p
	}
	q := run(s[:min(p+8, len(s))], p, "0")
	blank := q
	for blank < len(s) && (s[blank] == ' ' || s[blank] == '\t') && blank-q < 4 {
		blank++
	}
	for _, bar := range []string{"→", "│", "|", ":", "+", "-", ">"} {
		if strings.HasPrefix(s[blank:], bar) {
			for p = blank + len(bar); p < len(s) && s[p] == ' '; p++ {
			}
			return p
		}
	}
	if q > p && blank > q {
		return blank
	}
	return p
}

// keyEnd finds what is left of a private key whose beginning was cut off: the
// lines of base64 before the end that is s[i].
func (sc *scanner) keyEnd(i int) (from, to int) {
	s := sc.s
	name := s[i+len(endKey) : min(i+len(endKey)+64, len(s))]
	end := strings.Index(name, dashes)
	if end < 0 || !strings.Contains(name[:end], "PRIVATE KEY") {
		return 0, 0
	}
	from = i
	for p := i; p > sc.done && i-p < maxKey; {
		q := p
		for q > sc.done && strings.IndexByte("\r\n \t", s[q-1]) >= 0 {
			q--
		}
		start := q
		for start > sc.done && (isWord(s[start-1]) || strings.IndexByte(`+/=\`, s[start-1]) >= 0) {
			start--
		}
		if n := q - start; n >= 16 { // and with it a short line below
			from = start
		} else if n == 0 || p != i {
			break
		}
		p = start
	}
	return from, i + len(endKey) + end + len(dashes)
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

// header finds the value of an Authorization or Cookie header, or what follows
// Bearer.
func (sc *scanner) header(i int) (from, to int) {
	s := sc.s
	if i+2 >= len(s) {
		return 0, 0
	}
	switch s[i+1] | 0x20 {
	case 'u', 'e', 'o': // Authorization, Bearer, Set-Cookie, Cookie
	default:
		return 0, 0
	}
	if !sc.begins(i) && (s[i-1] != '-' || s[i]|0x20 != 'a') { // Proxy-Authorization
		return 0, 0
	}
	word := run(s[:min(len(s), i+16)], i, "w-")
	switch {
	case equalFold(s[i:word], "authorization"):
		p := word
		for p < len(s) && strings.IndexByte("\"'\\: =\t", s[p]) >= 0 && p-word < maxName {
			p++
		}
		if p == word {
			return 0, 0
		}
		scheme := run(s[:min(len(s), p+16)], p, "w-")
		switch strings.ToLower(s[p:scheme]) {
		case "bearer", "basic", "token", "apikey", "digest", "negotiate":
			return credential(s, scheme, 1)
		}
		if from, to = credential(s, p, 16); to > 0 {
			return from, to
		}
		if scheme < len(s) && (s[scheme] == ' ' || s[scheme] == '\t') { // a scheme of its own
			return credential(s, scheme, 10)
		}
		return 0, 0
	case equalFold(s[i:word], "bearer") && strings.HasPrefix(s[word:], " "):
		return credential(s, word, 16)
	case (equalFold(s[i:word], "cookie") || equalFold(s[i:word], "set-cookie")) && strings.HasPrefix(s[word:], ": "):
		return cookies(s, word+2)
	case equalFold(s[i:word], "cookie") || equalFold(s[i:word], "set-cookie"):
		return sc.cookie(i, word)
	}
	return 0, 0
}

// cookie finds the values in --cookie 'a=x', cookie = "a=x" and "Cookie": "a=x",
// whose name begins at s[i] and ends at s[end]: what is no header has to look like
// a secret.
func (sc *scanner) cookie(i, end int) (from, to int) {
	s := sc.s
	v := end
	for v < len(s) && strings.IndexByte(" \t:=\"'`\\(,", s[v]) >= 0 && v-end < 8 {
		v++
	}
	if v == end {
		return 0, 0
	}
	return likelyCookies(s, v)
}

// likelyCookies is cookies where the first value has to look like a secret.
func likelyCookies(s string, v int) (from, to int) {
	if from, to = cookies(s, v); to == 0 {
		return 0, 0
	}
	if strings.IndexByte("\"'`", s[v-1]) < 0 { // it ends with the word
		to = v + len(s[v:to]) - len(strings.TrimLeftFunc(s[v:to], func(r rune) bool { return r != ' ' }))
	}
	_, first, _ := strings.Cut(s[v:min(to, v+maxLook)], "=")
	first, _, _ = strings.Cut(first, ";")
	if !looksSecret(first, minValue) {
		return 0, 0
	}
	return from, to
}

// cookies finds the values of a Cookie header that begin at s[i]: all of the
// line, where that is of the form name=value.
func cookies(s string, i int) (from, to int) {
	name := run(s[:min(len(s), i+maxName)], i, "w-.")
	if name == i || name == len(s) || s[name] != '=' {
		return 0, 0
	}
	first, _, _ := strings.Cut(s[name+1:min(len(s), name+maxLook)], ";")
	if first == "" || placeholder(first) {
		return 0, 0
	}
	for to = name; to < len(s) && s[to] >= ' ' && strings.IndexByte("\"'`\\", s[to]) < 0; to++ {
	}
	if to-name < minValue {
		return 0, 0
	}
	return i, to
}

// credential finds the word that stands at s[i] after blanks. One that is not
// sure to be a credential has at least least characters, and a digit among the
// first.
func credential(s string, i, least int) (from, to int) {
	for n := i; i < len(s) && (s[i] == ' ' || s[i] == '\t') && i-n < maxName; i++ {
	}
	stop := func(c byte) bool { return c <= ' ' || strings.IndexByte("\"'`\\<>,;[", c) >= 0 }
	if i == len(s) || placeholder(s[i:min(len(s), i+maxLook)]) {
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
// is s[i].
//
// NAME=value in capitals, as in a .env file or before a command, is taken at
// its word. For any other form (password: x, "apiKey": "x", token = x) the
// value has to look like a secret too, for code and prose are full of those.
func (sc *scanner) setting(i int) (from, to int) {
	s := sc.s
	n := i
	if s[i] == '=' && n > sc.done && strings.IndexByte("?+.", s[n-1]) >= 0 { // NAME ?= value
		n--
	}
	n = sc.unquote(n)
	element := n > sc.done && s[n-1] == ']' && s[i] == '=' // x['NAME'] = 'value'
	if element {
		n = sc.unquote(n - 1)
	}
	for ; n > sc.done && s[n-1] == '*' && i-n < 8; n-- { // **API key**: x
	}
	name := sc.nameBefore(n)
	switch name {
	case "":
		return 0, 0
	case "string", "String", "str": // var token string = "x", token: string = "x", TOKEN: &'static str = "x"
		if s[i] == '=' {
			n = sc.unquote(sc.borrowed(n - len(name)))
			if n > sc.done && s[n-1] == ':' {
				n--
			}
			name = sc.nameBefore(n)
		}
	case "value", "Value": // name="TOKEN" value="x", {"name": "TOKEN", "value": "x"}
		name = sc.named(n - len(name))
		n = -1
	case "key", "Key", "KEY", "keys", "Keys": // API key: x
		if words := sc.spaced(n, name); words != "" {
			name = words
		}
	}
	if name == "" {
		return 0, 0
	}
	v := i + 1
	if from, to = sc.short(n, v, name); to > 0 {
		return from, to
	}
	query := sc.inQuery(n, name)
	if !secretName(name) && !query {
		return 0, 0
	}
	if s[i] == '=' && n == i && name == strings.ToUpper(name) && !strings.HasPrefix(s[v:], "=") {
		if from, to = value(s[:min(len(s), v+maxLook)], v); from >= to || placeholder(s[from:to]) {
			return 0, 0
		}
		return value(s, v)
	}
	if s[i] == '=' && strings.HasPrefix(s[v:], ">") { // name => value
		v++
	}
	for n := v; v < len(s) && strings.IndexByte(" =:\t*", s[v]) >= 0 && v-n < 8; v++ {
	}
	if !sureName(name) && !query {
		return 0, 0
	}
	if v < len(s) && s[v] == '\n' && s[i] == ':' {
		if v = sc.below(v); v == 0 {
			return 0, 0
		}
	}
	if sc.connects(n, name) {
		if from, to = value(s[:min(len(s), v+maxLook)], v); from < to && !placeholder(s[from:to]) {
			return from, to
		}
	}
	return likely(s, v, name)
}

// borrowed goes back from s[n] over what Rust puts before the type of a text.
func (sc *scanner) borrowed(n int) int {
	for range 3 {
		n = sc.unquote(n)
		switch name := sc.nameBefore(n); {
		case name == "static" || name == "mut":
			n -= len(name)
		case n > sc.done && sc.s[n-1] == '&':
			return n - 1
		}
	}
	return n
}

// spaced returns the name that two words make, of which the second ends at s[n]:
// api_key for "API key".
func (sc *scanner) spaced(n int, last string) string {
	start := n - len(last)
	if start <= sc.done+1 || sc.s[start-1] != ' ' {
		return ""
	}
	switch first := strings.ToLower(sc.nameBefore(start - 1)); first {
	case "api", "access", "secret", "private", "signing", "encryption", "master", "account", "auth", "service", "webhook", "subscription":
		return first + "_key"
	}
	return ""
}

// below returns where the value begins that stands on a line of its own below its
// name, whose line ends at s[v]; 0 where something else stands there.
func (sc *scanner) below(v int) int {
	s := sc.s
	from := v
	for from < len(s) && strings.IndexByte("\n \t", s[from]) >= 0 && from-v < 24 {
		from++
	}
	if strings.Count(s[v:from], "\n") > 2 {
		return 0
	}
	at := from
	if at < len(s) && s[at] == '`' {
		at++
	}
	start, end := value(s[:min(len(s), at+maxLook)], at)
	if start == end || strings.IndexByte("-#", s[start]) >= 0 || strings.IndexByte(":=,", s[end-1]) >= 0 {
		return 0
	}
	for end < len(s) && strings.IndexByte("\"'`", s[end]) >= 0 {
		end++
	}
	if end < len(s) && s[end] != '\n' {
		return 0
	}
	return from
}

// connects reports whether a setting whose name ends at s[n] is one of several by
// which a program connects: Server=h;Uid=u;Pwd=x.
func (sc *scanner) connects(n int, name string) bool {
	if !passwordName(name) {
		return false
	}
	start := n - len(name)
	before := strings.ToLower(sc.s[max(sc.done, start-maxLook/2):max(start, sc.done)])
	before = before[strings.LastIndexByte(before, '\n')+1:]
	if !strings.HasSuffix(strings.TrimRight(before, " "), ";") {
		return false
	}
	return strings.Contains(before, "server=") || strings.Contains(before, "uid=") || strings.Contains(before, "user id=") ||
		strings.Contains(before, "host=") || strings.Contains(before, "data source=") || strings.Contains(before, "database=")
}

// short finds the value of a setting whose name, which ends at s[n], is a word
// like any other, and says secret where the value does, which begins at s[v].
func (sc *scanner) short(n, v int, name string) (from, to int) {
	s := sc.s
	lower := strings.ToLower(name)
	switch {
	case lower == "pwd" || lower == "pw" || lower == "pass":
		if name == strings.ToUpper(name) {
			return 0, 0 // a folder, a test that passed
		}
	case lower == "auth" || name == "_auth", sessionCookie(name):
	default:
		return 0, 0
	}
	v = blanks(s, v)
	if sc.connects(n, name) {
		if from, to = value(s[:min(len(s), v+maxLook)], v); from < to && !placeholder(s[from:to]) {
			return from, to
		}
	}
	from, to = value(s[:min(len(s), v+maxLook)], v)
	if from >= to || placeholder(s[from:to]) {
		return 0, 0
	}
	switch word := s[from:to]; {
	case lower == "auth" || name == "_auth":
		if len(word) < minValue || !dockerAuth(word) {
			return 0, 0
		}
	case sessionCookie(name):
		if word, _, _ = strings.Cut(word, ";"); !looksSession(word) {
			return 0, 0
		}
		return from, from + len(word)
	case !looksSecret(word, minPassword) || strings.ContainsAny(word, "/:") ||
		strings.HasPrefix(strings.ToLower(word), "test") || strings.HasPrefix(strings.ToLower(word), "case"):
		return 0, 0
	}
	return value(s, v)
}

// unquote goes back from s[n] over blanks and quotes.
func (sc *scanner) unquote(n int) int {
	for end := n; n > sc.done && strings.IndexByte(" \"'\\", sc.s[n-1]) >= 0 && end-n < 4; n-- {
	}
	return n
}

// inQuery reports whether a name that ends at s[n] is one of those by which a URL
// is signed, or gives whoever has it a right.
func (sc *scanner) inQuery(n int, name string) bool {
	start := n - len(name)
	if start <= sc.done || sc.s[start-1] != '?' && sc.s[start-1] != '&' && !strings.HasSuffix(sc.s[:start], "&amp;") {
		return false
	}
	switch strings.ToLower(name) {
	case "sig", "signature", "x-amz-signature", "x-goog-signature":
		return true
	case "auth", "key", "code", "sid", "pass", "pwd":
		from, to := value(sc.s[:min(len(sc.s), n+1+maxLook)], min(n+1, len(sc.s)))
		v := sc.s[from:max(from, to)]
		v, _, _ = strings.Cut(v, "&")
		return looksSession(v)
	}
	return false
}

// named returns the name in name="TOKEN" value="x", of which the word value
// begins at s[n].
func (sc *scanner) named(n int) string {
	s := sc.s
	back := func(chars string) {
		for end := n; n > sc.done && strings.IndexByte(chars, s[n-1]) >= 0 && end-n < 24; n-- {
		}
	}
	back(" \t\n\r,\"'\\")
	name := sc.nameBefore(n)
	n -= len(name)
	back(" \"'=:\\")
	switch strings.ToLower(sc.nameBefore(n)) {
	case "name", "key":
		return name
	}
	return ""
}

// argument finds the value in ("TOKEN", "x"), of which s[i] is the comma.
func (sc *scanner) argument(i int) (from, to int) {
	s := sc.s
	n := sc.unquote(i)
	if n == i {
		return 0, 0
	}
	name := sc.nameBefore(n)
	if name == "" || n-len(name) <= sc.done || strings.IndexByte("\"'", s[n-len(name)-1]) < 0 || !sureName(name) {
		return 0, 0
	}
	v := i + 1
	for v < len(s) && (s[v] == ' ' || s[v] == '\\') && v-i < 4 {
		v++
	}
	if v == len(s) || s[v] != '"' && s[v] != '\'' {
		return 0, 0
	}
	return likely(s, v, name)
}

// element finds the text of <token>x</token>, whose first tag ends with s[i].
func (sc *scanner) element(i int) (from, to int) {
	s := sc.s
	name := sc.nameBefore(i)
	if name == "" || i-len(name) <= sc.done || s[i-len(name)-1] != '<' || !sureName(name) {
		return 0, 0
	}
	from = i + 1
	for from < len(s) && strings.IndexByte(" \t\r\n", s[from]) >= 0 && from-i < maxName {
		from++
	}
	for to = from; to < len(s) && s[to] > ' ' && s[to] != '<' && to-from < maxLook; to++ {
	}
	if to == len(s) || s[to] > ' ' && s[to] != '<' || placeholder(s[from:to]) || !looksSecret(s[from:to], least(name)) {
		return 0, 0
	}
	return from, to
}

// likely is value for one that has to look like a secret.
func likely(s string, i int, name string) (from, to int) {
	if i < len(s) && s[i] == '`' { // a string in Go and JavaScript
		i++
	}
	from, to = value(s[:min(len(s), i+maxLook)], i)
	if from >= to || placeholder(s[from:to]) || !looksSecret(s[from:to], least(name)) && !symbols(s[from:to]) {
		return 0, 0
	}
	return value(s, i)
}

// flag finds the value of --some-token value, whose name begins at s[i], and
// the password that curl is given with -u.
func (sc *scanner) flag(i int) (from, to int) {
	s := sc.s
	end := i
	for end < len(s) && end-i < maxName && (isWord(s[end]) || s[end] == '-') {
		end++
	}
	if end == len(s) || strings.IndexByte(" =\t", s[end]) < 0 {
		return 0, 0
	}
	switch name := s[i:end]; {
	case name == "-u" || name == "--user":
		return sc.user(i, end+1)
	case name == "-b" || name == "--cookie":
		if sc.command(i, "curl") {
			return sc.cookie(i, end)
		}
		fallthrough
	case name == "--body":
		if !sc.command(i, "secret set") {
			return 0, 0
		}
		if from, to = value(s[:min(len(s), end+1+maxLook)], end+1); from >= to || placeholder(s[from:to]) {
			return 0, 0
		}
		return value(s, end+1)
	case s[end] == ' ' && strings.HasPrefix(name, "--") && sureName(name):
		return likely(s, end+1, name)
	}
	return 0, 0
}

// command reports whether a flag at s[i] belongs to a command that holds the words.
func (sc *scanner) command(i int, words string) bool {
	before := sc.s[max(sc.done, i-maxLook):i]
	at := strings.LastIndex(before, words)
	if at < 0 {
		return false
	}
	before = strings.ReplaceAll(before[at:], "\\\n", "") // a command of several lines
	return !strings.Contains(before, "\n")
}

// user finds the password in user:password, which begins at s[v] and belongs
// to a flag at s[i], where curl stands before it in the command.
func (sc *scanner) user(i, v int) (from, to int) {
	s := sc.s
	if !sc.command(i, "curl") {
		return 0, 0
	}
	for v < len(s) && (s[v] == ' ' || s[v] == '\t') && v-i < maxName {
		v++
	}
	from, to = value(s[:min(len(s), v+maxLook)], v)
	if from >= to {
		return 0, 0
	}
	colon := strings.IndexByte(s[from:to], ':')
	if colon < 0 || from+colon+1 == to || placeholder(s[from+colon+1:to]) {
		return 0, 0
	}
	return from + colon + 1, to
}

// nameBefore returns the name that ends at s[end].
func (sc *scanner) nameBefore(end int) string {
	s, done := sc.s, sc.done
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
		if s[to] == ';' && nextSetting(s, to+1) {
			break
		}
	}
	// Between a command and the next, and at the end of a sentence.
	for to > i && strings.IndexByte(";,.)&|", s[to-1]) >= 0 {
		to--
	}
	return i, to
}

// nextSetting says whether another setting begins at s[i], as in the strings by
// which databases are connected to: Password=x;Timeout=3.
func nextSetting(s string, i int) bool {
	end := run(s[:min(len(s), i+24)], i, "w")
	return end > i && end < len(s) && s[end] == '='
}

// placeholder says whether a value only stands for a secret.
func placeholder(v string) bool {
	switch {
	case strings.HasPrefix(v, Mark), strings.Trim(v, ".*xX") == "":
		return true
	}
	switch v[0] {
	case '$', '%':
		return !symbols(v) && !mixed(v[1:])
	case '<', '{', '(', '[':
		return !symbols(v)
	}
	switch strings.ToLower(v) {
	case "true", "false", "null", "none", "nil", "yes", "no", "on", "off", "0", "1", "undefined", "value", "required", "redacted":
		return true
	}
	return false
}

// least is how many characters the value of a setting of that name has, unless
// it is a word like any other.
func least(name string) int {
	if passwordName(name) {
		return minPassword
	}
	return minValue
}

// looksSecret says whether a value is more than a word: it has that many
// characters, is mixed or has both letters and digits, and is no name in a
// program.
func looksSecret(v string, least int) bool {
	if len(v) < least || strings.ContainsAny(v, " (){}<>[]") {
		return false
	}
	if v[0] == '/' { // a path, but for one in 64 of AWS's secret keys
		return len(v) == 40 && mixed(v) && strings.Count(v, "/") < 5 && run(strings.NewReplacer("/", "a", "+", "a").Replace(v), 0, "w") == len(v)
	}
	if mixed(v) {
		return true
	}
	if isName(v) {
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

// isName says whether v is a name in a program that has a number in it:
// testRSA2048PrivateKey.
func isName(v string) bool {
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

// mixed says whether capitals, small letters and digits change as often as no
// name in a program has it: in a random word they do so at every second
// character, in theNamesOfAProgram at every third at most.
func mixed(v string) bool {
	const least, enough = 12, 128
	if len(v) < least {
		return false
	}
	v = v[:min(len(v), enough)]
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
	changes, upper, lower := 0, false, false
	for i := range len(v) {
		upper, lower = upper || kind(v[i]) == 2, lower || kind(v[i]) == 1
		if i > 0 && kind(v[i]) != kind(v[i-1]) && kind(v[i]) > 0 && kind(v[i-1]) > 0 {
			changes++
		}
	}
	return upper && lower && changes*5 >= (len(v)-1)*2
}

// secretName says whether the name of a variable or setting says that its
// value is a secret.
func secretName(name string) bool {
	parts := which(split(name))
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
	case "auth", "pat", "pwd", "pass", "cookie":
		return len(parts) > 1 || name == "AUTH"
	case "authorization", "jwt", "creds", "mnemonic":
		return true
	case "data": // client-key-data
		return len(parts) > 2 && parts[len(parts)-2] == "key" && parts[len(parts)-3] == "client"
	}
	return parts[0] == "auth" || slices.ContainsFunc(parts, func(p string) bool {
		switch p {
		case "secrets", "credential", "credentials":
			return true
		}
		for _, end := range []string{
			"secret", "password", "passwd", "passphrase", "token", "apikey", "secretkey", "privatekey", "accesskey", "authkey",
			"masterkey", "privkey", "signingkey", "encryptionkey",
		} {
			if strings.HasSuffix(p, end) { // PGPASSWORD
				return true
			}
		}
		return false
	})
}

// which takes from the words of a name those at its end that say which of several it
// is: API_KEY_PROD, DB_PASS_OLD, JWT_SIGNING_KEY_V2, PASSWORD1.
func which(parts []string) []string {
	for len(parts) > 0 {
		last := parts[len(parts)-1]
		switch last {
		case "prod", "production", "staging", "stage", "dev", "live", "old", "new", "prev", "previous", "next", "current", "backup",
			"base64", "b64", "hex":
		default:
			bare := strings.TrimRight(last, "0123456789")
			if bare == last {
				return parts
			}
			if bare != "" && bare != "v" {
				return append(parts[:len(parts)-1:len(parts)-1], bare)
			}
		}
		if len(parts) == 1 {
			return parts
		}
		parts = parts[:len(parts)-1]
	}
	return parts
}

// passwordName says whether a name is a password's, which people choose and
// keep short.
func passwordName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"password", "passwd", "pass", "pwd", "passphrase"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// sureName is secretName for names that stand in code and prose, where auth
// and key are common words.
func sureName(name string) bool {
	parts := which(split(name))
	if !secretName(name) {
		return false
	}
	last := parts[len(parts)-1]
	if last == "key" || last == "keys" {
		switch parts[len(parts)-2] {
		case "api", "access", "private", "secret", "signing", "encryption", "master", "account", "deploy", "auth", "service", "webhook",
			"subscription", "functions":
			return true
		}
		return false
	}
	switch last {
	case "auth", "cookie", "jwt", "creds":
		return false
	case "data":
		return true
	}
	return parts[0] != "auth" || len(parts) > 1 && secretName(strings.Join(parts[1:], "_"))
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
