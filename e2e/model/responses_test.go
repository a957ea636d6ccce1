package model

import (
	"reflect"
	"testing"
)

// The model waits for a command of Codex's that runs on, and for no other.
func TestWaitForCommand(t *testing.T) {
	for result, want := range map[string]any{
		"Chunk ID: dba6f1\nWall time: 10.0022 seconds\nProcess running with session ID 33537\nOriginal token count: 2\nOutput:\nFIRST\n": 33537,
		"Chunk ID: f923c6\nWall time: 4.1820 seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\nSECOND\n":            nil,
		"": nil,
	} {
		r := &Request{Msgs: []Message{{Role: "user", Text: "please run it"}, {Role: "user", Result: result}}}
		reply, waits := r.waitForCommand()
		if waits != (want != nil) {
			t.Errorf("%q: it waits: %v", result, waits)
			continue
		}
		if !waits {
			continue
		}
		tool := reply.Tools[0]
		if got := tool.Input.(map[string]any)["session_id"]; tool.Name != "write_stdin" || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: it waits by %+v", result, tool)
		}
	}
}
