package attacks

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"
)

// bin is the folder of the programs under test.
var bin string

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && standIns[os.Args[1]] != nil {
		os.Exit(standIns[os.Args[1]](os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gt-attacks-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "bin")
	if err := testenv.Programs(bin); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := standIn(); err != nil {
		fmt.Println(err)
		return 1
	}
	return m.Run()
}

// standIn copies the program of these tests to where every user can run it.
func standIn() error {
	from, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return testenv.WriteProgram(testProgram(), data)
}
