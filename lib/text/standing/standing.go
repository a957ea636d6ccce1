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
	for _, l := range typedLines(strings.ToValidUTF8(text[:min(len(text), maxText)], "")) {
		before := "" // the sentence before, as it was said
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
			kind := s.instructionKind()
			if kind == KindNone && l.ruled && i == 0 && !s.asks { // by its place alone
				kind = s.kind()
			}
			said := s.text
			if s.onlyLasts() { // "From now on." makes the sentence before it an instruction
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

// Words that say what should be or what somebody wants, that decide, that correct something,
// and that say where the work stands.
const (
	shouldWords  = "must should shall may cannot can't required prefer prefers preference want wants rather need unless nobody rule muss müssen darf dürfen soll sollen sollte möchte will lieber doit dois doivent faut préfère veux voudrais debe debes deben quiero prefiero deve devi voglio preferisco devo quero prefiro moet mag wil liever niemand должен должна должно должны нужно надо хочу предпочитаю удобнее лучше"
	wantPhrases  = "has to|have to|needs to|i like|i love|i hate|i prefer|i don't like|i don't care|ich mag|ich hätte gern|j'aime|je n'aime pas|me gusta|no me gusta|mi piace|eu gosto|ik hou"
	decideWords  = "decided decide decision chose chosen agreed conclusion concluded cause because reason why therefore entschieden entscheidung beschlossen ursache weil grund deshalb décidé décision choisi cause raison car donc decidido decisión elegido causa razón porque deciso decisione scelto perché decisão escolhido razão besloten besluit oorzaak omdat"
	correctWords = "instead actually correction rather stattdessen eigentlich sondern plutôt sino mejor invece piuttosto"
	standsWords  = "next current currently remaining left pending awaiting halfway unfinished outstanding blocked nächste nächster nächstes aktuell derzeit offen fehlt fehlen übrig prochain prochaine reste restent manque siguiente pendiente pendientes falta faltan queda quedan prossimo manca mancano próximo pendente volgende остаётся осталось следующий"
)

// Cues is what a text says by its form. It serves to weigh a message, not to find an
// instruction.
type Cues struct {
	Obliges  bool // it has words with which people say what must, may or should be or what they want, or an instruction
	Corrects bool // it has words with which they correct something
	Stands   bool // it has words with which they say where the work stands
	Asks     bool // its last sentence is a question, and no polite order
}

// CuesOf returns the cues of a text. What a question says obliges nobody, but what a polite
// order says does.
func CuesOf(text string) (c Cues) {
	for line := range strings.Lines(text) {
		for _, s := range sentences(strings.TrimSpace(line)) {
			if c.Asks = s.asks && !s.isPolite(); !c.Asks {
				c.Obliges = c.Obliges || hasAnyWord(s.words, neverWords+" "+alwaysWords+" "+onlyWords+" "+shouldWords) || hasPhrase(s.words, wantPhrases)
			}
			c.Stands = c.Stands || !s.asks && hasAnyWord(s.words, standsWords)
			c.Corrects = c.Corrects || hasAnyWord(s.words, notWords+" "+correctWords)
		}
	}
	c.Obliges = c.Obliges || len(Find(text)) > 0
	return c
}

// isPolite reports whether a question orders or tells something: "can you make sure that …?",
// "use pnpm, ok?", but not "can you tell me why?".
func (s *sentence) isPolite() bool {
	w, tag := trimLeadIn(s.words), s.clauses[len(s.clauses)-1]
	return startsWith(w, "can you|could you|will you|would you|can we|could we|kannst du|könntest du|können sie|könnten sie|peux-tu|pourrais-tu|pouvez-vous|puedes|podrías|puoi|potresti|kun je") && !hasAnyWord(w[:min(len(w), 4)], "tell explain say see remember sagen erklären") && !hasAnyWord(w, "whether why") ||
		hasAnyWord(s.words, "please pls bitte favor") || strings.Contains(s.text, "ください") ||
		len(s.clauses) > 1 && len(tag) == 1 && oneOf(tag[0], "ok okay right correct alright ja oder vale いいですか 好吗")
}

// Decides reports whether a text has words with which people say what they decided or found
// out, and why.
func Decides(text string) bool {
	return hasAnyWord(slices.Concat(clauses(mask(text))...), decideWords)
}

// Denies reports whether a word, in small letters, says that what follows does not hold.
func Denies(word string) bool { return oneOf(word, notWords+" than statt anstatt") }
