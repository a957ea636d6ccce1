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

// seen is what Codex 0.171 did with each of these hooks.json: it took them, or skipped the file.
const seen = `takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
skips {"version": 1, "hooks": {}}
skips {"hooks": {"Stop": {}}}
takes {"hooks": {"Stop": [{}]}}
skips {"hooks": {"Stop": [{"matcher": 5, "hooks": []}]}}
takes {"hooks": {"NoSuch": []}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "nope", "command": "x"}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}}
takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}]}}
takes {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "args": ["a"]}]}]}}
skips {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "async": "yes"}]}]}}
takes {"hooks": {"Stop": [{"type": "command", "command": "x"}]}}
`

// TestConfigSchema shows that what Codex was seen to do with a config.toml decides what is
// refused, and that the line is named.
func TestConfigSchema(t *testing.T) {
	for line := range strings.Lines(seenConfigs) {
		did, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		got := configRefusal(strings.ReplaceAll(text, `\n`, "\n"))
		if (got != "") != (did == "refuses") || strings.HasPrefix(got, "line 0") {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// seenConfigs is what Codex 0.171 did with each of these config.toml: it took them, or did not
// start. "\n" ends a line.
const seenConfigs = `refuses model = 5
takes model = ""
refuses model_context_window = "100"
takes model_context_window = -1
takes model_max_output_tokens = "x"
refuses model_auto_compact_token_limit = "x"
refuses approval_policy = "sometimes"
refuses approval_policy = true
refuses sandbox_mode = "none"
refuses sandbox_mode = true
refuses sandbox_workspace_write = true
refuses [sandbox_workspace_write]\nnetwork_access = "yes"
refuses [sandbox_workspace_write]\nwritable_roots = "/tmp"
takes [sandbox_workspace_write]\nunknown = 1
refuses notify = "say"
refuses notify = [5]
refuses notify = [["a"]]
refuses [tui]\nnotifications = "yes"
refuses [tui]\nnotifications = 5
refuses [tui]\ntheme = 5
refuses tui = "x"
refuses [history]\npersistence = "all"
takes [history]\npersistence = "save-all"
refuses [history]\nmax_bytes = "x"
refuses file_opener = "vi"
takes model_reasoning_effort = "highest"
refuses model_reasoning_effort = 3
refuses model_reasoning_summary = "x"
refuses model_verbosity = "loud"
refuses personality = "x"
refuses [features]\nhooks = "true"
refuses [features]\nhooks = 1
takes [features]\nnosuch = true
refuses [features]\nnosuch = "x"
refuses features = ["hooks"]
refuses [mcp_servers.a]\ncommand = ["a"]
refuses [mcp_servers.a]
refuses [mcp_servers.a]\ncommand = "a"\nurl = "http://x"
refuses [mcp_servers.a]\nargs = ["a"]
refuses [mcp_servers.a]\ncommand = "a"\nargs = "b"
refuses [mcp_servers.a]\ncommand = "a"\nargs = [5]
refuses [mcp_servers.a]\ncommand = "a"\nenv = ["A"]
refuses [mcp_servers.a]\ncommand = "a"\nenv = {A = 5}
refuses [mcp_servers.a]\ncommand = "a"\nstartup_timeout_sec = "10"
refuses [mcp_servers.a]\ncommand = "a"\ntool_timeout_sec = -1
refuses [mcp_servers.a]\ncommand = "a"\nenabled = "yes"
takes [mcp_servers.a]\ncommand = "a"\ntype = "stdio"
takes [mcp_servers.a]\ncommand = "a"\nnosuch = 1
refuses [mcp_servers.a]\nurl = "http://x"\nbearer_token = "x"
refuses [mcp_servers.a]\ncommand = "a"\nenabled_tools = "x"
refuses mcp_servers = []
takes [mcpServers.a]\ncommand = 5
refuses [model_providers.a]\nname = 5
refuses [model_providers.a]\nbase_url = "x"
refuses [model_providers.a]\nname = "a"\nwire_api = "chat"
refuses [model_providers.a]\nname = "a"\nwire_api = "x"
refuses [model_providers.a]\nname = "a"\nenv_key = 5
refuses [model_providers.a]\nname = "a"\nhttp_headers = "x"
refuses [model_providers.openai]\nname = "a"
takes [model_providers.a]\nname = "a"\nnosuch = 1
refuses [profiles.a]\nmodel = 5
refuses [profiles.a]\napproval_policy = "x"
refuses profiles = "x"
refuses [projects."/x"]\ntrust_level = "yes"
refuses [projects."/x"]\ntrust_level = true
refuses [projects]\n"/x" = "trusted"
refuses [shell_environment_policy]\ninherit = "some"
refuses [shell_environment_policy]\nexclude = "x"
refuses [shell_environment_policy]\nset = ["A"]
refuses [hooks]\nSessionStart = "x"
refuses [[hooks.Stop]]\nmatcher = 5
refuses [[hooks.Stop]]\nhooks = "x"
refuses [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "cmd"
refuses [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"
refuses [[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "x"\ntimeout = "5"
takes [[hooks.Nosuch]]\nmatcher = "x"
refuses hooks = []
refuses [analytics]\nenabled = "x"
refuses analytics = false
refuses [otel]\nexporter = "x"
refuses web_search = "on"
refuses web_search = true
refuses [tools]\nweb_search = "x"
refuses tools = "x"
refuses [agents]\nmax_threads = "x"
takes disable_response_storage = "x"
refuses show_raw_agent_reasoning = "x"
refuses hide_agent_reasoning = "x"
refuses project_doc_max_bytes = "x"
refuses project_doc_fallback_filenames = "x"
refuses instructions = 5
refuses developer_instructions = 5
refuses model_instructions_file = 5
refuses forced_login_method = "x"
refuses cli_auth_credentials_store = "x"
refuses chatgpt_base_url = 5
takes nosuch = 1
refuses [plugins."gt@gt"]\nenabled = "x"
refuses plugins = []
refuses [marketplaces.gt]\nsource = 5
refuses [skills]\nconfig = "x"
refuses [notice]\nhide_full_access_warning = "x"
refuses check_for_update_on_startup = "no"
takes windows_wsl_setup_acknowledged = "x"
refuses [memories]\ngenerate_memories = "x"
refuses service_tier = 5
refuses [permissions]\nx = 5
refuses default_permissions = 5
refuses model = "x" # é\n\nsandbox_mode = "bad"
takes approval_policy = {granular = {sandbox_approval = true, rules = true, mcp_elicitations = true}}
takes [tui]\nnotifications = ["a"]
takes [tui]\nnotifications = true
takes [tools]\nweb_search = true
takes [tools.web_search]\ncontext_size = "low"
refuses [features]\nx = 1
takes [otel.exporter.otlp-http]\nendpoint = "x"\nprotocol = "binary"
takes [agents.x]\ndescription = "a"
takes [projects."/x"]
takes [hooks.state."/h:stop:0:0"]\ntrusted_hash = "x"\nenabled = false
refuses [hooks.state."x"]\nenabled = "x"
takes [mcp_servers.a]\nurl = "http://x"\nhttp_headers = {A = "b"}
takes [mcp_servers.a]\ncommand = "a"\nenv_vars = ["A"]\ncwd = "/x"\nrequired = true
takes [mcp_servers.a.tools.b]\napproval_mode = "auto"\n[mcp_servers.a]\ncommand = "a"
takes model_context_window = 200000
refuses model_context_window = 1.5
refuses tool_output_token_limit = -1
takes model_auto_compact_token_limit = 1000
refuses [[skills.config]]\npath = "a"
takes [[skills.config]]\npath = "a"\nenabled = false
takes [model_providers.a]\nname = "a"\nbase_url = "http://x"\nwire_api = "responses"\nrequest_max_retries = 3
refuses [model_providers.a]\nname = "a"\nrequest_max_retries = "3"
refuses [profiles.a]\nmodel = "x"\nsandbox_mode = "no"
takes [marketplaces.gt]\nsource_type = "local"\nsource = "/x"
takes [shell_environment_policy]\ninherit = "all"\nset = {A = "1"}
takes [notice]\nhide_full_access_warning = true\nmodel_migrations = {a = "b"}
takes notify = ["notify-send", "x"]
takes sandbox_workspace_write = {network_access = true}
takes experimental_use_rmcp_client = 5
takes [features.multi_agent_v2]\nenabled = true
takes [features.network_proxy]\nenabled = true
takes [features.code_mode]\nenabled = true
refuses [model_providers.lmstudio]\nname = "a"
takes [model_providers.amazon-bedrock.aws]\nprofile = "a"
takes [model_providers.OpenAI]\nname = "a"
`
