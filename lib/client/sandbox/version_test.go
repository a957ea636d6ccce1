package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/agent"
	"gt/lib/text/term"
)

// A version is that of the client, and not one of what stands between it and the person:
// version managers, runtimes and wrappers print others before it, after it or instead.
func TestVersionsIn(t *testing.T) {
	for _, test := range []struct{ client, printed, want string }{
		{"claude", "2.1.330 (Claude Code)", "2.1.330"},
		{"codex", "codex-cli 0.169.0", "0.169.0"},
		{"copilot", "GitHub Copilot CLI 1.0.102.\nRun 'copilot update' to check for updates.", "1.0.102"},
		{"gemini", "v0.61.0\r\n", "0.61.0"},
		{"kimi", "kimi, version 1.2.0-rc.1", "1.2.0-rc.1"},
		{"opencode", "0.0.0-dev-202611280900", "0.0.0-dev-202611280900"},
		{"claude", "Now using node v20.11.0 (npm v10.2.4)\n2.1.50 (Claude Code)", "2.1.50"},
		{"claude", "Found '/home/x/.nvmrc' with version <v18.19.0>\nNow using node v18.19.0 (npm v10.2.3)\nclaude: command not found", ""},
		{"claude", "Running node v20.10.0 (npm v10.2.3)\n2.1.50 (Claude Code)", "2.1.50"},
		{"claude", "v20.11.0\n2.1.50 (Claude Code)", "2.1.50"},
		{"gemini", "v20.11.0\n0.61.0", "20.11.0 0.61.0"},
		{"claude", "No version is set for command claude\nConsider adding one of the following versions in your config file at /home/x/.tool-versions\nnodejs 18.16.0", ""},
		{"claude", "No version is set for command claude\nConsider adding one of the following versions in your config file at \nclaude 2.1.50\nclaude 2.1.77", "2.1.50 2.1.77"},
		{"codex", "mise ERROR codex is not a valid shim. This likely means you uninstalled a tool\nmise ERROR Version: 2026.7.5 macos-arm64 (2026-07-09)", ""},
		{"codex", "codex-cli 0.128.0\nmise WARN  mise version 2026.10.4 available", "0.128.0"},
		{"codex", "WARNING: proceeding, even though we could not update PATH: Read-only file system (os error 30)\ncodex-cli 0.128.0", "0.128.0"},
		{"claude", "Volta error: Could not locate executable claude in your project.", ""},
		{"opencode", "! Corepack is about to download https://registry.example/pnpm-10.2.1.tgz\n? Do you want to continue? [Y/n] ", ""},
		{"gemini", "(node:812) [DEP0040] DeprecationWarning: The `punycode` module is deprecated.\n0.61.0", "0.61.0"},
		{"kimi", "file:///x/main.mjs:20\nSyntaxError: The requested module does not provide that\n\nNode.js v20.19.2", ""},
		{"gemini", "0.61.0\nnpm notice New major version of npm available! 10.2.4 -> 11.0.0", "0.61.0"},
		{"claude", "\x1b[2mUpdate available: 2.1.60\x1b[0m\n\x1b[1m\x1b[32m2.1.50\x1b[0m (Claude Code)", "2.1.50"},
		{"claude", "2.1.50 (Claude Code)\n2.1.50 (Claude Code)", "2.1.50"},
		{"claude", "1." + strings.Repeat("2", 100), "1." + strings.Repeat("2", 37) + "…"},
		{"claude", "", ""},
	} {
		if got := strings.Join(versionsIn(term.CleanText(test.printed), test.client), " "); got != test.want {
			t.Errorf("%s prints %q: %q, want %q", test.client, test.printed, got, test.want)
		}
	}
}

// The version of an npm package is one of the client only if the package is the client's.
func TestVersionOfPackage(t *testing.T) {
	dir := t.TempDir()
	install := func(name, version string) string {
		t.Helper()
		at := filepath.Join(dir, "node_modules", name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, "package.json"), []byte(`{"name":"`+name+`","version":"`+version+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(at, "claude")
		if err := testenv.WriteProgram(program, []byte("#!/bin/sh\necho '2.1.50 (Claude Code)'\n")); err != nil {
			t.Fatal(err)
		}
		return program
	}
	for _, test := range []struct{ name, version, want string }{
		{"@anthropic-ai/claude-code", "2.1.44", "2.1.44"},
		{"my-aliases", "2.1.44", "2.1.50"},
		{"my-claude", "latest", "2.1.50"},
		{"other-claude", "workspace:*", "2.1.50"},
	} {
		c := agent.Client{Command: agent.Argv{install(test.name, test.version)}, Processes: []string{"claude"}}
		if got, unknown := VersionOf(c, os.Environ()); got != test.want || unknown != "" {
			t.Errorf("%s %s: %q (%s), want %q", test.name, test.version, got, unknown, test.want)
		}
	}
}

// Of several versions none is taken, and all are told.
func TestSeveralVersions(t *testing.T) {
	program := filepath.Join(t.TempDir(), "gemini")
	testenv.NoError(t, testenv.WriteProgram(program, []byte("#!/bin/sh\necho v20.11.0; echo 0.61.0\n")))
	version, unknown := VersionOf(agent.Client{Command: agent.Argv{program}, Processes: []string{"gemini"}}, os.Environ())
	if version != "" || !strings.HasSuffix(unknown, "gemini --version' prints several versions: 20.11.0, 0.61.0") {
		t.Errorf("%q, %q", version, unknown)
	}
}

// A client that does not answer is ended, and what it started with it.
func TestVersionThatNeverComes(t *testing.T) {
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Remove()
	program := filepath.Join(t.TempDir(), "claude")
	if err := testenv.WriteProgram(program, []byte("#!/bin/sh\nsleep 1000 &\nsleep 1000\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	version, unknown := w.Version(ctx, agent.Client{Command: agent.Argv{program}, Processes: []string{"claude"}}, os.Environ())
	if version != "" || !strings.HasSuffix(unknown, "claude --version' took longer than 10s") {
		t.Errorf("%q, %q", version, unknown)
	}
}
