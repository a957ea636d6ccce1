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

// shebang bounds the first line of a script, as Linux does.
const shebang = 256

// Typed returns the command line as it was typed, of a process in dir that runs a
// script: without the interpreter that the kernel put before it because the
// script's first line names it. Run in that form it has the name of the script
// again, and not that of the interpreter, by which nobody would know it. Any other
// command line comes back as it is, that of a script which only its interpreter can
// run among them.
func Typed(args []string, dir string) []string {
	for i := 1; i < min(len(args), 3); i++ {
		if slices.Equal(interpreter(args[i], dir), args[:i]) {
			return args[i:]
		}
	}
	return args
}

// interpreter is what the kernel puts before a script: the program of its first
// line, and the rest of that line as one word; what env looks up in their place. nil where
// it is no script.
func interpreter(script, dir string) []string {
	if !strings.Contains(script, "/") {
		return nil // it would be looked up
	}
	if !filepath.IsAbs(script) {
		script = filepath.Join(dir, script)
	}
	f, err := os.OpenFile(script, os.O_RDONLY|syscall.O_NONBLOCK, 0) // which waits for no FIFO's other end
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil
	}
	line, _ := bufio.NewReader(io.LimitReader(f, shebang)).ReadString('\n')
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
