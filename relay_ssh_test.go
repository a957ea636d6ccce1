package gt_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestRelaySSH joins two homes through a real sshd on loopback, cuts the connection, ends
// the hub, and sees that both come back by themselves.
func TestRelaySSH(t *testing.T) {
	t.Parallel()
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		sshd = "/usr/sbin/sshd"
	}
	if _, err := os.Stat(sshd); err != nil {
		t.Skip("there is no sshd")
	}
	programs, _, _ := strings.Cut(os.Getenv("PATH"), ":") // see TestMain
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	must := func(out []byte, err error) string {
		t.Helper()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	for _, name := range []string{"hostkey", "key"} {
		must(exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", at(name)).CombinedOutput())
	}
	public, err := os.ReadFile(at("key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write("authorized", string(public), 0o600)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	path := programs + ":/usr/bin:/bin"
	write("sshd_config", strings.Join([]string{
		"Port " + port, "ListenAddress 127.0.0.1", "HostKey " + at("hostkey"), "AuthorizedKeysFile " + at("authorized"), "StrictModes no", "UsePAM no",
		"PidFile none", "SetEnv HOME=" + at("box") + " PATH=" + path, "",
	}, "\n"), 0o600)
	write("ssh_config", strings.Join([]string{
		"Host box", "HostName 127.0.0.1", "Port " + port, "User " + me.Username, "IdentityFile " + at("key"), "IdentitiesOnly yes",
		"UserKnownHostsFile " + at("known"), "StrictHostKeyChecking accept-new", "",
	}, "\n"), 0o600)
	write("bin/ssh", fmt.Sprintf("#!/bin/sh\necho $$ >>%s\nexec /usr/bin/ssh -F %s \"$@\"\n", at("ssh.pids"), at("ssh_config")), 0o755)
	write("box/.x", "", 0o600)
	write("lap/.x", "", 0o600)
	_ = os.MkdirAll("/run/sshd", 0o755) // for sshd as root
	server := exec.Command(sshd, "-D", "-e", "-f", at("sshd_config"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	run := func(home string, args ...string) *exec.Cmd {
		c := exec.Command("env", append([]string{"-i", "HOME=" + at(home), "PATH=" + at("bin") + ":" + path}, args...)...)
		c.Dir = dir
		return c
	}
	wait := func(what string, ok func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Minute); !ok(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("after ten minutes not: " + what)
			}
		}
	}
	wait("sshd listens", func() bool {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	out := must(run("lap", "gt-relay", "join", "--name", "lap", "ssh://box").CombinedOutput())
	if !strings.Contains(out, "this host is lap now, in the fleet of box") {
		t.Fatal(out)
	}
	relay := run("lap", "gt-relay", "run")
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = relay.Process.Kill(); _ = relay.Wait() })
	hubPID := func() string {
		data, _ := os.ReadFile(at("box/.local/state/gt/relay/hub/pid"))
		return strings.TrimSpace(string(data))
	}
	t.Cleanup(func() { _ = exec.Command("kill", hubPID()).Run() })
	connected := func() bool {
		out, _ := run("lap", "gt-relay").CombinedOutput()
		return strings.HasPrefix(string(out), "lap, connected to box\n")
	}
	wait("it is connected", connected)
	for _, round := range []struct {
		what string
		do   func()
	}{
		{"ssh is ended", func() {
			data, _ := os.ReadFile(at("ssh.pids"))
			pids := strings.Fields(string(data))
			_ = exec.Command("kill", pids[len(pids)-1]).Run()
		}},
		{"the hub is killed", func() { _ = exec.Command("kill", "-9", hubPID()).Run() }},
	} {
		round.do()
		wait("it notices that "+round.what, func() bool { return !connected() })
		wait("it is connected again after "+round.what, connected)
	}
}
