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
	r := &reader{file: file, lines: lines, sets: append([]string{instance.Variable, "GT_SESSION_NAME", "GT_TEMPLATE"}, sets...)}
	r.mistyped(headers)
	var all []Template
	if len(content.Agent) > maxTemplates {
		r.bad(0, "", fmt.Errorf("more than %d templates", maxTemplates))
		return nil, r.problems
	}
	for i, m := range content.Agent {
		r.block = i
		all = append(all, r.template(m))
	}
	r.validateAll(all)
	sort.SliceStable(r.problems, func(i, j int) bool { return r.problems[i].Line < r.problems[j].Line })
	return all, r.problems
}

type reader struct {
	file     string
	lines    func(block int, key string) int // line numbers in the file
	block    int                             // index of the agent that is read
	sets     []string                        // variables that gt sets itself
	problems []Problem
}

// knownName returns an error for a variable that gt sets.
func (r *reader) knownName(name string) error {
	if slices.Contains(r.sets, name) {
		return fmt.Errorf("%s: gt sets it, so that what a session does is known as its own", name)
	}
	return nil
}

func (r *reader) bad(block int, key string, err error) {
	full := "agent"
	if key != "" {
		full += "." + key
	}
	r.problems = append(r.problems, Problem{File: r.file, Line: r.lines(block, key), Key: full, Err: err})
}

// mistyped reports tables whose names look like misspelled agent or session. All other
// unknown tables are ignored, because they may belong to another program.
func (r *reader) mistyped(headers []header) {
	for _, h := range headers {
		if h.name == "pool" {
			r.problems = append(r.problems, Problem{File: r.file, Line: h.line, Key: h.name, Err: errors.New("unknown table (did you mean agent.pool?)")})
		}
		first, _, below := strings.Cut(h.name, ".")
		if !h.array && slices.Contains(town.Tables, first) {
			continue
		}
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
	left   map[string]any // what was not read yet
	known  []string       // the keys that were asked for
}

func (r *reader) table(m map[string]any, prefix string) *table {
	return &table{r: r, prefix: prefix, left: maps.Clone(m)}
}

// take calls set with the value of a key if the key is there and has the type.
func take[T any](t *table, key, want string, set func(T) error) {
	t.known = append(t.known, key)
	v, ok := t.left[key]
	if !ok {
		return
	}
	delete(t.left, key)
	value, ok := v.(T)
	if !ok {
		t.r.bad(t.r.block, t.prefix+key, fmt.Errorf("it must be %s, not %s", want, kind(v)))
		return
	}
	if err := set(value); err != nil {
		t.r.bad(t.r.block, t.prefix+key, err)
	}
}

// kind names the type of a TOML value, for an error. All types but dates and times are listed.
func kind(v any) string {
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

// text and its siblings set *to if the table has the key, and report a value that is wrong.
func (t *table) text(key string, to *string) {
	take(t, key, "a string", func(s string) error {
		if strings.ContainsRune(s, 0) {
			return errors.New("it contains a NUL")
		}
		*to = s
		return nil
	})
}

func (t *table) oneOf(key string, to *string, values ...string) {
	take(t, key, "a string", func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("invalid value '%.80s' (try %s)", s, strings.Join(values, ", "))
		}
		*to = s
		return nil
	})
}

func (t *table) number(key string, to *int, least, most int) {
	take(t, key, "a number", func(n int64) error {
		if n < int64(least) || n > int64(most) {
			return fmt.Errorf("%d is not between %d and %d", n, least, most)
		}
		*to = int(n)
		return nil
	})
}

