package handoffcmd

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/waiting"
	"gt/lib/text/term"
)

// cancelHandover takes back a hand-over that no session has received: the one whose note is named,
// or the one of this session, or, for a person, the only one in the home.
func (g *grammar) cancelHandover(env *cli.Env, call *hook.Invocation) error {
	home := call.Home
	lock, err := home.LockWithin(saveWait)
	switch {
	case err == nil:
		defer lock.Unlock()
	case request.Denied(err) && call.ID != "" && g.What == nil && !g.DryRun: // a sandbox can only withdraw its own request
		if subject, ok := request.AskedHandover(home, call.ID); ok {
			if err := request.Withdraw(home, call.ID); err != nil && !request.Denied(err) {
				return err
			}
			return printCancelled(env, "", subject)
		}
		return err
	default:
		return err
	}
	all, err := waiting.ListHandovers(home, call.Warn)
	if err != nil {
		return err
	}
	var told session.ID // a session that is being told one, which is too late to cancel
	all = slices.DeleteFunc(all, func(w waiting.Handover) bool {
		told = cmp.Or(w.PromisedTo, told)
		return w.PromisedTo != ""
	})
	left := slices.DeleteFunc(slices.Clone(all), func(w waiting.Handover) bool {
		if g.What != nil {
			return !strings.HasPrefix(w.Note, strings.ToLower(*g.What))
		}
		return call.ID != "" && (w.Record == nil || w.Record.ID != call.ID)
	})
	if len(left) != 1 {
		why := "no hand-over waits here"
		if len(left) > 1 {
			why = fmt.Sprintf("%d hand-overs wait here", len(left))
		} else if len(all) > 0 {
			why, left = "no such hand-over waits here", all
		} else if told != "" {
			why = fmt.Sprintf("session %s is being told it", told)
		}
		var hints []string
		for _, w := range left {
			hints = append(hints, strings.TrimSpace("gt-handoff --cancel "+w.Note+"  "+term.OneLine(term.Clean(env.Redact(w.Subject)))))
		}
		if len(all) == 0 {
			hints = append(hints, "gt-mail inbox --all lists every note")
		}
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s", why), hints...)
	}
	w := left[0]
	if g.DryRun {
		return env.Printf("would cancel: %s\n", term.Clean(env.Redact(w.Note+"  "+w.Subject)))
	}
	if err := w.Cancel(home, env.Now(), call.Warn); err != nil {
		return err
	}
	return printCancelled(env, w.Note, w.Subject)
}

func printCancelled(env *cli.Env, note, subject string) error {
	return env.Printf("cancelled: %s\n", strings.TrimSpace(term.Clean(env.Redact(note+"  "+subject))))
}
