package hooks

import (
	"os"
	"path/filepath"
	"runtime"

	"gt/lib/cli"
	"gt/lib/git"
)

// settingsOf is the settings file of a scope.
func settingsOf(env *cli.Env, scope string) (string, error) {
	if scope == "user" {
		dir, err := claudeDir(env)
		return filepath.Join(dir, "settings.json"), err
	}
	name := map[string]string{"project": "settings.json", "local": "settings.local.json"}[scope]
	return filepath.Join(git.Top(env.Dir), ".claude", name), nil
}

// claudeDir is where Claude Code keeps what belongs to the user.
func claudeDir(env *cli.Env) (string, error) {
	if dir := env.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(env.Dir, dir)
		}
		return dir, nil
	}
	home := env.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", cli.Failf(cli.IO, "cannot find the user's settings: HOME is not set")
	}
	return filepath.Join(home, ".claude"), nil
}

// sameFile says whether two paths name one file, whether it exists or not.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// managedSettings is an administrator's file, which outranks all others.
func managedSettings() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	}
	return "/etc/claude-code/managed-settings.json"
}
