// Package hook describes Codex to the hooks.
package hook

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/client/contract"
	"gt/lib/client/names"
)

var Client = contract.Client{
	Client:   &names.Codex,
	Accounts: contract.Accounts(names.CodexHome, []string{".codex", ".codex-*", ".codex_*"}, "sessions", "archived_sessions"),
	Dialect: contract.Dialect{
		MaxContext: 10000, CountsBytes: true, Shape: contract.Nested, // 2,500 tokens, of four bytes each
		SystemMessage: true, SharedServer: &server, Killed: killed, EndWait: 2 * time.Second, // of three
		Headless: headless,
	},
}

// headless reports whether it answers one prompt and ends, or is another agent's tool. The
// SDK runs "codex exec". The flags here take a value, which is no subcommand.
func headless(r contract.Run) bool {
	switch r.Subcommand("-c", "--config", "-p", "--profile", "-m", "--model", "-s", "--sandbox", "-a", "--ask-for-approval",
		"-C", "--cd", "-i", "--image", "--add-dir", "--enable", "--disable", "--local-provider") {
	case "exec", "e", "review", "mcp-server":
		return true
	}
	return false
}

// killed ignores "other", the reason of every regular end. At a signal Codex runs no
// hook.
func killed(e contract.SessionEnd) bool { return e.Reason != "other" && contract.Killed(e) }

// server is "codex app-server" of Codex 0.144 and later.
var server = contract.SharedServer{
	Program:  "codex",
	Var:      names.CodexThread,
	IsServer: func(args []string) bool { return len(args) > 1 && slices.Contains(args[1:], serverWord) },
	IsWindow: printsAnswers,
	Dir:      contract.DirFlag("-C", "--cd"),
	AccountFolder: func(getenv func(string) string) string {
		return cmp.Or(getenv(names.CodexHome), filepath.Join(getenv("HOME"), ".codex"))
	},
}

const serverWord = "app-server"

// printsAnswers reports whether a Codex with these arguments can be a window that shows a
// server's conversation. A Codex with settings for this run, or without a person, runs
// its conversation itself.
func printsAnswers(args []string) bool {
	for _, a := range args[min(1, len(args)):] {
		a, _, _ = strings.Cut(a, "=")
		switch a {
		case serverWord, "exec", "e", "review", "mcp-server", "exec-server", "sandbox",
			"--no-daemon", "-c", "--config", "-p", "--profile", "--enable", "--disable", "--strict-config",
			"--oss", "--dangerously-bypass-hook-trust":
			return false
		}
	}
	return true
}
