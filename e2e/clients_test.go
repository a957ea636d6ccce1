//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	kimi "gt/lib/client/kimi/conversation"
)

// offline is the environment in which a client can reach nothing but this
// machine.
var offline = []string{"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost"}

// setUp writes what a client's user has written before: which model it asks,
// with which key, and that it may work in the project.
func (w *world) setUp(client string) {
	w.Helper()
	map[string]func(){
		"claude":   w.setUpClaude,
		"codex":    w.setUpCodex,
		"copilot":  w.setUpCopilot,
		"gemini":   w.setUpGemini,
		"qwen":     w.setUpQwen,
		"opencode": w.setUpOpencode,
		"pi":       w.setUpPi,
		"kimi":     w.setUpKimi,
		"cline":    w.setUpCline,
	}[client]()
	if client != "claude" {
		w.Env = append(w.Env, offline...)
	}
}

// loginPath puts gt and the clients on the PATH of a login shell, in which Codex runs the
// commands of its agent, and Claude Code where a busy machine did not give it the variables of
// the person's shell within ten seconds.
func (w *world) loginPath() {
	w.Helper()
	w.write(filepath.Join(w.home, ".bash_profile"), "export PATH="+quote(bin)+":"+quote(w.Path("bin"))+":$PATH\n")
}

func (w *world) setUpClaude() {
	w.Env = append(w.Env,
		"ANTHROPIC_API_KEY="+w.key, "ANTHROPIC_BASE_URL="+w.model.URL,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		// It kills the hooks of an end after 1.5 seconds where a plugin brings them.
		fmt.Sprintf("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS=%d", patience.Milliseconds()),
	)
	w.trust(w.project)
	w.loginPath()
	w.writeJSON(w.userSettings(), map[string]any{"permissions": permissions})
}

func (w *world) setUpCodex() {
	w.Cleanup(func() { // the server behind its windows has sockets outside of the world
		links, _ := filepath.Glob(filepath.Join(w.home, ".codex", "app-server-*", "*.sock"))
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil {
				os.Remove(to)
				os.Remove(to + ".lock")
			}
		}
	})
	w.Env = append(w.Env, "E2E_KEY="+w.key)
	w.write(filepath.Join(w.home, ".codex", "config.toml"), fmt.Sprintf(`
model = "e2e-model"
model_provider = "e2e"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.e2e]
name = "e2e"
base_url = "%s/v1"
wire_api = "responses"
env_key = "E2E_KEY"

[projects.%q]
trust_level = "trusted"
`, w.model.URL, w.project))
}

func (w *world) setUpCopilot() {
	w.Env = append(w.Env,
		"COPILOT_PROVIDER_BASE_URL="+w.model.URL+"/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_WIRE_API=responses",
		"COPILOT_PROVIDER_API_KEY="+w.key, "COPILOT_MODEL=gpt-5.4", "COPILOT_OFFLINE=true", "COPILOT_AUTO_UPDATE=false")
	w.writeJSON(filepath.Join(w.home, ".copilot", "config.json"), map[string]any{"trustedFolders": []string{w.project}})
}

func (w *world) setUpGemini() {
	w.Env = append(w.Env, "GEMINI_API_KEY="+w.key, "GOOGLE_GEMINI_BASE_URL="+w.model.URL)
	w.writeJSON(filepath.Join(w.home, ".gemini", "settings.json"), map[string]any{
		"security": map[string]any{
			"auth":        map[string]any{"selectedType": "gemini-api-key"},
			"folderTrust": map[string]any{"enabled": false},
		},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		"general": map[string]any{"enableAutoUpdate": false},
		"ui":      map[string]any{"hideTips": true},
	})
}

func (w *world) setUpQwen() {
	w.Env = append(w.Env, "OPENAI_API_KEY="+w.key, "OPENAI_BASE_URL="+w.model.URL+"/v1", "OPENAI_MODEL=e2e-model",
		"QWEN_CODE_SUPPRESS_YOLO_WARNING=1")
	w.writeJSON(filepath.Join(w.home, ".qwen", "settings.json"), map[string]any{
		"security": map[string]any{
			"auth":        map[string]any{"selectedType": "openai"},
			"folderTrust": map[string]any{"enabled": false},
		},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		"general": map[string]any{"enableAutoUpdate": false, "disableAutoUpdate": true},
	})
}

