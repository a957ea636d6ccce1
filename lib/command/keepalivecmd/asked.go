package keepalivecmd

import (
	"errors"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/pasted"
	"gt/lib/text/term"
)

// maxKept is the longest prompt, in bytes, that the hook of a prompt keeps if the end of
// the turn can read it from the conversation. Redacting more takes longer than the hook's
// other work.
const maxKept = 64 << 10

// keepPrompt adds a prompt to the thread of the session's chain, and makes it the first
// request if it is the session's first and the chain has none. The end of the turn reads it
// from the conversation again, but a session can be handed over or die before.
func keepPrompt(env *cli.Env, call *hook.Invocation, first bool) error {
	said := conversation.Words(call.Input.Prompt)
	if said == "" || isTagged(said) || !byPerson(call.Input.Source) || len(said) > maxKept && conversation.HasReader(call.Agent) {
		return nil
	}
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil {
		return err
	}
	said = strings.TrimSpace(term.CleanText(env.Redact(said)))
	now := env.Now().UTC().Truncate(time.Millisecond)
	part := thread.Part{Session: r.ID, Agent: r.Agent, Time: now, Prompts: []thread.Quote{{Text: pasted.Shorten(said), Time: now}}}
	if first && begins(r) && !isCommand(said) {
		part.First = thread.Quote{Text: said, Time: now}
		_, err = thread.Update(call.Home.Town.State, r.Chain(), atomicfile.Unsynced, call.Warn, func(t *thread.Thread) { t.Hear(part) })
	} else {
		err = thread.Append(call.Home.Town.State, r.Chain(), part, call.Warn)
	}
	if errors.Is(err, flock.ErrBusy) {
		return nil // the end of the turn tries again
	}
	return err
}

// isTagged reports whether a prompt begins as the texts do that clients add by themselves.
// The reader of the conversation tells those from a person's.
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
