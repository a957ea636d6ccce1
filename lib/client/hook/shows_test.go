package hook

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A line in a tool's result counts if the tool called a command of gt, in every client's
// format.
func TestShows(t *testing.T) {
	const line = "gt-request sha256:00"
	for input, want := range map[string]bool{
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff -s x"},"tool_response":{"stdout":"gt-request sha256:00\nA","stderr":""}}`: true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"cd x; gt-mail send self"},"tool_response":"gt-request sha256:00\n"}`:                 true,
		`{"session_id":"s","hook_event_name":"AfterTool","tool_input":{"command":"gt-checkpoint write"},"tool_response":{"llmContent":"Output: gt-request sha256:00"}}`:  true,
		`{"conversation_id":"s","hook_event_name":"postToolUse","tool_input":{"command":"gt-handoff"},"tool_output":"{\"output\":\"gt-request sha256:00\\n\"}"}`:         true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff"},"tool_result":{"text_result_for_llm":"gt-request sha256:00"}}`:          true,
		`{"sessionId":"s","toolName":"bash","toolArgs":"{\"command\":\"gt-handoff\"}","toolResult":{"textResultForLlm":"gt-request sha256:00"}}`:                         true,
		// A command that only mentions gt's may print anything, and so may a command of
		// gt that prints other people's text.
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"file_path":"/w/docs/gt-handoff.md"},"tool_response":"gt-request sha256:00\n"}`:                                         false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"grep -rh gt-handoff docs"},"tool_response":"gt-request sha256:00\n"}`:                                        false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"cat /w/gt-handoff"},"tool_response":"gt-request sha256:00\n"}`:                                               false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-mail read 1"},"tool_response":"gt-request sha256:00\n"}`:                                                  false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-checkpoint read"},"tool_response":"gt-request sha256:00\n"}`:                                              false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff"},"tool_response":"docs/x:1:gt-request sha256:00\n"}`:                                             false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"make test && gt-handoff -s x"},"tool_response":"gt-request sha256:00\ngt-request sha256:01\n"}`:              false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"make test && gt-handoff -s x"},"tool_response":"gt-request sha256:02\ngt-request sha256:00\n"}`:              false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"make test && gt-handoff -s x"},"tool_response":"ok\ngt-request sha256:00\n"}`:                                true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"for n in 1 2; do gt-mail send self; done"},"tool_response":"gt-request sha256:00\ngt-request sha256:01\n"}`:  true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"make && gt-handoff"},"tool_response":{"stdout":"gt-request sha256:00\n","text":"gt-request sha256:00\n"}}`:   true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"make && gt-handoff"},"tool_response":{"stdout":"gt-request sha256:01\n","stderr":"gt-request sha256:00\n"}}`: false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-checkpoint write && gt-handoff"},"tool_response":"gt-request sha256:00\ngt-request sha256:01\n"}`:         true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"A=1 gt-handoff -s x"},"tool_response":"x\ngt-request sha256:00\n"}`:                                          true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":["/b/gt-handoff","-s"]},"tool_response":"gt-request sha256:00\n"}`:                                            false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":["bash","-lc","cd /w && gt-handoff"]},"tool_response":"gt-request sha256:00"}`:                                true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"cat README"},"tool_response":"gt-request sha256:00\n"}`:                                                      false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-mail send self -m 'gt-request sha256:00'"},"tool_response":"done"}`:                                       false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff"},"tool_response":"gt-request sha256:01"}`:                                                        false,
		`{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"gt-request sha256:00","tool_input":"gt-handoff","tool_response":"gt-request sha256:00"}`:                               false,
		`{"session_id":"s","hook_event_name":"PostToolUse","prompt":"gt-request sha256:00","tool_input":"gt-handoff"}`:                                                                           false,
		// A quote or another line separator begins no line.
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff"},"tool_response":{"stdout":"gt-request sha256:01\n","stderr":"in 'a\"gt-request sha256:00'"}}`: false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff"},"tool_response":"gt-request sha256:01\na\\ngt-request sha256:00"}`:                            false,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"gt-handoff"},"tool_response":"{\"output\":\"a \\\"gt-request sha256:00\"}"}`:                               false,
		// Words before a command in a shell line do not count.
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"if make; then time gt-handoff -s x; fi"},"tool_response":"gt-request sha256:00"}`: true,
		`{"session_id":"s","hook_event_name":"PostToolUse","tool_input":{"command":"if make; then cat gt-handoff; fi"},"tool_response":"gt-request sha256:00"}`:       false,
	} {
		in, _ := parseInput([]byte(input))
		if got := slices.Contains(in.OutputLines("gt-request sha256:"), line); got != want {
			t.Errorf("%s: %v", input, got)
		}
	}
}

// In a conversation, a result names its call.
func TestConversation(t *testing.T) {
	const line = "gt-request sha256:00"
	claude := `{"message":{"content":[{"type":"tool_use","id":"t1","input":{"command":"COMMAND"}}]}}
{"message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"gt-request sha256:00\nA sandbox"}]}}
`
	codex := `{"payload":{"type":"function_call","call_id":"c1","arguments":"{\"cmd\":\"COMMAND\"}"}}
{"payload":{"type":"function_call_output","call_id":"c1","output":"Output:\ngt-request sha256:00\n"}}
`
	both := `{"parts":[{"callID":"c1","state":{"input":{"command":"COMMAND"},"output":"gt-request sha256:00"}}]}` + "\n"
	ours := func(s string) string { return strings.ReplaceAll(s, "COMMAND", "gt-handoff -s x") }
	long := strings.Repeat("{}\n", showTail/3)
	for text, want := range map[string]bool{
		ours(claude): true, ours(codex): true, ours(both): true, "torn\n" + ours(claude): true, long + ours(claude): true,
		ours(claude) + long: false, // long ago
		strings.ReplaceAll(claude, "COMMAND", "cat README"):                            false,
		strings.ReplaceAll(codex, "COMMAND", "cat README"):                             false,
		strings.Replace(ours(claude), `"tool_use_id":"t1"`, `"tool_use_id":"t2"`, 1):   false,
		`{"message":{"content":"please run gt-handoff: gt-request sha256:00"}}` + "\n": false,
		strings.Repeat("[", 1<<20) + line:                                              false,
		"":                                                                             false,
	} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if got, err := FindOutputLines(path, "gt-request sha256:"); slices.Contains(got, line) != want || err != nil {
			t.Errorf("%.200s: %v, %v", text, got, err)
		}
	}
	if _, err := FindOutputLines(filepath.Join(t.TempDir(), "none"), line); err == nil {
		t.Error("one that is not there was read")
	}
}
