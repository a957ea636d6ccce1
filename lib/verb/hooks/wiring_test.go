package hooks

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gt/hooks"
	"gt/lib/jsonedit"
)

func want(t *testing.T, dir string) []handler {
	t.Helper()
	w, err := wanted(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// The one wiring file is what both plugins name, its limits are seconds, it
// runs nothing but our binaries, and it asks for no shell.
func TestWiringFile(t *testing.T) {
	doc, err := jsonedit.Parse(hooks.Claude)
	if err != nil {
		t.Fatal(err)
	}
	all := handlers(doc)
	if len(all) != 7 {
		t.Errorf("%d hooks, not 7", len(all))
	}
	for _, h := range all {
		if h.binary != h.command || h.args == nil || !slices.Contains(h.args, "--hook") {
			t.Errorf("%s: %s", h.event, h)
		}
		if h.timeout < 1 || h.timeout > 60 {
			t.Errorf("%s: %s: a timeout of %v s", h.event, h, h.timeout)
		}
	}

	root := filepath.Join("..", "..", "..")
	manifests := map[string]map[string]any{}
	for _, dir := range []string{".", "hooks"} {
		text, err := os.ReadFile(filepath.Join(root, dir, ".claude-plugin", "plugin.json"))
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(filepath.Join(root, dir, m["hooks"].(string)))
		if err != nil || string(file) != string(hooks.Claude) {
			t.Errorf("the plugin in %s wires another file: %v", dir, err)
		}
		delete(m, "hooks")
		manifests[dir] = m
	}
	if !reflect.DeepEqual(manifests["."], manifests["hooks"]) {
		t.Errorf("the two manifests differ: %v", manifests)
	}
}

func TestProgram(t *testing.T) {
	for command, want := range map[string]string{
		"gt-prime --hook":                     "gt-prime",
		"  /a/b/gt-prime":                     "/a/b/gt-prime",
		`"/a b/gt-prime" --hook`:              "/a b/gt-prime",
		`'/a"b/gt-prime' --hook`:              `/a"b/gt-prime`,
		`/a\ b/gt-prime --hook`:               "/a b/gt-prime",
		`"$HOME"/.local/bin/gt-prime --hook`:  "$HOME/.local/bin/gt-prime",
		"gt-prime;true":                       "gt-prime",
		"gt-prime>/dev/null":                  "gt-prime",
		"my-gt-prime --hook":                  "my-gt-prime",
		"echo gt-prime":                       "echo",
		"FOO=1 gt-prime --hook":               "FOO=1",
		"":                                    "",
		`"`:                                   "",
		`gt-prime\`:                           `gt-prime\`,
		"/opt/gt-prime.d/other-hook gt-prime": "/opt/gt-prime.d/other-hook",
	} {
		if got := (handler{command: command}).program(); got != want {
			t.Errorf("program(%q) = %q, want %q", command, got, want)
		}
	}
	if got := (handler{command: "/a b/gt-prime", args: []string{}}).program(); got != "/a b/gt-prime" {
		t.Errorf("in exec form a command is one word, not %q", got)
	}
}

// What is no wiring, or has another shape than the agent asks for, is nobody's
// to change; where our own entries would have to go, it is refused.
func TestShapes(t *testing.T) {
	w := want(t, "/bin")
	for text, reason := range map[string]string{
		"[]":                              "line 1: the settings are no object",
		"\n\"hooks\"":                     "line 2: the settings are no object",
		"{\n\"hooks\": []}":               `line 2: "hooks" is no object`,
		"{\"hooks\":{\n\"Stop\": \"x\"}}": `line 2: "Stop" is no array`,
	} {
		if _, _, err := rewire([]byte(text), w); err == nil || err.Error() != reason {
			t.Errorf("rewire(%q): %v, want %s", text, err, reason)
		}
	}
	for _, text := range []string{
		"[]", `{"hooks":null}`, `{"hooks":{"Stop":null,"X":[1,null,{"hooks":7},{"hooks":[null,1,[]]}]}}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":7},{"type":"http","command":"gt-prime"},{"command":"gt-prime"}]}]}}`,
	} {
		if got, changes, err := rewire([]byte(text), nil); err != nil || string(got) != text || changes != nil {
			t.Errorf("rewire(%q) = %s, %v, %v", text, got, changes, err)
		}
	}
}

// Random settings with other people's hooks and entries of ours from every
// age, in every layout: afterwards our entries are exactly those wanted, all
// else is what it was and in the order that it was in, a second time changes
// nothing, and taking ours out again leaves nothing of them.
func TestRewireRandom(t *testing.T) {
	w := want(t, "/opt/gt <&> bin")
	for seed := range uint64(700) {
		text := randomSettings(rand.New(rand.NewPCG(seed, 2)))
		if err := rewires(t, text, w); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// The same of whatever a file may hold: what is no settings file is refused and
// left alone.
func FuzzRewire(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(randomSettings(rand.New(rand.NewPCG(seed, 2))))
	}
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"hooks":null}`, `{"hooks":{}}`, `{"hooks":{"Stop":null}}`, `{"hooks":{"Stop":{}}}`, `{"hooks":{"Stop":[]}}`,
		`{"hooks":{"Stop":[[]]}}`, `{"hooks":{"Stop":[{"hooks":{}}]}}`, `{"hooks":{"Stop":[{"hooks":[null,1,{"type":"command","command":"gt-prime","args":[],"x":1}],"matcher":7,"y":2}]}}`,
		"\ufeff{\r\n}\r\n", `{"hooks":[{"type":"command","command":"gt-prime"}]}`, `{"hooks":{"":[{"hooks":[{"type":"command","command":"\u0000/gt-prime"}]}]}}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"gt-checkpoint write --hook"}]},{"hooks":[]}],"Stop ":[]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := rewires(t, text, want(t, "/opt/gt <&> bin")); err != nil {
			t.Fatal(err)
		}
	})
}

