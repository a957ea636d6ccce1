package gt_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/log/retention"
)

// literals returns the texts in the Go files of a folder that a pattern matches, or of the
// constants there whose type has a name.
func literals(t *testing.T, dir, pattern, kind string) (all []string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	parsePrograms(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			var exprs []ast.Expr
			switch n := n.(type) {
			case *ast.ValueSpec:
				if of, ok := n.Type.(*ast.Ident); kind != "" && ok && of.Name == kind {
					exprs = n.Values
				}
			case *ast.BasicLit:
				if kind == "" {
					exprs = []ast.Expr{n}
				}
			}
			for _, e := range exprs {
				if s, ok := stringOf(e); ok && want.MatchString(s) {
					all = append(all, s)
				}
			}
			return true
		})
	}, dir)
	slices.Sort(all)
	return slices.Compact(all)
}

// quotedIn returns what stands between backquotes in a paragraph of a text.
func quotedIn(text string) (all []string) {
	text = regexp.MustCompile("(?ms)^```.*?^```$").ReplaceAllString(text, "")
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(paragraph, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

// firstCells returns what stands between backquotes in the first cells of a section's tables.
func firstCells(t *testing.T, page, heading string) (all []string) {
	for _, row := range rows(section(t, page, heading)) {
		all = append(all, quotedIn(row[0])...)
	}
	return all
}

// TestPageLists: the words that a program prints stand in the section that lists them. Where a
// table lists them, it has no others.
func TestPageLists(t *testing.T) {
	for _, list := range []struct {
		page, heading string
		table         bool
		dir           string
		pattern, kind string
		but           string // literals that are something else
	}{
		{"docs/events.md", "## Types", true, "lib/log/eventlog", `^[a-z]+_[a-z_]+$|^handoff$|^spawn$`, "", "to_session session_id actor"},
		{"docs/reconcile.md", "## Events", false, "lib/reconcile", `^session(_state|_repair|\.[a-z_.]+)$`, "", "session.provider session.overlay.prompt"},
		{"docs/keepalive.md", "## What a session does", false, "lib/state/activity", `.`, "Status", ""},
		{"docs/session.md", "## What an agent does", false, "lib/live/status", `.`, "Status", ""},
		{"docs/session.md", "## What an agent does", false, "lib/state/activity", `.`, "Reason", "silent"},
		{"docs/prime.md", "## Four states", true, "lib/command/primecmd", `.`, "State", ""},
		{"docs/pid-files.md", "## States", true, "lib/state/pidfile", `.`, "State", ""},
		{"docs/reconcile.md", "## States", true, "lib/state/lifecycle", `.`, "State", ""},
	} {
		printed := slices.DeleteFunc(literals(t, list.dir, list.pattern, list.kind), func(s string) bool {
			return slices.Contains(strings.Fields(list.but), s)
		})
		if len(printed) < 3 {
			t.Errorf("%s: only %v were found in %s", list.page, printed, list.dir)
		}
		if list.table {
			compareNames(t, list.page, firstCells(t, list.page, list.heading), printed)
			continue
		}
		named := strings.Join(quotedIn(section(t, list.page, list.heading)), " ")
		for _, word := range printed {
			if !strings.Contains(named, word) {
				t.Errorf("%s, '%s', does not name '%s' of %s", list.page, list.heading, word, list.dir)
			}
		}
	}
	// What status says of a hook stands in one block of constants.
	named := section(t, "docs/hooks.md", "## What status says")
	found := 0
	data, err := os.ReadFile("lib/command/hookscmd/status.go")
	testenv.NoError(t, err)
	_, block, _ := strings.Cut(string(data), "// The states of a hook")
	block, _, _ = strings.Cut(block, "\n)")
	for _, m := range regexp.MustCompile(`= "([^"]+)"`).FindAllStringSubmatch(block, -1) {
		found++
		if !strings.Contains(strings.Join(strings.Fields(named), " "), "`"+m[1]+"`") {
			t.Errorf("docs/hooks.md does not name the state '%s'", m[1])
		}
	}
	if found < 10 {
		t.Errorf("only %d states of hooks were found", found)
	}
}

// TestPageRetention: docs/krc.md has the times and curves of all types.
func TestPageRetention(t *testing.T) {
	p := retention.Default()
	listed := map[string]bool{}
	all := rows(section(t, "docs/krc.md", "## How long events are kept"))
	for _, row := range all {
		days, err := strconv.Atoi(strings.Fields(row[1])[0])
		testenv.NoError(t, err)
		names := quotedIn(row[0])
		for _, name := range names {
			listed[name] = true
			if got := int(p.TTL(name).Hours()) / 24; got != days {
				t.Errorf("docs/krc.md: '%s' is kept %d days, not %d", name, got, days)
			}
			if curve := string(retention.CurveOf(name)); curve != row[2] {
				t.Errorf("docs/krc.md: the curve of '%s' is %s, not %s", name, curve, row[2])
			}
		}
		if len(names) == 0 && days != int(p.TTL("another").Hours())/24 {
			t.Errorf("docs/krc.md: other types are kept %v", p.TTL("another"))
		}
	}
	for name := range p.TTLs {
		if !listed[name] {
			t.Errorf("docs/krc.md does not name '%s'", name)
		}
	}
	if len(all) < 6 {
		t.Errorf("only %d rows", len(all))
	}
}

// TestPageExitCodes: the codes that a page lists are those of package cli.
func TestPageExitCodes(t *testing.T) {
	known := []int{2 /* Go's own */, cli.Done, cli.AnswerNo, cli.Bug, cli.IO, cli.Busy, cli.Usage}
	found := 0
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?i)(?:exits?(?: again)? with|exit codes?:?) (\d+)\b|\n- (\d+):|\((7\d|80)\)`).FindAllStringSubmatch(string(data), -1) {
			code, err := strconv.Atoi(m[1] + m[2] + m[3])
			testenv.NoError(t, err)
			if found++; !slices.Contains(known, code) {
				t.Errorf("%s: no program exits with %d", page, code)
			}
		}
	}
	if found < 15 {
		t.Errorf("only %d codes were found", found)
	}
}

// allPages returns what stands in code on all pages.
func allPages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		for _, word := range quotedIn(string(data)) {
			all.WriteString(word + "\n")
		}
		for _, b := range blocks(t, page) {
			all.WriteString(b.text())
		}
	}
	return all.String()
}

// TestPageFields: a page names each key that --json prints, or links to the file of the source
// that explains it.
func TestPageFields(t *testing.T) {
	text := allPages(t)
	for _, page := range pages(t) {
		data, err := os.ReadFile(page)
		testenv.NoError(t, err)
		for _, m := range regexp.MustCompile(`\]\(\.\./(lib/[^)]*\.go)\)`).FindAllStringSubmatch(string(data), -1) {
			file, err := parser.ParseFile(token.NewFileSet(), m[1], nil, parser.SkipObjectResolution)
			testenv.NoError(t, err)
			for name := range tags(file, "json") {
				text += name + "\n"
			}
		}
	}
	goldens, err := filepath.Glob("lib/command/*/testdata/*.json")
	testenv.NoError(t, err)
	found := map[string]bool{}
	for _, golden := range goldens {
		data, err := os.ReadFile(golden)
		testenv.NoError(t, err)
		for _, m := range regexp.MustCompile(`"([A-Za-z_]+)":`).FindAllStringSubmatch(string(data), -1) {
			if !found[m[1]] && !regexp.MustCompile(`\b`+m[1]+`\b`).MatchString(text) {
				t.Errorf("%s has the key '%s', which no page names", golden, m[1])
			}
			found[m[1]] = true
		}
	}
	if len(found) < 100 {
		t.Errorf("only %d keys were found", len(found))
	}
}

// TestPageFiles: a page names each file that gt keeps.
func TestPageFiles(t *testing.T) {
	text := allPages(t)
	found := 0
	for _, dir := range []string{"lib/state", "lib/log", "lib/place", "lib/relay", "lib/reconcile", "lib/record/stop", "lib/catalog", "lib/conversation", "lib/sys"} {
		for _, name := range literals(t, dir, `^\.?[a-z_.-]*\.(json|jsonl|lock|db|yaml|toml|state|tail|turn|request|served|told|bak|bad|pid)$`, "") {
			switch name {
			case "kern.proc.pid", "index.jsonl", "transcript.jsonl", ".mcp.json", "index.lock", "rigs.json": // not gt's
				continue
			}
			if found++; !strings.Contains(text, name) {
				t.Errorf("%s keeps %s, which no page names", dir, name)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d files were found", found)
	}
}

// TestPageAgents: the tables of docs/agents.md and docs/hooks.md say of each agent what its block
// and its dialect have.
func TestPageAgents(t *testing.T) {
	table := agent.Builtin()
	mark := func(letter string, has bool) string {
		if has {
			return letter
		}
		return ""
	}
	found := 0
	for _, row := range rows(section(t, "docs/agents.md", "## Which agent does what")) {
		name := strings.ToLower(strings.Fields(row[0])[0])
		c := table.FindClient(name)
		tested, _, _ := strings.Cut(row[1], "(")
		if got := regexp.MustCompile(`\d+\.\d+\.\d+`).FindAllString(tested, -1); !slices.Equal(got, c.Hooks.ProvedVersions) {
			t.Errorf("docs/agents.md: versions of %s: %v, not %v", name, got, c.Hooks.ProvedVersions)
		}
		want := mark("S", hook.DialectOf(name).Compaction) + mark("F", len(c.ForkFlag) > 0) + mark("T", c.Ask != nil)
		if got := strings.NewReplacer("A", "", ",", "", " ", "", "–", "").Replace(row[4]); got != want {
			t.Errorf("docs/agents.md: %s has %s, not %s", name, want, got)
		}
		found++
	}
	usual := regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`)
	hooks, err := os.ReadFile("docs/hooks.md")
	testenv.NoError(t, err)
	_, text, _ := strings.Cut(string(hooks), "\n| agent | user | project |\n")
	text, _, _ = strings.Cut(text, "\n\n")
	for _, row := range rows("| agent | user | project |\n" + text) {
		at := table.FindClient(strings.Trim(row[0], "`")).Hooks
		user := at.User
		if user != "" && !strings.HasPrefix(user, "~") {
			user = usual.ReplaceAllString(at.Home, "$1") + "/" + user
		}
		want := slices.DeleteFunc([]string{user, at.Project, at.Local}, func(s string) bool { return s == "" })
		if got := quotedIn(row[1] + " " + row[2]); !slices.Equal(got, want) {
			t.Errorf("docs/hooks.md: the files of %s are %v, not %v", row[0], want, got)
		}
		found++
	}
	if found != 23 {
		t.Errorf("%d rows were compared", found)
	}
}

