// Package hook describes Claude Code to the hooks.
package hook

import (
	"encoding/json"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/place"
)

// Client is Claude Code. It lists the most names, because other clients use its names.
var Client = contract.Client{
	Client:   &names.Claude,
	Accounts: accounts,
	Fields: []contract.FieldName{
		{Name: "hook_event_name", Field: contract.Event},
		{Name: "session_id", Field: contract.SessionID},
		{Name: "transcript_path", Field: contract.Transcript},
		{Name: "cwd", Field: contract.CWD},
		{Name: "source", Field: contract.Source},
		{Name: "trigger", Field: contract.Trigger},
		{Name: "reason", Field: contract.Reason},
		{Name: "tool_name", Field: contract.ToolName},
		{Name: "tool_input", Field: contract.ToolInput},
		{Name: "tool_response", Field: contract.ToolOutput},
		{Name: "agent_id", Field: contract.AgentID},
		{Name: "last_assistant_message", Field: contract.LastAnswer},
		{Name: "context_tokens", Field: contract.ContextTokens},
		{Name: "background_tasks", Field: contract.Background},
		{Name: "session_crons", Field: contract.Crons},
		{Name: "permission_mode", Field: contract.Mode},
		{Name: "prompt", Field: contract.Prompt},
		{Name: "notification_type", Field: contract.Notice},
		{Name: "error", Field: contract.Failure},
		{Name: "is_interrupt", Field: contract.Interrupted},
	},
	Notices: []contract.NoticeName{
		{Name: "permission_prompt", Notice: contract.AsksPermission},
		{Name: "elicitation_dialog", Notice: contract.AsksQuestion},
		{Name: "idle_prompt", Notice: contract.WaitsForPrompt},
	},
	Limits: []string{"rate_limit", "billing_error"},
	Logins: []string{"authentication_failed", "oauth_org_not_allowed"},
	Prompting: []contract.Prompting{
		{Tool: "AskUserQuestion", Question: true}, {Tool: "ExitPlanMode"},
	},
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Plain, Compaction: true, ShowsCompaction: true, SystemMessage: true,
		EnvFile: "CLAUDE_ENV_FILE", ForkFlag: "--fork-session", Killed: killed, NotesStatus: true, TypedPrompt: Typed, Headless: headless,
	},
}

// killed ignores "other" without a person: Claude Code gives it at SIGTERM and SIGHUP,
// but also at the regular end of such a run.
func killed(e contract.SessionEnd) bool {
	return (e.Reason != "other" || !fromSDK(e.Getenv)) && contract.Killed(e)
}

// fromSDK reports whether the client's entry point is sdk-cli (claude -p), sdk-ts, sdk-py
// or the like. A Claude Code that such a run starts inherits the variable.
func fromSDK(getenv func(string) string) bool {
	return strings.HasPrefix(getenv("CLAUDE_CODE_ENTRYPOINT"), "sdk")
}

// headless goes by the arguments first, because "claude -p" below another Claude Code has
// the entry point of that one. The formats are only for a run that prints.
func headless(r contract.Run) bool {
	return r.HasFlag("-p", "--print", "--output-format", "--input-format") || fromSDK(r.Getenv) && !r.OnScreen()
}

var folders = []string{".claude", ".claude-*", ".claude_*", ".claude-accounts/*", ".config/claude*"}

// accounts returns the accounts that contract.Accounts finds, then those that towns list.
func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	return func(yield func(contract.Place) bool) {
		for p := range contract.Accounts(names.ClaudeConfig, folders, conversations)(getenv) {
			name := getenv("CLAUDE_CODE_PROJECT_DIR_NAME")
			// The variable names one folder for the conversations of all projects.
			if p.By == contract.Named && name != "" && !strings.ContainsAny(name, "/.") {
				p.Sessions = filepath.Join(p.Dir, conversations, name)
			}
			if !yield(p) {
				return
			}
		}
		for _, dir := range townAccounts(place.StateOf(getenv), getenv("HOME")) {
			if !yield(contract.Place{Dir: dir, By: contract.Found, Folders: []string{conversations}}) {
				return
			}
		}
	}
}

const conversations = "projects"

const accountsFile = "mayor/accounts.json"

// townAccounts returns the accounts that the person's towns list, as the person trusted them.
func townAccounts(state place.State, home string) (dirs []string) {
	towns, _ := state.TrustedTowns() // ignores unreadable towns
	for _, t := range towns {
		data, err := t.Read(accountsFile)
		if err != nil {
			continue
		}
		var list struct {
			Accounts map[string]struct {
				Dir string `json:"config_dir"`
			} `json:"accounts"`
		}
		if json.Unmarshal(data, &list) != nil {
			continue
		}
		for _, account := range list.Accounts {
			dir := account.Dir
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = filepath.Join(home, below)
			}
			// A folder within the town may be its author's.
			if filepath.IsAbs(dir) && !place.IsBelow(place.Real(dir), place.Real(t.Path)) {
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Unpasted returns a prompt without the tags that Claude Code puts around what the person
// pasted (seen with 2.1.332, where the input box shows "[Pasted text #1 +20 lines]"):
//
//	please look at
//
//	<pasted_content id="d796">
//	the text
//	</pasted_content id="d796">
//
//	and say why
//
// The id belongs to the session. In a tag that the person writes, the client adds a
// backslash, so that what has this form is its own.
func Unpasted(prompt string) string {
	var text strings.Builder
	add := func(part string) {
		// The input box showed the paste apart from the words beside it.
		if s := text.String(); s != "" && part != "" && !isSpace(s[len(s)-1]) && !isSpace(part[0]) {
			text.WriteByte('\n')
		}
		text.WriteString(part)
	}
	rest := prompt
	for from := 0; ; {
		i := strings.Index(rest[from:], tagStart)
		if i < 0 {
			break
		}
		start := from + i
		from = start + len(tagStart)
		id, _, ok := strings.Cut(rest[from:min(len(rest), from+idLength+len(tagEnd))], tagEnd)
		if !ok || !isHex(id) {
			continue
		}
		closing := "\n</" + tagName + id + `">`
		body := rest[from+idLength+len(tagEnd)-1:] // with the line break, which an empty paste shares
		before, after, ok := strings.Cut(body, closing)
		if !ok {
			break
		}
		add(withoutBreaks(rest[:start], strings.TrimSuffix))
		add(strings.TrimPrefix(before, "\n"))
		rest, from = withoutBreaks(after, strings.TrimPrefix), 0
	}
	add(rest)
	return text.String()
}

const (
	tagName  = `pasted_content id="`
	tagStart = "<" + tagName
	tagEnd   = "\">\n"
	idLength = 4
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

func isHex(id string) bool { return len(id) == idLength && strings.Trim(id, "0123456789abcdef") == "" }

// withoutBreaks trims the empty line that the client puts before and after a paste.
func withoutBreaks(s string, trim func(s, cut string) string) string {
	return trim(trim(s, "\n"), "\n")
}
