package agent

// clients are the clients that gt knows. Claude Code's part comes from 2.1.197
// and 2.1.329 as they ran; the others' from their own help, and is used for no
// more than starting them afresh.
var clients = []Client{
	{
		Name: "claude", Command: "claude", Processes: []string{"claude", "node"},
		run: []string{
			"CLAUDECODE", "AI_AGENT",
			"CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_CHILD_NOTES_DIR",
			"CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_SESSION_NAME", "CLAUDE_CODE_SESSION_KIND",
			"CLAUDE_CODE_MESSAGING_SOCKET", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SSE_PORT",
			"CLAUDE_CODE_RESUME_INTERRUPTED_TURN", "CLAUDE_CODE_RESUME_PROMPT", "CLAUDE_CODE_RESUME_FROM_SESSION",
			"CLAUDE_PID", "CLAUDE_ENV_FILE", "CLAUDE_PROJECT_DIR", "CLAUDE_EFFORT", "CLAUDE_JOB_DIR", "CLAUDE_BG_*",
			"CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_OPTION_*",
		},
		proceed: []string{"--continue"},
		resume:  []string{"--resume", "ID"},
		fork:    []string{"--resume", "ID", "--fork-session"},
		account: account{"CLAUDE_CONFIG_DIR", ".claude"},
		ask:     claudeAsk,
		// A flag that takes several words would take the prompt as well.
		prompt: []string{"--"},
		flags:  claudeFlags,
	},
	{
		Name: "codex", Command: "codex", Processes: []string{"codex", "node"},
		run:     []string{"CODEX_THREAD_ID", "CODEX_SESSION_ID", "CODEX_TOOL_CALL_ID", "CODEX_CI"},
		proceed: []string{"resume", "--last"}, resume: []string{"resume", "ID"}, fork: []string{"fork", "ID"},
		account: account{"CODEX_HOME", ".codex"},
		ask:     codexAsk,
	},
	{
		Name: "gemini", Command: "gemini", Processes: []string{"gemini", "node"},
		run:     []string{"GEMINI_CLI", "GEMINI_SESSION_ID", "GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"},
		proceed: []string{"--resume", "latest"}, resume: []string{"--resume", "ID"}, prompt: []string{"--prompt-interactive"},
	},
	{
		Name: "qwen", Command: "qwen", Processes: []string{"qwen", "node"},
		proceed: []string{"--continue"}, resume: []string{"--resume", "ID"}, fork: []string{"--resume", "ID", "--fork-session"},
		prompt: []string{"--prompt-interactive"},
	},
	{
		Name: "copilot", Command: "copilot", Processes: []string{"copilot", "node"},
		run:     []string{"COPILOT_CLI"},
		proceed: []string{"--continue"}, resume: []string{"--resume", "ID"}, prompt: []string{"--interactive"},
		account: account{"COPILOT_HOME", ".copilot"},
	},
	{
		Name: "cursor", Command: "cursor-agent", Processes: []string{"cursor-agent", "node"},
		proceed: []string{"resume"}, resume: []string{"--resume", "ID"},
	},
	{
		Name: "opencode", Command: "opencode", Processes: []string{"opencode"},
		proceed: []string{"--continue"}, resume: []string{"--session", "ID"}, fork: []string{"--session", "ID", "--fork"}, prompt: []string{"--prompt"},
	},
	{
		Name: "pi", Command: "pi", Processes: []string{"pi", "node"},
		proceed: []string{"--continue"}, resume: []string{"--session", "ID"}, fork: []string{"--fork", "ID"},
	},
}

