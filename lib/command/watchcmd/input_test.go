package watchcmd

import (
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"gt/internal/testenv"
	"gt/lib/live/status"
)

// What a terminal sends at once is one burst, whatever it is in, and keys are keys.
func TestBursts(t *testing.T) {
	for sent, want := range map[string]string{
		"j": "j", "jjjj": "jjjj", "\r": "\r", "\r\n": "\r\n", "é": "é", "日": "日", "\x1b[A\x1b[B": "\x1b[A\x1b[B", "\x15web\r": "\x15web\r",
		"\x1b[200~two\rlines\x1b[201~": "\x1b[200~two\rlines\x1b[201~",
		"try them\r":                   pasteBegin + burstMark + "try them\r" + pasteEnd,
		"テスト":                          pasteBegin + burstMark + "テスト" + pasteEnd,
		"a\tb":                         pasteBegin + burstMark + "a\tb" + pasteEnd,
		"xテ\xe3\x82":                   pasteBegin + burstMark + "xテ" + pasteEnd,
		"xテ\xe3":                       pasteBegin + burstMark + "xテ" + pasteEnd,
	} {
		r, w, err := os.Pipe()
		testenv.NoError(t, err)
		input := &typedInput{File: r}
		_, err = w.WriteString(sent)
		testenv.NoError(t, err)
		var buf [4096]byte
		n, err := input.Read(buf[:])
		testenv.NoError(t, err)
		if got := string(buf[:n]); got != want {
			t.Errorf("%q gives %q, want %q", sent, got, want)
		}
		if held := len(input.held); held > 0 { // comes with what follows
			_, err = w.WriteString("ス"[held:])
			testenv.NoError(t, err)
			n, err = input.Read(buf[:])
			testenv.NoError(t, err)
			if got := string(buf[:n]); got != "ス" {
				t.Errorf("%q: what follows is %q", sent, got)
			}
		}
		r.Close()
		w.Close()
	}
}

// A pasted text never ends, restarts or answers anything, in whatever mode it comes. Several
// letters that a slow line brings at once do what changes no agent.
func TestBurstIsText(t *testing.T) {
	paste := func(m *model, text string) { m.Update(tea.PasteMsg{Content: burstMark + text}) }
	m := testModel(80, 24, makeRows("wwww"))
	for _, text := range []string{"try them\r", "xy", "ry\r", "ay1", "oo no", "A1", "from here\r", "more\r", "\rx\ry"} {
		if paste(m, text); m.mode != browsing || !strings.Contains(m.message.text, "a pasted text runs no command") {
			t.Errorf("%q: mode %d, %+v", text, m.mode, m.message)
		}
	}
	press(m, "x")
	if paste(m, "yy y"); m.mode != asking {
		t.Errorf("a burst answers: %+v", m.message)
	}
	press(m, "esc")
	m.Update(questionOptions{asker: *m.chosenRow(), all: []string{"Yes", "No"}})
	if paste(m, "1\r"); m.mode != answering {
		t.Errorf("a burst takes an option: %+v", m.message)
	}
	press(m, "esc")
	if paste(m, "\tjk \t/agent"); m.mode != typing || m.filter != "agent" {
		t.Errorf("the filter is %q", m.filter)
	}
	press(m, "esc")
	if paste(m, "sfix the parser\rand more\r"); m.mode != typing || m.input.Value() != "fix the parser\nand more" {
		t.Errorf("typed is %q", m.input.Value())
	}
	press(m, "esc", "s")
	paste(m, "one\rtwo\r")
	if m.mode != typing || m.input.Value() != "one\ntwo" {
		t.Errorf("of a paste of two lines %q is in the box, mode %d", m.input.Value(), m.mode)
	}
	if paste(m, " and\r"); m.message.command == "" { // typed on a slow line
		t.Errorf("a line with its end is not sent: %q", m.input.Value())
	}
}

