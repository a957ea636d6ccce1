//go:build e2e

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// chooseStories sets -run if the caller did not: with -short Claude's main story; with
// GT_THOROUGH=1 all; otherwise those that a change of the files in GT_CHANGED can touch,
// see Select. Files that are not known count as a change of what all clients share.
func chooseStories() error {
	flag.Parse()
	run := flag.Lookup("test.run").Value
	if run.String() != "" || flag.Lookup("test.list").Value.String() != "" || testenv.Thorough() {
		return nil
	}
	chosen := []string{"TestHandover"}
	if !testing.Short() {
		out, err := exec.Command(os.Args[0], "-test.list", ".").Output()
		if err != nil {
			return fmt.Errorf("cannot list the stories: %w", err)
		}
		touched := []string{"claude"}
		if changed := strings.Fields(os.Getenv("GT_CHANGED")); len(changed) > 0 {
			touched = Touched(changed)
		}
		chosen = Select(strings.Fields(string(out)), touched, testenv.Turn())
		fmt.Printf("all stories of %s, and the main one of each other client\n", strings.Join(touched, ", "))
	}
	return run.Set(testPattern(append(chosen, "TestPlugins", "TestSelect", "TestSelectOfMany")))
}

// testPattern returns the pattern with which go test -run runs the tests of these names,
// which may be subtests.
func testPattern(names []string) string {
	var patterns []string
	for _, name := range names {
		var elems []string
		for elem := range strings.SplitSeq(name, "/") {
			elems = append(elems, "^"+regexp.QuoteMeta(elem)+"$")
		}
		patterns = append(patterns, strings.Join(elems, "/"))
	}
	return strings.Join(patterns, "|")
}
