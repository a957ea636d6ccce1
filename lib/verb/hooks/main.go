// Package hooks is the gt-hooks command: it writes the wiring of gt into a
// coding agent's own settings, shows what is wired, and takes it out again.
package hooks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/atomicfile"
	"gt/lib/cli"
	"gt/lib/flock"
	"gt/lib/jsonedit"
	"gt/lib/settings"
	"gt/lib/term"
)

const summary = `
Wires gt into a coding agent's hooks, by entries in the agent's own settings.

  gt-hooks install claude          for every project of this user
  gt-hooks install claude --scope project --dry-run
  gt-hooks status
  gt-hooks uninstall

Only entries that run a binary of gt are ever changed or removed. All else in a
settings file stays as it is, byte for byte.
`

const exitCodes = `
   0  done; for status: every hook is wired and works
   1  status: it is not so
`

// Main runs gt-hooks and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-hooks", Summary: summary, Exits: exitCodes, Grammar: &grammar{}})
}

type grammar struct {
	cli.Flags
	Install   install   `cmd:"" help:"Wire gt into an agent's settings, or bring the wiring up to date."`
	Status    status    `cmd:"" help:"Show what is wired where, and what to do about the rest."`
	Uninstall uninstall `cmd:"" help:"Take gt out of an agent's settings."`
}

type install struct {
	Agent  string `arg:"" enum:"claude" help:"The agent: claude."`
	Scope  string `enum:"user,project,local" default:"user" help:"Whose settings: user (all projects, the default), project (shared with it) or local (this project, for me)."`
	DryRun bool   `help:"Show what would change, and change nothing."`
}

// Run writes the wiring into the settings of one scope.
func (c *install) Run(env *cli.Env) error {
	at, err := settingsOf(env, c.Scope)
	if err != nil {
		return err
	}
	want, err := wiring(env)
	if err != nil {
		return err
	}
	for _, w := range want {
		if err := runnable(w.command); err != nil {
			return cli.WithHint(err, "gt-hooks wires the binaries that lie beside it; install.sh builds them all")
		}
	}
	done, err := alter(at, want, c.DryRun)
	if err != nil {
		return err
	}
	say := &printer{env: env}
	if len(done.changes) == 0 {
		say.line("%s: all %d hooks are wired, nothing to change", at, len(want))
	} else {
		say.changes(at, done, c.DryRun, fmt.Sprintf("%d hooks wired, binaries in %s", len(want), filepath.Dir(want[0].command)))
		if c.Scope == "project" {
			env.Hint("the paths are this machine's: share the file only with who has gt in the same place")
		}
	}
	places, err := survey(env)
	if err != nil {
		return err
	}
	for _, c := range conflicts(places) {
		env.Warn("%s", c)
	}
	return say.err
}

type uninstall struct {
	Agent  string `arg:"" optional:"" enum:"claude" default:"claude" help:"The agent: claude."`
	Scope  string `enum:"user,project,local" default:"user" help:"Whose settings: user (the default), project or local."`
	DryRun bool   `help:"Show what would change, and change nothing."`
}

// Run takes our entries out of the settings of one scope.
func (c *uninstall) Run(env *cli.Env) error {
	at, err := settingsOf(env, c.Scope)
	if err != nil {
		return err
	}
	done, err := alter(at, nil, c.DryRun)
	if err != nil {
		return err
	}
	say := &printer{env: env}
	if len(done.changes) == 0 {
		say.line("%s: no hooks of gt, nothing to change", at)
	} else {
		say.changes(at, done, c.DryRun, fmt.Sprintf("%d hooks removed", len(done.changes)))
	}
	places, err := survey(env)
	if err != nil {
		return err
	}
	for _, p := range places {
		if p.file != at && len(p.ours()) > 0 {
			env.Hint("gt is wired in '%s' too: %s", p.file, p.removal())
		}
	}
	return say.err
}

// outcome is what alter did, or would do.
type outcome struct {
	changes []change
	backup  string
}

