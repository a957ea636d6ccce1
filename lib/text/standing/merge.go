package standing

import (
	"slices"
	"strings"
)

// Merge adds instructions to those that were known, the oldest first: one that says
// the same as an earlier one, or takes it back, takes its place. Of more than most, the
// oldest go. all is not changed.
func Merge(all []Instruction, found []Instruction, most int) []Instruction {
	merged := append([]Instruction(nil), all...)
	for _, f := range found {
		merged = append(slices.DeleteFunc(merged, f.Replaces), f)
	}
	if n := len(merged) - most; n > 0 {
		merged = merged[n:]
	}
	return merged
}

// Holding returns those that hold, without what only takes others back.
func Holding(all []Instruction) []Instruction {
	return slices.DeleteFunc(slices.Clone(all), func(i Instruction) bool { return i.Kind == Lifted })
}

// Replaces reports whether an instruction says again, or takes back, what an earlier
// one says.
func (later Instruction) Replaces(earlier Instruction) bool {
	if later.Text == earlier.Text {
		return true
	}
	about, was := subject(later.Text), subject(earlier.Text)
	common := 0
	for _, w := range about {
		if slices.Contains(was, w) {
			common++
		}
	}
	fewer, all := min(len(about), len(was)), len(about)+len(was)-common
	switch {
	case fewer == 0:
		return false
	case later.Kind == Lifted: // "you can push now" takes back "never push to main"
		return common == fewer || common*2 >= all && common > 1
	case later.forbids() != earlier.forbids():
		return common*3 >= all*2
	}
	return common*5 >= all*4 // the same, in other words
}

func (later Instruction) forbids() bool { return later.Kind == Never }

// subject are the words of an instruction that say what it is about, in the form in
// which "pushes" and "pushing" are one.
func subject(text string) []string {
	var words []string
	for _, s := range sentences(text) {
		for _, w := range s.words {
			t := w.text
			if t == code || t == quoted {
				t = strings.ToLower(s.text[w.start:w.end])
			}
			if form := stem(t); form != "" && !slices.Contains(words, form) {
				words = append(words, form)
			}
		}
	}
	return words
}

// stem returns a word without its ending, and nothing of one that only holds a
// sentence together.
func stem(w string) string {
	if oneOf(w, "never always only do don't dont not no must must should shall may can you we i it to the a an any and or but please from now on in at of for with is are be that this again also ever ok okay fine free feel allowed it's so then if want just still yes after all there here have has mustn't shouldn't longer need anymore forget rule about what said nie niemals immer nur bitte nicht kein keine keinen du darfst kannst jetzt ab sofort auf den die das der ein eine und aber zu mehr wieder doch jamais toujours ne pas le la les de du tu peux maintenant et à sur des un une nunca siempre el los las y en ya puedes ahora por favor solo") {
		return ""
	}
	for _, end := range []string{"ing", "es", "ed", "s"} {
		if r, ok := strings.CutSuffix(w, end); ok && len(r) > 3 {
			return r
		}
	}
	return w
}

// lifts reports whether a sentence takes back what was forbidden: "you can push now".
func lifts(s *sentence) bool {
	if s.asks {
		return false
	}
	if s.hasAny("no longer need to|you don't need to|you don't have to") && s.hasAny("any more|anymore") || s.hasAny("forget the rule|forget what i said about") {
		return true
	}
	switch {
	case s.has("now"), s.has("again"), s.has("after all"):
		return s.hasAny("you can|you may|feel free to|ok to|okay to|fine to|allowed to") && !s.hasAny("not|only")
	case s.has("jetzt"), s.has("wieder"), s.has("doch"):
		return s.hasAny("du kannst|du darfst|kannst du|darfst du") && !s.hasAny("nicht|nur|kein|keine")
	case s.has("maintenant"):
		return s.hasAny("tu peux|vous pouvez") && !s.has("pas")
	case s.has("ahora"), s.has("ya"):
		return s.has("puedes") && !s.has("no")
	}
	return false
}
