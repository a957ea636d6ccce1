package thread

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gt/lib/text/pasted"
	"gt/lib/text/standing"
)

// Score is how much a message carries, in points, and why.
type Score struct {
	Points int
	Why    []string
}

func (s *Score) add(points int, why string, values ...any) {
	if s.Points += points; points != 0 {
		s.Why = append(s.Why, fmt.Sprintf("%+d ", points)+fmt.Sprintf(why, values...))
	}
}

// ranking is the version of these rules. Points that others gave do not compare.
const ranking = 3

// The points of a message. What is told of a chain with more messages than there is room
// for are those with the most points.
const (
	pointsNew     = 12 // for words that no other message has
	pointsValue   = 6  // for each name, number, path or the like that no other message has
	maxValues     = 3
	pointsRule    = 12 // it says what must, may or should be, or what somebody wants
	pointsLabel   = 4  // it begins with what it is: "FACT: …"
	pointsCorrect = 4  // it says that something is another way
	pointsDenies  = 6  // it says that a value does not hold
	pointsStands  = 6  // it says where the work stands
	pointsAsks    = -6 // it is a question, which the agent answered
	pointsDone    = -4 // the agent worked on it and answered
	pointsReply   = 3  // it answers a question of the agent
	pointsRecent  = 4  // it is one of the last
	recent        = 10
	pointsLast    = 100 // of the last three, which are told before all others
	pointsLastOf  = 12  // of the last three of an agent's
	lastMessages  = 3
	pointsAlike   = -100 // for one that a later message says again with other values
	pointsAgent   = -8   // of what an agent concluded or did
	pointsFailed  = 6    // of what failed
	pointsDecided = 8    // of what an agent decided or found out
)

// score adds up what a message carries: the cues of its form, its words, of which those count most
// that few messages have (counts), and its place, which is 0 for the last message. all is how
// many messages there are, most the points that each of the last three gets.
func score(cues Score, words []word, counts map[string]int, all, place, most int) Score {
	s := cues
	total, fresh, values := 0.0, 0.0, 0.0
	for _, w := range words {
		share := w.rarity(counts)
		if w.value {
			values += share
			continue
		}
		if counts[w.text] > 5+all/20 { // "the" hardly lowers the share of what is new beside it
			w.weight /= 4
		}
		total, fresh = total+w.weight, fresh+w.weight*share
	}
	s.add(int(pointsNew*fresh/max(total, 5)), "words that are new")
	if s.Points > 0 { // "next we do the rest", "it always reloads" and the like are said all day
		s.add(-int(float64(cues.Points)*max(0, 0.6-1.5*fresh/max(total, 1))), "in words of many messages")
	}
	// Where the words are those of many other messages, so is what is said, whatever its values.
	s.add(int(pointsValue*min(values, maxValues)*min(1, 0.1+1.5*fresh/max(total, 1))), "names, numbers, paths")
	switch {
	case place < lastMessages:
		s.add(most, "among the last %d", lastMessages)
	case place < recent:
		s.add(pointsRecent, "among the last %d", recent)
	}
	return s
}

// cuesOf returns the points for what a message says by its form. What an agent says obliges nobody.
func cuesOf(q Quote, byAgent bool) (s Score) {
	s.Points = 1 // a message without points was never scored
	text := strings.TrimSpace(q.Text)
	if byAgent {
		s.add(pointsAgent, "by an agent")
		if strings.HasPrefix(text, "`") && strings.Contains(text, "` failed: ") {
			s.add(pointsFailed, "failed")
		}
		if standing.Decides(text) {
			s.add(pointsDecided, "decided or found out")
		}
		return s
	}
	text = pasted.Typed(text, func([]string) string { return "" })
	cues := standing.CuesOf(text)
	if cues.Obliges {
		s.add(pointsRule, "says what must or should be")
	}
	if cues.Corrects {
		s.add(pointsCorrect, "corrects something")
	}
	if cues.Stands && len(strings.Fields(text)) > 4 { // not "next" or "what is left?"
		s.add(pointsStands, "says where the work stands")
	}
	if cues.Asks {
		s.add(pointsAsks, "asks something")
	}
	if label, rest, ok := strings.Cut(text, ": "); ok && rest != "" && len(label) < 40 && strings.ToUpper(label) == label && strings.ContainsFunc(label, unicode.IsLetter) {
		s.add(pointsLabel, "begins with what it is")
	}
	if q.Reply {
		s.add(pointsReply, "answers a question")
	}
	return s
}

