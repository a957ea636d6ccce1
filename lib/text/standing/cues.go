package standing

import "slices"

// Words that say what should be or what somebody wants, and that correct something.
const (
	shouldWords  = "must should shall may cannot can't required prefer prefers preference want wants rather need rule muss müssen darf dürfen soll sollen sollte möchte will lieber doit dois doivent faut préfère veux voudrais debe debes deben quiero prefiero deve devi voglio preferisco devo quero prefiro moet mag wil liever"
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

// Denies reports whether a word, in small letters, says that what follows does not hold.
func Denies(word string) bool { return oneOf(word, notWords+" than statt anstatt") }
