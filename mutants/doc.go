// Package mutants puts mistakes back into gt, one at a time, and sees to it that
// a test notices each: what proves that nothing is lost is itself proved. It is
// all tests:
//
//	go test ./mutants -mutants
//
// The files of the project are not touched: the go command is told to read a
// changed copy in the place of one of them.
package mutants
