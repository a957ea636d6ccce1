package agent

import (
	"gt/internal/testenv"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// choice matches a client's question.
var choice = regexp.MustCompile(`(?m)^ *❯ (1\. |Yes|No)`)

// On screens of the real clients, Input tells whether somebody has typed something, and
// takes no question for an input box.
func TestInputOfScreens(t *testing.T) {
	table, seen := Builtin(), map[Input]int{}
	paths, _ := filepath.Glob("../*/testdata/screens/*.txtar")
	for _, path := range paths {
		c := table.FindClient(filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path)))))
		screens, err := txtar.ParseFile(path)
		testenv.NoError(t, err)
		for _, f := range screens.Files {
			if !c.KnowsInput() {
				continue
			}
			want := EmptyInput
			switch {
			case strings.Contains(f.Name, "typed"):
				want = Draft
			case choice.Match(f.Data):
				want = Asks
			}
			got, _ := c.Input(string(f.Data))
			if seen[got]++; got != want {
				t.Errorf("%s: %s: %v, not %v\n%s", path, f.Name, got, want, f.Data)
			}
		}
	}
	for _, kind := range []Input{EmptyInput, Draft, Asks} {
		if seen[kind] == 0 {
			t.Errorf("no screen shows %v", kind)
		}
	}
}

// A question stays one whichever of its options is selected, also one below its last rule, where
// the mark stands as in a box.
func TestQuestionWithEachOptionSelected(t *testing.T) {
	marked := regexp.MustCompile(`(?m)^( *)([❯›●>])( \d\. )`)
	other := regexp.MustCompile(`(?m)^( *)  (\d\. )`)
	table, moved := Builtin(), 0
	paths, _ := filepath.Glob("../*/testdata/screens/*.txtar")
	for _, path := range paths {
		c := table.FindClient(filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path)))))
		screens, err := txtar.ParseFile(path)
		testenv.NoError(t, err)
		for _, f := range screens.Files {
			screen := string(f.Data)
			all := marked.FindAllStringSubmatchIndex(screen, -1)
			if shown, _ := c.Input(screen); shown != Asks || all == nil {
				continue
			}
			at := all[len(all)-1]
			mark := screen[at[4]:at[5]]
			unmarked := screen[:at[4]] + " " + screen[at[5]:]
			for _, option := range other.FindAllStringSubmatchIndex(unmarked, -1) {
				if option[0] < at[0] {
					continue
				}
				moved++
				screen := unmarked[:option[3]] + mark + " " + unmarked[option[4]:]
				if got, _ := c.Input(screen); got != Asks {
					t.Errorf("%s: %s: %v\n%s", path, f.Name, got, screen)
				}
			}
		}
	}
	if moved < 50 {
		t.Errorf("only %d options were selected", moved)
	}
}

// What is typed into a box may have the words of a question, which stands below a box.
func TestDraftWithWordsOfQuestion(t *testing.T) {
	const rule = "──────────\n"
	const form = " Do you want to proceed?\n ❯ 1. Yes\n   2. No\n"
	for _, c := range []struct {
		client, screen string
		want           Input
	}{
		{"claude", rule + "❯ ask: do you want to proceed?\n" + rule, Draft},
		{"claude", rule + "❯ one\n\n  Esc to cancel\n" + rule + "  ? for shortcuts\n", Draft},
		{"claude", rule + "❯ pasted:\n" + form + rule, Draft},
		{"claude", rule + "❯ \n" + rule + form, Asks},
		{"claude", rule + "❯ do you want to proceed?\n" + rule + form, Asks},
		{"claude", "❯ do you want to proceed?\n\n" + rule + form, Asks},
		{"codex", "› would you like to run the following command?\n\n  gpt · /work\n", Draft},
		{"codex", "› run it\n\n  Would you like to run the following command?\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n", Asks},
		{"gemini", " > explain \"Allow execution of\"\n workspace (/directory)\n", Draft},
		{"copilot", "❯ what is enter to select · esc to cancel\n\n", Draft},
		{"kimi", "│ > what is ↵ confirm │\n╰────────╯\n", Draft},
		{"kimi", "│ Trust this folder? │\n│ > Yes │\n│   No │\n│ ↵ confirm │\n", Asks},
		{"opencode", "  ┃\n  ┃  why is Permission required\n  ┃\n  ┃  Build · GPT\n  ╹▀▀▀▀▀▀▀▀\n", Draft},
		{"opencode", "  ┃\n  ┃  △ Permission required\n  ┃\n  ┃  $ ls\n  ┃\n  ┃  \x1b[44m Allow once \x1b[49m  Allow always   Reject \n  ╹▀▀▀▀▀▀▀▀\n", Asks},
	} {
		if got, _ := Builtin().FindClient(c.client).Input(c.screen); got != c.want {
			t.Errorf("%s: %v, not %v\n%s", c.client, got, c.want, c.screen)
		}
	}
}

