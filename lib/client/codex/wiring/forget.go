package wiring

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/client/wiring"
)

// forget removes the trust that Codex recorded for our hooks of a file from its
// config.toml. It returns the path of config.toml if that changed it.
func forget(a wiring.Agent, s wiring.Source) (changed string, err error) {
	var keys []string
	for _, h := range s.Ours() {
		if h.Node != nil {
			key, _ := trust(h, s.File)
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