// claudeFlags are the flags of Claude Code, those that its help shows and
// those that it hides. A flag that keeps what stands behind it and is for
// every run needs no entry when it takes nothing; such are named all the same
// where a prompt could follow.
var claudeFlags = map[string]flag{
	// Which conversation this is.
	"-c": {none, once}, "--continue": {none, once},
	"-r": {optional, once}, "--resume": {optional, once},
	"--from-pr": {optional, once}, "--teleport": {optional, once},
	"--remote": {optional, once}, "--cloud": {optional, once},
	"--session-id": {one, once}, "--parent-session-id": {one, once},
	"--resume-session-at": {one, once}, "--rewind-files": {one, once},
	"--fork-session": {none, once}, "--reply-on-resume": {none, once},

	// What it begins with. The folder of a worktree is where we are by now.
	"--prefill": {one, once}, "--prefill-b64": {one, once},
	"--file": {many, once},
	"--init": {none, once}, "--init-only": {none, once}, "--maintenance": {none, once},
	"-w": {optional, once}, "--worktree": {optional, once}, "--tmux": {none, once},
	"--bg": {none, once}, "--background": {none, once},
	"--deep-link-origin": {none, once}, "--deep-link-repo": {one, once},
	"--deep-link-last-fetch": {one, once}, "--deep-link-cwd-b64": {one, once},

	// Without a person, and how it is printed then.
	"-p": {none, once | headless}, "--print": {none, once | headless},
	"--output-format": {one, once}, "--input-format": {one, once},
	"--include-hook-events": {none, once}, "--include-partial-messages": {none, once},
	"--replay-user-messages": {none, once}, "--session-mirror": {none, once},
	"--json-schema": {one, once}, "--prompt-suggestions": {optional, once},
	"--max-turns": {one, once}, "--max-budget-usd": {one, once}, "--max-thinking-tokens": {one, once},
	"--task-budget": {one, once}, "--workload": {one, once},
	"--permission-prompt-tool": {one, once}, "--sdk-url": {one, once},
	"--no-session-persistence": {none, once},

	// The person's choices.
	"--model": {one, kept}, "--fallback-model": {one, kept}, "--effort": {one, kept}, "--advisor": {one, kept},
	"--agent": {one, kept}, "--agents": {one, kept}, "--agent-id": {one, kept}, "--agent-name": {one, kept},
	"--agent-type": {one, kept}, "--agent-color": {one, kept}, "--team-name": {one, kept},
	"--teammate-mode": {one, kept}, "--plan-mode-required": {none, kept}, "--plan-mode-instructions": {one, kept},
	"-n": {one, kept}, "--name": {one, kept},
	"--permission-mode": {one, kept}, "--enable-auto-mode": {none, kept},
	"--dangerously-skip-permissions": {none, kept}, "--allow-dangerously-skip-permissions": {none, kept},
	"--allowedTools": {many, kept}, "--allowed-tools": {many, kept},
	"--disallowedTools": {many, kept}, "--disallowed-tools": {many, kept}, "--tools": {many, kept},
	"--add-dir": {many, kept}, "--mcp-config": {many, kept}, "--strict-mcp-config": {none, kept},
	"--channels": {many, kept}, "--dangerously-load-development-channels": {many, kept}, "--betas": {many, kept},
	"--settings": {one, kept}, "--managed-settings": {one, kept}, "--setting-sources": {one, kept},
	"--plugin-dir": {one, kept}, "--plugin-dir-no-mcp": {one, kept}, "--plugin-url": {one, kept},
	"--system-prompt": {one, kept}, "--system-prompt-file": {one, kept},
	"--append-system-prompt": {one, kept}, "--append-system-prompt-file": {one, kept},
	"--exclude-dynamic-system-prompt-sections": {none, kept}, "--disable-slash-commands": {none, kept},
	"--thinking": {one, kept}, "--thinking-display": {one, kept},
	"-d": {optional, kept}, "--debug": {optional, kept}, "--debug-file": {one, kept},
	"-d2e": {none, kept}, "--debug-to-stderr": {none, kept}, "--verbose": {none, kept},
	"--bare": {none, kept}, "--safe-mode": {none, kept}, "--brief": {none, kept}, "--ide": {none, kept},
	"--chrome": {none, kept}, "--no-chrome": {none, kept}, "--ax-screen-reader": {none, kept},
	"--remote-control": {optional, kept}, "--rc": {optional, kept}, "--remote-control-session-name-prefix": {one, kept},
}