// Faint text is a suggestion and reversed text the cursor. Colours are neither. The
// agent's text above the box does not count.
func TestInputOfStyles(t *testing.T) {
	const rule = "\x1b[38;5;244m────────\x1b[39m\n"
	claude := Builtin().FindClient("claude")
	for box, want := range map[string]Input{
		"❯ \x1b[7m \x1b[0m": EmptyInput,
		"\x1b[38;5;246m❯ \x1b[7m\x1b[39mP\x1b[0;2mress\x1b[0m \x1b[2mup\x1b[0m": EmptyInput,
		"❯ \x1b[38;2;7;2;2mred\x1b[0m":                                          Draft,
		"❯ \x1b[2mfaint\x1b[22m not":                                            Draft,
		"❯ \x1b[7mr\x1b[27med":                                                  Draft,
		"❯ \x1b]8;;https://example.com/\x1b\\link\x1b]8;;\x1b\\":                Draft,
		"❯ one\n  two":                                                          Draft,
		"! ls":                                                                  Draft,
		"! ":                                                                    Draft,
		"❯ \x1b[38;5":                                                           Draft, // cut
	} {
		screen := "● Do you want to proceed?\n\n" + rule + box + "\n" + rule + "  ? for shortcuts\n"
		if got, _ := claude.Input(screen); got != want {
			t.Errorf("%q: %v, not %v", box, got, want)
		}
		asks := screen + " Do you want to proceed?\n ❯ 1. Yes\n"
		if got, _ := claude.Input(asks); got != Asks && !strings.HasSuffix(box, "[38;5") {
			t.Errorf("%q, and it asks: %v", box, got)
		}
	}
	// Codex's box is as high as the screen, and shows the last lines of what is typed.
	codex := Builtin().FindClient("codex")
	for box, want := range map[string]Input{
		"\x1b[1m›\x1b[0m \x1b[2mAsk Codex to do anything\n\x1b[0m\n  e2e-model default": EmptyInput,
		"\x1b[1m›\x1b[0m          \x1b[2m↑\n\x1b[0m   and another\n  a line\n":          Draft,
		"\x1b[1m›\x1b[0m          \x1b[2m↑\x1b[0m\n\n  a line\n":                        Draft,
		"\x1b[1m›\x1b[0m a line   \x1b[2m↑\n\x1b[0m   and another\n":                    Draft,
		"\x1b[1m›\x1b[0m \x1b[2mpress ↑ to edit\n\x1b[0m\n  e2e-model default":          EmptyInput,
	} {
		if got, _ := codex.Input("\x1b[1;2m› \x1b[0mhi\n\n• It is done.\n\n" + box); got != want {
			t.Errorf("Codex: %q: %v, not %v", box, got, want)
		}
	}
	if got, _ := claude.Input("$ \n"); got != NoInput {
		t.Errorf("a shell shows %v", got)
	}
	if got, _ := (Client{}).Input(rule + "❯ \n" + rule); got != NoInput {
		t.Errorf("of an agent whose screen nobody knows: %v", got)
	}
}

