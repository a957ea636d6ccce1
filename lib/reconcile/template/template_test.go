package template

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/reconcile/tick"
)

// fullTemplate is a block with each key, as the mission writes it.
const fullTemplate = `
[[agent]]
name = "polecat"
provider = "claude"
prompt_template = "polecat.md"
work_dir = "rigs/api"
hooks = ["b", "a"]
pre_start = ["make deps"]
session_setup = ["tmux set status off"]
session_setup_script = "bin/setup"
depends_on = ["mayor"]
idle_timeout = "1h"
restart_window = "30m"
max_restarts_per_window = 2
account = "work"

[agent.env]
TARGET_URL = "https://example.org"

[agent.pool]
min = 0
max = 5                    # max active sessions
check = "bd ready --label=pool:polecat | jq length"
routing_label = "pool:polecat"
drain_timeout = "40s"
archive_order = "idle-first"
reactivate_order = "fifo"
max_archived = 11
quarantine_max_attempts = 4
quarantine_backoff_cap = "6m"
quarantine_healthy_duration = "7m"
creation_timeout = "80s"
max_unavailable = 2
archived_secret_ttl = "25h"

[agent.defaults]
model = "opus"
wake_mode = "resume"
allow_overlay = ["model", "name", "title", "prompt"]
allow_env_override = ["TARGET_URL", "LOG_LEVEL"]

[[agent]]
name = "mayor"
provider = "codex"
`

