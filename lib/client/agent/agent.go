// Package agent knows the clients: what each is called, which of the variables
// around it belong to one run of it, and how the next run is started from the
// arguments of the last. It is a table, with the rules to read it.
package agent

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// Client is what is known of one agent: its block in the table, whose keys are
// those of the TOML files. docs/agents.md tells what each is for.
type Client struct {
	Name string `toml:"-"` // claude, codex, … as in a session's record

	// Command is how it is started where nothing better is known, Env what it
	// gets into its environment besides.
	Command Argv              `toml:"command"`
	Env     map[string]string `toml:"env"`
	// Wrapper is what it is started in where a pane is its own: the words before its command
	// line (see lib/launch/launcher).
	Wrapper Argv   `toml:"wrapper"`
	Icon    string `toml:"icon"`

	// Processes are the names under which it runs, as tmux shows them and as
	// Gas Town has them in GT_PROCESS_NAMES. The first is its own.
	Processes []string `toml:"processes"`

	// RunVars are the variables that belong to one run of the agent or to one
	// of its commands; a name that ends in * stands for all that begin so.
	RunVars []string `toml:"run_vars"`

	// StoreEnv is the variable by which it is told the folder that it keeps its
	// sessions and settings in, Store that folder below HOME without.
	StoreEnv string `toml:"store_env"`
	Store    string `toml:"store"`

	// Accounts are further folders of that kind, of other accounts, which a
	// person lists; ~ stands for HOME.
	Accounts []string `toml:"accounts"`

	// The arguments that go on with a conversation: the last one of this
	// folder, the one of an id, a copy of that one; that begin a new one with
	// an id; and that stand before the first prompt. The id takes the place of
	// {id}, else it comes behind. nil where the agent cannot.
	ContinueFlag  Argv `toml:"continue_flag"`
	ResumeFlag    Argv `toml:"resume_flag"`
	ForkFlag      Argv `toml:"fork_flag"`
	SessionIDFlag Argv `toml:"session_id_flag"`
	ForkIDFlag    Argv `toml:"fork_id_flag"` // besides ForkFlag, gives the copy an id
	PromptFlag    Argv `toml:"prompt_flag"`

	// ResumePromptEnv is the variable that holds "ID PROMPT" for an agent that takes no
	// prompt together with a session; its hooks say the prompt in that session. "" where
	// PromptFlag does both.
	ResumePromptEnv string `toml:"resume_prompt_env"`

	// The arguments that answer one prompt and end, and that print the answer
	// as JSON, in which the session's id stands at SessionIDJSONPath (".a.b").
	PrintFlag         Argv   `toml:"print_flag"`
	OutputFormatFlag  Argv   `toml:"output_format_flag"`
	SessionIDJSONPath string `toml:"session_id_json_path"`
	// SessionIDTimeout is how many seconds it has for that; 0 leaves that to the caller.
	SessionIDTimeout int `toml:"session_id_timeout"`
	// SessionIDEnv is the variable that holds it.
	SessionIDEnv string `toml:"session_id_env"`

	// DangerousFlag has it ask for no permission; gt uses it only where
	// DangerousMode says so, which a person sets.
	DangerousFlag Argv `toml:"dangerous_flag"`
	DangerousMode bool `toml:"dangerous_mode"`

	// Dialect is how its hooks take an answer, by the name of the client that
	// it was seen with; empty where it has no hooks. ContextCap is how much it
	// takes whole; 0 leaves that to the dialect.
	Dialect    string `toml:"dialect"`
	ContextCap int    `toml:"context_cap"`
	Hooks      Hooks  `toml:"hooks"`

	// What its screen shows; see ScreenState, Detect and Input.
	ReadyPrompt    Patterns `toml:"ready_prompt"`
	BusyPatterns   Patterns `toml:"busy_patterns"`
	PromptPatterns Patterns `toml:"prompt_patterns"`
	DetectPatterns Patterns `toml:"detect_patterns"`
	InputBox       Patterns `toml:"input_box"`
	EmptyInput     Patterns `toml:"empty_input"`
	DeafPatterns   Patterns `toml:"deaf_patterns"`  // it drops a prompt now; see Deaf
	OpensPatterns  Patterns `toml:"opens_patterns"` // it may still ask at its start; see Opens
	// PasteSize is how many bytes it takes for one paste even where it is slow to read
	// them; 0 means any number.
	PasteSize int `toml:"paste_size"`

	// AcceptDialogs are the options of what it asks at its start with which a person
	// accepts that it works in the folder, and with the permissions of its flags.
	AcceptDialogs Patterns `toml:"accept_dialogs"`

	// QuitCommand is the prompt that ends it, "" where it has none.
	QuitCommand string `toml:"quit_command"`

	// Flags are the flags of the agent, nil where they are not known, and then
	// the next run gets none of them.
	Flags *Flags `toml:"flags"`
	flags map[string]flag

	// Ask is how it is asked what one of its sessions knows, nil where it cannot
	// be without a trace.
	Ask *Ask `toml:"ask"`
}

