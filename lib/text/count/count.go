package count

import "strconv"

// Plural returns a number with the name of what is counted: "1 file", "0 files". The plural
// must end in s.
func Plural(n int, name string) string { return PluralForm(n, name, name+"s") }

// PluralForm is Plural with both forms: "1 line is", "2 lines are".
func PluralForm(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}
