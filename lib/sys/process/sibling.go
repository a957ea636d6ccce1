package process

import (
	"os"
	"path/filepath"
)

// SiblingBinary returns the path of another program in this program's folder, or its bare
// name if it is not there.
func SiblingBinary(name string) string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside
		}
	}
	return name
}
