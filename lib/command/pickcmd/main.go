// Package pickcmd is the gt-pick command: a finder over sessions, for a person at
// a terminal.
//
// It is a program of its own, for the finder that it is made with would make
// gt-seance larger by half and slower at every start.
package pickcmd

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	fzf "github.com/junegunn/fzf/src"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

const summary = `
Shows a list of sessions to choose from: those on standard input, one JSON
object per line as gt-seance prints them. Typing narrows the list, a preview
shows each conversation, and the id of the chosen session is printed.

  gt-seance list --json | gt-pick
  gt-seance list --json --outcome crash | gt-pick | xargs gt-seance read
  gt-seance list --json | gt-pick --action enter=resume --action ctrl-y=print

It searches the id, the age, the agent, the folder, and the title. 'word
matches exactly, and !word excludes. With --action, the action's name and a tab
are printed before the id.
`

const exitCodes = `
   0  a session was chosen
   1  none was chosen, or there was none
`

// Main runs gt-pick and returns its exit code.
func Main(env *cli.Env) int {
	hook.AsStarted(env)
	return cli.Run(env, Program())
}

// Program describes gt-pick.
func Program() cli.Program {
	return cli.Program{Name: "gt-pick", Summary: summary, Exits: exitCodes, Grammar: &grammar{}}
}

type grammar struct {
	cli.Flags
	Action []action `sep:"none" placeholder:"KEY=NAME" help:"A key that chooses a session, and the name of its action (repeatable; default: enter)."`
}

// action is a key that chooses a session, and the name to print for it.
type action struct{ key, name string }

var actionForm = regexp.MustCompile(`^([a-z][a-z0-9-]*)=([a-z][a-z0-9-]*)$`)

// UnmarshalText reads KEY=NAME.
func (a *action) UnmarshalText(text []byte) error {
	m := actionForm.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("invalid action '%s' (try ctrl-f=fork)", text)
	}
	a.key, a.name = m[1], m[2]
	return nil
}

// Run lets a person take a session.
func (g *grammar) Run(env *cli.Env) error {
	// The finder reads and writes /dev/tty, which can be there where nobody looks:
	// in a job of cron it is not, below a program that collects what we say it is.
	switch {
	case !term.IsTerminal(env.Stderr):
		return cli.Fail(cli.Usage, fmt.Errorf("picking needs a terminal on standard error"), "gt-seance list prints the sessions")
	case term.IsTerminal(env.Stdin):
		return cli.Fail(cli.Usage, fmt.Errorf("standard input must have the sessions"), "gt-seance list --json | gt-pick")
	}
	options, err := fzf.ParseOptions(false, g.arguments(env))
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	// The first one is waited for: where there is none, the screen is left alone.
	in := newCandidates(env)
	first, err := in.next()
	if err == io.EOF {
		return cli.Failf(cli.No, "there is no session to pick from")
	} else if err != nil {
		return err
	}
	options.Input = make(chan string, 1000)
	over := make(chan struct{})
	defer close(over)
	cli.Go(func() {
		defer close(options.Input)
		for line, err := first, error(nil); err == nil; line, err = in.next() {
			select {
			case options.Input <- line:
			case <-over:
				return
			}
		}
	})
	var said []string
	options.Printer = func(s string) { said = append(said, s) }
	code, err := fzf.Run(options)
	switch {
	case code == fzf.ExitNoMatch, code == fzf.ExitInterrupt:
		return cli.Silent
	case err != nil:
		return fmt.Errorf("the finder cannot use the terminal: %w", err)
	case code != fzf.ExitOk || len(said) == 0:
		return fmt.Errorf("the finder exited with %d", code)
	}
	id, _, _ := strings.Cut(said[len(said)-1], "\t")
	if len(g.Action) > 0 {
		id = g.named(said[0]) + "\t" + id
	}
	_, err = io.WriteString(env.Stdout, id+"\n")
	return err
}

// named is the name of the action that a key stands for. A double click is as
// good as enter, and comes without a name.
func (g *grammar) named(key string) string {
	if key == "" {
		key = "enter"
	}
	for _, a := range g.Action {
		if a.key == key {
			return a.name
		}
	}
	return key
}

// arguments are the finder's, all of them: FZF_DEFAULT_OPTS is not read, for
// what helps somebody to find files can take several lines here, or run what it
// likes, or print in another form.
func (g *grammar) arguments(env *cli.Env) []string {
	args := []string{
		"--delimiter=\t", "--with-nth=2..", // what stands before the tab is not shown
		"--scheme=history", // of what fits as well, the newest first
		"--no-hscroll",     // a row stays where it is, with its id, whatever fits
		"--layout=reverse", "--info=inline-right", "--ellipsis=…",
		"--bind=ctrl-/:toggle-preview,ctrl-d:preview-half-page-down,ctrl-u:preview-half-page-up",
		"--with-shell=/bin/sh -c", // and not SHELL, which reads quotes as it likes
	}
	if env.Getenv("NO_COLOR") != "" {
		args = append(args, "--no-color")
	}
	var keys, header []string
	for _, a := range g.Action {
		keys = append(keys, a.key)
		header = append(header, a.key+" "+a.name)
	}
	if keys != nil {
		args = append(args, "--expect="+strings.Join(keys, ","))
	}
	header = append(header, "ctrl-d/u scroll", "ctrl-/ hide")
	args = append(args, "--header="+strings.Join(header, " · "))
	seance, err := process.LookPath(process.SiblingBinary("gt-seance"), env.Dir, env.Environ)
	if err != nil {
		return args // nothing shows a session
	}
	return append(args, "--preview="+preview(seance), "--preview-window=right,50%,border-left,wrap,<70(down,55%,border-top,wrap)")
}

// preview is the shell's command for what is shown of a session: what was said last, for the
// list tells the rest in short. {1} is the id, which the finder puts into quotes and which
// holds nothing that a shell would read (see candidate.line).
func preview(seance string) string {
	// A brace in the path must not be taken for a place to fill.
	seance = strings.ReplaceAll(term.Quote(seance), "{", "{''")
	return seance + " read --last 3 {1} 2>/dev/null && echo; " + seance + " show {1}"
}
