package agent

import (
	"bytes"
	goflag "flag"
	"fmt"
	"go/format"
	"gt/internal/testenv"
	"os"
	"testing"

	"gt/lib/sys/atomicfile"
)

//go:generate go test -run TestGenerated -update .

var update = goflag.Bool("update", false, "write what the hooks know of the table anew")

// The generated tables match agent.toml. Hooks have no time to read it. After a change of
// an agent.toml: go generate ./lib/client/agent
func TestGenerated(t *testing.T) {
	for _, c := range Builtin().All() {
		want, err := format.Source(generated(c))
		testenv.Must(t, err)
		path := "../" + c.Name + "/hook/table.go"
		if *update {
			testenv.Must(t, atomicfile.Write(path, want, atomicfile.Unsynced))
			testenv.Must(t, os.Chmod(path, 0o644))
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what its table says: go generate ./lib/client/agent (%v)", path, err)
		}
	}
}

// generated is what the hooks need of a client's block, as Go source.
func generated(c Client) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.\n\npackage hook\n\n")
	fmt.Fprintf(&b, "// Name is the client's name.\nconst Name = %q\n\nvar processes = %#v\n", c.Name, c.Processes)
	if c.ContextCap > 0 {
		fmt.Fprintf(&b, "\nconst maxContext = %d\n", c.ContextCap)
	}
	if c.SessionIDEnv != "" {
		fmt.Fprintf(&b, "\nconst sessionVar = %q\n", c.SessionIDEnv)
	}
	if c.StoreEnv != "" {
		fmt.Fprintf(&b, "\nconst storeVar = %q\n", c.StoreEnv)
	}
	return b.Bytes()
}