// Each key is read, and what is not said has the mission's default. [S4-82, S4-83]
func TestParse(t *testing.T) {
	all, problems := Parse("town.toml", []byte(fullTemplate))
	if len(problems) > 0 || len(all) != 2 {
		t.Fatal(all, problems)
	}
	p := all[0]
	if got := fmt.Sprintf("%+v %+v", p.Pool, p); p.Pool == nil || p.Pool.Max != 5 || p.Pool.DrainTimeout != 40*time.Second || p.Pool.ArchiveOrder != tick.IdleFirst ||
		p.Pool.ReactivateOrder != tick.FIFO || p.Pool.MaxArchived != 11 || p.QuarantineAttempts != 4 || p.QuarantineCap != 6*time.Minute ||
		p.QuarantineHealthy != 7*time.Minute || p.CreationTimeout != 80*time.Second || p.Pool.MaxUnavailable != 2 || p.Pool.ArchivedSecretTTL != 25*time.Hour ||
		p.WakeMode != tick.Resume || p.Model != "opus" || p.Env["TARGET_URL"] != "https://example.org" || p.IdleTimeout != time.Hour ||
		p.RestartWindow != 30*time.Minute || p.MaxRestarts != 2 || p.Account != "work" || p.Check == "" || p.RoutingLabel != "pool:polecat" ||
		!slices.Equal(p.DependsOn, []string{"mayor"}) || p.SetupScript != "bin/setup" || len(p.AllowEnv) != 2 || len(p.AllowOverlay) != 4 || p.Line != 2 {
		t.Error(got)
	}
	m := all[1]
	if m.Pool != nil || m.WakeMode != tick.Fresh || m.CreationTimeout != time.Minute || m.QuarantineAttempts != 3 || m.QuarantineCap != 5*time.Minute ||
		m.QuarantineHealthy != 5*time.Minute || !slices.Equal(m.AllowOverlay, []string{"model", "name", "title"}) || m.AllowEnv != nil {
		t.Errorf("%+v", m)
	}
	all, problems = Parse("town.toml", []byte("[[agent]]\nname = \"w\"\nprovider = \"claude\"\n[agent.pool]\nmax = 1\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if q := all[0].Pool; q.Min != 0 || q.DrainTimeout != 30*time.Second || q.ArchiveOrder != tick.LIFO || q.ReactivateOrder != tick.LIFO || q.MaxArchived != 10 ||
		q.MaxUnavailable != 1 || q.ArchivedSecretTTL != 24*time.Hour || all[0].RoutingLabel != "pool:w" {
		t.Errorf("%+v", q)
	}
}

// A town.toml with every table that the pages name is taken.
func TestOthersTables(t *testing.T) {
	text := "default_agent = \"vibe\"\n" + fullTemplate + "[session]\nprovider = \"tmux\"\n[agents.vibe]\ncommand = \"vibe\"\n[agents.vibe.hooks]\nuser = \"~/x\"\n[tools.pi]\ncommand = \"pi\"\n[role_agents]\ncrew = \"vibe\"\n[rigs.api]\nprefix = \"a\"\nagent = \"vibe\"\n[rigs.api.role_agents]\ncrew = \"pi\"\n"
	if all, problems := Parse("t", []byte(text)); len(all) == 0 || problems != nil {
		t.Errorf("%d templates, %v", len(all), problems)
	}
}

// What is wrong is told with its line and its key, all of it at once.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[[agent]]\nprovider = 3\n", `t:1: agent.name: it is missing
t:2: agent.provider: it must be a string, not a number
t:2: agent.provider: it is missing: the agent's name, such as "claude"`},
		{"a = [\n", "t:1: "},
		{"[[agent]\nname = \"x\"\n", "t:1: expected end of table array name delimiter ']', but got the end of the line"},
		{"[agent]\nname = \"x\"\n", "t: agent: templates are [[agent]] blocks"},
		{fullTemplate + "[pool]\nmax = 1\n", "t:45: pool: unknown table (did you mean agent.pool?)"},
		{fullTemplate + "[agent.pool]\nmin = 3\nmax = 2\nmaxx = 7\n", "t:46: agent.pool.min: 3 is more than the max, 2\nt:48: agent.pool.maxx: unknown key (known: min, max, check"},
		{fullTemplate + "colour = 'red'\n", "t:45: agent.colour: unknown key (known: name, provider"},
		{fullTemplate + "[agent.pool]\nmin = 1\n", "t:45: agent.pool.max: it is missing: how many sessions there are at most"},
		{fullTemplate + "idle_timeout = \"soon\"\n", "t:45: agent.idle_timeout: invalid duration"},
		{fullTemplate + "idle_timeout = \"900w\"\n", "t:45: agent.idle_timeout: '900w' is not between 0 and a year"},
		{fullTemplate + "[agent.pool]\nmax = 99999\n", "t:46: agent.pool.max: 99999 is not between 0 and 10000"},
		{fullTemplate + "[agent.pool]\nmax = 1\nrouting_label = \"pool:polecat\"\n", "t:47: agent.pool.routing_label: 'pool:polecat' is the label of the pool polecat"},
		{fullTemplate + "[agent.pool]\nmax = 1\nrouting_label = \"../x\"\n", "t:47: agent.pool.routing_label: invalid label '../x'"},
		{fullTemplate + "[agent.pool]\nmax = 1\narchive_order = \"oldest\"\n", "t:47: agent.pool.archive_order: invalid value 'oldest' (try lifo, fifo, idle-first)"},
		{fullTemplate + "depends_on = [\"polecat\"]\n", "t:11: agent.depends_on: it depends on itself: polecat, mayor, polecat\nt:45: agent.depends_on: it depends on itself: mayor, polecat, mayor"},
		{fullTemplate + "depends_on = [\"nobody\"]\n", "t:45: agent.depends_on: there is no template 'nobody'"},
		{fullTemplate + "[[agent]]\nname = \"mayor\"\nprovider = \"claude\"\n", "t:46: agent.name: 'mayor' is the name of another template, in line 42"},
		{fullTemplate + "[[agent]]\nname = \"a b\"\nprovider = \"claude\"\n", "t:46: agent.name: invalid name 'a b'"},
		{fullTemplate + "prompt_template = \"../x.md\"\n", "t:45: agent.prompt_template: '../x.md' is not the path of a file in the town"},
		{fullTemplate + "hooks = [1]\n", "t:45: agent.hooks: it must be an array of strings, and contains a number"},
		{fullTemplate + "[agent.env]\nA = 1\n", "t:45: agent.env: A: it must be a string, not a number"},
		{fullTemplate + "[agent.pool] # of '''\n\"max\" = 99999\n", "t:46: agent.pool.max: 99999 is not between 0 and 10000"},
		{fullTemplate + "[[agents]]\nname = \"x\"\n", "t:45: agents: unknown table (agent is meant?)"},
		{fullTemplate + "[agnet.pool]\nmax = 1\n", "t:45: agnet.pool: unknown table (agent is meant?)"},
		{fullTemplate + "[sesion]\nprovider = \"tmux\"\n", "t:45: sesion: unknown table (session is meant?)"},
		{fullTemplate + "[agent.defaults]\nwake_mode = \"warm\"\n", "t:46: agent.defaults.wake_mode: invalid value 'warm' (try fresh, resume)"},
		{fullTemplate + "[agent.defaults]\nallow_overlay = [\"command\"]\n", "t:46: agent.defaults.allow_overlay: invalid value 'command' (try model, name, title, prompt)"},
		{fullTemplate + "[agent.defaults]\nallow_env_override = [\"path\"]\n", "t:46: agent.defaults.allow_env_override: invalid variable 'path'"},
		{fullTemplate + "[agent.env]\nGT_TEMPLATE = \"x\"\n", "t:45: agent.env: GT_TEMPLATE: gt sets it"},
		{fullTemplate + "[agent.env]\nACTOR = \"x\"\n", "t:45: agent.env: ACTOR: gt sets it"},
		{fullTemplate + "[agent.defaults]\nallow_env_override = [\"ACTOR\"]\n", "t:46: agent.defaults.allow_env_override: ACTOR: gt sets it"},
	} {
		_, problems := Parse("t", []byte(c.text), "ACTOR")
		var lines []string
		for _, p := range problems {
			lines = append(lines, p.Error())
		}
		if got := strings.Join(lines, "\n"); len(problems) == 0 || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s\nwant %s\ngot %s", c.text[max(0, len(c.text)-80):], c.want, got)
		}
	}
}

