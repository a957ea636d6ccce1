package keepalivecmd

import (
	"errors"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/pasted"
	"gt/lib/text/term"
)

// maxKept is the longest prompt, in bytes, that the hook of a prompt keeps if the end of
// the turn can read it from the conversation. To redact so much takes a twentieth of a
// second.
const maxKept = 1 << 20

// keepPrompt adds a prompt to the thread of the session's chain, and makes it the first
// request if it is the session's first and the chain has none. The end of the turn reads it
// from the conversation again, but a session can be handed over or die before.
func keepPrompt(env *cli.Env, call *hook.Invocation) error {
	said := conversation.Words(call.Input.Prompt)
	isRead := registry.HasReader(call.Agent)
	if said == "" || isRead && (isTagged(said) || len(said) > maxKept) || !byPerson(call.Input.Source) {
		return nil
	}
	r, err := call.Store.Get(call.ID)
	if err != nil {
		return err
	}
	said = strings.TrimSpace(term.CleanText(env.Redact(said)))
	now := env.Now().UTC().Truncate(time.Millisecond)
	part := thread.Part{Session: call.ID, Agent: call.Agent, Time: now, Prompts: []thread.Quote{{Text: pasted.Shorten(said), Time: now}}}
	state, chain := call.Home.Town.State, call.ID
	if r != nil {
		chain = r.Chain()
	}
	had, err := request.HadTurn(call.Home, call.ID)
	call.Warn(err) // the prompt is kept as if it were the first
	if !had && (r == nil || begins(r)) && !isCommand(said) {
		part.First = thread.Quote{Text: said, Time: now}
		_, err = thread.Update(state, chain, atomicfile.Unsynced, call.Warn, func(t *thread.Thread) { t.Hear(part) })
	} else {
		err = thread.Append(state, chain, part, call.Warn)
	}
	if isRead && errors.Is(err, flock.ErrBusy) {
		return nil // the end of the turn tries again
	}
	if err != nil {
		return err
	}
	// Some clients run this hook and the one of the start at the same time. The session's
	// chain is unknown until that one wrote the record, and either may be the last.
	if r == nil {
		r, err = call.Store.Get(call.ID)
	}
	if err != nil || r == nil || !r.JoinsChain() {
		return err
	}
	return thread.Move(state, call.ID, r.Chain(), call.ID, atomicfile.Unsynced, call.Warn)
}

// isTagged reports whether a prompt begins as the texts do that clients add by themselves.
// A reader of the conversation tells those from a person's.
func isTagged(prompt string) bool { return strings.HasPrefix(prompt, "<") }

// isCommand reports whether a prompt is a slash command and not a path.
func isCommand(prompt string) bool {
	word, _, _ := strings.Cut(prompt, " ")
	return strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/")
}

// begins reports whether a session began as a new conversation, so that its first prompt is
// its first request. Of a session whose start was not recorded, that is not known.
func begins(r *session.Record) bool {
	switch r.Source {
	case "resume", "compact", "fork":
		return false
	}
	return r.Hook != nil
}

// byPerson reports whether a prompt comes from a person or a program of theirs. Not all
// clients report a source.
func byPerson(source string) bool { return source == "" || source == "user" || source == "sdk" }
