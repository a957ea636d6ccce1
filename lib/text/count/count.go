// Package count writes numbers of things.
package count

import "strconv"

// Of returns a number with the name of what is counted, in the plural unless it is one:
// "1 file", "0 files". The name is one that takes an s.
func Of(n int, name string) string {
	if n != 1 {
		name += "s"
	}
	return strconv.Itoa(n) + " " + name
}