func (w *world) setUpOpencode() {
	w.Env = append(w.Env, "E2E_KEY="+w.key,
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1", "OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "npm_config_fetch_retries=0")
	w.writeJSON(filepath.Join(w.home, ".config", "opencode", "opencode.json"), map[string]any{
		"model": "e2e/e2e-model", "small_model": "e2e/e2e-model", "autoupdate": false, "share": "disabled", "snapshot": false, "lsp": false,
		"permission": map[string]string{"bash": "allow", "task": "allow"},
		"provider": map[string]any{"e2e": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "e2e",
			"options": map[string]string{"baseURL": w.model.URL + "/v1", "apiKey": "{env:E2E_KEY}"},
			"models":  map[string]any{"e2e-model": map[string]any{"name": "E2E", "limit": map[string]int{"context": 100000, "output": 4000}}},
		}},
	})
}

func (w *world) setUpPi() {
	w.Env = append(w.Env, "E2E_KEY="+w.key, "PI_OFFLINE=1", "PI_TELEMETRY=0")
	agent := filepath.Join(w.home, ".pi", "agent")
	w.writeJSON(filepath.Join(agent, "models.json"), map[string]any{"providers": map[string]any{"e2e": map[string]any{
		"baseUrl": w.model.URL + "/v1", "api": "openai-completions", "apiKey": "E2E_KEY",
		"models": []any{map[string]any{"id": "e2e-model", "name": "E2E", "contextWindow": 100000, "maxTokens": 4000}},
	}}})
	w.writeJSON(filepath.Join(agent, "settings.json"), map[string]any{
		"defaultProvider": "e2e", "defaultModel": "e2e-model",
		"compaction": map[string]any{"keepRecentTokens": 1, "reserveTokens": 100}, // so that there is something to compact
	})
}

func (w *world) setUpKimi() {
	w.Env = append(w.Env, "KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_DISABLE_TELEMETRY=1")
	var models strings.Builder
	for _, name := range []string{"e2e", "another"} {
		fmt.Fprintf(&models, "\n[models.%s]\nprovider = \"e2e\"\nmodel = \"%s-model\"\nmax_context_size = 100000\n", name, name)
	}
	w.write(filepath.Join(w.home, ".kimi-code", "config.toml"), fmt.Sprintf(`# mine
default_model = "e2e"
telemetry = false

[providers.e2e]
type = "anthropic"
base_url = "%s"
api_key = "%s"
%s`, w.model.URL, w.key, models.String()))
	name := kimi.Folder(w.project)
	w.writeJSON(filepath.Join(w.home, ".kimi-code", "workspace-trust", name), map[string]any{"root": w.project, "trustedAt": 1795709423295})
}

func (w *world) setUpCline() {
	// The hub of each account has a port, which worlds side by side would share.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	defer l.Close()
	w.writeJSON(filepath.Join(w.home, ".cline", "data", "settings", "cli-notices.json"), map[string]any{
		"shown": map[string]bool{"cline-cli-cline-pass-intro": true, "cline-cli-desktop-launch": true},
	})
	w.Env = append(w.Env, "CLINE_HUB_ADDRESS="+l.Addr().String(), "CLINE_NO_AUTO_UPDATE=1", "CLINE_PLUGIN_IMPORT_TIMEOUT_MS=60000")
	w.writeJSON(filepath.Join(w.home, ".cline", "data", "settings", "providers.json"), map[string]any{
		"version": 1, "lastUsedProvider": "openai-compatible", "modes": map[string]any{},
		"providers": map[string]any{"openai-compatible": map[string]any{
			"settings": map[string]any{
				"provider": "openai-compatible", "apiKey": w.key, "model": "e2e-model", "baseUrl": w.model.URL + "/v1",
			},
			"updatedAt": "2026-01-17T01:00:00.000Z", "tokenSource": "manual",
		}},
	})
}
