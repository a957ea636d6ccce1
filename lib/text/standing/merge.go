package standing

import (
	"slices"
	"strings"
)

// Replaces reports whether an instruction says again, or takes back, what an earlier
// one says.
func (later Instruction) Replaces(earlier Instruction) bool {
	if later.Text == earlier.Text {
		return true
	}
	fewer, more := subject(later.Text), subject(earlier.Text)
	if len(fewer) > len(more) {
		fewer, more = more, fewer
	}
	// All subject words of the shorter one must be in the longer one, and below be a large share of
	// its words: otherwise the longer one is about something more special.
	if len(fewer) == 0 || slices.ContainsFunc(fewer, func(w string) bool { return !slices.Contains(more, w) }) {
		return false
	}
	switch {
	case later.Kind == Lifted: // "you can push now" takes back "never push to main"
		return earlier.Kind != KindAlways
	case (later.Kind == KindNever) != (earlier.Kind == KindNever):
		return len(fewer)*3 >= len(more)*2 // one forbids what the other asks for
	}
	return len(fewer)*5 >= len(more)*4 // the same, in other words
}

// subject are the words of an instruction that say what it is about, without their endings:
// "pushes" and "pushing" are one. A language without blanks has none.
func subject(text string) []string {
	var words []string
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		w = strings.Trim(w, ".,:;!?()-`'\"*…")
		if isCJK(w) || oneOf(w, "never always only do don't dont not no must should shall may can you we i it to the a an any and or but please from now on in at of for with is are be that this again also ever ok okay fine free feel allowed it's so then if want just still yes after all there here have has longer need anymore forget rule about what said nie niemals immer nur bitte nicht kein keine keinen du darfst kannst jetzt ab sofort auf den die das der ein eine und aber zu mehr wieder doch jamais toujours ne pas le la les de tu peux maintenant et à sur des un une nunca siempre el los las y en ya puedes ahora por favor никогда не всегда только больше пожалуйста в на 절대 항상 반드시 asla her zaman sadece nigdy zawsze tylko jangan selalu hanya đừng luôn chỉ कभी हमेशा केवल") {
			continue
		}
		for _, end := range []string{"s", "e", "ing", "ed"} {
			if stem := strings.TrimSuffix(w, end); len(stem) > 3 {
				w = stem
			}
		}
		if w != "" && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

// lifts reports whether a sentence takes back what was forbidden: "you can push now".
func (s *sentence) lifts() bool {
	return !s.asks && len(s.clauses) < 3 && !hasAnyWord(s.words, notWords+" "+onlyWords) &&
		startsWith(trimLeadIn(s.words), "you can|you may|feel free to|it's ok to|du kannst|du darfst|tu peux|ya puedes|ahora puedes") &&
		hasAnyWord(s.words, "now again jetzt wieder doch maintenant ahora ya")
}
