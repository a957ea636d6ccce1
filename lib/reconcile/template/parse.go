package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2/unstable"

	"gt/lib/place/town"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/route"
	"gt/lib/text/duration"
	"gt/lib/text/spelling"
)

// Problem is an error at a place in a file.
type Problem struct {
	File string
	Line int    // from 1; 0 if unknown
	Key  string // such as agent.pool.max; "" for the whole file
	Err  error
}

func (p Problem) Error() string {
	at := p.File
	if p.Line > 0 {
		at = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Key != "" {
		at += ": " + p.Key
	}
	return at + ": " + p.Err.Error()
}

func (p Problem) Unwrap() error { return p.Err }

// Parse returns the templates of a file in order, and all problems sorted by line. The
// templates must not be used if there is a problem. sets names variables that gt sets
// itself, which no template may set.
func Parse(file string, text []byte, sets ...string) ([]Template, []Problem) {
	var content struct {
		Agent []map[string]any `toml:"agent"`
	}
	if _, err := toml.Decode(string(text), &content); err != nil {
		p := Problem{File: file, Key: "agent", Err: errors.New("templates are [[agent]] blocks")}
		if syntax := (toml.ParseError{}); errors.As(err, &syntax) {
			p.Key = ""
			// The parser's own line number is one too high for an error at the end of a
			// line.
			p.Line = 1 + strings.Count(string(text[:min(syntax.Position.Start, len(text))]), "\n")
			p.Err = errors.New(strings.ReplaceAll(syntax.Message, `'\n'`, "the end of the line"))
		}
		return nil, []Problem{p}
	}
	headers, lines := keyLines(text)
	r := &reader{file: file, lines: lines, reservedVars: append([]string{instance.Variable, "GT_SESSION_NAME", "GT_TEMPLATE"}, sets...)}
	r.reportMistyped(headers)
	var all []Template
	if len(content.Agent) > maxTemplates {
		r.addProblem(0, "", fmt.Errorf("more than %d templates", maxTemplates))
		return nil, r.problems
	}
	for i, m := range content.Agent {
		r.block = i
		all = append(all, r.readTemplate(m))
	}
	r.validateAll(all)
	sort.SliceStable(r.problems, func(i, j int) bool { return r.problems[i].Line < r.problems[j].Line })
	return all, r.problems
}

type reader struct {
	file         string
	lines        func(block int, key string) int // line numbers in the file
	block        int                             // index of the agent that is read
	reservedVars []string                        // variables that gt sets itself
	problems     []Problem
}

// checkVariable returns an error for a variable that gt sets.
func (r *reader) checkVariable(name string) error {
	if slices.Contains(r.reservedVars, name) {
		return fmt.Errorf("%s: gt sets it, so that what a session does is known as its own", name)
	}
	return nil
}

func (r *reader) addProblem(block int, key string, err error) {
	full := "agent"
	if key != "" {
		full += "." + key
	}
	r.problems = append(r.problems, Problem{File: r.file, Line: r.lines(block, key), Key: full, Err: err})
}

// reportMistyped reports tables whose names look like misspelled [[agent]], [agent.pool] or
// [session]. All other unknown tables are ignored, because they may belong to another program.
func (r *reader) reportMistyped(headers []tableHeader) {
	for _, h := range headers {
		if h.name == "pool" {
			r.problems = append(r.problems, Problem{File: r.file, Line: h.line, Key: h.name, Err: errors.New("unknown table (did you mean agent.pool?)")})
		}
		first, _, below := strings.Cut(h.name, ".")
		if !h.array && slices.Contains(town.Tables, first) {
			continue
		}
		// A similar name means a table of ours only in its form: [[agent]], [agent.x] or [session].
		for _, own := range []string{"agent", "session"} {
			if near := spelling.Distance(first, own); near == 0 || near > 2 || own == "agent" && !h.array && !below || own == "session" && h.array {
				continue
			}
			r.problems = append(r.problems, Problem{File: r.file, Line: h.line, Key: h.name, Err: fmt.Errorf("unknown table (%s is meant?)", own)})
		}
	}
}

// table is a table of a block.
type table struct {
	r      *reader
	prefix string         // prefix of its keys: "" or "pool."
	unread map[string]any // what was not read yet
	known  []string       // the keys that were asked for
}

func (r *reader) newTable(m map[string]any, prefix string) *table {
	return &table{r: r, prefix: prefix, unread: maps.Clone(m)}
}

// takeValue calls set with the value of a key, if it is there, or reports that it is no T.
func takeValue[T any](t *table, key, want string, set func(T) error) {
	t.known = append(t.known, key)
	v, ok := t.unread[key]
	if !ok {
		return
	}
	delete(t.unread, key)
	value, ok := v.(T)
	if !ok {
		t.r.addProblem(t.r.block, t.prefix+key, fmt.Errorf("it must be %s, not %s", want, typeName(v)))
		return
	}
	if err := set(value); err != nil {
		t.r.addProblem(t.r.block, t.prefix+key, err)
	}
}

// typeName names the type of a TOML value, for an error. All types but dates and times are listed.
func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64, float64:
		return "a number"
	case bool:
		return "true or false"
	case []any, []map[string]any:
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date"
}

