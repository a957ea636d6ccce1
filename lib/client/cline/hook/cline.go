// Package hook describes Cline to the hooks.
package hook

import (
	"cmp"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/contract"
	"gt/lib/client/names"
)

// Client is Cline. Our plugin runs the hooks, so the input is Claude Code's and the answer
// has no limit.
var Client = contract.Client{
	Client:   &names.Cline,
	Accounts: accounts,
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Plain, DropsStartContext: true,
		HooksInHelper: true, SharedServer: &server, ClearReason: stopReason, Killed: killed, Headless: headless, EndsSilently: true,
	},
}

// stopReason is the plugin's reason when Cline stops a session: at /clear, in favour of
// another one, and at the end of a run.
const stopReason = "session_stop"

// killed ignores the reason, which Cline does not give. It ends the same way when its
// terminal closes.
func killed(e contract.SessionEnd) bool { return e.HungUp() }

// headless reports whether a run is over with its answer. Cline ends the plugin's process
// a moment later, which may be too early for the plugin. An editor has no screen either.
func headless(r contract.Run) bool { return !r.HasFlag("--acp") && !r.OnScreen() }

// server is the hub, which Cline starts beside its first window.
var server = contract.SharedServer{
	Program:  "cline",
	Var:      "CLINE_NO_INTERACTIVE",
	IsServer: func(args []string) bool { return slices.Contains(args, hubFlag) },
	IsWindow: isWindow,
	Dir:      contract.DirFlag("-c", "--cwd"),
	AccountFolder: func(getenv func(string) string) string {
		return cmp.Or(getenv(names.ClineDir), filepath.Join(getenv("HOME"), ".cline"))
	},
}

const hubFlag = "--cline-hub-daemon"

// isWindow reports whether a Cline with these arguments can show sessions that Cline's shared server,
// the hub, runs. With the other flags it runs its sessions itself.
func isWindow(args []string) bool {
	for _, a := range args[min(1, len(args)):] {
		a, _, _ = strings.Cut(a, "=")
		switch a {
		case hubFlag, "--data-dir", "-y", "--yolo", "--acp":
			return false
		}
	}
	return true
}

// accounts gives the folders with sessions. Each variable names a level of CLINE_DIR/data/sessions.
func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	data := []string{"data/sessions"}
	return contract.OnlyAbsolute(
		contract.Place{Dir: getenv(names.ClineSessions), By: contract.Named, Folders: []string{"."}},
		contract.Place{Dir: getenv(names.ClineData), By: contract.Named, Folders: []string{"sessions"}},
		contract.Place{Dir: getenv(names.ClineDir), By: contract.Named, Folders: data},
		contract.Place{Dir: filepath.Join(getenv("HOME"), ".cline"), By: contract.Usual, Folders: data},
	)
}
