// Package send gives a prompt to an agent that runs in a pane of tmux, as a person does who
// pastes it, and finds out whether the agent took it.
//
// What goes wrong elsewhere is that a text is typed and not submitted, is added to what a
// person has half typed, or answers a question that the client asks meanwhile. So the
// screen is read before and after each step, Enter is a key by itself that follows once
// the text is seen to have arrived, and a hook of the agent's is the proof.
package send

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"gt/lib/client/agent"
	"gt/lib/sys/tmux"
	"gt/lib/text/plain"
)

// What keeps a prompt from being typed, or from being submitted.
var (
	ErrAsks         = errors.New("its client asks something")
	ErrDraft        = errors.New("somebody has typed something into its input box")
	ErrNoInput      = errors.New("its input box is not on the screen")
	ErrDeaf         = errors.New("its client waits to ask its model again, and drops what it is told meanwhile")
	ErrLost         = errors.New("its client began to wait to ask its model again, and may have dropped the text")
	ErrNotArrived   = errors.New("the text did not appear in its input box")
	ErrRefused      = errors.New("its client drops the text: it has a prompt that it has not taken up yet")
	ErrNotSubmitted = errors.New("the text was typed, but is not submitted: it stands in its input box")
)

// errTaken is of a text that was submitted before Enter was pressed for it.
var errTaken = errors.New("the client has taken the text already")

// Untyped reports whether an error of Send means that nothing was typed.
func Untyped(err error) bool {
	return errors.Is(err, ErrAsks) || errors.Is(err, ErrDraft) || errors.Is(err, ErrNoInput) || errors.Is(err, ErrDeaf) || errors.Is(err, tmux.ErrReadOnly)
}

// Proof is how it is known that a prompt was submitted.
type Proof int

const (
	NoProof        Proof = iota // it is not: nothing is known of the client's screen, and no hook told
	Screen                      // the input box is empty again
	Queued                      // the same, of an agent that was busy: it takes the prompt later
	Hook                        // a hook of the agent's told
	InConversation              // it is in the agent's conversation
)

// Target is the agent that a prompt is for.
type Target struct {
	Server tmux.Server
	Pane   string // its id
	Client agent.Client
	Busy   bool // it works
	// LastPromptAt returns when a hook last told of a prompt. It is nil where no hook tells.
	LastPromptAt func() time.Time
	// Refused reports whether the client has noted since a time that it dropped a prompt. It
	// is nil where a client does not.
	Refused func(since time.Time) bool
	// PromptSeen reports whether the agent's conversation has the text as a prompt that was given
	// since a time. It is nil where nothing tells.
	PromptSeen func(since time.Time) bool
}

// Limits are how long the steps take at most.
type Limits struct {
	Settle time.Duration // until what stands against typing counts
	Arrive time.Duration // until the text is seen
	Again  time.Duration // until Enter is pressed once more, after twice that again, and so on
	Submit time.Duration // until it counts as not submitted, from the first Enter
	Hook   time.Duration // how long a hook is waited for when the screen shows the proof
}

// Patience are limits for a busy machine, where a client can take seconds for a key, and take
// an Enter that comes before it is done with a paste for a line break; a prompt of a line is
// submitted in a fifth of a second.
var Patience = Limits{Settle: 2 * time.Second, Arrive: time.Minute, Again: 2 * time.Second, Submit: 20 * time.Second, Hook: 5 * time.Second}

// pollInterval is the pause between two looks at the screen.
const pollInterval = 50 * time.Millisecond

// Prompt returns a text as it can be typed. It has no character that a terminal or a
// client takes for a key. A blank stands before a character that a client takes for the
// beginning of something else than a prompt (#, @), before a list that looks like the
// options of a question, and behind a word that it offers to complete or that would make
// Enter a new line.
//
// Nothing makes text of what looks like a command of the client or of a shell, /compact or
// !ls: pi drops blanks before it, and so does Claude Code when it was busy. command is that
// word.
func Prompt(text string) (prompt, command string) {
	text = strings.TrimSpace(plain.Text(text))
	if text == "" {
		return "", ""
	}
	if word := strings.Fields(text)[0]; word[0] == '!' || word[0] == '/' && len(word) > 1 && !strings.Contains(word[1:], "/") {
		return "", word
	}
	if strings.ContainsRune("/#?@$&:%\\", rune(text[0])) || len(text) > 1 && text[0] >= '1' && text[0] <= '9' && text[1] == '.' {
		text = " " + text
	}
	if last := text[strings.LastIndexAny(text, " \n\t")+1:]; strings.ContainsAny(last, "/!#?@$&:%\\") {
		text += " "
	}
	return text, ""
}

