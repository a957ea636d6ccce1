// Package template reads from a town.toml how agents are started and how many there should
// be: its [[agent]] blocks, in the syntax of Gas City's city.toml.
//
//	[[agent]]
//	name = "worker"
//	provider = "claude"
//	prompt_template = "roles/worker.md"
//
//	[agent.pool]
//	min = 1
//	max = 5
//	check = "bd ready --label=pool:worker --json | jq length"
//
//	[agent.defaults]
//	model = "opus"
//	wake_mode = "resume"
package template

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"gt/lib/reconcile/tick"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
)

// Template is an [[agent]] block with its defaults filled in.
type Template struct {
	// Template is the part that package tick uses.
	tick.Template
	Line int // of the block in its file, from 1
	// Lines of keys that are checked elsewhere.
	ProviderLine, PromptLine, SetupLine int

	Title, Description string // do not affect how an agent runs

	Provider       string   // name in the table of agents
	Command        []string // empty for the provider's own
	PromptTemplate string   // file, relative to the town
	WorkDir        string   // relative to the town, or absolute; "" for the town
	Worktree       bool     // each session made from now on has a worktree of its own of WorkDir's repository
	Env            map[string]string
	Hooks          []string
	PreStart       []string // commands to run before the agent starts
	SessionSetup   []string // commands to run in the agent's tmux session once it runs
	SetupScript    string   // file with such commands, relative to the town
	Model          string

	Check        string // command that prints the wanted size of the pool; "" for none
	RoutingLabel string // of the pool, and the name of its folder of markers
	// OrphanedWork is Block or Release.
	OrphanedWork string

	AllowOverlay []string // what a session may override; see CheckOverlay
	AllowEnv     []string // variables that a session may override
}

// What happens to work whose session is gone.
const (
	Block   = "block"   // it stays with the session, marked with the reason
	Release = "release" // another session may claim it
)

// Limits of a block.
const (
	maxTemplates = 1000
	maxPool      = 10_000
	maxDuration  = 365 * 24 * time.Hour
	maxItems     = 1000
)

func blankTemplate() Template {
	t, _ := tick.Defaults()
	return Template{Template: t, OrphanedWork: Block, AllowOverlay: []string{"model", "name", "title"}}
}

// Runtime returns the provider of a file's table [session], which runs its agents: "" for
// tmux, or exec:PROGRAM.
func Runtime(file string, text []byte) (string, []Problem) {
	var content struct {
		Session struct {
			Provider string `toml:"provider"`
		} `toml:"session"`
	}
	bad := func(err error) (string, []Problem) {
		_, lines := keyLines(text)
		return "", []Problem{{File: file, Line: lines(noBlock, "session.provider"), Key: "session.provider", Err: err}}
	}
	if _, err := toml.Decode(string(text), &content); err != nil {
		return bad(errors.New("it must be a string in the table [session]"))
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

// overlays are the keys, besides variables, that allow_overlay may list.
var overlays = []string{"model", "name", "title", "prompt"}

// maxPrompt bounds a session's own prompt, in bytes.
const maxPrompt = 16 << 10

// Separator separates the template's prompt from the session's own.
const Separator = "\n\n---\n\nAdditional context provided at session creation:\n\n"

var envName = lazyregexp.New(`^[A-Z][A-Z0-9_]{0,127}$`)

func checkEnvName(s string) error {
	if !envName().MatchString(s) {
		return fmt.Errorf("invalid variable '%.140s' (capital letters, digits and _, at most 128)", s)
	}
	return nil
}

// CheckOverlay returns the errors of a session's overlay. Its keys are model, name, title
// and prompt if allow_overlay lists them, and env.NAME for the variables of
// allow_env_override.
func (t Template) CheckOverlay(overlay map[string]string) error {
	var all error
	for _, key := range slices.Sorted(maps.Keys(overlay)) {
		all = errors.Join(all, t.checkOverlay(key, overlay[key]))
	}
	return all
}

// checkOverlay returns an error if a session may not have this value of a key, such as env.NAME.
func (t Template) checkOverlay(key, value string) error {
	valid := slices.Clone(t.AllowOverlay)
	for _, name := range t.AllowEnv {
		valid = append(valid, "env."+name)
	}
	if name, ok := strings.CutPrefix(key, "env."); ok {
		if err := checkEnvName(name); err != nil {
			return err
		}
	}
	switch {
	case !slices.Contains(valid, key):
		return fmt.Errorf("%s does not let a session have its own '%.140s' (it may have: %s)", t.Name, key, strings.Join(valid, ", "))
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("the value of %s contains a NUL", key)
	case key == "prompt" && len(value) > maxPrompt:
		return fmt.Errorf("the prompt has %d bytes (at most %d)", len(value), maxPrompt)
	}
	return nil
}

// AllowedOverlay returns the part of a session's overlay that its template still allows, and the
// other keys. The template may have changed since the session was made.
func (t Template) AllowedOverlay(overlay map[string]string) (allowed map[string]string, stripped []string) {
	allowed = maps.Clone(overlay)
	for _, key := range slices.Sorted(maps.Keys(overlay)) {
		if t.checkOverlay(key, overlay[key]) != nil {
			delete(allowed, key)
			stripped = append(stripped, key)
		}
	}
	return allowed, stripped
}

// ApplyOverlay returns the template with a session's overlay applied. prompt is the text of
// PromptTemplate.
func (t Template) ApplyOverlay(overlay map[string]string, prompt string) Effective {
	e := Effective{Template: t, Prompt: prompt}
	e.Title = cmp.Or(overlay["title"], t.Title)
	e.Env = map[string]string{}
	maps.Copy(e.Env, t.Env)
	for key, value := range overlay {
		if name, ok := strings.CutPrefix(key, "env."); ok {
			e.Env[name] = value
		}
	}
	if model := overlay["model"]; model != "" {
		e.Model = model
	}
	if more := overlay["prompt"]; more != "" {
		e.Prompt += Separator + more
	}
	return e
}

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
		"provider": e.Provider, "command": list(e.Command), "prompt": digest(e.Prompt), "work_dir": atomicfile.ResolveLinks(dir),
		"hooks": list(slices.Sorted(slices.Values(e.Hooks))), "model": e.Model, "wake_mode": string(e.WakeMode),
		"session_setup": list(e.SessionSetup), "session_setup_script": digest(e.Setup), "pre_start": list(e.PreStart),
	}
	for name, value := range e.Env {
		fields["env."+name] = value
	}
	return fields
}

func digest(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Hash returns a short hash of the fields: "v2:" and 16 hexadecimal digits.
func (e Effective) Hash() string {
	fields := e.Fields()
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

// DifferingFields returns the names of the fields that differ, sorted.
func DifferingFields(before, now map[string]string) []string {
	all := map[string]string{}
	maps.Copy(all, before)
	maps.Copy(all, now)
	maps.DeleteFunc(all, func(name, _ string) bool { return before[name] == now[name] })
	return slices.Sorted(maps.Keys(all))
}
