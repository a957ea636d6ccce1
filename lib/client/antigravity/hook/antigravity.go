// Package hook describes Antigravity CLI to the hooks.
//
// Sources: antigravity.google/docs/hooks and the same page in the client's own folder
// (builtin/skills/agy-customizations/docs/hooks.md, September 2026); Stop inputs that firstmate
// captured of 1.1.24 and taurhaus of 1.1.22; plur#1033 and PR 1035 (1.1.21), synara PR 1143
// (1.2.1), agentmemory PR 1146 (1.0.15), mngr PR 1931 and pond PR 225 (1.2.0).
package hook

import (
	"os"
	"path/filepath"
	"strings"

	"gt/lib/client/contract"
	"gt/lib/client/names"
)

// Client is Antigravity CLI. Its hook before a model's request, PreInvocation, is the only one
// whose answer reaches the model. The first of a turn is the person's prompt, whose text it
// does not give. No hook runs when a session starts, is compacted or ends.
var Client = contract.Client{
	Client:         &names.Antigravity,
	Accounts:       contract.Accounts("", []string{store}, "brain"),
	RunsElsewhere:  true, // in the folder of hooks.json
	OwnsTranscript: owns,
	ParentSession:  parent,
	Fields: []contract.FieldName{
		{Name: "conversationId", Field: contract.SessionID},
		{Name: "workspacePaths", Field: contract.Roots},
		{Name: "fullyIdle", Field: contract.FullyIdle},
	},
	Implied: []contract.ImpliedEvent{ // its input has no event
		{Key: "initialNumSteps", Kind: "UserPromptSubmit"},
		{Key: "invocationNum", Kind: "UserPromptSubmit", Other: "PostToolUse"},
		{Key: "terminationReason", Kind: "Stop"},
		{Key: "error", Other: "StopFailure"},
	},
	Limits: []string{"ndividual quota reached"}, // antigravity-cli#56, #163, #234, #457
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Steps, ForgetsContext: true, Headless: contract.WithFlag("-p", "--print", "--prompt"), EndsSilently: true,
		DroppedSources: []string{"", "startup", "resume", "clear"},
	},
}

// store is the client's own folder, below HOME. No variable is known to move it.
const store = ".gemini/antigravity-cli"

// owns excludes the desktop program and the editor of the same name, which run the person's
// hooks too and whose conversations agy does not resume.
func owns(transcript string) bool {
	return !strings.Contains(transcript, "/.gemini/antigravity/") && !strings.Contains(transcript, "/.gemini/antigravity-ide/")
}

// parent finds a subagent by the file that the client keeps of it beside the conversation of
// its session: brain/<session>/.system_generated/subagents/<subagent>.json. transcript is
// brain/<subagent>/.system_generated/logs/<file>.
func parent(transcript string) string {
	own := filepath.Dir(filepath.Dir(filepath.Dir(transcript)))
	brain, id := filepath.Split(own)
	if !filepath.IsAbs(own) || filepath.Base(strings.TrimSuffix(brain, "/")) != "brain" {
		return ""
	}
	dir, err := os.Open(brain)
	if err != nil {
		return ""
	}
	defer dir.Close()
	sessions, _ := dir.Readdirnames(-1)
	for _, session := range sessions {
		if _, err := os.Lstat(filepath.Join(brain, session, ".system_generated", "subagents", id+".json")); err == nil {
			return session
		}
	}
	return ""
}