// Rank gives each message, answer and action its points, and those that say the same with other
// values one group. It does nothing if all have their points by today's rules. Points of 0 mean
// that it was not ranked yet, so a score of 0 becomes -1. Writers call Rank, so that a start need
// not.
func (t *Thread) Rank() {
	rulesChanged := t.Ranking != ranking
	if rulesChanged {
		t.markOld()
	}
	for _, all := range []*[]Quote{&t.Prompts, &t.Answers, &t.Actions} {
		if !slices.ContainsFunc(*all, func(q Quote) bool { return q.Points == 0 || rulesChanged }) {
			continue
		}
		t.Ranking = ranking
		byAgent := all != &t.Prompts
		for i, s := range t.scoreQuotes(*all, byAgent, func(q *Quote) Score {
			if q.Cues == 0 || rulesChanged {
				q.Cues = cuesOf(*q, byAgent).Points
			}
			return Score{Points: q.Cues}
		}) {
			if (*all)[i].Points = s.Points; s.Points == 0 {
				(*all)[i].Points = -1
			}
		}
	}
}

// Explain returns the score of each message of the person, or answer or action of an agent.
func (t *Thread) Explain(all []Quote, byAgent bool) []Score {
	return t.scoreQuotes(all, byAgent, func(q *Quote) Score { return cuesOf(*q, byAgent) })
}

// scoreQuotes returns the score of each quote. It gives one Group to those that say the same with
// other values, and to those whose value a later one denies. It goes from the last to the first,
// because the later one counts. cues returns a quote's points for its form.
func (t *Thread) scoreQuotes(quotes []Quote, byAgent bool, cues func(*Quote) Score) []Score {
	all := make([]Score, len(quotes))
	words, frames := make([][]word, len(quotes)), make([]string, len(quotes))
	// How many messages have a word: of the person's all, of an agent's the later ones, because
	// what it runs again and again is worth telling for the last time.
	counts := map[string]int{}
	count := func(words []word) {
		for _, w := range words {
			for _, part := range w.parts() {
				counts[part]++
			}
		}
	}
	for i, q := range quotes {
		if byAgent {
			words[i], frames[i] = wordsOf(q.Text)
			continue
		}
		words[i], frames[i] = wordsOf(t.WithQuestion(q))
	}
	last := map[string]int{} // by frame, the last message with it
	for i, frame := range frames {
		last[frame] = i
	}
	for i, frame := range frames { // what is said again and again counts once
		if !byAgent && (frame == "" || last[frame] == i) {
			count(words[i])
		}
	}
	// The group of a frame, the size of a group, and the number of the last group.
	groups, sizes, number := map[string]int{}, map[int]int{}, 0
	denied := map[string]denial{} // by value
	place := 0                    // a reply has that of its prompt
	for i := len(quotes) - 1; i >= 0; i-- {
		q := &quotes[i]
		most := pointsLast
		if byAgent {
			most = pointsLastOf
		}
		if byAgent {
			count(words[i])
		}
		s := score(cues(q), words[i], counts, len(quotes), place, most)
		if q.Done {
			s.add(pointsDone, "done")
		}
		if q.Group = groups[frames[i]]; q.Group == 0 {
			q.Group = deniedBy(denied, words[i])
		}
		if q.Group != 0 {
			s.add(pointsAlike, "a later message says it with other values")
		} else {
			number++
			q.Group = number
		}
		if _, ok := groups[frames[i]]; !ok && frames[i] != "" {
			groups[frames[i]] = q.Group
		}
		denies := false // the word before a value denies it: "not 443"
		for k, w := range words[i] {
			if k > 0 && w.value && standing.Denies(words[i][k-1].text) {
				denied[w.text], denies = denial{q.Group, words[i]}, true
			}
		}
		if denies {
			s.add(pointsDenies, "says which value holds")
		}
		if !q.Reply {
			place++
		}
		sizes[q.Group]++
		all[i] = s
	}
	for i := range quotes {
		if q := &quotes[i]; sizes[q.Group] == 1 {
			q.Group = 0
		}
	}
	return all
}

// denial is a message that says that a value does not hold: "the port is 7443, not 443".
type denial struct {
	group int
	words []word
}

// deniedBy returns the group of a later message that denies one of the values among the words, 0 if
// there is none. Both messages must have another word in common: not every "443" is the port.
func deniedBy(denied map[string]denial, words []word) int {
	for _, w := range words {
		d, ok := denied[w.text]
		if !ok {
			continue
		}
		for _, topic := range words {
			if !topic.value && len(topic.text) > 2 && slices.ContainsFunc(d.words, func(w word) bool { return w.text == topic.text }) {
				return d.group
			}
		}
	}
	return 0
}

// word is one of a message's words or values.
type word struct {
	text   string
	value  bool // a name, a number, a path or the like
	weight float64
}

