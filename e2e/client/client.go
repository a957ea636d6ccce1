// Package client finds the real clients for the end-to-end tests, and installs
// those that are not there.
package client

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Client is an installed client.
type Client struct {
	Path    string // of its executable
	Version string // "2.1.197"
}

// packages are what the clients are called at npm, and by which name each is
// run. One with a node of its own needs a newer one than many have.
var packages = map[string]struct{ pkg, command, node string }{
	"claude":   {"@anthropic-ai/claude-code", "claude", ""},
	"codex":    {"@openai/codex", "codex", ""},
	"gemini":   {"@google/gemini-cli", "gemini", ""},
	"qwen":     {"@qwen-code/qwen-code@latest", "qwen", ""}, // else npm takes an older one for an older node
	"copilot":  {"@github/copilot", "copilot", ""},
	"opencode": {"opencode-ai", "opencode", ""},
	"pi":       {"@earendil-works/pi-coding-agent", "pi", ""},
	"kimi":     {"@moonshot-ai/kimi-code", "kimi", "node@24"},
	"cline":    {"cline", "cline", ""},
}

// found has the clients that a run looked for: a function for each name.
var found sync.Map

// Demand returns the client of a test, see Find. If it cannot be had, the test is skipped,
// or fails with GT_E2E=required. With -short nothing is installed.
func Demand(t testing.TB, name string) Client {
	t.Helper()
	required := os.Getenv("GT_E2E") == "required"
	look := Find
	if testing.Short() && !required {
		look = Installed
	}
	once, _ := found.LoadOrStore(name, sync.OnceValues(func() (Client, error) { return look(name) }))
	c, err := once.(func() (Client, error))()
	switch {
	case err == nil:
	case required:
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return c
}

// Find returns the client that GT_E2E_<NAME> names (GT_E2E_CLAUDE is the path
// of an executable), else the one in the cache, which it fills with npm the
// first time: a folder a client.
func Find(name string) (Client, error) {
	p, known := packages[name]
	if !known {
		return Client{}, fmt.Errorf("no package is known for %s", name)
	}
	if path := os.Getenv("GT_E2E_" + strings.ToUpper(name)); path != "" {
		return probeClient(path)
	}
	dir, err := cache()
	if err != nil {
		return Client{}, err
	}
	return inFolder(filepath.Join(dir, name), p.command, strings.Fields(p.pkg+" "+p.node)...)
}

// inFolder returns the client of a folder, into which npm installs these packages if it is
// not there.
func inFolder(dir, command string, pkgs ...string) (Client, error) {
	path := filepath.Join(dir, "node_modules", ".bin", command)
	if _, err := os.Stat(path); err != nil {
		if err := install(dir, pkgs...); err != nil {
			return Client{}, err
		}
	}
	return probeClient(path)
}

// DemandVersion returns a version of a client, or a tag's such as latest, from npm.
func DemandVersion(t testing.TB, name, version string) Client {
	t.Helper()
	p := packages[name]
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "npm", "view", p.pkg+"@"+version, "version").Output()
	if err != nil {
		t.Fatalf("npm does not know %s %s: %v", name, version, err)
	}
	version = strings.TrimSpace(string(out))
	dir, err := cache()
	if err != nil {
		t.Fatal(err)
	}
	c, err := inFolder(filepath.Join(dir, name+"-"+version), p.command, p.pkg+"@"+version)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Installed is Find for who installs nothing.
func Installed(name string) (Client, error) {
	if path := os.Getenv("GT_E2E_" + strings.ToUpper(name)); path != "" {
		return probeClient(path)
	}
	dir, err := cache()
	if err != nil {
		return Client{}, err
	}
	path := filepath.Join(dir, name, "node_modules", ".bin", packages[name].command)
	if _, err := os.Stat(path); err != nil {
		return Client{}, fmt.Errorf("%s is not here; ./test.sh --all installs it with npm", name)
	}
	return probeClient(path)
}

func cache() (string, error) {
	if dir := os.Getenv("GT_E2E_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "gt-e2e"), nil
}

// install fills the cache: in a folder beside it that takes its place when it
// is complete, so that two at once, or one that is cut off, do no harm.
func install(dir string, pkgs ...string) error {
	pkg := strings.Join(pkgs, " and ")
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("neither %s is here nor npm to install it", pkg)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, append([]string{"install", "--prefix", fresh, "--no-audit", "--no-fund"}, pkgs...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm cannot install %s: %w\n%s", pkg, err, out)
	}
	if err := os.Rename(fresh, dir); err != nil {
		if _, missing := os.Stat(filepath.Join(dir, "node_modules")); missing != nil {
			return err
		} // else somebody was faster
	}
	return nil
}

// probeClient asks the client for its version, and so whether it runs here at all. It
// gets an empty HOME, for even that question makes it write there.
func probeClient(path string) (Client, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Client{}, err
	}
	home, err := os.MkdirTemp("", "gt-e2e-")
	if err != nil {
		return Client{}, err
	}
	defer os.RemoveAll(home)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Dir(path) + ":" + os.Getenv("PATH"), "DISABLE_AUTOUPDATER=1"}
	var stderr bytes.Buffer // where pi says it
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return Client{}, fmt.Errorf("%s does not run: %w", path, err)
	}
	if len(bytes.TrimSpace(out)) == 0 {
		out = stderr.Bytes()
	}
	for _, word := range strings.Fields(string(out)) { // "codex-cli 0.169.0", "2.1.197 (Claude Code)"
		if word[0] >= '0' && word[0] <= '9' {
			return Client{path, strings.TrimRight(word, ".")}, nil
		}
	}
	return Client{}, fmt.Errorf("%s has no version: '%.100s'", path, out)
}
