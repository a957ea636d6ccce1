package plain

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for name, c := range map[string]struct{ in, line, text string }{
		"plain":             {"a title, é 日本 👩‍🔬", "a title, é 日本 👩‍🔬", "a title, é 日本 👩‍🔬"},
		"empty":             {"", "", ""},
		"lines":             {"a\nb\tc\r\nd\re", "a b c  d e", "a\nb\tc\nd e"},
		"colours":           {"\x1b[31mred\x1b[0m \x1b[38;2;1:2;3mx\x1b[m\x1b[K", "red x", "red x"},
		"a window's title":  {"a\x1b]0;x\x07b", "ab", "ab"},
		"the clipboard":     {"a\x1b]52;c;aGk=\x1b\\b", "ab", "ab"},
		"a link":            {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", "text", "text"},
		"a picture":         {"a\x1bPq#0\x1b\\b\x1b_Gx\x1b\\c", "abc", "abc"},
		"C1":                {"\u009b31ma\u009d0;x\u009cb", "ab", "ab"},
		"C1 as a byte":      {"\x9b31ma", "a", "a"},
		"cut off":           {"a\x1b[31", "a�[31", "a�[31"},
		"an endless title":  {"a\x1b]0;x\nb", "a�]0;x b", "a�]0;x\nb"},
		"escape and letter": {"a\x1bghp", "a�ghp", "a�ghp"},
		"escapes in one":    {"\x1b[\x1b[31m31mx", "�[31mx", "�[31mx"},
		"backspace, DEL":    {"a\bb\x7fc\x00", "a�b�c�", "a�b�c�"},
		"bidi":              {"a\u202eb\u2066c\u200fd\u061ce", "a�b�c�d�e", "a�b�c�d�e"},
		"separators":        {"a\u2028b\u2029c\u0085d\ve\ff", "a b c d e f", "a\nb\nc\nd\ne\nf"},
		"no UTF-8":          {"a\xff\xfeb\xed\xa0\x80", "a��b���", "a��b���"},
		"its own mark":      {"a\uFFFDb", "a�b", "a�b"},
		"tags":              {"a\U000E0049\U000E0047b\U000E0001", "ab", "ab"},
		"no width":          {"a\u200bb\u2060c\ufeffd\u00ade\u034ff", "abcdef", "abcdef"},
		"operators":         {"a\u2061b\u2064c\u206ad", "abcd", "abcd"},
		"fillers":           {"a\u115fb\u1160c\u3164d\uffa0e", "abcde", "abcde"},
		"annotation":        {"a\ufff9b\ufffac\ufffbd", "abcd", "abcd"},
		"music, shorthand":  {"a\U0001D173b\U0001BCA0c", "abc", "abc"},
		"selectors":         {"a\ufe0fb\U000E0100c\ufe00", "abc", "abc"},
		"joiners":           {"a\u200db\u200cc\u200d", "abc", "abc"},
		"needed joiners":    {"می\u200cخواهم क्\u200dष 👨‍👩‍👧 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀", "می\u200cخواهم क्\u200dष 👨‍👩‍👧 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀", "می\u200cخواهم क्\u200dष 👨‍👩‍👧 ❤\ufe0f\u200d🔥 👩🏽\u200d🚀"},
		"needed selectors":  {"❤\ufe0f 1\ufe0f\u20e3 ☎\ufe0e", "❤\ufe0f 1\ufe0f\u20e3 ☎\ufe0e", "❤\ufe0f 1\ufe0f\u20e3 ☎\ufe0e"},
		"selectors of CJK":  {"漢\ufe00字\ufe0f葛\U000E0100∩\ufe00가\ufe0e", "漢字葛∩가", "漢字葛∩가"},
		"an empty pattern":  {"a\u2800b ⠓\u2800⠊", "a b ⠓ ⠊", "a b ⠓ ⠊"},
		"no characters":     {"a\ufffeb\ufdd0c\U0001FFFFd\U0010FFFEe", "abcde", "abcde"},
		"signs":             {"a\u070fb\u0600c\u06ddd\u0890e\u08e2f\U000110BDg", "abcdefg", "abcdefg"},
		"needed signs":      {"\u070fܫܒ \u0600١٢ \u06dd12 \U000110BD𑂃", "\u070fܫܒ \u0600١٢ \u06dd12 \U000110BD𑂃", "\u070fܫܒ \u0600١٢ \u06dd12 \U000110BD𑂃"},
		"Mongolian":         {"a\u180bb\u180ec", "abc", "abc"},
		"Khmer":             {"ក\u17b4ខ\u17b5", "កខ", "កខ"},
		"a heap":            {"a" + strings.Repeat("\u0301\u0316", 9) + "b", "a\u0301\u0316\u0301\u0316b", "a\u0301\u0316\u0301\u0316b"},
		"a heap of nothing": {strings.Repeat("\u0301", 9), "\u0301\u0301\u0301\u0301", "\u0301\u0301\u0301\u0301"},
		"a heap, joined":    {"क" + strings.Repeat("\u093c\u200d", 9), "क" + strings.Repeat("\u093c\u200d", 8), "क" + strings.Repeat("\u093c\u200d", 8)},
		"private use":       {"a\ue0b0b\U000F0001c", "a\ue0b0b\U000F0001c", "a\ue0b0b\U000F0001c"},
		"no flag":           {"🏴\U000E0067\U000E0062\U000E007F 🏴\U000E0064\U000E006F\U000E007F x" + flags[0], "🏴 🏴 x", "🏴 🏴 x"},
		"too many":          {"❤\ufe0f\ufe0e\ufe01x می\u200c\u200c", "❤\ufe0fx می\u200c", "❤\ufe0fx می\u200c"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Line(c.in); got != c.line {
				t.Errorf("Line: %q, want %q", got, c.line)
			}
			if got := Text(c.in); got != c.text {
				t.Errorf("Text: %q, want %q", got, c.text)
			}
			if IsLine(c.in) != (c.in == c.line) || IsText(c.in) != (c.in == c.text) {
				t.Error("it is plain, or is not, and is not said to be")
			}
		})
	}
}

