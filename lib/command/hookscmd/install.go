package hookscmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/sandbox"
	"gt/lib/client/settings"
	"gt/lib/client/wiring"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type install struct {
	Agent  []string `arg:"" optional:"" help:"The agents by name, such as claude or codex; without one, the command lists those that gt knows."`
	All    bool     `help:"Every agent that is on this machine."`
	Scope  string   `enum:"user,project,local" default:"user" help:"Whose settings: user (all projects, the default), project (shared with it) or local (this project, for you)."`
	Allow  *bool    `negatable:"" help:"Let the agents run gt-handoff and gt-mail without asking each time, by rules in their own settings (of all projects); in a terminal, the first installation asks."`
	Record *bool    `negatable:"" help:"Keep a copy of every conversation (docs/record.md), by your settings and the hooks; in a terminal, an upgrade asks once."`
	MCP    bool     `name:"mcp" help:"Also add gt-seance mcp to the agents, by their own command: search, read and thread for those without a shell (Claude Code, Codex)."`
	Brief  bool     `help:"Print one line for each agent, and not its hooks."`
	DryRun bool     `help:"Show what would change, and change nothing."`
}

// Run wires the agents. It checks what concerns all of them before it writes anything.
func (c *install) Run(env *cli.Env) error {
	all, err := personsTable(env)
	if err != nil {
		return err
	}
	if c.Record != nil && *c.Record && !installed(env, recorder) {
		return cli.Failf(cli.AnswerNo, "nothing was changed: %s", lacksProgram(recorder))
	}
	if c.Scope == wiring.User && !c.DryRun && c.Record == nil {
		c.Record = offerRecord(env, all)
	}
	for i := range all {
		if c.Record != nil {
			all[i].record = *c.Record
		}
	}
	picked, err := c.targets(env, all)
	if err != nil {
		return err
	}
	for _, t := range picked {
		if store := t.block.StoreEnv; store != "" && strings.HasPrefix(env.Getenv(store), "~") {
			return cli.Fail(cli.Usage, fmt.Errorf("%s '%s' means a folder named ~ in this folder", store, env.Getenv(store)), "a shell expands ~ only outside of quotation marks: "+store+"=$HOME/...")
		}
	}
	dir, err := binDir(env)
	if err != nil {
		return err
	}
	for _, name := range wiring.Binaries {
		if err := checkRunnable(filepath.Join(dir, name)); err != nil {
			return cli.WithHint(err, "gt-hooks wires the binaries in its own folder; install.sh builds them all")
		}
	}
	if c.Record != nil && !c.DryRun {
		if err := agent.SaveRecord(place.Config(env.Getenv), *c.Record); err != nil {
			return withWriteHint(place.Config(env.Getenv, "config.toml"), cli.Fail(cli.IO, err))
		}
	}
	c.offerAllow(env, picked)
	say := &printer{env: env, brief: (len(picked) > 1 || c.All || c.Brief) && !c.DryRun}
	err = forEachTarget(env, picked, func(t target) error { return c.wireAgent(env, say, t, dir) })
	say.printRows()
	err = cmp.Or(err, say.err)
	if away := missingPrograms(env, picked); err == nil && away != nil && !c.All && !c.DryRun {
		env.Hint("not found on PATH: %s; what is wired works wherever it is started", strings.Join(away, ", "))
	}
	return err
}

// missingPrograms returns the programs of agents that are not on PATH.
func missingPrograms(env *cli.Env, all []target) (programs []string) {
	for _, t := range all {
		if _, err := onPath(env, t.command); err != nil {
			programs = append(programs, t.command)
		}
	}
	return programs
}

