package gt_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/alecthomas/kong"

	"gt/internal/programs"
	"gt/internal/testenv"
	"gt/lib/client/agent"
	"gt/lib/place"
	towns "gt/lib/place/town"
	"gt/lib/reconcile/template"
	"gt/lib/relay"
	"gt/lib/text/duration"
	"gt/lib/text/redact"
)

// parsePrograms calls visit with each Go file of what is installed, without tests, or of folders
// of it.
func parsePrograms(t *testing.T, visit func(path string, file *ast.File), folders ...string) {
	t.Helper()
	if len(folders) == 0 {
		folders = []string{"cmd", "lib", "hooks"}
	}
	for _, root := range folders {
		testenv.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				visit(path, file)
			}
			return err
		}))
	}
}

// stringOf returns the value of a string literal.
func stringOf(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

var (
	// variable is a name that only a variable of the environment has, with few exceptions.
	variable = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	// reads are functions that read a variable of any name, in whatever package.
	reads = regexp.MustCompile(`(?i)(getenv|lookupenv)$`)
	// assigned are the variables that a shell's script reads.
	assigned = regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]{3,})\b`)
)

// otherWords look like variables and are none, or are not gt's to explain.
var otherWords = map[string]string{
	"what every program reads":                          `HOME PATH PWD TERM TMUX TMUX_PANE SHELL`,
	"what a program of the person is left":              `LC_ALL LC_CTYPE SUDO_UID WAYLAND_DISPLAY XDG_CACHE_HOME XDG_RUNTIME_DIR`,
	"what changes the C library, proxies":               `GCONV_PATH GLIBC_TUNABLES ALL_PROXY HTTP_PROXY HTTPS_PROXY NO_PROXY`,
	"files of git, and what it runs":                    `BISECT_LOG CHERRY_PICK_HEAD MERGE_HEAD REVERT_HEAD SSH_ASKPASS`,
	"words in clients' files":                           `CONVERSATION_HISTORY EPHEMERAL_MESSAGE ERROR_MESSAGE PLANNER_RESPONSE RUN_COMMAND SYSTEM_MESSAGE USER_EXPLICIT USER_INPUT DO_NOT_TRUST TRUST_PARENT`,
	"streams of the relay":                              `GT_FEEDS GT_FLEET GT_HERE`,
	"forms of secrets":                                  `AES_DECRYPT AES_ENCRYPT API_KEY`,
	"on pages only: of tests, other programs, examples": `CLAUDE_CODE_ENABLE_TOKEN_USAGE_ATTACHMENT GT_TURN GT_THOROUGH GT_SAMPLE GT_E2E GT_E2E_ROUNDS GT_IN_ FZF_DEFAULT_OPTS O_APPEND SSL_CERT_FILE LOG_LEVEL`,
}

// TestPageVariables: docs/configuration.md names the variables that gt reads or sets, each of
// them and no other, and no page names one that it does not.
func TestPageVariables(t *testing.T) {
	other := map[string]bool{}
	for _, words := range otherWords {
		for word := range strings.FieldsSeq(words) {
			other[word] = true
		}
	}
	ours := func(name string) bool { return !other[name] && !strings.HasPrefix(name, "GIT_") }
	known := map[string]string{}
	add := func(name, path string) {
		if ours(name) {
			known[name] = path
		}
	}
	parsePrograms(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, ok := stringOf(n); ok {
					s, _, _ = strings.Cut(s, "=")
					if variable.MatchString(s) {
						add(s, path)
					}
				}
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				if len(n.Args) > 0 && reads.MatchString(name) {
					if s, ok := stringOf(n.Args[0]); ok {
						add(s, path)
					}
				}
			}
			return true
		})
	})
	script, err := os.ReadFile("install.sh")
	testenv.NoError(t, err)
	for _, m := range assigned.FindAllStringSubmatch(string(script), -1) {
		add(m[1], "install.sh")
	}
	plugins, err := filepath.Glob("lib/client/*/wiring/*.[jt]s")
	testenv.NoError(t, err)
	for _, path := range plugins {
		data, err := os.ReadFile(path)
		testenv.NoError(t, err)
		for _, m := range regexp.MustCompile(`process\.env\.(\w+)`).FindAllStringSubmatch(string(data), -1) {
			add(m[1], path)
		}
	}
	tables, err := filepath.Glob("lib/client/*/agent.toml")
	testenv.NoError(t, err)
	for _, path := range tables {
		var file struct{ Agents map[string]agent.Client }
		_, err := toml.DecodeFile(path, &file)
		testenv.NoError(t, err)
		for _, c := range file.Agents {
			for _, name := range []string{c.StoreEnv, c.SessionIDEnv, c.ResumePromptEnv} {
				if name != "" {
					add(name, path)
				}
			}
		}
	}
	// Its first column has all of them, and the other tables' cells of the clients.
	listed := map[string]bool{}
	word := regexp.MustCompile("`([A-Z][A-Z0-9_]+)`")
	for _, heading := range []string{"## Variables that you set", "## Variables that gt sets", "## Variables of the clients"} {
		for _, m := range word.FindAllStringSubmatch(section(t, "docs/configuration.md", heading), -1) {
			listed[m[1]] = true
		}
	}
	for name, path := range known {
		if !listed[name] {
			t.Errorf("%s reads or sets %s, which docs/configuration.md does not name", path, name)
		}
	}
	for name := range listed {
		if known[name] == "" {
			t.Errorf("docs/configuration.md names %s, which no program reads or sets", name)
		}
	}
	if len(known) < 60 {
		t.Errorf("only %d variables were found", len(known))
	}
	quoted := regexp.MustCompile("`[^`\n]+`")
	inside := regexp.MustCompile(`\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b`)
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		for _, code := range quoted.FindAllString(string(data), -1) {
			for _, name := range inside.FindAllString(code, -1) {
				if known[name] == "" && ours(name) && !strings.Contains(code, name+"_") && !strings.HasPrefix(code, "`…") {
					t.Errorf("%s names %s, which no program reads or sets", page, name)
				}
			}
		}
	}
}

