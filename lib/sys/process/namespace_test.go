package process_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/sys/process"
)

// A process from another PID namespace is neither alive nor gone, from either side, and
// gets no signal meant for its PID here.
func TestOtherNamespace(t *testing.T) {
	if noted := os.Getenv("GT_TEST_NOTED"); noted != "" {
		var outer process.Proc
		testenv.NoError(t, json.Unmarshal([]byte(noted), &outer))
		if !outer.IsElsewhere() || outer.IsAlive() || outer.Gone() {
			t.Errorf("from inside %+v is elsewhere %v, alive %v, gone %v", outer, outer.IsElsewhere(), outer.IsAlive(), outer.Gone())
		}
		self, err := process.Find(os.Getpid())
		testenv.NoError(t, err)
		text, _ := json.Marshal(self)
		os.Stdout.WriteString("inside " + string(text) + "\n")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	if self.NS == "" {
		t.Skip("this system has no PID namespaces")
	}
	text, _ := json.Marshal(self)
	program, err := os.Executable()
	testenv.NoError(t, err)
	for name, box := range map[string][]string{
		"unshare":    {"unshare", "--pid", "--fork", "--mount-proc"},
		"bubblewrap": {"bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--"},
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.Command(box[0], append(slices.Clone(box[1:]), "true")...).CombinedOutput(); err != nil {
				t.Skipf("none can be made here: %v %s", err, out)
			}
			cmd := exec.Command(box[0], append(slices.Clone(box[1:]), program, "-test.run", "^TestOtherNamespace$")...)
			cmd.Env = append(os.Environ(), "GT_TEST_NOTED="+string(text))
			in, err := cmd.StdinPipe()
			testenv.NoError(t, err)
			out, err := cmd.StdoutPipe()
			testenv.NoError(t, err)
			testenv.NoError(t, cmd.Start())
			line, _ := bufio.NewReader(out).ReadString('\n')
			var inner process.Proc
			said, ok := strings.CutPrefix(line, "inside ")
			if !ok || json.Unmarshal([]byte(said), &inner) != nil {
				t.Errorf("inside: %s", line)
			}
			if !inner.IsElsewhere() || inner.IsAlive() || inner.Gone() || inner.NS == self.NS {
				t.Errorf("from outside %+v is elsewhere %v, alive %v, gone %v", inner, inner.IsElsewhere(), inner.IsAlive(), inner.Gone())
			}
			if err := inner.Signal(0); err == nil {
				t.Errorf("%+v was signalled", inner)
			}
			// Another boot's namespaces are over, whatever their numbers are.
			other := inner
			if other.Boot = "another"; other.IsElsewhere() || !other.Gone() {
				t.Errorf("of another boot: %+v", other)
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	// Where a sandbox shows the /proc of outside, no number can be trusted.
	t.Run("the other's proc", func(t *testing.T) {
		box := []string{"unshare", "--pid", "--fork"}
		if err := exec.Command(box[0], append(slices.Clone(box[1:]), "true")...).Run(); err != nil {
			t.Skip("none can be made here: ", err)
		}
		cmd := exec.Command(box[0], append(slices.Clone(box[1:]), program, "-test.run", "^TestForeignProc$")...)
		cmd.Env = append(os.Environ(), "GT_TEST_NOTED="+string(text))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// Nothing is left in the namespace of a container that ended, also where some processes may
// not be looked into.
func TestAbandonedNamespace(t *testing.T) {
	if process.IsContained() {
		t.Skip("only the first PID namespace sees the others")
	}
	if number := os.Getenv("GT_TEST_EMPTIED"); number != "" {
		inner, err := process.Find(os.Getpid())
		testenv.NoError(t, err)
		if inner.NS = number; !inner.Gone() {
			t.Errorf("after its end: %+v", inner)
		}
		return
	}
	number, err := exec.Command("unshare", "--pid", "--fork", "--mount-proc", "readlink", "/proc/self/ns/pid").Output()
	if err != nil {
		t.Skip("none can be made here: ", err)
	}
	program, err := os.Executable()
	testenv.NoError(t, err)
	cmd := exec.Command(program, "-test.run", "^TestAbandonedNamespace$") // what is found of a number is kept for a second
	cmd.Env = append(os.Environ(), "GT_TEST_EMPTIED="+strings.Trim(string(number), "pid:[]\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestForeignProc(t *testing.T) {
	noted := os.Getenv("GT_TEST_NOTED")
	if noted == "" {
		t.Skip("part of TestOtherNamespace")
	}
	var outer process.Proc
	testenv.NoError(t, json.Unmarshal([]byte(noted), &outer))
	if p, err := process.Find(os.Getpid()); err == nil {
		t.Errorf("we are %+v", p)
	}
	if outer.IsAlive() || outer.Gone() || !outer.IsElsewhere() {
		t.Errorf("%+v: alive %v, gone %v", outer, outer.IsAlive(), outer.Gone())
	}
	outer.NS = ""
	if p := process.ProcFromRecord(outer.PID, outer.Start, outer.Boot, ""); p.IsAlive() || p.Gone() {
		t.Errorf("noted without a namespace: %+v, alive %v, gone %v", p, p.IsAlive(), p.Gone())
	}
}
