package beads

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
)

func TestMeans(t *testing.T) {
	for _, c := range []struct {
		assignee, address string
		want              bool
	}{
		{"demo/crew/joe", "demo/crew/joe", true},
		{"demo/crew/joe/", "demo/crew/joe", true},
		{"demo/joe", "demo/crew/joe", true},
		{"demo/joe", "demo/polecats/joe", true},
		{"demo/crew/joe", "demo/polecats/joe", false},
		{"joe", "demo/crew/joe", false},
		{"other/joe", "demo/crew/joe", false},
		{"", "demo/crew/joe", false},
		{"/", "demo/crew/joe", false},
		{"mayor/", "mayor", true},
		{"deacon/boot", "boot", true},
		{"deacon", "boot", false},
		{"demo/witness", "demo/witness", true},
		{"demo/", "demo/witness", false},
		{"proj", "proj", true},
	} {
		who, err := identity.Parse(c.address)
		testenv.NoError(t, err)
		if got := isAssignee(c.assignee, who); got != c.want {
			t.Errorf("%q means %s: %v", c.assignee, c.address, got)
		}
	}
	if isAssignee("", identity.Identity{}) {
		t.Error("nobody's work is nobody's")
	}
}

// One issue that is not as expected does not hide the others.
func TestParse(t *testing.T) {
	all, err := parse([]byte(`warning
[{"id":"x-1","title":"t","priority":"P1","updated_at":"yesterday","status":"hooked","assignee":"a"},
 7, {"title":"no id"}, {"id":"x-2","updated_at":"2026-01-17T01:00:00Z"}]
note: more`))
	if err != nil || len(all) != 2 || all[0].Status != "hooked" || all[0].Assignee != "a" || !all[0].Updated.IsZero() ||
		all[1].ID != "x-2" || all[1].Updated.Unix() != 1768611600 {
		t.Errorf("%+v, %v", all, err)
	}
}

// An error of bd's is told, whether or not there was time to ask again.
func TestGivenTellsTheError(t *testing.T) {
	dir := t.TempDir()
	testenv.NoError(t, os.MkdirAll(filepath.Join(dir, "work", ".beads"), 0o700))
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "bin", "bd"), []byte("#!/bin/sh\n"+
		"case $2 in *hooked) [ -e ../again ] && exec sleep 60; >../again; echo 'Error: login failed' >&2; exit 1 ;; esac\necho '[]'\n")))
	h := home.Home{Dir: filepath.Join(dir, "work"), Town: town.Town{Root: filepath.Join(dir, "work"), Trust: &place.Trust{}}}
	if _, err := Given(h, []string{"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")}); err == nil || !strings.Contains(err.Error(), "login failed") {
		t.Error(err)
	}
}

// A bd that cannot change an issue under a condition (before 1.3) is asked again first: what its
// agent has closed in the meantime stays closed.
func TestFreeReadsAgain(t *testing.T) {
	dir := t.TempDir()
	bd := filepath.Join(dir, "bd")
	testenv.NoError(t, testenv.WriteProgram(bd, []byte(`#!/bin/sh
case "$*" in
*--if-*) echo '[]' >list.json; echo 'Error: unknown flag: --if-assignee' >&2; exit 1 ;;
update*) echo "$*" >>updated ;;
*=in_progress*) cat list.json ;;
*) echo '[]' ;;
esac
`)))
	issue := `[{"id":"x-1","title":"t","status":"in_progress","assignee":"w-1"}]`
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "list.json"), []byte(issue), 0o600))
	d := Database{dir, bd, os.Environ()}
	testenv.NoError(t, d.Free([]string{"w-1"}, "session_archived", true))
	if _, err := os.Stat(filepath.Join(dir, "updated")); err == nil {
		t.Error("an issue that was closed is opened again")
	}
}

// What bd prints is a list of issues, or it is refused; nothing panics.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`[{"id":"x-1","title":"t","status":"hooked","assignee":"a","priority":2,"updated_at":"2026-01-17T01:00:00Z"}]`,
		"warning: x\n[]\n", "null", "nullify", "[", "[null]", "[1]", "", "\n\n", "No issues found.", `{"error":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parse(data)
		if err != nil && all != nil {
			t.Fatalf("both %v and %v", all, err)
		}
	})
}
