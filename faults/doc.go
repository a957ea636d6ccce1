// Package faults proves that nothing is lost (docs/reliability.md): it kills
// every command that writes before each of its system calls, and lets each of
// them fail in every way that a file system fails, and then looks at what is
// left with the readers that gt itself uses. It is all tests:
//
//	go test ./faults                 the points that differ, as before a change lands
//	go test -short ./faults          one scenario for each program, see covering_test.go
//	GT_THOROUGH=1 go test ./faults   every point, in an hour
//
// It needs Linux, strace and the right to trace; without them it is skipped,
// or fails where GT_FAULTS=required says that it must run.
//
// The programs are the test binary under their names. They run on one thread (see
// main_test.go): strace counts the calls of each thread by itself, and so counts always
// the same. What the start-up of the Go
// runtime does before the program begins is left out; the program says where
// that is by asking for a path that nobody has.
package faults
