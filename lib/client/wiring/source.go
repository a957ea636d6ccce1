package wiring

import (
	"fmt"

	"gt/lib/client/settings"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/jsonedit"
)

// A Source is a file that has hooks for an agent.
type Source struct {
	Scope   string // User, Project, Local, or the client's name for the place
	File    string
	Err     error // why it cannot be read
	Missing bool  // the file does not exist

	Handlers    []Handler
	Refused     *Refusal      // the value for which the client skips the file, or nil
	SwitchesOff *bool         // whether it switches all hooks off; nil if it does not say
	Doc         *jsonedit.Doc // the parsed file; nil if it is not JSON or cannot be read

	// For a place that gt-hooks does not write: how a person removes or repairs our
	// wiring, and what to know about its hooks.
	Removal, Repair string
	Caveat          string
}

// Read returns the hooks in a file. If it cannot be read, Err says why; an empty one has none. Only
// for JSON does it set Doc, Refused and SwitchesOff.
func (c Client) Read(scope, file string) Source {
	source := Source{Scope: scope, File: file}
	text, err := settings.Read(file)
	switch {
	case err != nil:
		source.Err = err
		return source
	case text == nil:
		source.Missing = true
		return source
	case len(text) == 0:
		return source
	case c.Shape == Script:
		if isScript(text) {
			source.Handlers = []Handler{c.scriptHandler(text)}
		}
		return source
	case c.Format != nil:
		if source.Handlers, err = c.Format.Handlers(text); err != nil {
			source.Err = atomicfile.Error("read", file, err)
		}
		return source
	}
	if source.Doc, err = jsonedit.Parse(text, c.Comments); err != nil {
		source.Err = atomicfile.Error("read", file, err)
		return source
	}
	source.Handlers = c.handlers(source.Doc)
	schema := ParseSchema(c.Schema, c.Version)
	for _, h := range source.OwnHandlers() {
		if !c.TakesEvent(h.Event) { // UnfitReason reports that, and an installation mends it
			schema["hooks."+h.Event] = "any"
		}
	}
	source.Refused = schema.Check(source.Doc)
	source.SwitchesOff = c.switchedOff(source.Doc)
	return source
}

// Refusal returns why the client with this name skips the file, if it does.
func (s Source) Refusal(client string) string {
	if s.Refused == nil {
		return ""
	}
	return fmt.Sprintf("%s refuses '%s' and skips all of it, or the entry: %s", client, s.File, s.Refused)
}

func (s Source) OwnHandlers() []Handler { return filterOwn(s.Handlers) }

// Plugin is the scope of the hooks of a client's plugin or extension.
const Plugin = "plugin"

// PluginSources returns the hooks that a plugin's file has, or nil if none of them are ours. command is
// what the client manages plugins with, and remove its word for removing one.
func (c Client) PluginSources(file, name, command, remove string) []Source {
	s := c.Read(Plugin, file)
	s.Removal, s.Repair = fmt.Sprintf("%s %s %s", command, remove, name), fmt.Sprintf("%s update %s", command, name)
	if len(s.OwnHandlers()) == 0 {
		return nil
	}
	return []Source{s}
}
