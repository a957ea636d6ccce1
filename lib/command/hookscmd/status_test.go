package hookscmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"

	"gt/lib/cli"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
)

// The findings about one hook in one place. Of several entries, a working one counts.
func TestJudge(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"here/gt-prime", "there/gt-prime"} {
		file := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(file), 0o700)
		testenv.NoError(t, os.WriteFile(file, nil, 0o700))
	}
	claude, _ := wirings.FindClient("claude")
	agent := target{name: "claude", client: claude}
	want, err := agent.wantedHandlers(filepath.Join(dir, "here"))
	testenv.NoError(t, err)
	want = want[:1]
	env := &cli.Env{Environ: []string{"PATH=" + filepath.Join(dir, "here")}}

	entry := func(command string, more string) string {
		name, _ := json.Marshal(command)
		return `{"type":"command","command":` + string(name) + more + `}`
	}
	const args, limit = " --hook --agent claude || :", `,"timeout":10`
	here := entry(dir+"/here/gt-prime"+args, limit)
	there := entry(dir+"/there/gt-prime"+args, limit)
	gone := entry(dir+"/gone/gt-prime"+args, limit)
	other := entry("linter", limit)
	for _, c := range []struct {
		name, entries, state, detail string
	}{
		{"wired", here, wired, ""},
		{"found on PATH", entry("gt-prime"+args, limit), wired, ""},
		{"elsewhere", there, otherPath, "runs " + dir + "/there/gt-prime"},
		{"gone", gone, noBinary, "cannot find '" + dir + "/gone/gt-prime': no such file or directory"},
		{"a folder", entry(dir+"/here/../here/gt-prime/.."+args, limit), "none", ""},
		{"not on PATH", entry("gt-handoff"+args, limit), missing, ""},
		{"other arguments", entry(dir+"/here/gt-prime --hook || :", limit), outdated, "not as this version wires it"},
		{"no limit", entry(dir+"/here/gt-prime"+args, ""), outdated, "not as this version wires it"},
		{"in the background", entry(dir+"/here/gt-prime"+args, limit+`,"async":true`), outdated, "not as this version wires it"},
		{"milliseconds", entry(dir+"/here/gt-prime"+args, `,"timeout":10000`), outdated, "its timeout of 10000 is in seconds, 2.8 hours"},
		{"as v0.2.0 wired it", entry(dir+"/here/gt-prime", `,"args":["--hook","--agent","claude"]`+limit), outdated, "not as this version wires it"},
		{"by a variable", entry("$HOME/bin/gt-prime --hook", ""), outdated, "not as this version wires it"},
		{"outdated and gone", entry("/gone/gt-prime --hook", ""), noBinary, "cannot find '/gone/gt-prime': no such file or directory"},
		{"twice", here + "," + other + "," + there, wiredTwice, "in lines 4 and 4"},
		{"a good one first", here + "," + gone, wired, ""},
		{"a good one last", gone + "," + here, wired, ""},
		{"none good", gone + "," + entry(dir+"/here/gt-prime"+args, ""), noBinary, "cannot find '" + dir + "/gone/gt-prime': no such file or directory"},
		{"somebody else's", other, "none", ""},
	} {
		text := "{\n\"hooks\": {\n\"SessionStart\":\n[{\"hooks\": [" + c.entries + "]}]}}"
		file := filepath.Join(dir, "settings.json")
		testenv.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		place := agent.readSource(wiring.Local, file)
		if place.Err != nil {
			t.Fatal(place.Err)
		}
		f := findingsOf(env, place, want)[0]
		if f.State != c.state || f.Detail != c.detail {
			t.Errorf("%s: %q, %q, want %q, %q", c.name, f.State, f.Detail, c.state, c.detail)
		}
		if (f.Fix == "") != (c.state == wired || c.state == "none") {
			t.Errorf("%s: the advice is %q", c.name, f.Fix)
		}
	}
}