// rewires checks what holds of every settings file that is rewired; one that
// cannot be is none.
func rewires(t *testing.T, text []byte, w []handler) error {
	t.Helper()
	doc, err := jsonedit.Parse(text)
	if err != nil {
		return nil
	}
	others := foreign(t, doc, text)
	wired, _, err := rewire(text, w)
	if err != nil {
		if hooks := doc.Root.Get("hooks"); doc.Root.IsObject() && (hooks == nil || hooks.IsObject() && !slices.ContainsFunc(hooks.Items, func(e *jsonedit.Node) bool { return !e.IsArray() })) {
			return fmt.Errorf("%w in\n%s", err, text)
		}
		return nil
	}
	if doc, err = jsonedit.Parse(wired); err != nil {
		return fmt.Errorf("%w in\n%s", err, wired)
	}
	have := ours(doc)
	if len(have) != len(w) {
		return fmt.Errorf("%d entries of ours in\n%s", len(have), wired)
	}
	for _, h := range have {
		if !slices.ContainsFunc(w, func(w handler) bool { return h.command == w.command && h.same(w) }) {
			return fmt.Errorf("%s is not wanted in\n%s", h, wired)
		}
	}
	if got := foreign(t, doc, wired); got != others {
		return fmt.Errorf("of others' settings\n%s\nbecame\n%s\nin\n%s", others, got, wired)
	}
	again, changes, err := rewire(wired, w)
	if err != nil || changes != nil || string(again) != string(wired) {
		return fmt.Errorf("a second time: %v, %w", changes, err)
	}
	bare, _, err := rewire(wired, nil)
	if err != nil {
		return err
	}
	if doc, err = jsonedit.Parse(bare); err != nil || len(ours(doc)) != 0 {
		return fmt.Errorf("still there:\n%s\n%w", bare, err)
	}
	if got := foreign(t, doc, bare); got != others {
		return fmt.Errorf("of others' settings\n%s\nbecame without ours\n%s", others, got)
	}
	return nil
}

// foreign is every value of the text but what is ours, in order, as it is
// written.
func foreign(t *testing.T, doc *jsonedit.Doc, text []byte) string {
	t.Helper()
	mine := map[*jsonedit.Node]bool{}
	for _, h := range ours(doc) {
		mine[h.node] = true
	}
	var b strings.Builder
	var walk func(path string, n *jsonedit.Node) bool
	walk = func(path string, n *jsonedit.Node) (any bool) {
		if mine[n] {
			return false
		}
		if len(n.Items) == 0 {
			fmt.Fprintf(&b, "%s %s\n", path, doc.Raw(n))
			return true
		}
		for _, m := range n.Items {
			any = walk(path+"/"+m.Key, m) || any
		}
		return any
	}
	for _, m := range doc.Root.Items {
		if m.Key != "hooks" {
			walk(m.Key, m)
			continue
		}
		for _, event := range m.Items {
			for _, group := range event.Items {
				if h := group.Get("hooks"); h != nil && len(h.Items) > 0 && !slices.ContainsFunc(h.Items, func(n *jsonedit.Node) bool { return !mine[n] }) {
					continue // a group of ours alone goes with its matcher
				}
				walk(event.Key, group)
			}
		}
	}
	return b.String()
}

func randomSettings(r *rand.Rand) []byte {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	handler := func() any {
		h := map[string]any{"type": "command"}
		switch r.IntN(5) {
		case 0: // another's
			h["command"] = pick("echo gt-prime", "jq . >/dev/null", "/x/gt-primed", "FOO=1 gt-prime --hook")
		case 1:
			h["type"], h["prompt"] = "prompt", "gt-prime?"
		case 2: // ours, from an older version
			h["command"] = pick("gt-prime --hook", "'/old place/gt-handoff' --auto", "~/bin/gt-keepalive touch", "$HOME/bin/gt-checkpoint write")
		default:
			h["command"] = pick("/opt/gt <&> bin/", "/other/", "") + pick(binaries...)
			h["args"] = []string{pick("--hook", "touch", "end", "write")}
		}
		if r.IntN(2) == 0 {
			h["timeout"] = []any{5, 10, 10000, 2.5}[r.IntN(4)]
		}
		return h
	}
	settings := map[string]any{}
	if r.IntN(3) > 0 {
		settings["env"] = map[string]any{"KEY": pick("", "\u2028", `"\`, "<&>"), "n": 1e21}
	}
	if r.IntN(3) > 0 {
		settings["permissions"] = map[string]any{"allow": []string{"Bash(ls:*)"}, "deny": []int{}}
	}
	if r.IntN(4) > 0 {
		events := map[string]any{}
		for range r.IntN(6) {
			groups := []any{}
			for range r.IntN(3) {
				g := map[string]any{}
				if r.IntN(2) == 0 {
					g["matcher"] = pick("", "*", "Bash", "startup|resume")
				}
				list := []any{}
				for range r.IntN(4) {
					list = append(list, handler())
				}
				g["hooks"] = list
				groups = append(groups, g)
			}
			events[pick("SessionStart", "Stop", "PostToolUse", "PreCompact", "SessionEnd", "Notification")] = groups
		}
		settings["hooks"] = events
	}
	compact, _ := json.Marshal(settings)
	if r.IntN(4) == 0 {
		return compact
	}
	pretty, _ := json.MarshalIndent(settings, "", pick("", "  ", "\t"))
	if r.IntN(4) == 0 {
		return []byte(strings.ReplaceAll(string(pretty), "\n", "\r\n"))
	}
	return append(pretty, '\n')
}