// readText and its siblings set *to if the table has the key, and report a value that is wrong.
func (t *table) readText(key string, to *string) {
	takeValue(t, key, "a string", func(s string) error {
		if strings.ContainsRune(s, 0) {
			return errors.New("it contains a NUL")
		}
		*to = s
		return nil
	})
}

func (t *table) readChoice(key string, to *string, values ...string) {
	takeValue(t, key, "a string", func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("invalid value '%.80s' (try %s)", s, strings.Join(values, ", "))
		}
		*to = s
		return nil
	})
}

func (t *table) readNumber(key string, to *int, least, most int) {
	takeValue(t, key, "a number", func(n int64) error {
		if n < int64(least) || n > int64(most) {
			return fmt.Errorf("%d is not between %d and %d", n, least, most)
		}
		*to = int(n)
		return nil
	})
}

func (t *table) readDuration(key string, to *time.Duration) {
	takeValue(t, key, "a duration such as \"30s\"", func(s string) error {
		d, err := duration.Parse(s)
		switch {
		case err != nil:
			return err
		case d < 0 || d > maxDuration:
			return fmt.Errorf("'%.40s' is not between 0 and a year", s)
		}
		*to = d
		return nil
	})
}

// readTexts reads an array. check returns why a value is wrong; it may be nil.
func (t *table) readTexts(key string, to *[]string, check func(string) error) {
	takeValue(t, key, "an array of strings", func(list []any) error {
		if len(list) > maxItems {
			return fmt.Errorf("more than %d values", maxItems)
		}
		values := make([]string, 0, len(list))
		for _, v := range list {
			s, ok := v.(string)
			if !ok || strings.ContainsRune(s, 0) {
				return fmt.Errorf("it must be an array of strings, and contains %s", typeName(v))
			}
			if check != nil {
				if err := check(s); err != nil {
					return err
				}
			}
			values = append(values, s)
		}
		*to = values
		return nil
	})
}

// readTownPath reads the path of a file in the town, relative to its root.
func (t *table) readTownPath(key string, to *string) {
	takeValue(t, key, "a string", func(s string) error {
		if !filepath.IsLocal(s) || path.Clean(s) != s || s == "." {
			return fmt.Errorf("'%.200s' is not the path of a file in the town", s)
		}
		*to = s
		return nil
	})
}

func (t *table) refuseUnknown() {
	for _, key := range slices.Sorted(maps.Keys(t.unread)) {
		t.r.addProblem(t.r.block, t.prefix+key, fmt.Errorf("unknown key (known: %s)", strings.Join(t.known, ", ")))
	}
}

