package brief

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/conversation/summary"
	"gt/lib/text/count"
	"gt/lib/text/frame"
	"gt/lib/text/term"
)

const (
	// promptRoom and promptRoomShort are the sizes of the list of messages, in characters: in a
	// hand-over, and for a summariser.
	promptRoom      = 4000
	promptRoomShort = 1500
	// maxListed limits the messages of which a list is made, to the latest.
	maxListed = 150
	// maxAbout is how much of a message is searched for what it is about, in characters.
	maxAbout = 200
)

// promptLengths are the lengths to which messages are cut, in characters. The first with
// which all of them have room is used.
var promptLengths = []int{1500, 600, 280, 140, 90}

// Prompts lists the messages of the person in the chain, oldest first, a line each, without
// those that the reader is told elsewhere, in the text told. The list is at most room long,
// as size counts it. If it leaves out messages, it says how many and names the command that
// prints all of them. Only what is cut is cleaned (see Clean), so the caller cleans the list.
func (b Brief) Prompts(told string, room int, size func(string) int, command string) []string {
	all, older := b.untold(told)
	if len(all) == 0 {
		return nil
	}
	l := list{all: all, clean: b.clean, size: size}
	for _, l.length = range promptLengths {
		if l.fits(room) {
			break
		}
	}
	chosen := make([]bool, len(all))
	left := older + l.choose(chosen, room-size(leftOut(len(all)+older, command)))
	var lines []string
	if left > 0 {
		lines = append(lines, leftOut(left, command))
	}
	for i := range all {
		if chosen[i] {
			lines = append(lines, l.line(i))
		}
	}
	return lines
}

func leftOut(n int, command string) string {
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf("- [%s %s left out here: %s prints all]", count.Of(n, "message"), verb, command)
}

// untold returns the latest messages, on a line each, that a text does not have, and how
// many older ones there are.
func (b Brief) untold(told string) (all []string, older int) {
	if b.Thread == nil {
		return nil, 0
	}
	const telling = 40 // a shorter text can be part of another one by chance
	lines := map[string]bool{}
	for line := range strings.Lines(told) {
		lines[strings.TrimPrefix(strings.TrimSpace(line), "- ")] = true
	}
	told = term.OneLine(told)
	said := b.Thread.Distinct()
	older = max(0, len(said)-maxListed)
	for _, q := range said[older:] {
		text := term.OneLine(q.Text)
		if lines[text] || len(text) >= telling && (isTold(told, text) || isTold(told, framed(q.Text))) {
			continue
		}
		all = append(all, text)
	}
	return all, older
}

// isTold reports whether a text has a message: all of one that is never cut, else what is
// left at both ends even of one that is cut.
func isTold(told, text string) bool {
	if len(text) <= shortOrigin {
		return strings.Contains(told, text)
	}
	front, back := runeStart(text, shortOrigin/2), runeStart(text, len(text)-shortOrigin/4)
	return strings.Contains(told, text[:front]) && strings.Contains(told, text[back:])
}

// framed returns a message, or both ends of a long one, as it looks inside a frame.
func framed(text string) string {
	const most = 2 << 10
	if len(text) > 2*most {
		text = text[:runeStart(text, most)] + text[runeStart(text, len(text)-most):]
	}
	return term.OneLine(frame.Inside(quoteTitles(text)))
}

func runeStart(text string, n int) int {
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// list is a list of messages that are cut to a length, in characters. The latest ones are
// cut less.
type list struct {
	all    []string
	length int
	clean  func(string) string
	size   func(string) int
}

const (
	latest       = 3
	latestLength = 400
)

func (l list) lengthOf(i int) int {
	if i >= len(l.all)-latest {
		return max(l.length, latestLength)
	}
	return l.length
}

// line returns the line of a message. One that is cut is cleaned before, but not all of a
// long one, of which little is shown.
func (l list) line(i int) string {
	text, length := l.all[i], l.lengthOf(i)
	if l.clean != nil && utf8.RuneCountInString(text) > length { // mutant never: TestPromptsFit
		text = term.OneLine(l.clean(summary.Cut(text, 4*length)))
	}
	return "- " + summary.Cut(text, length)
}

func (l list) fits(room int) bool {
	for i, text := range l.all {
		if room -= l.size(summary.Cut(text, l.lengthOf(i))) + len("- \n"); room < 0 {
			return false
		}
	}
	return true
}

// choose marks the messages that have room, and returns how many have none. The latest come
// first; with a message that takes an earlier one back comes that one.
func (l list) choose(chosen []bool, room int) (left int) {
	pairs := func(int) (int, bool) { return 0, false }
	if !l.fits(room) {
		pairs = earlier(l.all)
	}
	add := func(i int) bool {
		n := l.size(l.line(i) + "\n")
		if chosen[i] || n > room {
			return chosen[i]
		}
		chosen[i] = true
		room -= n
		return true
	}
	for i := len(l.all) - 1; i >= 0 && add(i); i-- {
		if j, ok := pairs(i); ok {
			add(j)
		}
	}
	for _, c := range chosen {
		if !c {
			left++
		}
	}
	return left
}

// earlier returns a function that returns the message that another is most likely about:
// the last one before it that shares a word with it that few messages have.
func earlier(all []string) func(i int) (int, bool) {
	const few = 3
	words := make([][]string, len(all))
	having := map[string][]int{}
	for i, text := range all {
		words[i] = about(text)
		for _, w := range words[i] {
			having[w] = append(having[w], i)
		}
	}
	return func(i int) (int, bool) {
		best, fewest := -1, few+1
		for _, w := range words[i] {
			in := having[w]
			at, _ := slices.BinarySearch(in, i)
			if at > 0 && (len(in) < fewest || len(in) == fewest && in[at-1] > best) {
				best, fewest = in[at-1], len(in)
			}
		}
		return best, best >= 0
	}
}

// about returns the words of a text that can tell what it is about, each once.
func about(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(summary.Cut(text, maxAbout)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < 3 })
	slices.Sort(words)
	return slices.Compact(words)
}

// hasPrompts reports whether a reader of the brief gets the person's messages.
func (b Brief) hasPrompts() bool { return b.Thread != nil && len(b.Thread.Prompts) > 0 }

func (b Brief) threadCommand() string { return fmt.Sprintf("`gt-seance thread %s`", b.Thread.ChainID) }