func TestShown(t *testing.T) {
	look := Keep{
		func(s string) bool { return strings.HasPrefix(s, "ghp_") },
		func(s string) bool { return strings.Contains(s, "ghp_") },
	}
	for in, want := range map[string]struct {
		shown string
		seams []int
	}{
		"plain\n":                         {"plain\n", nil},
		"a\x1b[32mghp_\u200b\u200bx\x00y": {"aghp_xy", []int{1, 5, 6}},
		"\x1b[ghp_x":                      {"ghp_x", []int{0}},
		"\x1b[32ghp_x":                    {"ghp_x", []int{0}},
		"\x1bghp_x":                       {"ghp_x", []int{0}},
		"a\x1b]0;ghp_x\x07b\x1b]0;x\x07":  {"a0;ghp_xb", []int{1, 8, 9}},
		"a\xff\uFFFDb\r\nc":               {"ab\nc", []int{1}},
	} {
		if shown, seams := Visible(in, look); shown != want.shown || !slices.Equal(seams, want.seams) {
			t.Errorf("%q: %q, %v", in, shown, seams)
		}
	}
}

// Text as people write it stays as it is.
func TestLanguages(t *testing.T) {
	for name, text := range map[string]string{
		"English":    "naïve façade – “quotes” … 5 × 3 ≤ 20 ½ €",
		"Arabic":     "اَلسَّلَامُ عَلَيْكُمْ وَرَحْمَةُ ٱللَّٰهِ ١٢٣",
		"Hebrew":     "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים",
		"Persian":    "می\u200cخواهم کتاب\u200cهایم را، ه\u200d",
		"Urdu":       "یہ متن اُردو میں ہے",
		"Hindi":      "क्षत्रिय क्\u200dष क्\u200cष हिन्दी",
		"Malayalam":  "മലയാളം ന്\u200d ര്\u200d അവന്\u200d",
		"Sinhala":    "ශ්\u200dරී ලංකාව",
		"Bengali":    "র্\u200dয বাংলা",
		"Khmer":      "ភាសាខ្មែរ ស្ត្រី",
		"Thai":       "ภาษาไทยที่นี่",
		"Burmese":    "မြန်မာဘာသာ ကျွန်ုပ်",
		"Tibetan":    "བསྒྲུབས་ ཧཱུྂ ཀྵྨྲྱཱྀཾ",
		"Korean":     "한국어 \u1112\u1161\u11ab\u1100\u116e\u11a8",
		"Japanese":   "日本語 か\u3099 ｶﾞ 葛飾区",
		"Vietnamese": "Tiê\u0301ng Viê\u0323t tiếng Việt",
		"Mongolian":  "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ᠌ ᠠ\u180eᠠ",
		"Syriac":     "\u070fܫܒ ܣܘܪܝܝܐ",
		"phonetic":   "ˈt͡ʃɪ̃̀ ɡ̊ʱ",
		"emoji":      "👩‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🏴‍☠️ ❤️‍🔥 🧑‍⚕️ ☎︎ ©️ ™️ ↔️ 〰️ ㊗️ #️⃣ 1️⃣ 🇩🇪",
		"flags":      "🏴" + flags[0] + " 🏴" + flags[1] + "🏴" + flags[2] + "!",
		"terminal":   "╭─ \ue0b0 ██▓ ⠋⠙⠹ ✓ ✗ → ⇒",
	} {
		if got := Text(text); got != text || !IsText(text) {
			t.Errorf("%s: %q becomes %q", name, text, got)
		}
	}
}