// targets returns the agents that were named, or with --all those that are on this machine.
func (c *install) targets(env *cli.Env, all []target) ([]target, error) {
	here := slices.DeleteFunc(slices.Clone(all), func(t target) bool { return !t.isInstalled(env) })
	switch {
	case c.All && len(c.Agent) > 0:
		return nil, cli.Failf(cli.Usage, "--all and the name of an agent exclude each other")
	case c.All && len(here) == 0:
		// Nothing went wrong, so this is not worded as an error; the exit code tells scripts.
		(&printer{env: env}).line("gt found no agent that it knows (%s); once one is installed, run gt-hooks install --all", strings.Join(namesOf(all), ", "))
		return nil, cli.Fail(cli.AnswerNo, cli.Silent)
	case c.All:
		return here, nil
	case len(c.Agent) > 0:
		return pickTargets(all, c.Agent)
	}
	err := cli.Failf(cli.Usage, "which agent? gt knows %s", strings.Join(namesOf(all), ", "))
	if len(here) > 0 {
		err = cli.WithHint(err, "on this machine: %s; gt-hooks install --all wires each", strings.Join(namesOf(here), ", "))
	}
	return nil, err
}

// wireAgent wires one agent, or updates what is wired. dir is the folder of gt's programs.
func (c *install) wireAgent(env *cli.Env, say *printer, t target, dir string) error {
	t.askVersion(env)
	if t.whyUnable = cmp.Or(t.whyUnable, t.client.UnableReason()); t.whyUnable != "" {
		if c.All { // the person did not name this one
			say.addRow(t, "not wired", "")
			env.Hint("%s", cmp.Or(t.client.UnfitReason(t.name, wiring.Source{}), t.whyUnable))
			return nil
		}
		return cli.Failf(cli.AnswerNo, "%s: %s", t.name, t.whyUnable)
	}
	path, err := t.hookFile(c.Scope)
	if err != nil {
		if c.All {
			say.addRow(t, "not wired: no scope "+c.Scope, "")
			return nil
		}
		return err
	}
	if err := checkStaysInProject(env, c.Scope, path); err != nil {
		return err
	}
	// run is dir, or byName if the hooks have to find gt on PATH.
	run, strange, err := t.programDir(env, c.Scope, path, dir)
	if err != nil {
		return err
	}
	want, err := t.wantedHandlers(run)
	if err != nil {
		return err
	}
	done, err := editHandlers(t, path, want, c.DryRun)
	if err != nil {
		return err
	}
	if strange != "" && strange != say.hintedDir {
		say.hintedDir = strange
		env.Hint("the hooks were those of another home or machine, with gt in %s, which is not here: they run gt by name now, so it has to be on PATH in both", strange)
	}
	what := t.hooksInWords(len(want))
	var written []string
	if t.takesCommand(path) {
		var typed string
		if typed, written, err = t.writeCommand(env, run, true, c.DryRun); err != nil {
			return err
		}
		if typed != "" && say.brief {
			what += " and " + typed
		}
	}
	allowed, err := t.writeAllow(path, dir, c.Allow != nil && *c.Allow, c.DryRun)
	if err != nil {
		return err
	}
	also := ""
	if allowed {
		also = "; " + strings.Join(wiring.Allowed, " and ") + " allowed"
		written = append(written, path)
	}
	var server bool
	// Without --mcp, only a server that is there already is brought up to date.
	if c.MCP || t.hasServer(path) {
		if c.MCP && !t.takesServer(path) {
			env.Hint("%s: gt adds no MCP server to it in the scope %s", t.name, c.Scope)
		} else if server, err = t.setServer(env, path, filepath.Join(dir, mcpProgram), c.DryRun); err != nil {
			return err
		}
	}
	if server && say.brief {
		also += "; " + mcpProgram + " mcp added"
	} else if server {
		say.line("%s: %s mcp added as an MCP server", t.name, mcpProgram)
	}
	say.files(written, c.DryRun, typedOf(t)+" written")
	switch {
	case say.brief && len(done.changes)+len(written) == 0:
		say.addRow(t, what+" wired already"+also, path)
	case say.brief:
		say.addRow(t, what+" wired"+also, path)
	case len(done.changes) == 0 && t.client.Shape == wiring.Script:
		say.line("%s: %s is wired, nothing to change", path, what)
	case len(done.changes) == 0:
		say.line("%s: all %d hooks are wired, nothing to change", path, len(want))
	default:
		say.changes(path, done, c.DryRun, fmt.Sprintf("%s wired, binaries in %s", what, dir))
	}
	c.printHints(env, say, t, len(done.changes) > 0 && run != byName)
	return nil
}

