package testenv

import (
	"fmt"
	"strconv"
	"testing"
)

// Each case is in the sample of one turn of so many, and in no other.
func TestInSample(t *testing.T) {
	for _, c := range []struct {
		share        string
		oneOf, turns int
	}{{"3", 10, 3}, {"3", 2, 2}, {"1", 10, 1}} {
		t.Setenv("GT_SAMPLE", c.share)
		cases, seeds := map[string]int{}, map[uint64]int{}
		for turn := range c.turns {
			t.Setenv("GT_TURN", strconv.Itoa(turn+7*c.turns))
			for i := range 30 {
				if name := fmt.Sprint("case-", i); InSample(name, c.oneOf) {
					cases[name]++
				}
			}
			if c.oneOf == 10 { // as Seeds has it with -short
				for seed := range Seeds(30) {
					seeds[seed]++
				}
			}
		}
		if len(cases) != 30 {
			t.Errorf("GT_SAMPLE=%s of one in %d tries %d of 30 cases", c.share, c.oneOf, len(cases))
		}
		for name, n := range cases {
			if n != 1 {
				t.Errorf("GT_SAMPLE=%s of one in %d tries %s in %d turns", c.share, c.oneOf, name, n)
			}
		}
		if c.oneOf == 10 && len(seeds) != 30 {
			t.Errorf("GT_SAMPLE=%s tries %d of 30 seeds", c.share, len(seeds))
		}
	}
}
