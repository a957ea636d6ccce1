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

// keepRequest stores a session's first prompt as the first request of its chain, if the
// chain has none. The end of the turn would read it from the conversation, but a client may
// write that long after its answer. A session that is handed over or dies before would
// leave a successor without its task.
//
// It ignores sessions that continue a conversation, and those whose start was not recorded.
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
		return nil // the end of the turn tries again
	}
	return err
}

// isRequest reports whether a prompt asks for something. Prompts of gt, commands to the
// client and tagged texts, which clients add by themselves, do not.
func isRequest(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	if prompt == "" || conversation.IsOpening(prompt) || strings.HasPrefix(prompt, "<") {
		return false
	}
	line, _, _ := strings.Cut(prompt, "\n")
	word, _, _ := strings.Cut(line, " ")
	return !strings.HasPrefix(word, "/") || strings.Contains(word[1:], "/")
}

// byPerson reports whether a prompt comes from a person or a program of theirs. Not all
// clients report a source.
func byPerson(source string) bool { return source == "" || source == "user" || source == "sdk" }
