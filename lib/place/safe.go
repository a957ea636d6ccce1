package place

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"gt/lib/sys/process"
)

const safeWait = time.Second

// IsSafe reports whether the person's git configuration lists the top of a repository as a
// safe.directory. It reads no repository's configuration. Only another user's repository is
// asked about, for git is a process of its own.
func IsSafe(top string) bool {
	program, err := process.LookPath("git", top, os.Environ())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), safeWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "config", "--type=path", "--get-all", "-z", "safe.directory")
	cmd.Dir = "/"
	cmd.Env = append(process.PersonEnviron(os.Environ()), "PATH="+process.SearchPath(top, os.Environ()), "LC_ALL=C", "GIT_DIR=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		return false // it lists none
	}
	is := false
	for dir := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		switch begin, all := strings.CutSuffix(dir, "/*"); {
		case dir == "": // an empty value resets the list
			is = false
		case dir == "*" || dir == top || all && strings.HasPrefix(top, begin+"/"):
			is = true
		}
	}
	return is
}
