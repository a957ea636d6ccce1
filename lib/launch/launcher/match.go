package launcher

import (
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/sys/process"
)

// A found launcher is a program that stands above the client and was given its command line.
type found struct {
	at    int      // its first process, by its place on the path
	below int      // the process that it started
	words []string // its own, before or around what it starts
	shell bool     // it is a shell that was given a line to run
}

// walked is what a path of processes shows.
type walked struct {
	client    int     // the client's first process
	launchers []found // the inner one first
	stranger  int     // the first process of which nobody knows how it came to start the next; -1 for none
	shell     int     // the nearest shell above the client in which a person types; -1 for none
}

// walk looks at a path of processes, the client's own first and the first of its pane last.
// same reports whether a process is the same client.
func walk(path []process.Info, same func(args []string) bool) walked {
	w := walked{stranger: -1, shell: -1}
	script := false // the process below is a shell's script, of which only its own words tell
	for i := 1; i < len(path); i++ {
		p, below := path[i], path[i-1]
		words, starts := around(p.Args, below.Args)
		top := len(w.launchers) - 1
		switch {
		case same(p.Args), starts && len(words) == 0 && w.client == i-1:
			// The client starts itself again, perhaps in a box that it makes itself.
			w = walked{client: i, stranger: -1, shell: -1}
		case top >= 0 && w.launchers[top].at == i-1 && len(p.Args) > 0 && slices.Equal(p.Args, below.Args):
			w.launchers[top].at = i // it started itself again
		case top >= 0 && w.launchers[top].shell && w.launchers[top].at == i-1 && slices.Contains(p.Args, below.Args[len(below.Args)-1]):
			// It has a shell run the line that it was given.
			words := slices.Clone(p.Args)
			words[slices.Index(words, below.Args[len(below.Args)-1])] = mark
			w.launchers[top] = found{at: i, below: w.launchers[top].below, words: words, shell: line(p.Args)}
		case isGt(p.Args), interactive(p.Args), runner(p.Args):
			if w.shell < 0 && !runner(p.Args) {
				w.shell = i
			}
			script = false
		case starts && !script:
			w.launchers = append(w.launchers, found{at: i, below: i - 1, words: asTyped(words), shell: line(p.Args)})
		case len(p.Args) > 0 && process.IsShell(p.Args[0]):
			script = true // what it does is seen, but not from where it is started again
			continue
		case w.stranger < 0:
			w.stranger = i
		}
		script = false
	}
	for n := len(w.launchers); n > 0 && w.launchers[n-1].shell; n-- {
		w.launchers = w.launchers[:n-1] // what a pane began with to run the client and end with it
	}
	return w
}

// around returns what of a command line stands around another that it starts: the words
// before it; or all, with the mark in the place of one word that is the whole command.
func around(args, command []string) (words []string, ok bool) {
	for _, c := range forms(command) {
		if n := len(args) - len(c); n >= 0 && called(args[n], c[0]) && slices.Equal(args[n+1:], c[1:]) && !(n > 1 && len(c) == 1 && takesLine(args[0]) && isLine(args[n-1])) {
			return args[:n:n], true
		}
		for i, arg := range args {
			if i == 0 || !strings.Contains(arg, short(c[0])) {
				continue
			}
			split, err := Split(arg, "")
			if err == nil && len(split) == len(c) && called(split[0], c[0]) && slices.Equal(split[1:], c[1:]) {
				words := slices.Clone(args)
				words[i] = mark
				return words, true
			}
		}
	}
	return nil, false
}

// asTyped returns the words of a launcher as they were before it read them: sudo cuts its
// list of variables, --preserve-env=A,B, at the commas in place, and shows --preserve-env=A B.
func asTyped(words []string) []string {
	if len(words) == 0 || filepath.Base(words[0]) != "sudo" {
		return words
	}
	var all []string
	list := false
	for _, word := range words {
		switch {
		case strings.HasPrefix(word, "--preserve-env="):
			list = true
		case list && variable(word):
			all[len(all)-1] += "," + word
			continue
		default:
			list = false
		}
		all = append(all, word)
	}
	return all
}

// variable reports whether a word is rather the name of a variable than of a program.
func variable(word string) bool {
	return strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" || strings.HasSuffix(word, "_proxy")
}

// forms are the ways in which a command line can have been typed that a process shows: of
// a script without the interpreter that the kernel puts before it.
func forms(args []string) [][]string {
	if len(args) == 0 {
		return nil
	}
	all := [][]string{args}
	if name := filepath.Base(args[0]); !line(args) && (process.IsShell(name) || process.IsInterpreter(name)) {
		for i := 1; i < min(len(args), 3); i++ {
			if !strings.HasPrefix(args[i], "-") {
				all = append(all, args[i:])
				break
			}
		}
	}
	return all
}

// called reports whether a word that was typed can be the program that a process calls
// itself.
func called(word, program string) bool { return word == program || short(word) == short(program) }

// short is a program's name without its folder, and without what the kind of a file adds.
func short(program string) string {
	name := filepath.Base(program)
	for _, suffix := range []string{".js", ".mjs", ".cjs", ".exe"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return strings.TrimPrefix(name, "-")
}

// interactive reports whether a command line is that of a shell in which a person types.
func interactive(args []string) bool {
	if len(args) == 0 || !process.IsShell(args[0]) {
		return false
	}
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case valued(arg):
			i++
		case !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+"), isLine(arg):
			return false
		}
	}
	return true
}

// line reports whether a command line is that of a shell which was given a line to run.
func line(args []string) bool {
	if len(args) == 0 || !process.IsShell(args[0]) {
		return false
	}
	for i := 1; i < len(args); i++ {
		switch arg := args[i]; {
		case valued(arg):
			i++
		case isLine(arg):
			return i+1 < len(args)
		case !strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "+"):
			return false // what stands behind a script's name is the script's
		}
	}
	return false
}

// valued knows the options of a shell that have a value of their own.
func valued(arg string) bool {
	return slices.Contains([]string{"--rcfile", "--init-file", "-o", "+o", "-O", "+O"}, arg)
}

// takesLine knows the programs whose -c is followed by a line for a shell.
func takesLine(program string) bool {
	name := filepath.Base(program)
	return process.IsShell(name) || name == "script" || name == "su" || name == "runuser" || name == "sg"
}

// isLine knows the argument of a shell that a line follows.
func isLine(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
}

// isGt reports whether a program of gt's waits for an agent that it has started.
func isGt(args []string) bool {
	return len(args) == 3 && strings.HasPrefix(filepath.Base(args[0]), "gt-") && args[1] == "--exec"
}

// runner knows the programs that run a client from its package: they are how the client
// itself runs.
func runner(args []string) bool {
	for _, arg := range args[:min(len(args), 2)] {
		name, _, _ := strings.Cut(arg, " ") // npm calls itself "npm exec claude"
		switch strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".js"), "-cli") {
		case "npm", "npx", "pnpm", "pnpx", "yarn", "bunx":
			return true
		}
	}
	return false
}
