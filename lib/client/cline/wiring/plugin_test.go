package wiring

import (
	"gt/internal/testenv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program stands for each of gt's binaries: it notes its call and says who was called.
const program = `#!/bin/sh
input=$(cat)
printf '%s %s %s\n' "${0##*/}" "$*" "$input" >>"$LOG"
case $input in *'"prompt":"be slow"'*) until test -e "$LOG.go" || ! test -d "${LOG%/*}"; do sleep 0.05; done ;; esac
case "${0##*/} $*" in
*--state*) echo '{"home":"/the home"}' ;;
gt-prime*) echo TOLD ;;
esac
`

// story calls the plugin as Cline does, and prints what it answers.
const story = asCline + `const all = [prompt("1", "build it")]
await ask(all, all, { parentAgentId: "other" })
await ask(all)
all.push(answer("2"), prompt("3", "go\ron"), user("4", "<hook_context>no person</hook_context>"))
await ask(all)
await ask(all, [user("s1", "a summary"), ...all.slice(2)])
await ask(all, [user("s2", "a summary"), ...all.slice(2)])
await ask(all, [user("s3", "a summary"), ...all.slice(2)], {}, 2)
await run("ls")
await run("gt-handoff -m x")
await hooks.afterRun({ snapshot: { lastError: "429 Too Many Requests" }, result: { status: "failed", error: {} } })
await hooks.afterRun({ snapshot: {}, result: { status: "aborted" } })
process.kill(process.pid, "SIGTERM")
setTimeout(() => console.log("it lives on"), 5000)
`

// slow is the story of a busy machine: what is known of a prompt comes too late for its request.
const slow = asCline + `await ask([prompt("1", "be slow")])
writeFileSync(process.env.LOG + ".go", "")
process.exit()
`

const asCline = `import { writeFileSync } from "node:fs"
import plugin from "./gt.mjs"
const { setup, hooks } = plugin
setup({}, JSON.parse(process.env.CONTEXT))
const user = (id, text) => ({ id, role: "user", content: [{ type: "text", text }], createdAt: 2000 })
const prompt = (id, text) => user(id, '<user_input mode="act">' + text + "</user_input>")
const answer = (id) => ({ id, role: "assistant", content: [{ type: "text", text: "fine" }], createdAt: 2000 })
const ask = async (all, sent = all, more = {}, iteration = 1) => {
  const out = await hooks.beforeModel({ snapshot: { messages: all, iteration, ...more }, request: { messages: sent } })
  console.log(JSON.stringify((out?.messages ?? sent).map((m) => m.content.map((p) => p.text.trim()).join(" + "))))
}
const run = async (command) => console.log(JSON.stringify((await hooks.beforeTool({ snapshot: {}, toolCall: { toolName: "run_commands" }, input: { commands: [command] } }))?.input))
`

// What the plugin is told by Cline becomes calls of gt's binaries, in order and once each,
// and what they say stands before the person's words, in every request. A subagent calls
// none. A command of gt's gets the session's id. A window's own process reports only the
// end, without a session.
func TestPlugin(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	script := string(text)
	for _, name := range []string{"gt-prime", "gt-keepalive", "gt-checkpoint", "gt-handoff"} {
		write(name, program, 0o700)
		script = strings.ReplaceAll(script, `"`+name+`"`, `"`+filepath.Join(dir, name)+`"`)
	}
	write("gt.mjs", script, 0o600)
	play := func(story, context string) (said, calls string) {
		write("story.mjs", story, 0o600)
		log := filepath.Join(dir, "log")
		os.Remove(log)
		cmd := exec.Command(node, "story.mjs")
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "LOG=" + log, "CONTEXT=" + context}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		data, err := os.ReadFile(log)
		testenv.NoError(t, err)
		var all []string
		for line := range strings.Lines(string(data)) {
			if !strings.Contains(line, "--state") { // it runs beside the others
				all = append(all, strings.NewReplacer(` --hook --agent cline {"hook_event_name":`, " ", `,"cwd":"/work"`, "").Replace(line))
			}
		}
		return string(out), strings.Join(all, "")
	}
	said, calls := play(story, `{"session":{"sessionId":"1000_abc"},"workspaceInfo":{"rootPath":"/work"}}`)
	want := `["<user_input mode=\"act\">build it</user_input>"]
["TOLD + <user_input mode=\"act\">build it</user_input>"]
["TOLD + <user_input mode=\"act\">build it</user_input>","fine","<user_input mode=\"act\">go\ron</user_input>","<hook_context>no person</hook_context>"]
["a summary","<user_input mode=\"act\">go\ron</user_input>","TOLD + <hook_context>no person</hook_context>"]
["a summary","<user_input mode=\"act\">go\ron</user_input>","TOLD + <hook_context>no person</hook_context>"]
["a summary","<user_input mode=\"act\">go\ron</user_input>","TOLD + <hook_context>no person</hook_context>"]
undefined
{"commands":["export GT_SESSION_UUID='1000_abc' GT_HOME='/the home'; gt-handoff -m x"]}
`
	if said != want {
		t.Errorf("the model gets\n%s\nand not\n%s", said, want)
	}
	want = `gt-prime "SessionStart","session_id":"1000_abc","source":"startup"}
gt-keepalive touch "UserPromptSubmit","session_id":"1000_abc","prompt":"build it"}
gt-keepalive touch "UserPromptSubmit","session_id":"1000_abc","prompt":"go\non"}
gt-handoff --auto --hook --reason compaction --agent cline {"hook_event_name":"PreCompact","session_id":"1000_abc","trigger":"auto"}
gt-prime "SessionStart","session_id":"1000_abc","source":"compact"}
gt-checkpoint write "Stop","session_id":"1000_abc"}
gt-keepalive touch "StopFailure","session_id":"1000_abc","error":"rate_limit"}
gt-checkpoint write "Stop","session_id":"1000_abc"}
gt-keepalive touch "Interrupt","session_id":"1000_abc"}
gt-keepalive end "SessionEnd","session_id":"1000_abc","reason":"session_stop"}
`
	if calls != want {
		t.Errorf("the calls are\n%s\nand not\n%s", calls, want)
	}
	if _, calls := play(story, `{}`); strings.Count(calls, "\n") != 1 || !strings.HasPrefix(calls, "gt-keepalive end ") || strings.Contains(calls, "session_id") || !strings.Contains(calls, `"reason":"prompt_input_exit"`) {
		t.Errorf("a window's calls are\n%s", calls)
	}
	// What a start is told does not wait for what is behind it.
	said, _ = play(slow, `{"session":{"sessionId":"1000_abc"},"workspaceInfo":{"rootPath":"/work"}}`)
	if want := `["TOLD + <user_input mode=\"act\">be slow</user_input>"]` + "\n"; said != want {
		t.Errorf("on a busy machine the model gets\n%s", said)
	}
}
