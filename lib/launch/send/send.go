// Package send types a prompt into an agent's tmux pane, as a person does who pastes it,
// and finds out whether the agent took it.
//
// Naive typing fails in three ways: the text is not submitted, is appended to a person's
// draft, or answers a question that the client asks meanwhile. So Send reads the screen
// before and after each step, presses Enter separately once the text has arrived, and takes
// a hook of the agent as proof.
package send

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/sys/tmux"
	"gt/lib/text/plain"
)

// Reasons why a prompt was not typed or not submitted.
var (
	ErrAsks         = errors.New("its client asks something")
	ErrUnread       = errors.New("its screen cannot be read")
	ErrDraft        = errors.New("somebody has typed something into its input box")
	ErrNoInput      = errors.New("its input box is not on the screen")
	ErrDeaf         = errors.New("its client waits to repeat a request, and drops prompts meanwhile")
	ErrWorks        = errors.New("its client may lose a prompt that arrives while it works")
	ErrLost         = errors.New("its client began to wait to ask its model again, and may have dropped the text")
	ErrAskedFirst   = errors.New("its client asks something, and no hook reported that it took the text")
	ErrNotArrived   = errors.New("the text did not appear in its input box")
	ErrRefused      = errors.New("its client drops the text: it has a prompt that it has not taken up yet")
	ErrUntaken      = errors.New("its client did not take the text, and shows nothing of it")
	ErrNotSubmitted = errors.New("the text was typed but not submitted: it is still in the input box")

	errTaken = errors.New("the client has taken the text already") // before its Enter was pressed
)

// IsUntyped reports whether an error of Send means that nothing was typed.
func IsUntyped(err error) bool {
	return errors.Is(err, ErrAsks) || errors.Is(err, ErrUnread) || errors.Is(err, ErrDraft) || errors.Is(err, ErrNoInput) || errors.Is(err, ErrDeaf) || errors.Is(err, ErrWorks) || errors.Is(err, tmux.ErrReadOnly)
}

// Proof is how Send knows that a prompt was submitted.
type Proof int

const (
	NoProof        Proof = iota // unknown: the screen is not understood, and no hook ran
	Screen                      // the input box is empty again
	Queued                      // the same for a busy agent, which takes the prompt later
	Hook                        // a hook reported a prompt
	InConversation              // the conversation contains it
)

// Sight is what an agent's conversation shows of a prompt.
type Sight int

const (
	Unknown Sight = iota // the conversation is not known, and may have it
	Absent               // it has not got it
	Guessed              // one has it that may be another agent's, for the agent's own is not known yet
	Seen                 // it has it
)

// Target is the agent that receives a prompt.
type Target struct {
	Server tmux.Server
	Pane   string // its id
	Client agent.Client
	Busy   bool // it is working
	// LastPrompt returns when a hook last reported a prompt, and the beginning of the last
	// one with words that a hook reported. It is nil for a client without such a hook.
	LastPrompt func() (at time.Time, words string)
	// RefusedSince reports whether the client logged since a time that it dropped a prompt. It
	// is nil for clients that do not log this.
	RefusedSince func(since time.Time) bool
	// ShowsPrompt returns what the conversation shows of the text as a prompt since a time. It is nil if
	// nothing shows this.
	ShowsPrompt func(since time.Time) Sight
}

// Limits bound the steps of Send.
type Limits struct {
	Obstacle time.Duration // how long an obstacle must stay until it counts
	Arrive   time.Duration // until the text is on the screen
	Again    time.Duration // until Enter is pressed again; doubles each time
	Submit   time.Duration // from the first Enter until the text counts as not submitted or not taken
	Hook     time.Duration // how long to wait for a hook once the screen shows proof
}

// Patience suits a busy machine, where a client can take seconds for a key, and can take an
// Enter for a line break if it comes before the paste is digested. Normally a one-line
// prompt is submitted in a fifth of a second.
var Patience = Limits{Obstacle: 2 * time.Second, Arrive: time.Minute, Again: 2 * time.Second, Submit: 20 * time.Second, Hook: 5 * time.Second}

