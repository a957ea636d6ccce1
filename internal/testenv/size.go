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
// test.sh --all sets. With -short they try the smallest sample. Otherwise they try one of a
// size between the two, of which GT_SAMPLE=3, which test.sh --ci sets, takes one case in three.
func Thorough() bool { return os.Getenv("GT_THOROUGH") == "1" }

// Turn returns the number by which a sample takes one of several cases: GT_TURN, or 0.
// test.sh makes it from the commit, so that a commit always has the same tests and
// another commit has other ones.
func Turn() int {
	n, _ := strconv.Atoi(os.Getenv("GT_TURN"))
	return max(n, 0)
}

// InSample reports whether a case is in the sample of this turn: with -short it is one of so
// many cases, and with GT_SAMPLE=N of at most N; otherwise every case is. The next turns
// take the others.
func InSample(name string, oneOf int) bool {
	h := fnv.New32a()
	io.WriteString(h, name)
	return (int(h.Sum32())+Turn())%sampleStep(oneOf) == 0
}

// sampleStep returns of how many cases a sample takes one that with -short would take one of
// so many.
func sampleStep(oneOf int) int {
	if n, _ := strconv.Atoi(os.Getenv("GT_SAMPLE")); n > 0 {
		return min(oneOf, n)
	}
	if testing.Short() {
		return oneOf
	}
	return 1
}

// Seeds yields the numbers below n, of which a sample with -short is every tenth.
func Seeds(n uint64) iter.Seq[uint64] {
	step := uint64(sampleStep(10))
	return func(yield func(uint64) bool) {
		for seed := uint64(Turn()) % step; seed < n && yield(seed); seed += step {
		}
	}
}

// Sample skips a test or subtest that is not in the sample of one in so many.
func Sample(t testing.TB, oneOf int) {
	t.Helper()
	if !InSample(t.Name(), oneOf) {
		t.Skipf("not in this commit's sample of one in %d; ./test.sh --all has it", sampleStep(oneOf))
	}
}

// SeedRapid has rapid draw the same for the same commit, unless -rapid.seed says otherwise.
func SeedRapid(t testing.TB) {
	t.Helper()
	if f := flag.Lookup("rapid.seed"); f.Value.String() == "0" {
		NoError(t, f.Value.Set(strconv.Itoa(Turn()+1)))
	}
}