// readTemplate reads a block. It goes on after a problem, so that all of them are reported at once.
func (r *reader) readTemplate(m map[string]any) Template {
	t := blankTemplate()
	t.Line, t.ProviderLine = r.lines(r.block, ""), r.lines(r.block, "provider")
	t.PromptLine, t.SetupLine = r.lines(r.block, "prompt_template"), r.lines(r.block, "session_setup_script")
	a := r.newTable(m, "")
	takeValue(a, "name", "a string", func(s string) error {
		t.Name = s
		return instance.CheckName(s)
	})
	if _, ok := m["name"]; !ok {
		r.addProblem(r.block, "name", errors.New("it is missing"))
	}
	a.readText("provider", &t.Provider)
	if t.Provider == "" {
		r.addProblem(r.block, "provider", errors.New("it is missing: the agent's name, such as \"claude\""))
	}
	a.readTexts("command", &t.Command, nil)
	a.readTownPath("prompt_template", &t.PromptTemplate)
	a.readText("work_dir", &t.WorkDir)
	takeValue(a, "worktree", "true or false", func(is bool) error {
		t.Worktree = is
		return nil
	})
	takeValue(a, "env", "a table", func(vars map[string]any) error {
		t.Env = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			value, ok := vars[name].(string)
			switch {
			case !ok || strings.ContainsRune(value, 0):
				return fmt.Errorf("%.80s: it must be a string, not %s", name, typeName(vars[name]))
			case name == "" || strings.ContainsAny(name, "=\x00"):
				return fmt.Errorf("invalid variable '%.80s'", name)
			}
			if err := r.checkVariable(name); err != nil {
				return err
			}
			t.Env[name] = value
		}
		return nil
	})
	a.readTexts("hooks", &t.Hooks, nil)
	a.readTexts("pre_start", &t.PreStart, nil)
	a.readTexts("session_setup", &t.SessionSetup, nil)
	a.readTownPath("session_setup_script", &t.SetupScript)
	a.readTexts("depends_on", &t.DependsOn, nil)
	a.readDuration("idle_timeout", &t.IdleTimeout)
	a.readDuration("restart_window", &t.RestartWindow)
	a.readNumber("max_restarts_per_window", &t.MaxRestarts, 0, maxItems)
	a.readText("account", &t.Account)
	a.readText("title", &t.Title)
	a.readText("description", &t.Description)
	takeValue(a, "pool", "a table", func(m map[string]any) error {
		r.readPool(&t, r.newTable(m, "pool."))
		return nil
	})
	takeValue(a, "defaults", "a table", func(m map[string]any) error {
		r.readDefaults(&t, r.newTable(m, "defaults."))
		return nil
	})
	a.refuseUnknown()
	return t
}

// readPool reads the pool block of an agent into its template, on top of the defaults of a pool.
func (r *reader) readPool(t *Template, p *table) {
	_, pool := tick.Defaults()
	t.Pool = &pool
	// readNumber removes what it reads from p.unread, but max must be there.
	given := maps.Clone(p.unread)
	p.readNumber("min", &pool.Min, 0, maxPool)
	p.readNumber("max", &pool.Max, 0, maxPool)
	if _, ok := given["max"]; !ok {
		r.addProblem(r.block, "pool.max", errors.New("it is missing: how many sessions there are at most"))
	}
	if pool.Min > pool.Max {
		r.addProblem(r.block, "pool.min", fmt.Errorf("%d is more than the max, %d", pool.Min, pool.Max))
	}
	p.readText("check", &t.Check)
	t.RoutingLabel = "pool:" + t.Name
	takeValue(p, "routing_label", "a string", func(s string) error {
		t.RoutingLabel = s
		return route.CheckLabel(s)
	})
	p.readDuration("drain_timeout", &pool.DrainTimeout)
	p.readChoice("archive_order", &pool.ArchiveOrder, tick.LIFO, tick.FIFO, tick.IdleFirst)
	p.readChoice("reactivate_order", &pool.ReactivateOrder, tick.LIFO, tick.FIFO)
	p.readNumber("max_archived", &pool.MaxArchived, 0, maxPool)
	p.readNumber("quarantine_max_attempts", &t.QuarantineAttempts, 0, maxItems)
	p.readDuration("quarantine_backoff_cap", &t.QuarantineCap)
	p.readDuration("quarantine_healthy_duration", &t.QuarantineHealthy)
	p.readDuration("creation_timeout", &t.CreationTimeout)
	p.readNumber("max_unavailable", &pool.MaxUnavailable, 1, maxPool)
	p.readNumber("max_replaced", &pool.MaxReplaced, 0, maxPool)
	p.readDuration("archived_secret_ttl", &pool.ArchivedSecretTTL)
	p.readChoice("orphaned_work", &t.OrphanedWork, Block, Release)
	p.refuseUnknown()
}

// readDefaults reads the defaults table of an agent, and what a session may override in it.
func (r *reader) readDefaults(t *Template, d *table) {
	d.readText("model", &t.Model)
	mode := string(t.WakeMode)
	d.readChoice("wake_mode", &mode, string(tick.Fresh), string(tick.Resume))
	t.WakeMode = tick.WakeMode(mode)
	d.readTexts("allow_overlay", &t.AllowOverlay, func(s string) error {
		if !slices.Contains(overlays, s) {
			return fmt.Errorf("invalid value '%.80s' (try %s)", s, strings.Join(overlays, ", "))
		}
		return nil
	})
	d.readTexts("allow_env_override", &t.AllowEnv, func(s string) error { return cmp.Or(checkEnvName(s), r.checkVariable(s)) })
	d.refuseUnknown()
}

