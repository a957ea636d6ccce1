package launcher

import (
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/sys/process"
)

// foundLauncher is a launcher: a process above the client that was given the client's command line.
type foundLauncher struct {
	index      int      // index in the path of its first process
	belowIndex int      // index of the process that it started
	words      []string // its own words, before or around the command
	shell      bool     // a shell with -c
}

type walkedPath struct {
	client    int             // index of the client's first process
	launchers []foundLauncher // innermost first
	stranger  int             // index of the first process that started the next in an unknown way; -1 for none
	shell     int             // index of the nearest interactive shell above the client; -1 for none
}

// walkPath examines a path of processes, from the client to the first process of its pane. same
// recognizes the client by its arguments. Each process is compared with the one below it: it is
// a launcher if its arguments contain those of that one.
func walkPath(path []process.Info, same func(args []string) bool) walkedPath {
	w := walkedPath{stranger: -1, shell: -1}
	script := false // the process below is a shell script, which only its own arguments explain
	for i := 1; i < len(path); i++ {
		p, below := path[i], path[i-1]
		words, starts := wordsBefore(p.Args, below.Args)
		top := len(w.launchers) - 1
		switch {
		case same(p.Args), starts && len(words) == 0 && w.client == i-1:
			// The client starts itself again, perhaps in a sandbox of its own.
			w = walkedPath{client: i, stranger: -1, shell: -1}
		case top >= 0 && w.launchers[top].index == i-1 && len(p.Args) > 0 && slices.Equal(p.Args, below.Args):
			w.launchers[top].index = i // the launcher started itself again
		case top >= 0 && w.launchers[top].shell && w.launchers[top].index == i-1 && slices.Contains(p.Args, below.Args[len(below.Args)-1]):
			// The launcher has a shell run its line.
			words := slices.Clone(p.Args)
			words[slices.Index(words, below.Args[len(below.Args)-1])] = CommandMark
			w.launchers[top] = foundLauncher{index: i, belowIndex: w.launchers[top].belowIndex, words: words, shell: runsLine(p.Args)}
		case isGt(p.Args), isInteractive(p.Args), isRunner(p.Args):
			if w.shell < 0 && !isRunner(p.Args) {
				w.shell = i
			}
			script = false
		case starts && !script:
			w.launchers = append(w.launchers, foundLauncher{index: i, belowIndex: i - 1, words: asTyped(words), shell: runsLine(p.Args)})
		case len(p.Args) > 0 && process.IsShell(p.Args[0]):
			script = true // the path shows what the script runs, but not how to start the script again
			continue
		case w.stranger < 0:
			w.stranger = i
		}
		script = false
	}
	for n := len(w.launchers); n > 0 && w.launchers[n-1].shell; n-- {
		w.launchers = w.launchers[:n-1] // a shell that the pane began with, only to run the client
	}
	return w
}

// wordsBefore returns the words of args that stand before command. If command is inside one
// word, it returns all words, with that one replaced by the mark.
func wordsBefore(args, command []string) (words []string, ok bool) {
	for _, c := range possibleTyped(command) {
		// In sh -c claude, the last word is a line, which is looked for below.
		if n := len(args) - len(c); n >= 0 && isSameName(args[n], c[0]) && slices.Equal(args[n+1:], c[1:]) && !(n > 1 && len(c) == 1 && takesLine(args[0]) && isLineFlag(args[n-1])) {
			return args[:n:n], true
		}
		for i, arg := range args {
			if i == 0 || !strings.Contains(arg, shortName(c[0])) {
				continue
			}
			split, err := Split(arg, "")
			if err == nil && len(split) == len(c) && isSameName(split[0], c[0]) && slices.Equal(split[1:], c[1:]) {
				words := slices.Clone(args)
				words[i] = CommandMark
				return words, true
			}
		}
	}
	return nil, false
}

// asTyped returns the words of a launcher as they were typed. sudo splits the list of
// --preserve-env=A,B at its commas in place and then shows --preserve-env=A B; the server that
// screen starts is called SCREEN.
func asTyped(words []string) []string {
	if len(words) > 0 && words[0] == "SCREEN" {
		return append([]string{"screen"}, words[1:]...)
	}
	if len(words) == 0 || filepath.Base(words[0]) != "sudo" {
		return words
	}
	var all []string
	list := false
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "--preserve-env="):
			list = true
		case list && isVariableName(word):
			all[len(all)-1] += "," + word
			continue
		default:
			list = false
		}
		all = append(all, word)
	}
	return all
}

// isVariableName reports whether a word looks like the name of a variable rather than of a
// program.
func isVariableName(word string) bool {
	return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" || strings.HasSuffix(word, "_proxy")
}

// possibleTyped returns the ways in which a process's command line can have been typed: as it is,
// and for a script also without the interpreter, which the kernel adds.
func possibleTyped(args []string) [][]string {
	if len(args) == 0 {
		return nil
	}
	all := [][]string{args}
	if name := filepath.Base(args[0]); !runsLine(args) && (process.IsShell(name) || process.IsInterpreter(name)) {
		for i := 1; i < min(len(args), 3); i++ { // at most one option precedes the script
			if !strings.HasPrefix(args[i], "-") {
				all = append(all, args[i:])
				break
			}
		}
	}
	return all
}

// isSameName reports whether a typed word can be the name that a process has.
func isSameName(word, program string) bool {
	return word == program || shortName(word) == shortName(program)
}

// shortName returns a program's name without folder and suffix.
func shortName(program string) string {
	name := filepath.Base(program)
	for _, suffix := range []string{".js", ".mjs", ".cjs", ".exe"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.TrimPrefix(name, "-")
}

func isInteractive(args []string) bool {
	end := endOfOptions(args)
	return end > 0 && end >= len(args)
}

// runsLine reports whether args are those of a shell that runs a command line (-c).
func runsLine(args []string) bool {
	end := endOfOptions(args)
	return end > 0 && end+1 < len(args) && isLineFlag(args[end])
}

// endOfOptions returns where a shell's options end: at -c, a script, or after the last word. It
// returns 0 if args are no shell's.
func endOfOptions(args []string) int {
	if len(args) == 0 || !process.IsShell(args[0]) {
		return 0
	}
	for i := 1; ; i++ {
		switch {
		case i >= len(args), isLineFlag(args[i]):
			return i
		case slices.Contains([]string{"--rcfile", "--init-file", "-o", "+o", "-O", "+O"}, args[i]):
			i++ // its value
		case !strings.HasPrefix(args[i], "-") && !strings.HasPrefix(args[i], "+"):
			return i // the rest are the script's arguments
		}
	}
}

func takesLine(program string) bool {
	name := filepath.Base(program)
	return process.IsShell(name) || name == "script" || name == "su" || name == "runuser" || name == "sg"
}

func isLineFlag(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
}

// isGt reports whether args are those of a gt program that waits for the agent that it
// started.
func isGt(args []string) bool {
	return len(args) == 3 && strings.HasPrefix(filepath.Base(args[0]), "gt-") && args[1] == "--exec"
}

// isRunner reports whether args run a client from its package. A runner is part of the
// client, not a launcher.
func isRunner(args []string) bool {
	for _, arg := range args[:min(len(args), 2)] {
		name, _, _ := strings.Cut(arg, " ") // npm calls itself "npm exec claude"
		switch strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".js"), "-cli") {
		case "npm", "npx", "pnpm", "pnpx", "yarn", "bunx":
			return true
		}
	}
	return false
}
