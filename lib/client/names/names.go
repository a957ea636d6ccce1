// Package names has the names by which an agent's client is recognised: those of its
// processes and of its variables. It links no client, so a program that runs no hook learns
// from it whose environment it has.
package names

import "slices"

// Default is the client if no other is named.
const Default = "claude"

// Client are the names of one client.
type Client struct {
	Name string

	Processes []string

	// SessionVars are the variables in which the client gives its commands the session's
	// id.
	SessionVars []string

	// SharedVar is the variable in the environment of a tmux session in which other
	// programs read that id. The default is the first of SessionVars.
	SharedVar string

	// StoreVars are the variables that name the client's own folders. Their values count
	// as they were when the client started.
	StoreVars []string

	// ProjectVar is the variable in which it gives its hooks the project's folder.
	ProjectVar string
}

// Variables that the clients' hooks read themselves.
const (
	ClaudeSession    = "CLAUDE_SESSION_ID"
	ClaudeConfig     = "CLAUDE_CONFIG_DIR"
	ClineDir         = "CLINE_DIR"
	ClineData        = "CLINE_DATA_DIR"
	ClineSessions    = "CLINE_SESSION_DATA_DIR"
	CodexHome        = "CODEX_HOME"
	CodexThread      = "CODEX_THREAD_ID"
	CopilotHome      = "COPILOT_HOME"
	CopilotSession   = "COPILOT_AGENT_SESSION_ID"
	GeminiHome       = "GEMINI_CLI_HOME"
	CursorDir        = "CURSOR_CONFIG_DIR"
	KimiHome         = "KIMI_CODE_HOME"
	OpenCodeDatabase = "OPENCODE_DB"
	PiDir            = "PI_CODING_AGENT_DIR"
	PiSessions       = "PI_CODING_AGENT_SESSION_DIR"
	QwenHome         = "QWEN_HOME"
	QwenRuntime      = "QWEN_RUNTIME_DIR"
)

const claudeProject = "CLAUDE_PROJECT_DIR" // also Gemini CLI's and Qwen Code's

var (
	Claude = Client{
		Name: Default, Processes: []string{"claude", "node"},
		SessionVars: []string{"CLAUDE_CODE_SESSION_ID", ClaudeSession}, SharedVar: ClaudeSession,
		StoreVars: []string{ClaudeConfig}, ProjectVar: claudeProject,
	}
	Gemini = Client{
		Name: "gemini", Processes: []string{"gemini", "node"},
		SessionVars: []string{"GEMINI_SESSION_ID"}, StoreVars: []string{GeminiHome}, ProjectVar: claudeProject,
	}
	Copilot = Client{
		Name: "copilot", Processes: []string{"copilot", "node"},
		SessionVars: []string{CopilotSession}, StoreVars: []string{CopilotHome},
	}
	Qwen = Client{
		Name: "qwen", Processes: []string{"qwen", "node"},
		SessionVars: []string{"QWEN_CODE_SESSION_ID"}, StoreVars: []string{QwenHome, QwenRuntime}, ProjectVar: claudeProject,
	}
	Codex = Client{
		Name: "codex", Processes: []string{"codex", "node"},
		SessionVars: []string{"CODEX_SESSION_ID", CodexThread}, StoreVars: []string{CodexHome}, // in a subagent the second is its own
	}
	Amp = Client{
		Name: "amp", Processes: []string{"amp", "node"},
		SessionVars: []string{"AMP_CURRENT_THREAD_ID"}, // as others report
	}
	Cursor   = Client{Name: "cursor", Processes: []string{"cursor-agent", "agent", "node"}, StoreVars: []string{CursorDir}}
	OpenCode = Client{Name: "opencode", Processes: []string{"opencode"}, StoreVars: []string{"OPENCODE_CONFIG_DIR", OpenCodeDatabase}}
	Pi       = Client{Name: "pi", Processes: []string{"pi", "node"}, StoreVars: []string{PiDir, PiSessions}}
	Kimi     = Client{Name: "kimi", Processes: []string{"kimi-code", "kimi", "node"}, StoreVars: []string{KimiHome}}
	Cline    = Client{Name: "cline", Processes: []string{"cline", ".cline", "node"}, StoreVars: []string{ClineDir, ClineData, ClineSessions}}

	Antigravity = Client{Name: "antigravity", Processes: []string{"agy"}, SessionVars: []string{"ANTIGRAVITY_CONVERSATION_ID"}}
)

// AllClients are the names of all clients. The order matters: if variables of several clients are set and nothing else decides,
// the first client counts.
var AllClients = []*Client{&Claude, &Gemini, &Copilot, &Qwen, &Codex, &Amp, &Cursor, &OpenCode, &Pi, &Kimi, &Cline, &Antigravity}

// FindClient returns a client's names, or nil.
func FindClient(name string) *Client {
	for _, c := range AllClients {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func anyClient(matches func(*Client) bool) bool { return slices.ContainsFunc(AllClients, matches) }

func HasProcess(name string) bool {
	return anyClient(func(c *Client) bool { return slices.Contains(c.Processes, name) })
}

// SessionVars returns the variables in which clients give their commands the session's
// id.
func SessionVars() []string {
	vars := make([]string, 0, 2*len(AllClients))
	for _, c := range AllClients {
		vars = append(vars, c.SessionVars...)
	}
	return vars
}

// SharedVar returns the client's SharedVar with its default, or "".
func SharedVar(name string) string {
	c := FindClient(name)
	switch {
	case c == nil:
		return ""
	case c.SharedVar == "" && len(c.SessionVars) > 0:
		return c.SessionVars[0]
	}
	return c.SharedVar
}

// SetsSessionVar reports whether the client has a session variable.
func SetsSessionVar(name string) bool {
	c := FindClient(name)
	return c != nil && len(c.SessionVars) > 0
}

// Tellers returns the clients that have a session variable set. They need not run here: a
// project's settings can set the variable of another client.
func Tellers(getenv func(string) string) (tellers []string) {
	for _, c := range AllClients {
		if slices.ContainsFunc(c.SessionVars, func(v string) bool { return getenv(v) != "" }) {
			tellers = append(tellers, c.Name)
		}
	}
	return tellers
}

// SoleTeller returns the client whose session variable is set, or "" if there is none, or if
// there are several, of which one may run within the other.
func SoleTeller(getenv func(string) string) string {
	if tellers := Tellers(getenv); len(tellers) == 1 {
		return tellers[0]
	}
	return ""
}

// IsStoreVar reports whether a variable is a client's StoreVar.
func IsStoreVar(name string) bool {
	return anyClient(func(c *Client) bool { return slices.Contains(c.StoreVars, name) })
}

// IsProjectVar reports whether a variable is a client's ProjectVar.
func IsProjectVar(name string) bool {
	return name != "" && anyClient(func(c *Client) bool { return c.ProjectVar == name })
}
