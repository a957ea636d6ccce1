//go:build e2e

package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/e2e/model"
)

var update = flag.Bool("update", false, "write the hook inputs seen to testdata/payloads")

// call is one call of the recording hook by the client.
type call struct {
	Event  string // hook_event_name
	Stdin  string
	Fields map[string]any // stdin, parsed
	Parent string         // the name of the process that called
	Env    map[string]string
}

func (c call) field(name string) string {
	s, _ := c.Fields[name].(string)
	return s
}

// recordCall is the recording hook: it notes how it was called and says the
// shortest thing that a hook of its event may say. See TestMain.
func recordCall(dir string) {
	stdin, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	c := call{Stdin: string(stdin), Env: map[string]string{}}
	if err := json.Unmarshal(stdin, &c.Fields); err != nil {
		panic(err)
	}
	c.Event = c.field("hook_event_name")
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid()))
	c.Parent = fmt.Sprintf("%s %d", strings.TrimSpace(string(comm)), os.Getppid())
	for _, kv := range os.Environ() {
		k, v, _ := strings.Cut(kv, "=")
		c.Env[k] = v
	}
	switch c.Event {
	case "SessionStart":
		fmt.Println("the recorder was here")
		if f, err := os.OpenFile(c.Env["CLAUDE_ENV_FILE"], os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			fmt.Fprintf(f, "export RECORDED_ID=%s\n", c.field("session_id"))
			f.Close()
		}
	case "PreCompact":
		fmt.Println("keep what the recorder said")
	}
	data, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("%d-%d.json", time.Now().UnixNano(), os.Getpid()))
	if err := os.WriteFile(name+".tmp", data, 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		panic(err)
	}
}

// recorded are the recorder's calls so far, in their order.
func (w *world) recorded() []call {
	w.Helper()
	files, _ := filepath.Glob(w.Path("recorded", "*.json"))
	slices.Sort(files)
	var calls []call
	for _, file := range files {
		var c call
		if err := json.Unmarshal([]byte(w.read(file)), &c); err != nil {
			w.Fatal(err)
		}
		calls = append(calls, c)
	}
	return calls
}

// TestClient holds the client to what gt takes it to do: which hooks it calls,
// when, with what on standard input and in the environment. gt has no part in
// it: when this test fails, the client has changed. With -update it writes
// what it saw to testdata/payloads, where the tests of the hook contract find
// it.
func TestClient(t *testing.T) {
	w := newBareWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.Path("recorded"), 0o700); err != nil {
		t.Fatal(err)
	}
	hooks := map[string]any{}
	for _, event := range []string{
		"SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStop", "PostCompact", "Stop", "SessionEnd",
	} {
		hooks[event] = []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "command": self, "args": []string{"record", w.Path("recorded")}, "timeout": patience.Seconds(),
		}}}}
	}
	w.writeJSON(w.userSettings(), map[string]any{"permissions": permissions, "hooks": hooks})
	environment := "cat /proc/$PPID/comm; env | grep -E '^(CLAUDE_CODE_SESSION_ID|RECORDED_ID|ANTHROPIC_API_KEY|TMUX_PANE)='"
	w.model.Answer(func(r *model.Request) model.Reply {
		if strings.Contains(r.Asked(), "environment") {
			return model.Bash(environment)
		}
		return model.Reply{}
	})

	// expect takes the calls since the last time, and compares what happened:
	// an event, and its source, reason or trigger.
	taken := 0
	saved := payloads{w, map[string]string{}}
	expect := func(step string, want ...string) []call {
		t.Helper()
		var calls []call
		var got []string
		w.waitFor(fmt.Sprintf("%s: the hooks are called: %v", step, want), func() bool {
			calls, got = w.recorded()[taken:], nil
			for _, c := range calls {
				got = append(got, strings.TrimSpace(c.Event+" "+c.field("source")+c.field("reason")+c.field("trigger")))
			}
			return len(got) >= len(want)
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: the client called %q, want %q", step, got, want)
		}
		taken += len(calls)
		for i, c := range calls {
			w.checkCall(step, c)
			if *update {
				saved.save(fmt.Sprintf("%s-%d-%s", step, i+1, c.Event), c)
			}
		}
		return calls
	}
	same := func(step string, calls []call, id string) {
		t.Helper()
		for _, c := range calls {
			if c.field("session_id") != id {
				t.Errorf("%s: %s is about %s, want %s", step, c.Event, c.field("session_id"), id)
			}
		}
	}

	const step1 = "headless-startup"
	first := w.ask("show me the environment")
	calls := expect(step1, "SessionStart startup", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd other")
	same(step1, calls, first.SessionID)
	shown := w.model.Turns().LastRequest().Result()
	for _, want := range []string{
		"claude\n", "CLAUDE_CODE_SESSION_ID=" + first.SessionID, "RECORDED_ID=" + first.SessionID, "ANTHROPIC_API_KEY=" + w.key,
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s: a command of the model does not see %q:\n%s", step1, want, shown)
		}
	}
	if n := w.model.Turns().LastRequest().Count("the recorder was here"); n != 1 {
		t.Errorf("%s: what the SessionStart hook says reached the model %d times", step1, n)
	}

	w.ask("more", "--resume", first.SessionID)
	same("headless-resume", expect("headless-resume", "SessionStart resume", "UserPromptSubmit", "Stop", "SessionEnd other"), first.SessionID)
	w.ask("more", "--continue")
	same("headless-continue", expect("headless-continue", "SessionStart resume", "UserPromptSubmit", "Stop", "SessionEnd other"), first.SessionID)

	w.ask("/compact", "--resume", first.SessionID)
	same("headless-compact", expect("headless-compact", "SessionStart resume", "PreCompact manual", "SubagentStop",
		"SessionStart compact", "PostCompact manual", "SessionEnd other"), first.SessionID)
	if n := w.model.Requests().Kind(model.Compaction).LastRequest().Count("keep what the recorder said"); n != 1 {
		t.Errorf("what the PreCompact hook says reached the summariser %d times", n)
	}

	cleared := w.ask("/clear", "--resume", first.SessionID)
	calls = expect("headless-clear", "SessionStart resume", "SessionEnd clear", "SessionStart clear", "SessionEnd other")
	same("headless-clear", calls[:2], first.SessionID)
	same("headless-clear", calls[2:], cleared.SessionID)

	// The id at a fork's start is provisional on older clients: the parent's,
	// with the source of a resume.
	fork := w.ask("show me the environment", "--resume", first.SessionID, "--fork-session")
	start := w.recorded()[taken]
	calls = expect("headless-fork", "SessionStart "+start.field("source"), "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd other")
	same("headless-fork", calls[1:], fork.SessionID)
	t.Logf("a fork starts with source %s and %s id", start.field("source"),
		map[bool]string{true: "its own", false: "its parent's"}[start.field("session_id") == fork.SessionID])
	if shown := w.model.Turns().LastRequest().Result(); !strings.Contains(shown, "CLAUDE_CODE_SESSION_ID="+fork.SessionID) {
		t.Errorf("a command in a fork is not told the fork's id:\n%s", shown)
	}

	p := w.claude("main")
	calls = expect("pane-startup", "SessionStart startup")
	second := calls[0].field("session_id")
	if calls[0].Env["TMUX_PANE"] != p.id {
		t.Errorf("a hook in pane %s has TMUX_PANE=%s", p.id, calls[0].Env["TMUX_PANE"])
	}
	if want := fmt.Sprint("claude ", p.pid()); calls[0].Parent != want {
		t.Errorf("a hook's parent is %s, want the client itself, %s", calls[0].Parent, want)
	}
	p.typ("show me the environment")
	same("pane-prompt", expect("pane-prompt", "UserPromptSubmit", "PostToolUse", "Stop"), second)
	p.typ("/compact")
	same("pane-compact", expect("pane-compact", "PreCompact manual", "SubagentStop", "SessionStart compact", "PostCompact manual"), second)
	p.typ("/clear")
	calls = expect("pane-clear", "SessionEnd clear", "SessionStart clear")
	same("pane-clear", calls[:1], second)
	third := calls[1].field("session_id")
	if third == second || calls[0].Parent != calls[1].Parent {
		t.Errorf("/clear goes from %s in %s to %s in %s", second, calls[0].Parent, third, calls[1].Parent)
	}
	p.typ("/exit")
	same("pane-exit", expect("pane-exit", "SessionEnd prompt_input_exit"), third)

	p = w.claude("again")
	expect("pane-second-startup", "SessionStart startup")
	w.tmux("respawn-pane", "-k", "-t", p.id, "sleep 600")
	expect("pane-respawn", "SessionEnd other")
}