// Flags are an agent's flags by what becomes of them in its next run, each as
// its help shows it: "-c, --continue", "--model NAME", "-r [ID]" where the value
// may be left out, "--file PATH..." where it may be several. One without a dash
// is a command, the first word that is not a flag.
type Flags struct {
	Kept     []string `toml:"kept"`     // the person's choices
	Once     []string `toml:"once"`     // for that one run
	Headless []string `toml:"headless"` // the same, and that no person is there
}

// Hooks are where an agent's hooks are wired. A path may begin with ~ or with
// ${NAME:-otherwise}, a variable, as in a shell.
type Hooks struct {
	// Format is whose wiring it takes, by the name of the client that it was
	// seen with; empty for that of its dialect.
	Format string `toml:"format"`
	// Home is the agent's own folder. The files are the person's settings, which
	// are below that where they are nowhere else, those of a project, and those
	// of the person in a project, both below the project's top folder.
	Home    string `toml:"home"`
	User    string `toml:"user"`
	Project string `toml:"project"`
	Local   string `toml:"local"`
	// Instead says why gt cannot be wired into it, and what can be done.
	Instead string `toml:"instead"`
	// ProveFlags are the arguments with which it runs its hooks and reaches
	// nobody, in an environment that has ProveEnv ("NAME=value") besides; nil
	// where no such run is known.
	ProveFlags Argv     `toml:"prove_flags"`
	ProveEnv   []string `toml:"prove_env"`
}

// UserFile returns the file of the person's hooks; dir is what a relative path in a
// variable is relative to.
func (h Hooks) UserFile(getenv func(string) string, dir string) (string, error) {
	path, err := Expand(getenv, dir, h.User)
	if err != nil || filepath.IsAbs(path) {
		return path, err
	}
	own, err := Expand(getenv, dir, cmp.Or(h.Home, "~"))
	return filepath.Join(own, path), err
}

// ErrNoHome says that a path begins with ~ and that HOME is not set.
var ErrNoHome = errors.New("cannot find the user's settings: HOME is not set")

// Expand expands ~ and ${NAME:-default} at the beginning of a path of the table, as a
// shell does. A relative path in a variable is relative to dir.
func Expand(getenv func(string) string, dir, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "${"); ok {
		name, rest, _ := strings.Cut(rest, "}")
		name, otherwise, _ := strings.Cut(name, ":-")
		value := getenv(name)
		if value == "" {
			return Expand(getenv, dir, otherwise+rest)
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(dir, value)
		}
		return value + rest, nil
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", ErrNoHome
		}
		return filepath.Clean(home + rest), nil
	}
	return path, nil
}

// Next says how the next run of a client begins. With none of the fields set
// it is a fresh session that waits for the person.
type Next struct {
	ID       string // the id of the session, or of the copy, for an agent that takes one
	Resume   string // the id of the session to go on with
	Continue bool   // go on with the last session of the folder
	Fork     bool   // with a copy of Resume
	Prompt   string // what is said first
}