// What other programs keep in the file is theirs.
func TestTablesOfOthers(t *testing.T) {
	for _, text := range []string{"[workspace]\nname = \"x\"\n", "[agents]\nmodel = \"x\"\n", "[[sessions]]\n", "[[rigs]]\nname = \"x\"\n", "[agent_defaults]\n", "[daemon]\n"} {
		if _, problems := Parse("t", []byte(fullTemplate+text)); len(problems) > 0 {
			t.Errorf("%s%v", text, problems)
		}
	}
	if _, problems := Runtime("t", []byte("[[session]]\nprovider = \"tmux\"\n")); len(problems) != 1 || problems[0].Error() != "t: session.provider: it must be a string in the table [session]" {
		t.Errorf("%v", problems)
	}
	if _, problems := Runtime("t", []byte("[[agent]]\nprovider = \"claude\"\n[ session ]\nx = 1\nprovider = \"exec\"\n")); len(problems) != 1 || problems[0].Line != 5 {
		t.Errorf("%v", problems)
	}
}

// Whatever a file holds, it is read or refused.
func FuzzParse(f *testing.F) {
	f.Add(fullTemplate)
	f.Add("[[agent]]\nname = \"\"\"\nx\n\"\"\"\n[agent.pool]\n")
	f.Add("agent = [{name = 'x'}]")
	f.Fuzz(func(t *testing.T, text string) {
		all, problems := Parse("t", []byte(text))
		for _, p := range problems {
			if p.Error() == "" || p.Line < 0 || p.Line > strings.Count(text, "\n")+2 {
				t.Errorf("%+v", p)
			}
		}
		for _, one := range all {
			if len(problems) == 0 && (one.Name == "" || one.Pool != nil && one.Pool.Min > one.Pool.Max) {
				t.Errorf("%+v", one)
			}
		}
	})
}

