// Package agent knows the clients: what each is called, which of the variables
// around it belong to one run of it, and how the next run is started from the
// arguments of the last. It is a table, with the rules to read it.
package agent

import (
	"path/filepath"
	"slices"
	"strings"
)

// Client is what is known of one client.
type Client struct {
	Name    string // claude, codex, … as in a session's record
	Command string // how it is started where nothing better is known

	// Processes are the names under which it runs, as tmux shows them and as
	// Gas Town has them in GT_PROCESS_NAMES.
	Processes []string

	// run are the variables that belong to one run of the client or to one
	// of its commands; a name that ends in * stands for all that begin so.
	run []string

	// The arguments that go on with a conversation: the last one of this
	// folder, or the one whose id takes the place of "ID", or a copy of that
	// one; nil where the client cannot.
	proceed, resume, fork []string

	account account
	ask     *Ask

	// prompt stands before the first prompt.
	prompt []string

	// flags are the client's flags, nil where they are not known.
	flags map[string]flag
}

// Next says how the next run of a client begins. With none of the fields set
// it is a fresh session that waits for the person.
type Next struct {
	Resume   string // the id of the session to go on with
	Continue bool   // go on with the last session of the folder
	Fork     bool   // with a copy of Resume
	Prompt   string // what is said first
}

// Of returns what is known of a client; of one that is not known, that its
// command is its name.
func Of(name string) Client {
	for _, c := range clients {
		if c.Name == name {
			return c
		}
	}
	return Client{Name: name, Command: name, Processes: []string{name, "node"}}
}

// IsClient says whether a program of that name is a client that gt knows.
func IsClient(name string) bool {
	return slices.ContainsFunc(clients, func(c Client) bool { return c.Processes[0] == name })
}

// ByProcess returns the client that runs under that name, as IsClient takes it.
func ByProcess(name string) Client {
	for _, c := range clients {
		if c.Processes[0] == name {
			return c
		}
	}
	return Of(name)
}

// ProgramName is the name of the program that a command line runs: of a script,
// that of the script.
func ProgramName(args []string) string {
	program, _ := Client{}.program(args)
	name := filepath.Base(program[len(program)-1])
	return strings.TrimSuffix(strings.TrimSuffix(name, ".js"), ".mjs")
}

// Own says whether a variable belongs to one run of the client: its successor
// must not inherit it. Claude Code, for one, keeps no transcript of a session
// that it takes for a child of another.
func (c Client) Own(name string) bool {
	return slices.ContainsFunc(c.run, func(own string) bool {
		if prefix, ok := strings.CutSuffix(own, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return own == name
	})
}

// Inherit returns what of an environment ("NAME=value") the next run gets.
func (c Client) Inherit(environ []string) []string {
	var kept []string
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); !c.Own(name) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// Outside returns what of an environment belongs to no run of any client: what a
// client gets that is started from within another.
func Outside(environ []string) []string {
	for _, c := range clients {
		environ = c.Inherit(environ)
	}
	return environ
}

// CanResume and CanFork say whether the client can go on with a session, or with
// a copy of it.
func (c Client) CanResume() bool { return c.resume != nil }
func (c Client) CanFork() bool   { return c.fork != nil }

// Headless says whether a client that was started with these arguments answers
// one prompt and ends, without a person in front of it.
func (c Client) Headless(args []string) bool {
	_, rest := c.program(args)
	found := false
	c.walk(rest, func(f flag, words []string) {
		found = found || f.kind&headless != 0
	})
	return found
}

// Restart returns the arguments, the program first, that start the next run of
// a client that was started with args. The program is the one that runs now,
// with the interpreter before it if it is a script; its name may have to be
// looked up on PATH.
//
// The person's choices stay: model, permissions, settings, folders. What was
// for that one run goes: its prompt, which session it went on with, the name
// of a worktree to make, and what only makes sense without a person (-p and
// how it prints), for the next run has one in front of it.
//
// A flag that we do not know is kept, for the person gave it; and so is the
// word behind it, if that can be its value: it is no flag and has no blank in
// it, as a prompt has. Of a client whose flags are not known at all only the
// program is kept.
func (c Client) Restart(args []string, next Next) []string {
	program, rest := c.program(args)
	out := slices.Clone(program)
	c.walk(rest, func(f flag, words []string) {
		if f.kind&once == 0 {
			out = append(out, words...)
		}
	})
	switch {
	case next.Resume != "" && next.Fork:
		out = append(out, fill(c.fork, "ID", next.Resume)...)
	case next.Resume != "":
		out = append(out, fill(c.resume, "ID", next.Resume)...)
	case next.Continue:
		out = append(out, c.proceed...)
	}
	if next.Prompt != "" {
		out = append(out, c.prompt...)
		out = append(out, next.Prompt)
	}
	return out
}

// program splits a command line into what has to be executed and its
// arguments.
func (c Client) program(args []string) (program, rest []string) {
	if len(args) == 0 || args[0] == "" {
		return []string{c.Command}, nil
	}
	if !interpreter(args[0]) {
		return args[:1], args[1:]
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-r" || a == "--require" || a == "--import" || a == "--loader" || a == "-C" || a == "--env-file":
			i++ // with a word behind it
		case !strings.HasPrefix(a, "-"):
			return args[:i+1], args[i+1:]
		}
	}
	return []string{c.Command}, nil // an interpreter without a script is no client
}

// interpreter knows the programs that run a client which is a script.
func interpreter(path string) bool {
	switch filepath.Base(path) {
	case "node", "nodejs", "bun", "deno", "tsx", "python", "python3", "sh", "bash", "dash", "zsh":
		return true
	}
	return false
}

// flag is what is known of one flag.
type flag struct {
	value value
	kind  kind
}

// value says what stands behind a flag.
type value int

const (
	none     value = iota
	one            // a word, whatever it looks like
	optional       // a word, unless that is a flag
	many           // words, up to the next flag
)

// kind says what a flag is for.
type kind int

const (
	kept     kind = 0
	once     kind = 1 << iota // for one run
	headless                  // runs without a person
)

// walk calls each for every flag with the words that belong to it, as the
// client would read them. Operands, which are prompts, are left out.
func (c Client) walk(args []string, each func(f flag, words []string)) {
	if c.flags == nil {
		return
	}
	for i := 0; i < len(args); {
		a := args[i]
		if a == "--" {
			return // what follows are operands
		}
		if !isFlag(a) {
			i++
			continue
		}
		name, _, attached := strings.Cut(a, "=")
		f, known := c.flags[name]
		if !known && !strings.HasPrefix(a, "--") && len(a) > 2 {
			// Short flags in one word: -cp, or -rID.
			name = a[:2]
			if f, known = c.flags[name]; known {
				if f.value == none {
					each(f, []string{name})
					args = slices.Concat(args[:i], []string{"-" + a[2:]}, args[i+1:])
					continue
				}
				attached = true
			}
		}
		n := 1
		switch {
		case attached && f.value != many:
		case f.value == one && i+1 < len(args):
			n = 2
		case f.value == optional && i+1 < len(args) && !isFlag(args[i+1]):
			n = 2
		case f.value == many:
			if !attached && i+1 < len(args) {
				n = 2
			}
			for i+n < len(args) && !isFlag(args[i+n]) {
				n++
			}
		case !known && i+1 < len(args) && !isFlag(args[i+1]) && !strings.ContainsAny(args[i+1], " \t\n"):
			n = 2
		}
		each(f, args[i:i+n])
		i += n
	}
}

func isFlag(a string) bool { return len(a) > 1 && a[0] == '-' }
