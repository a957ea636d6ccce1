package wiring

import (
	"gt/internal/testenv"
	"math/rand/v2"
	"strings"
	"testing"

	"gt/lib/client/wiring"
)

func wanted(t *testing.T, dir string) []wiring.Handler {
	t.Helper()
	want, err := Client().Wanted(dir, []string{"--agent", "kimi"})
	if err != nil || len(want) != 13 {
		t.Fatal(len(want), err)
	}
	return want
}

// What gt adds to a file it takes out again, byte for byte, whatever stands there and
// however it ends.
func TestRewire(t *testing.T) {
	want := wanted(t, "/opt/gt's \x7f<&> \"bin\"")
	other := wanted(t, "/usr/bin")
	for _, text := range []string{
		"", "\n", "\n\n", "# mine", "a = 1", "a = 1\n", "a = 1\n\n", "a = 1\r\n", "a = 1\r\n\r\n",
		"[models.e2e]\nname = 'x'\n\n[[hooks]]\nevent = \"Stop\"\ncommand = \"notify-send 'gt-prime'\"\n",
		"[[ hooks ]] # mine\nevent = \"Stop\" # and this\ncommand = '''\nsay done\n'''\n# the end",
		"[[\"hooks\"]]\nevent = \"Stop\"\nmatcher = \"a#b\"\ncommand = \"x\"\ntimeout = 3\n\n# of the model\n[models.x]\na = [\n  [1],\n  [2],\n]\n",
		"x = \"\"\"\nno [[hooks]]\n\"\"\"\n",
		"x = '''\n[[hooks]]\n'''\n",
	} {
		wired, changes, err := format{}.Rewire([]byte(text), want)
		if err != nil || len(changes) != len(want) || !strings.HasPrefix(string(wired), text) {
			t.Errorf("%q: %d changes, %v\n%s", text, len(changes), err, wired)
			continue
		}
		if again, changes, err := (format{}).Rewire(wired, want); err != nil || len(changes) != 0 || string(again) != string(wired) {
			t.Errorf("%q: a second time there are %d changes, %v", text, len(changes), err)
		}
		moved, changes, err := format{}.Rewire(wired, other)
		if err != nil || len(changes) != 2*len(want) {
			t.Errorf("%q: another folder makes %d changes, %v", text, len(changes), err)
		}
		for _, wired := range [][]byte{wired, moved} {
			if back, _, err := (format{}).Rewire(wired, nil); err != nil || string(back) != text {
				t.Errorf("%q: back is %q, %v", text, back, err)
			}
		}
	}
}

// Entries of an earlier version among a person's own are replaced where they stand or taken
// out; what is between them stays.
func TestRewireAmongOthers(t *testing.T) {
	want := wanted(t, "/opt/bin")
	for seed := range testenv.Seeds(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var kept, text strings.Builder
		both := func(s string) { kept.WriteString(s); text.WriteString(s) }
		both("default_model = \"m\"\n")
		for range 8 {
			switch r.IntN(5) {
			case 0:
				both("\n# a comment\n")
			case 1:
				both("\n[[hooks]]\nevent = \"Stop\"\ncommand = \"mine\"\n")
			case 2:
				both("\n[models.m" + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))) + "]\nn = 1\n")
			default:
				h := want[r.IntN(len(want))]
				text.WriteString("\n" + strings.Replace(renderTable(h), "timeout = ", "timeout = 1", 1) + "\n")
			}
		}
		if _, err := decode([]byte(text.String())); err != nil {
			continue // the same table twice
		}
		wired, _, err := format{}.Rewire([]byte(text.String()), want)
		if err != nil {
			t.Fatalf("seed %d: %v in\n%s", seed, err, text.String())
		}
		back, _, err := format{}.Rewire(wired, nil)
		if err != nil || string(back) != kept.String() {
			t.Fatalf("seed %d: %v\n%s\nis left of\n%s", seed, err, back, text.String())
		}
	}
}

// A notation that gt cannot edit is refused and not damaged.
func TestRewireRefuses(t *testing.T) {
	want := wanted(t, "/opt/bin")
	for text, reason := range map[string]string{
		"hooks = [{event = \"Stop\", command = \"x\"}]\n": "gt can edit its hooks only as tables that begin with a line [[hooks]]",
		"hooks = []\n":     "it has hooks = [], to which nothing can be added: remove that line",
		"[hooks]\na = 1\n": "gt can edit its hooks only as tables that begin with a line [[hooks]]",
		"hooks = 3\n":      "gt can edit its hooks only as tables that begin with a line [[hooks]]",
		"a = \n":           "toml: line 1",
	} {
		if _, _, err := (format{}).Rewire([]byte(text), want); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzRewire(f *testing.F) {
	f.Add("a = 1\n[[hooks]]\nevent = \"Stop\"\ncommand = \"gt-prime\"\n# end")
	f.Add("[[hooks]]\n[[hooks]]\ncommand=\"/x/gt-handoff\"\r\n\r\n[a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		want, err := Client().Wanted("/opt/bin", []string{"--agent", "kimi"})
		testenv.NoError(t, err)
		wired, _, err := format{}.Rewire([]byte(text), want)
		if err != nil {
			return
		}
		if _, changes, err := (format{}).Rewire(wired, want); err != nil || len(changes) != 0 {
			t.Fatalf("%d changes, %v in\n%s", len(changes), err, wired)
		}
		if _, _, err := (format{}).Rewire(wired, nil); err != nil {
			t.Fatalf("%v in\n%s", err, wired)
		}
	})
}
