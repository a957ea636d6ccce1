// Package agent describes the clients: their commands, the variables that belong to one
// run, and how to start the next run from the arguments of the last. It is a table with
// the rules to read it.
package agent

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// Client is an agent's block in the table. Its keys are those of the TOML files, which
// docs/agents.md describes.
type Client struct {
	Name string `toml:"-"` // claude, codex, … as in a session's record

	// Command starts the client if nothing better is known, with the variables Env.
	Command Argv              `toml:"command"`
	Env     map[string]string `toml:"env"`
	// Wrapper is the command that wraps Command in a pane of its own (see
	// lib/launch/launcher).
	Wrapper Argv   `toml:"wrapper"`
	Icon    string `toml:"icon"`

	// Processes are the names of its process, as tmux shows them and as Gas Town puts
	// them into GT_PROCESS_NAMES. The first is not shared with another client.
	Processes []string `toml:"processes"`

	// RunVars are the variables that belong to one run of the agent or to one of its
	// commands. A name that ends in * is a prefix.
	RunVars []string `toml:"run_vars"`

	// StoreEnv is the variable that names the folder of its sessions and settings. Store
	// is the default, below HOME.
	StoreEnv string `toml:"store_env"`
	Store    string `toml:"store"`

	// Accounts are such folders of other accounts, which a person lists; ~ is HOME.
	Accounts []string `toml:"accounts"`

	// ContinueFlag goes on with the folder's last conversation, ResumeFlag with the one
	// that has an id, ForkFlag with a copy of that one. SessionIDFlag gives a new
	// conversation an id. PromptFlag precedes the first prompt. The id replaces {id}, or
	// is appended. nil means that the agent cannot do it.
	ContinueFlag  Argv `toml:"continue_flag"`
	ResumeFlag    Argv `toml:"resume_flag"`
	ForkFlag      Argv `toml:"fork_flag"`
	SessionIDFlag Argv `toml:"session_id_flag"`
	ForkIDFlag    Argv `toml:"fork_id_flag"` // used with ForkFlag, gives the copy an id
	PromptFlag    Argv `toml:"prompt_flag"`

	// ResumePromptEnv is the variable that holds "ID PROMPT", for an agent that takes no
	// prompt together with a session: its hooks submit the prompt in that session. It is
	// "" if PromptFlag works there too.
	ResumePromptEnv string `toml:"resume_prompt_env"`

	// TypesPrompt reports that it takes no first prompt as an argument: gt types it.
	TypesPrompt bool `toml:"types_prompt"`

	// AloneFlag makes it run its session itself, in its own process and environment, where
	// it could run it in a server that it shares with other windows.
	AloneFlag Argv `toml:"alone_flag"`

	// PrintFlag answers one prompt and exits. OutputFormatFlag prints the answer as JSON,
	// which has the session's id at SessionIDJSONPath (".a.b").
	PrintFlag         Argv   `toml:"print_flag"`
	OutputFormatFlag  Argv   `toml:"output_format_flag"`
	SessionIDJSONPath string `toml:"session_id_json_path"`
	// SessionIDTimeout limits that run, in seconds; 0 is the caller's default.
	SessionIDTimeout int    `toml:"session_id_timeout"`
	SessionIDEnv     string `toml:"session_id_env"`

	// DangerousFlag makes it ask for no permission. gt uses it only if a person sets
	// DangerousMode.
	DangerousFlag Argv `toml:"dangerous_flag"`
	DangerousMode bool `toml:"dangerous_mode"`

	// Dialect is the form of its hooks' answers, by the name of the client that was
	// tested with it; empty if the agent has no hooks. ContextCap is the longest answer
	// that it takes whole; 0 is the dialect's.
	Dialect    string `toml:"dialect"`
	ContextCap int    `toml:"context_cap"`
	Hooks      Hooks  `toml:"hooks"`

	ReadyPrompt    Patterns `toml:"ready_prompt"`
	BusyPatterns   Patterns `toml:"busy_patterns"`
	PromptPatterns Patterns `toml:"prompt_patterns"`
	DetectPatterns Patterns `toml:"detect_patterns"`
	InputBox       Patterns `toml:"input_box"`
	EmptyInput     Patterns `toml:"empty_input"`
	DeafPatterns   Patterns `toml:"deaf_patterns"`  // on the screen while it drops a prompt
	OpensPatterns  Patterns `toml:"opens_patterns"` // on the screen while it may still ask at its start
	// BusyDrops says that it may lose a prompt that comes while it works.
	BusyDrops bool `toml:"busy_drops"`
	// AnsweredPatterns are below a question that was answered and is still on the screen.
	AnsweredPatterns Patterns `toml:"answered_patterns"`
	// PasteSize is how many bytes it takes as one paste even if it reads slowly; 0 is any
	// number.
	PasteSize int `toml:"paste_size"`

	// AcceptDialogs are the options with which a person accepts, in a dialog at the
	// start, the folder or the permissions of its flags.
	AcceptDialogs Patterns `toml:"accept_dialogs"`

	// QuitCommand is the prompt that ends it, or "".
	QuitCommand string `toml:"quit_command"`

	// Flags are the agent's flags. If they are unknown (nil), the next run gets none of
	// the last run's arguments.
	Flags *Flags `toml:"flags"`
	flags map[string]flag

	// Ask describes how to ask the agent about one of its sessions; nil if it cannot be
	// asked without a trace.
	Ask *Ask `toml:"ask"`
}

