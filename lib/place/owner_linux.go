package place

import (
	"syscall"
	"time"
)

// changeTime returns when a file's inode last changed, which no program can set.
func changeTime(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()) }
