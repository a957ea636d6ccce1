package process_test

import (
	"os"
	"os/exec"
	"testing"

	"gt/lib/process"
)

// In a sandbox nothing is said of processes outside.
func TestBoxed(t *testing.T) {
	if os.Getenv("GT_TEST_BOXED") != "" {
		if !process.Boxed() {
			t.Error("it is not seen that this runs in a sandbox")
		}
		return
	}
	if process.Boxed() {
		t.Error("this runs in no sandbox")
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("no bubblewrap")
	}
	cmd := exec.Command(bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--", os.Args[0], "-test.run", "^TestBoxed$")
	if err := exec.Command(bwrap, append(cmd.Args[1:len(cmd.Args)-3:len(cmd.Args)-3], "true")...).Run(); err != nil {
		t.Skip("no sandbox can be made here: ", err)
	}
	cmd.Env = append(os.Environ(), "GT_TEST_BOXED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
