package gt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"gt/lib/place"
)

// writtenAt is when the programs of v0.1.0 wrote testdata/v0.1.0.txtar.
var writtenAt = time.Date(2026, 11, 25, 21, 54, 28, 0, time.UTC)

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// fromV010 lays out testdata/v0.1.0.txtar as if v0.1.0 had written it here an hour ago. The
// recorded conversations stay as they are, because each line has the digest of the one before.
func fromV010(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: v0.1.0")
	}
	archive, err := txtar.ParseFile(filepath.Join(ts.Getenv("PAGES"), "testdata", "v0.1.0.txtar"))
	ts.Check(err)
	host, err := os.Hostname()
	ts.Check(err)
	values := []string{"{work}", ts.Getenv("WORK"), "{bin}", ts.MkAbs("v0.1.0/bin"), "{host}", host, "{uid}", fmt.Sprint(os.Geteuid()), "{end}\n", ""}
	state := place.StateOf(ts.Getenv)
	for _, dir := range []string{"api", "web", "town", "town/demo/crew/max"} {
		name, path := filepath.Base(dir), ts.MkAbs(dir)
		ts.Check(os.MkdirAll(path, 0o700))
		f, err := place.Identify(path)
		ts.Check(err)
		for what, value := range map[string]string{
			"key":    filepath.Base(state.Town(path)),
			"device": fmt.Sprint(f.Device), "inode": fmt.Sprint(f.Inode), "born": fmt.Sprint(f.BirthTime),
			"link": fmt.Sprintf("%x-%x", f.Inode, f.BirthTime),
		} {
			values = append(values, "{"+name+"."+what+"}", value)
		}
	}
	fill := strings.NewReplacer(values...)
	passed := time.Since(writtenAt.Add(time.Hour)).Truncate(time.Second)
	for _, f := range archive.Files {
		data := f.Data
		if !strings.HasPrefix(f.Name, "home/.agent/") {
			data = timestamp.ReplaceAllFunc([]byte(fill.Replace(string(data))), func(text []byte) []byte {
				at, err := time.Parse(time.RFC3339, string(text))
				ts.Check(err)
				return []byte(at.Add(passed).UTC().Format(time.RFC3339Nano))
			})
		}
		if f.Name == "links" {
			for line := range strings.Lines(string(data)) {
				name, to, _ := strings.Cut(strings.TrimSpace(line), " ")
				ts.Check(os.MkdirAll(filepath.Dir(ts.MkAbs(name)), 0o700))
				ts.Check(os.Symlink(to, ts.MkAbs(name)))
			}
			continue
		}
		path := ts.MkAbs(fill.Replace(f.Name))
		ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
		ts.Check(os.WriteFile(path, data, 0o600))
		if in := filepath.Dir(path); filepath.Base(in) == "new" || filepath.Base(in) == "cur" {
			for _, name := range []string{"tmp", "new", "cur"} {
				ts.Check(os.MkdirAll(filepath.Join(filepath.Dir(in), name), 0o700))
			}
		}
	}
}
