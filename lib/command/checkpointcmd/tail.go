package checkpointcmd

import (
	"cmp"
	"errors"
	"io/fs"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/contract"
	"gt/lib/client/hook"
	"gt/lib/client/readers/files"
	"gt/lib/client/recorded"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/entries"
	"gt/lib/state/activity"
	"gt/lib/state/thread"
	"gt/lib/text/term"
)

// advance reads what the turn added to the conversation, so that a start after a crash need
// not. It reads only conversations in the person's own stores, because a hook's input names
// the file.
//
// share is the percentage of the context at which the agent is warned.
func advance(env *cli.Env, call *hook.Invocation, share int) error {
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil || r.Ended() || r.Transcript == "" {
		return nil // nothing would ever remove it; save warns
	}
	if !registry.HasReader(cmp.Or(r.Agent, contract.Default)) {
		return nil
	}
	c, err := recorded.Of(account.Own{Getenv: env.Getenv, Projects: []string{call.Home.Dir, call.Dir}}, call.Home, r)
	switch {
	case account.Unreadable(err):
		return err
	case err != nil:
		return nil // a start after a crash reports it
	}
	to := tail.Carry{Home: call.Home, Record: r, Beside: beside(env, call, c.File), Now: env.Now(), Warn: call.Store.Warn}
	fold, _, err := c.Carry(entries.Of(env, call.Dir, c.File.Client), to, env.Redact)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was said yet
	}
	if fold != nil {
		err = errors.Join(err, measure(call, fold, share))
	}
	return err
}

// beside returns what runs in the background of the session, as its client reports it.
func beside(env *cli.Env, call *hook.Invocation, f conversation.File) *thread.Beside {
	b := &thread.Beside{Session: call.ID, Running: call.Input.Running()}
	if r, ok := files.Of(f.Client).(conversation.Teams); ok {
		b.Team = r.Team(f)
	}
	for _, all := range [][]string{b.Running, b.Team} {
		for i, line := range all {
			all[i] = term.Cut(term.OneLine(term.Clean(env.Redact(line))), maxBeside)
		}
	}
	return b
}

// maxBeside limits the description of one background task, in characters.
const maxBeside = 200

// measure stores how full the context is, for the hook of the next prompt.
func measure(call *hook.Invocation, fold *summary.Fold, share int) error {
	c := fold.Context
	if c.ClientWarns {
		share = 0
	}
	return activity.Change(call.Home, call.ID, func(s *activity.State) bool {
		before := *s
		*s = s.Measure(c.Used, fold.Window(), c.Compactions, share)
		return *s != before
	})
}
