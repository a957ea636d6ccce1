package redact

import (
	"strings"
	"testing"
)

// pieces are what the scanner looks at, whole and in parts; any text of them is
// more of a riddle than one of any bytes.
var pieces = func() []string {
	all := []string{
		" ", "\n", `\n`, "\t", `"`, "'", "`", `\"`, "=", ":", ": ", " = ", ",", ", ", ";", "&", "?", "<", ">", "/", "@", "-", "--", "+", "|", "→", ".", "_", "$", "[", "]",
		"a", "B", "1", "x", "12345678", "abcdef12", abc, abc[:16], strings.ToUpper(abc), "0123456789abcdef0123456789abcdef", Mark, "planted-value", "planted", "-value",
		"TOKEN", "token", "api_key", "PASSWORD", "password", "DB_PASS", "name", "key", "value", "string", "sig", "curl", "-u", "--user", "--token", "me:",
		"Authorization: ", "Bearer ", "Basic ", "Cookie: ", "://", "https://u:", "eyJ", "eyJhbGciOiJI", "Q~", ".atlasv1.", "_mmk", "-us1", "123456789:AA",
		beginKey, endKey, "PRIVATE KEY", dashes, "Proc-Type:", "  1→",
		`\\\"`, "%22", "%3D", "%253D", "&quot;", "&#61;", "&amp;", `\u003d`, `\x22`, "=3D", "=22", "=\n", `\u001b[0m`, `\033[`, "^[[0m", `\e[`, "%1B", `\u200b`,
		"|", "||", "??", ":-", "${", "}", "(", ")", "{", "|-\n  ", "!!str ", "&a ", `b"`, `R"(`, "SecretStr(", "String::from(", "Some(", "[]byte(", "default=", "<key>", "</key>", "<string>", ` key="`, "<![CDATA[", "]]>",
		"requirepass ", "AUTH ", "sshpass -p ", "mysql -p", "....", "  ", "#define ", "password is ", "password for x: ", "setPassword(", "string", " string = ", "value", "default",
	}
	for _, sh := range shapes {
		all = append(all, sh.prefix)
	}
	return all
}()

// FuzzPieces holds what FuzzText does for texts that are put together from
// pieces, two bytes each.
func FuzzPieces(f *testing.F) {
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, picks []byte) {
		var b strings.Builder
		for i := 1; i < min(len(picks), 400); i += 2 {
			b.WriteString(pieces[(int(picks[i-1])<<8+int(picks[i]))%len(pieces)])
		}
		check(t, b.String())
	})
}

// FuzzText: once is enough, nothing panics, a planted value never stays, and a
// text grows by no more than the marks in it.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a=b", "X_KEY=abc", "://u:p@h", "-----BEGIN PRIVATE KEY-----\nab", "Authorization: Bearer x1", `"token": "a1b2c3d4e5"`, "eyJa.eyJb.c"} {
		f.Add(s)
	}
	f.Fuzz(check)
}

func check(t *testing.T, s string) {
	const planted = "planted-value"
	environ := []string{"A_SECRET=" + planted}
	once := Text(s+planted+s, environ)
	if strings.Contains(once, planted) {
		t.Errorf("%q keeps the value", s)
	}
	if again := Text(once, environ); again != once {
		t.Errorf("%q becomes\n%q, then\n%q", s, once, again)
	}
	if len(once) > len(Mark)*(2*len(s)+len(planted)) {
		t.Errorf("%q becomes %d bytes", s, len(once))
	}
}
