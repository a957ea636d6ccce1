// Package pickcmd is the gt-pick command: an interactive finder for sessions.
//
// It is a program of its own because the finder would make gt-seance half as large again,
// and slower at every start.
package pickcmd

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	fzf "github.com/junegunn/fzf/src"

	"gt/lib/cli"
	"gt/lib/client/startenv"
	"gt/lib/sys/process"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/term"
	"gt/lib/view/palette"
)

const summary = `
Shows a list of sessions to choose from: those on standard input, one JSON
object per line as gt-seance prints them. Typing narrows the list, a preview
shows each conversation, and the id of the chosen session is printed.

  gt-seance list --json | gt-pick
  gt-seance list --json --outcome crash | gt-pick | xargs gt-seance read
  gt-seance list --json | gt-pick --action enter=resume --action ctrl-y=print

It searches the id, the age, the agent, the folder, and the title, and then what
was said and done, as gt-seance search does. 'word matches exactly, and !word
excludes. With --action, the action's name and a tab
are printed before the id.
`

const exitCodes = `
   0  a session was chosen
   1  none was chosen, or there was none
`

func Program() cli.Program {
	return cli.Program{Name: "gt-pick", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{}}
}

type grammar struct {
	cli.Flags
	Action []action `sep:"none" placeholder:"KEY=NAME" help:"A key that chooses a session, and the name of its action (repeatable; default: enter)."`
	Among  string   `hidden:"" placeholder:"FILE" help:"For the finder: print the rows in this file, those with the words of a query first."`
	Query  string   `hidden:"" help:"The query of --among."`
}

// action is a key that chooses a session, and the name that is printed for it.
type action struct{ key, name string }

var actionForm = lazyregexp.New(`^([a-z][a-z0-9-]*)=([a-z][a-z0-9-]*)$`)

func (a *action) UnmarshalText(text []byte) error {
	m := actionForm().FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("invalid action '%s' (try ctrl-f=fork)", text)
	}
	a.key, a.name = m[1], m[2]
	return nil
}

// Run feeds the sessions of standard input to the finder, and prints the id of the chosen one. With
// --among it is a command of the finder itself (see searchScript).
func (g *grammar) Run(env *cli.Env) error {
	if g.Among != "" {
		return printFound(env, g.Among, g.Query)
	}
	// The finder uses /dev/tty, which can exist although nobody sees it, for example
	// when a program collects our output. So check standard error.
	switch {
	case !term.IsTerminal(env.Stderr):
		return cli.Fail(cli.Usage, fmt.Errorf("picking needs a terminal on standard error"), "gt-seance list prints the sessions")
	case env.Getenv("TERM") == "dumb":
		return cli.Fail(cli.Usage, fmt.Errorf("the terminal (TERM=dumb) cannot show a full screen"), "gt-seance list prints the sessions")
	case term.IsTerminal(env.Stdin):
		return cli.Fail(cli.Usage, fmt.Errorf("standard input must have the sessions"), "gt-seance list --json | gt-pick")
	}
	file, err := os.CreateTemp("", "gt-pick-") // 0600: the rows, for searchArgs
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	options, err := fzf.ParseOptions(false, g.arguments(env, file.Name()))
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	// Wait for the first session before the finder takes over the screen.
	in := newCandidates(env)
	// With a preview beside it, the list has half of the terminal.
	room := term.Width(env.Stderr, env.Getenv)
	if room >= 2*besidePreview {
		room /= 2
	}
	in.narrow = room > 0 && room < narrowBelow
	first, err := in.nextLine()
	if err == io.EOF {
		return cli.Failf(cli.AnswerNo, "there is no session to pick from")
	} else if err != nil {
		return err
	}
	options.Input = make(chan string, 1000)
	// The finder closes os.Stdin before it lists rows anew. It gets another file to close, because
	// newCandidates still reads the sessions from the former one.
	if os.Stdin, err = os.Open(os.DevNull); err != nil {
		return err
	}
	over := make(chan struct{})
	defer close(over)
	cli.Go(func() {
		rows := bufio.NewWriter(file)
		defer close(options.Input)
		defer rows.Flush()
		for line, err := first, error(nil); err == nil; line, err = in.nextLine() {
			rows.WriteString(line + "\n")
			select {
			case options.Input <- line:
			case <-over:
				return
			}
		}
	})
	endWithTerminal(over)
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
	// With --expect the finder prints the key before the row.
	if len(g.Action) > 0 {
		id = g.actionName(said[0]) + "\t" + id
	}
	return env.Print(id + "\n")
}

// endWithTerminal ends the finder as SIGTERM does, which it answers by putting the terminal
// back, when the terminal hangs up or the program that started gt-pick is gone.
func endWithTerminal(over <-chan struct{}) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	parent := os.Getppid()
	cli.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-hangup:
				parent = 0
			case <-tick.C:
			case <-over:
				return
			}
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	})
}

// actionName returns the name of a key's action. The finder reports a double click as a key
// without a name; it counts as enter. A key without an action is returned as it is.
func (g *grammar) actionName(key string) string {
	key = cmp.Or(key, "enter")
	for _, a := range g.Action {
		if a.key == key {
			return a.name
		}
	}
	return key
}

const besidePreview = 70 // the width of a preview from which on it stands beside the list

// arguments returns all arguments of the finder. FZF_DEFAULT_OPTS is ignored: it is meant
// for other uses, and can run commands or change the output.
func (g *grammar) arguments(env *cli.Env, rows string) []string {
	args := []string{
		"--delimiter=\t", "--with-nth=3..", // hide what is before the second tab
		"--scheme=history", // newest first among equal matches
		"--no-hscroll",     // keep the beginning of a row visible
		"--layout=reverse", "--info=inline-right", "--ellipsis=…",
		"--bind=ctrl-/:toggle-preview,ctrl-d:preview-half-page-down,ctrl-u:preview-half-page-up",
		"--with-shell=/bin/sh -c", // not SHELL, whose quoting may differ
	}
	if env.Getenv("NO_COLOR") != "" {
		args = append(args, "--no-color")
	}
	if palette.StyleFor(env.Stderr, env.Getenv).ASCII {
		args = append(args, "--no-unicode", "--ellipsis=~")
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
		return args // without a preview
	}
	seance = quotedPath(seance)
	args = append(args, searchArgs(seance, rows)...)
	return append(args, "--preview="+previewCommand(seance), fmt.Sprintf("--preview-window=right,50%%,border-left,wrap,<%d(down,55%%,border-top,wrap)", besidePreview))
}

// previewCommand returns the shell command that shows a session: its last turns, then its details.
// {1} is the id, and {2} says which turns; the finder quotes them, and formatLine allows
// no special characters in them.
func previewCommand(seance string) string {
	return seance + " read {2} {1} 2>/dev/null && echo; " + seance + " show {1}"
}
