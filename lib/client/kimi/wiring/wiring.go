// Package wiring describes the wiring of Kimi Code.
package wiring

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2/unstable"

	"gt/lib/client/wiring"
)

//go:embed kimi.toml
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "kimi", Text: text, Shape: wiring.Flat, Format: format{},
		TurnEnds:     []string{"Stop"},
		Compact:      "/compact",
		AfterInstall: "Kimi Code reads its settings when it starts: start it anew, or type /reload",
		Command: &wiring.Command{ // a skill, which a person calls by name
			File: "skills/handoff/SKILL.md", Typed: "/handoff", Args: "$ARGUMENTS",
			Head: "---\nname: handoff\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\n" +
				"disableModelInvocation: true\n---\n",
		},
	}
}

// format is Kimi Code's config.toml, in which each hook is a table [[hooks]].
type format struct{}

// errLayout is for hooks in another notation, such as an array on one line.
var errLayout = errors.New("gt can edit its hooks only as tables that begin with a line [[hooks]]")

// table is a table [[hooks]] in the text, from its first line to its last setting. end is
// the end of that line, or "" at the end of the text.
type table struct {
	from, to   int
	end        string
	handler    wiring.Handler
	hasHandler bool // it has what a handler has
}

func (format) Handlers(text []byte) ([]wiring.Handler, error) {
	tables, err := parseTables(text)
	if err != nil {
		return nil, err
	}
	var all []wiring.Handler
	for _, t := range tables {
		if t.hasHandler {
			all = append(all, t.handler)
		}
	}
	return all, nil
}

// Rewire compares what both texts say, so that a text that gt does not understand is
// refused and not damaged.
func (format) Rewire(text []byte, want []wiring.Handler) ([]byte, []wiring.Change, error) {
	tables, err := parseTables(text)
	if err != nil {
		return nil, nil, err
	}
	var out []byte
	var changes []wiring.Change
	missing, done := slices.Clone(want), 0
	for _, t := range tables {
		if !t.hasHandler || t.handler.Binary == "" {
			continue
		}
		i := slices.IndexFunc(missing, func(w wiring.Handler) bool { return w.Event == t.handler.Event && w.Binary == t.handler.Binary })
		if i >= 0 && t.handler.Equal(missing[i]) {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		out = append(out, text[done:t.from]...)
		changes = append(changes, wiring.Change{Handler: t.handler})
		if i >= 0 {
			out = append(out, renderTable(missing[i])+t.end...)
			changes = append(changes, wiring.Change{Added: true, Handler: missing[i]})
			missing = slices.Delete(missing, i, i+1)
		} else {
			out = trimAppended(out, t.end)
		}
		done = t.to
	}
	out = append(out, text[done:]...)
	for _, w := range missing {
		out = appendTable(out, renderTable(w))
		changes = append(changes, wiring.Change{Added: true, Handler: w})
	}
	return out, changes, checkOnlyOurs(text, out, want)
}

// appendTable adds a table at the end of a text. It ends as the text did: with the end of the
// line or without.
func appendTable(text []byte, table string) []byte {
	switch {
	case len(text) == 0:
		return []byte(table + "\n")
	case text[len(text)-1] == '\n':
		return append(text, "\n"+table+"\n"...)
	}
	return append(text, "\n\n"+table...)
}

// trimAppended undoes what appendTable put before a table with this end of its last line.
func trimAppended(before []byte, end string) []byte {
	if bytes.HasSuffix(before, []byte("\n\n")) || string(before) == "\n" {
		before = before[:len(before)-1]
	}
	if end == "" {
		before = bytes.TrimSuffix(before, []byte("\n"))
	}
	return before
}

// renderTable returns a handler as a table, without the last end of the line. A JSON string is
// a TOML string, too, but for the character 127.
func renderTable(h wiring.Handler) string {
	var b strings.Builder
	put := func(key string, value any) {
		var line bytes.Buffer
		enc := json.NewEncoder(&line)
		enc.SetEscapeHTML(false)
		if enc.Encode(value) != nil { // a text or a number
			return
		}
		fmt.Fprintf(&b, "\n%s = %s", key, strings.ReplaceAll(strings.TrimSuffix(line.String(), "\n"), "\x7f", `\u007f`))
	}
	var settings map[string]any
	if json.Unmarshal(h.Raw, &settings) != nil { // Raw is part of a parsed document
		return ""
	}
	put("event", h.Event)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		put(key, settings[key])
	}
	return "[[hooks]]" + b.String()
}

