package wiring

import (
	"encoding/json"
	"gt/internal/testenv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/client/agent"
)

// loads loads the plugin as OpenCode does, twice, and prints the prompts that it submits
// and the variable's remaining value.
const loads = `import both, { Gt } from "./gt.mjs"
import * as all from "./gt.mjs"
const said = []
const before = [{ info: { role: "user", agent: "plan" } }, { info: { role: "assistant", agent: "build" } }]
const session = {
  messages: async ({ path }) => ({ data: path.id === "ses_copied" ? before : undefined }),
  promptAsync: async (prompt) => { said.push(prompt) },
}
await Gt({ client: { session }, directory: "/work" })
await both.server({ client: { session }, directory: "/work" }) // as newer ones find it
// An export that is neither a function nor has a server fails in OpenCode 1, and its version 2
// takes an object alone.
for (const e of Object.values(all)) if (typeof (e.server ?? e) !== "function") throw new Error("OpenCode would not load it")
if (typeof both !== "object" || both.id !== "gt" || (await both.setup({})) !== undefined) throw new Error("OpenCode 2 would not load it")
setTimeout(() => console.log(JSON.stringify({ said, left: process.env.GT_RESUME_PROMPT })), 1)
`

// A hand-over gives OpenCode its prompt in a variable: the plugin submits it in that
// session, unchanged and once, to the agent that was used last, and the client's children
// do not inherit the variable. Without the variable, the plugin submits nothing.
func TestResumePrompt(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	dir := t.TempDir()
	for name, data := range map[string]string{"gt.mjs": string(text), "loads.mjs": loads} {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	run := func(vars ...string) string {
		cmd := exec.Command(node, "loads.mjs")
		cmd.Dir, cmd.Env = dir, append([]string{"HOME=" + dir, "PATH=" + filepath.Dir(node)}, vars...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	const prompt = "Handoff: half.\n\nGo  on from the \"note\". "
	words, err := json.Marshal(prompt)
	testenv.NoError(t, err)
	want := `{"said":[{"path":{"id":"ses_copied"},"body":{"agent":"plan","parts":[{"type":"text","text":` + string(words) + `}]}}]}`
	if got := run(agent.Builtin().FindClient("opencode").PromptVar(agent.NextRun{Resume: "ses_copied", Prompt: prompt})); got != want {
		t.Errorf("of the prompt came\n%s\nand not\n%s", got, want)
	}
	if got := run(); got != `{"said":[]}` {
		t.Errorf("without a prompt came\n%s", got)
	}
}