// keys returns what a type takes from TOML: the names of its fields, and of those in a table of
// one below it with a dot.
func keys(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("toml"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "" || name == "-":
		case inner.Kind() == reflect.Struct && inner.PkgPath() == of.PkgPath():
			for _, below := range keys(inner) {
				names = append(names, name+"."+below)
			}
		default:
			names = append(names, name)
		}
	}
	return names
}

// compareNames reports what one list has and the other has not.
func compareNames(t *testing.T, page string, listed, read []string) {
	t.Helper()
	slices.Sort(listed)
	slices.Sort(read)
	if len(read) < 4 {
		t.Errorf("%s: only %d names were found in the code", page, len(read))
	}
	for _, name := range slices.Compact(read) {
		if !slices.Contains(listed, name) {
			t.Errorf("%s does not name '%s'", page, name)
		}
	}
	for _, name := range slices.Compact(listed) {
		if !slices.Contains(read, name) {
			t.Errorf("%s names '%s', which is none", page, name)
		}
	}
}

// TestPageKeys: the pages name each key of a configuration file that a program reads, no other,
// and the defaults.
func TestPageKeys(t *testing.T) {
	var listed []string
	defaults := map[string]string{}
	for _, row := range rows(section(t, "docs/configuration.md", "## `config.toml`")) {
		name := strings.Trim(row[0], "`")
		listed = append(listed, name)
		defaults[name] = strings.Trim(row[1], "`\"–")
	}
	read := slices.DeleteFunc(keys(reflect.TypeFor[agent.Preferences]()), func(name string) bool { return name == "record" })
	for _, name := range keys(reflect.TypeFor[agent.Record]()) {
		read = append(read, "record."+name)
	}
	compareNames(t, "docs/configuration.md", listed, read)
	none := func(string) string { return "" }
	p := agent.LoadPreferences(place.Config(none), func(err error) { t.Error(err) })
	for name, value := range map[string]string{
		"context_warning":  strconv.Itoa(p.ContextWarning),
		"keep_notes":       duration.Format(p.KeepNotes.Duration()),
		"relay.lost_after": duration.Format(time.Duration(relay.LostAfter)),
	} {
		if defaults[name] != value {
			t.Errorf("docs/configuration.md: the default of %s is '%s', not '%s'", name, value, defaults[name])
		}
	}

	// An item of the table of agents has its keys before the colon.
	listed = nil
	for _, m := range regexp.MustCompile("(?m)^- ((?:`[^`]+`(?:, )?)+): ").FindAllStringSubmatch(section(t, "docs/agents.md", "## The table"), -1) {
		for name := range strings.SplitSeq(strings.ReplaceAll(m[1], "`", ""), ", ") {
			listed = append(listed, name)
		}
	}
	read = keys(reflect.TypeFor[agent.Client]())
	compareNames(t, "docs/agents.md", listed, read)

	// The example of a template has all keys.
	listed = nil
	for _, b := range blocks(t, "docs/reconcile.md") {
		if b.kind != "toml" || !strings.Contains(b.text(), "[[agent]]") {
			continue
		}
		var file map[string]any
		_, err := toml.Decode(b.text(), &file)
		testenv.NoError(t, err)
		for name, value := range file["agent"].([]map[string]any)[0] {
			if below, ok := value.(map[string]any); ok && name != "env" {
				for inner := range maps.Keys(below) {
					listed = append(listed, name+"."+inner)
				}
			} else {
				listed = append(listed, name)
			}
		}
	}
	read = nil
	parsePrograms(t, func(path string, file *ast.File) {
		if filepath.Dir(path) != "lib/reconcile/template" {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			// a.text("name", …) or take(a, "name", …) of the tables a, p and d
			of, key := call.Args[0], call.Args[1]
			if method, ok := call.Fun.(*ast.SelectorExpr); ok {
				of, key = method.X, call.Args[0]
			}
			table, _ := of.(*ast.Ident)
			if table == nil {
				return true
			}
			prefix, ok := map[string]string{"a": "", "p": "pool.", "d": "defaults."}[table.Name]
			if name, is := stringOf(key); ok && is && name != "pool" && name != "defaults" {
				read = append(read, prefix+name)
			}
			return true
		})
	})
	compareNames(t, "docs/reconcile.md", listed, read)
}

