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
	"gt/lib/text/jsonedit"
)

// agentOf is an agent of that name and format, as the table has it.
func agentOf(t *testing.T, name, format string) target {
	t.Helper()
	f, ok := formatOf(format)
	if !ok {
		t.Fatalf("no format %s", format)
	}
	return target{name: name, format: f}
}

func wantOf(t *testing.T, agent target, dir string) []handler {
	t.Helper()
	w, err := agent.wanted(dir)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var claudeFormat, _ = formatOf("claude")

func want(t *testing.T, dir string) []handler {
	t.Helper()
	return wantOf(t, agentOf(t, "claude", "claude"), dir)
}

// The one wiring file is what both plugins name, its limits are seconds, it
// runs nothing but our binaries, and it asks for no shell.
func TestWiringFile(t *testing.T) {
	doc, err := jsonedit.Parse(hooks.Claude)
	if err != nil {
		t.Fatal(err)
	}
	all := claudeFormat.handlers(doc)
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
		if _, _, err := claudeFormat.rewire([]byte(text), w); err == nil || err.Error() != reason {
			t.Errorf("rewire(%q): %v, want %s", text, err, reason)
		}
	}
	for _, text := range []string{
		"[]", `{"hooks":null}`, `{"hooks":{"Stop":null,"X":[1,null,{"hooks":7},{"hooks":[null,1,[]]}]}}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":7},{"type":"http","command":"gt-prime"},{"command":"gt-prime"}]}]}}`,
	} {
		if got, changes, err := claudeFormat.rewire([]byte(text), nil); err != nil || string(got) != text || changes != nil {
			t.Errorf("rewire(%q) = %s, %v, %v", text, got, changes, err)
		}
	}
}

// jsonFormats are those whose hooks are entries of a settings file.
func jsonFormats() []format {
	return slices.DeleteFunc(slices.Clone(formats), func(f format) bool { return f.shape == script })
}

// Random settings with other people's hooks and entries of ours from every
// age, in every layout and every client's shape: afterwards our entries are
// exactly those wanted, all else is what it was and in the order that it was in,
// a second time changes nothing, and taking ours out again leaves nothing of
// them.
func TestRewireRandom(t *testing.T) {
	for _, f := range jsonFormats() {
		agent := agentOf(t, f.name, f.name)
		w := wantOf(t, agent, "/opt/gt <&> 'bin'")
		for seed := range uint64(300) {
			text := randomSettings(rand.New(rand.NewPCG(seed, 2)), f)
			if err := rewires(t, f, text, w); err != nil {
				t.Fatalf("%s, seed %d: %v", f.name, seed, err)
			}
		}
	}
}

// The same of whatever a file may hold: what is no settings file is refused and
// left alone.
func FuzzRewire(f *testing.F) {
	for seed := range uint64(20) {
		for _, shape := range []format{{}, {shape: flat}} {
			f.Add(randomSettings(rand.New(rand.NewPCG(seed, 2)), shape))
		}
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
		for _, f := range jsonFormats() {
			if err := rewires(t, f, text, wantOf(t, agentOf(t, f.name, f.name), "/opt/gt <&> 'bin'")); err != nil {
				t.Fatal(f.name, err)
			}
		}
	})
}

// rewires checks what holds of every settings file that is rewired; one that
// cannot be is none.
func rewires(t *testing.T, f format, text []byte, w []handler) error {
	t.Helper()
	doc, err := jsonedit.Parse(text)
	if err != nil {
		return nil
	}
	others := foreign(f, doc, text)
	wired, _, err := f.rewire(text, w)
	if err != nil {
		if hooks := doc.Root.Get("hooks"); doc.Root.IsObject() && (hooks == nil || hooks.IsObject() && !slices.ContainsFunc(hooks.Items, func(e *jsonedit.Node) bool { return !e.IsArray() })) {
			return fmt.Errorf("%w in\n%s", err, text)
		}
		return nil
	}
	if doc, err = jsonedit.Parse(wired); err != nil {
		return fmt.Errorf("%w in\n%s", err, wired)
	}
	have := f.ours(doc)
	if len(have) != len(w) {
		return fmt.Errorf("%d entries of ours in\n%s", len(have), wired)
	}
	for _, h := range have {
		if !slices.ContainsFunc(w, func(w handler) bool { return h.equal(w) }) {
			return fmt.Errorf("%s is not wanted in\n%s", h, wired)
		}
	}
	if got := foreign(f, doc, wired); got != others {
		return fmt.Errorf("of others' settings\n%s\nbecame\n%s\nin\n%s", others, got, wired)
	}
	again, changes, err := f.rewire(wired, w)
	if err != nil || changes != nil || string(again) != string(wired) {
		return fmt.Errorf("a second time: %v, %w", changes, err)
	}
	bare, _, err := f.rewire(wired, nil)
	if err != nil {
		return err
	}
	if doc, err = jsonedit.Parse(bare); err != nil || len(f.ours(doc)) != 0 {
		return fmt.Errorf("still there:\n%s\n%w", bare, err)
	}
	if got := foreign(f, doc, bare); got != others {
		return fmt.Errorf("of others' settings\n%s\nbecame without ours\n%s", others, got)
	}
	return nil
}

// foreign is every value of the text but what is ours, in order, as it is
// written.
func foreign(f format, doc *jsonedit.Doc, text []byte) string {
	mine := map[*jsonedit.Node]bool{}
	for _, h := range f.ours(doc) {
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
		if m.Key == "version" && f.shape == flat {
			continue // asked for by the client, and added where it is not there
		}
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

func randomSettings(r *rand.Rand, f format) []byte {
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
		if f.shape == flat && r.IntN(2) == 0 { // a line for each kind of shell
			h["bash"], h["powershell"] = h["command"], h["command"]
			delete(h, "command")
			delete(h, "args")
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
				if f.shape == flat {
					groups = append(groups, list...)
					continue
				}
				g["hooks"] = list
				groups = append(groups, g)
			}
			events[pick("SessionStart", "Stop", "PostToolUse", "PreCompact", "SessionEnd", "Notification", "sessionStart", "stop", "agentStop", "AfterAgent")] = groups
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
