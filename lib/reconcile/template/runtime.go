package template

import (
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
		return "", []Problem{{File: file, Key: "session.provider", Err: err}}
	}
	if _, err := toml.Decode(string(text), &content); err != nil {
		return bad(err)
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
