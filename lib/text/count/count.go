package count

import "strconv"

// Of returns a number with the name of what is counted: "1 file", "0 files". The plural
// must end in s.
func Of(n int, name string) string { return Either(n, name, name+"s") }

// Either is Of with both forms: "1 line is", "2 lines are".
func Either(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}