// hooksInWords returns n hooks in words.
func (t target) hooksInWords(n int) string {
	if t.client.Shape == wiring.Script {
		return "the " + t.client.ScriptKind
	}
	return count.Plural(n, "hook")
}

const byName = "." // the folder of programs that are run by their names, from PATH

// programDir returns the folder of the programs that an agent's hooks in a file are to run. It is dir,
// unless all of the file's hooks run gt by name, or some are those of another home or machine, whose
// programs (in strange) are not here. Then it is byName, if PATH finds this gt. If PATH does not,
// hooks of another home are an error, because only a person knows whether they are still used.
func (t target) programDir(env *cli.Env, scope, path, dir string) (run, strange string, err error) {
	ours := t.readSource(scope, path).OwnHandlers()
	named := len(ours) > 0
	for _, h := range ours {
		for _, program := range t.client.Programs(h) {
			named = named && !strings.ContainsAny(program, "/~$`")
			if _, err := os.Stat(program); filepath.IsAbs(program) && errors.Is(err, fs.ErrNotExist) && isAnotherHome(env, path, program) {
				strange = filepath.Dir(program)
			}
		}
	}
	if !named && strange == "" {
		return dir, "", nil
	}
	own := filepath.Join(dir, wiring.Binaries[0])
	if file, err := onPath(env, wiring.Binaries[0]); err == nil && sameFile(file, own) {
		return byName, strange, nil
	}
	if strange == "" {
		return dir, "", nil
	}
	err = cli.Failf(cli.AnswerNo, "'%s' has the hooks of another home or machine, in %s, which is not here: nothing was changed", path, strange)
	err = cli.WithHint(err, "put %s on PATH and try again: then the hooks run gt by its name, in both places", dir)
	return "", "", cli.WithHint(err, "if nothing uses %s any more: %s, then try again", strange, t.fixCommand("uninstall", scope))
}

// isAnotherHome reports whether a program that is not here is more likely one of another home
// or machine than one that was moved: it lies in another home, or the settings that name it
// are a mount or a link, such as those of dotfiles.
func isAnotherHome(env *cli.Env, settings, program string) bool {
	home := place.Real(env.Getenv("HOME"))
	if place.IsBelow(program, home) {
		return false
	}
	for _, homes := range []string{"/home/", "/Users/", "/root/", filepath.Dir(home) + "/"} {
		if homes != "//" && strings.HasPrefix(program, homes) { // it is // if home is /root
			return true
		}
	}
	if !place.IsBelow(place.Real(settings), home) {
		return true
	}
	file, err := place.Identify(settings)
	own, oerr := place.Identify(home)
	return err == nil && oerr == nil && file.Device != own.Device
}

// printHints prints what a person has to know about a wired agent, and what keeps its hooks from running.
func (c *install) printHints(env *cli.Env, say *printer, t target, changed bool) {
	if changed && c.Scope == wiring.Project && !say.hintedSharing {
		say.hintedSharing = true
		env.Hint("the paths are those of this machine: share the project's file only with people who have gt in the same place")
	}
	if changed && t.client.AfterInstall != "" && !c.DryRun {
		env.Hint("%s", t.client.AfterInstall)
	}
	if lacks := t.client.LackingEvents(t.name); lacks != "" {
		env.Hint("%s", lacks)
	}
	places := readSources(env, t)
	for _, w := range conflictLines(blockers(env, t, places), places) {
		env.Warn("%s", w)
	}
}

