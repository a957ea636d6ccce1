package term

import (
	"path/filepath"
	"strings"
)

// Tilde returns a path as a person writes it: with ~ for their home folder, which may be "".
func Tilde(path, home string) string {
	if home != "" {
		if rest, ok := strings.CutPrefix(path, filepath.Clean(home)+"/"); ok {
			return "~/" + rest
		}
	}
	return path
}
