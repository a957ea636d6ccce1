//go:build !linux

package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// BoundsOf returns the bounds of the process with that PID. macOS tells only user and groups.
func BoundsOf(pid int) (Bounds, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Bounds{}, fmt.Errorf("cannot look at process %d: %w", pid, err)
	}
	e := k.Eproc
	n := min(max(int(e.Ucred.Ngroups), 0), len(e.Ucred.Groups))
	return Bounds{Walls: map[string]string{
		User:  fmt.Sprint(e.Pcred.P_ruid, e.Ucred.Uid),
		Group: fmt.Sprint(e.Pcred.P_rgid, e.Ucred.Groups[:n]),
	}}, nil
}

// Unit returns "": there is no systemd.
func Unit(int) string { return "" }

// Inits returns nil: there are no PID namespaces.
func Inits(int) []Proc { return nil }
