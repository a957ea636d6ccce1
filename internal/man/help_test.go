package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"gt/internal/programs"
	"gt/lib/cli"
)

// ofTown finds the words that only a town has, as a whole word.
var ofTown = regexp.MustCompile(`(?i)\b(towns?|rigs?|polecats?|mayor|deacon|witness|refinery|crew|beads?|convoys?|molecules?|hooked|sling)\b`)

// The help of every command fits a terminal, says first what the command does, and explains
// each argument and flag. Outside a town it has no word of one, but in the group of what
// only towns have, and in the names of files.
func TestHelp(t *testing.T) {
	for _, p := range programs.List() {
		app, err := p.Model()
		if err != nil {
			t.Fatal(err)
		}
		helped(t, p, app.Node, nil)
	}
}

// helped checks the help of a command and of those below it. path is how it is typed.
func helped(t *testing.T, p cli.Program, n *kong.Node, path []string) {
	t.Run(strings.Join(append([]string{p.Name}, path...), " "), func(t *testing.T) {
		var out, said bytes.Buffer
		dir := t.TempDir()
		env := &cli.Env{
			Args: append(path, "--help"), Stdout: &out, Stderr: &said, Stdin: strings.NewReader(""),
			Environ: []string{"HOME=" + dir}, Dir: dir, Now: time.Now,
		}
		if code := cli.Run(env, p); code != 0 || said.Len() > 0 {
			t.Fatalf("it ends with %d and says %q", code, said.String())
		}
		parts := strings.SplitN(out.String(), "\n\n", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[0], "Usage: "+p.Name) {
			t.Fatalf("it begins with %q", out.String())
		}
		if first := strings.Join(strings.Fields(parts[1]), " "); first == "" || strings.HasPrefix(first, "Flags:") || !regexp.MustCompile(`^[A-Z].*[.:]$`).MatchString(first) {
			t.Errorf("it does not begin by saying what it does: %q", first)
		}
		group := ""
		for _, line := range strings.Split(out.String(), "\n") {
			// A path or an id of an example may be as long as it is.
			if len([]rune(line)) > 80 {
				t.Errorf("wider than 80 columns: %s", line)
			}
			if strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " ") {
				group = line
			}
			words := strings.NewReplacer("town.toml", "", "use-gas-town.md", "").Replace(line)
			if word := ofTown.FindString(words); word != "" && !strings.Contains(group, "town") && !strings.Contains(words, "in a town") && !strings.HasPrefix(strings.Join(path, " ")+" ", "trust ") && !strings.HasPrefix(strings.Join(path, " ")+" ", "untrust ") {
				t.Errorf("outside a town it says %q: %s", word, line)
			}
		}
		for _, f := range n.Flags {
			if f.Help == "" {
				t.Errorf("--%s is not explained", f.Name)
			}
		}
		for _, a := range n.Positional {
			if a.Help == "" {
				t.Errorf("%s is not explained", a.Name)
			}
		}
	})
	for _, c := range n.Children {
		if c.Type == kong.CommandNode && !c.Hidden {
			helped(t, p, c, append(append([]string(nil), path...), c.Name))
		}
	}
}