// First returns what an agent is told first as it can be typed: what looks like a command
// of its client is one.
func First(text string) string {
	prompt, command := Prompt(text)
	switch {
	case command == "":
		return prompt
	case command[0] == '/':
		return strings.TrimSpace(plain.Text(text))
	}
	return " " + strings.TrimSpace(plain.Text(text))
}

// Send types a text, as Prompt or a client's own command has it, and submits it. What the
// client drops is typed again: it takes it once it has taken up the prompt before.
func (t Target) Send(text string, limits Limits) (proof Proof, err error) {
	for begin, again := time.Now(), limits.Again; ; again *= 2 {
		proof, err = t.once(text, limits)
		if !errors.Is(err, ErrRefused) || time.Since(begin)+again > limits.Submit {
			return proof, err
		}
		time.Sleep(again)
	}
}

// once is Send, and returns ErrRefused for what the client drops.
func (t Target) once(text string, limits Limits) (Proof, error) {
	before, err := t.free(limits.Settle)
	if err != nil {
		return NoProof, err
	}
	begin := time.Now()
	if err := t.typeIn(text, before, begin, limits.Arrive); errors.Is(err, errTaken) {
		return InConversation, nil
	} else if err != nil {
		return NoProof, err
	}
	if err := t.Server.Type(t.Pane, "\r"); err != nil {
		return NoProof, err
	}
	if !t.Client.KnowsInput() {
		return t.awaitHook(begin, limits.Hook), nil
	}
	return t.awaitProof(begin, limits)
}

// typeIn types a text, which began at a time, into the input box of a screen.
func (t Target) typeIn(text, screen string, begin time.Time, within time.Duration) (err error) {
	_, box := t.Client.Input(screen)
	all := pieces(text, t.Client.PasteSize)
	for i, piece := range all {
		if err := t.Server.Paste(t.Pane, piece); err != nil {
			return err
		}
		if box, err = t.arrived(box, i > 0, begin, within); err != nil {
			return err
		}
	}
	if len(all) > 1 {
		time.Sleep(digestWait)
	}
	return nil
}

// heard reports whether a hook told of a prompt since a time. That of a busy agent can tell of
// another prompt.
func (t Target) heard(since time.Time) bool {
	return t.LastPromptAt != nil && !t.Busy && t.LastPromptAt().After(since)
}

// awaitHook returns the proof of a text that was typed since a time, where nothing is known of
// the screen.
func (t Target) awaitHook(since time.Time, within time.Duration) Proof {
	for first := time.Now(); ; time.Sleep(pollInterval) {
		switch {
		case t.heard(since):
			return Hook
		case t.LastPromptAt == nil || time.Since(first) > within:
			return NoProof
		}
	}
}

// awaitProof presses Enter until a text that was typed since a time is submitted.
func (t Target) awaitProof(since time.Time, limits Limits) (Proof, error) {
	s := newSubmission(time.Now(), limits)
	s.busy, s.hooked = t.Busy, t.LastPromptAt != nil
	if t.Refused != nil {
		s.refused = func() bool { return t.Refused(since) }
	}
	for ; ; time.Sleep(pollInterval) {
		v := view{heard: t.heard(since), time: time.Now()}
		screen, err := t.Server.CaptureStyled(t.Pane)
		if err != nil {
			return NoProof, err
		}
		v.input, _ = t.Client.Input(screen)
		v.deaf = t.Client.Deaf(screen)
		switch s.see(v) {
		case due:
			if err := t.Server.Type(t.Pane, "\r"); err != nil {
				return NoProof, err
			}
		case proven:
			return s.proof, nil
		case failed:
			return NoProof, s.err
		}
	}
}

