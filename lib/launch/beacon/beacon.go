// Package beacon writes the first prompt of a session that gt starts. Its first line is the
// session's name in the client's resume picker. In a town it is a beacon:
//
//	[GAS TOWN] crew max (rig: gastown) <- self • 2026-01-17T01:00 • handoff
//
// Elsewhere it says what is handed over:
//
//	Handoff: auth: 2 of 5 done. Go on from the note.
//
// lib/conversation recognizes both, so that neither counts as a person's prompt.
package beacon

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/place/identity"
)

// Topics of a beacon: why the session starts.
const (
	ColdStart = "cold-start"
	Handoff   = "handoff"
	Assigned  = "assigned"
	attach    = "attach"
)

// IsTopic reports whether a word is a topic, of gt's or of the town's.
func IsTopic(word string) bool {
	return slices.Contains([]string{ColdStart, Handoff, Assigned, attach, "patrol", "ready"}, word)
}

// SelfSender is the sender of a beacon that a session writes for its successor.
const SelfSender = "self"

const instructions = `

Check your hook and mail, then act on the hook if present:
1. Read what gt-prime told you at the start of this session; where it told nothing, run ` + "`gt-prime`" + `.
2. ` + "`gt-mail inbox`" + ` shows hooked work and unread notes.
3. If work is hooked, do it now.
4. If nothing is, wait for instructions.`

// Prompt returns the beacon of a session that starts now. For the topics handoff,
// cold-start and attach, instructions follow. A molecule, if any, is appended to the topic.
func Prompt(to identity.Identity, sender string, now time.Time, topic, molecule string) string {
	subject := topic
	if molecule = strings.Join(strings.Fields(molecule), " "); molecule != "" { // it stays one line
		subject += ":" + molecule
	}
	line := fmt.Sprintf(conversation.Beacon+"%s <- %s • %s • %s", to, sender, now.Format("2006-01-02T15:04"), subject)
	switch topic {
	case Handoff, ColdStart, attach:
		return line + instructions
	}
	return line
}

// FromNote returns the first prompt of a session that takes over outside a town. subject is the
// note's. Unless a hook prints the note, the prompt tells the session to ask for it.
//
// FromNote removes the @ before a word of the subject, because clients read a file that a
// prompt mentions by @.
func FromNote(subject string, hookPrints bool) string {
	words := strings.Fields(subject)
	for i, w := range words {
		words[i] = strings.TrimLeft(w, "@")
	}
	subject = strings.Join(words, " ")
	if runes := []rune(subject); len(runes) > conversation.MaxSubject {
		subject = string(runes[:conversation.MaxSubject-1]) + "…"
	}
	prompt := conversation.Handoff
	if subject = strings.TrimRight(subject, " .,:;"); subject != "" {
		prompt += ": " + subject
	}
	if !strings.HasSuffix(prompt, "!") && !strings.HasSuffix(prompt, "?") {
		prompt += "."
	}
	if !hookPrints {
		prompt += " " + conversation.AskNote
	}
	return prompt + " " + conversation.FromNote
}
