package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// A setting of a wrong type is told with its right form, which is one.
func TestForms(t *testing.T) {
	for key, form := range forms {
		section, name, in := strings.Cut(key, ".")
		if !in {
			section, name = "", key
		} else {
			section = "[" + section + "]\n"
		}
		for _, value := range []string{form, "{wrong = 1}"} {
			dir, said, want := t.TempDir(), "", ""
			file := filepath.Join(dir, "config.toml")
			if value != form {
				want = file + ": line " + fmt.Sprint(strings.Count(section, "\n")+1) + ": invalid " + key + " (try " + name + " = " + form + ")"
			}
			testenv.NoError(t, os.WriteFile(file, []byte(section+name+" = "+value+"\n"), 0o600))
			if LoadPreferences(dir, func(err error) { said += err.Error() }); said != want {
				t.Errorf("%s = %s: %q, not %q", key, value, said, want)
			}
		}
	}
}
