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

	"gt/lib/text/plain"
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
	return func(s string) string {
		if len(s) < minPassword {
			return s // no room for one, and the tables need not be made
		}
		return text(s, vs)
	}
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
	found := together(formed(s, seams), encoded(s, values))
	if len(found) == 0 {
		return s
	}
	var out strings.Builder
	written := 0
	for _, sp := range found {
		out.WriteString(s[written:sp.from])
		out.WriteString(Mark)
		written = sp.to
	}
	out.WriteString(s[written:])
	return out.String()
}

// span is where a secret lies in a text.
type span struct{ from, to int }

// find returns where values lie in s, and where there are none what is secret by
// its form.
func find(s string, values []string, seams []int) []span {
	var found []span
	for _, v := range values {
		for i := 0; ; {
			n := strings.Index(s[i:], v)
			if n < 0 {
				break
			}
			found = append(found, span{i + n, i + n + len(v)})
			i += n + len(v)
		}
	}
	if found == nil {
		return formed(s, seams)
	}
	return together(found, nil)
}

// together returns what lies in any of the spans: half of a secret can be found where
// it stands, and all of it in what the text says.
func together(some, more []span) []span {
	if len(more) == 0 && len(some) < 2 {
		return some
	}
	all := append(some, more...)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	kept := all[:1]
	for _, sp := range all[1:] {
		if last := &kept[len(kept)-1]; sp.from < last.to {
			last.to = max(last.to, sp.to)
		} else {
			kept = append(kept, sp)
		}
	}
	return kept
}

// formed returns where secrets lie in s that are known by their form.
func formed(s string, seams []int) []span {
	var found []span
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
			found = append(found, span{f, t})
			i, sc.done = t, t
		}
		found = append(found, span{from, to})
		i, sc.done = to, to
	}
	return found
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
		for _, v := range secretsOf(name, strings.TrimSpace(v)) {
			all = append(all, written(v)...)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	return slices.Compact(all)
}

// secretsOf returns what is secret of the value of a variable: all of it where the
// name says so, and of an address what opens it.
func secretsOf(name, v string) []string {
	if secretName(name) {
		if slices.Contains(words, strings.ToLower(v)) {
			return nil
		}
		if len(v) < minValue && !(passwordName(name) && looksSecret(v, minPassword)) || isPath(v) {
			return nil
		}
		return append(opens(name, v), v)
	}
	return opens(name, v)
}

// opens returns the parts of a value that open what it is the address of: a password
// in a URL or a DSN, the path of a webhook, which is all that it takes to call it.
func opens(name, v string) []string {
	var parts []string
	i := strings.Index(v, "://")
	if i >= 0 { // a variable of any name
		if from, to := password(v, i+len("://")); to > 0 {
			parts = append(parts, v[from:to])
		}
		if _, path, ok := strings.Cut(v[i+len("://"):], "/"); ok && webhook(name) && len(path) >= 2*minValue {
			parts = append(parts, path)
		}
	} else if address(name) {
		for _, sp := range formed(v, nil) {
			parts = append(parts, v[sp.from:sp.to])
		}
	}
	return slices.DeleteFunc(parts, func(v string) bool {
		return len(v) < minValue && !looksSecret(v, minPassword) || slices.Contains(words, strings.ToLower(v))
	})
}

// written returns the ways in which a value is looked for: as it is, and as JSON,
// URLs and a terminal's text have it.
func written(v string) []string {
	if strings.Contains(Mark, v) {
		return nil
	}
	quoted, _ := json.Marshal(v) // a string always marshals
	all := []string{v, string(quoted[1 : len(quoted)-1]), escape(v, "%20"), escape(v, "+")}
	if shown, _ := plain.Shown(v, plain.Look{}); len(shown) >= minPassword && !strings.Contains(Mark, shown) {
		all = append(all, shown)
	}
	if strings.ContainsAny(v, "<>&") { // which encoders may leave as they are
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
		all = append(all, plain.Replace(string(quoted[1:len(quoted)-1])))
	}
	return all
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
	case '(', '{':
		if from, to = sc.called(i); to > 0 {
			return from, to
		}
	case '"', '\'', '?':
		return sc.alternative(i)
	case 'K', 'k':
		if from, to = sc.spacedValue(i); to > 0 {
			return from, to
		}
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
		if c|0x20 != 'b' {
			if from, to = sc.spacedValue(i); to > 0 {
				return from, to
			}
		}
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
	case 'E', 'I', 'i', 'P', 'p', '0', '#':
		if c|0x20 == 'p' {
			if from, to = sc.spacedValue(i); to > 0 {
				return from, to
			}
			if from, to = sc.said(i); to > 0 {
				return from, to
			}
		}
		if from, to = sc.form(i); to > 0 {
			return from, to
		}
	case 'e':
		if from, to = sc.jwt(i); to > 0 {
			return from, to
		}
	case '|', '%', 'Q', '.', '_':
		if c == '|' {
			if from, to = sc.alternative(i); to > 0 {
				return from, to
			}
		}
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

// in reports whether c belongs to one of the classes: w a letter, a digit or '_';
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

// maxLook bounds how far anything is looked at that may be no secret, so that
// no text makes us look at the same bytes again and again.
const maxLook = 512

// maxName bounds how far back the name of a setting is looked for.
const maxName = 64

func equalFold(s, lower string) bool {
	return len(s) == len(lower) && strings.EqualFold(s, lower)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
