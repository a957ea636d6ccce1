package hooks

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"

	"gt/lib/cli"
	"gt/lib/client/settings"
	"gt/lib/place/git"
	"gt/lib/text/jsonedit"
)

// A stop keeps hooks from running that are wired as they should be.
type stop struct {
	what string
	do   string // in the words to type; empty where what says it
}

// stops are those of an agent, as far as its own settings tell.
func stops(env *cli.Env, t target, places []source) []stop {
	var all []stop
	if off := disabled(places); off != nil {
		all = append(all, stop{what: fmt.Sprintf("'%s' switches all hooks off with %s; take that out", off.file, t.format.off)})
	}
	wired := func(scope string) bool {
		return slices.ContainsFunc(places, func(p source) bool { return p.name == scope && len(p.ours()) > 0 })
	}
	switch t.speaks() { // whoever speaks like a client is taken for one
	case "claude":
		for _, p := range places {
			if p.name == "managed" && p.managedOnly && !wired("managed") {
				all = append(all, stop{what: fmt.Sprintf("'%s' allows no hooks but its own (allowManagedHooksOnly)", p.file), do: "ask who manages it"})
			}
		}
	case "codex":
		all = append(all, codexStops(env, t, places)...)
	case "gemini", "qwen":
		var s struct {
			Security struct{ FolderTrust struct{ Enabled *bool } }
			Hooks    struct{ Disabled []string } `json:"hooksConfig"`
		}
		read(filepath.Join(t.folder, "settings.json"), &s)
		for _, name := range s.Hooks.Disabled {
			if program, _ := split(name); slices.Contains(binaries, filepath.Base(program)) {
				all = append(all, stop{what: fmt.Sprintf("'%s' has '%s' among hooksConfig.disabled", filepath.Join(t.folder, "settings.json"), name), do: "take that out"})
			}
		}
		asks := t.speaks() == "gemini" // unless it is told not to
		if s.Security.FolderTrust.Enabled != nil {
			asks = *s.Security.FolderTrust.Enabled
		}
		trusted := map[string]string{}
		read(filepath.Join(t.folder, "trustedFolders.json"), &trusted)
		if asks && wired(projectScope) && !wired(userScope) && !trusts(trusted, git.Top(env.Dir)) {
			all = append(all, stop{what: t.name + " does not trust this folder, and runs no hooks of it", do: "start " + t.command + " here and say that you do"})
		}
	case "copilot":
		var s struct{ TrustedFolders []string }
		read(filepath.Join(t.folder, "config.json"), &s)
		if top := git.Top(env.Dir); wired(projectScope) && !wired(userScope) &&
			!slices.ContainsFunc(s.TrustedFolders, func(dir string) bool { return within(dir, top) }) {
			all = append(all, stop{what: t.name + " does not trust this folder, and runs no hooks of it", do: "start " + t.command + " here and say that you do"})
		}
	}
	return all
}

// trusts says whether a list of folders, as Gemini CLI keeps it, has this one.
func trusts(folders map[string]string, dir string) bool {
	for trusted, how := range folders {
		switch how {
		case "TRUST_FOLDER":
			if within(trusted, dir) {
				return true
			}
		case "TRUST_PARENT":
			if within(filepath.Dir(trusted), dir) {
				return true
			}
		}
	}
	return false
}

// within says whether dir is a folder or below it.
func within(folder, dir string) bool {
	rel, err := filepath.Rel(folder, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// codexStops are those of Codex: it runs a hook whose definition a person has
// seen and trusted, and it keeps a hash of that.
func codexStops(env *cli.Env, t target, places []source) []stop {
	file := filepath.Join(t.folder, "config.toml")
	var c struct {
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
		return []stop{{what: err.Error()}}
	} else if _, err := toml.Decode(string(text), &c); err != nil {
		return []stop{{what: fmt.Sprintf("cannot read '%s': %v", file, err)}}
	}
	var all []stop
	for _, name := range []string{"hooks", "codex_hooks"} {
		if c.Features[name] == false {
			all = append(all, stop{what: fmt.Sprintf("'%s' switches hooks off with features.%s", file, name), do: t.command + " features enable hooks"})
		}
	}
	var unknown, off []string
	for _, p := range places {
		if p.name == projectScope && len(p.ours()) > 0 && c.Projects[git.Top(env.Dir)].TrustLevel != "trusted" {
			all = append(all, stop{what: t.name + " does not trust this folder, and runs no hooks of it", do: "start " + t.command + " here and say that you do"})
		}
		for _, h := range p.ours() {
			if h.node == nil { // a script, which Codex would not take
				continue
			}
			key, hash := h.codexTrust(p.file)
			switch s := c.Hooks.State[key]; {
			case s.TrustedHash != hash:
				unknown = append(unknown, h.event)
			case s.Enabled != nil && !*s.Enabled:
				off = append(off, h.event)
			}
		}
	}
	if len(unknown) > 0 {
		all = append(all, stop{what: fmt.Sprintf("%s runs none of these until you trust them: %s", t.name, list(unknown)), do: "start " + t.command + " and choose 'Trust all and continue', or type /hooks in it"})
	}
	if len(off) > 0 {
		all = append(all, stop{what: fmt.Sprintf("these are switched off in %s: %s", t.name, list(off)), do: "start " + t.command + ", type /hooks and switch them on"})
	}
	return all
}

// codexTrust is under which name Codex keeps that a hook is trusted, and what it
// keeps: as 0.169 does it. The name has the hook's place in its file.
func (h handler) codexTrust(file string) (key, hash string) {
	var event strings.Builder
	for i, r := range h.event {
		if unicode.IsUpper(r) && i > 0 {
			event.WriteByte('_')
		}
		event.WriteRune(unicode.ToLower(r))
	}
	group, index := h.node.Parent.Parent, slices.Index(h.node.Parent.Items, h.node)
	key = fmt.Sprintf("%s:%s:%d:%d", file, &event, slices.Index(group.Parent.Items, group), index)

	var s map[string]any
	json.Unmarshal(h.raw, &s)
	hook := map[string]any{"type": "command", "async": s["async"] == true, "timeout": 600}
	for _, k := range []string{"command", "timeout", "statusMessage"} {
		if v, ok := s[k]; ok {
			hook[k] = v
		}
	}
	identity := map[string]any{"event_name": event.String(), "hooks": []any{hook}}
	if h.matcher != "" {
		identity["matcher"] = h.matcher
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(identity); err != nil {
		panic(err) // it was read from JSON
	}
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return key, "sha256:" + hex.EncodeToString(sum[:])
}

// list names each once, in order.
func list(names []string) string {
	var once []string
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return strings.Join(once, ", ")
}

// switchedOff is what a settings file says of the client's switch for all hooks,
// nil where it says nothing.
func (f format) switchedOff(doc *jsonedit.Doc) *bool {
	if f.off == "" {
		return nil
	}
	n := doc.Root
	for _, key := range strings.Split(f.off, ".") {
		if n = n.Get(key); n == nil {
			return nil
		}
	}
	var v bool
	if json.Unmarshal(doc.Raw(n), &v) != nil {
		return nil
	}
	off := v != f.offByFalse
	return &off
}