// ProgramName is the name of the program that a command line runs: of a script,
// that of the script.
func ProgramName(args []string) string {
	program, _ := Client{}.program(args)
	if len(program) == 0 {
		return ""
	}
	name := filepath.Base(program[len(program)-1])
	for _, ending := range []string{".js", ".mjs", ".exe"} { // .exe is npm's of Claude Code on every system
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// IsRunVar reports whether a variable belongs to one run of the client: its successor
// must not inherit it. Claude Code, for one, keeps no transcript of a session
// that it takes for a child of another.
func (c Client) IsRunVar(name string) bool {
	return slices.ContainsFunc(c.RunVars, func(own string) bool {
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
		if name, _, _ := strings.Cut(kv, "="); !c.IsRunVar(name) {
			kept = append(kept, kv)
		}
	}
	return kept
}

// CanResume and CanFork report whether the client can go on with a session, or with
// a copy of it.
func (c Client) CanResume() bool { return len(c.ResumeFlag) > 0 }
func (c Client) CanFork() bool   { return len(c.ForkFlag) > 0 }

// Headless reports whether a client that was started with these arguments answers
// one prompt and ends, without a person in front of it.
func (c Client) Headless(args []string) bool {
	_, rest := c.program(args)
	found := false
	c.walk(rest, func(f flag, words []string) {
		found = found || f.kind&headless != 0
	})
	return found
}

// contains reports whether the words stand in args, one behind the other.
func contains(args, words []string) bool {
	for i := range len(args) - len(words) + 1 {
		if slices.Equal(args[i:i+len(words)], words) {
			return true
		}
	}
	return false
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
// word behind it, if that can be its value: it is not a flag and has no blank in
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
	if c.DangerousMode && !contains(out, c.DangerousFlag) {
		out = append(out, c.DangerousFlag...)
	}
	switch {
	case next.Resume != "" && next.Fork:
		out = append(out, c.ForkFlag.With(next.Resume)...)
		if next.ID != "" && len(c.ForkIDFlag) > 0 {
			out = append(out, c.ForkIDFlag.With(next.ID)...)
		}
	case next.Resume != "":
		out = append(out, c.ResumeFlag.With(next.Resume)...)
	case next.Continue:
		out = append(out, c.ContinueFlag...)
	case next.ID != "" && len(c.SessionIDFlag) > 0:
		out = append(out, c.SessionIDFlag.With(next.ID)...)
	}
	if next.Prompt != "" && c.PromptVar(next) == "" {
		out = append(out, c.PromptFlag...)
		out = append(out, next.Prompt)
	}
	return out
}

// PromptVar is the variable ("NAME=value") by which the next run is told its first prompt,
// "" where it is an argument.
func (c Client) PromptVar(next Next) string {
	if c.ResumePromptEnv == "" || next.Prompt == "" || next.Resume == "" || next.Fork {
		return ""
	}
	return c.ResumePromptEnv + "=" + next.Resume + " " + next.Prompt
}

// Kept returns the arguments of a command line that a person chose: not the prompt, nor
// what is for one run. It returns none where another program than the client runs.
func (c Client) Kept(args []string) (kept []string) {
	if len(args) == 0 || len(c.Command) == 0 || filepath.Base(ProgramName(args)) != filepath.Base(c.Command[0]) {
		return nil
	}
	_, rest := c.program(args)
	c.walk(rest, func(f flag, words []string) {
		if f.kind&once == 0 {
			kept = append(kept, words...)
		}
	})
	return kept
}

// program splits a command line into what has to be executed and its
// arguments.
func (c Client) program(args []string) (program, rest []string) {
	if len(args) == 0 || args[0] == "" {
		return slices.Clone(c.Command), nil
	}
	if !interpreter(args[0]) {
		return args[:1], args[1:]
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-r" || a == "--require" || a == "--import" || a == "--loader" || a == "-C" || a == "--env-file":
			i++ // with a word behind it
		case !strings.HasPrefix(a, "--") && strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c"):
			return slices.Clone(c.Command), nil // sh -c, bash -lc: the next word is code and no script
		case !strings.HasPrefix(a, "-"):
			return args[:i+1], args[i+1:]
		}
	}
	return slices.Clone(c.Command), nil // an interpreter without a script is not a client
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
	unlisted       // of a flag that is in no table: a word that is no flag and no sentence
)

// kind says what a flag is for.
type kind int

const (
	kept     kind = 0
	once     kind = 1 << iota // for one run
	headless                  // runs without a person
)

// walk calls each for every flag with the words that belong to it, as the
// client would read them, and for a command. Operands, which are prompts, are
// left out.
func (c Client) walk(args []string, each func(f flag, words []string)) {
	if c.flags == nil {
		return
	}
	operands := 0
	for i := 0; i < len(args); {
		a := args[i]
		if a == "--" {
			return // what follows are operands
		}
		if !isFlag(a) {
			if f, command := c.flags[a]; command && operands == 0 {
				each(f, args[i:i+1])
			}
			operands++
			i++
			continue
		}
		f, attached, more := c.flagOf(a)
		if more != "" {
			each(f, []string{a[:2]})
			args = slices.Concat(args[:i], []string{more}, args[i+1:])
			continue
		}
		n := 1 + f.takes(args[i+1:], attached)
		each(f, args[i:i+n])
		i += n
	}
}

// flagOf returns what is known of the flag that a word begins with. attached reports whether its
// value is in the word, too; more are the other flags of several short ones: -p of -cp.
func (c Client) flagOf(word string) (f flag, attached bool, more string) {
	name, _, attached := strings.Cut(word, "=")
	if f, known := c.flags[name]; known {
		return f, attached, ""
	}
	if !strings.HasPrefix(word, "--") && len(word) > 2 {
		f, known := c.flags[word[:2]]
		switch {
		case known && f.value == none:
			return f, false, "-" + word[2:]
		case known: // -rID
			return f, true, ""
		}
	}
	return flag{value: unlisted}, attached, ""
}

// takes returns how many of the words behind a flag are its values.
func (f flag) takes(behind []string, attached bool) int {
	if len(behind) == 0 || attached && f.value != many {
		return 0
	}
	next := !isFlag(behind[0])
	switch {
	case f.value == one,
		f.value == optional && next,
		f.value == unlisted && next && !strings.ContainsAny(behind[0], " \t\n"):
		return 1
	case f.value == many:
		n := 0
		if !attached {
			n = 1
		}
		for n < len(behind) && !isFlag(behind[n]) {
			n++
		}
		return n
	}
	return 0
}

func isFlag(a string) bool { return len(a) > 1 && a[0] == '-' }
