package hook

import (
	"os"

	"gt/lib/cli"
)

// Args are the arguments that the program was called with. Copilot and Cursor run
// Claude Code's hooks too, and drop what stands there under "args": called as a
// hook with nothing, a program does what Claude Code's wiring calls it for, and
// not what it does for a person.
func Args(env *cli.Env, wired ...string) []string {
	if len(env.Args) == 0 && (copilotCalls(env.Getenv) || cursorCalls(env.Getenv)) && piped(env) {
		return wired
	}
	return env.Args
}

// copilotCalls says whether Copilot called us as its hook. It gives COPILOT_CLI
// to whatever it starts, a Claude Code that its agent runs among them, but the
// project's folder to its hooks alone. (Before it did, Claude Code could be told
// from it by what that says of itself.)
func copilotCalls(getenv func(string) string) bool {
	return getenv("COPILOT_PROJECT_DIR") != "" || getenv("COPILOT_CLI") != "" && getenv("CLAUDECODE") == "" && getenv("COPILOT_AGENT_SESSION_ID") == ""
}

// cursorCalls says the same of Cursor. A Claude Code in a terminal of it says
// that it is one, and so does Cursor's agent to its commands.
func cursorCalls(getenv func(string) string) bool {
	return getenv("CURSOR_VERSION") != "" && getenv("CURSOR_PROJECT_DIR") != "" && getenv("CLAUDECODE") == "" && getenv("CURSOR_AGENT") == ""
}

// piped says whether somebody may say something on standard input.
func piped(env *cli.Env) bool {
	f, ok := env.Stdin.(*os.File)
	if !ok {
		return env.Stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