// Flags groups an agent's flags by whether its next run gets them. Each is written as in
// the agent's help: "-c, --continue", "--model NAME", "-r [ID]" for an optional value,
// "--file PATH..." for several. A word without a dash is a command, which is the first
// word that is not a flag.
type Flags struct {
	Kept     []string `toml:"kept"`     // what the person chose
	Once     []string `toml:"once"`     // for one run
	Headless []string `toml:"headless"` // for one run without a person
}

// Hooks are the places of an agent's hooks. A path may begin with ~ or with
// ${NAME:-default}, as in a shell.
type Hooks struct {
	// Format is the form of the wiring, by the name of the client that was tested with
	// it; empty if it is the dialect's.
	Format string `toml:"format"`
	// Home is the agent's own folder. User is the file of the person's settings, relative
	// to Home. Project is the project's file and Local the person's file in a project,
	// both relative to the project's top folder.
	Home    string `toml:"home"`
	User    string `toml:"user"`
	Project string `toml:"project"`
	Local   string `toml:"local"`
	// Instead says why gt cannot be wired into the agent, and what the person can do.
	Instead string `toml:"instead"`
	// ProveFlags are arguments with which the agent runs its hooks without any network.
	// The run also gets ProveEnv ("NAME=value"). nil means that no such run is known.
	ProveFlags Argv     `toml:"prove_flags"`
	ProveEnv   []string `toml:"prove_env"`
	// ProvedVersions are the agent's versions with which gt was tested, the oldest first. nil
	// means that the version does not matter.
	ProvedVersions []string `toml:"proved_versions"`
}

// UserFile returns the file of the person's hooks. A relative path in a variable is
// relative to dir.
func (h Hooks) UserFile(getenv func(string) string, dir string) (string, error) {
	path, err := Expand(getenv, dir, h.User)
	if err != nil || filepath.IsAbs(path) {
		return path, err
	}
	own, err := Expand(getenv, dir, cmp.Or(h.Home, "~"))
	return filepath.Join(own, path), err
}

// ErrNoHome means that a path begins with ~ and HOME is not set.
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

// NextRun says how the next run of a client begins. The zero NextRun is a new session that
// waits for the person.
type NextRun struct {
	ID       string // the id of the new session or copy, for an agent that takes one
	Resume   string // the id of the session to resume
	Continue bool   // resume the folder's last session
	Fork     bool   // resume a copy of Resume
	Alone    bool   // without a server that several windows share
	Prompt   string // the first prompt
}

// ProgramName returns the name of the program that a command line runs. If an interpreter
// runs a script, it is the script's name.
func ProgramName(args []string) string {
	program, _ := Client{}.splitProgram(args)
	if len(program) == 0 {
		return ""
	}
	name := filepath.Base(program[len(program)-1])
	for _, ending := range []string{".js", ".mjs", ".exe"} { // npm installs Claude Code as .exe on every system
		name = strings.TrimSuffix(name, ending)
	}
	return name
}

// IsRunVar reports whether a variable belongs to one run of the client, so that the next
// run must not inherit it. Claude Code, for example, keeps no transcript of a session
// that it takes for a child of another.
func (c Client) IsRunVar(name string) bool {
	return slices.ContainsFunc(c.RunVars, func(own string) bool {
		if prefix, ok := strings.CutSuffix(own, "*"); ok {
			return strings.HasPrefix(name, prefix)
		}
		return own == name
	})
}

// Inherit returns the part of an environment ("NAME=value") that the next run gets.
func (c Client) Inherit(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return c.IsRunVar(name)
	})
}

