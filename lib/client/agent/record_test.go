package agent

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// LoadRecord returns what config.toml says: nothing by default, and nothing if the file
// cannot be used.
func TestRecordPreferences(t *testing.T) {
	load := func(text string) (Record, string) {
		t.Helper()
		dir := t.TempDir()
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600))
		said := ""
		r := LoadRecord(dir, func(err error) { said += err.Error() })
		return r, said
	}
	if r, said := load(""); r.On || said != "" {
		t.Errorf("%+v, %s", r, said)
	}
	r, said := load("[record]\non = true\nexclude = ['/private', '~/secret-*', '/a/*/b']\nkeep = '90d'\nmax_size = '2GiB'\n")
	if !r.On || said != "" || r.Keep != RecordTime(90*24*time.Hour) || r.MaxSize != 2<<30 {
		t.Errorf("%+v, %s", r, said)
	}
	for dir, want := range map[string]bool{
		"/private": true, "/private/deep/down": true, "/privately": false, "/home/max/secret-x": true, "/home/max/secret-x/y": true,
		"/home/max": false, "/a/x/b": true, "/a/x/b/c": true, "/a/b": false, "": false, "/": false,
	} {
		if got := r.Excludes("/home/max", dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
	for _, bad := range []string{"keep = '1h'", "keep = 'soon'", "max_size = 'big'", "max_size = '-1G'", "exclude = ['[']", "exclude = ['']", "on = 'yes'"} {
		if r, said := load("[record]\non = true\n" + bad + "\n"); bad[:2] != "on" && (r.On || said == "") || said == "" {
			t.Errorf("%s: %+v, %s", bad, r, said)
		}
	}
	for text, want := range map[string]RecordSize{"500": 500, "500M": 500 << 20, "1 G": 0, "3kb": 3 << 10, "1TiB": 1 << 40} {
		var s RecordSize
		if err := s.UnmarshalText([]byte(text)); (err != nil) != (want == 0 && !strings.Contains(text, " ")) && want != 0 || want != 0 && s != want {
			t.Errorf("%s: %d, %v", text, s, err)
		}
	}
}
