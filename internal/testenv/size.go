package testenv

import (
	"flag"
	"hash/fnv"
	"io"
	"iter"
	"os"
	"strconv"
	"testing"
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

// InSample reports whether a case is the one of so many that -short tries in this turn.
// Without -short, or with GT_WHOLE=1, which test.sh --ci sets, every case is tried.
func InSample(name string, oneOf int) bool {
	if triesAll() {
		return true
	}
	h := fnv.New32a()
	io.WriteString(h, name)
	return (int(h.Sum32())+Turn())%oneOf == 0
}

func triesAll() bool { return !testing.Short() || os.Getenv("GT_WHOLE") == "1" }

// Seeds yields the numbers below n, of which a sample is every tenth.
func Seeds(n uint64) iter.Seq[uint64] {
	first, step := uint64(0), uint64(1)
	if !triesAll() {
		first, step = uint64(Turn()%10), 10
	}
	return func(yield func(uint64) bool) {
		for seed := first; seed < n && yield(seed); seed += step {
		}
	}
}

// Sample skips a test or subtest that is not in the sample of one in so many.
func Sample(t testing.TB, oneOf int) {
	t.Helper()
	if !InSample(t.Name(), oneOf) {
		t.Skipf("not in this commit's sample of one in %d; it runs without -short", oneOf)
	}
}

// SeedRapid has rapid draw the same for the same commit, unless -rapid.seed says otherwise.
func SeedRapid(t testing.TB) {
	t.Helper()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		NoError(t, f.Value.Set(strconv.Itoa(Turn()+1)))
	}
}
