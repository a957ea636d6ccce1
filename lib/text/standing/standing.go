// Package standing finds the standing instructions in what a person says to a coding
// agent: what must always, never or only be done, for as long as the task lasts.
//
// It does so by rule, without a model: by words such as "never", "do not", "only",
// "from now on" in a place where they order something, in English, German, French,
// Spanish, Italian, Portuguese, Dutch, Chinese and Japanese. What stands in a block of
// code, in quotation marks or in pasted output is nobody's order. testdata/prompts has
// prompts with what a careful person finds in them, and the test says how much of
// that is found.
package standing

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind is what an instruction says of an action.
type Kind int

// The kinds of instructions.
const (
	Always Kind = iota + 1
	Never
	Only
	// Lifted takes back what was said before: "you can push now".
	Lifted
)

// MaxLength bounds an instruction's text, in characters.
const MaxLength = 200

// maxFound bounds the instructions of one text.
const maxFound = 20

// maxText bounds what is looked at of a text: a longer one is a paste.
const maxText = 64 << 10

// String returns the kind's name: always, never, only, lifted.
func (k Kind) String() string {
	switch k {
	case Always:
		return "always"
	case Never:
		return "never"
	case Only:
		return "only"
	case Lifted:
		return "lifted"
	}
	return ""
}

// MarshalText returns the kind's name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText takes the kind of a name; of a newer gt's it makes none.
func (k *Kind) UnmarshalText(name []byte) error {
	for *k = Lifted; *k > 0 && k.String() != string(name); *k-- {
	}
	return nil
}

// Instruction is a standing instruction.
type Instruction struct {
	Text string `json:"text"` // the sentence, on one line, of at most MaxLength characters
	Kind Kind   `json:"kind"`
}

// Find returns the standing instructions of a text, in its order, each once and at
// most twenty.
func Find(text string) []Instruction {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	lines := prose(text)
	said := make([][]sentence, len(lines))
	for i, l := range lines {
		said[i] = sentences(l.text)
	}
	find := finder(said)
	var all []Instruction
	ruled := false // what is listed here are instructions
	for n, l := range lines {
		if l.heads || !l.item {
			ruled = l.rules
		}
		for i, s := range said[n] {
			at, kind, ok := find(&s)
			switch {
			case lifts(&s):
				at, kind = 0, Lifted
			case ok:
				ruled = ruled || l.heads
			case ruled && l.item && !l.heads && i == 0 && !s.asks: // by its place alone
				at, kind = 0, Always
			default:
				continue
			}
			found := Instruction{Text: s.clause(at), Kind: kind}
			if !contains(all, found.Text) {
				all = append(all, found)
			}
			if len(all) == maxFound {
				return all
			}
		}
	}
	return all
}

func contains(all []Instruction, text string) bool {
	for _, i := range all {
		if i.Text == text {
			return true
		}
	}
	return false
}

// clause returns the sentence on one line or, where it is too long, what of it
// stands around the word that makes it an instruction.
func (s *sentence) clause(at int) string {
	text := s.text
	if utf8.RuneCountInString(text) > MaxLength {
		begin := s.words[at].start
		for i := at; i > 0; i-- {
			if s.words[i].mark != 0 || joins(s.words[i].text) {
				begin = s.words[i].start
				break
			}
		}
		text = strings.TrimSpace(text[begin:])
	}
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= MaxLength {
		return text
	}
	runes := []rune(text)[:MaxLength-1]
	for n := len(runes); n > MaxLength/2; n-- {
		if unicode.IsSpace(runes[n-1]) {
			return strings.TrimSpace(string(runes[:n])) + "…"
		}
	}
	return string(runes) + "…"
}
