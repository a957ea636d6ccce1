package template

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// Runtime returns what runs the agents of a file's templates, the provider of its table
// [session]: "" for tmux, or exec:PROGRAM.
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

// providerLine is the line of the provider in the table [session], 0 where it is written in
// another way.
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
