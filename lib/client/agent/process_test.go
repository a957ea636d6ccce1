package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"gt/internal/testenv"
)

// A script that an interpreter runs by its path is known by the command that its package installs.
func TestCommandsOf(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{
		"gemini/package.json":          `{"name": "@google/gemini-cli", "bin": {"gemini": "./bundle/cli.js", "other": "other.js"}}`,
		"gemini/bundle/cli.js":         "",
		"gemini/bundle/deep/helper.js": "",
		"typed/package.json":           `{"name": "gemini-cli", "bin": {"gemini": "dist/cli.js"}}`,
		"typed/dist/package.json":      `{"type": "module"}`,
		"typed/dist/cli.js":            "",
		"qwen/package.json":            `{"name": "@qwen-code/qwen", "bin": "cli.js"}`,
		"qwen/cli.js":                  "",
		"broken/package.json":          `{`,
		"broken/cli.js":                "",
		"none/cli.js":                  "",
	} {
		testenv.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700))
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	testenv.NoError(t, os.Symlink(filepath.Join(dir, "gemini", "bundle", "cli.js"), filepath.Join(dir, "link")))
	for file, want := range map[string][]string{
		"gemini/bundle/cli.js":         {"gemini"},
		"link":                         {"gemini"},
		"gemini/bundle/deep/helper.js": nil,
		"typed/dist/cli.js":            {"gemini"},
		"qwen/cli.js":                  {"qwen"},
		"broken/cli.js":                nil,
		"none/cli.js":                  nil,
		"missing":                      nil,
	} {
		if got := commandsOf(filepath.Join(dir, file)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", file, got, want)
		}
	}
	f, err := os.Open(filepath.Join(dir, "qwen", "cli.js"))
	testenv.NoError(t, err)
	defer f.Close()
	// Another process's descriptor has the same name as this one.
	for _, descriptors := range []string{"/dev/fd", "/proc/self/fd"} {
		if got := commandsOf(filepath.Join(descriptors, strconv.Itoa(int(f.Fd())))); got != nil {
			t.Errorf("%s: %q", descriptors, got)
		}
	}
}

// A process of an interpreter is the client of its script. Other scripts are of none.
func TestOfProcess(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	program, err := os.ReadFile(bash)
	testenv.NoError(t, err)
	dir := t.TempDir()
	testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "node"), program))
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"bin": {"gemini": "cli.js"}}`), 0o600))
	for script, want := range map[string]string{"cli.js": "gemini", "server.js": "", "qwen.js": "qwen"} {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, script), []byte("echo; read x\nexit 0\n"), 0o600))
		cmd := exec.Command(filepath.Join(dir, "node"), script)
		cmd.Dir = dir
		in, err := cmd.StdinPipe()
		testenv.NoError(t, err)
		out, err := cmd.StdoutPipe()
		testenv.NoError(t, err)
		testenv.NoError(t, cmd.Start())
		_, err = out.Read(make([]byte, 1)) // it runs its script now
		testenv.NoError(t, err)
		if got := Builtin().OfProcess(cmd.Process.Pid).Name; got != want {
			t.Errorf("%s: %q, not %q", script, got, want)
		}
		in.Close()
		testenv.NoError(t, cmd.Wait())
	}
}
