package cli

import (
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

type tree struct {
	Flags
	List list `cmd:"" default:"withargs" help:"List."`
	Show struct {
		ID   string   `arg:"" help:"The one."`
		More []string `arg:"" optional:""`
	} `cmd:"" aliases:"see" help:"Show $(one)\x1b."`
	Set struct {
		Place string `arg:"" enum:"here,there" help:"Where."`
	} `cmd:"" hidden:""`
	Read struct {
		From string `placeholder:"FILE"`
		File string `arg:"" type:"existingfile"`
	} `cmd:""`
	Open struct {
		Dir string `arg:""`
		To  string `arg:"" path:""`
	} `cmd:""`
}

type list struct {
	Outcome string   `short:"o" enum:"crash,done," default:""`
	Agent   []string `complete:"id" sep:","`
	All     bool     `short:"a" help:"All."`
	Color   bool     `negatable:"" hidden:""`
	N       int      `short:"n" name:"limit"`
}

func (tree) Run(*Env) error { return nil }

// What is offered is what the grammar takes there: in the order in which it
// stands in it, and nothing that a shell would read.
func TestComplete(t *testing.T) {
	ids := func(_ *Env, begin string) []Candidate {
		return []Candidate{{"b2", "the second\tof\nthem"}, {"a1", "first"}, {"$(x)", ""}, {"b 3", ""}, {"b'", ""}, {"", ""}, {"größe", ""}, {"日本", ""}, {"d\u202e", ""}}
	}
	program := Program{Name: "gt-x", Grammar: &tree{}, Complete: map[string]Completer{"id": ids, "more": ids, "agent": ids, "to": ids}}
	complete := func(words ...string) (string, int) {
		var out, errs strings.Builder
		env := &Env{Args: append([]string{"__complete"}, words...), Stdout: &out, Stderr: &errs}
		code := Run(env, program)
		if errs.String() != "" {
			t.Errorf("%q: %s", words, &errs)
		}
		return out.String(), code
	}
	for name, c := range map[string]struct {
		typed string // words, a | between them
		want  string // words, a blank behind each
	}{
		"all":                        {"", "list show read open completion help "},
		"a beginning":                {"l", "list "},
		"none":                       {"x", ""},
		"a command whose help":       {"help|sh", "show "},
		"shells":                     {"completion|", "bash zsh fish "},
		"shells, below a command":    {"list|completion|", "--outcome --agent --all --limit --help --version "},
		"a hidden command":           {"set|", "here there "},
		"an alias":                   {"see|b", "b2 "},
		"the second argument":        {"show|a1|", "b2 a1 größe 日本 "},
		"flags":                      {"-", "--outcome --agent --all --limit --help --version "},
		"flags of a command":         {"read|--", "--from --help --version "},
		"what was given":             {"--all|--agent|a1|--", "--outcome --agent --limit --help --version "},
		"given by its letter":        {"-a|--", "--outcome --agent --limit --help --version "},
		"letters":                    {"-ao|", "crash done "},
		"a letter with its value":    {"-n5|list|--o", "--outcome "},
		"a value":                    {"--outcome|c", "crash "},
		"a value with its flag":      {"list|--outcome=d", "--outcome=done "},
		"a value, bash":              {"list|--outcome|=|d", "done "},
		"a value not begun, bash":    {"list|--outcome|=", "crash done "},
		"behind a value, bash":       {"list|--outcome|=|done|--al", "--all "},
		"a value that looks so":      {"--limit|show|--al", "--all "},
		"a value of no known flag":   {"--nonsense=", ""},
		"a value of a switch":        {"--all=", ""},
		"behind --":                  {"list|--|-", ""},
		"a value behind --":          {"show|--|a", "a1 "},
		"an argument is no command":  {"show|show|l", ""},
		"the command after flags":    {"--all|sh", "show "},
		"a hook that is being typed": {"--hook|--a", "--agent --all "},
		"a file":                     {"read|", "files"},
		"a file, for a flag":         {"read|--from|", "files"},
		"a file, for a hook":         {"read|--hook|--from|", "files"},
		"a folder":                   {"open|", "files"},
		"a name or a folder":         {"open|x|a", "a1 "},
		"a folder and no name":       {"open|x|./a", "files"},
		"another form of a letter":   {"show|gro\u0308", "größe "},
		"no file":                    {"list|x|", "--outcome --agent --all --limit --help --version "},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := complete(strings.Split(c.typed, "|")...)
			got := ""
			for line := range strings.Lines(out) {
				word, _, _ := strings.Cut(line, "\t")
				got += word + " "
			}
			if code == AnswerNo {
				got += "files"
			} else if code != Done {
				t.Error(code)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if out, _ := complete("show", ""); out != "b2\tthe second of them\na1\tfirst\ngröße\t\n日本\t\n" {
		t.Errorf("%q", out)
	}
	if out, _ := complete("sh"); out != "show\tShow $(one)�.\n" {
		t.Errorf("%q", out)
	}
}

// A shell takes the script as it is, and what is no shell gets none.
func TestCompletionScript(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		code, script, stderr := run("completion", shell)
		if code != Done || stderr != "" || !strings.Contains(script, "_gt_x") || strings.Contains(script, "PROGRAM") || strings.Contains(script, "FUNCTION") {
			t.Errorf("%s: %d %s%s", shell, code, stderr, script)
		}
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		cmd := exec.Command(shell, "-n")
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	// Elsewhere it is a word like any other.
	if code, stdout, _ := run("completion"); code != Done || stdout != "well\n" {
		t.Error(code, stdout)
	}
	if code, _, _ := run("completion", "tcsh"); code != Usage {
		t.Error(code)
	}
}

// What is wrong with a command line is said in words that need no knowledge of
// the parser, and a value that is not there is not taken for an empty one.
func TestWrongUsage(t *testing.T) {
	for typed, want := range map[string]string{
		"list --agent":        "--agent needs a value",
		"--agent":             "--agent needs a value",
		"list --limit":        "--limit needs a value",
		"list -an":            "--limit needs a value",
		"read x --from":       "--from needs a value",
		"list --limit x":      `--limit: "x" is not a number`,
		"list --outcome gone": `--outcome must be one of "crash","done" but got "gone"`,
		"show":                "<id> is missing",
		"lst":                 "no command 'lst'",
		"completion":          "completion wants a shell: bash, zsh or fish",
		"completion tcsh":     "completion wants a shell: bash, zsh or fish",
		"list x":              "unexpected argument x",
		"show -- --agent":     "",
		"show a --agent":      "unknown flag --agent",
		"list -n 5 --agent a": "",
	} {
		var errs strings.Builder
		env := &Env{Args: strings.Fields(typed), Stdout: io.Discard, Stderr: &errs}
		code := Run(env, Program{Name: "gt-x", Grammar: &tree{}})
		got, _, _ := strings.Cut(strings.TrimPrefix(errs.String(), "gt-x: error: "), "\n")
		if got != want || (code == Usage) != (want != "") {
			t.Errorf("%s: %d %q", typed, code, got)
		}
		hint := "hint: gt-x --help"
		if command, _, _ := strings.Cut(typed, " "); slices.Contains([]string{"list", "show", "read"}, command) {
			hint = "hint: gt-x " + command + " --help"
		}
		if typed == "lst" && !strings.Contains(errs.String(), "gt-x: hint: did you mean list?\n") {
			t.Errorf("%s: %s", typed, errs.String())
		}
		if code == Usage && !strings.Contains(errs.String(), hint) {
			t.Errorf("%s: no %q in %s", typed, hint, errs.String())
		}
	}
}
