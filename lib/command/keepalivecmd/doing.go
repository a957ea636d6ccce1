package keepalivecmd

import (
	"errors"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/hook"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/activity"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
	"gt/lib/text/pasted"
	"gt/lib/text/term"
)

// nextState returns the state of a session after a hook's event. ok is false if the event changes
// nothing. noted reports whether the client keeps a registry of its own state (contract.Dialect).
//
// Only Kimi Code has an event for the person's answer (PermissionResult). Otherwise the end of
// the tool or the next event reports it. Most clients have no event for Esc or for a denied permission either.
func nextState(before activity.State, in hook.Input, noted bool) (after activity.State, ok bool) {
	become := func(s activity.Status, why activity.Reason) (activity.State, bool) {
		after = before
		after.Status, after.Reason, after.Source, after.Call = s, why, in.Kind(), ""
		after.Background = in.Kind() == "Stop" && in.RunsBackground()
		after.Login = in.Kind() == "StopFailure" && registry.IsLogin(in.Failure)
		return after, s != before.Status || why != before.Reason || after.Background != before.Background || after.Login != before.Login
	}
	inside := in.AgentID != "" // a subagent, whose events do not end the session's turn
	switch in.Kind() {
	case "UserPromptSubmit":
		if inside {
			return before, false
		}
		after, _ = become(activity.Busy, "")
		return after, true // also if the last turn's end was not reported
	case "PostToolUse", "PostToolUseFailure", "PermissionResult": // the last is the person's answer
		switch {
		case inside && before.Status != activity.NeedsInput:
			return before, false
		case before.Status == activity.NeedsInput && noted && before.Call != "" && before.Call != in.CallDigest():
			return before, false // another call, which ran in parallel to the one with the question
		case in.Interrupted && !inside:
			return become(activity.Idle, activity.Done)
		}
		return become(activity.Busy, "")
	case "PreToolUse": // of a client that reports a question only so
		if _, asks := registry.Prompting(in.ToolName); !asks {
			return before, false
		}
		fallthrough
	case "PermissionRequest":
		why := activity.Permission
		if p, _ := registry.Prompting(in.ToolName); p.Question {
			why = activity.Question
		}
		after, ok = become(activity.NeedsInput, why)
		after.Call = in.CallDigest()
		return after, ok || after.Call != before.Call
	case "Notification":
		switch kind := registry.Notice(in.Notice); {
		case kind == contract.AsksPermission && before.Status != activity.NeedsInput: // the client repeats the notice
			return become(activity.NeedsInput, activity.Permission)
		case kind == contract.AsksQuestion && before.Status != activity.NeedsInput:
			return become(activity.NeedsInput, activity.Question)
		case kind == contract.WaitsForPrompt && (before.Status == activity.Busy || before.Status == activity.NeedsInput && !noted):
			return become(activity.Idle, activity.Done) // the person stopped the turn
		}
	case "Stop", "Interrupt":
		switch {
		case inside:
		case in.Failure == "error": // Cursor's word
			return become(activity.Idle, activity.Failed)
		default:
			return become(activity.Idle, activity.Done)
		}
	case "StopFailure":
		switch {
		case inside:
		case registry.IsLimit(in.Failure):
			return become(activity.Limited, activity.Spent)
		default:
			return become(activity.Idle, activity.Failed)
		}
	}
	return before, false
}

// maxClockSkew is how far in the future a stored status may begin because another hook wrote it
// meanwhile. A larger difference means that the clock was set back.
const maxClockSkew = 10 * time.Second

// recordState stores the session's state and worktree after this event. It returns the state, and
// in noted whether the event changed it: one older than the stored state does not (maxClockSkew).
// prompt is what the person typed, "" for another event.
func recordState(call *hook.Invocation, before activity.State, prompt string, now time.Time) (after activity.State, noted bool, err error) {
	at, err := currentWorktree(call, before)
	call.Warn(err)
	if _, changes := nextState(before, call.Input, call.Dialect.NotesStatus); !changes && at == before.Worktree {
		return before, false, nil
	}
	err = activity.Change(call.Home, call.ID, func(s *activity.State) bool {
		moved := at != s.Worktree
		s.Worktree = at
		to, ok := nextState(*s, call.Input, call.Dialect.NotesStatus)
		if earlier := s.Since.Sub(now); !ok || earlier > 0 && earlier < maxClockSkew {
			after = *s
			return moved
		}
		to.Since, to.Awake = now, process.Awake()
		if call.Input.Kind() == "UserPromptSubmit" {
			to.Prompted, to.Opening = now, conversation.IsOpening(call.Input.Prompt)
			if prompt != "" && !isCommand(prompt) {
				to.Request = term.Cut(term.OneLine(prompt), activity.MaxTopic)
			}
		}
		*s, after, noted = to, to, true
		return true
	})
	return after, noted && err == nil, err
}

