package agent

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/BurntSushi/toml"

	"gt/lib/place"
	"gt/lib/state/activity"
	"gt/lib/sys/atomicfile"
)

// Preferences are the person's settings, $XDG_CONFIG_HOME/gt/config.toml. No hook has the
// time to read them: what a hook needs of them is written into the wiring.
type Preferences struct {
	// ContextWarning is how full its context may be, in percent, before an agent is told; 0
	// never tells.
	ContextWarning int `toml:"context_warning"`
}

// LoadPreferences reads them. A file that cannot be used is warned of, and counts as if it
// were not there.
func LoadPreferences(getenv func(string) string, warn func(error)) Preferences {
	defaults := Preferences{ContextWarning: activity.DefaultShare}
	path := place.Config(getenv, "config.toml")
	if path == "" {
		return defaults
	}
	data, err := place.ReadConfig(path, atomicfile.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return defaults
	} else if err != nil {
		warn(err)
		return defaults
	}
	p := defaults
	meta, err := toml.Decode(string(data), &p)
	if err == nil && (p.ContextWarning < 0 || p.ContextWarning > 100) {
		err = fmt.Errorf("invalid context_warning %d (try a percentage from 1 to 100, or 0 for no warning)", p.ContextWarning)
	}
	if err != nil {
		warn(fmt.Errorf("%s: %w", path, err))
		return defaults
	}
	for _, key := range meta.Undecoded() {
		warn(fmt.Errorf("%s: unknown setting '%s'", path, key))
	}
	return p
}