// pi drops a prompt while it waits to ask its model again, but not because text on the
// screen mentions that.
func TestDeaf(t *testing.T) {
	for screen, want := range map[string]bool{
		"\x1b[33m ⠹\x1b[39m \x1b[90mRetrying (1/3) in 2s... (escape to cancel)\x1b[39m\n──────\n\x1b[7m \x1b[0m\n──────\n": true,
		" ⠹ Working...\n──────\n\x1b[7m \x1b[0m\n──────\n":                                                                 false,
		" It said \"Retrying (1/3) in 2s\".\n──────\n\x1b[7m \x1b[0m\n──────\n":                                            false,
	} {
		if got := Builtin().FindClient("pi").DropsPrompt(screen); got != want {
			t.Errorf("%v\n%s", got, screen)
		}
	}
}

// An answered question that is still on the screen is none: Gemini CLI shows it while it
// starts itself again, and takes another Enter for another answer.
func TestAnsweredQuestion(t *testing.T) {
	c := Builtin().FindClient("gemini")
	const question = " │ Do you trust the files in this folder?\n │ ● 1. Trust folder (x)\n │   2. Trust parent folder (y)\n │   3. Don't trust\n"
	const restarts = " Gemini CLI is restarting to apply the trust changes...\n"
	for screen, asks := range map[string]bool{
		question:                       true,
		question + restarts:            false,
		question + restarts + question: true,
		question + restarts + " Gemini CLI v0.61.0\n": false,
	} {
		if _, ok := c.Question(screen); ok != asks || (c.ScreenState(screen) == Waiting) != asks || c.DropsPrompt(screen) {
			t.Errorf("asks: %v, %v\n%s", ok, c.ScreenState(screen), screen)
		}
	}
}

// Codex and Gemini CLI show their input box some seconds before they ask whether to trust
// the folder, and Gemini CLI asks before it has opened the folder.
func TestOpens(t *testing.T) {
	const gemini = "  ? for shortcuts\n──────\n Shift+Tab to accept edits\n\n >   Type your message or @path/to/file\n\n workspace (/directory)\n /home/max/strange\n"
	for _, c := range []struct {
		client, screen string
		want           bool
	}{
		{"codex", "  >_ OpenAI Codex (v0.169.0)\n     /home/max/strange\n\n› Ask Codex to do anything\n\n  ? for shortcuts\n", true},
		{"codex", "  >_ OpenAI Codex (v0.169.0)\n\n› Ask Codex to do anything\n\n  e2e-model default · /home/max/project\n  ← for agents · ? for shortcuts   ⚠ 1 warning\n", false},
		{"gemini", "\n\n" + gemini, true},
		{"gemini", "\n⚠  Warning: True color (24-bit) support not detected. Using a terminal with true color enabled will result in a better\n   visual experience.\n\n\n" + gemini, true},
		{"gemini", "\n ╭─────╮\n │     │\n │ Do you trust the files in this folder? │\n │ ● 1. Trust folder (other) │\n", true},
		{"gemini", "\n ▝▜▄     Gemini CLI v0.61.0\n\n ╭─────╮\n │     │\n │ Do you trust the files in this folder? │\n", false},
		{"gemini", "\n ╭─────╮\n │ Allow execution of [ls]? │\n │ diff: do you trust │\n", false},
		{"gemini", "\n ▝▜▄     Gemini CLI v0.61.0\n   ▝▜▄\n\n⚠  Warning: True color\n\n" + gemini, false},
		{"gemini", " > please say HELLO\n\n✦ It is done.\n\n" + gemini, false},
		{"gemini", "⚠  of the last turn\n\n✦ It is done.\n\n" + gemini, false},
	} {
		if got := Builtin().FindClient(c.client).MayAskTrust(c.screen); got != c.want {
			t.Errorf("%s: %v\n%s", c.client, got, c.screen)
		}
	}
}