// pieces returns a text in pieces of at most so many bytes. The last of several is short:
// Qwen Code shows a longer one as a few words, and on a busy machine submits those of the last
// instead of what they stand for.
func pieces(text string, size int) (all []string) {
	cut := func(at int) bool {
		if at = boundary(text, at); at == 0 {
			return false
		}
		all, text = append(all, text[:at]), text[at:]
		return true
	}
	for size > utf8.UTFMax && len(text) > size && cut(size) {
	}
	if short := size / 8; all != nil && short > 0 && len(text) > short {
		cut(len(text) - short)
	}
	return append(all, text)
}

// boundary returns where at the latest a text can be cut, 0 if nowhere: not within a
// character, and not behind a line break, which a client may drop.
func boundary(text string, at int) int {
	for at > 0 && (!utf8.RuneStart(text[at]) || text[at-1] == '\n') {
		at--
	}
	return at
}

// free returns the screen of an agent that takes a prompt. What stands against that has to
// stay for a moment: the prompt before this one may just be leaving the box.
func (t Target) free(settle time.Duration) (string, error) {
	known := t.Client.KnowsInput()
	for deadline := time.Now().Add(settle); ; time.Sleep(pollInterval) {
		screen, err := t.Server.CaptureStyled(t.Pane)
		if err != nil {
			return "", err
		}
		shown, _ := t.Client.Input(screen)
		if err = refuse(known, shown); err == nil && t.Client.Deaf(screen) {
			err = ErrDeaf
		}
		if err == nil || time.Now().After(deadline) {
			return screen, err
		}
	}
}

// refuse says why nothing is typed at what an input box shows.
func refuse(known bool, shown agent.Input) error {
	switch {
	case shown == agent.Asks:
		return ErrAsks
	case shown == agent.Draft:
		return ErrDraft
	case shown == agent.NoInput && known:
		return ErrNoInput
	}
	return nil
}

// arrived waits until a text is in the input box, which showed was: something is, and the
// box has come to rest, for a client takes its time to show a long text. more is of a text
// that follows another: what it adds may be below or above what the box shows.
//
// It returns errTaken where the client has taken the whole text, typed from since on, before
// it was seen: OpenCode puts an Enter off, so that one that was pressed again for the prompt
// before can submit what was pasted behind it.
func (t Target) arrived(was string, more bool, since time.Time, within time.Duration) (box string, err error) {
	known, before := t.Client.KnowsInput(), was
	var seen, rests time.Time // since when there is something, and the same
	begin := time.Now()
	for look := begin.Add(restWait); ; time.Sleep(pollInterval) {
		screen, err := t.Server.CaptureStyled(t.Pane)
		if err != nil {
			return "", err
		}
		shown, box := t.Client.Input(screen)
		now := time.Now()
		switch {
		case shown == agent.Asks:
			return "", ErrAsks
		case t.Client.Deaf(screen) && now.Sub(begin) <= within: // Enter comes after that
			continue
		case more && box == before && now.Sub(begin) < restWait:
		case known && shown == agent.Draft, !known && box != was || !known && !seen.IsZero():
			if seen.IsZero() {
				seen = now
			}
			if box != was {
				was, rests = box, now
			}
			if now.Sub(rests) > 2*pollInterval || now.Sub(seen) > restWait {
				return box, nil
			}
		case t.PromptSeen != nil && now.After(look):
			if t.PromptSeen(since) {
				return "", errTaken
			}
			look = time.Now().Add(restWait)
		case now.Sub(begin) > within && known:
			return "", ErrNotArrived
		case now.Sub(begin) > restWait && !known: // it may show nothing
			return box, nil
		}
	}
}

// digestWait is how long a client is left alone with the last of several pastes: one that shows
// them as a few words may submit those words, when Enter comes before it has put them away.
const digestWait = time.Second

// noteWait is how long a client that notes what it drops takes for that, on a busy machine too.
const noteWait = time.Second

// restWait is how long an input box may take to come to rest.
const restWait = 2 * time.Second