// No character that Unicode calls invisible or a variant stays where it is not needed, and
// at most the first of several does.
func TestClasses(t *testing.T) {
	hidden := func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector, unicode.Noncharacter_Code_Point, unicode.Prepended_Concatenation_Mark, unicode.Bidi_Control)
	}
	for r := rune(0x7f); r <= unicode.MaxRune; r++ {
		if unicode.In(r, unicode.Mn, unicode.Me) && kindOf(r) == visible {
			t.Errorf("%U may stand on itself without end", r)
		}
		if !hidden(r) || r == 0x13440 { // that one is seen
			continue
		}
		for _, around := range [][2]string{{"a", "b"}, {"漢", "字"}, {"가", "나"}, {"", ""}, {" ", "-"}, {"<", "/note>"}} {
			text := around[0] + string(r) + around[1]
			if got := Text(text); strings.ContainsRune(got, r) || IsText(text) {
				t.Errorf("%U is left between %q", r, around)
			}
		}
		for _, base := range []string{"a", "漢", "❤", "1", "م", "क", "ᠠ", "👩", "🏴", "a\u0301"} {
			if got := Text(base + strings.Repeat(string(r), 50) + "م"); strings.Count(got, string(r)) > 1 {
				t.Errorf("%U is left more than once behind %q: %q", r, base, got)
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("a\x1b[31m\r\n\u009b\u202e\xff\u2028\u200d❤\ufe0f\u200d🔥\U000E0041")
	f.Add("a\u0301\u0301\u0301\u0301\u0301\u070fܫ\u2800🏴" + flags[0])
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{Line(s), Text(s)} {
			if !utf8.ValidString(got) {
				t.Fatalf("%q: no UTF-8 in %q", s, got)
			}
			prev, marks := rune(-1), 0
			for i, r := range strings.NewReplacer(flags[0], "", flags[1], "", flags[2], "").Replace(got) {
				switch k := kindOf(r); {
				case k == mark:
					if marks++; marks > maxMarks {
						t.Fatalf("%q: a heap is left in %q", s, got)
					}
				case k == visible || r == '\n' || r == '\t':
					marks = 0
				case (k == joiner || k == selector || k == sign) && (prev >= 0 || k == sign):
				default:
					t.Fatalf("%q: %q is left in %q at %d", s, r, got, i)
				}
				prev = r
			}
		}
		if again := Line(Line(s)); again != Line(s) || !IsLine(again) {
			t.Fatalf("%q: again %q", s, again)
		}
		if again := Text(Text(s)); again != Text(s) || !IsText(again) {
			t.Fatalf("%q: again %q", s, again)
		}
		shown, _ := Visible(s, Keep{})
		if again, seams := Visible(shown, Keep{}); again != shown || seams != nil {
			t.Fatalf("%q: shown again %q", s, again)
		}
	})
}

func BenchmarkIsText(b *testing.B) {
	for name, piece := range map[string]string{"ASCII": "The parser reads lib/text/redact/redact.go: ok, 3 tests failed.\n", "other": "naïve – 日本 → ok, 3 tests ✓\n", "scripts": "हिन्दी אֱלֹהִ֑ים Việt\u0323 می\u200cخواهم\n"} {
		text := strings.Repeat(piece, 1000)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				IsText(text)
			}
		})
	}
}
