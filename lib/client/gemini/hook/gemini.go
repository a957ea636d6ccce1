// Package hook describes Gemini CLI to the hooks.
package hook

import (
	"bytes"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

var Client = contract.Client{
	Client:   &names.Gemini,
	Accounts: accounts,
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
		DroppedSources: []string{"clear", "resume"}, CompactionPolicy: isFull, Killed: killed, Headless: contract.WithFlag("-p", "--prompt"),
	},
}

// killed decides "exit" by whether a turn was going on: without a person, Gemini CLI
// gives that reason at its regular end and when it is stopped.
func killed(e contract.SessionEnd) bool {
	if e.Reason == "exit" {
		return e.Busy()
	}
	return contract.Killed(e)
}

const maxSettings = 4 << 20

// isFull reports whether the last request had as many tokens as make Gemini CLI compact the
// conversation.
func isFull(transcript, dir, account string) (bool, error) {
	n, model, err := lastRequestTokens(transcript)
	return n > 0 && n >= compactionLimit(model, dir, account), err
}

// compactionLimit returns half of the model's context window, or the share that the project's
// or person's settings have.
func compactionLimit(model, dir, account string) int64 {
	tokens, share := 1<<20, 0.5 // of Gemini's own models; the client's default
	if strings.HasPrefix(model, "gemma-4-") {
		tokens = 256_000
	}
	for _, dir := range []string{filepath.Join(dir, ".gemini"), account} {
		if dir == "" {
			continue
		}
		data, err := atomicfile.Read(filepath.Join(dir, "settings.json"), maxSettings)
		if v := gjson.GetBytes(data, "model.compressionThreshold"); err == nil && v.Type == gjson.Number && v.Num > 0 {
			share = v.Num
			break
		}
	}
	return int64(float64(tokens) * share)
}

func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	return contract.OnlyAbsolute(
		contract.Place{Dir: filepath.Join(getenv(names.GeminiHome), ".gemini"), By: contract.Named, Folders: []string{"tmp"}},
		contract.Place{Dir: filepath.Join(getenv("HOME"), ".gemini"), By: contract.Usual, Folders: []string{"tmp"}},
	)
}

// tokensReach limits how far from the end of a file the last answer is searched. Only
// tools' results follow it.
const tokensReach = 8 << 20

// tokensMark begins a token count in a transcript. Inside a text its quotes would be escaped.
var tokensMark = []byte(`"tokens":{"input":`)

// lastRequestTokens returns the number of tokens of the last request in a Gemini CLI transcript, and
// its model; 0 if the transcript does not tell.
func lastRequestTokens(path string) (n int64, model string, err error) {
	err = conversation.ReadTail(path, tokensReach, func(tail []byte) (found bool) {
		for end := len(tail); ; {
			i := bytes.LastIndex(tail[:end], tokensMark)
			if i < 0 {
				return false
			}
			begin := bytes.LastIndexByte(tail[:i], '\n') + 1
			line, _, _ := bytes.Cut(tail[begin:], []byte("\n"))
			// The first line may be cut off, the last one incomplete.
			if v := gjson.GetBytes(line, "tokens.input"); v.Type == gjson.Number && json.Valid(line) {
				n, model = v.Int(), gjson.GetBytes(line, "model").Str
				return true
			}
			end = i
		}
	})
	return n, model, err
}
