package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"gt/lib/text/spelling"
	"gt/lib/text/term"
)

type Program struct {
	Name    string // such as "gt-prime"
	Summary string // what it does and an example or two, wrapped at 80 columns
	Exits   string // its exit codes, a line each, without the shared ones
	Grammar any    // pointer to a kong grammar; the selected node has Run(*Env, …) error

	// Prepare corrects the environment and the arguments before anything reads them.
	Prepare func(*Env)

	// FastPath reads the arguments with which a client calls the program at every prompt or tool
	// call, and returns nil for all others. It may be nil. Building even one command's grammar
	// takes eighty times as long (BenchmarkParse), and a tenth of the start of a Go program.
	FastPath func(args []string) Command

	// NotHook says that no hook runs the program: its --hook is a flag like others.
	NotHook bool

	// Complete completes values of flags and arguments by name, where the grammar does not suffice.
	Complete map[string]Completer

	// UnusedGroups returns groups of commands and flags that are of no use yet, which the help
	// leaves out. It may be nil.
	UnusedGroups func(*Env) []string
}

const helpCommand = "help"

type Command interface{ Run(*Env) error }

// Run parses env.Args with p.Grammar, runs the selected command and returns the exit code.
// A panic is reported as a bug with code 70, because Go's own 2 would block the agent.
//
// With --hook among the arguments of a program for hooks the code is always 0: a hook never harms
// its agent. Errors are still written to standard error.
func Run(env *Env, p Program) (code int) {
	env.Name = p.Name
	if p.Prepare != nil {
		p.Prepare(env)
	}
	// Completing a hook's command line does not count as one.
	hook := !p.NotHook && slices.Contains(env.Args, "--hook") && env.Args[0] != completeCommand
	if hook {
		// If the client has closed the pipe, a write must fail instead of killing this process.
		signal.Ignore(syscall.SIGPIPE)
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exitPanic: // from --help and --version
			code = int(r)
		default:
			reportPanic(env, r)
			code = Bug
		}
		if hook { // mutant never: TestRun
			code = Done
		}
	}()

	if p.FastPath != nil {
		if c := p.FastPath(env.Args); c != nil {
			return Report(env, c.Run(env))
		}
	}
	if code, asked := answerCompletion(env, p); asked {
		return code
	}
	switch first := append(env.Args, "")[0]; {
	case first == helpCommand: // like git and go
		env.Args = append(slices.Clone(env.Args[1:]), "--help")
	case len(env.Args) == 1 && (first == "-V" || first == "-v"):
		env.Args = []string{"--version"}
	}
	if g := selectGrammar(p.Grammar, env.Args); g != nil { // that of one command takes less time
		one := p
		one.Grammar = g
		if parser, err := newParser(env, one); err == nil {
			if ctx, err := parser.Parse(env.Args); err == nil && missingValue(parser.Model.Node, env.Args) == nil {
				return Report(env, ctx.Run())
			}
		}
	}
	parser, err := newParser(env, p)
	if err != nil {
		panic(err) // a mistake in the grammar itself
	}
	ctx, err := parser.Parse(env.Args)
	if f := missingValue(parser.Model.Node, env.Args); f != nil {
		err = fmt.Errorf("--%s needs a value", f.Name)
	}
	if word, _ := unknownWord(parser.Model.Node, env.Args); err != nil && word == "version" {
		_, err = parser.Parse([]string{"--version"}) // which ends the program
	}
	if err != nil {
		text, hint := explainUsage(err, parser.Model.Node, env.Args)
		env.Error("%s", text)
		if hint != "" {
			env.Hint("%s", hint)
		}
		env.Hint("%s --help shows the usage", commandPath(parser.Model.Node, env.Args))
		if hook && env.Stdin != nil {
			drainInput(env.Stdin)
		}
		return Usage
	}
	return Report(env, ctx.Run())
}

// missingValue returns the flag whose value is missing at the end of a command line. kong
// would take it for an empty value, which for a filter means everything.
func missingValue(app *kong.Node, args []string) *kong.Flag {
	l := &typedLine{node: app, given: map[*kong.Flag]bool{}}
	for _, arg := range args {
		l.applyWord(arg)
	}
	return l.flag
}