// checkCall checks what holds for every call of a hook.
func (w *world) checkCall(step string, c call) {
	w.Helper()
	bad := func(format string, args ...any) {
		w.Helper()
		w.Errorf("%s: %s: %s", step, c.Event, fmt.Sprintf(format, args...))
	}
	if !strings.HasPrefix(c.Parent, "claude ") {
		bad("its parent is %s", c.Parent)
	}
	if cwd := c.field("cwd"); cwd != w.project {
		bad("cwd is %s", cwd)
	}
	if path := c.field("transcript_path"); filepath.Base(path) != c.field("session_id")+".jsonl" {
		bad("transcript_path is %s", path)
	}
	if !strings.HasSuffix(c.Stdin, "}\n") || strings.Count(c.Stdin, "\n") != 1 {
		bad("its input is not one line: %q", c.Stdin)
	}
	for name, want := range map[string]string{
		"CLAUDE_PROJECT_DIR": w.project, "CLAUDE_CODE_SESSION_ID": c.field("session_id"), "CLAUDECODE": "1",
	} {
		if c.Env[name] != want {
			bad("%s is %q, want %q", name, c.Env[name], want)
		}
	}
	if file := c.Env["CLAUDE_ENV_FILE"]; (file != "") != (c.Event == "SessionStart") {
		bad("CLAUDE_ENV_FILE is %q", file)
	}
}

var (
	uuids    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	agentIDs = regexp.MustCompile(`\ba[0-9a-f]{16}\b`)
	millis   = regexp.MustCompile(`"duration_ms":\d+`)
	unsafe   = regexp.MustCompile(`[^A-Za-z0-9]`) // in the names of the client's folders
)

// payloads writes hook inputs to testdata, with the ids and folders of nobody
// in particular. One id is the same in all of them.
type payloads struct {
	w     *world
	named map[string]string
}

func (p *payloads) save(name string, c call) {
	p.w.Helper()
	text := uuids.ReplaceAllStringFunc(c.Stdin, func(id string) string {
		if p.named[id] == "" {
			p.named[id] = fmt.Sprintf("%08d-0000-4000-8000-000000000000", len(p.named)+1)
		}
		return p.named[id]
	})
	text = agentIDs.ReplaceAllString(text, "a0123456789abcdef")
	text = millis.ReplaceAllString(text, `"duration_ms":42`)
	slug := func(path string) string { return unsafe.ReplaceAllString(path, "-") }
	text = strings.NewReplacer(
		p.w.project, "/home/max/project", slug(p.w.project), slug("/home/max/project"),
		p.w.home, "/home/max", p.w.key, "sk-ant-KEY", p.w.Root, "/tmp/root",
	).Replace(text)
	p.w.write(filepath.Join("testdata", "payloads", "claude-"+p.w.client.Version, name+".json"), text)
}
