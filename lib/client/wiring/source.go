package wiring

import (
	"gt/lib/client/settings"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/jsonedit"
)

// A Source is a file that an agent takes hooks from.
type Source struct {
	Scope   string // User, Project, Local, or what the client calls the place
	File    string
	Err     error // why it could not be read
	Missing bool  // there is no such file

	Handlers []Handler
	Off      *bool         // whether it switches all hooks off; nil where it says nothing of it
	Doc      *jsonedit.Doc // all that it says; nil of a script and of what could not be read

	// Of a place that gt-hooks does not write: how a person takes our wiring out of
	// it and puts it right, and what of its hooks a person has to know.
	Removal, Repair string
	Caveat          string
}

// Read reads a file of the client's with hooks.
func (c Client) Read(scope, file string) Source {
	s := Source{Scope: scope, File: file}
	text, err := settings.Read(file)
	switch {
	case err != nil:
		s.Err = err
		return s
	case text == nil:
		s.Missing = true
		return s
	case len(text) == 0:
		return s
	case c.Shape == Script:
		if isScript(text) {
			s.Handlers = []Handler{c.scripted(text)}
		}
		return s
	}
	if s.Doc, err = jsonedit.Parse(text, c.Comments); err != nil {
		s.Err = atomicfile.Error("read", file, err)
		return s
	}
	s.Handlers = c.handlers(s.Doc)
	s.Off = c.switchedOff(s.Doc)
	return s
}

// Ours returns the handlers that run a binary of gt.
func (s Source) Ours() []Handler { return ours(s.Handlers) }