// A command has its key in every layout, and a box takes what was typed.
func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		sent tea.KeyPressMsg
		want string
	}{
		{tea.KeyPressMsg{Code: 'с', Mod: tea.ModCtrl}, "ctrl+c"},
		{tea.KeyPressMsg{Code: 'я', Mod: tea.ModCtrl}, "ctrl+z"},
		{tea.KeyPressMsg{Code: 'ψ', Mod: tea.ModCtrl}, "ctrl+c"},
		{tea.KeyPressMsg{Code: 'ב', Mod: tea.ModCtrl}, "ctrl+c"},
		{tea.KeyPressMsg{Code: 'ㅊ', Mod: tea.ModCtrl}, "ctrl+c"},
		{tea.KeyPressMsg{Code: 'ქ', BaseCode: 'c', Mod: tea.ModCtrl}, "ctrl+c"},
		{tea.KeyPressMsg{Code: 'й', Text: "й"}, "q"},
		{tea.KeyPressMsg{Code: 'п', Text: "П", Mod: tea.ModShift}, "G"},
		{tea.KeyPressMsg{Code: 'ж', Text: "ж"}, ";"},
		{tea.KeyPressMsg{Code: 'ｑ', Text: "ｑ"}, "q"},
		{tea.KeyPressMsg{Code: 'ᄀ', Text: "ᄀ"}, "ᄀ"},
		{tea.KeyPressMsg{Code: 'é', Text: "é"}, "é"},
		{tea.KeyPressMsg{Code: 'a', Text: "a", BaseCode: 'q'}, "a"},
		{tea.KeyPressMsg{Code: tea.KeyUp}, "up"},
	} {
		if got := toLatinKey(c.sent).String(); got != c.want {
			t.Errorf("%+v is %q, want %q", c.sent, got, c.want)
		}
	}
	for _, l := range layouts {
		if n := len([]rune(l[0])); n != len(l[1]) {
			t.Errorf("%s has %d letters for %d keys", l[0], n, len(l[1]))
		}
	}
	m := testModel(80, 24, makeRows("ww"))
	press(m, "ы", "й")
	if m.mode != typing || m.input.Value() != "й" {
		t.Errorf("mode %d, typed %q", m.mode, m.input.Value())
	}
	if m.Update(tea.KeyPressMsg{Code: 'с', Mod: tea.ModCtrl}); m.mode != browsing {
		t.Error("Ctrl-C of a Russian layout does not leave the box")
	}
	press(m, "ч")
	if press(m, "н"); !strings.HasPrefix(m.message.command, "gt-session stop") {
		t.Errorf("it runs %q", m.message.command)
	}
}

// Backspace deletes what a person sees as one character. Alt-Enter and Ctrl-J begin a line
// where the text may have several.
func TestTyping(t *testing.T) {
	m := testModel(80, 24, []row{testRow("", "api", "", "~/api", status.Waiting, status.Done, 0)})
	press(m, "s")
	for _, text := range []string{"e\u0301", "👩‍👩‍👧", "🇩🇪", "กำ", "x"} {
		m.Update(tea.PasteMsg{Content: "a" + text})
		m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
		if m.input.Value() != "a" {
			t.Errorf("of %q there is %q", "a"+text, m.input.Value())
		}
		m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	}
	press(m, "a")
	m.Update(tea.KeyPressMsg{Code: tea.KeyEnter, Mod: tea.ModAlt})
	press(m, "b")
	m.Update(tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl})
	m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
	press(m, "c")
	if m.input.Value() != "a\nbc" {
		t.Errorf("typed is %q", m.input.Value())
	}
	m.Update(tea.KeyPressMsg{Code: '\ufffd', Text: "\ufffd"}) // as \x1b[57319u, which some terminals send
	m.Update(tea.KeyPressMsg{Code: ' ', Text: " ", Mod: tea.ModShift})
	m.Update(tea.KeyPressMsg{Code: 'd', Text: "D", Mod: tea.ModCapsLock})
	if m.input.Value() != "a\nbc D" {
		t.Errorf("typed is %q", m.input.Value())
	}
	press(m, "esc", "/", "a")
	m.Update(tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl})
	if m.input.Value() != "a" {
		t.Errorf("a filter has several lines: %q", m.input.Value())
	}
}

// The filter finds a letter in each of its forms.
func TestFilterForms(t *testing.T) {
	m := testModel(80, 24, []row{testRow("", "re\u0301sume\u0301", "", "~/a", status.Idle, "", 0), testRow("", "한글", "", "~/b", status.Idle, "", 0)})
	for filter, want := range map[string]string{"RÉSUMÉ": "re\u0301sume\u0301", "\u1112\u1161\u11ab": "한글", "ｒé": "re\u0301sume\u0301"} {
		press(m, "/")
		m.Update(tea.PasteMsg{Content: filter})
		if len(m.items) != 1 || m.chosenRow() == nil || m.chosenRow().Name != want {
			t.Errorf("%q: %+v", filter, m.items)
		}
		press(m, "esc")
	}
}
