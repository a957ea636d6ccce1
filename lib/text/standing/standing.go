// Package standing finds the standing instructions in what a person says to a coding
// agent: what must always, never or only be done, for as long as the task lasts.
//
// It does so by rule, without a model, and rather misses an instruction than takes
// something else for one: gt keeps everything that the person typed, and what is found
// here is only told first. An instruction begins a clause ("never push to main"), says
// how long it holds ("from now on") or stands under a heading such as "Rules:". What
// stands in code, in quotation marks or in pasted output is nobody's order.
package standing

import (
	"slices"
	"strings"
)

// Kind is what an instruction says of an action.
type Kind string

// The kinds of instructions.
const (
	KindNone   Kind = ""
	KindAlways Kind = "always"
	KindNever  Kind = "never"
	KindOnly   Kind = "only"
	// Lifted takes back what was said before: "you can push now".
	Lifted Kind = "lifted"
)

// MaxLength bounds an instruction's text, in characters.
const MaxLength = 200

const (
	maxFound = 20
	maxText  = 64 << 10 // bytes that are looked at
	maxTyped = 2500     // bytes that a person types; what has more is a document
)

// Instruction is a standing instruction.
type Instruction struct {
	Text string `json:"text"` // the sentence, on one line, of at most MaxLength characters
	Kind Kind   `json:"kind"`
}

// Find returns the standing instructions of a text, in its order, each once and at
// most twenty. A sentence of more than MaxLength characters counts only under "Rules:",
// and a document has none.
func Find(text string) []Instruction {
	var all []Instruction
	for _, l := range prose(strings.ToValidUTF8(text[:min(len(text), maxText)], "")) {
		before := ""
		parts := sentences(l.text)
		if l.isRule() && len(parts) > 0 && !parts[len(parts)-1].asks { // all of it, whatever its sentences are
			whole := sentence{text: l.text, words: parts[0].words}
			for _, s := range parts[1:] {
				whole.words = append(whole.words, s.words...)
			}
			parts = []sentence{whole}
			l.ruled = true
		}
		for i, s := range parts {
			kind := s.instructs()
			if kind == KindNone && l.ruled && i == 0 && !s.asks { // by its place alone
				kind = s.kind()
			}
			said := s.text
			if s.onlyLasts() {
				if kind = KindAlways; before == "" {
					kind = KindNone
				}
				if s.text = before + s.text; !isCJK(before) {
					s.text = before + " " + said
				}
			}
			if kind != KindNone && before != "" && s.refersBack() {
				s.text = before + " " + said
			}
			before = said
			found := Instruction{s.line(), kind}
			if kind != KindNone && !slices.Contains(all, found) && len(all) < maxFound {
				all = append(all, found)
			}
		}
	}
	return all
}

// line returns the sentence on one line, cut to MaxLength.
func (s *sentence) line() string {
	text := []rune(strings.Join(strings.Fields(s.text), " "))
	if len(text) > MaxLength {
		text = append(text[:MaxLength-1], '…')
	}
	return string(text)
}
