package claude

import (
	"os"
	"path/filepath"
	"strings"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

// Claude Code writes a large result into <session>/tool-results/<call>.txt, and the
// conversation has its beginning and the file's path.

func keptIn(f conversation.File) string {
	dir := strings.TrimSuffix(f.Path, ".jsonl")
	if f.Parent != "" { // a subagent's, below its session's folder
		for base := string(f.Parent); filepath.Base(dir) != base && len(dir) > 1; {
			dir = filepath.Dir(dir)
		}
	}
	return filepath.Join(dir, "tool-results")
}

// Keeps is conversation.Keeper's.
func (Reader) Keeps(f conversation.File) bool {
	_, err := os.Stat(keptIn(f))
	return err == nil
}

// whole returns a result in full if it is kept in that folder. A summary has no use for
// that.
func whole(text, dir string, summary bool) string {
	if summary || !strings.HasPrefix(text, "<persisted-output>") {
		return text
	}
	_, path, _ := strings.Cut(text, "saved to: ")
	path, _, found := strings.Cut(path, "\n")
	data, err := atomicfile.Read(filepath.Join(dir, filepath.Base(strings.TrimSpace(path))), conversation.MaxRecord)
	if !found || err != nil {
		return text
	}
	return string(data)
}
