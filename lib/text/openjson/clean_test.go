package openjson

import (
	"encoding/json"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/text/redact"
)

// A field that goes through Clean stays JSON, whatever clean makes of it.
func TestClean(t *testing.T) {
	u := Unknown{
		"plain": json.RawMessage(`{"a":1}`),
		"token": json.RawMessage(`"secret one"`),
		"deep":  json.RawMessage(`[{"x":"a secret"}, 1.50]`),
		"torn":  json.RawMessage(`"a quote: tear"`),
	}
	u.Clean(func(s string) string {
		return strings.NewReplacer("secret", "***", ` tear"`, "").Replace(s)
	})
	for key, want := range map[string]string{
		"plain": `{"a":1}`, "token": `"*** one"`, "deep": `[{"x":"a ***"}, 1.50]`, "torn": `"[redacted]"`,
	} {
		if got := string(u[key]); got != want {
			t.Errorf("%s becomes %s, want %s", key, got, want)
		}
	}
	Unknown(nil).Clean(strings.ToUpper)

	clean := func(s string) string { return strings.NewReplacer("secret", "***", ` tear"`, "").Replace(s) }
	for object, want := range map[string]string{
		`{"b": "secret", "a":1}`: `{"b": "***", "a":1}`, `{"b":"a tear","a":1}`: `{"a":1,"b":"[redacted]"}`, `{secret`: `null`,
	} {
		if got := string(Clean([]byte(object), clean)); got != want {
			t.Errorf("%s becomes %s, want %s", object, got, want)
		}
	}
}

// What is escaped hides nothing, and what holds no secret stays byte for byte.
func TestCleanEscaped(t *testing.T) {
	token := "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF1234"
	for object, want := range map[string]string{
		`{"a":"\u001b[32m` + token + `\u001b[0m"}`:                       `{"a":"[redacted]"}`,
		`{"a":"ghp_\u200baB3dE6gH9jK2mN5pQ8\udb40\udc41sT1vW4yZ7bC0dF"}`: `{"a":"[redacted]"}`,
		`{"a":"\u001b]0;` + token + `\u0007"}`:                           `{"a":"0;[redacted]"}`,
		`{"a":"\u0067hp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF"}`:              `{"a":"[redacted]"}`,
		`{"\u0074oken":"a1b2c3d4e5"}`:                                    `{"token":"[redacted]"}`,
		`{"cwd":"/tmp/\u001b[31m\u202e","n":1.50,"b":"\ud83d\ude00\""}`:  `{"cwd":"/tmp/\u001b[31m\u202e","n":1.50,"b":"\ud83d\ude00\""}`,
	} {
		clean := redact.NewRedactor(nil)
		if got := string(Clean([]byte(object), clean)); got != want {
			t.Errorf("%s becomes %s, want %s", object, got, want)
		}
		var u, wanted Unknown
		testenv.NoError(t, json.Unmarshal([]byte(object), &u))
		testenv.NoError(t, json.Unmarshal([]byte(want), &wanted))
		u.Clean(clean)
		for key, value := range wanted {
			if string(u[key]) != string(value) {
				t.Errorf("%s: %s becomes %s, want %s", object, key, u[key], value)
			}
		}
	}
}
