package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/notify"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// notifier runs the command of the person's that [notify] in config.toml names. A hook that
// sees an agent begin to wait starts it, with the reasons that gt-hooks wrote into the
// wiring, and does not wait for it.
type notifier struct {
	Test    notifyTest    `cmd:"" help:"Run the command of [notify] in config.toml as if an agent waited."`
	Waiting notifyWaiting `cmd:"" hidden:"" help:"Tell that a session waits; its hook runs this."`
}

// maxNotice bounds the line that it reads.
const maxNotice = 4 << 10

type notifyTest struct{}

// Run runs the command, and shows what came of it.
func (notifyTest) Run(env *cli.Env) error {
	command := agent.LoadPreferences(env.Getenv, func(err error) { env.Warn("%v", err) }).Notify.Command
	if len(command) == 0 {
		return cli.WithHint(cli.Failf(cli.No, "no command is set"), `in %s: [notify], and below it: command = ["notify-send", "gt"]`,
			cmp.Or(place.Config(env.Getenv, "config.toml"), "config.toml"))
	}
	if err := notify.Run(env, command, "test", "done", "This is a test."); err != nil {
		return cli.Fail(cli.No, err)
	}
	_, err := fmt.Fprintf(env.Stdout, "ran %s; gt-hooks install --all puts it into the agents' hooks\n", term.Clean(command[0]))
	return err
}

type notifyWaiting struct {
	Session string `arg:"" help:"The session that waits."`
	Reason  string `arg:"" help:"Why."`
}

// Run runs the command for a session. Nobody reads what it says, so what goes wrong
// becomes an event.
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
	command := agent.LoadPreferences(env.Getenv, func(err error) { problems = append(problems, err) }).Notify.Command
	if len(command) > 0 {
		name := h.Identity.Address()
		if in := instance.OfVariable(state, env.Getenv(instance.Variable), id); in != nil {
			name = in.Name
		}
		line, _ := io.ReadAll(io.LimitReader(env.Stdin, maxNotice)) // what cannot be read is not told
		problems = append(problems, notify.Run(env, command, name, n.Reason, strings.TrimSpace(string(line))))
	}
	if err = errors.Join(problems...); err != nil {
		t := h.Town
		_ = eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.Spare()), func(error) {}, env.Now(), eventlog.HookError, h.Identity.Address(), map[string]any{
			"session_id": id, "program": env.Name, "event": "notify", "error": term.Clean(env.Redact(err.Error())),
		})
	}
	return err
}
