// Package watchcmd is the gt-watch command: the live screen of a fleet. It shows what
// gt-session list --hosts says, and does everything by running gt-session.
//
// It is a program of its own because a screen would make gt-session slower at every start.
package watchcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	tea "charm.land/bubbletea/v2"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/startenv"
	"gt/lib/place"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

const summary = `
Shows the agents of gt-session, of all hosts, on a screen that stays: what each
does, or what it waits for, and the last lines of the chosen one. From there you
attach, answer, send and stop; ? lists the keys.

  gt-watch
  gt-watch -A               the agents of all profiles and workspaces
`

const exitCodes = `
   0  you left it, or it was ended by a signal
`

func Program() cli.Program {
	return cli.Program{Name: "gt-watch", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}}
}

type grammar struct {
	cli.Flags
	Profile    string `type:"given" short:"p" placeholder:"NAME" help:"The agents of this profile."`
	Everywhere bool   `short:"A" name:"everywhere" help:"The agents of all profiles and workspaces."`
}

func (g *grammar) Validate() error {
	if g.Everywhere && g.Profile != "" {
		return fmt.Errorf("-A means all profiles (leave -p %s out)", g.Profile)
	}
	return nil
}

// framesPerSecond bounds how often the screen is drawn. It is drawn only when it changed.
const framesPerSecond = 20

// The terminal's title is put on its stack, and taken back at the end.
const pushTitle, popTitle = "\x1b[22;2t", "\x1b[23;2t"

func (g *grammar) Run(env *cli.Env) error {
	const list = "gt-session list prints the agents"
	switch {
	case !term.IsTerminal(env.Stdin) || !term.IsTerminal(env.Stdout):
		return cli.Fail(cli.Usage, errors.New("watching needs a terminal"), list)
	case env.Getenv("TERM") == "" || env.Getenv("TERM") == "dumb":
		return cli.Fail(cli.Usage, fmt.Errorf("the terminal (TERM=%s) cannot show a full screen", env.Getenv("TERM")), list)
	}
	r := newReader(env)
	r.profile, r.everywhere = g.Profile, g.Everywhere
	defer r.close()
	first := r.read() // a wrong profile is told before the screen is taken
	if first.err != nil && first.rows == nil {
		return first.err
	}
	// A hang-up and the end of the session are no accident, and the terminal is put back.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGHUP)
	defer stop()
	m := newModel(env, r, palette.StyleFor(env.Stdout, env.Getenv))
	m.notified = agent.LoadPreferences(place.Config(env.Getenv), func(error) {}).Notify
	m.showSnapshot(first)
	input := env.Stdin
	if f, ok := input.(*os.File); ok {
		input = &typedInput{File: f}
	}
	io.WriteString(env.Stdout, pushTitle)
	defer io.WriteString(env.Stdout, popTitle)
	_, err := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(input), tea.WithOutput(env.Stdout), tea.WithEnvironment(env.Environ), tea.WithFPS(framesPerSecond)).Run()
	switch {
	case errors.Is(err, tea.ErrProgramPanic):
		return cli.Fail(cli.Bug, err)
	case ctx.Err() != nil, errors.Is(err, tea.ErrInterrupted):
		return nil
	case err != nil:
		return fmt.Errorf("cannot use the terminal: %w", err)
	}
	return nil
}
