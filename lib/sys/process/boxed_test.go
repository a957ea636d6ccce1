package process_test

import (
	"os"
	"os/exec"
	"slices"
	"testing"

	"gt/internal/testenv"

	"gt/lib/sys/process"
)

// A command in a sandbox knows it, and one of an agent that runs in a sandbox
// itself sees the agent.
func TestBoxed(t *testing.T) {
	program, err := os.Executable()
	testenv.NoError(t, err)
	if outer := os.Getenv("GT_TEST_SELF"); outer != "" {
		program = outer // ours is a descriptor
	}
	self := []string{program, "-test.run", "^TestBoxed$"}
	switch os.Getenv("GT_TEST_BOXED") {
	case "command":
		if !process.InSandbox() {
			t.Error("it is not seen that this runs in a sandbox")
		}
		return
	case "agent", "helper":
		cmd := exec.Command(self[0], self[1:]...)
		cmd.Env = append(os.Environ(), "GT_TEST_BOXED="+map[string]string{"agent": "of agent", "helper": "command"}[os.Getenv("GT_TEST_BOXED")])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if process.InSandbox() {
		t.Error("what runs us can be seen")
	}
	if p, err := process.AgentOf(os.Getpid()); err != nil || p.PID != os.Getppid() {
		t.Errorf("the agent is %v, %v", p, err)
	}
	if os.Getenv("GT_TEST_BOXED") != "" {
		return
	}
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		cmd := exec.Command("sh", "-c", `exec 3<"$0"; exec /proc/self/fd/3 "$@"`, self[0], self[1], self[2])
		cmd.Env = append(os.Environ(), "GT_TEST_BOXED=helper", "GT_TEST_SELF="+program)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("helper: %v\n%s", err, out)
		}
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("no bubblewrap")
	}
	box := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--"}
	if err := exec.Command(bwrap, append(slices.Clone(box), "true")...).Run(); err != nil {
		t.Skip("no sandbox can be made here: ", err)
	}
	for _, what := range []string{"command", "agent"} {
		cmd := exec.Command(bwrap, append(slices.Clone(box), self...)...)
		cmd.Env = append(os.Environ(), "GT_TEST_BOXED="+what)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
}
