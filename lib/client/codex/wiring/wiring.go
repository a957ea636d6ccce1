// Package wiring describes the wiring of Codex.
package wiring

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2/unstable"

	"gt/lib/client/settings"
	"gt/lib/client/wiring"
	"gt/lib/conversation"
	"gt/lib/text/jsonedit"
)

//go:embed codex.json
var text []byte

//go:embed hooks.schema
var schema string

//go:embed config.schema
var configSchema string

func Client() wiring.Client {
	return wiring.Client{
		Name: "codex", Text: text, Schema: schema,
		Oldest:   "0.124.0", // the first that runs hooks without features.codex_hooks
		TurnEnds: []string{"Stop"},
		Compact:  "/compact", Blockers: blockers, Forget: forget, Sources: plugins,
		MCP: &wiring.MCP{
			Add: []string{"mcp", "add", "gt"}, Remove: []string{"mcp", "remove", "gt"},
			Files: func(folder string) []string { return []string{filepath.Join(folder, "config.toml")} },
			Program: func(text []byte) string {
				var c struct {
					Servers map[string]struct{ Command string } `toml:"mcp_servers"`
				}
				toml.Decode(string(text), &c) // the client reports an error
				return c.Servers["gt"].Command
			},
		},
		// A skill, because Codex no longer has custom prompts. The model's list does not
		// have it: only the person calls it.
		Command: &wiring.Command{
			File: "skills/handoff/SKILL.md", Typed: "$handoff", Args: conversation.HandoffElsewhere,
			Head:  "---\n# gt: written by gt-hooks\nname: handoff\ndescription: Hand this session over to a fresh one, with a note of what it knows\n---\n",
			Extra: map[string]string{"agents/openai.yaml": "# gt: written by gt-hooks\npolicy:\n  allow_implicit_invocation: false\n"},
		},
	}
}

// blockers finds hooks that Codex does not run. It runs only those whose definition the
// person has trusted, and keeps a hash of that definition.
func blockers(a wiring.Agent) []wiring.Blocker {
	file := filepath.Join(a.Folder, "config.toml")
	var config struct {
		Features map[string]any
		Projects map[string]struct {
			TrustLevel string `toml:"trust_level"`
		}
		Hooks struct {
			State map[string]struct {
				TrustedHash string `toml:"trusted_hash"`
				Enabled     *bool
			}
		}
	}
	if text, err := settings.Read(file); err != nil {
		return []wiring.Blocker{{Reason: err.Error()}}
	} else if refused := configRefusal(string(text)); refused != "" {
		return []wiring.Blocker{{Reason: fmt.Sprintf("%s does not start with '%s': %s", a.Name, file, refused), Remedy: "correct that"}}
	} else if _, err := toml.Decode(string(text), &config); err != nil {
		return []wiring.Blocker{{Reason: fmt.Sprintf("cannot read '%s': %v", file, err)}}
	}
	var all []wiring.Blocker
	for _, name := range []string{"hooks", "codex_hooks"} {
		if config.Features[name] == false {
			all = append(all, wiring.Blocker{
				Reason: fmt.Sprintf("'%s' switches hooks off with features.%s", file, name),
				Remedy: a.Command + " features enable hooks",
			})
		}
	}
	var unknown, off []string
	seen := 0
	for _, s := range a.Sources {
		ours := s.OwnHandlers()
		if s.Scope == wiring.Project && len(ours) > 0 && config.Projects[a.Project].TrustLevel != "trusted" {
			all = append(all, a.UntrustedBlocker())
		}
		for _, h := range ours {
			if h.Node == nil { // a script, which Codex does not support
				continue
			}
			seen++
			key, hash := trustKey(h, s.File)
			// A plugin's key has its name. Any recorded hash counts: the text is the plugin's own.
			if s.Scope == wiring.Plugin {
				name, at := s.Removal[strings.LastIndexByte(s.Removal, ' ')+1:], strings.TrimPrefix(key, s.File)
				for known, state := range config.Hooks.State {
					if strings.HasSuffix(known, at) && (strings.Contains(known, name) || strings.Contains(known, filepath.Dir(s.File))) {
						key, hash = known, state.TrustedHash
					}
				}
			}
			switch s := config.Hooks.State[key]; {
			case s.TrustedHash != hash:
				unknown = append(unknown, h.Event)
			case s.Enabled != nil && !*s.Enabled:
				off = append(off, h.Event)
			}
		}
	}
	if len(unknown) > 0 {
		reason := a.Name + " runs none of gt's hooks until you trust them"
		if len(unknown) < seen {
			reason = fmt.Sprintf("%s does not run these until you trust them: %s", a.Name, joinOnce(unknown))
		}
		all = append(all, wiring.Blocker{
			Reason: reason,
			Remedy: "start " + a.Command + " and choose 'Trust all and continue', or type /hooks in it",
		})
	}
	if len(off) > 0 {
		all = append(all, wiring.Blocker{
			Reason: fmt.Sprintf("these are switched off in %s: %s", a.Name, joinOnce(off)),
			Remedy: "start " + a.Command + ", type /hooks and switch them on",
		})
	}
	return all
}