// CanResume and CanFork report whether the client can go on with a session, or with a
// copy of one.
func (c Client) CanResume() bool { return len(c.ResumeFlag) > 0 }
func (c Client) CanFork() bool   { return len(c.ForkFlag) > 0 }

// Headless reports whether a client with these arguments answers one prompt and exits,
// without a person.
func (c Client) Headless(args []string) bool {
	_, rest := c.splitProgram(args)
	found := false
	c.eachFlag(rest, func(f flag, words []string) {
		found = found || f.kind&headless != 0
	})
	return found
}

func contains(args, words []string) bool {
	for i := range len(args) - len(words) + 1 {
		if slices.Equal(args[i:i+len(words)], words) {
			return true
		}
	}
	return false
}

// Restart returns the command line of the next run of a client that was started with
// args. The program stays the same, with its interpreter if it is a script; it may have
// to be looked up on PATH.
//
// The arguments that the person chose stay: model, permissions, settings, folders. The
// arguments for that one run go: its prompt, the session to resume, the name of a new
// worktree, and what only makes sense without a person (-p and its output format),
// because the next run has one.
//
// An unknown flag stays, because the person gave it. So does the next word if it can be a
// value: it is not a flag and, unlike a prompt, has no blank. If none of the client's
// flags are known, only the program stays.
func (c Client) Restart(args []string, next NextRun) []string {
	program, rest := c.splitProgram(args)
	out := slices.Concat(program, c.withoutOneRun(rest))
	if c.DangerousMode && !contains(out, c.DangerousFlag) {
		out = append(out, c.DangerousFlag...)
	}
	out = removeWords(out, c.AloneFlag) // next.Alone adds it again
	switch {
	case next.Resume != "" && next.Fork:
		out = append(out, c.ForkFlag.WithID(next.Resume)...)
		if next.ID != "" && len(c.ForkIDFlag) > 0 {
			out = append(out, c.ForkIDFlag.WithID(next.ID)...)
		}
	case next.Resume != "":
		out = append(out, c.ResumeFlag.WithID(next.Resume)...)
	case next.Continue:
		out = append(out, c.ContinueFlag...)
	case next.ID != "" && len(c.SessionIDFlag) > 0:
		out = append(out, c.SessionIDFlag.WithID(next.ID)...)
	}
	if next.Prompt != "" && c.PromptVar(next) == "" {
		out = append(out, c.PromptFlag...)
		out = append(out, next.Prompt)
	}
	if next.Alone {
		out = append(out, c.AloneFlag...)
	}
	return out
}

// PromptVar returns the variable ("NAME=value") that holds the next run's first prompt,
// or "" if the prompt is an argument.
func (c Client) PromptVar(next NextRun) string {
	if c.ResumePromptEnv == "" || next.Prompt == "" || next.Resume == "" || next.Fork {
		return ""
	}
	return c.ResumePromptEnv + "=" + next.Resume + " " + next.Prompt
}

// ChosenArgs returns the arguments that a person chose: neither the prompt nor what is for one
// run. It returns none if args runs another program than the client.
func (c Client) ChosenArgs(args []string) []string {
	if len(args) == 0 || len(c.Command) == 0 || filepath.Base(ProgramName(args)) != filepath.Base(c.Command[0]) {
		return nil
	}
	_, rest := c.splitProgram(args)
	return removeWords(c.withoutOneRun(rest), c.AloneFlag)
}

// withoutOneRun returns the arguments that a person would give the next session, too: without
// those for one run, such as a prompt or --resume. args does not include the program.
func (c Client) withoutOneRun(args []string) (kept []string) {
	c.eachFlag(args, func(f flag, words []string) {
		if f.kind&forOneRun == 0 {
			kept = append(kept, words...)
		}
	})
	return kept
}

// removeWords removes words wherever args has all of them in a row. It changes args itself.
func removeWords(args, words []string) []string {
	for i := 0; len(words) > 0 && i+len(words) <= len(args); {
		if slices.Equal(args[i:i+len(words)], words) {
			args = slices.Delete(args, i, i+len(words))
			continue
		}
		i++
	}
	return args
}

// harmless are flags whose value, a single word, names neither a program nor a file nor a
// permission, whatever the client.
var harmless = []string{"--model", "--fallback-model", "--effort"}

