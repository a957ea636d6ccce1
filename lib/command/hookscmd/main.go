// Package hookscmd is the gt-hooks command: it wires gt into the settings of coding agents,
// shows the wiring, and removes it.
package hookscmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gt/lib/cli"
	"gt/lib/client/settings"
	"gt/lib/client/startenv"
	"gt/lib/client/wiring"
	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/term"
)

const summary = `
Adds gt's hooks to your coding agents, by entries in each agent's own settings.

  gt-hooks install --all           every agent that is here, for every project
  gt-hooks install codex --scope project --dry-run
  gt-hooks status
  gt-hooks prove codex --run
  gt-hooks uninstall --all

gt-hooks changes and removes only what gt wrote: entries that run a program of
gt, and whole files that gt made. The rest of a settings file stays as it is,
byte for byte.
`

const exitCodes = `
   0  done; status: every hook is wired and works; prove: each was seen to fire
   1  status, prove: not all of that; install: no agent is here, or it has no hooks
`

func Program() cli.Program {
	return cli.Program{
		Name: "gt-hooks", Summary: summary, Exits: exitCodes, Prepare: startenv.Restore, Grammar: &grammar{},
		Complete: map[string]cli.Completer{"agent": agentNames},
	}
}

// agentNames returns the names of agents that begin with begin, to complete a word.
func agentNames(env *cli.Env, begin string) []cli.Candidate {
	all, err := allTargets(env)
	if err != nil {
		return nil
	}
	var offered []cli.Candidate
	for _, t := range all {
		if strings.HasPrefix(t.name, begin) {
			offered = append(offered, cli.Candidate{Word: t.name})
		}
	}
	return offered
}

type grammar struct {
	cli.Flags
	Install   install   `cmd:"" help:"Add gt's hooks to agents' settings, or bring them up to date."`
	Status    status    `cmd:"" default:"withargs" help:"Show what is wired where, and what to do about the rest (the default)."`
	Prove     prove     `cmd:"" help:"Show that the hooks really fire: when each was last seen, and what stops it."`
	Uninstall uninstall `cmd:"" help:"Remove gt's hooks from agents' settings."`
	Trust     trust     `cmd:"" group:"For agents that share a town (docs/use-gas-town.md):" help:"Trust a folder as a town, so that its files count; list the towns that you trust."`
	Untrust   untrust   `cmd:"" help:"Withdraw that trust." group:"For agents that share a town (docs/use-gas-town.md):"`
	Blocked   blocked   `cmd:"" hidden:"" help:"Print what keeps an agent from running the hooks that it has; gt-handoff asks."`
}

// editResult is what was changed in a file of hooks, and where its old content is.
type editResult struct {
	changes []wiring.Change
	backup  string
}

// editHandlers makes want the only handlers of gt in a file; nil removes all.
func editHandlers(t target, path string, want []wiring.Handler, dryRun bool) (editResult, error) {
	var done editResult
	edit := func(old []byte) (next settings.Edit, err error) {
		mend := correct
		if t.client.Shape == wiring.Script {
			mend = "move that file away"
		}
		next, done.changes, err = t.client.Edit(path, old, want)
		return next, unchangedError(path, mend, err)
	}
	var err error
	done.backup, err = wiring.Update(path, edit, dryRun)
	if errors.Is(err, flock.ErrBusy) {
		err = cli.Fail(cli.Busy, err, "another gt-hooks is changing that file")
	}
	return done, withWriteHint(path, err)
}

const correct = "correct the file"

// unchangedError says that a file stays as it is; mend is what the person can do, then try again.
func unchangedError(path, mend string, err error) error {
	if err == nil {
		return nil
	}
	return cli.WithHint(atomicfile.Error("change", path, err), "nothing was changed; %s and try again", mend)
}

// withWriteHint adds to an error about permission or a read-only file system what the person can do.
func withWriteHint(path string, err error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
		return err
	}
	dir := filepath.Dir(path)
	info, serr := os.Stat(dir)
	switch real := place.Real(path); {
	case real != filepath.Clean(path):
		return cli.WithHint(err, "'%s' is a link to it: make the change in what writes that file, such as Home Manager (docs/where.md)", path)
	case serr == nil && atomicfile.Owner(info) != os.Geteuid():
		return cli.WithHint(err, "the folder belongs to another user: sudo chown -R %d %s", os.Geteuid(), term.Typed(dir))
	}
	return cli.WithHint(err, "gt writes there, and a backup beside it: is it mounted read-only? (docs/where.md)")
}

// binDir returns the folder of the running binary, preferably as a folder in PATH: a
// package manager keeps its links there, and changes the folders behind them.
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
		if err == nil && filepath.IsAbs(dir) && os.SameFile(info, self) && checkRunnable(filepath.Join(dir, wiring.Binaries[0])) == nil {
			return filepath.Clean(dir), nil
		}
	}
	return filepath.Dir(exe), nil
}

// checkRunnable returns why a file cannot be run, nil if it can.
func checkRunnable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return atomicfile.Error("find", path, err)
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return atomicfile.Error("run", path, errors.New("not an executable file"))
	}
	return nil
}

// printer writes output for a person and remembers the first error.
type printer struct {
	env           *cli.Env
	err           error
	brief         bool // a row for each agent
	rows          [][]string
	hintedSharing bool // the hint about sharing a project's file was printed

	hintedDir string // the other home's folder of which a hint told
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.env.Stdout, term.Clean(p.env.Redact(fmt.Sprintf(format, args...))))
	}
}

func (p *printer) tildePath(file string) string { return term.Tilde(file, p.env.Getenv("HOME")) }

// table fits the rows to the terminal, and tableOf to width; 0 is no limit.
func (p *printer) table(rows [][]string) {
	p.tableOf(term.Width(p.env.Stdout, p.env.Getenv), rows)
}

func (p *printer) tableOf(width int, rows [][]string) {
	if p.err == nil {
		p.err = term.StyleFor(p.env.Stdout, p.env.Getenv).Table(p.env.Stdout, width, rows, p.paint())
	}
}

func (p *printer) list(width int, rows [][]string) {
	if p.err == nil {
		p.err = term.Style{}.Table(p.env.Stdout, width, rows, nil)
	}
}

func (p *printer) paint() term.Painter {
	style := term.StyleFor(p.env.Stdout, p.env.Getenv)
	return func(_, _ int, cell string) string {
		switch cell {
		case wired:
			return style.Green(cell)
		case wiredTwice, otherPath, settingsDiffer, outdated:
			return style.Yellow(cell)
		case noBinary, missing, noAccess, refused:
			return style.Red(cell)
		case notWired, noFile, unable:
			return style.Dim(cell)
		}
		return cell
	}
}

func (p *printer) json(v any) {
	if p.err == nil {
		p.err = p.env.JSON(v)
	}
}
