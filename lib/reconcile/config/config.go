// Package config reads the templates of a place with the prompts and scripts that they
// name: for a trusted town from its town.toml in the version that the person trusted,
// elsewhere from the person's own configuration.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/template"
	"gt/lib/state/beads"
	"gt/lib/state/instance"
)

const townFile = "town.toml"

const maxFile = 1 << 20

// Config is the configuration of a place's sessions.
type Config struct {
	File      string // the file with the templates; it may be missing
	Work      string // the folder for relative work_dirs, and the default
	Templates []template.Template
	Runtime   string // "" for tmux, or exec:PROGRAM

	texts map[string]string // prompts and scripts by path
}

// Source is where a place's templates are read from.
type Source struct {
	File         string
	Work         string
	readFile     func(name string) ([]byte, error)
	reservedVars []string // variables that gt sets itself
}

// NewSource returns the source of a profile, or, if profile is "", of the town.
func NewSource(s place.Scope, t town.Town, profile string) Source {
	if profile == "" && !t.Personal {
		source := Source{File: filepath.Join(t.Root, townFile), Work: t.Root, readFile: func(name string) (data []byte, err error) {
			// A process that runs for days must see that the trust was taken away.
			if t.Trust, err = t.State.TrustOf(t.Root); err != nil && !errors.Is(err, place.ErrUntrusted) {
				return nil, err
			}
			return t.Read(name)
		}}
		for _, actor := range beads.Actor("") {
			source.reservedVars = append(source.reservedVars, actor[0])
		}
		return source
	}
	dir := s.Config
	if dir != "" && profile != "" {
		dir = filepath.Join(dir, "profiles", profile)
	}
	return Source{File: filepath.Join(dir, townFile), Work: s.Home, readFile: func(name string) ([]byte, error) {
		if dir == "" {
			return nil, fs.ErrNotExist
		}
		return place.ReadConfig(filepath.Join(dir, name), maxFile)
	}}
}

// StoresWith returns the stores of the places that have a template: the person's own, and those
// of trusted towns. It leaves out places whose templates cannot be read.
func StoresWith(scope place.Scope, template string) (found []instance.Store, err error) {
	err = forEachConfig(scope, func(c *Config, s instance.Store) {
		if c.Find(template) != nil {
			found = append(found, s)
		}
	})
	return found, err
}

// TemplateNames returns the names of all templates in the places of StoresWith, sorted.
func TemplateNames(scope place.Scope) (names []string, err error) {
	err = forEachConfig(scope, func(c *Config, _ instance.Store) {
		for _, t := range c.Templates {
			names = append(names, t.Name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

// forEachConfig calls do for the person's configuration and those of the trusted towns, each with
// its sessions. It passes over what cannot be read.
func forEachConfig(scope place.Scope, do func(*Config, instance.Store)) error {
	state := scope.State
	if c, err := NewSource(scope, town.PersonalIn(state), "").Read(); err == nil {
		do(c, instance.Personal(state, ""))
	}
	towns, err := state.TrustedTowns()
	for _, t := range towns {
		trust, err := state.TrustOf(t.Path)
		if err != nil {
			continue
		}
		if c, err := NewSource(scope, town.Town{Root: t.Path, State: state, Trust: trust}, "").Read(); err == nil {
			do(c, instance.OfTown(state, t.Path))
		}
	}
	return err
}

// BrokenError reports the problems of a file.
type BrokenError struct{ Problems []template.Problem }

func (b *BrokenError) Error() string {
	if n := len(b.Problems) - 1; n > 0 {
		return fmt.Sprintf("%v (and %d more)", b.Problems[0], n)
	}
	return b.Problems[0].Error()
}

func (b *BrokenError) Unwrap() error { return b.Problems[0].Err }

// Read reads the templates. A missing file has none. After an error nothing may be used.
func (s Source) Read() (*Config, error) {
	c := &Config{File: s.File, Work: s.Work, texts: map[string]string{}}
	text, err := s.readFile(townFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return nil, err
	}
	var problems []template.Problem
	if c.Templates, problems = template.Parse(s.File, text, s.reservedVars...); len(problems) > 0 {
		return nil, &BrokenError{problems}
	}
	if c.Runtime, problems = template.Runtime(s.File, text); len(problems) > 0 {
		return nil, &BrokenError{problems}
	}
	for i := range c.Templates {
		t := &c.Templates[i]
		t.Account = cmp.Or(t.Account, t.Provider)
		if t.Worktree && c.Runtime != "" {
			problems = append(problems, template.Problem{File: s.File, Line: t.Line, Key: "agent.worktree", Err: fmt.Errorf("%s runs its agents where gt makes no worktree", c.Runtime)})
		}
		for _, named := range [...]struct {
			key, file string
			line      int
		}{{"prompt_template", t.PromptTemplate, t.PromptLine}, {"session_setup_script", t.SetupScript, t.SetupLine}} {
			if named.file == "" {
				continue
			}
			data, err := s.readFile(path.Clean(named.file))
			switch {
			case errors.Is(err, fs.ErrNotExist):
				problems = append(problems, template.Problem{File: s.File, Line: named.line, Key: "agent." + named.key,
					Err: fmt.Errorf("there is no file '%s'", filepath.Join(filepath.Dir(s.File), named.file))})
			case err != nil:
				return nil, fmt.Errorf("%s of %s: %w", named.key, t.Name, err)
			default:
				c.texts[named.file] = string(data)
			}
		}
	}
	if len(problems) > 0 {
		return nil, &BrokenError{problems}
	}
	return c, nil
}

func (c *Config) Find(name string) *template.Template {
	for i := range c.Templates {
		if c.Templates[i].Name == name {
			return &c.Templates[i]
		}
	}
	return nil
}

// Effective returns how a session with an overlay starts.
func (c *Config) Effective(t template.Template, overlay map[string]string) template.Effective {
	e := t.ApplyOverlay(overlay, c.texts[t.PromptTemplate])
	e.Setup, e.Town = c.texts[t.SetupScript], c.Work
	return e
}

// NamedFiles returns the files that the templates of a town.toml name. The person trusts them
// together with it.
func NamedFiles(text []byte) (names []string) {
	all, _ := template.Parse(townFile, text) // problems are reported where the templates are used
	for _, t := range all {
		for _, file := range []string{t.PromptTemplate, t.SetupScript} {
			if file != "" {
				names = append(names, path.Clean(file))
			}
		}
	}
	return names
}