// parseTables returns the tables [[hooks]] of a text. It fails if they are not all the hooks that
// the text has, or if one cut out of the text does not say the same alone.
func parseTables(text []byte) ([]table, error) {
	all, err := decode(text)
	if err != nil {
		return nil, err
	}
	hooks, err := listHooks(all)
	if err != nil {
		return nil, err
	}
	var tables []table
	within := false // a table [[hooks]]
	parser := unstable.Parser{}
	for parser.Reset(text); parser.NextExpression(); {
		e := parser.Expression()
		switch e.Kind {
		case unstable.Table:
			within = false
		case unstable.ArrayTable:
			key := e.Key()
			if within = key.Next() && key.IsLast() && string(key.Node().Data) == "hooks"; within {
				at := int(key.Node().Raw.Offset)
				from := bytes.LastIndexByte(text[:at], '\n') + 1
				tables = append(tables, table{from: from, to: at, handler: wiring.Handler{Line: bytes.Count(text[:at], []byte("\n")) + 1}})
			}
		case unstable.KeyValue:
			if within {
				tables[len(tables)-1].to = int(e.Raw.Offset + e.Raw.Length)
			}
		}
	}
	if len(tables) != len(hooks) {
		return nil, errLayout
	}
	for i := range tables {
		t := &tables[i]
		line, _, more := bytes.Cut(text[t.to:], []byte("\n"))
		t.to += len(line)
		if more {
			t.end, t.to = "\n", t.to+1
			if bytes.HasSuffix(line, []byte("\r")) {
				t.end = "\r\n"
			}
		}
		one, err := decode(text[t.from:t.to])
		if err != nil || !reflect.DeepEqual(one, map[string]any{"hooks": []map[string]any{hooks[i]}}) {
			return nil, errLayout
		}
		event, _ := hooks[i]["event"].(string)
		settings := maps.Clone(hooks[i])
		delete(settings, "event")
		if raw, err := json.Marshal(settings); err == nil {
			t.handler, t.hasHandler = wiring.NewHandler(event, raw, t.handler.Line)
		}
	}
	return tables, nil
}

func decode(text []byte) (map[string]any, error) {
	var all map[string]any
	_, err := toml.Decode(string(text), &all)
	return all, err
}

// listHooks returns the hooks of a parsed text.
func listHooks(all map[string]any) ([]map[string]any, error) {
	switch hooks := all["hooks"].(type) {
	case nil:
		return nil, nil
	case []map[string]any:
		return hooks, nil
	case []any:
		if len(hooks) == 0 {
			return nil, errors.New("it has hooks = [], to which nothing can be added: remove that line")
		}
	}
	return nil, errLayout
}

// checkOnlyOurs reports as an error that two texts differ in more than gt's handlers, or that the
// second has others than want.
func checkOnlyOurs(before, after []byte, want []wiring.Handler) error {
	oldContent, err := decode(before)
	if err != nil {
		return err
	}
	newContent, err := decode(after)
	if err != nil {
		return errors.Join(errLayout, err)
	}
	foreignHooks := func(all map[string]any) (others []any) {
		hooks, _ := listHooks(all)
		for _, h := range hooks {
			raw, _ := json.Marshal(h)
			if own, ok := wiring.NewHandler("", raw, 0); !ok || own.Binary == "" {
				others = append(others, h)
			}
		}
		return others
	}
	withoutHooks := func(all map[string]any) map[string]any {
		all = maps.Clone(all)
		delete(all, "hooks")
		return all
	}
	tables, err := parseTables(after)
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(t table) bool { return !t.hasHandler || t.handler.Binary == "" })
	// The lengths come first, because DeepEqual tells a nil map from an empty one.
	if len(tables) != len(want) || !reflect.DeepEqual(foreignHooks(oldContent), foreignHooks(newContent)) || len(withoutHooks(oldContent)) != len(withoutHooks(newContent)) || len(withoutHooks(oldContent)) > 0 && !reflect.DeepEqual(withoutHooks(oldContent), withoutHooks(newContent)) {
		return errLayout
	}
	return nil
}
