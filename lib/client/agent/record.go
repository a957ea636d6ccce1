package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/duration"
	"gt/lib/text/lazyregexp"
	"gt/lib/text/term"
)

// Record says whether and for how long conversations are recorded as they grow.
type Record struct {
	On      bool       `toml:"on"`
	Exclude []string   `toml:"exclude"`  // folders whose sessions are not recorded, with their subfolders
	Keep    RecordTime `toml:"keep"`     // since the last entry; 0 is for ever
	MaxSize RecordSize `toml:"max_size"` // of all records together; 0 is no limit
}

// Excludes reports whether the sessions of a folder are not recorded. A pattern is a
// folder, which may begin with ~/ and have a shell's wildcards.
func (r Record) Excludes(home, dir string) bool {
	for _, pattern := range r.Exclude {
		if rest, ok := strings.CutPrefix(pattern, "~"); ok && (rest == "" || rest[0] == '/') {
			pattern = home + rest
		}
		for at := path.Clean(dir); dir != ""; at = path.Dir(at) { // the folder and those above it
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

func (r Record) check() error {
	for _, pattern := range r.Exclude {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("invalid folder '%s' in record.exclude (try /work/private or ~/secret-*)", pattern)
		}
	}
	return nil
}

// RecordTime is how long a record is kept; 0 is for ever.
type RecordTime time.Duration

// UnmarshalText parses a duration of at least a day, or "forever".
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

type RecordSize int64

// UnmarshalText parses 500M, 2G, 2GiB; the units are powers of 1024.
func (s *RecordSize) UnmarshalText(text []byte) error {
	n, ok := term.ParseSize(string(text))
	if !ok || n < 1 {
		return fmt.Errorf("invalid record.max_size '%s' (try 500M or 2G)", text)
	}
	*s = RecordSize(n)
	return nil
}

// SaveRecord sets on under [record] in the person's settings. Everything else stays as it
// is.
func SaveRecord(config string, on bool) error {
	file := filepath.Join(config, "config.toml")
	if config == "" {
		return errors.New("HOME is not set, so there is no place for settings")
	}
	data, err := place.ReadConfig(file, atomicfile.MaxSize)
	perm := fs.FileMode(0o600)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if file, err = filepath.EvalSymlinks(file); err != nil { // a link stays a link
			return err
		}
		if info, err := os.Stat(file); err == nil {
			perm = info.Mode().Perm()
		}
	}
	next, err := withRecord(data, on)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(next, data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return atomicfile.Error("create", filepath.Dir(file), err)
	}
	atomicfile.Sweep(filepath.Dir(file), time.Now())
	return atomicfile.WriteMode(file, next, perm, atomicfile.Synced)
}

var (
	recordHeader = lazyregexp.New(`(?m)^[ \t]*\[[ \t]*record[ \t]*\][^\n]*(\n|$)`)
	nextHeader   = lazyregexp.New(`(?m)^[ \t]*\[`)
	recordOn     = lazyregexp.New(`(?m)^([ \t]*on[ \t]*=[ \t]*)(true|false)\b`)
)

// withRecord returns the settings with on under [record] and no other change.
func withRecord(data []byte, on bool) ([]byte, error) {
	var before, after map[string]any
	if err := toml.Unmarshal(data, &before); err != nil {
		return nil, err
	}
	set, _ := before["record"].(map[string]any)
	if set["on"] == on {
		return data, nil
	}
	next := data
	if at := recordHeader().FindIndex(data); at == nil {
		if len(next) > 0 {
			next = append(bytes.TrimRight(next, "\n"), "\n\n"...)
		}
		next = fmt.Appendf(next, "[record]\non = %t\n", on)
	} else {
		head, section, rest := data[:at[1]], data[at[1]:], []byte(nil)
		if end := nextHeader().FindIndex(section); end != nil {
			section, rest = section[:end[0]], section[end[0]:]
		}
		if recordOn().Match(section) {
			section = recordOn().ReplaceAll(section, fmt.Appendf(nil, "${1}%t", on))
		} else {
			section = fmt.Appendf(nil, "on = %t\n%s", on, section)
		}
		if !bytes.HasSuffix(head, []byte("\n")) {
			head = append(slices.Clip(head), '\n')
		}
		next = slices.Concat(head, section, rest)
	}
	// The keys may be written in a form that the code above does not find. So next must say what
	// data says, with on.
	if set == nil {
		set = map[string]any{}
		if before == nil {
			before = map[string]any{}
		}
		before["record"] = set
	}
	set["on"] = on
	if err := toml.Unmarshal(next, &after); err != nil || !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("cannot change [record]; write on = %t there", on)
	}
	return next, nil
}

// LoadRecord reads the section [record] of the person's settings. If it cannot be used,
// nothing is recorded.
func LoadRecord(config string, warn func(error)) Record {
	var p struct {
		Record Record `toml:"record"`
	}
	isOurs := func(key toml.Key) bool { return len(key) > 1 && key[0] == "record" }
	check := func() error { return p.Record.check() }
	if !decodeSettings(config, &p, check, isOurs, warn) {
		return Record{}
	}
	return p.Record
}