// commandPath returns the program's name, with the subcommand that args begin with if they do.
func commandPath(app *kong.Node, args []string) string {
	for _, child := range app.Children {
		if len(args) > 0 && args[0] == child.Name {
			return app.Name + " " + child.Name
		}
	}
	return app.Name
}

// unknownWord returns a word that should be a command but is none, and the commands that there are.
func unknownWord(app *kong.Node, args []string) (word string, there []string) {
	node := app
	for _, arg := range args {
		at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == arg })
		switch {
		case len(node.Children) == 0 || strings.HasPrefix(arg, "-"):
			return "", nil
		case at >= 0:
			node = node.Children[at]
			continue
		}
		for _, child := range node.Children {
			if !child.Hidden {
				there = append(there, strings.TrimPrefix(child.FullPath(), app.Name+" "))
			}
		}
		return strings.TrimPrefix(node.FullPath()+" "+arg, app.Name+" "), there
	}
	return "", nil
}

// explainUsage explains a usage error to a person who does not know kong, with a suggestion.
func explainUsage(err error, app *kong.Node, args []string) (text, hint string) {
	text = err.Error()
	if word, there := unknownWord(app, args); word != "" && strings.HasPrefix(text, "unexpected argument ") {
		if word == completionCommand {
			return "completion wants a shell: bash, zsh or fish", ""
		}
		return fmt.Sprintf("no command '%s'", word), spelling.Suggest(spelling.FindNear(word, there))
	}
	if flag, ok := strings.CutPrefix(text, "unknown flag "); ok {
		for _, child := range app.Children {
			if len(args) > 0 && child.Name == args[0] && slices.ContainsFunc(child.Flags, func(f *kong.Flag) bool { return f.Tag.Has("behind") }) {
				return text, "a flag of the agent stands behind --, as in: " + child.FullPath() + " -- " + flag
			}
		}
	}
	if name, ok := strings.CutPrefix(text, "expected \""); ok {
		name, _, _ = strings.Cut(name, "\"")
		return name + " is missing", ""
	}
	if flag, got, ok := strings.Cut(text, "expected a valid "); ok {
		if _, got, ok = strings.Cut(got, " but got "); ok {
			return strings.NewReplacer("[<", "<", ">]", ">").Replace(flag) + got + " is not a number", ""
		}
	}
	return strings.NewReplacer(`one of "",`, "one of ", `,"" but`, " but").Replace(text), ""
}

// newParser returns kong's parser for the program's grammar, with our help and our own exit.
func newParser(env *Env, p Program) (*kong.Kong, error) {
	return kong.New(p.Grammar,
		kong.Name(p.Name),
		kong.Description(strings.TrimSpace(p.Summary)),
		kong.ConfigureHelp(kong.HelpOptions{NoAppDescFormat: true, NoExpandSubcommands: true, WrapUpperBound: 80}),
		kong.Help(func(o kong.HelpOptions, ctx *kong.Context) error {
			if p.UnusedGroups != nil {
				hideGroups(ctx.Model.Node, p.UnusedGroups(env))
			}
			if err := kong.DefaultHelpPrinter(o, ctx); err != nil {
				return err
			}
			_, err := io.WriteString(ctx.Stdout, exitHelp(p)+"\nIn a shell: "+p.Name+" completion bash|zsh|fish prints what completes it.\n")
			return err
		}),
		kong.WithHyphenPrefixedParameters(true),
		kong.NamedMapper("given", kong.MapperFunc(parseNonEmpty)),
		kong.Writers(checkedWriter{env}, cleanWriter{env}),
		// Run recovers from this panic, which ends --help and --version.
		kong.Exit(func(code int) { panic(exitPanic(code)) }),
		kong.Bind(env),
	)
}

