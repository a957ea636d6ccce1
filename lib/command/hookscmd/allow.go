package hookscmd

import (
	"fmt"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/sandbox"
	"gt/lib/client/settings"
	"gt/lib/client/wiring"
	"gt/lib/text/term"
)

// runsUnasked describes the rules of an agent.
var runsUnasked = strings.Join(wiring.Allowed, " and ") + " run without asking"

// allowable reports whether a file is the person's own settings of an agent that has a list
// of programs to run without asking.
func (t target) allowable(file string) bool {
	return t.client.Allow != nil && len(t.files) > 0 && t.files[0].scope == wiring.User && sameFile(t.files[0].path, file)
}

// allows returns gt's rules in a settings file.
func (t target) allows(file string) []string {
	if !t.allowable(file) {
		return nil
	}
	text, err := settings.Read(file)
	if err != nil {
		return nil // whoever changes the file reports it
	}
	return t.client.Allows(text)
}

// allow writes gt's rules for the programs in dir, or removes them if dir is "". Without
// the person's yes it only updates existing rules.
func (t target) allow(file, dir string, yes, dryRun bool) (changed bool, err error) {
	if !t.allowable(file) || !yes && len(t.allows(file)) == 0 {
		return false, nil
	}
	_, err = update(file, func(old []byte) (settings.Edit, error) {
		next, err := t.client.EditAllow(file, old, dir)
		changed = changed || err == nil && string(next.Text) != string(old)
		return next, unchanged(file, correct, err)
	}, dryRun)
	return changed, unwritable(file, err)
}

// offerAllow asks the person whether newly wired agents may run gt's programs without
// asking. It does not ask without a terminal or below an agent.
func (c *install) offerAllow(env *cli.Env, picked []target) {
	if c.Allow != nil || c.DryRun || c.Scope != wiring.User || !term.IsTerminal(env.Stdin) || !term.IsTerminal(env.Stdout) || sandbox.RefuseBelowAgent(env, "") != nil {
		return
	}
	var names []string
	for _, t := range picked {
		if path, err := t.file(wiring.User); err == nil && t.allowable(path) && len(t.inspect(wiring.User, path).OwnHandlers()) == 0 {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		return
	}
	yes := env.Confirm(fmt.Sprintf("Let %s run gt-handoff and gt-mail without asking you each time? [y/N] ", strings.Join(names, ", ")), "", "") == nil
	c.Allow = &yes
}

// allowed returns the finding about the rules of a place. ok is false if it has none.
func (p source) allowed(dir string) (f finding, ok bool) {
	rules := p.of.allows(p.File)
	if len(rules) == 0 {
		return f, false
	}
	f = finding{Agent: p.of.name, Scope: p.Scope, File: p.File, Event: allowEvent, Hook: runsUnasked, State: wired}
	if !p.of.client.AllowedIn(dir, rules) {
		f.State, f.Detail, f.Fix = otherPath, "its rules name programs in another folder", p.repair()
	}
	return f, true
}
