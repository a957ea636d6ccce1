package wiring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/client/wiring"
)

// What the client was seen to do with a file decides what is refused, and the line and key are
// those of the value.
func TestSchema(t *testing.T) {
	for line := range strings.Lines(seen) {
		did, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		file := filepath.Join(t.TempDir(), "settings.json")
		testenv.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		if s := Client().Read(wiring.User, file); s.Err != nil || (s.Refused != nil) != (did != "takes") {
			t.Errorf("%s: %v %s", line, s.Err, s.Refusal("it"))
		}
	}
}

// What a version does not know yet, or no more, is refused for that version alone.
func TestSchemaVersions(t *testing.T) {
	for line := range strings.Lines(changed) {
		skipped, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		taken, text, _ := strings.Cut(rest, " ")
		for version, refused := range map[string]bool{skipped: true, taken: false} {
			file := filepath.Join(t.TempDir(), "settings.json")
			testenv.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			client := Client()
			client.Version = version
			if s := client.Read(wiring.User, file); s.Err != nil || (s.Refused != nil) != refused {
				t.Errorf("%s %s: %v %s", version, text, s.Err, s.Refusal("it"))
			}
		}
	}
}

// seen is what Claude Code 2.1.332 did with each of these settings: it took them, skipped the file, or
// dropped the entry.
const seen = `takes {}
skips {"model": 5}
skips {"model": null}
takes {"hooks": {"NoSuch": []}}
takes {"hooks": {"NoSuch": [{"hooks": [{"type": "command", "command": "true"}]}]}}
skips {"hooks": {"PreToolUse": {}}}
skips {"hooks": {"PreToolUse": "x"}}
takes {"hooks": {"PreToolUse": null}}
takes {"hooks": {"PreToolUse": []}}
skips {"hooks": {"PreToolUse": [{}]}}
skips {"hooks": {"PreToolUse": ["x"]}}
skips {"hooks": {"PreToolUse": [null]}}
skips {"hooks": {"PreToolUse": [{"hooks": {}}]}}
takes {"hooks": {"PreToolUse": [{"hooks": []}]}}
skips {"hooks": {"PreToolUse": [{"hooks": ["x"]}]}}
skips {"hooks": {"PreToolUse": [{"matcher": null, "hooks": []}]}}
skips {"hooks": {"PreToolUse": [{"matcher": ["Bash"], "hooks": []}]}}
skips {"hooks": {"PreToolUse": [{"matcher": 5, "hooks": []}]}}
takes {"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}}
takes {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [], "extra": 1}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"command": "true"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "cmd", "command": "true"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": 5}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": ["a"]}]}]}}
takes {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": ""}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "args": "x"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "args": [5]}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "args": null}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": "5"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": 0}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": -1}]}]}}
takes {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": 1.5}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": null}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "async": "true"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "once": "x"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "statusMessage": 5}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "shell": "fish"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "if": 5}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "asyncRewake": "x"}]}]}}
takes {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "other": 5}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt"}]}]}}
takes {"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x", "model": 5}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "agent"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "http"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "nope"}]}]}}
takes {"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "http://x/"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "http://x/", "headers": []}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "mcp_tool"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "mcp_tool", "server": "x"}]}]}}
skips {"permissions": []}
skips {"permissions": "x"}
skips {"permissions": null}
skips {"permissions": {"allow": "Bash"}}
skips {"permissions": {"allow": {}}}
takes {"permissions": {"allow": [5]}}
takes {"permissions": {"allow": ["bad("]}}
takes {"permissions": {"allow": [""]}}
takes {"permissions": {"allow": ["Bash(:*)"]}}
skips {"permissions": {"deny": "x"}}
takes {"permissions": {"deny": [null]}}
takes {"permissions": {"deny": ["bash"]}}
skips {"permissions": {"ask": 5}}
skips {"permissions": {"defaultMode": "nope"}}
skips {"permissions": {"defaultMode": 5}}
skips {"permissions": {"additionalDirectories": "x"}}
skips {"permissions": {"additionalDirectories": [1]}}
skips {"permissions": {"disableBypassPermissionsMode": true}}
takes {"permissions": {"x": 5}}
takes {"allow": ["Bash"]}
skips {"env": []}
takes {"env": {"A": 5}}
takes {"env": {"A": true}}
takes {"env": {"A": null}}
takes {"env": {"A": {}}}
skips {"env": "A=1"}
skips {"statusLine": "x"}
skips {"statusLine": {"command": "x"}}
skips {"statusLine": {"type": "x", "command": "x"}}
skips {"statusLine": {"type": "command"}}
skips {"statusLine": {"type": "command", "command": "x", "padding": "0"}}
skips {"statusLine": null}
skips {"cleanupPeriodDays": "30"}
skips {"cleanupPeriodDays": 0}
skips {"cleanupPeriodDays": -1}
skips {"cleanupPeriodDays": 1.5}
skips {"includeCoAuthoredBy": "false"}
skips {"disableAllHooks": "false"}
skips {"disableAllHooks": 0}
skips {"apiKeyHelper": ["x"]}
skips {"apiKeyHelper": 5}
skips {"enabledPlugins": []}
skips {"enabledPlugins": {"a@b": "yes"}}
skips {"enabledPlugins": {"a@b": 5}}
takes {"enabledPlugins": {"a@b": ["1"]}}
skips {"extraKnownMarketplaces": []}
skips {"extraKnownMarketplaces": {"a": "x"}}
skips {"extraKnownMarketplaces": {"a": {}}}
skips {"extraKnownMarketplaces": {"a": {"source": "github"}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "nope"}}}}
skips {"enableAllProjectMcpServers": "true"}
takes {"enabledMcpjsonServers": "x"}
skips {"disabledMcpjsonServers": [5]}
skips {"outputStyle": 5}
skips {"language": 5}
takes {"forceLoginMethod": "x"}
takes {"theme": 5}
takes {"effortLevel": "x"}
takes {"effortLevel": 5}
skips {"verbose": "x"}
skips {"alwaysThinkingEnabled": "x"}
skips {"sandbox": "x"}
skips {"sandbox": {"enabled": "true"}}
skips {"sandbox": {"network": []}}
skips {"sandbox": {"network": {"allowedDomains": "x"}}}
skips {"sandbox": {"excludedCommands": "x"}}
skips {"worktree": "x"}
skips {"attribution": "x"}
skips {"attribution": {"commit": 5}}
skips {"attribution": {"commit": false}}
skips {"availableModels": "x"}
skips {"fallbackModel": "x"}
skips {"spinnerVerbs": []}
skips {"spinnerVerbs": {"mode": "x", "verbs": []}}
takes {"spinnerTipsOverride": {}}
skips {"companyAnnouncements": "x"}
skips {"autoUpdatesChannel": "x"}
skips {"autoUpdatesChannel": 5}
skips {"feedbackSurveyRate": 2}
skips {"feedbackSurveyRate": "1"}
skips {"tui": "x"}
takes {"teammateMode": 5}
skips {"$schema": 5}
takes {"unknownKey": 5}
takes {"mcpServers": 5}
skips {"modelOverrides": []}
skips {"skillOverrides": {"a": "x"}}
takes {"allowedMcpServers": {}}
takes {"allowedMcpServers": [{}]}
takes {"deniedMcpServers": [{"serverName": ""}]}
skips {"pluginConfigs": []}
skips {"sshConfigs": {}}
skips {"otelHeadersHelper": 5}
skips {"fileSuggestion": "x"}
skips {"plansDirectory": 5}
skips {"defaultShell": "fish"}
skips {"respectGitignore": "x"}
skips {"minimumVersion": 2}
skips {"agent": {}}
skips {"voice": true}
skips {"autoMemoryEnabled": "x"}
skips {"autoMemoryDirectory": 5}
skips {"allowManagedHooksOnly": "x"}
takes {"strictPluginOnlyCustomization": "x"}
skips {"disableAutoMode": true}
skips {"prefersReducedMotion": 1}
skips {"remote": "x"}
skips {"advisorModel": 1}
skips {"daemonColdStart": "x"}
takes {"footerLinksRegexes": "x"}
skips {"wheelScrollAccelerationEnabled": 5}
takes {"hooks": {"NoSuch": "x"}}
takes {"hooks": {"NoSuch": [{"matcher": 5}]}}
takes {"permissions": {"defaultMode": "auto"}}
takes {"permissions": {"defaultMode": "dontAsk"}}
skips {"permissions": {"defaultMode": "delegate"}}
skips {"strictKnownMarketplaces": "x"}
skips {"sandbox": {"network": {"allowUnixSockets": "x"}}}
skips {"sandbox": {"filesystem": "x"}}
skips {"sandbox": {"filesystem": {"allowWrite": "x"}}}
skips {"sandbox": {"autoAllowBashIfSandboxed": "x"}}
skips {"autoMode": "x"}
skips {"autoMode": {"allow": "x"}}
takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "shell": "bash"}]}]}}
drops {"hooks": {"SessionStart": [{"matcher": {"a": 1}, "hooks": []}]}}
skips {"autoCompactEnabled": "x"}
skips {"skipDangerousModePermissionPrompt": "x"}
skips {"enabledPlugins": {"a@b": null}}
skips {"env": null}
skips {"showThinkingSummaries": "x"}
takes {"statusLine": {"type": "command", "command": "x", "refreshInterval": "x"}}
skips {"permissions": {"allow": null}}
skips {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [null]}]}}
skips {"worktree": {"symlinkDirectories": "x"}}
skips {"claudeMdExcludes": "x"}
skips {"autoDreamEnabled": 5}
skips {"terminalTitleFromRename": 5}
skips {"fastMode": 5}
skips {"remoteControlAtStartup": 5}
skips {"showTurnDuration": "x"}
takes {"viewMode": 5}
skips {"companyAnnouncements": [5]}
skips {"spinnerTipsEnabled": "x"}
skips {"awsAuthRefresh": 5}
skips {"extraKnownMarketplaces": "x"}
skips {"extraKnownMarketplaces": [{"source": "x"}]}
skips {"extraKnownMarketplaces": {"a": {"source": {}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "github"}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "github", "repo": 5}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "url"}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "directory"}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "git"}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "npm"}}}}
skips {"extraKnownMarketplaces": {"a": {"source": {"source": "file"}}}}
takes {"extraKnownMarketplaces": {"a": {"source": {"source": "directory", "path": "/x"}}}}
takes {"extraKnownMarketplaces": {"a": {"source": {"source": "git", "url": "https://x/y.git"}}}}
takes {"extraKnownMarketplaces": {"a": {"source": {"source": "github", "repo": "a/b"}}}}
skips {"channelsEnabled": 1}
drops {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": true}]}]}}
drops {"hooks": {"Stop": [{"matcher": {"type": "x"}, "hooks": []}]}}
drops {"hooks": {"Stop": {}}}
drops {"hooks": {"Stop": [{"hooks": "x"}]}}
drops {"hooks": {"UserPromptSubmit": [{"matcher": 5, "hooks": []}]}}
skips {"permissions": {"allow": ["Bash"], "deny": null}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "http://x/", "headers": {"A": 5}}]}]}}
skips {"permissions": {"defaultMode": "ask"}}
skips {"model": ["x"]}
skips {"statusLine": {"type": "command", "command": 5}}
skips {"enabledMcpjsonServers": [5]}
skips {"sandbox": {"network": {"httpProxyPort": "x"}}}
skips {"sandbox": {"enableWeakerNestedSandbox": "x"}}
skips {"sandbox": {"network": {"allowLocalBinding": "x"}}}
skips {"sandbox": {"network": {"allowUnixSockets": [5]}}}
skips {"sandbox": {"filesystem": {"denyRead": [5]}}}
skips {"sandbox": {"ignoreViolations": "x"}}
takes {"env": {"A": ["x"]}}
skips {"spinnerVerbs": {"mode": "append", "verbs": "x"}}
takes {"statusLine": {"type": "command", "command": "x", "padding": -1}}
takes {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 1000000000000.0}]}]}}
takes {"permissions": {"allow": [["Bash"]]}}
skips {"worktree": {"sparsePaths": [5]}}
skips {"autoMode": {"allow": [5]}}
skips {"strictKnownMarketplaces": [{"source": "nope"}]}
skips {"pluginConfigs": {"a": 5}}
skips {"voice": {"enabled": "x"}}
skips {"attribution": null}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x", "timeout": "5"}]}]}}
skips {"hooks": {"PreToolUse": [{"hooks": [{"type": "mcp_tool", "server": "a", "tool": "b", "input": "x"}]}]}}
skips {"httpHookAllowedEnvVars": [5]}
skips {"otelHeadersHelper": ["x"]}
skips {"enabledPlugins": {"a@b": {}}}
skips {"sandbox": {"network": {"socksProxyPort": "x"}}}
skips {"sandbox": {"network": {"allowAllUnixSockets": "x"}}}
skips {"sandbox": {"filesystem": {"allowWrite": [5]}}}
skips {"sandbox": {"filesystem": {"denyWrite": [5]}}}
skips {"sandbox": {"network": {"deniedDomains": [5]}}}
skips {"worktree": {"symlinkDirectories": [5]}}
skips {"autoMode": {"soft_deny": [5]}}
skips {"autoMode": {"environment": [5]}}
skips {"allowedHttpHookUrls": [5]}
skips {"sandbox": {"ignoreViolations": {"a": "x"}}}
skips {"sandbox": {"failIfUnavailable": "x"}}
takes {"forceLoginOrgUUID": ["x"]}
skips {"httpHookAllowedEnvVars": "x"}
takes {"sandbox": {"network": {"httpProxyPort": 1.5}}}
takes {"strictKnownMarketplaces": [{"source": "github", "repo": "a/b"}]}
takes {"pluginConfigs": {"a": {}}}
`

// changed names two versions of Claude Code: one that skips such a file, and one that takes it.
const changed = `2.0.42 2.0.44 {"permissions": {"defaultMode": "dontAsk"}}
2.1.70 2.1.71 {"permissions": {"defaultMode": "auto"}}
2.0.60 2.0.70 {"permissions": {"defaultMode": "delegate"}}
2.1.49 2.1.42 {"permissions": {"defaultMode": "delegate"}}
2.0.29 2.0.30 {"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}}
2.0.42 2.0.44 {"hooks": {"PreToolUse": [{"hooks": [{"type": "agent", "prompt": "x"}]}]}}
2.1.42 2.1.49 {"hooks": {"PreToolUse": [{"hooks": [{"type": "http", "url": "http://x/"}]}]}}
2.1.117 2.1.118 {"hooks": {"PreToolUse": [{"hooks": [{"type": "mcp_tool", "server": "x", "tool": "y"}]}]}}
2.1.89 2.1.88 {"cleanupPeriodDays": 0}
`
