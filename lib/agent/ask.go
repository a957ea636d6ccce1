package agent

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// Ask is how a client is asked what one of its sessions knows, in a process of
// its own that leaves no trace: it writes no transcript, runs no hook, and can
// change nothing. It is data; lib/ask acts on it.
//
// In Args and Set, a word TRANSCRIPT or ID stands for the session's, and SCRATCH
// for a folder that is there for the time of the question.
type Ask struct {
	Args []string // behind the program; the question comes on standard input
	Set  []string // variables, "NAME=value"
	Drop []string // variables that would have it leave a trace after all

	// Stream are the arguments besides Args with which one process takes any
	// number of questions, in Claude Code's stream-json. Where there are none,
	// each question is a process of its own, which is told of those before it.
	Stream []string

	// Servers switches one MCP server off, whose name takes the place of NAME:
	// what such a server does, nobody knows. The names stand as tables under
	// ServersKey in the TOML file ServersFile of the account and of the folder.
	Servers                 []string
	ServersFile, ServersKey string

	// Seed are databases in the account's folder, by patterns, of which a copy in
	// SCRATCH saves the client from reading all of its transcripts. It can do
	// without, and does when it fails with one of the words Unseed.
	Seed, Unseed []string

	// OwnAccount says that a session is found in its own account only, and not
	// by the path of its transcript from any.
	OwnAccount bool
}

// Ask is how the client is asked, nil where it cannot be without a trace.
func (c Client) Ask() *Ask { return c.ask }

// Words are the arguments that ask, after stream also those for many questions.
func (a *Ask) Words(transcript, id, scratch string, stream bool) []string {
	words := a.Args
	if stream {
		words = slices.Concat(words, a.Stream)
	}
	return fill(words, "TRANSCRIPT", transcript, "ID", id, "SCRATCH", scratch)
}

// Scratch says whether it takes a folder of its own.
func (a *Ask) Scratch() bool {
	has := func(word string) bool { return strings.HasSuffix(word, "SCRATCH") }
	return slices.ContainsFunc(a.Args, has) || slices.ContainsFunc(a.Set, has)
}

// Environ returns the environment that the client is asked in, of one that
// belongs to no run of a client.
func (a *Ask) Environ(environ []string, scratch string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(a.Drop, name) {
			out = append(out, kv)
		}
	}
	return append(out, a.Variables(scratch)...)
}

// Variables are those that are set, "NAME=value".
func (a *Ask) Variables(scratch string) []string {
	out := make([]string, len(a.Set))
	for i, kv := range a.Set {
		out[i] = strings.Replace(kv, "=SCRATCH", "="+scratch, 1)
	}
	return out
}

// fill puts values in the place of the words that stand for them.
func fill(words []string, pairs ...string) []string {
	out := slices.Clone(words)
	for i, w := range out {
		for j := 0; j < len(pairs); j += 2 {
			if w == pairs[j] {
				out[i] = pairs[j+1]
			}
		}
	}
	return out
}

// account is how a client is told which of its folders to work with: a variable,
// and the folder below HOME that it takes without.
type account struct{ variable, folder string }

// Folder returns the folder that the client works with in an environment, and
// the usual one; both empty where nothing is known of it.
func (c Client) Folder(getenv func(string) string) (now, usual string) {
	if c.account.variable == "" {
		return "", ""
	}
	usual = filepath.Join(getenv("HOME"), c.account.folder)
	return cmp.Or(getenv(c.account.variable), usual), usual
}

// Account returns what an environment needs so that the client works with a
// folder of its own (~/.claude, or that of another account): a variable to set,
// "NAME=value", or one to take away, "NAME"; "" where it does so already, or
// where nothing is known of it. The usual folder is not set but left to the
// client, which keeps some of it beside it.
func (c Client) Account(getenv func(string) string, store string) string {
	now, usual := c.Folder(getenv)
	switch {
	case now == "" || store == "" || same(now, store):
		return ""
	case same(usual, store):
		return c.account.variable
	}
	return c.account.variable + "=" + store
}

// same says whether two names are of one folder.
func same(a, b string) bool {
	if real, err := filepath.EvalSymlinks(a); err == nil {
		a = real
	}
	if real, err := filepath.EvalSymlinks(b); err == nil {
		b = real
	}
	return filepath.Clean(a) == filepath.Clean(b)
}

// claudeAsk was tried with 2.1.197 and 2.1.329, which both take the path of a
// transcript for a session's id, whatever folder and account it is of.
//
// It has one tool, that reads files, for the API wants one where the history has
// calls; Grep and Bash would keep long results in the transcript's folder, and
// so would Read the pages of a PDF. Servers, commands and skills could do
// anything.
//
// The client tidies up five seconds after it has started, where nobody did for a
// day: cleanupPeriodDays keeps it from removing transcripts, the one that is
// read among them.
var claudeAsk = &Ask{
	Args: []string{"-p", "--resume", "TRANSCRIPT", "--fork-session", "--no-session-persistence",
		"--tools", "Read", "--strict-mcp-config", "--disable-slash-commands",
		"--settings", `{"disableAllHooks":true,"cleanupPeriodDays":36500,"permissions":{"deny":["Read(//**/*.pdf)"]}}`},
	Stream: []string{"--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--include-partial-messages"},
	Set: []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", // what it would send is kept where it cannot
		"DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",          // makes a folder
		"CLAUDE_CODE_AGENTS_MD_ROWS_EVERY_PROCESS=1", // else it is noted which session had AGENTS.md counted
	},
	Drop: []string{"CLAUDE_CODE_FORCE_SESSION_PERSISTENCE", "CLAUDE_CODE_DEBUG_LOGS_DIR", "CLAUDE_CODE_SESSION_LOG", "DEBUG"},
}

// codexAsk was tried with 0.169. "resume" instead of "fork" would write to the
// session in spite of --ephemeral.
//
// Its databases are opened by every process of it, and change by that alone; in
// a folder of their own they are made from the transcripts, some seconds for
// each thousand of those, or from a copy.
var codexAsk = &Ask{
	Args: []string{"exec", "--ephemeral", "--skip-git-repo-check", "--ignore-rules", "--sandbox", "read-only",
		"-c", "features.hooks=false", "-c", "notify=[]",
		"-c", "features.plugins=false", "-c", "features.apps=false", // it fetches them
		"-c", "features.shell_snapshot=false",
		"-c", "features.shell_tool=false", "-c", "features.unified_exec=false",
		"fork", "ID", "-"},
	Set:        []string{"CODEX_SQLITE_HOME=SCRATCH"},
	Seed:       []string{"state_*.sqlite", "thread_history_*.sqlite"},
	Unseed:     []string{"thread/", "database", "sqlite"},
	Drop:       []string{"CODEX_ROLLOUT_TRACE_ROOT", "CODEX_TUI_RECORD_SESSION", "CODEX_TUI_SESSION_LOG_PATH", "RUST_LOG"},
	Servers:    []string{"-c", "mcp_servers.NAME.enabled=false"},
	OwnAccount: true, ServersFile: "config.toml", ServersKey: "mcp_servers",
}
