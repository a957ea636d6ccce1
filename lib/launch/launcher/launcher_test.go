package launcher

import (
	"slices"
	"strings"
	"testing"

	"gt/lib/client/agent"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// A launcher between pane and client is found word for word, and not guessed. A path is
// written from the pane inwards, a process per line.
func TestWalk(t *testing.T) {
	for _, c := range []struct {
		name, path string
		words      string // of all launchers; "-" where they cannot be put together
		stranger   string // the program of which nobody knows how it starts the next
		shell      bool   // a person types above the client
	}{
		{"a shell", "-bash|claude --model opus", "", "", true},
		{"the pane's own", "claude", "", "", false},
		{"a line of the pane's", "sh -c 'cd x; claude'|claude", "", "", false},
		{"a sandbox", "bash|bwrap --ro-bind / / claude -c|claude -c", "bwrap --ro-bind / /", "", true},
		{"a sandbox that forks", "bwrap --unshare-pid claude|bwrap --unshare-pid claude|claude", "bwrap --unshare-pid", "", false},
		{"another user", "zsh|sudo -u x -- claude|sudo -u x -- claude|claude", "sudo -u x --", "", true},
		{"a list that sudo has cut", "zsh|sudo --preserve-env=A no_proxy -u x env Q=1 claude|sudo --preserve-env=A no_proxy -u x env Q=1 claude|claude", "sudo --preserve-env=A,no_proxy -u x env Q=1", "", true},
		{"a list of one", "zsh|sudo --preserve-env=A env claude|claude", "sudo --preserve-env=A env", "", true},
		{"a list before the client", "zsh|sudo --preserve-env=A B claude|claude", "sudo --preserve-env=A,B", "", true},
		{"a script of a client", "bash|op run -- codex -m o|node /usr/bin/codex -m o|/usr/lib/codex/codex -m o", "op run --", "", true},
		{"a shell's wrapper that waits", "bash|/bin/sh ./in-env claude -m o|claude -m o", "/bin/sh ./in-env", "", true},
		{"a wrapper, and a -c of the client's", "bash|/bin/sh ./in-env claude -c|claude -c", "/bin/sh ./in-env", "", true},
		{"a wrapper of a line of script's", "bash|/bin/sh ./in-env script -qc 'claude a'|script -qc 'claude a'|claude a", "/bin/sh ./in-env script -qc {command}", "", true},
		{"a script of a client, in a line", "bash|script -qc 'codex a'|node /usr/bin/codex a|/usr/lib/codex/codex a", "script -qc {command}", "", true},
		{"two, and a shell between", "bash|nice-wait 5 bwrap x sh|bwrap x sh|sh|claude", "nice-wait 5 bwrap x", "", true},
		{"a line of script's", "bash|script -qc 'claude --model opus' log|claude --model opus", "script -qc {command} log", "", true},
		{"a line of script's, with a shell", "bash|script -qc 'claude a'|sh -c 'claude a'|claude a", "script -qc {command}", "", true},
		{"a line of su's", "su x -c 'claude a'|claude a", "su x -c {command}", "", false},
		{"a sandbox in script's line", "script -c 'bwrap x claude'|bwrap x claude|claude", "script -c 'bwrap x {command}'", "", false},
		{"script in a sandbox", "bwrap x script -c claude|script -c claude|claude", "bwrap x script -c {command}", "", false},
		{"a line in a line", "script -c 'script -c claude'|script -c claude|claude", "-", "", false},
		{"a sandbox, a person's shell in it", "bash|bwrap x bash -i|bash -i|claude", "bwrap x", "", true},
		{"a line in a sandbox", "bash|bwrap x sh -c 'claude a'|sh -c 'claude a'|claude a", "bwrap x sh -c {command}", "", true},
		{"more than words in a sandbox", "bash|bwrap x sh -c 'y; claude a'|sh -c 'y; claude a'|claude a", "", "bwrap", true},
		{"a script in a sandbox", "bash|bwrap x ./setup|/bin/bash ./setup|claude", "", "bwrap", true},
		{"other arguments", "bash|docker exec c claude|claude --model opus", "", "docker", true},
		{"what is below script", "bash|script|bash -i|claude", "", "script", true},
		{"no words to be read", "bash||claude", "", "", true},
		{"a package", "bash|npm exec @openai/codex|sh -c codex|node /usr/bin/codex|codex", "", "", true},
		{"a client in its own sandbox", "bash|node /usr/bin/claude -s|sandbox-exec -f p claude -s|claude -s", "", "", true},
		{"its own name, for another program", "bash|/bin/sh /home/x/bin/claude -m o|/opt/claude -m o", "", "", true},
		{"ours", "gt-handoff --exec gt-x|bwrap x claude|claude", "bwrap x", "", true},
	} {
		var path []process.Info
		for i, line := range strings.Split(c.path, "|") {
			p := process.Info{PID: i + 1}
			if line != "" {
				args, err := Split(strings.ReplaceAll(line, ";", `\;`), "")
				if err != nil {
					args = shellWords(line)
				}
				p.Args = args
			}
			path = append(path, p)
		}
		slices.Reverse(path)
		client := agent.Builtin().FindClient("claude")
		if strings.Contains(c.path, "codex") {
			client = agent.Builtin().FindClient("codex")
		}
		w := walkPath(path, clientMatcher(agent.Builtin(), client))
		words, err := w.allWords()
		got := term.QuoteWords(words)
		got = strings.ReplaceAll(got, "'"+CommandMark+"'", CommandMark)
		if err != nil {
			got = "-"
		}
		stranger := ""
		if w.stranger >= 0 {
			stranger = programTitle(path[w.stranger])
			got = c.words // of what is refused nothing is used
		}
		if c.name == "no words to be read" {
			if w.stranger != 1 {
				t.Errorf("%s: the stranger is %d", c.name, w.stranger)
			}
			continue
		}
		if got != c.words || stranger != c.stranger || (w.shell >= 0) != c.shell {
			t.Errorf("%s: %q, %q and %v, not %q, %q and %v", c.name, got, stranger, w.shell >= 0, c.words, c.stranger, c.shell)
		}
	}
}

// Walls that a launcher changes for itself do not count as differences from its parent.
func TestMakes(t *testing.T) {
	for line, want := range map[string]string{
		"bwrap --unshare-net":             "no_new_privs, capabilities",
		"nice -n 5":                       "",
		"unshare --fork":                  "",
		"unshare -fpm --uts":              "mount namespace, host name namespace",
		"unshare --net=/x -C":             "network namespace, control group namespace",
		"unshare --mount-proc --map-auto": "mount namespace, user namespace, capabilities",
		"unshare -r -R /x --net":          "user namespace, capabilities",
		"unshare ip --net":                "",
	} {
		words := strings.Fields(line)
		if got := strings.Join(changedWalls(words[0], words), ", "); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}

func TestHanded(t *testing.T) {
	for line, want := range map[string]string{
		"bwrap --ro-bind / / --args 9":        "--args",
		"bwrap --seccomp 3":                   "--seccomp",
		"bwrap --ro-bind-data 7 /x":           "--ro-bind-data",
		"bwrap --setenv args x --tmpfs /file": "",
		"other --args 9":                      "",
		"docker run --env-file /dev/fd/63":    "/dev/fd/63",
	} {
		words := strings.Fields(line)
		if got := inheritedFile(words[0], words); got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}

// shellWords splits a line of the table that has a quoted part which is more than words.
func shellWords(line string) []string {
	before, rest, _ := strings.Cut(line, "'")
	inner, after, _ := strings.Cut(rest, "'")
	return slices.Concat(strings.Fields(before), []string{inner}, strings.Fields(after))
}

func TestAround(t *testing.T) {
	command := []string{"claude", "--model", "o p", "it's"}
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{nil, command},
		{[]string{"bwrap", "x"}, append([]string{"bwrap", "x"}, command...)},
		{[]string{"script", "-c", CommandMark, "log"}, []string{"script", "-c", `claude --model 'o p' 'it'\''s'`, "log"}},
	} {
		if got := WrapCommand(c.words, command); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, not %q", c.words, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		`bwrap --bind / /`:             {"bwrap", "--bind", "/", "/"},
		`a "b c" 'd $e' f\ g ""`:       {"a", "b c", "d $e", "f g", ""},
		`a ~/x ~ "~"`:                  {"a", "/home/m/x", "/home/m", "~"},
		`a "\$x \y"`:                   {"a", `$x \y`},
		`script -c {command} log`:      {"script", "-c", "{command}", "log"},
		`a; b`:                         nil,
		`a $HOME`:                      nil,
		`a *`:                          nil,
		`a {b,c}`:                      nil,
		`A=b c`:                        nil,
		`a > b`:                        nil,
		"a `b`":                        nil,
		`a &`:                          nil,
		`a $'b'`:                       nil,
		`a # b`:                        nil,
		`~other/x`:                     nil,
		``:                             nil,
		`if`:                           nil,
		"a\nb":                         nil,
		`a "$(b)"`:                     nil,
		strings.Repeat("(", 100_000):   nil,
		`a ` + strings.Repeat(`"`, 99): nil,
	} {
		got, err := Split(line, "/home/m")
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%.40q: %q %v, not %q", line, got, err, want)
		}
	}
}

// What a program has made of its command line is not what a person types.
func TestAsTyped(t *testing.T) {
	for words, want := range map[string]string{
		"SCREEN -S sc claude":                     "screen -S sc claude",
		"sudo --preserve-env=A B_C claude":        "sudo --preserve-env=A,B_C claude",
		"sudo --preserve-env=A -u max B_C claude": "sudo --preserve-env=A -u max B_C claude",
		"env A=1 claude":                          "env A=1 claude",
		"":                                        "",
	} {
		if got := strings.Join(asTyped(strings.Fields(words)), " "); got != want {
			t.Errorf("%s: %s, want %s", words, got, want)
		}
	}
}
