package wiring

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/client/wiring"
)

// forget takes out of Codex's config.toml what it noted of our hooks in a file: that a
// person trusts them. It returns the file if that changed it.
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

// withoutTrust returns the text of a config.toml without the tables in which Codex notes
// its trust in the hooks of these keys, and without the table that held them, where it
// holds nothing else.
func withoutTrust(text string, keys []string) string {
	type table struct {
		head  string // empty of what stands before the first
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
