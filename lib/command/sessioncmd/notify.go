package sessioncmd

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/notify"
	"gt/lib/live/status"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// notifier runs the command that [notify] in the person's config.toml names. When an agent
// begins to wait, a hook starts it and does not wait for it. gt-hooks writes into the
// wiring which reasons to notify of.
type notifier struct {
	Test    notifyTest    `cmd:"" help:"Run the command of [notify] in config.toml as if an agent waited."`
	Silent  notifySilent  `cmd:"" help:"Run it for each agent that works and gives no sign, once; cron and gt-watch run this."`
	Waiting notifyWaiting `cmd:"" hidden:"" help:"Tell that a session waits; its hook runs this."`
}

const maxNotice = 4 << 10 // limits the message on standard input, in bytes

type notifyTest struct{}

func (notifyTest) Run(env *cli.Env) error {
	command := agent.LoadPreferences(place.Config(env.Getenv), env.WarnError).Notify.Command
	if len(command) == 0 {
		return cli.WithHint(cli.Failf(cli.AnswerNo, "no command is set"), `in %s: [notify], and below it: command = ["notify-send", "gt"]`,
			cmp.Or(place.Config(env.Getenv, "config.toml"), "config.toml"))
	}
	if err := notify.Run(env, command, "test", string(status.Waiting), "done", "This is a test."); err != nil {
		return cli.Fail(cli.AnswerNo, err)
	}
	return env.Printf("ran %s; gt-hooks install --all puts it into the agents' hooks\n", term.Clean(command[0]))
}

type notifyWaiting struct {
	Session string `arg:"" help:"The session that waits."`
	Reason  string `arg:"" help:"Why."`
}

// Run runs the command for a waiting session. Nobody sees its output, so it logs errors as events.
func (n notifyWaiting) Run(env *cli.Env) error {
	id, err := session.ParseID(n.Session)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	state := place.StateOf(env.Getenv)
	h, ok, err := home.OfSession(state, string(id))
	if err != nil || !ok {
		return err
	}
	var problems []error
	command := agent.LoadPreferences(place.Config(env.Getenv), func(err error) { problems = append(problems, err) }).Notify.Command
	if len(command) > 0 {
		name := h.Identity.Address()
		if in := instance.OfVariable(state, env.Getenv(instance.Variable), id); in != nil {
			name = in.Name
		}
		line, _ := io.ReadAll(io.LimitReader(env.Stdin, maxNotice)) // an unreadable message is left out
		problems = append(problems, notify.Run(env, command, name, string(status.Waiting), n.Reason, strings.TrimSpace(string(line))))
	}
	if err = errors.Join(problems...); err != nil {
		t := h.Town
		_ = eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.SpareEvents()), func(error) {}, env.Now(), eventlog.HookError, h.Identity.Address(), map[string]any{
			"session_id": id, "program": env.Name, "event": "notify", "error": term.Clean(env.Redact(err.Error())),
		})
	}
	return err
}

type notifySilent struct{}

// Run runs the person's command for each silent agent of all scopes, once for each silence.
func (notifySilent) Run(env *cli.Env) error {
	own := agent.LoadPreferences(place.Config(env.Getenv), env.WarnError).Notify
	if !own.RunsFor(activity.Silent) {
		return nil
	}
	scopes, err := roster.ChosenScopes(env, "", true)
	if err != nil {
		return err
	}
	found, failed := roster.Read(env, scopes)
	for _, s := range found {
		for _, m := range s.Agents {
			if m.SilentFor == 0 {
				continue
			}
			first, err := m.NoteSilence(true) // before, so that no two commands tell of it
			if first {
				err = notify.Run(env, own.Command, m.Name, string(m.Status), string(activity.Silent), roster.StatusText(m))
			}
			// The person was not told, so the next run tries again.
			if first && err != nil {
				_, undone := m.NoteSilence(false)
				err = errors.Join(err, undone)
			}
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
