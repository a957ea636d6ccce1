package template

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// Runtime returns the provider of a file's table [session], which runs its agents: "" for
// tmux, or exec:PROGRAM.
func Runtime(file string, text []byte) (string, []Problem) {
	var content struct {
		Session struct {
			Provider string `toml:"provider"`
		} `toml:"session"`
	}
	bad := func(err error) (string, []Problem) {
		return "", []Problem{{File: file, Line: providerLine(string(text)), Key: "session.provider", Err: err}}
	}
	if _, err := toml.Decode(string(text), &content); err != nil {
		return bad(errors.New("a string in the table [session] is wanted"))
	}
	switch p := content.Session.Provider; {
	case p == "", p == "tmux":
		return "", nil
	case strings.HasPrefix(p, "exec:") && len(p) > len("exec:"):
		return p, nil
	default:
		return bad(fmt.Errorf("invalid value '%.80s' (try tmux or exec:PROGRAM)", p))
	}
}

// providerLine returns the line of provider in the table [session], or 0 if it is written
// in an unusual form.
func providerLine(text string) int {
	number, within := 0, false
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		key, _, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			within = strings.HasPrefix(strings.ReplaceAll(line, " ", ""), "[session]")
		case within && strings.TrimSpace(key) == "provider":
			return number
		}
	}
	return 0
}