// plugins returns the installed and enabled plugins that wire gt.
func plugins(a wiring.Agent) (all []wiring.Source) {
	var c struct {
		Plugins map[string]struct{ Enabled bool }
	}
	if text, err := settings.Read(filepath.Join(a.Folder, "config.toml")); err != nil {
		return nil
	} else if _, err := toml.Decode(string(text), &c); err != nil {
		return nil
	}
	for _, full := range slices.Sorted(maps.Keys(c.Plugins)) {
		name, market, _ := strings.Cut(full, "@")
		files, _ := filepath.Glob(filepath.Join(a.Folder, "plugins", "cache", market, name, "*", "hooks", "hooks.json"))
		for _, file := range files[max(0, len(files)-1):] {
			if c.Plugins[full].Enabled {
				all = append(all, Client().PluginSources(file, full, "codex plugin", "remove")...)
			}
		}
	}
	return all
}

// configRefusal returns the line and key of the value in a config.toml that Codex does not take, or
// "".
func configRefusal(config string) string {
	var all map[string]any
	if _, err := toml.Decode(config, &all); err != nil {
		return "" // told where it is read
	}
	same, err := json.Marshal(all)
	if err != nil { // a number that JSON does not have
		return ""
	}
	doc, err := jsonedit.Parse(same, false)
	if err != nil {
		return ""
	}
	rules := wiring.ParseSchema(strings.Replace(schema, "closed .", "", 1)+configSchema, "")
	refused := rules.Check(doc)
	if refused == nil {
		return ""
	}
	refused.Line = findKeyLine(config, refused.Key)
	return refused.String()
}

// findKeyLine returns the line of a config.toml that has the value with a key such as "a.b[0].c":
// that of the longest key that is it or contains it, else of the first key within it, else 0.
func findKeyLine(config, key string) (line int) {
	table, counts, longest := "", map[string]int{}, 0 // counts has the tables of each array so far
	parser := unstable.Parser{}
	for parser.Reset([]byte(config)); parser.NextExpression(); {
		e := parser.Expression()
		at, offset, isHeader := table, uint32(0), e.Kind != unstable.KeyValue
		if isHeader {
			at = ""
		}
		// at becomes the whole key of this line, such as "a.b[0].c".
		for part := e.Key(); part.Next(); {
			offset = part.Node().Raw.Offset
			at = strings.TrimPrefix(at+"."+string(part.Node().Data), ".")
			if e.Kind == unstable.ArrayTable && part.IsLast() {
				counts[at]++
			}
			if counts[at] > 0 && isHeader {
				at = fmt.Sprintf("%s[%d]", at, counts[at]-1)
			}
		}
		if isHeader {
			table = at
		}
		own := 1 + strings.Count(config[:offset], "\n")
		if rest, ok := strings.CutPrefix(key, at); ok && len(at) >= longest && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			line, longest = own, len(at)
		} else if line == 0 && (strings.HasPrefix(at, key+"[") || strings.HasPrefix(at, key+".")) {
			line = own
		}
	}
	return line
}

