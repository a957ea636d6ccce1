package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"gt/lib/place"
	"gt/lib/state/activity"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/duration"
)

// Preferences are the person's settings, $XDG_CONFIG_HOME/gt/config.toml. Hooks that run
// often have no time to read them, so gt-hooks writes what they need into the wiring.
type Preferences struct {
	// ContextWarning is how full its context may be, in percent, before gt warns the
	// agent; 0 never warns.
	ContextWarning int `toml:"context_warning"`
	// KeepNotes is how long a hand-over note is kept after it was delivered.
	KeepNotes Retention `toml:"keep_notes"`
	// Notify is the command to run when an agent begins to wait.
	Notify Notify `toml:"notify"`
	// Mail is what happens when a note comes.
	Mail     Mail     `toml:"mail"`
	Relay    Relay    `toml:"relay"`
	Worktree Worktree `toml:"worktree"`
	Session  Session  `toml:"session"`
	// Record is the configuration of gt-record, which LoadRecord reads.
	Record map[string]any `toml:"record"`
}

// Worktree is what is done with a new git worktree.
type Worktree struct {
	Setup []string `toml:"setup"` // commands of a shell
}

// Session is what holds for all agents of gt-session.
type Session struct {
	MaxRunning int `toml:"max_running"` // 0 is no limit
}

// Mail names the agents of gt-session that a note wakes.
type Mail struct {
	Wake []string `toml:"wake"`
}

// Notify is a command of the person and the reasons for waiting that run it.
type Notify struct {
	Command []string          `toml:"command"`
	On      []activity.Reason `toml:"on"` // empty means all
}

// Reasons returns the reasons, separated by commas, as the wiring passes them to a hook.
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

// RunsFor reports whether the person's command runs for a reason.
func (n Notify) RunsFor(r activity.Reason) bool {
	return len(n.Command) > 0 && (len(n.On) == 0 || slices.Contains(n.On, r))
}

func (n Notify) check() error {
	for _, r := range n.On {
		// No hook reports Silent, so it is not in Reasons, but a person may ask for it.
		if r != activity.Silent && !slices.Contains(activity.Reasons(), r) {
			return fmt.Errorf("invalid reason '%s' in notify.on (try %s,%s)", r, Notify{}.Reasons(), activity.Silent)
		}
	}
	return nil
}

// Relay is how gt-relay works, however it is started.
type Relay struct {
	// LostAfter is the time after which a host that is not heard loses work for any host; 0
	// if the person leaves it to gt-relay.
	LostAfter LostAfter `toml:"lost_after"`
}

type LostAfter time.Duration

// leastLost is well over the two minutes in which a host can take up an offer of work.
const leastLost = 4 * time.Minute

// UnmarshalText parses a duration of at least four minutes.
func (l *LostAfter) UnmarshalText(text []byte) error {
	d, err := duration.Parse(string(text))
	if err != nil || d < leastLost {
		return fmt.Errorf("invalid lost_after '%s' (try 10m, at least %s)", text, duration.Format(leastLost))
	}
	*l = LostAfter(d)
	return nil
}

type Retention time.Duration

const (
	MinKeep           = 24 * time.Hour // a session may still look for its note
	Forever Retention = math.MaxInt64

	defaultKeep Retention = 90 * 24 * Retention(time.Hour)
)

// UnmarshalText parses a duration of at least a day, or "forever".
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

func (r Retention) Duration() time.Duration { return time.Duration(r) }

// forms has settings in their right form.
var forms = map[string]string{
	"context_warning": `80`, "keep_notes": `"30d"`, "notify.command": `["notify-send", "gt"]`, "notify.on": `["question"]`,
	"mail.wake": `["api"]`, "relay.lost_after": `"10m"`, "worktree.setup": `["npm ci"]`, "session.max_running": `8`,
}

// explainType returns an error that shows the right form of a setting of a wrong type, which the
// library tells in words of its own.
func explainType(err error) error {
	if err == nil || !strings.Contains(err.Error(), "incompatible types") {
		return err
	}
	_, behind, _ := strings.Cut(err.Error(), `(last key "`)
	key, _, _ := strings.Cut(behind, `"`)
	form := forms[strings.ToLower(key)]
	if form == "" {
		return err
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "toml: "), " (last key")
	return fmt.Errorf("%s: invalid %s (try %s = %s)", line, key, key[strings.LastIndex(key, ".")+1:], form)
}

// LoadPreferences reads the settings in a folder (see place.Config). It warns of a file that it
// cannot use, and returns the defaults then.
func LoadPreferences(config string, warn func(error)) Preferences {
	defaults := Preferences{ContextWarning: activity.DefaultShare, KeepNotes: defaultKeep}
	p := defaults
	if !decodeSettings(config, &p, p.check, func(toml.Key) bool { return true }, warn) {
		return defaults
	}
	return p
}

func (p *Preferences) check() error {
	if p.ContextWarning < 0 || p.ContextWarning > 100 {
		return fmt.Errorf("invalid context_warning %d (try a percentage from 1 to 100, or 0 for no warning)", p.ContextWarning)
	}
	if p.Session.MaxRunning < 0 {
		return fmt.Errorf("invalid session.max_running %d (try 8, or 0 for no limit)", p.Session.MaxRunning)
	}
	return p.Notify.check()
}

// decodeSettings decodes the settings in a folder into v, and reports whether there are any that
// can be used: check returns an error for the others. It warns of a file that it cannot use, and
// of keys that v does not have among those that are isOurs.
func decodeSettings(config string, v any, check func() error, isOurs func(toml.Key) bool, warn func(error)) bool {
	if config == "" {
		return false
	}
	path := filepath.Join(config, "config.toml")
	data, err := place.ReadConfig(path, atomicfile.MaxSize)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			warn(err)
		}
		return false
	}
	meta, err := toml.Decode(string(data), v)
	if err = explainType(err); err == nil {
		err = check()
	}
	if err != nil {
		warn(fmt.Errorf("%s: %w", path, err))
		return false
	}
	for _, key := range meta.Undecoded() {
		if isOurs(key) {
			warn(fmt.Errorf("%s: unknown setting '%s'", path, key))
		}
	}
	return true
}
