package testenv

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// PIDNamespace returns the number of a PID namespace that is not this program's, and has a process
// until the test ends. It skips the test where none can be made.
func PIDNamespace(t testing.TB) string {
	t.Helper()
	// The shell's word says that the namespace is there; the shell ends with its input.
	c := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "sh", "-c", "echo ready; read line")
	in, err := c.StdinPipe()
	NoError(t, err)
	out, err := c.StdoutPipe()
	NoError(t, err)
	if err := c.Start(); err != nil {
		t.Skip("no other PID namespace can be made here: ", err)
	}
	t.Cleanup(func() { in.Close(); _ = c.Wait() })
	if _, err := io.ReadFull(out, make([]byte, len("ready"))); err != nil {
		t.Skip("no other PID namespace can be made here: ", err)
	}
	link, err := os.Readlink("/proc/" + strconv.Itoa(c.Process.Pid) + "/ns/pid_for_children") // such as pid:[4026531836]
	NoError(t, err)
	return strings.Trim(link, "pid:[]")
}
