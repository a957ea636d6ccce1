package wiring_test

import (
	"encoding/json"
	"fmt"
	"gt/internal/testenv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gt/hooks"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/text/jsonedit"
)

func clientOf(t *testing.T, name string) wiring.Client {
	t.Helper()
	c, ok := wirings.FindClient(name)
	if !ok {
		t.Fatalf("no client %s", name)
	}
	return c
}

// wantOf is the client's own wiring.
func wantOf(t *testing.T, c wiring.Client, dir string) []wiring.Handler {
	t.Helper()
	w, err := c.Wanted(dir, []string{"--agent", c.Name})
	testenv.NoError(t, err)
	return w
}

// The wiring's limits are in seconds, and it runs only gt's binaries, as hooks.
func TestWiringFile(t *testing.T) {
	claude := clientOf(t, "claude")
	doc, err := jsonedit.Parse(hooks.Claude, false)
	testenv.NoError(t, err)
	all := claude.HandlersOf(doc)
	if len(all) != 12 {
		t.Errorf("%d hooks, not 12", len(all))
	}
	for _, h := range all {
		if h.Binary != h.Program() || h.Args != nil || !strings.Contains(h.Command, " --hook ") {
			t.Errorf("%s: %s", h.Event, h)
		}
		if h.Timeout < 1 || h.Timeout > 60 {
			t.Errorf("%s: %s: a timeout of %v s", h.Event, h, h.Timeout)
		}
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
		"PATH=/a gt-prime --hook":             "PATH=/a",
		"":                                    "",
		`"`:                                   "",
		`gt-prime\`:                           `gt-prime\`,
		"/opt/gt-prime.d/other-hook gt-prime": "/opt/gt-prime.d/other-hook",
	} {
		if got := (wiring.Handler{Command: command}).Program(); got != want {
			t.Errorf("program(%q) = %q, want %q", command, got, want)
		}
	}
	if got := (wiring.Handler{Command: "/a b/gt-prime", Args: []string{}}).Program(); got != "/a b/gt-prime" {
		t.Errorf("in exec form a command is one word, not %q", got)
	}
}

// A value that is not a wiring, or has another shape, stays unchanged. If gt's own
// entries would have to go there, Edit returns an error.
func TestShapes(t *testing.T) {
	claude := clientOf(t, "claude")
	w := wantOf(t, claude, "/bin")
	for text, reason := range map[string]string{
		"[]":                              "line 1: the settings are no object",
		"\n\"hooks\"":                     "line 2: the settings are no object",
		"{\n\"hooks\": []}":               `line 2: "hooks" is not an object`,
		"{\"hooks\":{\n\"Stop\": \"x\"}}": `line 2: "Stop" is not an array`,
	} {
		if _, _, err := claude.Rewire([]byte(text), w); err == nil || err.Error() != reason {
			t.Errorf("rewire(%q): %v, want %s", text, err, reason)
		}
	}
	for _, text := range []string{
		"[]", `{"hooks":null}`, `{"hooks":{"Stop":null,"X":[1,null,{"hooks":7},{"hooks":[null,1,[]]}]}}`,
		`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":7},{"type":"http","command":"gt-prime"},{"command":"gt-prime"}]}]}}`,
	} {
		if got, changes, err := claude.Rewire([]byte(text), nil); err != nil || string(got) != text || changes != nil {
			t.Errorf("rewire(%q) = %s, %v, %v", text, got, changes, err)
		}
	}
}

// Antigravity CLI's file has named hooks. gt adds one of its own, corrects its handlers
// wherever they stand, and leaves a hook of that name that a person switched off.
func TestNamedHooks(t *testing.T) {
	c := clientOf(t, "antigravity")
	w := wantOf(t, c, "/bin")
	for text, reason := range map[string]string{
		"[]":                          "line 1: the settings are no object",
		"{\n\"gt\": []}":              `line 2: "gt" is not an object`,
		"{\"gt\":{\n\"Stop\": true}}": `line 2: "Stop" is not an array`,
	} {
		if _, _, err := c.Rewire([]byte(text), w); err == nil || err.Error() != reason {
			t.Errorf("rewire(%q): %v, want %s", text, err, reason)
		}
	}
	const others = `{"lint":{"enabled":true,"Stop":[{"command":"make lint"}],"PreToolUse":[{"matcher":"*","hooks":[{"command":"x"}]}]},"gt":{"enabled":false}}`
	wired, changes, err := c.Rewire([]byte(others), w)
	if err != nil || len(changes) != len(w) {
		t.Fatal(changes, err)
	}
	moved := strings.Replace(string(wired), `"Stop":[{"command":"make lint"}`, `"Stop":[{"command":"make lint"},`+string(w[len(w)-1].Raw), 1)
	for _, text := range []string{string(wired), moved} {
		if back, _, err := c.Rewire([]byte(text), nil); err != nil || string(back) != others {
			t.Errorf("without ours it is\n%s, %v", back, err)
		}
	}
}

