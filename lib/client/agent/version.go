package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Untested returns in which way a version of the agent is not between those with which gt
// was tested, or "". Its conversations and its screen may have another form.
func (c Client) Untested(version string) string {
	tested := c.Hooks.ProvedVersions
	if version == "" || len(tested) == 0 {
		return ""
	}
	oldest, newest := slices.MinFunc(tested, CompareVersions), slices.MaxFunc(tested, CompareVersions)
	is := ""
	switch {
	case CompareVersions(version, newest) > 0: // mutant never: TestUntested
		is = "newer"
	case CompareVersions(version, oldest) < 0:
		is = "older"
	default:
		return ""
	}
	if oldest == newest {
		return fmt.Sprintf("%s %s is %s than the version that was tested (%s)", c.Name, version, is, newest)
	}
	return fmt.Sprintf("%s %s is %s than the versions that were tested (%s to %s)", c.Name, version, is, oldest, newest)
}

// CompareVersions compares the numbers of two versions ("2.1.330"). What follows a dash does
// not count.
func CompareVersions(a, b string) int { return slices.Compare(numbers(a), numbers(b)) }

func numbers(version string) (all []int) {
	version, _, _ = strings.Cut(version, "-")
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}
