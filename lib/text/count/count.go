package count

import "strconv"

// Of returns a number with the name of what is counted: "1 file", "0 files". The plural
// must end in s.
func Of(n int, name string) string {
	if n != 1 {
		name += "s"
	}
	return strconv.Itoa(n) + " " + name
}
