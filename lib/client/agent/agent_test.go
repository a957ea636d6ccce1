package agent

import (
	"slices"
	"strings"
	"testing"
)

func TestRestart(t *testing.T) {
	fresh := NextRun{}
	for name, test := range map[string]struct {
		args []string
		next NextRun
		want []string
	}{
		"nothing known":   {nil, fresh, []string{"claude"}},
		"as it was typed": {[]string{"claude"}, fresh, []string{"claude"}},
		"its prompt goes": {[]string{"claude", "fix the bug"}, fresh, []string{"claude"}},
		"a prompt for the next, behind --, where no flag can take it": {
			[]string{"/usr/bin/claude", "--add-dir", "/a", "/b c"}, NextRun{Prompt: "-go on"},
			[]string{"/usr/bin/claude", "--add-dir", "/a", "/b c", "--", "-go on"},
		},
		"choices stay": {
			[]string{"claude", "--model", "opus", "--permission-mode=plan", "--dangerously-skip-permissions", "--settings", `{"a": "b c"}`,
				"--plugin-dir", "/p 1", "--plugin-dir", "/p 2", "--mcp-config", "a.json", "b.json", "--allowedTools", "Bash(git *)", "Edit", "-n", "my name", "do it"},
			fresh,
			[]string{"claude", "--model", "opus", "--permission-mode=plan", "--dangerously-skip-permissions", "--settings", `{"a": "b c"}`,
				"--plugin-dir", "/p 1", "--plugin-dir", "/p 2", "--mcp-config", "a.json", "b.json", "--allowedTools", "Bash(git *)", "Edit", "-n", "my name"},
		},
		"a flag of several words has the prompt too, as the client reads it": {
			[]string{"claude", "--tools", "Bash", "fix it"}, fresh,
			[]string{"claude", "--tools", "Bash", "fix it"},
		},
		"the prompt between flags goes": {
			[]string{"claude", "--verbose", "fix it", "--model", "opus"}, fresh, []string{"claude", "--verbose", "--model", "opus"},
		},
		"which conversation it was goes": {
			[]string{"claude", "--resume", "11111111-2222-4333-8444-555555555555", "--fork-session", "-c", "--session-id", "x", "--from-pr", "12", "--model", "opus"}, fresh,
			[]string{"claude", "--model", "opus"},
		},
		"resume without an id": {[]string{"claude", "-r", "--model", "opus"}, fresh, []string{"claude", "--model", "opus"}},
		"resume with =":        {[]string{"claude", "--resume=abc", "--model", "opus"}, fresh, []string{"claude", "--model", "opus"}},
		"a value that looks like a flag": {
			[]string{"claude", "--append-system-prompt", "--resume is a flag", "--name", "-x"}, fresh,
			[]string{"claude", "--append-system-prompt", "--resume is a flag", "--name", "-x"},
		},
		"short flags in one word": {[]string{"claude", "-cp", "-rabc", "-nNAME", "prompt"}, fresh, []string{"claude", "-nNAME"}},
		"without a person": {
			[]string{"claude", "-p", "--output-format", "json", "--max-turns", "3", "--no-session-persistence", "--json-schema", "{}", "--model", "opus", "question"}, fresh,
			[]string{"claude", "--model", "opus"},
		},
		"a worktree is made once":         {[]string{"claude", "-w", "feature", "--tmux", "--model", "opus"}, fresh, []string{"claude", "--model", "opus"}},
		"what stands behind -- is prompt": {[]string{"claude", "--model", "opus", "--", "--resume"}, fresh, []string{"claude", "--model", "opus"}},
		"an unknown flag stays":           {[]string{"claude", "--new", "--newer=1", "--newest", "value", "do it"}, fresh, []string{"claude", "--new", "--newer=1", "--newest", "value"}},
		"with no prompt for its value":    {[]string{"claude", "--new", "do this now"}, fresh, []string{"claude", "--new"}},
		"odd words":                       {[]string{"claude", "", "-", "--model"}, fresh, []string{"claude", "--model"}},

		"go on":        {[]string{"claude", "--model", "opus", "x"}, NextRun{Continue: true}, []string{"claude", "--model", "opus", "--continue"}},
		"go on with":   {[]string{"claude", "-r", "old"}, NextRun{Resume: "new", Prompt: "p"}, []string{"claude", "--resume", "new", "--", "p"}},
		"go on a fork": {[]string{"claude"}, NextRun{Resume: "id", Fork: true}, []string{"claude", "--resume", "id", "--fork-session"}},

		"a script": {
			[]string{"node", "--max-old-space-size=8192", "-r", "/x.js", "/opt/claude/cli.js", "--model", "opus", "x"}, fresh,
			[]string{"node", "--max-old-space-size=8192", "-r", "/x.js", "/opt/claude/cli.js", "--model", "opus"},
		},
		"a wrapper":                        {[]string{"/bin/sh", "/home/me/bin/my claude", "-c"}, fresh, []string{"/bin/sh", "/home/me/bin/my claude"}},
		"an interpreter without a script":  {[]string{"node"}, fresh, []string{"claude"}},
		"a title in place of its own args": {[]string{"claude", "", ""}, fresh, []string{"claude"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(test.args)
			if got := Builtin().FindClient("claude").Restart(test.args, test.next); !slices.Equal(got, test.want) {
				t.Errorf("%q\n got %q\nwant %q", test.args, got, test.want)
			}
			if !slices.Equal(before, test.args) {
				t.Errorf("the arguments were changed to %q", test.args)
			}
		})
	}
}

