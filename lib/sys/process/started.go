package process

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// AgentEnviron returns the initial environment of the agent that runs this program (see
// Agent), and whether isClient knows its name; if not, it may be the person's launcher. It
// skips a script below a client with another name, in which the person may have wrapped a
// hook. Every hook calls it, so it examines as little as possible. It fails for a tmux pane
// without an agent. If an ancestor ends meanwhile, it fails or returns what it had.
func AgentEnviron(agent string, isClient func(name string) bool) (environ []string, client bool, err error) {
	pid, wrapper := os.Getppid(), 0
	for range maxDepth {
		name, err := command(pid)
		switch {
		case err != nil && wrapper == 0:
			return nil, false, err
		case err != nil: // the top of this PID namespace
			environ, err := startEnviron(wrapper)
			return environ, false, err
		case IsShell(name) || name == "timeout": // it runs the hook for a process above it
		case isClient(name) || name == agent:
			environ, err := startEnviron(originalProcess(pid, name))
			return environ, isClient(name), err
		case name == "tmux: server" || name == "tmux":
			// The pane is this program's own. The variables of another pane's agent may be
			// in the tmux session's environment.
			return nil, false, os.ErrProcessDone
		case isScript(pid):
			wrapper = cmp.Or(wrapper, pid)
		default:
			environ, err := startEnviron(cmp.Or(wrapper, pid))
			return environ, false, err
		}
		st, err := stat(pid)
		if err != nil {
			return nil, false, err
		}
		pid = st.parent
	}
	return nil, false, os.ErrProcessDone
}

// isScript reports whether a process is a shell with the name of its script.
func isScript(pid int) bool {
	exe, err := Proc{PID: pid}.Executable()
	return err == nil && IsShell(filepath.Base(exe))
}

// IsInterpreter reports whether a name is that of an interpreter of clients: the program's
// or its first thread's.
func IsInterpreter(name string) bool { return slices.Contains(interpreters, name) }

var interpreters = []string{"node", "node-MainThread", "MainThread", "bun", "deno"}

// maxRelaunched bounds how often in a row a client restarts itself.
const maxRelaunched = 4

// originalProcess returns the process that a person started, if pid is a script that restarted
// itself, as Qwen Code and Gemini CLI do to get other node flags. The restart may have
// added a project's .env to its environment. For any other process it returns pid.
func originalProcess(pid int, name string) int {
	if !IsInterpreter(name) {
		return pid
	}
	args, err := Proc{PID: pid}.args()
	for range maxRelaunched {
		st, serr := stat(pid)
		if err != nil || serr != nil {
			break
		}
		above, aerr := Proc{PID: st.parent}.args()
		if aerr != nil || !isRelaunched(args, above) {
			break
		}
		pid, args = st.parent, above
	}
	return pid
}

// isRelaunched reports whether two processes run the same script with the same arguments and
// only differ in interpreter flags.
func isRelaunched(args, above []string) bool {
	a, b := withoutInterpreter(args), withoutInterpreter(above)
	return len(a) > 0 && len(b) > 0 && samePath(a[0], b[0]) && slices.Equal(a[1:], b[1:])
}

// samePath reports whether made can be what node made of the given path of a script: node makes it
// absolute and keeps its links. In which folder that was is not known, so the ends are compared.
func samePath(made, given string) bool {
	given = filepath.Clean(given)
	if filepath.IsAbs(given) {
		return filepath.Clean(made) == given
	}
	for strings.HasPrefix(given, "../") {
		given = given[len("../"):]
	}
	return made == given || strings.HasSuffix(made, "/"+given)
}

// valueOptions are the options of node, bun and deno with a separate value.
var valueOptions = []string{
	"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--title", "--env-file", "--env-file-if-exists",
	"--icu-data-dir", "--openssl-config", "--diagnostic-dir", "--redirect-warnings", "--disable-warning", "--unhandled-rejections",
	"--max-http-header-size", "--dns-result-order", "--input-type", "--preload",
}

// withoutInterpreter returns a script and its arguments: args without interpreter and its flags.
func withoutInterpreter(args []string) []string {
	rest := args[min(1, len(args)):]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		skip := 1
		if slices.Contains(valueOptions, rest[0]) {
			skip = 2
		}
		rest = rest[min(skip, len(rest)):]
	}
	return rest
}