type uninstall struct {
	Agent  []string `arg:"" optional:"" help:"The agents (default: the one that has gt's hooks, if there is only one)."`
	All    bool     `help:"Every agent that has gt's hooks."`
	Own    bool     `help:"Only hooks that run the programs beside this gt-hooks; a package does this before its removal."`
	Scope  string   `enum:"user,project,local" default:"user" help:"Whose settings: user (the default), project or local."`
	DryRun bool     `help:"Show what would change, and change nothing."`
}

// Run removes gt from the agents, and says where else they have it.
func (c *uninstall) Run(env *cli.Env) error {
	all, err := personsTable(env)
	if err != nil {
		return err
	}
	picked, err := c.targets(all)
	if err != nil {
		return err
	}
	if c.Own {
		dir, err := binDir(env)
		if err != nil {
			return err
		}
		picked = slices.DeleteFunc(picked, func(t target) bool {
			path, err := t.hookFile(c.Scope)
			return err == nil && !t.readSource(c.Scope, path).runsProgramIn(env, dir)
		})
	}
	say := &printer{env: env, brief: (len(picked) > 1 || c.All) && !c.DryRun}
	if len(picked) == 0 {
		say.line("no hooks of gt, nothing to change")
		picked = all // for the hints about other places
	} else {
		err = forEachTarget(env, picked, func(t target) error { return c.unwireAgent(env, say, t) })
		say.printRows()
	}
	for _, t := range picked {
		done, _ := t.hookFile(c.Scope)
		for _, p := range readSources(env, t) {
			if p.File != done && p.isWired() {
				env.Hint("gt is also wired in '%s': %s", p.File, p.removal())
			}
		}
	}
	return cmp.Or(err, say.err)
}

// targets returns the agents that were named, otherwise those that have anything of gt in the scope.
// Without --all there may be only one of these.
func (c *uninstall) targets(all []target) ([]target, error) {
	if len(c.Agent) > 0 {
		if c.All {
			return nil, cli.Failf(cli.Usage, "--all and the name of an agent exclude each other")
		}
		return pickTargets(all, c.Agent)
	}
	var wired []target
	for _, t := range all {
		if path, err := t.hookFile(c.Scope); err == nil {
			p := t.readSource(c.Scope, path)
			if p.Err != nil && !c.All { // with --all, it is reported later
				return nil, cli.WithHint(p.Err, "gt-hooks uninstall AGENT removes gt from one agent")
			}
			if p.Err != nil || p.isWired() || t.hasCommand(path) || len(t.allowRules(path)) > 0 || t.hasServer(path) {
				wired = append(wired, t)
			}
		}
	}
	if len(wired) > 1 && !c.All {
		err := cli.Failf(cli.Usage, "which agent? gt is wired into %s", strings.Join(namesOf(wired), ", "))
		return nil, cli.WithHint(err, "gt-hooks uninstall --all removes it from all of them")
	}
	return wired, nil
}

// unwireAgent removes what wireAgent adds, and what the agent's own files record about the hooks.
func (c *uninstall) unwireAgent(env *cli.Env, say *printer, t target) error {
	if t.whyUnable != "" {
		return cli.Failf(cli.AnswerNo, "%s: %s", t.name, t.whyUnable)
	}
	path, err := t.hookFile(c.Scope)
	if err != nil {
		return err
	}
	if err := checkStaysInProject(env, c.Scope, path); err != nil {
		return err
	}
	// The client's Forget needs the hooks that the edit below removes.
	was := t.readSource(c.Scope, path)
	forbidden, err := t.writeAllow(path, "", true, c.DryRun)
	if err != nil {
		return err
	}
	if forbidden && !say.brief {
		say.line("%s: no longer: %s", path, runsUnasked)
	}
	left, err := t.setServer(env, path, "", c.DryRun)
	env.WarnError(err) // the hooks are removed all the same
	if left && !say.brief {
		say.line("%s: %s mcp removed from its MCP servers", t.name, mcpProgram)
	}
	done, err := editHandlers(t, path, nil, c.DryRun)
	if err != nil {
		return err
	}
	if len(done.changes) > 0 && !c.DryRun {
		top := t.folder
		if c.Scope != wiring.User {
			top = git.Top(env.Dir)
		}
		wiring.PruneFolders(filepath.Dir(path), top)
	}
	if t.client.Forget != nil && !c.DryRun {
		changed, err := t.client.Forget(t.wiringAgent(env, nil), was.Source)
		if err != nil {
			return err
		}
		if changed != "" && !say.brief {
			say.line("%s: the trust in these hooks removed", changed)
		}
	}
	if t.takesCommand(path) {
		_, removed, err := t.writeCommand(env, "", false, c.DryRun)
		if err != nil {
			return err
		}
		say.files(removed, c.DryRun, typedOf(t)+" removed")
	}
	what := t.hooksInWords(len(done.changes))
	switch {
	case say.brief && len(done.changes) == 0:
		say.addRow(t, "no hooks of gt", path)
	case say.brief:
		say.addRow(t, what+" removed", path)
	case len(done.changes) == 0:
		say.line("%s: no hooks of gt, nothing to change", path)
	default:
		say.changes(path, done, c.DryRun, what+" removed")
	}
	return nil
}