func (t *table) duration(key string, to *time.Duration) {
	take(t, key, "a duration such as \"30s\"", func(s string) error {
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

// texts reads an array. check returns why a value is wrong; it may be nil.
func (t *table) texts(key string, to *[]string, check func(string) error) {
	take(t, key, "an array of strings", func(list []any) error {
		if len(list) > maxItems {
			return fmt.Errorf("more than %d values", maxItems)
		}
		values := make([]string, 0, len(list))
		for _, v := range list {
			s, ok := v.(string)
			if !ok || strings.ContainsRune(s, 0) {
				return fmt.Errorf("it must be an array of strings, and contains %s", kind(v))
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

// inTown reads the path of a file in the town, relative to its root.
func (t *table) inTown(key string, to *string) {
	take(t, key, "a string", func(s string) error {
		if !filepath.IsLocal(s) || path.Clean(s) != s || s == "." {
			return fmt.Errorf("'%.200s' is not the path of a file in the town", s)
		}
		*to = s
		return nil
	})
}

func (t *table) refuseUnknown() {
	for _, key := range slices.Sorted(maps.Keys(t.left)) {
		t.r.bad(t.r.block, t.prefix+key, fmt.Errorf("unknown key (known: %s)", strings.Join(t.known, ", ")))
	}
}

// template reads a block. It goes on after a problem, so that all of them are reported at once.
func (r *reader) template(m map[string]any) Template {
	t := blank()
	t.Line, t.ProviderLine = r.lines(r.block, ""), r.lines(r.block, "provider")
	t.PromptLine, t.SetupLine = r.lines(r.block, "prompt_template"), r.lines(r.block, "session_setup_script")
	a := r.table(m, "")
	take(a, "name", "a string", func(s string) error {
		t.Name = s
		return instance.CheckName(s)
	})
	if _, ok := m["name"]; !ok {
		r.bad(r.block, "name", errors.New("it is missing"))
	}
	a.text("provider", &t.Provider)
	if t.Provider == "" {
		r.bad(r.block, "provider", errors.New("it is missing: the agent's name, such as \"claude\""))
	}
	a.texts("command", &t.Command, nil)
	a.inTown("prompt_template", &t.PromptTemplate)
	a.text("work_dir", &t.WorkDir)
	take(a, "worktree", "true or false", func(is bool) error {
		t.Worktree = is
		return nil
	})
	take(a, "env", "a table", func(vars map[string]any) error {
		t.Env = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(vars)) {
			value, ok := vars[name].(string)
			switch {
			case !ok || strings.ContainsRune(value, 0):
				return fmt.Errorf("%.80s: it must be a string, not %s", name, kind(vars[name]))
			case name == "" || strings.ContainsAny(name, "=\x00"):
				return fmt.Errorf("invalid variable '%.80s'", name)
			}
			if err := r.knownName(name); err != nil {
				return err
			}
			t.Env[name] = value
		}
		return nil
	})
	a.texts("hooks", &t.Hooks, nil)
	a.texts("pre_start", &t.PreStart, nil)
	a.texts("session_setup", &t.SessionSetup, nil)
	a.inTown("session_setup_script", &t.SetupScript)
	a.texts("depends_on", &t.DependsOn, nil)
	a.duration("idle_timeout", &t.IdleTimeout)
	a.duration("restart_window", &t.RestartWindow)
	a.number("max_restarts_per_window", &t.MaxRestarts, 0, maxItems)
	a.text("account", &t.Account)
	a.text("title", &t.Title)
	a.text("description", &t.Description)
	take(a, "pool", "a table", func(m map[string]any) error {
		r.pool(&t, r.table(m, "pool."))
		return nil
	})
	take(a, "defaults", "a table", func(m map[string]any) error {
		r.defaults(&t, r.table(m, "defaults."))
		return nil
	})
	a.refuseUnknown()
	return t
}

// pool reads the pool block of an agent into its template, on top of the defaults of a pool.
func (r *reader) pool(t *Template, p *table) {
	_, pool := tick.Defaults()
	t.Pool = &pool
	// number removes what it reads from p.left, but max must be there.
	given := maps.Clone(p.left)
	p.number("min", &pool.Min, 0, maxPool)
	p.number("max", &pool.Max, 0, maxPool)
	if _, ok := given["max"]; !ok {
		r.bad(r.block, "pool.max", errors.New("it is missing: how many sessions there are at most"))
	}
	if pool.Min > pool.Max {
		r.bad(r.block, "pool.min", fmt.Errorf("%d is more than the max, %d", pool.Min, pool.Max))
	}
	p.text("check", &t.Check)
	t.RoutingLabel = "pool:" + t.Name
	take(p, "routing_label", "a string", func(s string) error {
		t.RoutingLabel = s
		return route.CheckLabel(s)
	})
	p.duration("drain_timeout", &pool.DrainTimeout)
	p.oneOf("archive_order", &pool.ArchiveOrder, tick.LIFO, tick.FIFO, tick.IdleFirst)
	p.oneOf("reactivate_order", &pool.ReactivateOrder, tick.LIFO, tick.FIFO)
	p.number("max_archived", &pool.MaxArchived, 0, maxPool)
	p.number("quarantine_max_attempts", &t.QuarantineAttempts, 0, maxItems)
	p.duration("quarantine_backoff_cap", &t.QuarantineCap)
	p.duration("quarantine_healthy_duration", &t.QuarantineHealthy)
	p.duration("creation_timeout", &t.CreationTimeout)
	p.number("max_unavailable", &pool.MaxUnavailable, 1, maxPool)
	p.number("max_replaced", &pool.MaxReplaced, 0, maxPool)
	p.duration("archived_secret_ttl", &pool.ArchivedSecretTTL)
	p.oneOf("orphaned_work", &t.OrphanedWork, Block, Release)
	p.refuseUnknown()
}

// defaults reads the defaults table of an agent, and what a session may override in it.
func (r *reader) defaults(t *Template, d *table) {
	d.text("model", &t.Model)
	mode := string(t.WakeMode)
	d.oneOf("wake_mode", &mode, string(tick.Fresh), string(tick.Resume))
	t.WakeMode = tick.WakeMode(mode)
	d.texts("allow_overlay", &t.AllowOverlay, func(s string) error {
		if !slices.Contains(overlays, s) {
			return fmt.Errorf("invalid value '%.80s' (try %s)", s, strings.Join(overlays, ", "))
		}
		return nil
	})
	d.texts("allow_env_override", &t.AllowEnv, func(s string) error { return cmp.Or(checkEnvName(s), r.knownName(s)) })
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
			r.bad(i, "name", fmt.Errorf("'%s' is the name of another template, in line %d", t.Name, all[at].Line))
			continue
		}
		first[t.Name] = i
		if t.Pool != nil {
			if other, ok := labels[t.RoutingLabel]; ok {
				r.bad(i, "pool.routing_label", fmt.Errorf("'%s' is the label of the pool %s", t.RoutingLabel, other))
			}
			labels[t.RoutingLabel] = t.Name
		}
	}
	for i, t := range all {
		for _, name := range t.DependsOn {
			if _, ok := first[name]; !ok {
				r.bad(i, "depends_on", fmt.Errorf("there is no template '%.80s'", name))
			}
		}
		if first[t.Name] == i {
			if way := circle(all, first, t.Name); way != nil {
				r.bad(i, "depends_on", fmt.Errorf("it depends on itself: %s", strings.Join(way, ", ")))
			}
		}
	}
}

// circle returns the shortest way from a template over depends_on back to itself, with its name at
// both ends, or nil. first has the indexes in all by name.
func circle(all []Template, first map[string]int, name string) []string {
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

// header is the line that begins a table, or an element of an array of tables.
type header struct {
	name  string
	array bool
	line  int
}

// noBlock stands for the block of the table [session].
const noBlock = -1

// keyLines returns the headers of a text, and a function that finds the line of a key, such
// as pool.max, in the [[agent]] block with a number, or of session.provider in noBlock. It falls
// back to the line of the key's table, of the block, or 0. A key in an inline table is not found.
func keyLines(text []byte) (headers []header, find func(block int, key string) int) {
	type place struct {
		block int
		key   string
	}
	lines := map[place]int{}
	blocks, block, prefix, within := 0, noBlock, "", false // within a block
	line, counted := 1, 0
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
			headers = append(headers, header{name, e.Kind == unstable.ArrayTable, line})
			table, below := strings.CutPrefix(name, "agent.")
			switch within = true; {
			case e.Kind == unstable.ArrayTable && name == "agent":
				blocks, block, prefix, name = blocks+1, blocks, "", ""
			case e.Kind == unstable.Table && below && blocks > 0:
				block, prefix, name = blocks-1, table+".", table
			case e.Kind == unstable.Table && name == "session":
				block, prefix = noBlock, "session."
			default:
				within = false
			}
		} else {
			name = prefix + name
		}
		if at := (place{block, name}); within && lines[at] == 0 {
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
