package hook

import (
	"bytes"
	"encoding/json"
	"gt/internal/testenv"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"gt/lib/cli"
	"gt/lib/text/openjson"
)

func TestReadUnderstands(t *testing.T) {
	const object = `{"session_id":"s1","hook_event_name":"SessionStart","source":"startup"}`
	want := Input{SessionID: "s1", Event: "SessionStart", Source: "startup"}
	for name, text := range map[string]string{
		"one line":            object,
		"a line end":          object + "\n",
		"pretty-printed":      "{\n  \"session_id\": \"s1\",\n  \"hook_event_name\": \"SessionStart\",\n  \"source\": \"startup\"\n}\n",
		"CR LF":               strings.ReplaceAll("{\n\"session_id\": \"s1\",\n\"hook_event_name\": \"SessionStart\",\n\"source\": \"startup\"\n}\n", "\n", "\r\n"),
		"a BOM":               "\xef\xbb\xbf" + object,
		"a BOM and a line":    "\xef\xbb\xbf\n" + object,
		"blanks around":       "\n\n \t" + object + " \n\n",
		"unknown fields":      `{"new":{"a":[1,2,{"session_id":"no"}]},` + object[1:],
		"escapes":             `{"session_id":"\u0073\u0031","hook_event_name":"SessionStart","source":"startup"}`,
		"other types":         `{"cwd":7,"tool_name":{"a":"b"},"reason":null,"agent_id":["x"],"trigger":true,` + object[1:],
		"a tool's big result": `{"tool_response":"` + strings.Repeat("x", 300_000) + `",` + object[1:],
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(strings.NewReader(text), time.Minute)
			if (got.Key == "") != (len(text) > maxKeyed) {
				t.Errorf("the key is %q", got.Key)
			}
			if got.Key, got.toolOutput = "", ""; got != want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Inputs of real clients, with anonymous ids and folders. README.md in testdata has their
// origins. The same event reads the same from every client.
func TestReadEveryClient(t *testing.T) {
	const folder, id, child = "/home/max/project", "00000001-0000-4000-8000-000000000000", "00000002-0000-4000-8000-000000000000"
	for name, want := range map[string]Input{
		"copilot/SessionStart":              {Event: "SessionStart", Source: "new"},
		"copilot/camel/sessionStart":        {Event: "SessionStart", Source: "new"},
		"copilot/resume":                    {Event: "SessionStart", Source: "resume"},
		"copilot/UserPromptSubmit":          {Event: "UserPromptSubmit", Prompt: "run echo hi"},
		"copilot/camel/userPromptSubmitted": {Event: "UserPromptSubmit", Prompt: "run echo hi"},
		"copilot/PostToolUse":               {Event: "PostToolUse", ToolName: "Agent"},
		"copilot/camel/postToolUse":         {Event: "PostToolUse", ToolName: "task"},
		"copilot/PreCompact":                {Event: "PreCompact", Trigger: "manual", Transcript: "T"},
		"copilot/camel/preCompact":          {Event: "PreCompact", Trigger: "manual", Transcript: "T"},
		"copilot/Stop":                      {Event: "Stop", Transcript: "T"},
		"copilot/camel/agentStop":           {Event: "Stop", Transcript: "T"},
		"copilot/Notification":              {Event: "Notification", Notice: "permission_prompt"},
		"copilot/SessionEnd":                {Event: "SessionEnd", Reason: "user_exit"},
		"copilot/camel/sessionEnd":          {Event: "SessionEnd", Reason: "user_exit"},
		"copilot/subagent-Stop":             {Event: "Stop", AgentID: child, Transcript: "T"},
		"copilot/subagent-UserPromptSubmit": {Event: "UserPromptSubmit", AgentID: child, Prompt: "You are the child."},
		"codex/SessionStart":                {Event: "SessionStart", Source: "startup", Transcript: "T"},
		"codex/ephemeral":                   {Event: "SessionStart", Source: "startup"}, // nothing is kept of it
		"codex/compact":                     {Event: "SessionStart", Source: "compact", Transcript: "T"},
		"codex/UserPromptSubmit":            {Event: "UserPromptSubmit", Transcript: "T", Prompt: "please delegate"},
		"codex/PostToolUse":                 {Event: "PostToolUse", ToolName: "Bash", Transcript: "T"},
		"codex/PreCompact":                  {Event: "PreCompact", Trigger: "auto", Transcript: "T"},
		"codex/Stop":                        {Event: "Stop", LastAnswer: "It is done.", Transcript: "T"},
		"codex/SessionEnd":                  {Event: "SessionEnd", Reason: "other", Transcript: "T"},
		"codex/subagent-UserPromptSubmit":   {Event: "UserPromptSubmit", AgentID: child, Transcript: "T", Prompt: "You are the child."},
		"codex/subagent-PostToolUse":        {Event: "PostToolUse", ToolName: "Bash", AgentID: child, Transcript: "T"},
		"codex/subagent-PreCompact":         {Event: "PreCompact", Trigger: "auto", AgentID: child, Transcript: "T"},
		"gemini/SessionStart":               {Event: "SessionStart", Source: "startup", Transcript: "T"},
		"gemini/BeforeAgent":                {Event: "UserPromptSubmit", Transcript: "T", Prompt: "please echo"},
		"gemini/AfterTool":                  {Event: "PostToolUse", ToolName: "run_shell_command", Transcript: "T"},
		"gemini/PreCompress":                {Event: "PreCompact", Trigger: "auto", Transcript: "T"},
		"gemini/AfterAgent":                 {Event: "Stop", LastAnswer: "I run a command.\nIt is done.", Transcript: "T", Prompt: "please echo"},
		"gemini/SessionEnd":                 {Event: "SessionEnd", Reason: "exit", Transcript: "T"},
		"qwen/SessionStart":                 {Event: "SessionStart", Source: "startup", Transcript: "T"},
		"qwen/UserPromptSubmit":             {Event: "UserPromptSubmit", Transcript: "T", Prompt: "delegate this"},
		"qwen/PostToolUse":                  {Event: "PostToolUse", ToolName: "agent", Transcript: "T"},
		"qwen/PreCompact":                   {Event: "PreCompact", Trigger: "manual", Transcript: "T"},
		"qwen/Stop":                         {Event: "Stop", LastAnswer: "It is done.", Transcript: "T"},
		"qwen/SessionEnd":                   {Event: "SessionEnd", Reason: "prompt_input_exit", Transcript: "T"},
		"qwen/subagent-PostToolUse":         {Event: "PostToolUse", ToolName: "run_shell_command", AgentID: child, Transcript: "T"},
		"kimi/UserPromptSubmit":             {Event: "UserPromptSubmit", Prompt: "run: echo hi"},
		"kimi/PreToolUse":                   {Event: "PreToolUse", ToolName: "AskUserQuestion"},
		"kimi/PostToolUse":                  {Event: "PostToolUse", ToolName: "Bash"},
		"kimi/PostToolUseFailure":           {Event: "PostToolUseFailure", ToolName: "Bash", Failure: "Process exited with code 1\nCommand failed with exit code: 1."},
		"kimi/PermissionRequest":            {Event: "PermissionRequest", ToolName: "Bash"},
		"kimi/PermissionResult":             {Event: "PermissionResult", ToolName: "Bash"},
		"kimi/PreCompact":                   {Event: "PreCompact", Trigger: "manual"},
		"kimi/Stop":                         {Event: "Stop"},
		"kimi/StopFailure":                  {Event: "StopFailure", Failure: "APIProviderRateLimitError"},
		"kimi/Interrupt":                    {Event: "Interrupt", Reason: "cancelled"},
		"kimi/SessionEnd":                   {Event: "SessionEnd", Reason: "exit"},
		"pi/headless-SessionStart":          {Event: "SessionStart", Source: "startup", Transcript: "T", Headless: true},
		"antigravity/PreInvocation":         {Event: "UserPromptSubmit", Transcript: "T"},
		"antigravity/later-PreInvocation":   {Event: "PostToolUse", Transcript: "T"},
		"antigravity/Stop":                  {Event: "Stop", Transcript: "T"},
		"antigravity/waiting-Stop":          {Event: "Stop", Transcript: "T", runsMore: true},
		"antigravity/failed-Stop":           {Event: "StopFailure", Transcript: "T", Failure: "Individual quota reached. Contact your administrator to enable overages."},
		"cursor/sessionStart":               {Event: "SessionStart"},
		"cursor/beforeSubmitPrompt":         {Event: "UserPromptSubmit", Transcript: "T", Prompt: "build the parser"},
		"cursor/postToolUse":                {Event: "PostToolUse", ToolName: "Shell", Transcript: "T"},
		"cursor/afterAgentResponse":         {Event: "afterAgentResponse", LastAnswer: "The parser is built.", Transcript: "T"},
		"cursor/preCompact":                 {Event: "PreCompact", Trigger: "auto", Transcript: "T"},
		"cursor/stop":                       {Event: "Stop", Transcript: "T", Failure: "completed"},
		"cursor/sessionEnd":                 {Event: "SessionEnd", Reason: "completed", Transcript: "T"},
	} {
		t.Run(name, func(t *testing.T) {
			client, input, _ := strings.Cut(name, "/")
			data, err := os.ReadFile("../" + client + "/hook/testdata/" + input + ".json")
			testenv.NoError(t, err)
			got := Read(bytes.NewReader(data), time.Minute)
			if got.Key == "" {
				t.Error("there is no key")
			}
			got.Key, got.Event = "", got.Kind()
			if filepath.IsAbs(got.Transcript) {
				got.Transcript = "T"
			}
			got.toolInput, got.toolOutput = "", ""                   // see TestShows
			got.background, got.crons, got.ContextTokens = "", "", 0 // see TestRunning
			want.SessionID, want.CWD = id, folder
			if client == "kimi" {
				want.SessionID = "session_" + id
			}
			want.Mode = gjson.GetBytes(data, "permission_mode").Str
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

// Copilot has two forms of an event, for two ways of wiring a hook. Both are the same
// event, and two events of a kind are two.
func TestKeyOfCopilot(t *testing.T) {
	key := func(text string) string { return Read(strings.NewReader(text), time.Minute).Key }
	snake := key(`{"hook_event_name":"SessionStart","session_id":"s","timestamp":"2026-11-21T12:23:37.524Z","source":"new"}`)
	camel := key(`{"sessionId":"s","timestamp":1795263817524,"source":"new"}`)
	later := key(`{"sessionId":"s","timestamp":1795263817525,"source":"new"}`)
	other := key(`{"sessionId":"s","timestamp":1795263817524,"reason":"complete"}`)
	long := key(`{"sessionId":"s","timestamp":1795263817524,"source":"new","initialPrompt":"` + strings.Repeat("x", 100_000) + `"}`)
	if snake == "" || camel != snake || later == snake || other == snake || long != snake {
		t.Errorf("%q %q %q %q %q", snake, camel, later, other, long)
	}
}

func TestReadPassesOverWhatIsNoInput(t *testing.T) {
	const none = "the hook's input is no JSON object"
	for name, c := range map[string]struct{ text, problem string }{
		"nothing":          {"", ""},
		"blanks":           {" \n\t\n", ""},
		"a BOM alone":      {"\xef\xbb\xbf", ""},
		"words":            {"hello\n", none},
		"a list":           {`["session_id","s1"]`, none},
		"a string":         {`"session_id"`, none},
		"torn":             {`{"session_id":"s1","cwd":"/x`, none},
		"trailing garbage": {`{"session_id":"s1"} trailing`, none},
		"two objects":      {`{"session_id":"s1"}{"session_id":"s2"}`, none},
		"leading garbage":  {`garbage {"session_id":"s1"}`, none},
		"NUL":              {"\x00\x00\x00", none},
		"deep":             {`{"a":` + strings.Repeat("[", MaxInput-100), none},
	} {
		t.Run(name, func(t *testing.T) {
			got := Read(strings.NewReader(c.text), time.Minute)
			if want := (Input{Problem: c.problem}); got != want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Deep nesting must cost neither the stack nor the process.
func TestValidIsNotDeep(t *testing.T) {
	deep := func(n int) []byte {
		return []byte(`{"session_id":"s","a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}")
	}
	wide := []byte(`{"a":[` + strings.Repeat("[],", 50_000) + `{}]}`)
	if !openjson.Valid(deep(9_000)) || !openjson.Valid(wide) {
		t.Error("an input that is no deeper than others was refused")
	}
	if openjson.Valid(deep(2_000_000)) {
		t.Error("two million levels were taken")
	}
}

func TestReadDrainsWhatIsOverTheLimit(t *testing.T) {
	text := `{"session_id":"s1","tool_response":"` + strings.Repeat("x", MaxInput+500_000) + `"}`
	r := strings.NewReader(text)
	got := Read(r, time.Minute)
	if got.SessionID != "s1" || got.Problem == "" || got.Key != "" {
		t.Errorf("%.200v", got)
	}
	if r.Len() > 0 {
		t.Errorf("%d bytes were not read: the client would see a broken pipe", r.Len())
	}
}

func TestReadAnswersAtOnceWhenThePipeStaysOpen(t *testing.T) {
	for name, text := range map[string]string{
		"plain":      `{"session_id":"s1"}`,
		"a line end": "{\n\"session_id\":\"s1\"\n}\n",
		"a BOM":      "\xef\xbb\xbf{\"session_id\":\"s1\"}",
	} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			testenv.NoError(t, err)
			defer w.Close()
			io.WriteString(w, text)
			begin := time.Now()
			got := Read(r, 10*testenv.Patience)
			if took := time.Since(begin); took > testenv.Patience {
				t.Errorf("waited %v", took)
			}
			if got.SessionID != "s1" || got.Problem != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A client on a busy machine gives a hook its input long after it has started it.
func TestReadWaitsForASlowClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		go func() {
			time.Sleep(Deadline - time.Millisecond)
			io.WriteString(w, `{"session_id":"s1"`)
			time.Sleep(Deadline - time.Millisecond)
			io.WriteString(w, "}")
			w.Close()
		}()
		if got := Read(r, Deadline); got.SessionID != "s1" || got.Problem != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestReadGivesUpAtTheDeadline(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "half": `{"session_id":"s1",`} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			defer w.Close()
			go io.WriteString(w, text)
			got := Read(r, 50*time.Millisecond)
			if got.Problem != "the hook's input did not end in time" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A client that keeps sending a little does not hold up a hook for ever.
func TestReadGivesUpOnADribble(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go func() {
		for {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	done := make(chan Input)
	go func() { done <- Read(r, 50*time.Millisecond) }()
	select {
	case <-done:
	case <-time.After(testenv.Patience):
		t.Fatal("still reading")
	}
}

// A panic while reading reaches the caller, which recovers.
func TestReadPanicsInItsCaller(t *testing.T) {
	defer func() {
		if r := recover(); r == nil {
			t.Error("the panic is gone")
		}
	}()
	Read(breaking{}, time.Minute)
}

type breaking struct{}

func (breaking) Read([]byte) (int, error) { panic("oh") }

func TestReadOfADeviceIsNothing(t *testing.T) {
	null, err := os.Open(os.DevNull)
	testenv.NoError(t, err)
	defer null.Close()
	if got := Read(null, time.Minute); got != (Input{}) {
		t.Errorf("%+v", got)
	}
	null.Close() // as if standard input were closed
	if got := Read(null, time.Minute); got != (Input{}) {
		t.Errorf("closed: %+v", got)
	}
}

// The key is the same for every reader of an input.
func TestKey(t *testing.T) {
	key := func(s string) string { return Read(strings.NewReader(s), time.Minute).Key }
	a, b := `{"session_id":"s1","source":"clear"}`, `{"session_id":"s1","source":"startup"}`
	if again := key(a); again != key(a) || again != key(a+"\n") || again == key(b) {
		t.Error(key(a), key(a+"\n"), key(b))
	}
}

// If a key is repeated, the first one counts, and the other fields are unaffected.
func TestDuplicateKeys(t *testing.T) {
	got := Read(strings.NewReader(`{"session_id":"first","cwd":"/x","session_id":"second"}`), time.Minute)
	if got.SessionID != "first" || got.CWD != "/x" {
		t.Errorf("%+v", got)
	}
}

// Read understands what encoding/json does.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		`{"session_id":"s1","hook_event_name":"SessionStart","source":"startup","cwd":"/x"}`,
		"{\n \"session_id\" : \"s\\u0031\\ud834\\udd1e\"\n}",
		`{"session_id":null,"cwd":7,"source":["x"],"reason":{"a":1}}`,
		`{"a":{"session_id":"inner"},"session_id":"outer"}`,
		`{"session_id":"a","session_id":"b"}`,
		`{"\u0063wd":"/x"}`,
		"\xef\xbb\xbf{}", `{}`, `[]`, `{"cwd":"\xff"}`, "{\"cwd\":\"\x01\"}", `{"cwd":"\ud800"}`, `{"cwd":"x`,
		`{"transcript_path":"/a/b.jsonl","tool_name":"Bash","agent_id":"x","last_assistant_message":"done","trigger":"auto"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := Read(strings.NewReader(string(data)), time.Minute)
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\xef\xbb\xbf")), &want) != nil || !utf8.Valid(data) {
			return // gjson accepts some more bytes; it is enough that it does not panic
		}
		if strings.Contains(strings.ToLower(string(data)), `\ud`) {
			return // they decode half a surrogate pair differently
		}
		if want == nil { // null
			return
		}
		for _, key := range []string{"sessionId", "conversation_id", "transcriptPath", "toolName", "agentId", "parent_agent_id", "parentAgentId", "workspace_roots"} {
			if _, other := want[key]; other {
				return // the same field by another name
			}
		}
		if want["hook_event_name"] == nil {
			return // it comes from the other fields
		}
		if got.Problem != "" {
			t.Fatalf("%q: %s", data, got.Problem)
		}
		for key, value := range map[string]string{
			"session_id": got.SessionID, "hook_event_name": got.Event, "transcript_path": got.Transcript,
			"cwd": got.CWD, "source": got.Source, "trigger": got.Trigger, "reason": got.Reason,
			"tool_name": got.ToolName, "agent_id": got.AgentID, "last_assistant_message": got.LastAnswer,
		} {
			var s string
			_ = json.Unmarshal(want[key], &s) // of another type: empty
			if s != value && strings.Count(string(data), `":`) <= len(want) {
				t.Errorf("%q: %s is %q, not %q", data, key, value, s)
			}
		}
	})
}

func TestBegin(t *testing.T) {
	dir := t.TempDir()
	other := t.TempDir()
	for name, c := range map[string]struct {
		input   string
		environ []string
		hook    bool
		id, dir string
		warned  string
	}{
		"by hand":              {dir: dir},
		"by hand, in a client": {environ: []string{"CLAUDE_CODE_SESSION_ID=c1"}, id: "c1", dir: dir},
		"by hand, an input counts for nothing": {
			input: `{"session_id":"s1"}`, environ: []string{"CLAUDE_CODE_SESSION_ID=c1"}, id: "c1", dir: dir},
		"a hook's own id":           {input: `{"session_id":"s1","cwd":"` + other + `"}`, environ: []string{"GT_SESSION_ID=p", "CLAUDE_CODE_SESSION_ID=p"}, hook: true, id: "s1", dir: other},
		"a hook without an input":   {environ: []string{"GT_SESSION_ID=g", "CLAUDE_CODE_SESSION_ID=c"}, hook: true, id: "g", dir: dir},
		"an id that is none":        {input: `{"session_id":"../x"}`, environ: []string{"GT_SESSION_ID=p"}, hook: true, dir: dir, warned: "invalid session id"},
		"a folder that is gone":     {input: `{"session_id":"s1","cwd":"/nowhere/at/all"}`, hook: true, id: "s1", dir: dir},
		"a relative folder":         {input: `{"session_id":"s1","cwd":"."}`, hook: true, id: "s1", dir: dir},
		"a GT_ROLE that is none":    {input: `{"session_id":"s1"}`, environ: []string{"GT_ROLE=a/b/c/d"}, hook: true, id: "s1", dir: dir, warned: "GT_ROLE 'a/b/c/d' is not an address"},
		"an input that is no JSON ": {input: `nonsense`, hook: true, dir: dir, warned: "no JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			var said strings.Builder
			env := &cli.Env{
				Name: "x", Stdin: strings.NewReader(c.input), Stderr: &said, Dir: dir, Now: time.Now,
				Environ: append([]string{"XDG_STATE_HOME=" + t.TempDir()}, c.environ...),
			}
			call := NewInvocation(env, Flags{Hook: c.hook})
			if string(call.ID) != c.id || call.Dir != c.dir {
				t.Errorf("id %q dir %q", call.ID, call.Dir)
			}
			if c.warned == "" && said.Len() > 0 || !strings.Contains(said.String(), c.warned) {
				t.Errorf("said %q", said.String())
			}
		})
	}
}

// A tool's result comes through a pipe, in parts.
func BenchmarkRead(b *testing.B) {
	result, err := json.Marshal(strings.Repeat("a line of output, some \"quoted\" words\n", 256<<10/38))
	testenv.NoError(b, err)
	said := `{"session_id":"abc","cwd":"/w","hook_event_name":"PostToolUse","tool_response":{"stdout":` + string(result) + `}}`
	b.SetBytes(int64(len(said)))
	for b.Loop() {
		r, w, err := os.Pipe()
		testenv.NoError(b, err)
		go func() {
			w.WriteString(said)
			w.Close()
		}()
		if in := Read(r, Deadline); in.SessionID == "" {
			b.Fatal(in.Problem)
		}
		r.Close()
	}
}

// parts is a reader that returns at most so many bytes at a time.
type parts struct {
	io.Reader
	most int
}

func (p parts) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.most)]) }

// However the input is split, Read reads it in order; over the limit it keeps the front.
func TestCollect(t *testing.T) {
	text := make([]byte, 5<<20)
	for i := range text {
		text[i] = byte('a' + i*7919%23 + i/4096%3)
	}
	for _, size := range []int{0, 1, pipeSize - 1, pipeSize, pipeSize + 1, 9*pipeSize - 1, 9 * pipeSize, 9*pipeSize + 1, 1 << 20, MaxInput - 1, MaxInput, MaxInput + 1, MaxInput + pipeSize, len(text)} {
		for _, most := range []int{4096, 4095, pipeSize, pipeSize - 1, 10 * pipeSize} {
			got, whole, problem := readInput(parts{bytes.NewReader(text[:size]), most}, time.Minute)
			if want := text[:min(size, MaxInput)]; !bytes.Equal(got, want) || whole || (problem != "") != (size > MaxInput) {
				t.Errorf("of %d bytes, %d at a time: %d bytes, whole %v, problem %q", size, most, len(got), whole, problem)
			}
		}
	}
}