// inSettings returns the clients whose hooks are entries of a JSON file.
func inSettings() []wiring.Client {
	return slices.DeleteFunc(wirings.Clients(), func(c wiring.Client) bool { return c.Shape == wiring.Script || c.Format != nil })
}

// Edits random settings that have other people's hooks and entries of any gt version, in
// every layout and every client's shape. Afterwards gt's entries are exactly the wanted
// ones, everything else is unchanged and in order, a second edit changes nothing, and an
// uninstallation leaves nothing of gt.
func TestRewireRandom(t *testing.T) {
	for i, c := range inSettings() {
		w := wantOf(t, c, "/opt/gt <&> 'bin'")
		for seed := range testenv.Seeds(100) {
			text := randomSettings(rand.New(rand.NewPCG(seed, uint64(i))), c)
			if err := rewires(t, c, text, w); err != nil {
				t.Fatalf("%s, seed %d: %v", c.Name, seed, err)
			}
		}
	}
}

// The same for any bytes: a file that is not a settings file is refused and unchanged.
func FuzzRewire(f *testing.F) {
	for seed := range testenv.Seeds(20) {
		for _, shape := range []wiring.Client{{}, {Shape: wiring.Flat}, {Shape: wiring.Named}} {
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
		for _, c := range inSettings() {
			if err := rewires(t, c, text, wantOf(t, c, "/opt/gt <&> 'bin'")); err != nil {
				t.Fatal(c.Name, err)
			}
		}
	})
}

// rewires checks these properties for any file that can be rewired.
func rewires(t *testing.T, c wiring.Client, text []byte, w []wiring.Handler) error {
	t.Helper()
	doc, err := jsonedit.Parse(text, c.Comments)
	if err != nil {
		return nil
	}
	others := foreign(c, doc)
	wired, _, err := c.Rewire(text, w)
	if err != nil {
		if hooks := doc.Root.Get(keyOf(c)); doc.Root.IsObject() && (hooks == nil || hooks.IsObject() && !slices.ContainsFunc(hooks.Items, func(e *jsonedit.Node) bool { return !e.IsArray() })) {
			return fmt.Errorf("%w in\n%s", err, text)
		}
		return nil
	}
	if doc, err = jsonedit.Parse(wired, c.Comments); err != nil {
		return fmt.Errorf("%w in\n%s", err, wired)
	}
	have := c.OursOf(doc)
	if len(have) != len(w) {
		return fmt.Errorf("%d entries of ours in\n%s", len(have), wired)
	}
	for _, h := range have {
		if !slices.ContainsFunc(w, func(w wiring.Handler) bool { return h.Equal(w) }) {
			return fmt.Errorf("%s is not wanted in\n%s", h, wired)
		}
	}
	if got := foreign(c, doc); got != others {
		return fmt.Errorf("of others' settings\n%s\nbecame\n%s\nin\n%s", others, got, wired)
	}
	again, changes, err := c.Rewire(wired, w)
	if err != nil || changes != nil || string(again) != string(wired) {
		return fmt.Errorf("a second time: %v, %w", changes, err)
	}
	bare, _, err := c.Rewire(wired, nil)
	if err != nil {
		return err
	}
	if doc, err = jsonedit.Parse(bare, c.Comments); err != nil || len(c.OursOf(doc)) != 0 {
		return fmt.Errorf("still there:\n%s\n%w", bare, err)
	}
	if got := foreign(c, doc); got != others {
		return fmt.Errorf("of others' settings\n%s\nbecame without ours\n%s", others, got)
	}
	return nil
}

// keyOf is the key below which gt adds its hooks.
func keyOf(c wiring.Client) string {
	if c.Shape == wiring.Named {
		return "gt"
	}
	return "hooks"
}

// foreign returns every value of the text that is not gt's, in order, as it is in the
// file.
func foreign(c wiring.Client, doc *jsonedit.Doc) string {
	mine := map[*jsonedit.Node]bool{}
	for _, h := range c.OursOf(doc) {
		mine[h.Node] = true
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
		if m.Key == "version" && c.Shape == wiring.Flat {
			continue // the client requires it, and Edit adds it if it is missing
		}
		named := c.Shape == wiring.Named && m.IsObject()
		if m.Key != "hooks" && !named {
			walk(m.Key, m)
			continue
		}
		for _, event := range m.Items {
			if named && !event.IsArray() {
				walk(m.Key+"/"+event.Key, event)
			}
			for _, group := range event.Items {
				if h := group.Get("hooks"); h != nil && len(h.Items) > 0 && !slices.ContainsFunc(h.Items, func(n *jsonedit.Node) bool { return !mine[n] }) {
					continue // a group with only our hooks goes with its matcher
				}
				walk(event.Key, group)
			}
		}
	}
	return b.String()
}