// alter makes want the only wiring of ours in the settings file at path.
func alter(path string, want []handler, dryRun bool) (outcome, error) {
	var done outcome
	edit := func(old []byte) (settings.Edit, error) {
		text := old
		if len(strings.TrimSpace(string(text))) == 0 {
			text = []byte("{}\n")
		}
		text, changes, err := rewire(text, want)
		if err != nil {
			err = atomicfile.Error("change", path, err)
			return settings.Edit{}, cli.WithHint(err, "nothing was changed; correct the file and try again")
		}
		if done.changes = changes; len(changes) == 0 {
			return settings.Edit{Text: old}, nil
		}
		removed := 0
		for _, c := range changes {
			if !c.added {
				removed++
			}
		}
		// A file without any of ours is as its owner made it.
		return settings.Edit{Text: leftover(path, text, want), Backup: removed == 0}, nil
	}
	if dryRun {
		old, err := settings.Read(path)
		if err == nil {
			_, err = edit(old)
		}
		return done, err
	}
	var err error
	done.backup, err = settings.Update(path, edit)
	if errors.Is(err, flock.ErrBusy) {
		err = cli.Fail(cli.Busy, err, "another gt-hooks is at work there")
	}
	return done, err
}

// leftover is what stays in a settings file: no file at all where an
// uninstallation leaves nothing in one that an installation made.
func leftover(path string, text []byte, want []handler) []byte {
	doc, err := jsonedit.Parse(text)
	if err == nil && want == nil && doc.Root.IsObject() && len(doc.Root.Items) == 0 && !settings.HasBackup(path) {
		return nil
	}
	return text
}

// wiring is what this version wires, with the binaries that lie beside this one.
func wiring(env *cli.Env) ([]handler, error) {
	dir, err := binDir(env)
	if err != nil {
		return nil, err
	}
	return wanted(dir)
}

// binDir is the folder of the running binary, by the name under which PATH
// leads there where it does: a package manager's links stay while the folders
// behind them come and go.
func binDir(env *cli.Env) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	self, err := os.Stat(exe)
	if err != nil {
		return "", atomicfile.Error("find", exe, err)
	}
	for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
		info, err := os.Stat(filepath.Join(dir, filepath.Base(exe)))
		if err == nil && filepath.IsAbs(dir) && os.SameFile(info, self) && runnable(filepath.Join(dir, binaries[0])) == nil {
			return filepath.Clean(dir), nil
		}
	}
	return filepath.Dir(exe), nil
}

// runnable says why a file cannot be run, nil when it can.
func runnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return atomicfile.Error("find", path, err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return atomicfile.Error("run", path, errors.New("not an executable file"))
	}
	return nil
}

// printer writes what a person reads and remembers the first failure.
type printer struct {
	env *cli.Env
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.env.Stdout, term.Clean(p.env.Redact(fmt.Sprintf(format, args...))))
	}
}

// table fits the rows to the terminal, tableOf to width; 0 cuts nothing.
func (p *printer) table(rows [][]string) {
	p.tableOf(term.Width(p.env.Stdout, p.env.Getenv), rows)
}

func (p *printer) tableOf(width int, rows [][]string) {
	if p.err == nil {
		p.err = term.Table(p.env.Stdout, width, rows)
	}
}

// json writes one line.
func (p *printer) json(v any) {
	if p.err == nil {
		p.err = p.env.JSON(v)
	}
}

// changes shows what was done, or would be, as a diff does, and of the file
// nothing but our own entries: a setting beside them may hold a key.
func (p *printer) changes(path string, done outcome, dryRun bool, result string) {
	if dryRun {
		path, result = "would change "+path, "nothing was changed (--dry-run)"
	}
	rows := make([][]string, len(done.changes))
	for i, c := range done.changes {
		rows[i] = []string{"  +", c.event, p.env.Redact(c.brief())}
		if !c.added {
			rows[i] = []string{"  -", c.event, p.env.Redact(c.brief())}
			if dir := filepath.Dir(c.program()); c.args != nil && dir != "." {
				rows[i][2] += " in " + dir
			}
		}
	}
	p.line("%s", path)
	p.table(rows)
	if done.backup != "" {
		p.line("kept as it was: %s", done.backup)
	}
	p.line("%s", result)
}
