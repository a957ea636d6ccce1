package place

import (
	"syscall"
	"time"
)

// changeTime returns a file's ctime, which no program can set.
func changeTime(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()) }
