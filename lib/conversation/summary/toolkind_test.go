package summary

import (
	"testing"

	"gt/lib/conversation"
)

// What only shows something is not kept; of the others there is kept what came of them.
func TestOutcome(t *testing.T) {
	for _, c := range []struct{ command, result, want string }{
		{"go test ./...", "ok  \ta\t0.4s\nok  \tb\t1.2s\n", "ok b 1.2s"},
		{"git add . && git commit -m x", "[main 1a2b3c4] fix: x\n 1 file changed, 1 insertion(+)", "[main 1a2b3c4] fix: x"},
		{"make", "cc -o a a.c\ndone", "done"},
		{"./bench", "p99 412 ms\n\nbye bye, and thank you for running this benchmark", "p99 412 ms"},
		{"./gen", "-----END RSA PRIVATE KEY----- and a line that is longer than forty characters", ""},
		{"true", "", ""},
		// What a client says of the call did not come of it.
		{"go test", "Chunk ID: 217ee2\nWall time: 0.5 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\nok  \tx\t0.412s\n", "ok x 0.412s"},
		{"go vet", "Chunk ID: 217ee2\nWall time: 0.5 seconds\nProcess exited with code 0\nOriginal token count: 0\nOutput:\n", ""},
		{"make", "Exit code: 0\nWall time: 2 seconds\nTotal output lines: 900\nOutput:\n\n900 tests passed", "900 tests passed"},
		{"make", "<untrusted_context>\nOutput: 3 tests passed\nProcess Group PGID: 13790\n</untrusted_context>", "3 tests passed"},
		{"make", "Output: (empty)\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 18049", ""},
		{"make\nmake check", "Command: make\nmake check\nDirectory: (root)\nOutput: built\n3 tests passed\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: 18049", "3 tests passed"},
		{"make", "built\n<shellId: 0 completed with exit code 0>", "built"},
		{"make", "built\n<exited with exit code 0>", "built"},
	} {
		if got := outcomeLine(c.command, c.result); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	for command, want := range map[string]bool{
		"cat a.go | head -20": true, "cd /w && git status": true, "git log -3; ls": true, "sed -n 1,3p a": true,
		"sed -i s/a/b/ a": false, "cd /w && go test ./...": false, "git commit -m x": false, "rm a": false, "FOO=1 make": false,
	} {
		if onlyReads(command) != want {
			t.Errorf("%s: %v", command, !want)
		}
	}
}

// What gt's own programs were told is told by itself, and a client's tool can have more than a
// command.
func TestOwnCommands(t *testing.T) {
	for command, own := range map[string]bool{
		"gt-checkpoint write --notes 'half'": true, "make && /home/me/.local/bin/gt-handoff -m 'next'": true, "sh -c 'gt-mail inbox'": true,
		"go test ./...": false, "vim my-gt-notes.md": false, "cat docs/target-x": false,
	} {
		if runsGT(command) != own {
			t.Errorf("%s: %v", command, !own)
		}
	}
	for text, want := range map[string]string{
		"command: go vet\ngo test\ndescription: Run\nis_background: false": "go vet\ngo test", "command: ls": "ls", "go test": "go test",
	} {
		if got := commandOf(conversation.Entry{Text: text}); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}
