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
	}
	for _, sh := range shapes {
		all = append(all, sh.prefix)
	}
	return all
}()

// FuzzPieces holds what FuzzText does for texts that are put together from
// pieces, a byte each.
func FuzzPieces(f *testing.F) {
	f.Add([]byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, picks []byte) {
		var b strings.Builder
		for _, p := range picks[:min(len(picks), 200)] {
			b.WriteString(pieces[int(p)%len(pieces)])
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
