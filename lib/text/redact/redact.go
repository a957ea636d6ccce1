// Package redact removes secrets from a text before it reaches a file, an event, a note
// or a start-up text.
//
// It recognizes the values of environment variables whose names suggest a secret, the
// tokens of services by their form (shape.go), private keys, passwords in URLs and
// headers, and settings whose names suggest a secret. It cannot recognize a secret that
// looks like any other word. It does not touch text that only looks random: hashes,
// UUIDs, paths.
//
// It examines the text as a reader sees it, so colours and characters of zero width hide
// nothing from it, and the caller need not clean the text first. A caller that truncates a
// text must do that afterwards, because half a secret is not recognized.
//
// docs/security.md says why gt does not use a library, and compares the two.
package redact

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"gt/lib/text/plain"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// minValue is the minimum length of a variable's value that is searched for; a shorter
// one is part of too many words.
const minValue = 8

// minPassword is minValue for a password that has both letters and digits.
const minPassword = 6

// Text returns s with every secret replaced by Mark. Names, users and schemes around a
// secret stay. environ has the form of os.Environ. A text without secrets is returned
// unchanged, whatever bytes it has; a text with a secret is returned as a reader sees it
// (see package plain). Redacting a text twice is the same as redacting it once. The time
// is linear in the length of s.
func Text(s string, environ []string) string { return NewRedactor(environ)(s) }

// NewRedactor returns Text for one environment, to be applied to many texts.
func NewRedactor(environ []string) func(string) string { return redactor(secretValues(environ)) }

func redactor(vs []string) func(string) string {
	return func(s string) string {
		if len(s) < minPassword { // mutant always: TestForms$
			return s // too short for a secret; do not build the tables
		}
		return redactText(s, vs)
	}
}

// NewCutRedactor returns NewRedactor for texts whose end was cut off before redaction. It also removes the
// beginning of an environment's value at the end of a text.
func NewCutRedactor(environ []string) func(string) string {
	vs := secretValues(environ)
	clean := redactor(vs)
	return func(s string) string {
		s = clean(s)
		torn := 0
		for _, v := range vs {
			for n := minPassword; n < len(v); n++ {
				if strings.HasSuffix(s, v[:n]) {
					torn = max(torn, n)
				}
			}
		}
		if torn > 0 { // mutant never: TestCut
			s = s[:len(s)-torn] + Mark
		}
		return s
	}
}

// maxPasses bounds how often a text is searched.
const maxPasses = 8

