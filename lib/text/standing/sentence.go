package standing

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// sentence is one of a line's sentences.
type sentence struct {
	text    string
	clauses [][]string // words in lower case, between punctuation or conjunctions
	words   []string   // of all clauses
	asks    bool       // it ends in a question mark
}

// sentences returns the sentences of a line that have words. Marks within quotations end none.
func sentences(line string) []sentence {
	var all []sentence
	begin, masked := 0, mask(line)
	for i, r := range masked {
		end := i + utf8.RuneLen(r)
		if end < len(line) && !endsSentence(masked, i, r) {
			continue
		}
		text := strings.TrimLeft(line[begin:end], " \t.,!?)\"'*")
		s := sentence{text: text, clauses: clauses(masked[end-len(text) : end]), asks: strings.ContainsRune("?？؟", r)}
		if s.words = slices.Concat(s.clauses...); len(s.words) > 0 {
			all = append(all, s)
		}
		begin = end
	}
	return all
}

// endsSentence reports whether the mark at i ends a sentence before the line's end.
func endsSentence(line string, i int, mark rune) bool {
	if strings.ContainsRune(".!?;", mark) {
		word := line[strings.LastIndexAny(line[:i], " (\t")+1 : i]
		return strings.IndexByte(" \t\"')*", line[i+1]) >= 0 && !oneOf(strings.ToLower(word), "e.g i.e vs z.b bzw d.h ca usw p.ex nr cf incl")
	}
	return strings.ContainsRune("。！？；।؟", mark)
}

// mask returns a line with "x" for each byte of what stands between backquotes and of
// several words in quotation marks. One word in quotation marks is only stressed. "Do not"
// and "you are not to" become "don't", and "never, ever" becomes "never", in as many bytes.
func mask(line string) string {
	for _, marks := range [][2]string{{"`", "`"}, {`"`, `"`}, {"“", "”"}, {"„", "“"}, {"«", "»"}, {"「", "」"}} {
		for at := 0; ; {
			before, rest, _ := strings.Cut(line[at:], marks[0])
			inner, _, found := strings.Cut(rest, marks[1])
			if !found {
				break
			}
			at += len(before)
			n := len(marks[0]) + len(inner) + len(marks[1])
			if marks[0] == "`" || isCJK(inner) || strings.Contains(inner, " ") {
				line = line[:at] + strings.Repeat("x", n) + line[at+n:]
			}
			at += n
		}
	}
	return strings.NewReplacer("do not ", "don't  ", "Do not ", "don't  ", "DO NOT ", "don't  ", "do NOT ", "don't  ", "You are not to ", "don't          ", "you are not to ", "don't          ", "You're not to ", "don't         ", "you're not to ", "don't         ", "ever, ever ", "ever       ").Replace(line)
}

// clauses returns the words of each clause. A conjunction inside begins a clause and is left out.
func clauses(text string) [][]string {
	var all [][]string
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",:;()—–…→，、：（）،؛", r) }) {
		begins := true
		for field := range strings.FieldsSeq(part) {
			w := strings.Trim(strings.ToLower(strings.ReplaceAll(field, "’", "'")), ".!?*_\"'“”。！？।؟-")
			switch {
			case oneOf(w, "explicitly specifically expressly ausdrücklich explizit"): // "unless I explicitly ask"
			case w == "" || !begins && oneOf(w, "and but then plus und aber et mais pero maar"):
				begins = true
			case begins:
				all, begins = append(all, []string{w}), false
			default:
				all[len(all)-1] = append(all[len(all)-1], w)
			}
		}
	}
	return all
}

// isCJK reports whether a text has Chinese or Japanese characters, which stand without
// blanks between the words.
func isCJK(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x3040 && r <= 0x30ff || r >= 0x3400 && r <= 0x9fff })
}

// oneOf reports whether a word is one of a list, in which blanks stand between the words.
func oneOf(word, list string) bool {
	return word == list || strings.HasPrefix(list, word+" ") || strings.HasSuffix(list, " "+word) || strings.Contains(list, " "+word+" ")
}

// hasAnyWord reports whether one of the words is in a list, in which blanks stand between the words.
func hasAnyWord(words []string, list string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return oneOf(w, list) })
}

// startsWith reports whether the words begin with one of the phrases, which "|" parts.
func startsWith(words []string, phrases string) bool {
	text := strings.Join(words, " ") + " "
	return slices.ContainsFunc(strings.Split(phrases, "|"), func(p string) bool { return strings.HasPrefix(text, p+" ") })
}

// hasPhrase reports whether the words have one of the phrases, which "|" parts, at any place.
func hasPhrase(words []string, phrases string) bool {
	text := " " + strings.Join(words, " ") + " "
	return slices.ContainsFunc(strings.Split(phrases, "|"), func(p string) bool { return strings.Contains(text, " "+p+" ") })
}