// forEachTarget calls do for every agent. It returns the error of a single one. Of several it
// prints the errors, goes on, and returns the worst exit code.
func forEachTarget(env *cli.Env, all []target, do func(t target) error) error {
	if len(all) == 1 {
		return do(all[0])
	}
	worst := cli.Done
	for _, t := range all {
		if err := do(t); err != nil {
			worst = max(worst, cli.Report(env, err))
		}
	}
	if worst == cli.Done {
		return nil
	}
	return cli.Fail(worst, cli.Silent)
}

// addRow keeps a row for the table at the end if the output is brief. Otherwise it prints a line.
func (p *printer) addRow(t target, what, file string) {
	if p.brief {
		p.rows = append(p.rows, []string{t.name, what, p.env.Redact(p.tildePath(file))})
	} else {
		p.line("%s: %s", t.name, what)
	}
}

// files prints what was done to each of these files. It prints nothing if the output is brief.
func (p *printer) files(paths []string, dryRun bool, what string) {
	for _, path := range paths {
		switch {
		case p.brief:
		case dryRun:
			p.line("would change %s", path)
		default:
			p.line("%s: %s", path, what)
		}
	}
}

func typedOf(t target) string {
	if t.client.Command == nil {
		return ""
	}
	return t.client.Command.Typed
}

// printRows prints the rows. It never cuts a path, which would be useless; a long one gets its own line.
func (p *printer) printRows() {
	width, widest := term.Width(p.env.Stdout, p.env.Getenv), [3]int{}
	for _, row := range p.rows {
		for i, cell := range row {
			widest[i] = max(widest[i], term.Columns(cell))
		}
	}
	if width == 0 || widest[0]+widest[1]+widest[2]+4 <= width {
		p.list(0, p.rows)
		return
	}
	for _, row := range p.rows {
		p.line("%s  %s", term.Pad(row[0], widest[0]), row[1])
		if row[2] != "" {
			p.line("%s  %s", term.Pad("", widest[0]), row[2])
		}
	}
}

// changes prints what was or would be changed, like a diff. It shows only gt's own entries,
// because other settings can contain keys.
func (p *printer) changes(path string, done editResult, dryRun bool, result string) {
	if dryRun {
		path, result = "would change "+path, "nothing was changed (--dry-run)"
	}
	rows := make([][]string, len(done.changes))
	for i, c := range done.changes {
		sign, what := "  +", c.Brief()
		if !c.Added {
			sign = "  -"
			if dir := filepath.Dir(c.Program()); dir != "." {
				what += " in " + dir
			}
		}
		rows[i] = []string{sign, c.Event, p.env.Redact(what)}
	}
	p.line("%s", path)
	p.list(term.Width(p.env.Stdout, p.env.Getenv), rows)
	if done.backup != "" {
		p.line("the file as it was: %s", done.backup)
	}
	p.line("%s", result)
}