// The other clients' input boxes with and without text, as seen on their screens.
func TestInputOfClients(t *testing.T) {
	table := Builtin()
	const rule = "──────────\n"
	wide := strings.Repeat(" ", 70) // to OpenCode's second column
	for _, c := range []struct {
		client, screen string
		want           Input
	}{
		{"codex", "› please think\n\n• It is done.\n\n\x1b[1m›\x1b[0m \x1b[2mAsk Codex to do anything\x1b[0m\n\n  gpt · /work\n", EmptyInput},
		{"codex", "• It is done.\n\n\x1b[1m›\x1b[0m two\n  lines\n\n  gpt · /work\n", Draft},
		{"codex", "\x1b[1m›\x1b[0m  1. a list\n  2. of mine\n\n  gpt · /work\n", Draft},
		{"codex", "› please run it\n\n  Would you like to run the following command?\n\n  $ touch made\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel\n", Asks},
		{"codex", "■ You’ve hit your usage limit.\n\n  Approaching rate limits\n  Switch to gpt-6-luna for lower credit usage?\n\n› 1. Switch to gpt-6-luna\n  2. Keep current model\n\n  enter select · esc back\n", Asks},
		{"codex", "  Hooks need review\n\n› 1. Review hooks\n  2. Trust all and continue\n\n  \x1b[1menter\x1b[0;2m confirm\n", Asks},
		{"gemini", " > hello\n\n \x1b[38;5;183m> \x1b[7m \x1b[0;38;5;248m Type your message or @path/to/file\x1b[39m\n workspace (/directory)\n", EmptyInput},
		{"gemini", " > hello\n\n > half a line\x1b[7m \x1b[0m\n workspace (/directory)\n", Draft},
		{"gemini", " > run it\n\n Action Required\n Allow execution of [touch]?\n ● 1. Allow once\n   2. Allow for this session\n   3. No\n", Asks},
		{"qwen", "  > hello\n" + rule + "> \x1b[7m \x1b[0m Type your message or @path/to/file\n" + rule, EmptyInput},
		{"qwen", "  > hello\n" + rule + "> half\x1b[7m \x1b[0m\n" + rule, Draft},
		{"qwen", "  > hello\n" + rule + "> \x1b[4m\x1b[39mr\x1b[0m\x1b[38;5;103m\x1b[49mun the tests now\n" + rule, EmptyInput},
		{"qwen", "  > hello\n" + rule + "> \x1b[4m\x1b[39m试\x1b[0m\x1b[38;5;103m\x1b[49m一试\n" + rule, EmptyInput},
		{"qwen", "  > hello\n" + rule + "> \x1b[4m\x1b[39m \x1b[0m\x1b[38;5;103m\x1b[49m 输入您的消息或 @ 文件路径\n" + rule, EmptyInput},
		{"qwen", "  > hello\n" + rule + "> \x1b[4m\x1b[38;5;230mr\x1b[0m\x1b[38;5;230mun the tests\n" + rule, Draft}, // the cursor at its begin
		{"qwen", "  > hello\n" + rule + "> \x1b[4mr\x1b[0mun the tests\n" + rule, Draft},
		{"qwen", "  > hello\n" + rule + "> \x1b[4m\x1b[39m \x1b[0m\x1b[38;5;103m@README.md\x1b[39m explain\n" + rule, Draft},
		{"claude", rule + "❯ \x1b[7mT\x1b[0m\x1b[2m\x1b[38;5;246mry \"fix\"\x1b[0m\n" + rule, EmptyInput},
		{"codex", "\x1b[1m›\x1b[0m \x1b[7mA\x1b[0m\x1b[2m\x1b[38;5;246msk Codex to do anything\x1b[0m\n\n  gpt · /work\n", EmptyInput},
		{"kimi", "│ > \x1b[7m \x1b[0m\x1b[38;5;240m│\n", EmptyInput},
		{"qwen", "  > hello\n" + rule + "> /re\x1b[4mv\x1b[0m\x1b[38;5;103miew\n" + rule, Draft},
		{"qwen", "  > 跑测试\n" + rule + "> \x1b[4m \x1b[0m\n" + rule + "  等待用户确认...\n  ● 1. 是，允许一次\n", Asks},
		{"copilot", " ❯ hello\n" + rule + "❯ \x1b[7m \x1b[0m\n" + rule, EmptyInput},
		{"copilot", " ❯ hello\n" + rule + "❯ half\n" + rule, Draft},
		{"copilot", " ❯ hello\n\x1b[2m────\n\x1b[0m❯\n\x1b[2m────\n\x1b[0m", EmptyInput},
		{"copilot", " ❯ hello\n\x1b[2m────\n\x1b[0m❯ half\n  a line\n\x1b[2m────\n\x1b[0m", Draft},
		{"pi", " hello\n" + rule + "\x1b[7m \x1b[0m\n" + rule + "/work (main)\n", EmptyInput},
		{"pi", rule + " $ ls\n" + rule + rule + "half a line\n\n  and more\n" + rule + "/work (main)\n", Draft},
		{"opencode", "  ┃\n  ┃  hello\n  ┃\n\n  ┃\n  ┃\n  ┃\n  ┃  Build · GPT\n  ╹▀▀▀▀\n", EmptyInput},
		{"opencode", "      ┃\n      ┃  Ask anything… \"Fix a TODO\"\n      ┃\n      ┃  Build · GPT\n      ╹▀▀▀▀\n", EmptyInput},
		{"opencode", "  ┃\n  ┃" + wide + "Context\n  ┃" + wide + "/home/max\n  ┃" + wide + "$x:main\n  ┃  Build · GPT" + wide + "x\n  ╹▀▀▀▀" + wide + "\n", EmptyInput},
		{"opencode", "  ┃\n  ┃  two" + wide + "Context\n  ┃\n  ┃  Build · GPT\n  ╹▀▀▀▀\n", Draft},
		{"opencode", "  ┃" + wide + "LSP\n  ┃  two\n  ┃  lines\n  ┃" + wide + "/home/max\n  ┃  Build · GPT\n  ╹▀▀▀▀\n", Draft},
		{"opencode", "  ┃\n  ┃  two\n  ┃  lines\n  ┃\n  ┃  Build · GPT\n  ╹▀▀▀▀\n", Draft},
	} {
		if got, _ := table.FindClient(c.client).Input(c.screen); got != c.want {
			t.Errorf("%s: %v, not %v\n%s", c.client, got, c.want, c.screen)
		}
	}
}

