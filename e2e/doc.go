// Package e2e runs gt with the real Claude Code, as its user has it: hooks
// written by gt-hooks, headless and in a tmux pane, against a model server on
// loopback that says what the test wants said. What it asserts is what reached
// the model, what stands in the event log, and what lies in the files.
//
//	go test -tags e2e ./e2e/...
//
// A client is taken from GT_E2E_<NAME> (the path of its executable), else it
// is installed with npm, once, into GT_E2E_CACHE or the user's cache folder.
// Where it cannot be had the tests are skipped, unless GT_E2E=required.
// GT_E2E_KEEP=1 leaves the folder of each test for a look. GT_E2E_ROUNDS is how often a
// story sends each of its texts, 3 if unset; ./test.sh --all sets it to 20.
//
// No credential is needed, and none is used: each test has a HOME of its own,
// a key that it made up, and a server that takes any.
package e2e
