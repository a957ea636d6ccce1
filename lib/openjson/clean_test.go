package openjson

import (
	"encoding/json"
	"strings"
	"testing"
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
