package process

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxShebang is Linux's limit for the first line of a script.
const maxShebang = 256

// TypedCommand returns a process's command line as it was typed in dir: without the interpreter
// that the kernel adds to a script. If that is run again, the process gets the script's
// name again, by which clients are recognized. Any other command line is unchanged,
// including that of a script which needs its interpreter.
func TypedCommand(args []string, dir string) []string {
	for i := 1; i < min(len(args), 3); i++ { // the kernel adds one or two words
		if slices.Equal(interpreter(args[i], dir), args[:i]) {
			return args[i:]
		}
	}
	return args
}

// interpreter returns what the kernel puts before a script: the program of its first line, and the
// rest of the line as one word; for env, the program that it becomes. For others it is nil.
func interpreter(script, dir string) []string {
	if !strings.Contains(script, "/") {
		return nil // it would be looked up
	}
	if !filepath.IsAbs(script) {
		script = filepath.Join(dir, script)
	}
	f, err := os.OpenFile(script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a FIFO
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil
	}
	line, _ := bufio.NewReader(io.LimitReader(f, maxShebang)).ReadString('\n')
	line, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return nil
	}
	program, word, _ := strings.Cut(strings.Trim(line, " \t\n"), " ")
	switch word = strings.Trim(word, " \t"); {
	case word == "":
		return []string{program}
	case filepath.Base(program) == "env" && !strings.ContainsAny(word, " \t=") && !strings.HasPrefix(word, "-"):
		return []string{word} // env becomes it
	}
	return []string{program, word}
}