// offerRecord asks the person once, on an upgrade, whether conversations are recorded. A
// first installation is not the time for it. It does not ask without a terminal, below an
// agent, or if config.toml has the setting; the answer is then nil.
func offerRecord(env *cli.Env, all []target) *bool {
	if !installed(env, recorder) || !term.IsTerminal(env.Stdin) || !term.IsTerminal(env.Stdout) || sandbox.RefuseBelowAgent(env, "") != nil {
		return nil
	}
	wrong := false
	own := agent.LoadPreferences(place.Config(env.Getenv), func(error) { wrong = true }) // it was warned of before
	isUpgrade := func(t target) bool {
		return slices.ContainsFunc(readSources(env, t), func(p source) bool { return p.Scope == wiring.User && p.isWired() })
	}
	if wrong || own.Record != nil || !slices.ContainsFunc(all, isUpgrade) {
		return nil
	}
	on := env.Confirm("Agents delete conversations (Claude Code: after 30 days). gt can keep a copy,\n"+
		"without secrets, in ~/.agent (docs/record.md). Record conversations? [y/N] ", "", "") == nil
	if !on {
		(&printer{env: env}).line("nothing is recorded; gt-hooks install --all --record switches it on")
	}
	return &on
}

var runsUnasked = strings.Join(wiring.Allowed, " and ") + " run without asking"

// hasAllowList reports whether a file is the person's own settings of an agent that has a list
// of programs to run without asking.
func (t target) hasAllowList(file string) bool {
	return t.client.Allow != nil && t.isPersons(file)
}

// allowRules returns gt's rules in the person's settings for programs that the agent runs unasked.
func (t target) allowRules(file string) []string {
	if !t.hasAllowList(file) {
		return nil
	}
	text, err := settings.Read(file)
	if err != nil {
		return nil // whoever changes the file reports it
	}
	return t.client.Allows(text)
}

// writeAllow writes gt's rules for the programs in dir, or removes them if dir is "". Without
// the person's yes it only updates existing rules.
func (t target) writeAllow(file, dir string, yes, dryRun bool) (changed bool, err error) {
	if !t.hasAllowList(file) || !yes && len(t.allowRules(file)) == 0 {
		return false, nil
	}
	_, err = wiring.Update(file, func(old []byte) (settings.Edit, error) {
		next, err := t.client.EditAllow(file, old, dir)
		changed = changed || err == nil && string(next.Text) != string(old)
		return next, unchangedError(file, correct, err)
	}, dryRun)
	return changed, withWriteHint(file, err)
}

// offerAllow asks the person whether newly wired agents may run gt's programs without
// asking. It does not ask without a terminal or below an agent.
func (c *install) offerAllow(env *cli.Env, picked []target) {
	if c.Allow != nil || c.DryRun || c.Scope != wiring.User || !term.IsTerminal(env.Stdin) || !term.IsTerminal(env.Stdout) || sandbox.RefuseBelowAgent(env, "") != nil {
		return
	}
	var names []string
	for _, t := range picked {
		if path, err := t.hookFile(wiring.User); err == nil && t.hasAllowList(path) && !t.readSource(wiring.User, path).isWired() {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		return
	}
	yes := env.Confirm(fmt.Sprintf("Let %s run gt-handoff and gt-mail without asking you each time? [y/N] ", strings.Join(names, ", ")), "", "") == nil
	c.Allow = &yes
}

// allowFinding returns the finding about gt's rules for programs that run unasked, or nil if there are
// none. dir is the folder of the programs that they should name.
func (p source) allowFinding(dir string) *finding {
	rules := p.target.allowRules(p.File)
	if len(rules) == 0 {
		return nil
	}
	f := &finding{Agent: p.target.name, Scope: p.Scope, File: p.File, Event: allowEvent, Hook: runsUnasked, State: wired}
	if !p.target.client.AllowedIn(dir, rules) {
		f.State, f.Detail, f.Fix = otherPath, "its rules name programs in another folder", p.repair()
	}
	return f
}
