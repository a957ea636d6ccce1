package hooks

import (
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
)

type status struct {
	JSON bool `name:"json" help:"One JSON object a line: a hook in a scope, or a scope without hooks of gt."`
}

// The states of a hook in one place.
const (
	wired     = "wired"
	twice     = "twice"      // wired, more than once in one file
	otherPath = "other path" // wired, to a binary that lies elsewhere
	outdated  = "outdated"   // wired, but not as this version does it
	noBinary  = "no binary"  // wired, to a file that is not there
	missing   = "missing"    // not wired, though other hooks of ours are
)

// A finding is a hook of ours in a place, or a place without any.
type finding struct {
	Scope   string  `json:"scope"`
	File    string  `json:"file"`
	Event   string  `json:"event,omitempty"`
	Hook    string  `json:"hook,omitempty"`
	State   string  `json:"state"`
	Line    int     `json:"line,omitempty"`
	Command string  `json:"command,omitempty"`
	Timeout float64 `json:"timeout,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	Fix     string  `json:"fix,omitempty"`
}

// works says whether the hook does its job.
func (f finding) works() bool {
	return f.State == wired || f.State == twice || f.State == otherPath
}

// Run shows every hook in every place. The answer is yes when each hook that
// gt has is wired somewhere and works, and nothing switches hooks off.
func (c *status) Run(env *cli.Env) error {
	want, err := wiring(env)
	if err != nil {
		return err
	}
	places, err := survey(env)
	if err != nil {
		return err
	}
	var all []finding
	for _, p := range places {
		all = append(all, judge(env, p, want)...)
	}
	for i := range all { // a command line may hold a key
		all[i].Command, all[i].Detail = env.Redact(all[i].Command), env.Redact(all[i].Detail)
	}

	say := &printer{env: env}
	if c.JSON {
		for _, f := range all {
			say.json(f)
		}
	} else {
		say.matrix(places, want, all)
	}
	advise(env, places, all)
	if say.err == nil && !complete(want, all, places) {
		return cli.Silent
	}
	return say.err
}

// complete says whether gt is wired as a whole.
func complete(want []handler, all []finding, places []place) bool {
	for _, w := range want {
		if !slices.ContainsFunc(all, func(f finding) bool { return f.is(w) && f.works() }) {
			return false
		}
	}
	return disabled(places) == nil
}

// is says whether a finding is about the hook w.
func (f finding) is(w handler) bool { return f.Event == w.event && f.Hook == w.short() }

// short names a hook within its event: the binary and what it is to do.
func (h handler) short() string {
	if len(h.args) > 0 && !strings.HasPrefix(h.args[0], "-") {
		return h.binary + " " + h.args[0]
	}
	return h.binary
}

// judge compares what a place has with what it should have.
func judge(env *cli.Env, p place, want []handler) []finding {
	ours := p.ours()
	if len(ours) == 0 {
		f := finding{Scope: p.name, File: p.file, State: "none"}
		switch {
		case p.err != nil:
			f.State, f.Detail = "unreadable", p.err.Error()
		case p.none:
			f.State = "no file"
		}
		return []finding{f}
	}
	var all []finding
	for _, w := range want {
		f := finding{Event: w.event, Hook: w.short(), State: missing}
		for _, h := range ours {
			if h.event != w.event || h.binary != w.binary {
				continue
			}
			g := found(h)
			g.State, g.Detail = compare(env, h, w)
			switch {
			case f.works() && g.works():
				f.State, f.Detail = twice, fmt.Sprintf("in lines %d and %d", f.Line, g.Line)
			case f.State == missing || g.works():
				f = g
			}
		}
		all = append(all, f)
	}
	for _, h := range ours {
		if !slices.ContainsFunc(want, func(w handler) bool { return h.event == w.event && h.binary == w.binary }) {
			f := found(h)
			f.State, f.Detail = outdated, "this version wires nothing there"
			all = append(all, f)
		}
	}
	for i := range all {
		f := &all[i]
		f.Scope, f.File = p.name, p.file
		if f.State != wired {
			f.Fix = p.repair()
		}
	}
	return all
}

func found(h handler) finding {
	return finding{Event: h.event, Hook: h.short(), Line: h.line, Command: h.String(), Timeout: h.timeout}
}

// compare says how the handler h does what it should do as w.
func compare(env *cli.Env, h, w handler) (state, detail string) {
	file, err := locate(env, h.program())
	switch {
	case err != nil:
		return noBinary, err.Error()
	case h.timeout >= suspicious:
		return outdated, inSeconds(h)
	case !h.same(w):
		return outdated, "not as this version wires it"
	case !sameFile(file, w.command):
		return otherPath, "runs " + file
	}
	return wired, ""
}

// locate finds the file of a program as the agent would. A path that only a
// shell can read is taken at its word.
func locate(env *cli.Env, program string) (string, error) {
	switch {
	case strings.ContainsAny(program, "~$`"):
		return program, nil
	case strings.Contains(program, "/"):
		return program, runnable(program)
	}
	return onPath(env, program)
}