// OpenCode 1.18.33's options are beside each other or numbered, and the selected one has
// a background of its own.
func TestQuestionOfColours(t *testing.T) {
	const (
		line     = "\x1b[48;5;232m  \x1b[38;5;215m\x1b[48;5;233m┃\x1b[38;5;15m\x1b[48;5;234m  "
		on, off  = "\x1b[48;5;215m \x1b[38;5;232m", "\x1b[38;5;15m \x1b[48;5;234m"
		keys     = "                   \x1b[38;5;255mctrl+f \x1b[38;5;8mfullscreen\x1b[38;5;15m  \x1b[38;5;255m⇆ \x1b[38;5;8mselect\x1b[48;5;232m  \x1b[48;5;233m\n"
		asks     = "\x1b[48;5;232m  \x1b[38;5;75m┃\x1b[48;5;233m  1. a list\n     Permission required\n"
		question = "\x1b[48;5;232m  \x1b[38;5;140m\x1b[48;5;233m┃\x1b[38;5;15m  "
		numbered = question + "\x1b[38;5;8m1.\x1b[38;5;15m Red\n" + question + "\x1b[38;5;68m\x1b[48;5;234m2.\x1b[38;5;15m Blue\x1b[48;5;233m   \n" + question + "↑↓ \x1b[38;5;8mselect\x1b[38;5;15m  enter submit  esc dismiss\n"
	)
	for screen, want := range map[string][]Option{
		asks + line + on + "Allow once" + off + "  Allow always   Reject " + keys:      {{"Allow once", true}, {"Allow always", false}, {"Reject", false}},
		asks + line + " Allow once  " + on + "Allow always" + off + "  Reject " + keys: {{"Allow once", false}, {"Allow always", true}, {"Reject", false}},
		asks + line + " Allow once   Allow always  " + on + "Reject" + off + keys:      {{"Allow once", false}, {"Allow always", false}, {"Reject", true}},
		asks + line + " Confirm  " + on + "Cancel" + off + keys:                        {{"Confirm", false}, {"Cancel", true}},
		asks + line + " Allow once   Allow always   Reject " + keys:                    nil,
		numbered: {{"Red", false}, {"Blue", true}},
	} {
		q, ok := Builtin().FindClient("opencode").Question(screen)
		if beside := q.Next == "Right" && q.Previous == "Left"; !ok || !slices.Equal(q.Options, want) || beside != (want != nil && screen != numbered) {
			t.Errorf("%q: %v %+v", screen, ok, q)
		}
	}
}

