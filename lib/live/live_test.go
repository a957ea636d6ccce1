package live

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/client/agent"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// GT_AGENT_ARGS counts only for the process that it names, not for a client that this
// process starts.
func TestArgsThatTheClientTells(t *testing.T) {
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	told := []string{"node", "/bin/pi", "--model", "a/b"}
	for pid, want := range map[int][]string{self.PID: told, self.PID + 1: os.Args} {
		value, err := json.Marshal(map[string]any{"pid": pid, "args": told})
		testenv.NoError(t, err)
		if got, err := StartArgs(self, agent.Builtin().FindClient("pi"), string(value)); err != nil || !slices.Equal(got, want) {
			t.Errorf("told by %d, the arguments are %q (%v)", pid, got, err)
		}
		if got, err := StartArgs(self, agent.Builtin().FindClient("claude"), string(value)); err != nil || !slices.Equal(got, os.Args) {
			t.Errorf("the arguments of a client that overwrites nothing are %q (%v)", got, err)
		}
	}
}

// The script with which npm installs a client is no other client above it, and neither is a
// client that started itself again. One that the agent's shell started is.
func TestOwnsPane(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	program, err := os.ReadFile(bash)
	testenv.NoError(t, err)
	dir := t.TempDir()
	for _, name := range []string{"node", "codex", "claude", "sh"} {
		testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, name), program))
	}
	// Each program starts the one of the words after it, and the last prints its number.
	const text = `if [ $# = 0 ]; then echo $$; read x; exit 0; fi
DIR/$1 DIR/${1%.js}.js "${@:2}"
exit
`
	for _, name := range []string{"node", "codex", "claude", "sh", "gemini"} {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name+".js"), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"bin": {"codex": "node.js"}}`), 0o600))
	for chain, want := range map[string]bool{
		"sh codex":                 true,
		"sh node codex":            true,
		"sh node node":             true,
		"sh node":                  true,
		"node codex":               true,
		"codex":                    true,
		"sh claude codex":          false,
		"sh codex codex":           false,
		"sh claude node codex":     false,
		"sh node codex sh codex":   false,
		"sh node codex sh node":    false,
		"sh node codex node codex": false,
	} {
		words := strings.Fields(chain)
		cmd := exec.Command(filepath.Join(dir, words[0]), append([]string{filepath.Join(dir, words[0]+".js")}, words[1:]...)...)
		in, err := cmd.StdinPipe()
		testenv.NoError(t, err)
		out, err := cmd.StdoutPipe()
		testenv.NoError(t, err)
		testenv.NoError(t, cmd.Start())
		printed, err := bufio.NewReader(out).ReadString('\n')
		testenv.NoError(t, err)
		pid, err := strconv.Atoi(strings.TrimSpace(printed))
		testenv.NoError(t, err)
		p, err := process.Find(pid)
		testenv.NoError(t, err)
		if got := OwnsPane(agent.Builtin(), p, tmux.Pane{PID: cmd.Process.Pid}); got != want {
			t.Errorf("%s: %v", chain, got)
		}
		in.Close()
		testenv.NoError(t, cmd.Wait())
	}
}
