package measure

import "testing"

func TestBudget(t *testing.T) {
	for _, test := range []struct {
		budget, value, processor float64
		want                     string
	}{
		{0, 7, 7, "–"},
		{4, 4, 4, "4"},
		{4, 4.1, 3, "4, missed"},
		{4, 4.1, 5, "4, missed"},
		{1.5, 1, 1.6, "1.5, missed in processor"},
	} {
		if got := Budget(test.budget, test.value, test.processor); got != test.want {
			t.Errorf("Budget(%v, %v, %v) is '%s', not '%s'", test.budget, test.value, test.processor, got, test.want)
		}
	}
}
