package registry_test

import (
	"slices"
	"testing"

	"gt/lib/client/agent"
	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/client/registry"
	"gt/lib/sys/process"
)

// The hooks know the agents of the table, with what the table says of each.
func TestTable(t *testing.T) {
	all := agent.Builtin().Clients()
	for _, a := range all {
		c := registry.FindClient(a.Name)
		if c == nil {
			t.Errorf("the hooks do not know %s", a.Name)
			continue
		}
		if !slices.Equal(c.Processes, a.Processes) {
			t.Errorf("%s runs as %q, not %q", a.Name, a.Processes, c.Processes)
		}
		if a.SessionIDEnv != "" && !slices.Contains(c.SessionVars, a.SessionIDEnv) {
			t.Errorf("a command that %s runs does not look at %s", a.Name, a.SessionIDEnv)
		}
		if a.StoreEnv != "" && !slices.Contains(c.StoreVars, a.StoreEnv) {
			t.Errorf("a project can set %s for a hook of %s", a.StoreEnv, a.Name)
		}
		if a.ContextCap != c.Dialect.MaxContext || (a.Dialect != "") != (c.Dialect.MaxContext > 0) {
			t.Errorf("%s takes %d, not %d", a.Name, c.Dialect.MaxContext, a.ContextCap)
		}
	}
	if n := len(registry.Clients()); n != len(all) {
		t.Errorf("the hooks know %d clients, the table %d", n, len(all))
	}
	for i, c := range registry.Clients() {
		if i >= len(names.AllClients) || c.Client != names.AllClients[i] {
			t.Errorf("the names of %s have another place among the clients", c.Name)
		}
	}
	if registry.FindClient(contract.Default) == nil || registry.FindClient("") != nil || names.HasProcess("sh") || process.IsInterpreter("sh") {
		t.Error("what is known is not what there is")
	}
}

// A name has one meaning, whichever client uses it.
func TestWords(t *testing.T) {
	fields := map[string]contract.Field{}
	kinds := map[string]string{}
	for _, c := range registry.Clients() {
		for _, f := range c.Fields {
			if old, ok := fields[f.Name]; ok && old != f.Field {
				t.Errorf("%s: %s is two fields", c.Name, f.Name)
			}
			fields[f.Name] = f.Field
			if registry.Field(f.Name) != f.Field {
				t.Errorf("%s: %s is not read", c.Name, f.Name)
			}
		}
		for _, e := range c.Events {
			if old, ok := kinds[e.Name]; ok && old != e.Kind {
				t.Errorf("%s: %s is two events", c.Name, e.Name)
			}
			kinds[e.Name] = e.Kind
			if registry.Kind(e.Name) != e.Kind {
				t.Errorf("%s: %s is not known", c.Name, e.Name)
			}
		}
	}
	if registry.Field("unheard_of") != contract.NoField || registry.Kind("Unheard") != "Unheard" || registry.Implied("unheard_of").Kind != "" {
		t.Error("what nobody says means something")
	}
}

// The variables that are set tell which client runs a command, if there is only one.
func TestTeller(t *testing.T) {
	for vars, want := range map[[2]string]string{
		{}: "", {"CODEX_THREAD_ID"}: "codex", {"CLAUDE_CODE_SESSION_ID", "CLAUDE_SESSION_ID"}: "claude",
		{"CLAUDE_SESSION_ID", "QWEN_CODE_SESSION_ID"}: "", {"AMP_CURRENT_THREAD_ID"}: "amp",
	} {
		getenv := func(name string) string {
			if slices.Contains(vars[:], name) {
				return "x"
			}
			return ""
		}
		if got := names.SoleTeller(getenv); got != want {
			t.Errorf("%q: %q", vars, got)
		}
	}
	for name, want := range map[string]bool{"claude": true, "pi": false, "": false, "unknown": false} {
		if names.SetsSessionVar(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