// Restarting a restart changes only the prompt.
func TestRestartAgain(t *testing.T) {
	c := Builtin().FindClient("claude")
	once := c.Restart([]string{"claude", "-c", "--add-dir", "a", "b", "--model", "m"}, NextRun{Resume: "x", Prompt: "p q"})
	if got, want := c.Restart(once, NextRun{}), []string{"claude", "--add-dir", "a", "b", "--model", "m"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRestartOthers(t *testing.T) {
	for _, test := range []struct {
		client string
		args   []string
		next   NextRun
		want   string
	}{
		{"codex", []string{"node", "/x/codex.js", "--model", "m", "old"}, NextRun{Prompt: "go"}, "node /x/codex.js --model m go"},
		{"codex", []string{"codex", "-m", "m", "-c", "a=b c", "-s", "read-only", "-a", "never", "-C", "sub", "-i", "a.png", "b.png", "--no-daemon", "resume", "id", "old prompt"},
			NextRun{Prompt: "go"}, "codex -m m -c a=b c -s read-only -a never --no-daemon go"},
		{"codex", []string{"codex", "exec", "--json", "resume", "--last", "-o", "out", "old"}, NextRun{Resume: "id", Prompt: "go"}, "codex resume id go"},
		{"codex", []string{"codex", "resume", "--model=m", "id"}, NextRun{Resume: "id", Fork: true}, "codex --model=m fork id"},
		{"codex", []string{"codex", "fork", "a"}, NextRun{Resume: "id"}, "codex resume id"},
		{"codex", []string{"codex", "-m", "m", "old", "-c", `shell_environment_policy.set.GT_AGENT="codex"`}, NextRun{Prompt: "go", Alone: true},
			`codex -m m go -c shell_environment_policy.set.GT_AGENT="codex"`},
		{"codex", []string{"codex", "old", "-c", `shell_environment_policy.set.GT_AGENT="codex"`}, NextRun{Resume: "id"}, "codex resume id"},
		{"gemini", nil, NextRun{Prompt: "go", Alone: true}, "gemini --prompt-interactive go"},
		{"pi", nil, NextRun{Resume: "id", Fork: true}, "pi --fork id"}, // as e2e/pi_test.go forks
		{"copilot", nil, NextRun{Resume: "id", Prompt: "go"}, "copilot --resume=id --interactive go"},
		{"unheard-of", nil, NextRun{Prompt: "go"}, "unheard-of go"},
	} {
		if got := strings.Join(Builtin().FindClient(test.client).Restart(test.args, test.next), " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.client, got, test.want)
		}
	}
}

func TestHeadless(t *testing.T) {
	c := Builtin().FindClient("claude")
	for line, want := range map[string]bool{
		"claude": false, "claude -p x": true, "claude x --print": true, "claude -cp x": true,
		"claude --model -p": false, "claude -- -p": false, "node cli.js -p": true, "claude -r -p": true,
	} {
		if got := c.Headless(strings.Fields(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestInherit(t *testing.T) {
	got := Builtin().FindClient("claude").Inherit([]string{
		"PATH=/bin", "CLAUDECODE=1", "CLAUDE_CODE_SESSION_ID=x", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_PLUGIN_OPTION_A=1",
		"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_CHILD_SESSION=1", "ODD",
	})
	if want := []string{"PATH=/bin", "CLAUDE_CONFIG_DIR=/c", "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_USE_BEDROCK=1", "ODD"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// For any arguments, Restart returns a program, invents nothing, and puts the prompt
// last.
func FuzzRestart(f *testing.F) {
	f.Add("claude\x00-p\x00--model\x00x\x00--\x00y")
	f.Add("node\x00-r")
	f.Add("\x00-cprX\x00--add-dir")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		got := Builtin().FindClient("claude").Restart(args, NextRun{Prompt: "P"})
		if got[0] == "" || !slices.Equal(got[len(got)-2:], []string{"--", "P"}) {
			t.Fatalf("%q", got)
		}
		for _, a := range got[1 : len(got)-2] {
			if !slices.Contains(args, a) && !slices.ContainsFunc(args, func(b string) bool {
				return len(a) > 1 && a[0] == '-' && strings.HasPrefix(b, "-") && strings.Contains(b, a[1:])
			}) {
				t.Fatalf("%q comes from nowhere in %q", a, args)
			}
		}
	})
}

// A shell that gets code runs no script; tmux starts a single word that way.
func TestProgramNameOfCode(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"sh", "-c", "claude"}, ""},
		{[]string{"bash", "-lc", "claude --model opus"}, ""},
		{[]string{"/bin/sh", "/home/me/bin/claude", "-c"}, "claude"},
		{[]string{"bash", "-x", "/opt/claude"}, "claude"},
		{[]string{"claude", "-c"}, "claude"},
	} {
		if got := ProgramName(test.args); got != test.want {
			t.Errorf("ProgramName(%q) = %q, want %q", test.args, got, test.want)
		}
	}
}

// For an agent that takes no prompt together with a session, a variable has both. A
// copy's id is unknown, so a copy gets none. Other agents take both as arguments.
func TestPromptVar(t *testing.T) {
	c := Client{
		Command: Argv{"oc"}, ResumeFlag: Argv{"--session"}, ForkFlag: Argv{"--fork"},
		PromptFlag: Argv{"--prompt"}, ResumePromptEnv: "FIRST",
	}
	for _, of := range []struct {
		next      NextRun
		args, env string
	}{
		{NextRun{Resume: "s1", Prompt: "go on\nnow"}, "oc --session s1", "FIRST=s1 go on\nnow"},
		{NextRun{Resume: "s1"}, "oc --session s1", ""},
		{NextRun{Prompt: "begin"}, "oc --prompt begin", ""},
		{NextRun{Resume: "s1", Fork: true, Prompt: "go"}, "oc --fork s1 --prompt go", ""},
	} {
		if args, env := strings.Join(c.Restart(nil, of.next), " "), c.PromptVar(of.next); args != of.args || env != of.env {
			t.Errorf("%+v starts %q with %q", of.next, args, env)
		}
	}
	c.ResumePromptEnv = ""
	if args := strings.Join(c.Restart(nil, NextRun{Resume: "s1", Prompt: "go"}), " "); args != "oc --session s1 --prompt go" {
		t.Errorf("it starts %q", args)
	}
}
