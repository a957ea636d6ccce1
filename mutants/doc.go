// Package mutants makes one mistake at a time in gt's code, and expects a test to fail:
// what proves that nothing is lost is itself proved. It has only tests:
//
//	go test ./mutants -mutants
//
// A comment marks each line that keeps a promise, says how to break it, and names the test
// that notices, in the package before it if that is another one:
//
//	if torn { // mutant never: TestAppendEndsATornLineFirst
//	if d == Synced { // mutant never: ./faults TestProtocol
//
// A comment on a line of its own marks the next line. The ways to break it are:
//
//	never      the condition on the line is false
//	always     the condition on the line is true
//	skip       the statement that begins on the line is not executed
//	swap       that statement and the next one change places
//	without X  a call of the function X is replaced by its first argument,
//	           or the string X by an empty one
//
// A condition is the largest that is wholly on the line, so an operand on a line of its own
// can be marked as well. The files of the project are not touched: the go command reads a
// changed copy.
package mutants