// hideGroups removes the commands and flags of the groups from the help (see Program.UnusedGroups).
func hideGroups(n *kong.Node, groups []string) {
	idle := func(g *kong.Group) bool { return g != nil && slices.Contains(groups, g.Key) }
	for _, f := range n.Flags {
		f.Hidden = f.Hidden || idle(f.Group)
	}
	for _, child := range n.Children {
		hideGroups(child, groups)
	}
	n.Children = slices.DeleteFunc(n.Children, func(n *kong.Node) bool { return idle(n.Group) })
}

// parseNonEmpty reads a value with the tag type:"given", which must not be empty: an unset shell
// variable would change its meaning.
func parseNonEmpty(ctx *kong.DecodeContext, target reflect.Value) error {
	if err := ctx.Scan.PopValueInto("string", target.Addr().Interface()); err != nil {
		return err
	}
	if target.Kind() == reflect.String && target.Len() == 0 {
		return errors.New("it is empty")
	}
	return nil
}

// reportPanic reports a panic. It ignores a panic of its own, because what it calls may be broken.
func reportPanic(env *Env, r any) {
	defer func() { _ = recover() }()
	stack := debug.Stack()
	if f, ok := r.(*taskPanic); ok { // in a goroutine
		r, stack = f.value, f.stack
	}
	if env.Getenv("GT_TRACE") != "" {
		os.Stderr.Write(stack)
	}
	env.Error("internal error: %v", r)
	env.Hint("this is a bug in %s; GT_TRACE=1 shows where", env.Name)
}

// drainInput reads the input of a client, which takes a hook that does not read for failed. It
// gives up on input that does not end.
func drainInput(r io.Reader) {
	select {
	case <-Go(func() { _, _ = io.Copy(io.Discard, r) }).Done():
	case <-time.After(500 * time.Millisecond):
	}
}

// exitPanic unwinds kong, which otherwise would continue parsing after --help.
type exitPanic int

// Report writes err and returns its exit code.
func Report(env *Env, err error) int {
	if err != nil && !errors.Is(err, Silent) {
		env.Error("%v", err)
		for _, h := range Hints(err) {
			env.Hint("%s", h)
		}
	}
	return ExitCode(err)
}

// exitHelp returns the part of the help about exit codes.
func exitHelp(p Program) string {
	var b strings.Builder
	b.WriteString("\nExit status:\n")
	codes := p.ExitStatus()
	own := len(codes) - len(sharedCodes())
	for _, c := range codes[:own] {
		b.WriteString(term.Fill(fmt.Sprintf("  %-2s  %s", c[0], c[1]), 80, 6) + "\n")
	}
	var rest []string
	for _, c := range codes[own:] {
		rest = append(rest, c[0]+"  "+c[1])
	}
	return b.String() + "  " + strings.Join(rest, "   ") + "\n"
}

// checkedWriter ends the program if its output cannot be written, because kong would report
// wrong usage for its help, and nothing for the version.
type checkedWriter struct{ env *Env }

func (c checkedWriter) Write(p []byte) (int, error) {
	n, err := c.env.Stdout.Write(p)
	if err != nil {
		panic(exitPanic(Report(c.env, err)))
	}
	return n, nil
}

// cleanWriter removes control characters and secrets from what kong echoes.
type cleanWriter struct{ env *Env }

func (c cleanWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(c.env.Stderr, term.CleanText(c.env.Redact(string(p)))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flags are the flags of every program, to be embedded in its grammar.
type Flags struct {
	Version versionFlag `help:"Print the version and exit."`
}

// Model returns the program's grammar, for documentation other than its help.
func (p Program) Model() (*kong.Application, error) {
	parser, err := newParser(&Env{}, p)
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// ExitStatus returns the program's exit codes and their meaning: its own, then the shared ones.
func (p Program) ExitStatus() (codes [][2]string) {
	for line := range strings.Lines(strings.TrimSpace(p.Exits)) {
		if code, meaning, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			codes = append(codes, [2]string{code, strings.TrimSpace(meaning)})
		}
	}
	return append(codes, sharedCodes()...)
}

func sharedCodes() [][2]string {
	return [][2]string{{"70", "a bug"}, {"74", "cannot read or write"}, {"75", "busy, try again"}, {"80", "wrong usage"}}
}
