package place

import (
	"context"
	"os"
	"strings"
	"time"

	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

const safeWait = time.Second

// IsSafe reports whether the person's git configuration lists the top of a repository as a
// safe.directory. It reads no repository's configuration. Only another user's repository is
// asked about, for git is a process of its own.
func IsSafe(top string) bool {
	git, err := process.LookPath("git", top, os.Environ())
	if err != nil {
		return false
	}
	env := append(process.PersonEnviron(os.Environ()), "PATH="+process.SearchPath(top, os.Environ()), "LC_ALL=C", "GIT_DIR=/dev/null")
	got, err := bounded.Program{
		Path: git, Args: []string{"config", "--type=path", "--get-all", "-z", "safe.directory"}, Dir: "/", Env: env, Within: safeWait, Most: 1 << 20,
	}.Run(context.Background())
	if err != nil {
		return false // it lists none
	}
	is := false
	for dir := range strings.SplitSeq(strings.TrimSuffix(string(got.Out), "\x00"), "\x00") {
		switch begin, all := strings.CutSuffix(dir, "/*"); {
		case dir == "": // an empty value resets the list
			is = false
		case dir == "*" || dir == top || all && strings.HasPrefix(top, begin+"/"):
			is = true
		}
	}
	return is
}