// SplitHarmless divides a client's arguments, args without the program, into the safe ones, which
// another host's person may choose as well (see harmless), and the rest. Those for one run are in
// neither.
func (c Client) SplitHarmless(args []string) (safe, rest []string) {
	c.eachFlag(args, func(f flag, words []string) {
		name, value, attached := strings.Cut(words[0], "=")
		if !attached && len(words) == 2 {
			value = words[1]
		}
		switch _, known := c.flags[name]; {
		case f.kind&forOneRun != 0:
		case known && slices.Contains(harmless, name) && isWord(value):
			safe = append(safe, words...)
		default:
			rest = append(rest, words...)
		}
	})
	return safe, rest
}

func isWord(value string) bool {
	return value != "" && value[0] != '-' && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@[]-") == ""
}

// splitProgram splits a command line into the program, with the interpreter of a script, and its
// arguments. If the line does not show the client's program, it returns the usual command.
func (c Client) splitProgram(args []string) (program, rest []string) {
	if len(args) == 0 || args[0] == "" {
		return slices.Clone(c.Command), nil
	}
	if !isInterpreter(args[0]) {
		return args[:1], args[1:]
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-r" || a == "--require" || a == "--import" || a == "--loader" || a == "-C" || a == "--env-file":
			i++ // takes a value
		case !strings.HasPrefix(a, "--") && strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c"):
			return slices.Clone(c.Command), nil // sh -c, bash -lc: the next word is code, not a script
		case !strings.HasPrefix(a, "-"):
			return args[:i+1], args[i+1:]
		}
	}
	return slices.Clone(c.Command), nil // an interpreter without a script is not a client
}

// isInterpreter reports whether a program can run a client that is a script.
func isInterpreter(path string) bool {
	switch filepath.Base(path) {
	case "node", "nodejs", "bun", "deno", "tsx", "python", "python3", "sh", "bash", "dash", "zsh":
		return true
	}
	return false
}

type flag struct {
	value value
	kind  flagUse
}

type value int

const (
	noValue      value = iota
	oneWord            // a word, even if it looks like a flag
	optionalWord       // a word, unless it looks like a flag
	manyWords          // words, up to the next flag
	unlisted           // for a flag in no table: a word that is neither a flag nor a sentence
)

type flagUse int

const (
	kept      flagUse = 0
	forOneRun flagUse = 1 << iota // for one run
	headless                      // runs without a person
)

// eachFlag calls each for every flag in args, and for a command. words are the flag with its
// values, as the client would read them, or the command. eachFlag leaves out operands, which are
// prompts, and everything if the client's flags are unknown.
func (c Client) eachFlag(args []string, each func(f flag, words []string)) {
	if c.flags == nil {
		return
	}
	operands := 0
	for i := 0; i < len(args); {
		word := args[i]
		if word == "--" {
			return // only operands follow
		}
		if !isFlag(word) {
			if f, command := c.flags[word]; command && operands == 0 {
				each(f, args[i:i+1])
			}
			operands++
			i++
			continue
		}
		f, attached, more := c.findFlag(word)
		if more != "" {
			each(f, []string{word[:2]})
			args = slices.Concat(args[:i], []string{more}, args[i+1:])
			continue
		}
		n := 1 + f.valueCount(args[i+1:], attached)
		each(f, args[i:i+n])
		i += n
	}
}

// findFlag looks up the flag at the beginning of a word. attached reports whether the word
// also has its value. more is the rest of several short flags: -p of -cp. A flag in no table
// takes values as unlisted says.
func (c Client) findFlag(word string) (f flag, attached bool, more string) {
	name, _, attached := strings.Cut(word, "=")
	if f, known := c.flags[name]; known {
		return f, attached, ""
	}
	if !strings.HasPrefix(word, "--") && len(word) > 2 {
		f, known := c.flags[word[:2]]
		switch {
		case known && f.value == noValue:
			return f, false, "-" + word[2:]
		case known: // -rID
			return f, true, ""
		}
	}
	return flag{value: unlisted}, attached, ""
}

// valueCount returns how many of the words after a flag are its values. attached reports that the flag's
// own word has a value, as in --flag=value.
func (f flag) valueCount(behind []string, attached bool) int {
	if len(behind) == 0 || attached && f.value != manyWords {
		return 0
	}
	next := !isFlag(behind[0])
	switch {
	case f.value == oneWord,
		f.value == optionalWord && next,
		f.value == unlisted && next && !strings.ContainsAny(behind[0], " \t\n"):
		return 1
	case f.value == manyWords:
		n := 0
		if !attached { // the first one is a value even if it looks like a flag
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