// suspicious is a time limit in seconds that nobody can mean: over a quarter
// of an hour, and as a number of milliseconds quite usual.
const suspicious = 1000

func inSeconds(h handler) string {
	return fmt.Sprintf("its timeout of %v is in seconds, %.1f hours", h.timeout, h.timeout/3600)
}

// advise says what is wrong and what to do about it.
func advise(env *cli.Env, places []place, all []finding) {
	var fixes []string
	for _, f := range all {
		if f.Detail != "" && f.Event == "" {
			env.Warn("%s", f.Detail)
		} else if f.Detail != "" {
			env.Warn("%s: %s %s: %s", f.Scope, f.Event, f.Hook, f.Detail)
		}
		if f.Fix != "" && !slices.Contains(fixes, f.Fix) {
			fixes = append(fixes, f.Fix)
		}
	}
	for _, p := range places {
		for _, h := range p.all {
			if h.binary == "" && h.timeout >= suspicious {
				env.Warn("%s line %d, not of gt: %s", p.file, h.line, inSeconds(h))
			}
		}
	}
	for _, c := range conflicts(places) {
		env.Warn("%s", c)
	}
	if !slices.ContainsFunc(all, func(f finding) bool { return f.Event != "" }) {
		fixes = append(fixes, place{name: "user"}.repair())
	}
	for _, fix := range fixes {
		env.Hint("%s", fix)
	}
}

// conflicts says what stands in the way of a wiring that is right in itself.
func conflicts(places []place) []string {
	var all []string
	if off := disabled(places); off != nil {
		all = append(all, fmt.Sprintf("'%s' switches all hooks off with disableAllHooks; take that out", off.file))
	}
	var first *place
	for i, p := range places {
		if len(p.ours()) == 0 {
			continue
		}
		if first == nil {
			first = &places[i]
			continue
		}
		all = append(all, fmt.Sprintf("wired twice, in %s and %s: keep one of them, for example with: %s", first.name, p.name, p.removal()))
	}
	return all
}

// repair is the command that puts the wiring of a place right.
func (p place) repair() string {
	switch p.name {
	case "user":
		return "gt-hooks install claude"
	case "project", "local":
		return "gt-hooks install claude --scope " + p.name
	case "plugin":
		return "claude plugin update " + p.plugin
	}
	return "ask who manages '" + p.file + "'"
}

// matrix shows the places, and below them each hook in each place that has any.
func (p *printer) matrix(places []place, want []handler, all []finding) {
	overview := [][]string{{"SCOPE", "HOOKS", "SETTINGS"}}
	hooks := [][]string{{"EVENT", "HOOK"}}
	for _, w := range want {
		hooks = append(hooks, []string{w.event, w.short()})
	}
	for _, at := range places {
		state, working := "", 0
		for _, f := range all {
			switch i := slices.IndexFunc(want, f.is); {
			case f.File != at.file:
			case f.Event == "":
				state = f.State
			case i >= 0:
				hooks[i+1] = append(hooks[i+1], f.State)
				if f.works() {
					working++
				}
			}
		}
		if state == "" {
			state = fmt.Sprintf("%d of %d", working, len(want))
			hooks[0] = append(hooks[0], strings.ToUpper(at.name))
		}
		overview = append(overview, []string{at.name, state, at.file})
	}
	// A path that is cut tells nobody where to look.
	p.tableOf(0, overview)
	if len(hooks[0]) > 2 {
		p.line("")
		p.table(hooks)
	}
}