// validateAll reports what no single block shows: double names and labels, and bad dependencies.
func (r *reader) validateAll(all []Template) {
	first := map[string]int{}
	labels := map[string]string{}
	for i, t := range all {
		if t.Name == "" {
			continue
		}
		if at, ok := first[t.Name]; ok {
			r.addProblem(i, "name", fmt.Errorf("'%s' is the name of another template, in line %d", t.Name, all[at].Line))
			continue
		}
		first[t.Name] = i
		if t.Pool != nil {
			if other, ok := labels[t.RoutingLabel]; ok {
				r.addProblem(i, "pool.routing_label", fmt.Errorf("'%s' is the label of the pool %s", t.RoutingLabel, other))
			}
			labels[t.RoutingLabel] = t.Name
		}
	}
	for i, t := range all {
		for _, name := range t.DependsOn {
			if _, ok := first[name]; !ok {
				r.addProblem(i, "depends_on", fmt.Errorf("there is no template '%.80s'", name))
			}
		}
		if first[t.Name] == i {
			if way := findCycle(all, first, t.Name); way != nil {
				r.addProblem(i, "depends_on", fmt.Errorf("it depends on itself: %s", strings.Join(way, ", ")))
			}
		}
	}
}

// findCycle returns the shortest way from a template over depends_on back to itself, with its name at
// both ends, or nil. first has the indexes in all by name.
func findCycle(all []Template, first map[string]int, name string) []string {
	from := map[string]string{} // the template that each one was reached from
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		i, ok := first[queue[0]]
		if !ok {
			continue
		}
		for _, next := range all[i].DependsOn {
			if next == name {
				way := []string{name}
				for at := queue[0]; at != name; at = from[at] {
					way = append(way, at)
				}
				way = append(way, name)
				slices.Reverse(way)
				return way
			}
			if _, seen := from[next]; !seen {
				from[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// tableHeader is the line that begins a table, or an element of an array of tables.
type tableHeader struct {
	name  string
	array bool
	line  int
}

// noBlock stands for the block of the table [session].
const noBlock = -1

// keyLines returns the headers of a text, and a function that finds the line of a key, such
// as pool.max, in the [[agent]] block with a number, or of session.provider in noBlock. It falls
// back to the line of the key's table, of the block, or 0. A key in an inline table is not found.
func keyLines(text []byte) (headers []tableHeader, find func(block int, key string) int) {
	type place struct {
		block int
		key   string
	}
	lines := map[place]int{}
	blocks, block, prefix, inBlock := 0, noBlock, "", false // within a block
	line, counted := 1, 0                                   // the line of the offset counted
	parser := unstable.Parser{}
	for parser.Reset(text); parser.NextExpression(); {
		e := parser.Expression()
		var names []string
		for key := e.Key(); key.Next(); names = append(names, string(key.Node().Data)) {
			at := int(key.Node().Raw.Offset)
			line, counted = line+bytes.Count(text[counted:at], []byte("\n")), at
		}
		name := strings.Join(names, ".")
		if e.Kind != unstable.KeyValue {
			headers = append(headers, tableHeader{name, e.Kind == unstable.ArrayTable, line})
			table, below := strings.CutPrefix(name, "agent.")
			switch inBlock = true; {
			case e.Kind == unstable.ArrayTable && name == "agent":
				blocks, block, prefix, name = blocks+1, blocks, "", ""
			case e.Kind == unstable.Table && below && blocks > 0:
				block, prefix, name = blocks-1, table+".", table
			case e.Kind == unstable.Table && name == "session":
				block, prefix = noBlock, "session."
			default:
				inBlock = false
			}
		} else {
			name = prefix + name
		}
		if at := (place{block, name}); inBlock && lines[at] == 0 {
			lines[at] = line
		}
	}
	return headers, func(block int, key string) int {
		if at := lines[place{block, key}]; at != 0 {
			return at
		}
		table, _, ok := strings.Cut(key, ".")
		if at := lines[place{block, table}]; ok && at != 0 {
			return at
		}
		return lines[place{block, ""}]
	}
}
