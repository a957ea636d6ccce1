package e2e

import (
	"slices"
	"testing"
)

// What is told of a change: all stories of the clients that it touches, the main
// one of the others.
func TestSelect(t *testing.T) {
	tests := []string{"TestHandover", "TestCrash", "TestCodexHandover", "TestTalkToCodex", "TestPiHooks", "TestPiInPane", "TestScreens"}
	for _, c := range []struct {
		files, touched, left []string
	}{
		{[]string{"docs/files.md", "README.md", "testdata/scripts/krc_keep.txtar"}, nil, []string{"TestCrash", "TestTalkToCodex", "TestPiInPane", "TestScreens"}},
		{[]string{"lib/client/codex/hook/hook.go"}, []string{"codex"}, []string{"TestCrash", "TestPiInPane", "TestScreens"}},
		{[]string{"hooks/pi/gt.ts", "e2e/codex_test.go"}, []string{"codex", "pi"}, []string{"TestCrash"}},
		{[]string{"lib/state/session/thread.go"}, []string{"claude"}, []string{"TestTalkToCodex", "TestPiInPane"}},
	} {
		touched := Touched(c.files)
		if !slices.Equal(touched, c.touched) {
			t.Errorf("%q touches %q", c.files, touched)
		}
		chosen := Select(tests, touched, 0)
		for _, test := range c.left {
			if slices.Contains(chosen, test) {
				t.Errorf("%q: %s is told", c.files, test)
			}
		}
		for _, client := range Clients {
			if name := client.Main; !slices.ContainsFunc(chosen, func(s string) bool { return s == name || ClientOfStory(s) == client.Client }) {
				t.Errorf("%q: no story of %s is told", c.files, client.Client)
			}
		}
		for _, client := range touched {
			if !slices.Contains(chosen, "TestScreens/"+client) {
				t.Errorf("%q: %q has no part of %s's", c.files, chosen, client)
			}
		}
	}
}

// Of a change that touches most clients the main story of each is told each turn, and each
// other one in one turn of three.
func TestSelectOfMany(t *testing.T) {
	tests := []string{"TestHandover", "TestCrash", "TestCodexHandover", "TestTalkToCodex", "TestCodexCrash", "TestCodexCompact", "TestCodexResume", "TestQwenHandover", "TestPiHooks", "TestScreens"}
	touched := []string{"claude", "codex", "pi", "qwen"}
	told := map[string]int{}
	for turn := range turns {
		for _, test := range Select(tests, touched, turn) {
			told[test]++
		}
	}
	for test, want := range map[string]int{
		"TestHandover": turns, "TestCodexHandover": turns, "TestQwenHandover": turns, "TestPiHooks": turns,
		"TestScreens/claude": 1, "TestScreens/codex": 1, "TestScreens/pi": 1, "TestScreens/qwen": 1,
		"TestCrash": 1, "TestTalkToCodex": 1, "TestCodexCrash": 1, "TestCodexCompact": 1, "TestCodexResume": 1,
	} {
		if told[test] != want {
			t.Errorf("%s is told in %d turns of %d, want %d", test, told[test], turns, want)
		}
	}
}
