package template

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// overlays are what a template can let a session have otherwise, besides variables.
var overlays = []string{"model", "name", "title", "prompt"}

// maxPrompt bounds what a session's own prompt adds to its template's.
const maxPrompt = 16 << 10

// Separator stands between a template's prompt and what a session adds to it.
const Separator = "\n\n---\n\nAdditional context provided at session creation:\n\n"

var envName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,127}$`)

func checkEnvName(s string) error {
	if !envName.MatchString(s) {
		return fmt.Errorf("invalid variable '%.140s' (capital letters, digits and _, at most 128)", s)
	}
	return nil
}

// CheckOverlay reports what is wrong with what a session is to have otherwise than its
// template: model, name, title, prompt where the template allows it, and env.NAME for the
// variables that it lists.
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

// Allowed returns what of a session's overlay its template still allows, and the names of
// what it does not: its owner may have taken that back since the session was made.
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

// With is the template as a session with that overlay is started. prompt is the text of
// its PromptTemplate.
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
