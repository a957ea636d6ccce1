package hookscmd

import (
	"maps"
	"slices"

	"gt/lib/cli"
	"gt/lib/client/settings"
	"gt/lib/client/wiring"
)

const commandEvent = "command" // stands for the event in a finding about a command

const allowEvent = "allow" // stands for the event in a finding about the rules of an agent

// takesCommand reports whether gt adds a command beside the hooks in a file. It does so only
// in the person's own settings.
func (t target) takesCommand(file string) bool {
	return t.client.Command != nil && t.folder != "" && t.isPersons(file)
}

// isPersons reports whether a file is the agent's settings for all projects.
func (t target) isPersons(file string) bool {
	return len(t.files) > 0 && t.files[0].scope == wiring.User && sameFile(t.files[0].path, file)
}

func (t target) hasCommand(file string) bool {
	if !t.takesCommand(file) {
		return false
	}
	text, err := settings.Read(t.client.Command.Path(t.folder))
	return err == nil && wiring.IsCommand(text)
}

// writeCommand writes the command into the agent's folder, or removes it. what is the
// command's name, or "" if the file is not gt's.
func (t target) writeCommand(env *cli.Env, dir string, wanted, dryRun bool) (what string, changed []string, err error) {
	files := t.client.Command.Files(t.folder, dir)
	what = t.client.Command.Typed
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text := files[path]
		if !wanted {
			text = nil
		}
		own, changes, err := wiring.WriteCommand(path, text, dryRun)
		switch {
		case err != nil:
			return "", changed, err
		case !own:
			if wanted {
				env.Hint("'%s' is not gt's and stays as it is: %s does what that file says; gt-handoff hands over", path, t.client.Command.Typed)
			}
			return "", changed, nil
		case changes:
			changed = append(changed, path)
		}
	}
	if !wanted && !dryRun {
		t.client.Command.PruneFolders(t.folder)
	}
	return what, changed, nil
}

// commandFinding returns the finding about gt's command, such as /handoff, or nil if none belongs there.
// dir is the folder of the program that the command's file names.
func (p source) commandFinding(dir string) *finding {
	t := p.target
	if !t.takesCommand(p.File) || !p.isWired() {
		return nil
	}
	c := t.client.Command
	f := &finding{Agent: t.name, Scope: p.Scope, File: c.Path(t.folder), Event: commandEvent, Hook: c.Typed, State: wired}
	files := c.Files(t.folder, dir)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		switch text, err := settings.Read(path); {
		case err != nil:
			f.State, f.Detail = noAccess, err.Error()
		case text == nil:
			f.State, f.Detail = missing, "it is not there yet"
		case !wiring.IsCommand(text):
			f.State, f.Detail, f.Fix = notOurs, "", "" // not an error
			return f
		case string(text) != string(files[path]) && f.State == wired:
			f.State, f.Detail = outdated, "not as this version writes it"
		}
	}
	if f.State != wired {
		f.Fix = p.repair()
	}
	return f
}
