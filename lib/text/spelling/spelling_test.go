package spelling

import (
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	all := strings.Fields("list status new fork start stop restart restore send show rm rename move")
	for word, want := range map[string]string{
		"lst":      "list",
		"ls":       "list",
		"sned":     "send",
		"statr":    "status start",
		"strat":    "start",
		"sta":      "status start",
		"restrat":  "restart",
		"renam":    "rename",
		"x":        "",
		"":         "",
		"frobnify": "",
		"démarrer": "",
		"ps":       "list",
		"kill":     "stop",
		"logs":     "show",
		"delete":   "rm",
	} {
		if got := strings.Join(FindNear(word, all), " "); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
