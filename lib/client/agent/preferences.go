package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"github.com/BurntSushi/toml"

	"gt/lib/place"
	"gt/lib/state/activity"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/duration"
)

// Preferences are the person's settings, $XDG_CONFIG_HOME/gt/config.toml. Hooks that run
// often have no time to read them: what those need is written into the wiring.
type Preferences struct {
	// ContextWarning is how full its context may be, in percent, before an agent is told; 0
	// never tells.
	ContextWarning int `toml:"context_warning"`
	// KeepNotes is how long a hand-over note is kept that was told.
	KeepNotes Retention `toml:"keep_notes"`
}

// Retention is how long something is kept.
type Retention time.Duration

const (
	MinKeep           = 24 * time.Hour // a session may still look for what it was told
	Forever Retention = math.MaxInt64

	defaultKeep Retention = 90 * 24 * Retention(time.Hour)
)

// UnmarshalText reads a duration of at least a day, or "forever".
func (r *Retention) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*r = Forever
		return nil
	}
	d, err := duration.Parse(string(text))
	if err != nil || d < MinKeep {
		return fmt.Errorf("invalid keep_notes '%s' (try 30d, at least 1d, or forever)", text)
	}
	*r = Retention(d)
	return nil
}

// Duration returns it as a time.Duration.
func (r Retention) Duration() time.Duration { return time.Duration(r) }

// LoadPreferences reads them. A file that cannot be used is warned of, and counts as if it
// were not there.
func LoadPreferences(getenv func(string) string, warn func(error)) Preferences {
	defaults := Preferences{ContextWarning: activity.DefaultShare, KeepNotes: defaultKeep}
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
