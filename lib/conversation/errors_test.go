package conversation

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// ReadErrors reports the first error and counts the others, including those that another
// ReadErrors counted. Missing files do not count.
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
