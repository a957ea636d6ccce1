package claude

import (
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf16"

	"gt/lib/conversation"
)

// maxSlug is the length at which the client cuts a folder's name.
const maxSlug = 200

// Path returns where Claude Code keeps the transcript of a session that began in cwd:
// <root>/projects/<folder>/<id>.jsonl, with CLAUDE_CONFIG_DIR or ~/.claude as root. If
// that file does not exist, Path looks for a session with this id in other folders, and
// else returns the path by the rule. It is empty if HOME is unknown.
//
// The id becomes a file name: check it before (session.ParseID).
func Path(a conversation.ClientFolder, cwd, id string) string {
	path := pathByRule(a, cwd, id)
	if path == "" {
		return ""
	}
	if _, err := os.Lstat(path); err == nil {
		return path
	}
	projects := filepath.Dir(filepath.Dir(path))
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

// pathByRule is Path without a look at what exists.
func pathByRule(a conversation.ClientFolder, cwd, id string) string {
	if a.Dir == "" {
		return ""
	}
	if a.Sessions != "" {
		return filepath.Join(a.Sessions, id+".jsonl")
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	return filepath.Join(a.Dir, "projects", slug(cwd), id+".jsonl")
}

// slug returns the client's name for a folder: every UTF-16 code unit that is not an
// ASCII letter or digit becomes '-'. A long name is cut and gets a hash.
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
