package process

import (
	"os"
	"path/filepath"
)

// Beside finds another program of the same installation: in the folder of the
// one that runs; where it is not there, its name is returned as it is, to be
// looked up on the PATH.
func Beside(name string) string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return beside
		}
	}
	return name
}
