package standing

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A word of a sentence, in lower case. What stands between backquotes or in
// quotation marks is one word, code or quoted.
type word struct {
	text       string
	start, end int  // in the sentence
	spelt      int  // in sentence.spelt
	mark       rune // the last punctuation before it, 0 for none
}

const (
	code   = "`"
	quoted = "\""
)

// sentence is one of a line's sentences.
type sentence struct {
	text  string
	words []word
	asks  bool   // it ends in a question mark
	spelt string // the words with a blank before and behind each
}

// at returns the word at i, which is empty outside the sentence.
func (s *sentence) at(i int) string {
	if i < 0 || i >= len(s.words) {
		return ""
	}
	return s.words[i].text
}

// is reports whether these words stand at i, one after the other.
func (s *sentence) is(i int, phrase string) bool {
	if i < 0 || i >= len(s.words) {
		return false
	}
	rest, ok := strings.CutPrefix(s.spelt[s.words[i].spelt:], phrase)
	return ok && rest[0] == ' '
}

// has reports whether these words stand in the sentence, one after the other.
func (s *sentence) has(phrase string) bool {
	for at := 0; ; {
		i := strings.Index(s.spelt[at:], phrase)
		if i < 0 {
			return false
		}
		i += at
		if end := i + len(phrase); s.spelt[i-1] == ' ' && s.spelt[end] == ' ' {
			return true
		}
		at = i + 1
	}
}

func spell(words []word) string {
	n := 2
	for _, w := range words {
		n += len(w.text) + 1
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(' ')
	for i, w := range words {
		words[i].spelt = b.Len()
		b.WriteString(w.text)
		b.WriteByte(' ')
	}
	return b.String()
}

// isAny reports whether one of these phrases stands at i.
func (s *sentence) isAny(i int, phrases string) bool {
	for phrase := range strings.SplitSeq(phrases, "|") {
		if s.is(i, phrase) {
			return true
		}
	}
	return false
}

// hasAny reports whether one of these phrases stands in the sentence.
func (s *sentence) hasAny(phrases string) bool {
	for phrase := range strings.SplitSeq(phrases, "|") {
		if s.has(phrase) {
			return true
		}
	}
	return false
}

// sentences are those of a line.
func sentences(line string) []sentence {
	var all []sentence
	begin := 0
	var words []word
	var mark rune
	add := func(end int, asks bool) {
		if text := strings.TrimSpace(line[begin:end]); len(words) > 0 {
			all = append(all, sentence{text: text, words: words, asks: asks, spelt: spell(words)})
		}
		words, mark = nil, 0
	}
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == '`':
			end := strings.IndexByte(line[i+1:], '`')
			if end < 0 {
				i++
				continue
			}
			words = append(words, word{text: code, start: i - begin, end: i + end + 2 - begin, mark: mark})
			i, mark = i+end+2, 0
		case closing(r) != 0 && (i == 0 || opens(line[:i])):
			end := strings.IndexRune(line[i+n:], closing(r))
			if end < 0 || end > 400 || strings.IndexByte(strings.TrimSpace(line[i+n:i+n+end]), ' ') < 0 {
				i += n // one word in quotation marks is only stressed
				continue
			}
			end += i + n + utf8.RuneLen(closing(r))
			words = append(words, word{text: quoted, start: i - begin, end: end - begin, mark: mark})
			i, mark = end, 0
		case isCJK(r):
			words = append(words, word{text: line[i : i+n], start: i - begin, end: i + n - begin, mark: mark})
			i, mark = i+n, 0
		case isWordRune(r):
			end := wordEnd(line, i)
			words = append(words, word{text: strings.ToLower(strings.ReplaceAll(line[i:end], "’", "'")), start: i - begin, end: end - begin, mark: mark})
			i, mark = end, 0
		case strings.ContainsRune(".!?;。！？；", r) && ends(line, i, n):
			i += n
			for i < len(line) && strings.IndexByte(".!?)\"'*", line[i]) >= 0 {
				i++
			}
			add(i, r == '?' || r == '？')
			for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
				i++
			}
			begin = i
		default:
			if !unicode.IsSpace(r) && r != '*' && r != '_' {
				mark = r
			} else if mark == 0 && r == '\t' {
				mark = ' '
			}
			i += n
		}
	}
	add(len(line), false)
	return all
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' || r == '’' || r == '_'
}

// wordEnd returns where the word ends that begins at i: also a path, a file's name, a
// flag or an address is one.
func wordEnd(line string, i int) int {
	end := i
	for end < len(line) {
		r, n := utf8.DecodeRuneInString(line[end:])
		if isWordRune(r) && !isCJK(r) {
			end += n
			continue
		}
		next, _ := utf8.DecodeRuneInString(line[end+n:])
		if strings.ContainsRune("-/.@:\\", r) && (isWordRune(next) || r == '/' && next == '*') && !isCJK(next) && (r != ':' || next == '/' || unicode.IsDigit(next)) {
			end += n
			continue
		}
		if r == '/' || r == '(' && strings.HasPrefix(line[end:], "()") {
			end += len("/")
			if r == '(' {
				end++
			}
			continue
		}
		break
	}
	return max(end, i+1)
}

// closing returns the quotation mark that closes r, 0 where r opens none.
func closing(r rune) rune {
	switch r {
	case '"':
		return '"'
	case '“':
		return '”'
	case '„':
		return '“'
	case '«':
		return '»'
	case '「':
		return '」'
	}
	return 0
}

// opens reports whether a quotation mark behind this would be an opening one.
func opens(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return unicode.IsSpace(r) || strings.ContainsRune("([{:,—-", r) || isCJK(r)
}

func isCJK(r rune) bool {
	return r >= 0x3040 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff
}

// ends reports whether a full stop ends a sentence there.
func ends(line string, i, n int) bool {
	if n > 1 { // one of a script that has its own
		return true
	}
	if i+n < len(line) && !strings.ContainsRune(" \t\"')*!?.", rune(line[i+n])) {
		return false
	}
	if line[i] != '.' {
		return true
	}
	before := line[:i]
	last := before[strings.LastIndexAny(before, " (\t")+1:]
	switch strings.ToLower(last) {
	case "e.g", "i.e", "etc", "vs", "z.b", "bzw", "d.h", "ca", "approx", "resp", "usw", "p.ex", "p. ex", "no", "nr", "cf", "incl", "u.a", "ggf", "evtl":
		// It may well end there, too, where a capital letter follows.
		rest := strings.TrimLeft(line[i+n:], " ")
		r, _ := utf8.DecodeRuneInString(rest)
		return rest == "" || last == "etc" && unicode.IsUpper(r)
	}
	return true
}