// currentWorktree returns activity.State.Worktree after an event, and with an error what it was before. A
// subagent can have a worktree of its own, in which the session is not.
func currentWorktree(call *hook.Invocation, before activity.State) (string, error) {
	if call.Input.AgentID != "" {
		return before.Worktree, nil
	}
	if call.Dir == call.Home.Dir {
		return "", nil
	}
	top := git.Top(call.Dir)
	switch {
	case top == before.Worktree:
		return top, nil
	case place.Real(top) == place.Real(call.Home.Dir):
		return "", nil
	}
	is, err := git.IsWorktreeOf(top, call.Home.Dir)
	switch {
	case err != nil:
		return before.Worktree, err
	case is:
		return top, nil
	}
	return "", nil
}

const maxLine = 500 // limits the line that the person's command receives, in columns

// notifyPerson starts the person's command if the session begins to wait for one of the wanted
// reasons. It does not wait for the command, which gt-session looks up.
func (t *touch) notifyPerson(env *cli.Env, call *hook.Invocation, doing activity.State) error {
	if !doing.Waits() || !slices.Contains(strings.Split(t.Notify, ","), string(doing.Reason)) {
		return nil
	}
	line := call.Input.ToolName
	for l := range strings.Lines(call.Input.LastAnswer) {
		if l = strings.TrimSpace(l); l != "" {
			line = l
		}
	}
	line = term.Cut(term.Clean(env.Redact(line)), maxLine)
	args := []string{process.SiblingBinary("gt-session"), "notify", "waiting", string(call.ID), string(doing.Reason)}
	return process.Detach(call.Home.Runtime(), args, env.ChildEnviron(), line+"\n")
}

// maxKept is the longest prompt, in bytes, that the hook of a prompt keeps if the end of the turn can
// read it from the conversation. To redact so much takes a twentieth of a second.
const maxKept = 1 << 20

// typedPrompt returns the prompt that the person sent, without secrets, "" if the event is
// none or the prompt is not kept.
func typedPrompt(env *cli.Env, call *hook.Invocation) string {
	if call.Input.AgentID != "" || call.Input.Kind() != "UserPromptSubmit" || !byPerson(call.Input.Source) {
		return ""
	}
	prompt := conversation.TypedWords(call.Input.Prompt)
	// If the end of the turn reads the conversation, it finds a long prompt there, and tells the
	// texts that clients add by themselves, in tags, from a person's.
	isTagged := strings.HasPrefix(prompt, "<")
	if isRead := !registry.RecordsHooks(call.Agent); isRead && (isTagged || len(prompt) > maxKept) {
		return ""
	}
	return strings.TrimSpace(term.CleanText(env.Redact(prompt)))
}

// keepPrompt adds a prompt to the thread of the session's chain, and makes it the first
// request if it is the session's first and the chain has none. The end of the turn reads it
// from the conversation again, but a session can be handed over or die before.
func keepPrompt(env *cli.Env, call *hook.Invocation, prompt string) error {
	if prompt == "" {
		return nil
	}
	r, err := call.Store.Get(call.ID)
	if err != nil {
		return err
	}
	now := env.Now().UTC().Truncate(time.Millisecond)
	part := thread.Part{Session: call.ID, Agent: call.Agent, Time: now, Prompts: []thread.Quote{{Text: pasted.Shorten(prompt), Time: now}}}
	state, chain := call.Home.Town.State, call.ID
	if r != nil {
		chain = r.Chain()
	}
	had, err := request.HadTurn(call.Home, call.ID)
	call.Warn(err) // the prompt is kept as if it were the first
	if !had && (r == nil || isNewConversation(r)) && !isCommand(prompt) {
		part.First = thread.Quote{Text: prompt, Time: now}
		_, err = thread.Update(state, chain, atomicfile.Unsynced, call.Warn, func(t *thread.Thread) { t.AddPrompts(part) })
	} else {
		err = thread.Append(state, chain, part, call.Warn)
	}
	if !registry.RecordsHooks(call.Agent) && errors.Is(err, flock.ErrBusy) {
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

// isCommand reports whether a prompt is a slash command and not a path.
func isCommand(prompt string) bool {
	word, _, _ := strings.Cut(prompt, " ")
	return strings.HasPrefix(word, "/") && !strings.Contains(word[1:], "/")
}

// isNewConversation reports whether a session began as a new conversation, so that its first prompt is
// its first request. Of a session whose start was not recorded, that is not known.
func isNewConversation(r *session.Record) bool {
	switch r.Source {
	case "resume", "compact", "fork":
		return false
	}
	return r.Hook != nil
}

// byPerson reports whether a prompt comes from a person or a program of theirs. Not all
// clients report a source.
func byPerson(source string) bool { return source == "" || source == "user" || source == "sdk" }