// section returns the part of a page below a heading, up to the next of its level.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	data, err := os.ReadFile(page)
	testenv.NoError(t, err)
	_, text, ok := strings.Cut(string(data), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no heading '%s'", page, heading)
	}
	level, _, _ := strings.Cut(heading, " ")
	text, _, _ = strings.Cut(text, "\n"+level+" ")
	return text
}

// rows returns the cells of the tables in a text, without their heads.
func rows(text string) (all [][]string) {
	body := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			body = false
		case strings.HasPrefix(line, "|-"), strings.HasPrefix(line, "|:"):
			body = true
		case body:
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all = append(all, cells)
		}
	}
	return all
}

// TestPageConfiguration: gt takes each configuration that a page shows, and warns of nothing.
func TestPageConfiguration(t *testing.T) {
	dir := t.TempDir()
	getenv := func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return ""
	}
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "gt"), 0o700))
	known, text := map[string]bool{}, allPages(t)
	parsePrograms(t, func(path string, file *ast.File) {
		if filepath.Dir(path) == "lib/client/codex/wiring" || filepath.Dir(path) == "lib/conversation/price" {
			return // Codex's own, and a file that explains itself
		}
		for name := range tags(file, "toml") {
			if known[name] = true; !strings.Contains(text, name) {
				t.Errorf("%s reads the key '%s', which no page names", path, name)
			}
		}
	})
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.kind != "toml" {
				continue
			}
			refuse := func(err error) {
				if err != nil {
					t.Errorf("%v: %v", b, err)
				}
			}
			name := map[bool]string{true: "agents.toml", false: "config.toml"}[strings.HasPrefix(b.text(), "[agents.")]
			testenv.NoError(t, os.WriteFile(filepath.Join(dir, "gt", name), []byte(b.text()), 0o600))
			switch {
			case strings.HasPrefix(b.text(), "[[agent]]"):
				templates, problems := template.Parse(b.String(), []byte(b.text()))
				for _, p := range problems {
					// One may depend on one that the page does not show.
					if p.Key != "agent.depends_on" {
						t.Error(p)
					}
				}
				if len(templates) == 0 {
					t.Errorf("%v: no template is read", b)
				}
			case name == "agents.toml":
				_, err := agent.Load(place.Config(getenv), towns.Town{})
				refuse(err)
			case strings.HasPrefix(b.text(), "["):
				agent.LoadPreferences(place.Config(getenv), refuse)
				agent.LoadRecord(place.Config(getenv), refuse)
			default: // a town's
				var file map[string]any
				meta, err := toml.Decode(b.text(), &file)
				refuse(err)
				for _, key := range meta.Keys() {
					if key[0] != "rigs" && len(key) == 1 && !known[key[0]] || key[0] == "rigs" && len(key) == 3 && !known[key[2]] {
						t.Errorf("%v: nothing reads %v", b, key)
					}
				}
			}
			testenv.NoError(t, os.Remove(filepath.Join(dir, "gt", name)))
		}
	}
}

