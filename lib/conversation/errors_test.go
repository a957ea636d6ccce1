package conversation

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// Of what could not be read the first is told and the rest counted, also where
// some of it was counted before; what is not there is not counted.
func TestUnread(t *testing.T) {
	var some, all ReadErrors
	some.Add(errors.New("one"))
	some.Add(errors.New("two"))
	some.Add(fs.ErrNotExist)
	some.Add(nil)
	all.Add(some.Err())
	all.Add(errors.New("three"))
	all.Add(some.Err())
	if got := all.Err().Error(); got != "one (and 4 more)" {
		t.Error(got)
	}
	var none ReadErrors
	none.Add(syscall.ELOOP)
	if none.Err() != nil {
		t.Error(none.Err())
	}
	var last ReadErrors
	last.Add(errors.New("zero"))
	last.Add(some.Err())
	if got := last.Err().Error(); got != "zero (and 2 more)" {
		t.Error(got)
	}
}