func effective(t *testing.T, text string, overlay map[string]string) Effective {
	t.Helper()
	all, problems := Parse("t", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e := all[0].ApplyOverlay(overlay, "Be good.\n")
	e.Town = "/town"
	return e
}

// How a file is written makes no difference, nor what does not change how a session acts;
// each thing that does makes one. [S4-99 S4-100 S4-101 S4-102 S4-103]
func TestHash(t *testing.T) {
	plain := effective(t, fullTemplate, nil)
	if h := plain.Hash(); len(h) != len("v2:")+16 || !strings.HasPrefix(h, "v2:") {
		t.Error(h)
	}
	formatted := "# a comment\nagent = [ { provider = 'claude', name='polecat', hooks = ['a', 'b'], max_restarts_per_window = 2, pre_start=['make deps'], " +
		"session_setup = ['tmux set status off'], session_setup_script = 'bin/setup', prompt_template = 'polecat.md', work_dir = '/town/rigs/./api', " +
		"env = {TARGET_URL = 'https://example.org'}, pool = {max = 99, min = 3}, defaults = {wake_mode = 'resume', model = 'opus'} } ]\n"
	if got := effective(t, formatted, nil); got.Hash() != plain.Hash() {
		t.Errorf("%v\n%v", got.Fields(), plain.Fields())
	}
	flat := effective(t, strings.ReplaceAll(strings.Replace(fullTemplate, `"opus"`, `"sonnet"`, 1), "https://example.org", "http://localhost"), nil)
	overlaid := effective(t, fullTemplate, map[string]string{"model": "sonnet", "env.TARGET_URL": "http://localhost", "name": "quick-fix", "title": "Fix"})
	if flat.Hash() != overlaid.Hash() {
		t.Errorf("%v\n%v", flat.Fields(), overlaid.Fields())
	}
	if got := DifferingFields(plain.Digests(), overlaid.Digests()); !slices.Equal(got, []string{"env.TARGET_URL", "model"}) {
		t.Error(got)
	}
	for _, c := range []struct{ old, new, field string }{
		{`provider = "claude"`, `provider = "codex"`, "provider"},
		{`work_dir = "rigs/api"`, `work_dir = "rigs/web"`, "work_dir"},
		{`hooks = ["b", "a"]`, `hooks = ["b"]`, "hooks"},
		{`"make deps"`, `"make all"`, "pre_start"},
		{`"tmux set status off"`, `"true"`, "session_setup"},
		{`model = "opus"`, `model = "sonnet"`, "model"},
		{`wake_mode = "resume"`, `wake_mode = "fresh"`, "wake_mode"},
		{`TARGET_URL = "https`, `TARGET_URI = "https`, "env.TARGET_URI,env.TARGET_URL"},
		{`account = "work"`, `command = ["claude", "--x"]`, "command"},
	} {
		e := effective(t, strings.Replace(fullTemplate, c.old, c.new, 1), nil)
		if got := strings.Join(DifferingFields(plain.Digests(), e.Digests()), ","); e.Hash() == plain.Hash() || got != c.field {
			t.Errorf("%s: %s", c.new, got)
		}
	}
	other := plain
	other.Prompt = "Be better.\n"
	if other.Hash() == plain.Hash() {
		t.Error("another prompt")
	}
	// A value does not pass for two.
	a, b := plain, plain
	a.Env, b.Env = map[string]string{"A": "1\nenv.B=2"}, map[string]string{"A": "1", "B": "2"}
	if a.Hash() == b.Hash() {
		t.Error("a value with a line's end passes for two variables")
	}
}

// A session has otherwise what its template allows, and nothing else. [S4-120 S4-121 S4-122
// S4-123 S4-125 S4-126]
func TestOverlay(t *testing.T) {
	all, _ := Parse("t", []byte(fullTemplate))
	worker, mayor := all[0], all[1]
	for key, refused := range map[string]string{
		"model": "", "name": "", "title": "", "prompt": "", "env.LOG_LEVEL": "",
		"env.PATH": "does not let a session have its own 'env.PATH' (it may have: model, name, title, prompt, env.TARGET_URL, env.LOG_LEVEL)",
		"env.path": "invalid variable 'path'", "env.": "invalid variable",
		"command": "its own 'command'", "provider": "its own 'provider'", "resume_flag": "'resume_flag'", "resume_style": "'resume_style'",
		"session_key": "'session_key'", "state": "'state'", "generation": "'generation'", "instance_token": "'instance_token'", "colour": "'colour'",
	} {
		err := worker.CheckOverlay(map[string]string{key: "x"})
		if refused == "" && err != nil || refused != "" && (err == nil || !strings.Contains(err.Error(), refused)) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := mayor.CheckOverlay(map[string]string{"prompt": "x"}); err == nil {
		t.Error("a prompt without leave")
	}
	if err := worker.CheckOverlay(map[string]string{"prompt": strings.Repeat("x", 16<<10)}); err != nil {
		t.Error(err)
	}
	if err := worker.CheckOverlay(map[string]string{"prompt": strings.Repeat("x", 16<<10+1)}); err == nil {
		t.Error("a prompt of more than 16 KB")
	}
	e := worker.ApplyOverlay(map[string]string{"prompt": "And be quick."}, "Be good.")
	if e.Prompt != "Be good.\n\n---\n\nAdditional context provided at session creation:\n\nAnd be quick." {
		t.Errorf("%q", e.Prompt)
	}
	// What was taken back since. [S4-127]
	stored := map[string]string{"prompt": "x", "env.LOG_LEVEL": "debug", "model": "sonnet"}
	worker.AllowOverlay, worker.AllowEnv = []string{"model"}, nil
	allowed, stripped := worker.AllowedOverlay(stored)
	if !maps.Equal(allowed, map[string]string{"model": "sonnet"}) || !slices.Equal(stripped, []string{"env.LOG_LEVEL", "prompt"}) || len(stored) != 3 {
		t.Error(allowed, stripped)
	}
}

// A link to the same work_dir is the same configuration, and so are a title and a description;
// another folder is another. [S4-100, S4-101]
func TestHashOfTheRealFolder(t *testing.T) {
	dir := t.TempDir()
	for _, err := range []error{os.Mkdir(dir+"/api", 0o700), os.Mkdir(dir+"/web", 0o700), os.Symlink("api", dir+"/link")} {
		testenv.NoError(t, err)
	}
	hash := func(more string) string {
		all, problems := Parse("t", []byte("[[agent]]\nname = \"w\"\nprovider = \"claude\"\n"+more))
		if problems != nil {
			t.Fatal(problems)
		}
		e := all[0].ApplyOverlay(nil, "")
		e.Town = dir
		return e.Hash()
	}
	if api := hash("work_dir = \"api\""); api != hash("work_dir = \"link/../link/\"\ntitle = \"T\"\ndescription = \"D\"") || api == hash("work_dir = \"web\"") {
		t.Error("a link is another folder, or another folder the same")
	}
}