// tags returns the names that the fields of a file's types have in a format.
func tags(file *ast.File, format string) map[string]bool {
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok && field.Tag != nil {
			tag, _ := stringOf(field.Tag)
			if name, _, _ := strings.Cut(reflect.StructTag(tag).Get(format), ","); name != "" && name != "-" {
				names[name] = true
			}
		}
		return true
	})
	return names
}

// TestPageJSON: a program reads or writes each key of the JSON that a page shows.
func TestPageJSON(t *testing.T) {
	known := map[string]bool{
		"actor": true, "payload": true, "visibility": true, "ts": true, "source": true, // written by the field
		"patrol_*": true, // a type of events
	}
	parsePrograms(t, func(path string, file *ast.File) {
		for name := range tags(file, "json") {
			known[name] = true
		}
	})
	// What Claude Code reads, and variables.
	for _, name := range []string{"statusLine", "command", "refreshInterval", "GT_SESSION_NAME", "GT_TEMPLATE"} {
		known[name] = true
	}
	key := regexp.MustCompile(`"([^"\s]+)": ?`)
	found := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.kind != "json" {
				continue
			}
			for _, m := range key.FindAllStringSubmatch(b.text(), -1) {
				if found++; !known[m[1]] {
					t.Errorf("%v: no program knows the key '%s'", b, m[1])
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d keys were found", found)
	}
}

// TestPagePaths: the files and folders of the source that a page names are there, as those of
// docs/architecture.md.
func TestPagePaths(t *testing.T) {
	path := regexp.MustCompile(`(?:^|[\s"(` + "`" + `]|\./)((?:bench|cmd|e2e|hooks|internal|lib|plugins|testdata)/[\w./*<>-]*[\w*>])`)
	found := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		for _, m := range path.FindAllStringSubmatch(string(data), -1) {
			name := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], "*")
			if m[1] == "lib/retry.go" {
				continue // of an example
			}
			all, err := filepath.Glob(name)
			if found++; err != nil || len(all) == 0 {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d paths were found", found)
	}
}

// TestPageSecrets: docs/security.md shows how gt writes a line with a password.
func TestPageSecrets(t *testing.T) {
	for _, b := range blocks(t, "docs/security.md") {
		secret := strings.Replace(b.text(), "[redacted]", "hunter2", 1)
		if got := redact.Text(secret, nil); got != b.text() || got == secret {
			t.Errorf("%v: gt writes %s", b, got)
		}
	}
}

