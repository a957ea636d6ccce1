package keepalivecmd

import (
	"errors"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/conversation"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/term"
)

// keepRequest keeps a session's first prompt as what was asked for first in its chain, if
// the chain has no request yet. The end of the turn would find it in the conversation, but
// a client can write that down long after it has answered, and a session that is handed
// over or dies until then would leave a successor that does not know what it is for.
//
// A session that goes on is asked nothing for the first time, and of one that gt has met
// late nobody knows whether it is.
func keepRequest(env *cli.Env, call *hook.Invocation) error {
	said := call.Input.Prompt
	if !isRequest(said) || !byPerson(call.Input.Source) {
		return nil
	}
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil || r.Hook == nil {
		return err
	}
	switch r.Source {
	case "resume", "compact", "fork":
		return nil
	}
	said = strings.TrimSpace(term.CleanText(env.Redact(said)))
	part := thread.Part{Session: r.ID, Agent: r.Agent, First: thread.Quote{Text: said, Time: env.Now().UTC()}}
	_, err = thread.Update(call.Home.Town.State, r.Chain(), atomicfile.Unsynced, call.Warn, func(t *thread.Thread) {
		if t.Request.Text == "" {
			t.Take(part)
		}
	})
	if errors.Is(err, flock.ErrBusy) {
		return nil // the end of the turn has the time
	}
	return err
}

// isRequest reports whether a prompt asks for something: it is none of gt's own, no
// command to the client, and not in a tag, as what a client tells its agent by itself.
func isRequest(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	if prompt == "" || conversation.IsOpening(prompt) || strings.HasPrefix(prompt, "<") {
		return false
	}
	line, _, _ := strings.Cut(prompt, "\n")
	word, _, _ := strings.Cut(line, " ")
	return !strings.HasPrefix(word, "/") || strings.Contains(word[1:], "/")
}

// byPerson reports whether a prompt's source, where the client gives one, is a person or a
// program that a person runs, and not the client itself.
func byPerson(source string) bool { return source == "" || source == "user" || source == "sdk" }
