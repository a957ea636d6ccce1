package claude

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxSlug is the length from which on the client cuts a folder's name.
const maxSlug = 200

// Path returns where Claude Code keeps the transcript of the session id that
// began in cwd: <root>/projects/<folder>/<id>.jsonl, where root is
// CLAUDE_CONFIG_DIR or ~/.claude. Where that file does not exist, a session of
// this id that began in another folder is looked for; without one, the path is
// still the one by the rule. It is empty where the home folder is not known.
//
// The id is a file name to us: it was checked before (session.ParseID).
func Path(getenv func(string) string, cwd, id string) string {
	root := getenv("CLAUDE_CONFIG_DIR")
	if root == "" {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		root = filepath.Join(home, ".claude")
	}
	projects := filepath.Join(root, "projects")
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	folder := slug(cwd)
	if name := getenv("CLAUDE_CODE_PROJECT_DIR_NAME"); name != "" && getenv("CLAUDE_CONFIG_DIR") != "" && !strings.ContainsAny(name, "/.") {
		folder = name
	}
	path := filepath.Join(projects, folder, id+".jsonl")
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	entries, err := os.ReadDir(projects)
	if err != nil {
		return path
	}
	for _, e := range entries {
		other := filepath.Join(projects, e.Name(), id+".jsonl")
		if _, err := os.Lstat(other); err == nil {
			return other
		}
	}
	return path
}

// slug is the client's name for a folder: what is neither a letter nor a digit
// of ASCII becomes '-', counted in UTF-16 code units, and a long name is cut
// and told from others by a hash.
func slug(dir string) string {
	units := utf16.Encode([]rune(dir))
	name := make([]byte, len(units))
	var hash int32
	for i, u := range units {
		hash = hash<<5 - hash + int32(u)
		name[i] = '-'
		if u < 0x80 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			name[i] = byte(u)
		}
	}
	if len(name) <= maxSlug {
		return string(name)
	}
	sum := int64(hash)
	if sum < 0 {
		sum = -sum
	}
	return string(name[:maxSlug]) + "-" + strconv.FormatInt(sum, 36)
}