// trustKey returns the key under which Codex 0.169 records that a handler of a file is
// trusted, and the recorded hash. The key has the handler's position in the file.
func trustKey(h wiring.Handler, file string) (key, hash string) {
	var event strings.Builder
	for i, r := range h.Event {
		if unicode.IsUpper(r) && i > 0 {
			event.WriteByte('_')
		}
		event.WriteRune(unicode.ToLower(r))
	}
	group, index := h.Node.Parent.Parent, slices.Index(h.Node.Parent.Items, h.Node)
	key = fmt.Sprintf("%s:%s:%d:%d", file, &event, slices.Index(group.Parent.Items, group), index)

	var s map[string]any // of it, Codex hashes the following, with its defaults
	json.Unmarshal(h.Raw, &s)
	hook := map[string]any{"type": "command", "async": s["async"] == true, "timeout": 600}
	for _, k := range []string{"command", "timeout", "statusMessage"} {
		if v, ok := s[k]; ok {
			hook[k] = v
		}
	}
	identity := map[string]any{"event_name": event.String(), "hooks": []any{hook}}
	if h.Matcher != "" {
		identity["matcher"] = h.Matcher
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(identity); err != nil {
		panic(err) // it was parsed from JSON
	}
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return key, "sha256:" + hex.EncodeToString(sum[:])
}

// joinOnce joins the names of events, each once: an event can have a hook in several files.
func joinOnce(names []string) string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return strings.Join(once, ", ")
}

// forget removes the trust that Codex recorded for our hooks of a file from its
// config.toml. It returns the path of config.toml if that changed it.
func forget(a wiring.Agent, s wiring.Source) (changed string, err error) {
	var keys []string
	for _, h := range s.OwnHandlers() {
		if h.Node != nil {
			key, _ := trustKey(h, s.File)
			keys = append(keys, key)
		}
	}
	file := filepath.Join(a.Folder, "config.toml")
	_, err = settings.Update(file, func(old []byte) (settings.Edit, error) {
		text := withoutTrust(string(old), keys)
		if changed = ""; text != string(old) {
			changed = file
			return settings.Edit{Text: []byte(text)}, nil
		}
		return settings.Edit{Text: old}, nil
	})
	return changed, err
}

// withoutTrust returns the text of a config.toml without the tables that record the trust
// in these hooks, and without their parent table if nothing else is in it.
func withoutTrust(text string, keys []string) string {
	type table struct {
		head  string // empty for the lines before the first table
		lines []string
	}
	all := []table{{}}
	for line := range strings.Lines(text) {
		if at := strings.TrimSpace(line); strings.HasPrefix(at, "[") {
			all = append(all, table{head: at})
		}
		last := &all[len(all)-1]
		last.lines = append(last.lines, line)
	}
	const parent = "[hooks.state"
	before := len(all)
	all = slices.DeleteFunc(all, func(t table) bool {
		key, ok := strings.CutPrefix(t.head, parent+".")
		key, closed := strings.CutSuffix(key, "]")
		if unquoted, err := strconv.Unquote(key); err == nil {
			key = unquoted
		} else {
			key = strings.Trim(key, "'")
		}
		return ok && closed && slices.Contains(keys, key)
	})
	if len(all) == before {
		return text
	}
	if !slices.ContainsFunc(all, func(t table) bool { return strings.HasPrefix(t.head, parent+".") }) {
		all = slices.DeleteFunc(all, func(t table) bool {
			return t.head == parent+"]" && strings.TrimSpace(strings.Join(t.lines[1:], "")) == ""
		})
	}
	var b strings.Builder
	for _, t := range all {
		for _, line := range t.lines {
			b.WriteString(line)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
