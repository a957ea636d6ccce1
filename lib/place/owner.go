package place

import (
	"os"

	"gt/lib/sys/atomicfile"
)

func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return atomicfile.Owner(info), nil
}
