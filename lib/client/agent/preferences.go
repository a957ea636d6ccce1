package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
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
	// Notify is what is run when an agent begins to wait.
	Notify Notify `toml:"notify"`
	// Record is what gt-record keeps of conversations.
	Record Record `toml:"record"`
}

// Record is whether conversations are kept as they grow, which, and for how long.
type Record struct {
	On      bool       `toml:"on"`
	Exclude []string   `toml:"exclude"`  // folders whose sessions are not recorded, with all below them
	Keep    RecordTime `toml:"keep"`     // how long after its last word; 0 keeps it for ever
	MaxSize RecordSize `toml:"max_size"` // of all records together; 0 is no limit
}

// Excludes reports whether sessions of a folder are not recorded. A pattern is a folder,
// which may begin with ~/ and have the wildcards of a shell.
func (r Record) Excludes(home, dir string) bool {
	for _, pattern := range r.Exclude {
		if rest, ok := strings.CutPrefix(pattern, "~"); ok && (rest == "" || rest[0] == '/') {
			pattern = home + rest
		}
		for at := path.Clean(dir); dir != ""; at = path.Dir(at) {
			if ok, err := path.Match(path.Clean(pattern), at); ok && err == nil {
				return true
			}
			if at == path.Dir(at) {
				break
			}
		}
	}
	return false
}

// check returns an error for a pattern that is none.
func (r Record) check() error {
	for _, pattern := range r.Exclude {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("invalid folder '%s' in record.exclude (try /work/private or ~/secret-*)", pattern)
		}
	}
	return nil
}

// RecordTime is how long a record is kept.
type RecordTime time.Duration

// UnmarshalText reads a duration of at least a day, or "forever".
func (t *RecordTime) UnmarshalText(text []byte) error {
	if string(text) == "forever" {
		*t = 0
		return nil
	}
	d, err := duration.Parse(string(text))
	if err != nil || d < MinKeep {
		return fmt.Errorf("invalid record.keep '%s' (try 90d, at least 1d, or forever)", text)
	}
	*t = RecordTime(d)
	return nil
}

// RecordSize is a number of bytes.
type RecordSize int64

// UnmarshalText reads 500M, 2G, 2GiB; a unit is of 1024.
func (s *RecordSize) UnmarshalText(text []byte) error {
	word := strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(string(text)), "b"), "i")
	number := strings.TrimRight(word, "kmgt")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
	shift, ok := uint(0), true
	switch word[len(number):] {
	case "":
	case "k":
		shift = 10
	case "m":
		shift = 20
	case "g":
		shift = 30
	case "t":
		shift = 40
	default:
		ok = false
	}
	if err != nil || !ok || n < 1 {
		return fmt.Errorf("invalid record.max_size '%s' (try 500M or 2G)", text)
	}
	*s = RecordSize(n << shift)
	return nil
}

// Notify is a command of the person's, and for which reasons of waiting it is run.
type Notify struct {
	Command []string          `toml:"command"`
	On      []activity.Reason `toml:"on"` // all, if there is none
}

// Reasons are the reasons as a hook is told them, with commas.
func (n Notify) Reasons() string {
	on := n.On
	if len(on) == 0 {
		on = activity.Reasons()
	}
	words := make([]string, len(on))
	for i, r := range on {
		words[i] = string(r)
	}
	return strings.Join(words, ",")
}

// check returns an error for a reason that there is not.
func (n Notify) check() error {
	for _, r := range n.On {
		if !slices.Contains(activity.Reasons(), r) {
			return fmt.Errorf("invalid reason '%s' in notify.on (try %s)", r, Notify{}.Reasons())
		}
	}
	return nil
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
	file := place.Config(getenv, "config.toml")
	if file == "" {
		return defaults
	}
	data, err := place.ReadConfig(file, atomicfile.MaxSize)
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
	if err == nil {
		err = p.Notify.check()
	}
	if err == nil {
		err = p.Record.check()
	}
	if err != nil {
		warn(fmt.Errorf("%s: %w", file, err))
		return defaults
	}
	for _, key := range meta.Undecoded() {
		warn(fmt.Errorf("%s: unknown setting '%s'", file, key))
	}
	return p
}
