package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"gt/internal/testenv"
	"gt/lib/sys/process"
)

// What the kernel makes of a script's command line is undone, and nothing else.
func TestTyped(t *testing.T) {
	dir := t.TempDir()
	for name, first := range map[string]string{
		"plain": "#!/bin/sh", "option": "#!  /bin/sh   -e -u \t", "none": ":", "other": "#!/bin/false",
		"env": "#!/usr/bin/env node", "split": "#!/usr/bin/env -S node -x",
	} {
		testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, name), []byte(first+"\n:\n")))
	}
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("#!/bin/sh\n"), 0o600))
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct{ args, want []string }{
		{[]string{"/bin/sh", path("plain"), "-m", "x"}, []string{path("plain"), "-m", "x"}},
		{[]string{"/bin/sh", "./plain"}, []string{"./plain"}},
		{[]string{"/bin/sh", "-e -u", path("option"), "x"}, []string{path("option"), "x"}},
		{[]string{"/bin/sh", path("option")}, nil}, // a person's, who left that out
		{[]string{"sh", path("plain")}, nil},
		{[]string{"node", path("env"), "x"}, []string{path("env"), "x"}},
		{[]string{"node", path("split")}, nil},
		{[]string{"/bin/sh", path("none")}, nil},
		{[]string{"/bin/sh", path("text")}, nil},
		{[]string{"/bin/sh", "plain"}, nil},
		{[]string{"/bin/sh", path("other")}, nil},
		{[]string{"/bin/sh", path("missing")}, nil},
		{[]string{"/bin/sh", "-c", path("plain")}, nil},
		{[]string{"/bin/sh", dir}, nil},
		{[]string{"/bin/sh"}, nil},
		{nil, nil},
	} {
		want := c.want
		if want == nil {
			want = c.args
		}
		if got := process.TypedCommand(c.args, dir); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", c.args, got, want)
		}
	}
}

// That is what the kernel makes of it, here.
func TestTypedByKernel(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("cuts the rest of the first line into words")
	}
	script := filepath.Join(t.TempDir(), "script")
	testenv.NoError(t, testenv.WriteProgram(script, []byte("#! /bin/sh -e\necho up\nread x\n")))
	cmd := exec.Command(script, "-m", "x y")
	in, err := cmd.StdinPipe()
	testenv.NoError(t, err)
	out, err := cmd.StdoutPipe()
	testenv.NoError(t, err)
	testenv.NoError(t, cmd.Start())
	defer cmd.Wait()
	defer in.Close()
	out.Read(make([]byte, 3))
	p, err := process.Find(cmd.Process.Pid)
	testenv.NoError(t, err)
	args, err := p.Args()
	testenv.NoError(t, err)
	if got := process.TypedCommand(args, "/"); !slices.Equal(got, []string{script, "-m", "x y"}) {
		t.Errorf("%q is %q", args, got)
	}
}