// redactText searches the visible form of s repeatedly until it finds nothing more: after a
// secret was removed from a long word, the rest can have a known form.
func redactText(s string, values []string) string {
	shown, seams := s, []int(nil)
	// mutant never: TestFormsTimesWrappings
	if !plain.IsText(s) || strings.ContainsRune(s, utf8.RuneError) { // U+FFFD stands for an invalid byte
		// No escape sequence may swallow the beginning of a token, or a secret that it carries.
		shown, seams = plain.Visible(s, plain.Keep{
			Begins: beginsShape,
			Holds:  func(s string) bool { return redactOnce(s, values, nil) != s },
		})
	}
	clean := shown
	for range maxPasses {
		next := redactOnce(clean, values, seams)
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

// redactOnce searches s once. seams are the offsets in s where something invisible was removed,
// so that a word may begin or end there.
func redactOnce(s string, values []string, seams []int) string {
	for _, v := range values {
		s, seams = replaceAll(s, v, seams)
	}
	found := mergeSpans(findByForm(s, seams), findEncoded(s, values))
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

// span is the position of a secret in a text.
type span struct{ from, to int }

// findSecrets returns the spans of values in s. If there are none, it returns the secrets that
// are recognized by their form.
func findSecrets(s string, values []string, seams []int) []span {
	var found []span
	for _, v := range values {
		end := 0
		for n := strings.Index(s, v); n >= 0; n = strings.Index(s[end:], v) {
			found = append(found, span{end + n, end + n + len(v)})
			end += n + len(v)
		}
	}
	if found == nil {
		return findByForm(s, seams)
	}
	return mergeSpans(found, nil)
}

// mergeSpans returns the union of the spans: a part of a secret can be found in the text
// itself, and all of it in the decoded text.
func mergeSpans(some, more []span) []span {
	if len(more) == 0 && len(some) < 2 {
		return some
	}
	all := append(some, more...)
	sort.Slice(all, func(i, j int) bool { return all[i].from < all[j].from })
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

// findByForm returns the secrets in s that are recognized by their form. At each character that can
// indicate one it asks findAt, whose secret may also lie before that character.
func findByForm(s string, seams []int) []span {
	var found []span
	sc := scanner{s: s, keyEnd: -1, index: shapeIndex(), seams: seams}
	for i := sc.index.nextStop(s, 0); i < len(s); i = sc.index.nextStop(s, i) {
		if s[i] == Mark[0] && strings.HasPrefix(s[i:], Mark) {
			// Treat it as if it was put there now, so that a second pass changes nothing.
			i += len(Mark)
			sc.done = i
			continue
		}
		from, to := sc.findAt(i)
		if sc.done <= from && from < to && to <= i { // before what indicates it
			found = append(found, span{from, to})
			sc.done = to
		}
		if to <= i {
			i++
			continue
		}
		for i < from { // a name can be a secret, too
			f, t := sc.findShaped(i)
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
	return mergeSpans(found, sc.cells)
}

// replaceAll replaces every v in s with Mark, and adjusts the seams.
func replaceAll(s, v string, seams []int) (string, []int) {
	if !strings.Contains(s, v) {
		return s, seams
	}
	var moved []int
	from, to := 0, 0 // where a part begins, before and after
	for part := range strings.SplitSeq(s, v) {
		for ; len(seams) > 0 && seams[0] <= from+len(part); seams = seams[1:] {
			if seams[0] >= from { // else it was within the value
				moved = append(moved, to+seams[0]-from)
			}
		}
		from, to = from+len(part)+len(v), to+len(part)+len(Mark)
	}
	return strings.ReplaceAll(s, v, Mark), slices.Compact(moved)
}

// commonWords are values that are not secret although the variable's name suggests it.
var commonWords = []string{
	"password", "postgres", "changeme", "mongodb", "rabbitmq", "disabled", "required", "optional", "undefined", "localhost",
}

// secretValues returns the strings to search for: the values of secret variables as they are,
// and in the form that they have in JSON and URLs, the longest first.
func secretValues(environ []string) []string {
	var all []string
	for _, kv := range environ {
		name, v, ok := strings.Cut(kv, "=")
		if !ok {
			continue
		}
		for _, v := range secretsOf(name, strings.TrimSpace(v)) {
			all = append(all, writtenForms(v)...)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return len(a) > len(b) || len(a) == len(b) && a < b
	})
	return slices.Compact(all)
}

// secretsOf returns the secret parts of a variable's value: all of it if the name suggests
// a secret, and the credentials in an address.
func secretsOf(name, v string) []string {
	if isSecretName(name) && !onlyDescribes(name, v) {
		if slices.Contains(commonWords, strings.ToLower(v)) {
			return nil
		}
		// A short value is part of too many words, unless it is a password and looks like one.
		if len(v) < minValue && !(isPasswordName(name) && looksSecret(v, minPassword)) || isPath(v) {
			return nil
		}
		return append(credentialsOf(name, v), v)
	}
	return credentialsOf(name, v)
}

// credentialsOf returns the credentials in an address: the password in a URL or DSN, or the path
// of a webhook, which is all that is needed to call it.
func credentialsOf(name, v string) []string {
	var parts []string
	i := strings.Index(v, "://")
	if i >= 0 { // a variable of any name
		if from, to := urlPassword(v, i+len("://")); to > 0 {
			parts = append(parts, v[from:to])
		}
		if _, path, ok := strings.Cut(v[i+len("://"):], "/"); ok && isWebhookName(name) && len(path) >= 2*minValue {
			parts = append(parts, path)
		}
	} else if isAddressName(name) {
		for _, sp := range findByForm(v, nil) {
			parts = append(parts, v[sp.from:sp.to])
		}
	}
	return slices.DeleteFunc(parts, func(v string) bool {
		return len(v) < minValue && !looksSecret(v, minPassword) || slices.Contains(commonWords, strings.ToLower(v))
	})
}

// writtenForms returns the forms of a value to search for: as it is, in JSON, in URLs and as
// text on a terminal.
func writtenForms(v string) []string {
	if strings.Contains(Mark, v) { // it would be found in each Mark again
		return nil
	}
	quoted, _ := json.Marshal(v) // a string always marshals
	all := []string{v, string(quoted[1 : len(quoted)-1]), escape(v, "%20"), escape(v, "+")}
	if shown, _ := plain.Visible(v, plain.Keep{}); len(shown) >= minPassword && !strings.Contains(Mark, shown) {
		all = append(all, shown)
	}
	if strings.ContainsAny(v, "<>&") { // some encoders do not escape these
		plain := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
		all = append(all, plain.Replace(string(quoted[1:len(quoted)-1])))
	}
	return all
}

// escape returns v as it is written in a URL, with blank for a space.
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

// scanner finds secrets by their form. In its methods s[i] is the character at which the scan has
// stopped, and from and to are the span of the secret; both are 0 if there is none.
type scanner struct {
	s            string
	done         int // everything before this offset has been handled
	keyEnd       int // the next end of a private key, -1 if it was not searched for yet
	index        *index
	seams        []int  // offsets where something invisible was removed
	cells        []span // secrets in tables
	tableEnd     int    // the end of the table that was handled last
	htmlTableEnd int    // the end of the table of HTML that was handled last

	secretDataEnd int // the end of what was handled last of the data of a Secret
}

// findAt returns the span of the secret that s[i] indicates; to is 0 if there is none. The
// number of bytes that it examines is bounded, or it examines them only once.
func (sc *scanner) findAt(i int) (from, to int) {
	// A command with a secret argument is found by one of its characters (see positions).
	if sc.index.commands[sc.s[i]&(1<<7-1)] != nil {
		if from, to = sc.findByPosition(i); to > 0 {
			return from, to
		}
	}
	if finders := sc.index.finders[sc.s[i]]; finders != nil {
		return sc.firstFound(i, finders...)
	}
	return sc.findShaped(i)
}

// finder is a function that returns the span of the secret that s[i] indicates; 0, 0 if none is.
type finder = func(sc *scanner, i int) (from, to int)

// findersAt are, for some characters, what finds a secret that such a character indicates, in the
// order in which they are tried. At any other character findShaped does.
var findersAt = [...]struct {
	chars   string
	finders []finder
}{
	{wide[:1], []finder{(*scanner).findForeignWallet, (*scanner).findWideSetting}},
	{"=", []finder{(*scanner).findFormData, (*scanner).findPipelineValue, (*scanner).findSetting}},
	{"/", []finder{(*scanner).findSlashFlagValue, (*scanner).findShaped}},
	{":", []finder{(*scanner).findAtColon}},
	{",", []finder{(*scanner).findNamedArgument}},
	{"\t", []finder{(*scanner).findInCookieFile}},
	{">", []finder{(*scanner).findRedisPassword, (*scanner).findElementValue}},
	{"\"'", []finder{(*scanner).findDefault, (*scanner).findEchoed}},
	{"?", []finder{(*scanner).findDefault}},
	{"-", []finder{(*scanner).findAtDash}},
	{"({", []finder{(*scanner).findCallValue, (*scanner).findEchoed, (*scanner).findShaped}},
	{"Kk", []finder{(*scanner).findSpacedValue, (*scanner).findShaped}},
	{"Tt", []finder{(*scanner).findSecureString, (*scanner).findShaped}},
	{"+Ff%Q._", []finder{(*scanner).findMarkedToken, (*scanner).findByWord, (*scanner).findShaped}},
	{"A", []finder{(*scanner).findMarkedToken, (*scanner).findSpacedValue, (*scanner).findHeaderValue, (*scanner).findShaped}},
	{"aCc", []finder{(*scanner).findSpacedValue, (*scanner).findHeaderValue, (*scanner).findShaped}},
	{"BbSs", []finder{(*scanner).findHeaderValue, (*scanner).findByWord, (*scanner).findShaped}},
	{"Pp", []finder{(*scanner).findSpacedValue, (*scanner).findLabeled, (*scanner).findByWord, (*scanner).findShaped}},
	{"EIi0#MmRr", []finder{(*scanner).findByWord, (*scanner).findShaped}},
	{"e", []finder{(*scanner).findJWT, (*scanner).findShaped}},
	{"<", []finder{(*scanner).findHereText}},
	{"|", []finder{(*scanner).findPiped, (*scanner).findDefault, (*scanner).findMarkedToken, (*scanner).findByWord, (*scanner).findShaped}},
}

// findAtColon finds what a colon at s[i] indicates: a URL, a setting, a token with a colon in it.
func (sc *scanner) findAtColon(i int) (from, to int) {
	switch s := sc.s; {
	case strings.HasPrefix(s[i:], "://"):
		return urlPassword(s, i+len("://"))
	case strings.HasPrefix(s[i:], ":pserver:"):
		return urlPassword(s, i+len(":pserver:"))
	}
	return sc.firstFound(i, (*scanner).findForeignWallet, (*scanner).findMasked, (*scanner).findJWKMember, (*scanner).findSetting,
		(*scanner).findColonToken, (*scanner).findPgpass, (*scanner).findInDataSource, (*scanner).findLogin)
}

// firstFound returns what the first of the finders finds that finds something at s[i].
func (sc *scanner) firstFound(i int, finders ...finder) (from, to int) {
	for _, find := range finders {
		if from, to = find(sc, i); to > 0 {
			return from, to
		}
	}
	return 0, 0
}

// findAtDash finds what a dash at s[i] indicates: a key, the end of a token, a flag.
func (sc *scanner) findAtDash(i int) (from, to int) {
	s := sc.s
	switch {
	case strings.HasPrefix(s[i:], beginKey):
		return sc.findPrivateKey(i)
	case strings.HasPrefix(s[i:], endKey):
		return sc.findKeyEnd(i)
	case strings.HasPrefix(s[i:], "-us"), strings.HasPrefix(s[i:], "-NR"):
		return sc.findMarkedToken(i)
	case i+9 < len(s) && s[i+9] == '-' && inClass(s[i+1], "x"):
		return sc.firstFound(i, (*scanner).findMailgunKey, (*scanner).findFlagValue)
	}
	return sc.findFlagValue(i)
}

// beginsWord reports whether a word can begin at s[i]. A dash inside a word continues it, but
// a dash at the beginning is not part of it: lists, flags and lines of a diff begin with
// one. The end of an escape sequence is not a letter. A word can also begin after a secret
// that was replaced, and at a seam.
func (sc *scanner) beginsWord(i int) bool {
	s := sc.s
	return i == sc.done || !isWord(s[i-1]) && (s[i-1] != '-' || i == 1 || !isWord(s[i-2])) ||
		sc.isSeam(i) || endsWithEscape(s[max(sc.done, i-32):i])
}

// lineBefore returns the text of the line before s[i], of at most most bytes.
func (sc *scanner) lineBefore(i, most int) string {
	before := sc.s[max(sc.done, i-most):i]
	return before[strings.LastIndexByte(before, '\n')+1:]
}

// isAfterJoint reports whether a word continues at s[i] after a dash or an underscore, where a
// token may begin.
func (sc *scanner) isAfterJoint(i int) bool {
	return i > sc.done && (sc.s[i-1] == '-' || sc.s[i-1] == '_')
}

// isSeam reports whether something invisible was removed before s[i].
func (sc *scanner) isSeam(i int) bool {
	_, found := slices.BinarySearch(sc.seams, i)
	return found
}

// endsWithEscape reports whether s ends with an escape sequence: \n, \u003d, \x3d, \033, %3D,
// =3D, or a colour such as [32m.
func endsWithEscape(s string) bool {
	n := len(s)
	at := func(back int, c byte) bool { return n >= back && s[n-back] == c }
	hex := func(digits int) bool { return endOfRun(s, n-digits, "x") == n }
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
		return strings.Trim(s[strings.LastIndexByte(s, '\\')+1:], "01234567") == ""
	case last == 'm' || last == 'K':
		i := n - 1
		for i > 0 && n-i < 24 && (isDigit(s[i-1]) || s[i-1] == ';' || s[i-1] == ':') {
			i--
		}
		return i > 0 && s[i-1] == '['
	}
	return false
}

// inClass reports whether c is in one of the classes: w is a letter, a digit or '_'; a is a
// letter or a digit; 0 is a digit; U is a capital letter or a digit; x is a hexadecimal
// digit. Any other character stands for itself.
func inClass(c byte, classes string) bool {
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

// findJWT finds a JSON Web Token: base64 parts separated by dots, the first two of which begin
// like the base64 of a JSON object (eyJ is {"). The third part may be missing.
func (sc *scanner) findJWT(i int) (from, to int) {
	s := sc.s
	if !strings.HasPrefix(s[i:], "ey") || !sc.beginsWord(i) && !sc.isAfterJoint(i) {
		return 0, 0
	}
	head := wrappedRun(s, i)
	if strings.HasPrefix(s[head:], "..") && head-i > 20 { // an encrypted one
		if to = dottedEnd(s, head+1); to > head+1 {
			return i, to
		}
	}
	if !strings.HasPrefix(s[head:], ".ey") {
		return 0, 0
	}
	body := wrappedRun(s, head+1)
	least := 20 // if white space follows the brace
	if strings.HasPrefix(s[i:], "eyJ") && strings.HasPrefix(s[head:], ".eyJ") {
		least = 10
	}
	to = body
	if body < len(s) && s[body] == '.' {
		to = wrappedRun(s, body+1)
	}
	return spanIf(head-i >= least && body-head >= least, i, to)
}

// endOfRun returns the end of the characters of the classes that begin at s[i].
func endOfRun(s string, i int, classes string) int {
	for i < len(s) && inClass(s[i], classes) {
		i++
	}
	return i
}

// wrappedRun returns the end of a token of the classes "w-" at s[i], with the next lines if a
// terminal or an editor has wrapped it.
func wrappedRun(s string, i int) int {
	end := endOfRun(s, i, "w-")
	for range maxLines {
		end = nextWrapped(s, end, "w-")
	}
	return end
}

// maxLines bounds over how many lines a token can be wrapped.
const maxLines = 12

// nextWrapped returns the end of the next line of a token that the end of a line interrupts
// at s[end], or end if the token does not continue. The next line must look as random as
// a token, or must have nothing else.
func nextWrapped(s string, end int, classes string) int {
	p := end
	if p < len(s) && s[p] == '\\' { // a line continuation of a shell, or an escaped line end
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
	p = skipChars(s, p, " \t", 12)
	to := endOfRun(s[:min(len(s), p+maxLook)], p, classes)
	rest := s[p:to]
	isAlone := to == len(s) || s[to] < ' ' || strings.IndexByte("\"'`\\,;)", s[to]) >= 0
	if isAlone && len(rest) > 1 && countAlternations(rest) > 0 || len(rest) >= 8 && (isMixedCase(rest) || countAlternations(rest) > 2) {
		return to
	}
	return end
}

// countAlternations counts how often letters and digits alternate within words.
func countAlternations(v string) int {
	n := 0
	for i := 1; i < len(v); i++ {
		if isDigit(v[i]) != isDigit(v[i-1]) && isAlnum(v[i]) && isAlnum(v[i-1]) {
			n++
		}
	}
	return n
}

func isAlnum(c byte) bool { return isWord(c) && c != '_' }

// maxLook bounds how many bytes are examined before it is certain that there is a secret,
// so that no text is examined again and again.
const maxLook = 512

// maxName bounds how far back the name of a setting is searched for.
const maxName = 64

func equalFold(s, lower string) bool {
	return len(s) == len(lower) && strings.EqualFold(s, lower)
}

// oneOf reports whether a word, in which are no blanks, is in a list with blanks between its words.
func oneOf(word, list string) bool {
	return word == list || strings.HasPrefix(list, word+" ") || strings.HasSuffix(list, " "+word) || strings.Contains(list, " "+word+" ")
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
