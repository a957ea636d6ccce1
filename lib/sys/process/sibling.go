package process

import (
	"os"
	"path/filepath"
)

// SiblingBinary returns the path of another program of the same installation,
// which stands in the folder of the one that runs. Where it does not, the name
// comes back as it is, to be looked up on the PATH.
func SiblingBinary(name string) string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside
		}
	}
	return name
}
