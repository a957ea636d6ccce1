package standing

import "slices"

// Words that say what should be or what somebody wants, and that correct something.
const (
	shouldWords  = "must should shall may cannot can't required prefer prefers preference want wants rather need rule muss müssen darf dürfen soll sollen sollte möchte will lieber doit dois doivent faut préfère veux voudrais debe debes deben quiero prefiero deve devi voglio preferisco devo quero prefiro moet mag wil liever"
	decideWords  = "decided decide decision chose chosen agreed conclusion concluded cause because reason why therefore entschieden entscheidung beschlossen ursache weil grund deshalb décidé décision choisi cause raison car donc decidido decisión elegido causa razón porque deciso decisione scelto perché decisão escolhido razão besloten besluit oorzaak omdat"
	correctWords = "instead actually correction rather stattdessen eigentlich sondern plutôt sino mejor invece piuttosto"
)

// Cues reports whether a text has words with which people say what must, may or should be
// or what they want (or an instruction), and words with which they correct something. It
// serves to weigh a message, not to find an instruction.
func Cues(text string) (obliges, corrects bool) {
	words := slices.Concat(clauses(mask(text))...)
	obliges = anyOf(words, neverWords+" "+alwaysWords+" "+onlyWords+" "+shouldWords) || len(Find(text)) > 0
	return obliges, anyOf(words, notWords+" "+correctWords)
}

// Decides reports whether a text has words with which people say what they decided or found
// out, and why.
func Decides(text string) bool {
	return anyOf(slices.Concat(clauses(mask(text))...), decideWords)
}

// Denies reports whether a word, in small letters, says that what follows does not hold.
func Denies(word string) bool { return oneOf(word, notWords+" than statt anstatt") }
