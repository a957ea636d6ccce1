package git

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"time"
)

// Ignored returns the paths, relative to dir, that git does not track and that a rule of
// the repository or the person ignores. It returns ErrNotRepository if dir is not in a
// worktree.
func Ignored(dir string, wait time.Duration, paths ...string) ([]string, error) {
	tracked, err := answer(dir, wait, append([]string{"ls-files", "-z", "--"}, paths...)...)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for name := range bytes.SplitSeq(tracked.buf.Bytes(), []byte{0}) {
		kept[string(name)] = true
	}
	// git supports -z only for names on standard input.
	names := strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := answerTo(names, dir, wait, "check-ignore", "-z", "--no-index", "--verbose", "--stdin")
	if err != nil {
		return nil, noneIgnored(err)
	}
	fields := bytes.Split(out.buf.Bytes(), []byte{0}) // source, line, pattern, path
	var ignored []string
	for i := 0; i+3 < len(fields); i += 4 {
		pattern, path := string(fields[i+2]), string(fields[i+3])
		if pattern != "" && pattern[0] != '!' && !kept[path] {
			ignored = append(ignored, path)
		}
	}
	return ignored, nil
}

// noneIgnored returns nil for the error with which git check-ignore says that no path is
// ignored.
func noneIgnored(err error) error {
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil
	}
	return err
}
