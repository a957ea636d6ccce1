package template

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gt/lib/text/lazyregexp"
)

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
		if err := t.checkOverlay(key, overlay[key]); err != nil {
			all = errors.Join(all, err)
		}
	}
	return all
}

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

// Allowed returns the part of a session's overlay that its template still allows, and the
// other keys. The template may have changed since the session was made.
func (t Template) Allowed(overlay map[string]string) (allowed map[string]string, stripped []string) {
	allowed = maps.Clone(overlay)
	for _, key := range slices.Sorted(maps.Keys(overlay)) {
		if t.checkOverlay(key, overlay[key]) != nil {
			delete(allowed, key)
			stripped = append(stripped, key)
		}
	}
	return allowed, stripped
}

// With returns the template with a session's overlay applied. prompt is the text of
// PromptTemplate.
func (t Template) With(overlay map[string]string, prompt string) Effective {
	e := Effective{Template: t, Prompt: prompt}
	e.Title = cmp.Or(overlay["title"], t.Title)
	e.Env = maps.Clone(t.Env)
	for key, value := range overlay {
		if name, ok := strings.CutPrefix(key, "env."); ok {
			if e.Env == nil {
				e.Env = map[string]string{}
			}
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
