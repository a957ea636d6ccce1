package process

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// AgentEnviron returns the environment with which the agent was started that runs
// this program (see Agent), and whether isClient knows its name: what has none of those
// can be a launcher of the person's in between. A script that goes by no client's name,
// nor by that of the agent, is passed over below a client: the person may have wrapped
// a hook in it. It looks at as little as it can, for it is asked at every hook; an
// ancestor that ends meanwhile gives an error, or what it had. So does a pane of tmux
// in which no agent runs this program.
func AgentEnviron(agent string, isClient func(name string) bool) (environ []string, client bool, err error) {
	pid, wrapper := os.Getppid(), 0
	for range maxDepth {
		name, err := command(pid)
		switch {
		case err != nil && wrapper == 0:
			return nil, false, err
		case err != nil: // the top of what this namespace shows
			environ, err := startEnviron(wrapper)
			return environ, false, err
		case IsShell(name) || name == "timeout":
		case isClient(name) || name == agent:
			environ, err := startEnviron(origin(pid, name))
			return environ, isClient(name), err
		case name == "tmux: server" || name == "tmux":
			// A pane of its own: the variables of another one's agent can stand in the
			// environment of their tmux session.
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

// isScript reports whether a process is a shell that goes by the name of its script.
func isScript(pid int) bool {
	exe, err := Proc{PID: pid}.Executable()
	return err == nil && IsShell(filepath.Base(exe))
}

// IsInterpreter knows what runs the clients that are scripts, by the name of its
// program or, as some say it, of its first thread.
func IsInterpreter(name string) bool {
	switch name {
	case "node", "node-MainThread", "MainThread", "bun", "deno":
		return true
	}
	return false
}

// maxRelaunched bounds how often in a row a client runs itself anew.
const maxRelaunched = 4

// origin is the process that a person started where pid is a script that ran itself
// anew, as Qwen Code and Gemini CLI do to get other flags of node's: what it gave
// itself on the way can be a project's .env. It is pid for all others.
func origin(pid int, name string) int {
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
		if aerr != nil || !relaunched(args, above) {
			break
		}
		pid, args = st.parent, above
	}
	return pid
}

// relaunched reports whether a process with these arguments is the same script, run
// for the same, as one with those: only what is for the interpreter is another.
func relaunched(args, above []string) bool {
	a, b := script(args), script(above)
	return len(a) > 0 && len(b) > 0 && samePath(a[0], b[0]) && slices.Equal(a[1:], b[1:])
}

// samePath reports whether a script's path is what node makes of one that it was given:
// one that begins at the top, with its links as they are.
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

// valued are the arguments of node's, bun's and deno's whose value is a word of its own.
var valued = []string{
	"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--title", "--env-file", "--env-file-if-exists",
	"--icu-data-dir", "--openssl-config", "--diagnostic-dir", "--redirect-warnings", "--disable-warning", "--unhandled-rejections",
	"--max-http-header-size", "--dns-result-order", "--input-type", "--preload",
}

// script is what is left of an interpreter's arguments without its own.
func script(args []string) []string {
	rest := args[min(1, len(args)):]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		skip := 1
		if slices.Contains(valued, rest[0]) {
			skip = 2
		}
		rest = rest[min(skip, len(rest)):]
	}
	return rest
}