// parts returns the pieces of a value, as "milas" and "31" of "milas-31", or the word itself.
func (w word) parts() []string {
	if !w.value || isDate(w.text) {
		return []string{w.text}
	}
	return strings.FieldsFunc(w.text, func(r rune) bool {
		return r != '$' && r != '%' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}

// rarity returns how rare a word is: 1 if only one message has it, and the less the more
// have it. A value is as rare as its rarest piece. A number of one or two digits is no rare one.
func (w word) rarity(counts map[string]int) (rarity float64) {
	for _, part := range w.parts() {
		share := 1 / float64(max(1, counts[part]))
		if w.value { // what work is about is named more than once
			share = math.Sqrt(share)
		}
		if len(part) < 3 && part[0] >= '0' && part[0] <= '9' {
			share /= 2
		}
		rarity = max(rarity, share)
	}
	return rarity
}

const (
	// maxScored is how much of a message counts for its points, in bytes.
	maxScored = 1 << 10
	// minFrame is the smallest number of words that make a frame.
	minFrame = 2
)

// wordsOf returns a message's words, each once, and its frame: the words in their order with a mark
// for each value, without a label before them. Two messages with one frame say the same with other
// values. A message of values alone, or with a paste, has none.
func wordsOf(text string) (words []word, frame string) {
	var b strings.Builder
	begins, capital := true, false // of a sentence; the word before is capitalised
	shouts := true                 // no word so far has a small letter
	var before string              // the last word of the frame, still to write; \x00 for a value
	plain := 0                     // the words of the frame that are no values
	hasPaste := false
	text = pasted.Typed(text, func([]string) string {
		hasPaste = true
		return ""
	})
	if len(text) > maxScored {
		text = text[:characterStart(text, maxScored)]
	}
	for field := range strings.FieldsFuncSeq(text, isBlank) {
		w := strings.TrimRight(field, ".,:;!?…")
		ends := w != field
		if w = strings.TrimLeft(w, ".,:;!?"); w == "" {
			continue
		}
		first, _ := utf8.DecodeRuneInString(w)
		isCapital := unicode.IsUpper(first)
		value := isValue(w)
		switch {
		case isCapital && capital && !begins && strings.ToUpper(w) != w: // a name of two words
			value = true
			if before != "\x00" {
				plain--
			}
		case before != "":
			b.WriteString(before + " ")
		}
		lower := strings.ToLower(w)
		if before = lower; value {
			before = "\x00"
		} else {
			plain++
		}
		weight := 1.0
		if value {
			weight = 0
		} else if first >= 0x2e80 { // without blanks, as Chinese: four characters are a word
			weight += float64(utf8.RuneCountInString(w)) / 4
		}
		if !slices.ContainsFunc(words, func(o word) bool { return o.text == lower }) {
			words = append(words, word{lower, value || isCapital && !begins, weight})
		}
		if shouts = shouts && strings.ToUpper(w) == w; shouts && strings.HasSuffix(field, ":") { // a label
			b.Reset()
			before, plain = "", 0
		}
		begins, capital = ends && strings.ContainsAny(field[len(field)-1:], ".!?:"), isCapital && !ends
	}
	if plain < minFrame || hasPaste {
		return words, ""
	}
	return words, b.String() + before
}

// isBlank reports whether a character parts words.
func isBlank(r rune) bool {
	switch r {
	case '(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', '`', ',', ';', '|', '“', '”', '„', '«', '»', '「', '」', '、', '。', '，', '！', '？', '：', '；':
		return true
	}
	return r <= ' ' || r >= utf8.RuneSelf && unicode.IsSpace(r)
}

// isValue reports whether a word is a number, a path, an address, an identifier or the like.
func isValue(w string) bool {
	upper, lower := false, false
	for i, r := range w {
		switch {
		case r >= '0' && r <= '9', r == '/', r == '\\', r == '_', r == '@', r == '#', r == '$', r == '€', r == '%', r == '=', r == '~', i > 0 && r == '.':
			return true
		case i > 0:
			upper, lower = upper || unicode.IsUpper(r), lower || unicode.IsLower(r)
		}
	}
	return upper && lower // as in camelCase; a word in capitals is stressed, or an abbreviation
}

// changesAmounts reports whether two texts say the same with other amounts of money, shares
// or dates, so that only one of the two holds: the frame and all other values are the same.
func changesAmounts(a, b string) bool {
	words, frame := wordsOf(a)
	others, same := wordsOf(b)
	return frame != "" && frame == same && !slices.ContainsFunc(words, func(w word) bool {
		isAmount := strings.ContainsAny(w.text, "$€£%") || isDate(w.text)
		return !isAmount && !slices.ContainsFunc(others, func(o word) bool { return o.text == w.text })
	})
}

// isDate reports whether a word is a date such as 2027-03-04.
func isDate(w string) bool {
	return strings.Count(w, "-") == 2 && w[0] >= '0' && w[0] <= '9'
}
