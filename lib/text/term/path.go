package term

import (
	"path/filepath"
	"strings"
)

// Tilde replaces the person's home folder by ~. home may be "".
func Tilde(path, home string) string {
	if home != "" {
		if rest, ok := strings.CutPrefix(path, filepath.Clean(home)+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}
