package testenv

import (
	"os"
	"strconv"
)

// Thorough reports whether tests try every case instead of a sample: GT_THOROUGH=1, which
// test.sh --all sets. With -short they try the smallest sample, and otherwise one of a
// size between the two.
func Thorough() bool { return os.Getenv("GT_THOROUGH") == "1" }

// Turn returns the number by which a sample takes one of several cases: GT_TURN, or 0.
// test.sh makes it from the commit, so that a commit always has the same tests and
// another commit has other ones.
func Turn() int {
	n, _ := strconv.Atoi(os.Getenv("GT_TURN"))
	return max(n, 0)
}