// valueOf returns the number that a constant is: "200" or "64 << 10". Of another expression
// it returns 0.
func valueOf(e ast.Expr) int64 {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, _ := strconv.ParseInt(e.Value, 0, 64)
		return n
	case *ast.BinaryExpr:
		if e.Op == token.SHL {
			return valueOf(e.X) << valueOf(e.Y)
		}
	}
	return 0
}

// TestPageThread: the bounds in docs/thread.md are those of package thread.
func TestPageThread(t *testing.T) {
	bounds := map[string]int64{}
	parsePrograms(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
				bounds[spec.Names[0].Name] = valueOf(spec.Values[0])
			}
			return true
		})
	}, "lib/state/thread", "lib/text/standing")
	text := section(t, "docs/thread.md", "## What is in it")
	for name, phrase := range map[string]string{
		"MaxRequest":  "%d KB kept",
		"maxPrompts":  "word for word | %d KB",
		"maxLast":     "the last in full (%d KB)",
		"maxOlder":    "beginning and end (%d KB)",
		"maxMessages": "forty",
		"maxFound":    "twenty of",
		"maxActions":  "two hundred",
	} {
		want := phrase
		if strings.Contains(phrase, "%d") {
			want = fmt.Sprintf(phrase, bounds[name]>>10)
		} else if n := map[string]int64{"forty": 40, "twenty of": 20, "two hundred": 200}[phrase]; bounds[name] != n {
			t.Errorf("docs/thread.md says '%s', and %s is %d", phrase, name, bounds[name])
		}
		if !strings.Contains(text, want) {
			t.Errorf("docs/thread.md does not say '%s', which %s is", want, name)
		}
	}
}
