package fold

import "testing"

// What looks the same is the same, whoever typed it.
func TestText(t *testing.T) {
	for _, same := range [][]string{
		{"résumé", "re\u0301sume\u0301", "RÉSUMÉ", "Re\u0301sumé"},
		{"한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"},
		{"が", "か\u3099"},
		{"api", "ＡＰＩ", "Api"},
		{"ガイド", "ｶﾞｲﾄﾞ"},
		{"τέλος", "ΤΈΛΟΣ", "τελος\u0301"[:4] + "\u0301λοσ"},
		{"strasse", "STRASSE"},
		{"ирина", "ИРИНА"},
	} {
		for _, s := range same {
			if Text(s) != Text(same[0]) {
				t.Errorf("%q is %q, and %q is %q", s, Text(s), same[0], Text(same[0]))
			}
			if Text(Text(s)) != Text(s) {
				t.Errorf("%q changes again", Text(s))
			}
		}
	}
	for _, other := range [][2]string{{"resume", "résumé"}, {"が", "か"}, {"й", "и"}, {"", "a"}} {
		if Text(other[0]) == Text(other[1]) {
			t.Errorf("%q and %q are one", other[0], other[1])
		}
	}
}

func TestSame(t *testing.T) {
	if !SameName("résumé", "re\u0301sume\u0301") || SameName("api", "API") || SameName("ＡＰＩ", "API") || !SameName("", "") {
		t.Error("not so")
	}
}

func FuzzText(f *testing.F) {
	f.Add("İstanbul ß ŉ ﬀ \u0390")
	f.Fuzz(func(t *testing.T, s string) {
		if Text(Text(s)) != Text(s) {
			t.Errorf("%q becomes %q, and that %q", s, Text(s), Text(Text(s)))
		}
	})
}
