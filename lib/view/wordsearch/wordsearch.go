// Package wordsearch reads what gt-seance search finds, for a screen on which a person types
// the words.
package wordsearch

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"gt/lib/state/session"
	"gt/lib/text/term"
)

// Session is a session whose conversation has the words.
type Session struct {
	ID       session.ID `json:"session_id"`
	Chain    session.ID `json:"chain_id"`
	Subagent session.ID `json:"subagent_id"` // whose conversation has them, if it is not its own
	Turn     int        `json:"turn"`        // of the best exchange
	Text     string     `json:"text"`        // its line, cleaned, and cut around the match

	Matches []string `json:"matches"`
}

// ReadSessions reads the output of gt-seance search --json, the best session first.
func ReadSessions(r io.Reader) (found []Session) {
	for in := json.NewDecoder(r); ; {
		var s Session
		if in.Decode(&s) != nil {
			return found // the end, or half a line of a search that was ended
		}
		s.cutText()
		found = append(found, s)
	}
}

// The bytes of a line that are kept, before its first match and in all.
const maxBefore, maxText = 30, 400

// cutText cuts the line to begin shortly before the first match, and forgets the matches.
func (s *Session) cutText() {
	text := s.Text
	if len(s.Matches) > 0 {
		if at := strings.Index(text, s.Matches[0]); at > 2*maxBefore {
			for at -= maxBefore; !utf8.RuneStart(text[at]); at++ {
			}
			text = "…" + text[at:]
		}
	}
	text = strings.ToValidUTF8(text[:min(len(text), maxText)], "")
	s.Text, s.Matches = term.OneLine(term.Clean(strings.Clone(text))), nil
}
