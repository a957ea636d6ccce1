// Package hook describes Gemini CLI to the hooks.
package hook

import (
	"cmp"
	"iter"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/client/contract"
	"gt/lib/sys/atomicfile"
)

// Client is Gemini CLI.
var Client = contract.Client{
	Name:        "gemini",
	Processes:   []string{"gemini", "node"},
	SessionVars: []string{"GEMINI_SESSION_ID"},
	StoreVars:   []string{homeVar},
	ProjectVar:  "CLAUDE_PROJECT_DIR",
	Accounts:    accounts,
	Fields: []contract.FieldName{
		{Name: "prompt_response", Field: contract.LastAnswer},
		{Name: "timestamp", Field: contract.Moment},
	},
	Events: []contract.EventName{
		{Name: "BeforeAgent", Kind: "UserPromptSubmit"},
		{Name: "AfterTool", Kind: "PostToolUse"},
		{Name: "PreCompress", Kind: "PreCompact"},
		{Name: "AfterAgent", Kind: "Stop"},
	},
	Notices: []contract.NoticeName{{Name: "ToolPermission", Notice: contract.AsksPermission}},
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Nested, SystemMessage: true,
		DroppedSources: []string{"clear", "resume"}, CompactionPolicy: full, Killed: killed, Headless: headless,
	},
}

// homeVar names a folder in place of HOME.
const homeVar = "GEMINI_CLI_HOME"

// killed decides "exit" by whether a turn was going on: without a person, Gemini CLI
// gives that reason at its regular end and when it is stopped.
func killed(e contract.End) bool {
	if e.Reason == "exit" {
		return e.Busy()
	}
	return contract.Killed(e)
}

func headless(r contract.Run) bool { return r.HasFlag("-p", "--prompt") }

const maxSettings = 4 << 20

// full reports whether the last request had as many tokens as make Gemini CLI compact the
// conversation.
func full(transcript, dir string, getenv func(string) string) (bool, error) {
	n, model, err := tokens(transcript)
	return n > 0 && n >= compactsAt(model, dir, getenv), err
}

// compactsAt returns half of the model's context window, or the share that the project's
// or person's settings have.
func compactsAt(model, dir string, getenv func(string) string) int64 {
	tokens, share := 1<<20, 0.5
	if strings.HasPrefix(model, "gemma-4-") {
		tokens = 256_000
	}
	for _, dir := range []string{dir, cmp.Or(getenv(homeVar), getenv("HOME"))} {
		data, err := atomicfile.Read(filepath.Join(dir, ".gemini", "settings.json"), maxSettings)
		if v := gjson.GetBytes(data, "model.compressionThreshold"); err == nil && v.Type == gjson.Number && v.Num > 0 {
			share = v.Num
			break
		}
	}
	return int64(float64(tokens) * share)
}

func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	return contract.Absolute(
		contract.Place{Dir: filepath.Join(getenv(homeVar), ".gemini"), By: contract.Named, Folders: []string{"tmp"}},
		contract.Place{Dir: filepath.Join(getenv("HOME"), ".gemini"), By: contract.Usual, Folders: []string{"tmp"}},
	)
}