// The options are the numbered lines at the end of which one is marked. The agent's text
// above has none.
func TestQuestion(t *testing.T) {
	const list = "● Which of these?\n  1. first\n  2. second\n"
	claude, gemini := Builtin().FindClient("claude"), Builtin().FindClient("gemini")
	q, ok := claude.Question(list + "─────\n Do you want to proceed?\n ❯ 1. Yes\n   2. Yes, and allow a. b\n   3. No\n Esc to cancel\n")
	if !ok || len(q.Options) != 3 || q.Options[0] != (Option{"Yes", true}) || q.Options[1] != (Option{"Yes, and allow a. b", false}) {
		t.Errorf("%v %+v", ok, q.Options)
	}
	q, ok = gemini.Question("│ Allow execution of [touch]? │\n│   1. Allow once │\n│ ● 2. No │\n")
	if !ok || len(q.Options) != 2 || q.Options[1] != (Option{"No", true}) {
		t.Errorf("%v %+v", ok, q.Options)
	}
	for screen, want := range map[string][]Option{
		" ❯ No\n   Yes\n Esc to cancel\n":                  {{"No", true}, {"Yes", false}},
		"   No\n ❯ Yes, and stay\n\n   Esc to cancel\n":    {{"No", false}, {"Yes, and stay", true}},
		"   1. a list\n   No\n\n   Yes\n ❯ No\n   Later\n": {{"Yes", false}, {"No", true}, {"Later", false}},
		"│   No  │\n│ ● Yes │\n":                           {{"No", false}, {"Yes", true}},
		"❯ run it\n  and more\n Do you want to proceed?\n": nil, // the person's own text
		" ❯ No\n     that is all\n":                        nil,
		"  Which?\n   Red\n > Blue\n   Another\n":          {{"Red", false}, {"Blue", true}, {"Another", false}}, // Cline's
		"> a quotation\n  and more\n":                      nil,
	} {
		q, ok := claude.Question(list + "─────\n Do you want to proceed?\n" + screen)
		if !ok || !slices.Equal(q.Options, want) || (want != nil) != (q.Next == "Down" && q.Previous == "Up") {
			t.Errorf("%q: %v %+v", screen, ok, q)
		}
	}
	if q, ok = claude.Question(list + "─────\n❯ \n─────\n"); ok {
		t.Errorf("nothing is asked: %+v", q)
	}
}