func randomSettings(r *rand.Rand, c wiring.Client) []byte {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	handler := func() any {
		h := map[string]any{"type": "command"}
		switch r.IntN(5) {
		case 0: // another program's
			h["command"] = pick("echo gt-prime", "jq . >/dev/null", "/x/gt-primed", "FOO=1 gt-prime --hook")
		case 1:
			h["type"], h["prompt"] = "prompt", "gt-prime?"
		case 2: // ours, from an older version
			h["command"] = pick("gt-prime --hook", "'/old place/gt-handoff' --auto", "~/bin/gt-keepalive touch", "$HOME/bin/gt-checkpoint write")
		default:
			h["command"] = pick("/opt/gt <&> bin/", "/other/", "") + pick(wiring.Binaries...)
			h["args"] = []string{pick("--hook", "touch", "end", "write")}
		}
		if c.Shape == wiring.Flat && r.IntN(2) == 0 { // one line for each kind of shell
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
				if c.Shape != wiring.Grouped {
					groups = append(groups, list...)
					continue
				}
				g["hooks"] = list
				groups = append(groups, g)
			}
			events[pick("SessionStart", "Stop", "PostToolUse", "PreCompact", "SessionEnd", "Notification", "sessionStart", "stop", "agentStop", "AfterAgent")] = groups
		}
		settings[pick(keyOf(c), "hooks")] = events
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

// UnlikelyLimit finds limits that were meant in the other unit.
func TestUnlikely(t *testing.T) {
	for _, c := range []struct {
		format string
		limit  float64
		wrong  bool
	}{
		{"claude", 10, false}, {"claude", 10000, true}, {"claude", 0, false},
		{"gemini", 10, true}, {"gemini", 10000, false}, {"gemini", 0, false},
		{"qwen", 10, false}, {"qwen", 10000, false},
	} {
		client := clientOf(t, c.format)
		if got := client.UnlikelyLimit(c.limit); (got != "") != c.wrong {
			t.Errorf("%s %v: %q", c.format, c.limit, got)
		}
	}
}

// A shell starts the program at any quoted path.
func TestQuote(t *testing.T) {
	for _, path := range []string{"/usr/bin/gt-prime", "/a b/gt-prime", `/it's "$HOME"/gt-prime`, "/ä/gt-prime", `/back\slash/gt-prime`} {
		if program, rest := wiring.SplitCommand(wiring.Quote(path) + " --hook"); program != path || rest != " --hook" {
			t.Errorf("%s became %s, %s", path, program, rest)
		}
	}
	if got := wiring.QuotePowerShell("/it's/gt-prime"); got != "& '/it''s/gt-prime'" {
		t.Error(got)
	}
}

// Every wiring runs only gt's binaries, each as a hook of that agent, with a limit in its
// unit. A custom agent's wiring has that agent's name.
func TestWirings(t *testing.T) {
	for _, c := range wirings.Clients() {
		want, err := c.Wanted("/opt/a b", []string{"--agent", "robo", "--dialect", "claude", "--cap", "4000"})
		testenv.NoError(t, err)
		for _, w := range want {
			text := string(w.Raw)
			if c.Shape != wiring.Script {
				var all map[string]any
				json.Unmarshal(w.Raw, &all)
				for _, limit := range wiring.Limits {
					if v, ok := all[limit].(float64); ok && (v <= 0 || c.UnlikelyLimit(v) != "") {
						t.Errorf("%s: %s has a limit of %v", c.Name, w, v)
					}
				}
				if w.Timeout == 0 || w.Binary == "" || !strings.Contains(text, "--hook") {
					t.Errorf("%s: %s", c.Name, w)
				}
			} else if !wiring.IsScript(w.Raw) || len(c.Programs(w)) != len(wiring.Binaries) {
				t.Errorf("%s has %v", c.Name, c.Programs(w))
			}
			if !strings.Contains(text, "robo") || strings.Contains(text, "--agent "+c.Name) || strings.Contains(text, `"--agent", "`+c.Name) {
				t.Errorf("%s: %s is not the agent's own", c.Name, text)
			}
			if strings.Contains(text, `"gt-`) || !strings.Contains(text, "/opt/a b/gt-") || !strings.Contains(text, "4000") {
				t.Errorf("%s: %s", c.Name, text)
			}
		}
	}
}

// A refusal whose line is not known names none.
func TestRefusalWithoutLine(t *testing.T) {
	for want, r := range map[string]wiring.Refusal{
		"line 3: a is no text": {Line: 3, Key: "a", Reason: "is no text"},
		"a is no text":         {Key: "a", Reason: "is no text"},
	} {
		if got := r.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A version is too old if it is known to be: a build that is no release is not.
func TestUnable(t *testing.T) {
	c := clientOf(t, "opencode")
	c.Since = map[string]string{"New": "99.0.0"}
	for version, takes := range map[string]bool{"": true, "0.0.0-dev-202611280900": true, "0.0.0": true, c.Oldest: false, "99.0.0": true} {
		if c.Version = version; c.UnableReason() != "" || c.TakesEvent("New") != takes {
			t.Errorf("%q: %q, takes the event: %v", version, c.UnableReason(), c.TakesEvent("New"))
		}
	}
	for _, version := range []string{"0.0.1", "0.5.29", "1.3.2-beta.1"} {
		if c.Version = version; c.UnableReason() == "" || c.TakesEvent("New") {
			t.Errorf("%q is not too old", version)
		}
	}
}
