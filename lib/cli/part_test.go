package cli

import (
	"reflect"
	"strings"
	"testing"
)

type listing struct {
	Agent string
	Limit int `short:"n"`
	All   bool
}

func (l listing) Run(e *Env) error {
	return e.JSON(map[string]any{"list": l.Agent, "limit": l.Limit, "all": l.All})
}

type showing struct {
	ID string `arg:""`
}

func (s showing) Run(e *Env) error { return e.JSON(map[string]any{"show": s.ID}) }

type branches struct {
	Flags
	Verbose bool
	List    listing `cmd:"" default:"withargs" help:"List."`
	Show    showing `cmd:"" help:"Show."`
	Other   showing `cmd:"" name:"another" help:"Show too."`
	ShowAll showing `cmd:"" name:"show-all" help:"Show all."`
}

// Whatever is typed, the answer is that of the whole grammar, though a part of it
// reads what is plain.
func TestPartReadsAsTheWhole(t *testing.T) {
	parts := 0
	for _, typed := range []string{
		"", "list", "--agent a", "list --agent a -n 3", "-n3 --all", "--all -n", "show", "show a", "show a b", "show list", "another x",
		"--agent list", "--agent show", "--agent a show b", "list show", "--verbose show a", "show --verbose a", "lst", "other a", "Show a",
		"--help", "show --help", "--version", "show --version", "-h", "--nonsense", "show --agent x", "list -- show", "show -- --agent", "--",
		"__complete show _", "__complete show --", "__complete list --agent _", "__complete --verbose _", "__complete --agent a _",
		"__complete sh", "__complete show", "__complete help show _", "__complete show list _", "__complete list -n _", "__complete nonsense _",
	} {
		args := strings.Fields(typed)
		if n := len(args); n > 0 && args[n-1] == "_" {
			args[n-1] = "" // nothing yet
		}
		ask := func(grammar any) (string, int) {
			var out, errs strings.Builder
			code := Run(&Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs}, Program{Name: "gt-x", Grammar: grammar})
			return out.String() + errs.String(), code
		}
		if selectGrammar(&branches{}, args) != nil {
			parts++
		}
		got, code := ask(&branches{})
		want, wanted := ask(&struct {
			branches
			unsplitGrammar
		}{})
		if got != want || code != wanted {
			t.Errorf("%q: %d\n%s\nnot %d\n%s", typed, code, got, wanted, want)
		}
	}
	if parts < 10 {
		t.Errorf("a part was taken %d times", parts)
	}
}

// unsplitGrammar keeps a grammar from being taken in parts, for it has a method.
type unsplitGrammar struct{}

func (unsplitGrammar) Unsplit() {}

// A grammar that has methods, or no commands, is never taken apart.
func TestNoPart(t *testing.T) {
	for _, g := range []any{&struct{ Flags }{}, &struct{ branches }{}, &struct {
		unsplitGrammar
		List listing `cmd:""`
		Show showing `cmd:""`
	}{}} {
		if got := selectGrammar(g, []string{"list"}); got != nil {
			t.Errorf("%T: %v", g, reflect.TypeOf(got))
		}
	}
}

// manyCommands is a grammar with as many commands as gt-hooks has, which is in the middle
// between the programs.
type manyCommands struct {
	Flags
	A, B, C, D, E, F, G, H, I, J struct {
		listing
	} `cmd:"" help:"List."`
}

// BenchmarkParse is what is saved by reading a command line without the commands
// that it does not select, and by reading a hook's without a grammar.
func BenchmarkParse(b *testing.B) {
	env := func() *Env {
		return &Env{Args: []string{"a", "--agent", "x"}, Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}}
	}
	for name, p := range map[string]Program{
		"whole": {Name: "gt-x", Grammar: &struct {
			manyCommands
			unsplitGrammar
		}{}},
		"part":  {Name: "gt-x", Grammar: &manyCommands{}},
		"wired": {Name: "gt-x", Grammar: &manyCommands{}, FastPath: func([]string) Command { return listing{} }},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if code := Run(env(), p); code != 0 {
					b.Fatal(code)
				}
			}
		})
	}
}
