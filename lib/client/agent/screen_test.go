package agent

import (
	"gt/internal/testenv"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// ScreenState is right for screens of the real clients in each version that was run.
// TestScreens in e2e saves them with GT_E2E_RECORD.
//
// S2-50
func TestScreens(t *testing.T) {
	paths, err := filepath.Glob("../*/testdata/screens/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("there are no screens", err)
	}
	table := Builtin()
	for _, path := range paths {
		screens, err := txtar.ParseFile(path)
		testenv.NoError(t, err)
		name := filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path))))
		for _, f := range screens.Files {
			want, _, _ := strings.Cut(f.Name, ":")
			if got := table.FindClient(name).ScreenState(string(f.Data)).String(); got != want {
				t.Errorf("%s: %s: it is %q\n%s", path, f.Name, got, f.Data)
			}
			if got := table.Detect(string(f.Data)).Name; got != name {
				t.Errorf("%s: %s: it is of %q\n%s", path, f.Name, got, f.Data)
			}
		}
	}
}

// An invalid regular expression is an error when the table is read.
func TestPatternsInFiles(t *testing.T) {
	for text, want := range map[string]string{
		`ready_prompt = "> "`:            "",
		`ready_prompt = ["> ", "re:^x"]`: "",
		`busy_patterns = "re:("`:         "missing closing",
		`busy_patterns = ["a", 3]`:       "3 is not a text",
	} {
		_, err := readTable(tableFile{text: []byte("[agents.x]\ncommand = \"x\"\n" + text)})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
