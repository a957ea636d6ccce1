package template

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Effective is how a session starts: its template with the overlay applied.
type Effective struct {
	Template
	Prompt string
	Setup  string // the text of SetupScript
	Town   string // the folder for relative paths
}

// HashVersion is part of each hash. Hashes of different versions are not compared.
const HashVersion = "v2"

// Fields returns what affects how a session acts. It leaves out the number, names and
// descriptions of sessions, and the file's form.
func (e Effective) Fields() map[string]string {
	list := func(values []string) string {
		var b strings.Builder
		for _, v := range values {
			b.WriteString(strconv.Quote(v) + " ")
		}
		return b.String()
	}
	dir := e.WorkDir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(e.Town, dir)
	}
	fields := map[string]string{
		"provider": e.Provider, "command": list(e.Command), "prompt": digest(e.Prompt), "work_dir": resolved(dir),
		"hooks": list(slices.Sorted(slices.Values(e.Hooks))), "model": e.Model, "wake_mode": string(e.WakeMode),
		"session_setup": list(e.SessionSetup), "session_setup_script": digest(e.Setup), "pre_start": list(e.PreStart),
	}
	for name, value := range e.Env {
		fields["env."+name] = value
	}
	return fields
}

// resolved follows links, so that another link to the same folder is no change.
func resolved(dir string) string {
	if at, err := filepath.EvalSymlinks(dir); err == nil {
		return at
	}
	return filepath.Clean(dir)
}

func digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Hash returns a short hash of the fields: "v2:" and 16 hexadecimal digits.
func (e Effective) Hash() string { return hash(e.Fields()) }

func hash(fields map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "%s=%s\n", name, strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(fields[name]))
	}
	return HashVersion + ":" + digest(b.String())[:16]
}

// Digests returns a short digest of each field, from which its value cannot be read. A
// session keeps them beside its hash to show what changed.
func (e Effective) Digests() map[string]string {
	digests := map[string]string{}
	for name, value := range e.Fields() {
		digests[name] = digest(name + "=" + value)[:8]
	}
	return digests
}

// Differs returns the names of the fields that differ, sorted.
func Differs(before, now map[string]string) []string {
	var names []string
	for name, d := range before {
		if now[name] != d {
			names = append(names, name)
		}
	}
	for name := range now {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