const (
	pollInterval = 50 * time.Millisecond // between two captures of the screen
	tmuxWait     = time.Minute           // for a tmux that is too busy to answer
	restWait     = 2 * time.Second       // until an input box stops changing
	noteWait     = time.Second           // until a client, even on a busy machine, logs a dropped prompt
	// digestWait is the pause after the last of several pastes. A client that shows pastes as
	// placeholders may submit a placeholder if Enter comes too early.
	digestWait = time.Second
	readEvery  = 5 * time.Second // between two readings of a conversation for a text

	// lossKey is what is typed behind a text that does not arrive. In vi's normal mode it and a
	// Backspace leave an empty box empty.
	lossKey = "^"
	// distinct is how many characters at the beginning of a prompt tell it from another, and hold
	// nothing that is taken out of what hooks report.
	distinct = 12
)

// FormatPrompt returns a text in a form that can be typed: without characters that a terminal or
// client takes for keys. A blank goes before a first character with a meaning of its own
// (#, @) and before a numbered list, which looks like the options of a question. A blank
// goes after a last word that the client would complete, or that makes Enter a line break.
//
// A command of the client or the shell (/compact, !ls) cannot be made into text: pi and a
// busy Claude Code drop the blank. Then prompt is empty and command is that word.
func FormatPrompt(text string) (prompt, command string) {
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

// FormatFirstPrompt returns an agent's first prompt in a form that can be typed. A command of the
// client stays as it is.
func FormatFirstPrompt(text string) string {
	prompt, command := FormatPrompt(text)
	switch {
	case command == "":
		return prompt
	case command[0] == '/':
		return strings.TrimSpace(plain.Text(text))
	}
	return " " + strings.TrimSpace(plain.Text(text))
}

// Send types a text and submits it. The text is in a form that can be typed, or is a command of
// the client. If the client drops it, Send types it again, because the client takes it after
// the prompt before. A client that starts can lose a text without a word: if no hook, no
// conversation and no screen has shown anything of it, Send types it once more.
func (t Target) Send(text string, limits Limits) (proof Proof, err error) {
	untaken := 0
	for begin, pause := time.Now(), limits.Again; ; {
		proof, err = t.trySend(text, limits)
		switch {
		case errors.Is(err, ErrUntaken) && untaken == 0:
			untaken++
		case errors.Is(err, ErrRefused) && time.Since(begin)+pause <= limits.Submit:
			time.Sleep(pause)
			pause *= 2
		default:
			return proof, err
		}
	}
}

// trySend is one attempt of Send. It returns ErrRefused if the client drops the text.
func (t Target) trySend(text string, limits Limits) (Proof, error) {
	before, err := t.waitUntilFree(limits.Obstacle)
	if err != nil {
		return NoProof, err
	}
	begin, earlier := time.Now(), ""
	if t.LastPrompt != nil {
		_, earlier = t.LastPrompt()
	}
	if err := t.typeIn(text, before, earlier, begin, limits.Arrive); errors.Is(err, errTaken) {
		return InConversation, nil
	} else if err != nil {
		return NoProof, err
	}
	if err := t.Server.TypeText(t.Pane, "\r"); err != nil {
		return NoProof, err
	}
	if !t.Client.KnowsInput() {
		return t.awaitHook(text, earlier, begin, limits.Hook), nil
	}
	return t.awaitProof(text, earlier, begin, limits)
}

// typeIn pastes a text into the input box and waits until it has arrived. screen is what it
// showed before, and within bounds the wait for each piece of the text.
func (t Target) typeIn(text, screen, earlier string, begin time.Time, within time.Duration) (err error) {
	_, box := t.Client.Input(screen)
	all := cutPieces(text, t.Client.PasteSize)
	for i, piece := range all {
		if err := t.Server.Paste(t.Pane, piece); err != nil {
			return err
		}
		before, empty := box, within // empty is how long the box may stay empty
		if i == 0 && t.showsLoss(text) {
			empty = within / 10 // then find out whether the client lost the text
		}
		box, err = t.awaitArrival(before, i > 0, begin, within, empty)
		switch {
		case !errors.Is(err, ErrNotArrived), empty == within: // it has arrived, or err is final
		case t.readSight(begin) == Unknown: // it may have been taken unseen
			box, err = t.awaitArrival(before, i > 0, begin, within, within)
		default:
			box, err = t.pasteAgain(text, piece, before, earlier, begin, within)
		}
		if err != nil {
			return err
		}
	}
	if len(all) > 1 {
		time.Sleep(digestWait)
	}
	return nil
}

// showsLoss reports whether an empty box behind a paste means that the client has not read
// the paste or lost it. A client that works may have taken it unseen. lossKey must not be in
// the text.
func (t Target) showsLoss(text string) bool {
	return t.Client.KnowsInput() && !t.Busy && t.ShowsPrompt != nil && !strings.Contains(text, lossKey)
}

// pasteAgain pastes a piece of a text once more if the client lost it. Clients read their input
// in order, so once lossKey, typed behind the piece, stands in the box without it, the piece was
// read. It was lost if nothing shows then that the client took it: no hook, no conversation, no
// work. Otherwise it is not pasted again, because it may still be on its way.
func (t Target) pasteAgain(text, piece, before, earlier string, begin time.Time, within time.Duration) (string, error) {
	if err := t.Server.TypeText(t.Pane, lossKey); err != nil {
		return "", err
	}
	firstBox, err := t.awaitArrival(before, false, begin, within, within)
	if err := t.Server.TypeText(t.Pane, "\x7f"); err != nil {
		return "", err
	}
	if err != nil {
		return "", err
	}
	keysBefore := strings.Count(before, lossKey)
	keyAlone := strings.Count(firstBox, lossKey) > keysBefore && !strings.Contains(withoutSpace(firstBox), strings.ToLower(screenOpening(text)))
	var emptySince time.Time // since when the box is empty and nothing shows that the text was taken
	for typed := time.Now(); time.Since(typed) < within; time.Sleep(pollInterval) {
		screen, err := t.capture()
		if err != nil {
			return "", err
		}
		shown, box := t.Client.Input(screen)
		it, another := t.hookHeard(text, earlier, begin)
		works := t.Client.ScreenState(agent.Plain(screen)) == agent.Busy
		switch {
		case shown == agent.Asks:
			return "", ErrAsks
		case shown == agent.Draft && strings.Count(box, lossKey) <= keysBefore: // the text was late
			return t.awaitArrival(before, false, begin, within, within)
		case it:
			return "", errTaken
		case shown != agent.EmptyInput || !keyAlone || another || works || t.Client.DropsPrompt(screen):
			emptySince = time.Time{}
		case emptySince.IsZero():
			emptySince = time.Now()
		case time.Since(emptySince) > restWait:
			switch t.readSight(begin) {
			case Seen:
				return "", errTaken
			case Guessed, Unknown: // another agent may have had the same text
				emptySince = time.Time{}
				continue
			}
			if err := t.Server.Paste(t.Pane, piece); err != nil {
				return "", err
			}
			return t.awaitArrival(before, false, begin, within, within)
		}
	}
	if t.readSight(begin) == Seen {
		return "", errTaken
	}
	return "", ErrNotArrived
}

// readSight returns what the conversation shows of the text. Only Seen proves that the client took
// it, and only Absent that it did not.
func (t Target) readSight(since time.Time) Sight {
	if t.ShowsPrompt == nil {
		return Unknown
	}
	return t.ShowsPrompt(since)
}

// hookHeard reports whether a hook has reported a prompt after since, and whether it was the text or
// another prompt, such as the first one of an agent that starts. earlier is what LastPrompt returned
// before. Both are false without a report, or if the agent was busy, of which nothing is known.
func (t Target) hookHeard(text, earlier string, since time.Time) (reported, another bool) {
	if t.LastPrompt == nil || t.Busy {
		return false, false
	}
	at, words := t.LastPrompt()
	if !at.After(since) {
		return false, false
	}
	// A hook that reported no words leaves the earlier ones; its prompt counts as the text.
	own := []rune(withoutSpace(text))
	another = words != earlier && !strings.Contains(withoutSpace(words), string(own[:min(len(own), distinct)]))
	return !another, another
}

// awaitHook waits for a hook's proof. It is for clients whose screen is unknown.
func (t Target) awaitHook(text, earlier string, since time.Time, within time.Duration) Proof {
	for first := time.Now(); ; time.Sleep(pollInterval) {
		it, _ := t.hookHeard(text, earlier, since)
		switch {
		case it:
			return Hook
		case t.LastPrompt == nil || time.Since(first) > within:
			return NoProof
		}
	}
}

// awaitProof presses Enter until the text is submitted.
func (t Target) awaitProof(text, earlier string, since time.Time, limits Limits) (Proof, error) {
	s := newSubmission(time.Now(), limits)
	s.busy, s.hasHook = t.Busy, t.LastPrompt != nil
	if t.RefusedSince != nil {
		s.refused = func() bool { return t.RefusedSince(since) }
	}
	if t.ShowsPrompt != nil && s.hasHook && !strings.HasPrefix(text, "/") { // no hook tells of a command
		s.sight = func() Sight { return t.readSight(since) }
	}
	words := screenOpening(text)
	for ; ; time.Sleep(pollInterval) {
		v := view{time: time.Now()}
		v.hookReported, v.otherReported = t.hookHeard(text, earlier, since)
		screen, err := t.capture()
		if err != nil {
			return t.proofAtEnd(v.hookReported, since, err)
		}
		v.input, _ = t.Client.Input(screen)
		v.deaf = t.Client.DropsPrompt(screen)
		shown := agent.Plain(screen)
		v.works = t.Client.ScreenState(shown) == agent.Busy
		v.shown = v.input != agent.Draft && strings.Contains(withoutSpace(shown), words)
		switch s.takeView(v) {
		case enterDue:
			if err := t.Server.TypeText(t.Pane, "\r"); err != nil {
				return t.proofAtEnd(v.hookReported, since, err)
			}
		case takenProven:
			return s.proof, nil
		case sendFailed:
			return NoProof, s.err
		}
	}
}

// proofAtEnd returns what proves that the client took a text before its pane was gone, or err.
func (t Target) proofAtEnd(hookReported bool, since time.Time, err error) (Proof, error) {
	switch {
	case hookReported:
		return Hook, nil
	case t.readSight(since) == Seen:
		return InConversation, nil
	}
	return NoProof, err
}

// screenOpening returns the beginning of a text, as a screen shows it at any width.
func screenOpening(text string) string {
	words := []rune(withoutSpace(text))
	return string(words[:min(len(words), 40)])
}

// withoutSpace removes white space, which clients and terminals change.
func withoutSpace(text string) string { return strings.Join(strings.Fields(plain.Text(text)), "") }

// IsPrompt reports whether an entry of a conversation is a prompt with this text, given at or
// after a time with a precision of seconds. alone says that it has to be the whole prompt;
// otherwise the client may have added something.
func IsPrompt(e conversation.Entry, text string, after time.Time, alone bool) bool {
	after = after.Truncate(time.Second) // some clients write whole seconds
	if e.Kind != conversation.Prompt && e.Kind != conversation.Reply || !e.Time.IsZero() && e.Time.Before(after) {
		return false
	}
	said, text := withoutSpace(e.Text), withoutSpace(text)
	return said == text || !alone && strings.Contains(said, text)
}

// cutPieces cuts a text into pieces of at most size bytes; 0 is no limit. The last of several is
// short: Qwen Code shows a long paste as a placeholder, and on a busy machine submits the last
// placeholder instead of its text.
func cutPieces(text string, size int) (all []string) {
	cut := func(at int) bool {
		if at = cutPlace(text, at); at == 0 {
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

// cutPlace returns the last place up to at where a text may be cut, or 0: not inside a
// character, and not after a line break, which a client may drop.
func cutPlace(text string, at int) int {
	for at > 0 && (!utf8.RuneStart(text[at]) || text[at-1] == '\n') {
		at--
	}
	return at
}

// waitUntilFree waits until the agent takes a prompt and returns its screen. An obstacle has to stay
// for settle, because the prompt before may just be leaving the box.
func (t Target) waitUntilFree(settle time.Duration) (string, error) {
	known := t.Client.KnowsInput()
	for deadline := time.Now().Add(settle); ; time.Sleep(pollInterval) {
		screen, err := t.capture()
		if errors.Is(err, tmux.ErrNoAnswer) {
			return "", fmt.Errorf("%w: %w", ErrUnread, err)
		} else if err != nil {
			return "", err
		}
		shown, _ := t.Client.Input(screen)
		switch {
		case shown == agent.Asks:
			err = ErrAsks
		case shown == agent.Draft:
			err = ErrDraft
		case shown == agent.NoInput && known:
			err = ErrNoInput
		case t.Client.DropsPrompt(screen):
			err = ErrDeaf
		case t.Client.BusyDrops && t.Client.ScreenState(agent.Plain(screen)) == agent.Busy: // mutant never: . TestScripts/session_send$
			err = ErrWorks
		}
		if err == nil || time.Now().After(deadline) {
			return screen, err
		}
	}
}

// capture returns the pane's screen. It waits for a tmux that is too busy to answer, because what
// was typed before is on its way.
func (t Target) capture() (screen string, err error) {
	for begin := time.Now(); time.Since(begin) < tmuxWait; {
		screen, err = t.Server.CaptureStyled(t.Pane)
		if !errors.Is(err, tmux.ErrNoAnswer) {
			break
		}
	}
	return screen, err
}

// awaitArrival waits until a pasted text is in the input box and the box has stopped changing, and
// returns what the box shows. before is what it showed until then. follows says that the text
// follows another piece, and so may be added outside the visible part. A client that drops what is
// typed has within to change that. A box that stays empty for emptyWait means ErrNotArrived.
//
// It returns errTaken if the client took the text, typed since a time, before it was seen.
// OpenCode delays an Enter, so one that was repeated for the prompt before can submit this
// text. A guess does not count: another agent can have had the same text, and what is pasted
// without an Enter stays in the box.
func (t Target) awaitArrival(before string, follows bool, since time.Time, within, emptyWait time.Duration) (box string, err error) {
	known, first := t.Client.KnowsInput(), before
	var seenSince, restsSince time.Time // since when there is something, and since when it is unchanged
	begin := time.Now()
	for nextLook := begin.Add(restWait); ; time.Sleep(pollInterval) {
		screen, err := t.capture()
		if err != nil {
			return "", err
		}
		shown, box := t.Client.Input(screen)
		now := time.Now()
		switch {
		case shown == agent.Asks:
			return "", ErrAsks
		case t.Client.DropsPrompt(screen) && now.Sub(begin) <= within: // Enter comes afterwards
			continue
		case follows && box == first && now.Sub(begin) < restWait: // the piece may still appear
		// In a box of unknown look, any change counts as the text.
		case known && shown == agent.Draft, !known && box != before || !known && !seenSince.IsZero():
			if seenSince.IsZero() {
				seenSince = now
			}
			if box != before {
				before, restsSince = box, now
			}
			if now.Sub(restsSince) > 2*pollInterval || now.Sub(seenSince) > restWait {
				return box, nil
			}
		case t.ShowsPrompt != nil && now.After(nextLook):
			if t.readSight(since) == Seen {
				return "", errTaken
			}
			nextLook = time.Now().Add(restWait)
		case now.Sub(begin) > emptyWait && known:
			return "", ErrNotArrived
		case now.Sub(begin) > restWait && !known: // an unknown box may show nothing
			return box, nil
		}
	}
}
