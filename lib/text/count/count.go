package count

import (
	"fmt"
	"strconv"
)

// Plural returns a number with the name of what is counted: "1 file", "0 files". The plural
// must end in s.
func Plural(n int, name string) string { return PluralForm(n, name, name+"s") }

// Compact returns a number in four or five characters: 999, 12.3k, 4.5M.
func Compact(n int64) string {
	short, units := float64(n), []string{"", "k", "M", "G", "T"}
	for short >= 999.95 && len(units) > 1 {
		short, units = short/1000, units[1:]
	}
	if units[0] == "" {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%.1f%s", short, units[0])
}

// Dollars returns an amount of US dollars, "" for none.
func Dollars(amount float64) string {
	switch {
	case amount == 0:
		return ""
	case amount < 1:
		return fmt.Sprintf("$%.4f", amount)
	}
	return fmt.Sprintf("$%.2f", amount)
}

// PluralForm is Plural with both forms: "1 line is", "2 lines are".
func PluralForm(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return strconv.Itoa(n) + " " + many
}
