package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"gt/internal/testenv"
)

// A process is found below the one that started it, and what it has open is
// seen.
func TestSnapshot(t *testing.T) {
	path, err := filepath.EvalSymlinks(t.TempDir())
	testenv.NoError(t, err)
	path = filepath.Join(path, "open")
	cmd := exec.Command("sh", "-c", `exec 3>"$1"; echo ready; read line; :`, "sh", path)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	testenv.NoError(t, cmd.Start())
	defer func() { in.Close(); cmd.Wait() }()
	out.Read(make([]byte, 10))
	if below := Snapshot().Descendants(os.Getpid()); !slices.Contains(below, cmd.Process.Pid) || below[0] != os.Getpid() {
		t.Errorf("%v does not hold %d", below, cmd.Process.Pid)
	}
	p, err := Find(cmd.Process.Pid)
	testenv.NoError(t, err)
	if files := p.Files(); runtime.GOOS == "linux" && !slices.Contains(files, path) {
		t.Errorf("%v does not hold %s", files, path)
	}
}

func TestBelowEnds(t *testing.T) {
	loop := Table{0: {1}, 1: {2}, 2: {3, 4}, 3: {1}}
	if got := loop.Descendants(1); !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Error(got)
	}
	if got := loop.Descendants(0); got != nil { // as a dead pane has it
		t.Error(got)
	}
}
