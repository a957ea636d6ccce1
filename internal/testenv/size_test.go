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
		tried := map[string]int{}
		for turn := range c.turns {
			t.Setenv("GT_TURN", strconv.Itoa(turn+7*c.turns))
			for i := range 30 {
				if name := fmt.Sprint("case-", i); InSample(name, c.oneOf) {
					tried[name]++
				}
			}
		}
		if len(tried) != 30 {
			t.Errorf("GT_SAMPLE=%s of one in %d tries %d of 30 cases", c.share, c.oneOf, len(tried))
		}
		for name, n := range tried {
			if n != 1 {
				t.Errorf("GT_SAMPLE=%s of one in %d tries %s in %d turns", c.share, c.oneOf, name, n)
			}
		}
	}
}

// Each seed is in the sample of one turn of three.
func TestSeeds(t *testing.T) {
	t.Setenv("GT_SAMPLE", "3")
	tried := map[uint64]int{}
	for turn := range 3 {
		t.Setenv("GT_TURN", strconv.Itoa(turn+21))
		for seed := range Seeds(30) {
			tried[seed]++
		}
	}
	for seed := range uint64(30) {
		if tried[seed] != 1 {
			t.Errorf("seed %d is tried in %d turns", seed, tried[seed])
		}
	}
}