// TestPageForm: a page begins with its name, what it is for in one paragraph, and, if it has
// commands, with the one that most people want.
func TestPageForm(t *testing.T) {
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		parts := regexp.MustCompile(`\n\n+`).Split(string(data), 4)
		if len(parts) < 3 || !strings.HasPrefix(parts[0], "# ") || strings.Contains(parts[0], "\n") {
			t.Errorf("%s has no name or no text", page)
			continue
		}
		if strings.HasPrefix(parts[1], " ") || strings.HasPrefix(parts[1], "#") || !regexp.MustCompile(`[.:]\**$`).MatchString(parts[1]) {
			t.Errorf("%s: a sentence says first what the page is for:\n%s", page, parts[1])
		}
		commands := slices.DeleteFunc(blocks(t, page), func(b block) bool { return b.kind != "sh" || b.notRun != "" })
		before, _, _ := strings.Cut(string(data), "\n## ")
		if len(commands) > 3 && commands[0].line > strings.Count(before, "\n") && page != "README.md" && !strings.Contains(page, "use-") {
			t.Errorf("%s: the command that most people want comes below a heading, at line %d", page, commands[0].line)
		}
	}
}

// TestPageInline: a command that a page names in its text has the subcommands and flags that the
// page gives it, and a flag that stands alone is one of some program.
func TestPageInline(t *testing.T) {
	apps, flags := map[string]*kong.Node{}, map[string]bool{}
	var collect func(n *kong.Node)
	collect = func(n *kong.Node) {
		for _, f := range n.Flags {
			flags[f.Name] = true
		}
		for _, child := range n.Children {
			collect(child)
		}
	}
	for _, p := range programs.List() {
		app, err := p.Model()
		testenv.NoError(t, err)
		apps[p.Name] = app.Node
		collect(app.Node)
	}
	flags["ci"] = true // of test.sh
	found := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		for _, code := range quotedIn(string(data)) {
			words := strings.Fields(code)
			n := apps[words[0]]
			if n == nil {
				if len(words) == 1 && regexp.MustCompile(`^--[a-z]`).MatchString(code) {
					name, _, _ := strings.Cut(code[2:], "=")
					if !flags[name] && !flags[strings.TrimPrefix(name, "no-")] {
						t.Errorf("%s: no program has the flag %s", page, code)
					}
				}
				continue
			}
			found++
			if err := checkCommand(n, words[1:]); err != nil {
				t.Errorf("%s: `%s`: %v", page, code, err)
			}
		}
	}
	if found < 150 {
		t.Errorf("only %d commands were found", found)
	}
}

// checkCommand follows the words of a command line through a program's grammar.
func checkCommand(n *kong.Node, words []string) error {
	for i, word := range words {
		name, long := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(strings.Trim(name, ",;"), "=")
		switch {
		case word == "--", word == "|", word == "completion":
			return nil
		case long:
			ok := name == "help" || name == "version"
			from := n
			if n.DefaultCmd != nil {
				from = n.DefaultCmd
			}
			for at := from; at != nil; at = at.Parent {
				for _, f := range at.Flags {
					ok = ok || f.Name == name || f.Tag.Negatable != "" && "no-"+f.Name == name
				}
			}
			if !ok {
				return fmt.Errorf("%s has no flag --%s", n.FullPath(), name)
			}
		case strings.HasPrefix(word, "-"), i > 0 && strings.HasPrefix(words[i-1], "-"), !regexp.MustCompile(`^[a-z-]+$`).MatchString(word):
			// a short flag, what may be the value of one, or a placeholder
		default:
			at := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == word || slices.Contains(c.Aliases, word) })
			if at >= 0 {
				n = n.Children[at]
			} else if len(n.Children) > 0 && (n.DefaultCmd == nil || len(n.DefaultCmd.Positional) == 0) {
				return fmt.Errorf("%s has no command '%s'", n.FullPath(), word)
			}
		}
	}
	return nil
}
