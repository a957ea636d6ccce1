package wiring

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/text/jsonedit"
	"gt/lib/text/lazyregexp"
)

// Wanted returns gt's wiring for an agent with this client's kind of hooks, with the
// binaries in dir, in the order of c.Text. flags are the arguments of every hook; the
// first two are --agent and the agent's name.
func (c Client) Wanted(dir string, flags []string) ([]Handler, error) {
	if c.Shape == Script {
		return []Handler{c.scriptHandler(c.renderScript(dir, flags))}, nil
	}
	want, err := c.modelHandlers()
	if err != nil {
		return nil, err
	}
	for i := range want {
		if err := c.placeHandler(&want[i], dir, flags); err != nil {
			return nil, err
		}
	}
	return want, nil
}

// modelHandlers returns the handlers of c.Text that the client's version takes.
func (c Client) modelHandlers() ([]Handler, error) {
	if c.Format != nil {
		return c.Format.Handlers(c.Text)
	}
	doc, err := jsonedit.Parse(c.Text, false)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(c.handlers(doc), func(h Handler) bool { return !c.TakesEvent(h.Event) }), nil
}

// placeHandler sets the binary's path and the agent's flags in a handler of the text.
func (c Client) placeHandler(handler *Handler, dir string, flags []string) error {
	path := filepath.Join(dir, handler.Binary)
	words := make([]string, len(flags))
	for i, f := range flags {
		words[i] = quoteShell(f)
	}
	entry, err := jsonedit.Parse(handler.Raw, false)
	for _, key := range commandKeys {
		if err != nil {
			return err
		}
		line := entry.Root.Get(key)
		if line == nil {
			continue
		}
		_, rest := SplitCommand(entry.Text(line))
		rest = strings.Replace(rest, "--agent "+c.Name, strings.Join(words, " "), 1)
		program := quoteShell(path)
		if key == "powershell" {
			program = quotePowerShell(path)
		}
		if handler.Raw, err = entry.Replace(line, program+rest); err == nil {
			entry, err = jsonedit.Parse(handler.Raw, false)
		}
	}
	if err != nil {
		return err
	}
	placed, _, _ := handlerOf(entry, entry.Root)
	handler.Command = placed.Command
	return nil
}

func (c Client) Programs(h Handler) []string {
	if c.Shape == Script {
		return scriptPrograms(h.Raw)
	}
	return []string{h.Program()}
}

// SameHandler reports whether the handler a differs from b only in its position in a file, in the
// binaries' folder, in what hides that a program is missing, and in the name that is shown for it.
func (c Client) SameHandler(a, b Handler) bool {
	if c.Shape == Script {
		return sameScript(a.Raw, b.Raw)
	}
	return a.sameExceptPlace(b)
}

// settingFlags matches the flags that come from the person's settings, in a list and in a
// command line.
var settingFlags = lazyregexp.New(`,\s*"--(?:cap|fill|notify|record)",\s*"[^"]*"| --(?:cap|fill|notify|record) (?:'[^']*'|[^\s"]+)`)

// SameButSettings reports whether two handlers differ only in the flags that come from
// the person's settings.
func (c Client) SameButSettings(a, b Handler) bool {
	a.Raw, b.Raw = settingFlags().ReplaceAll(a.Raw, nil), settingFlags().ReplaceAll(b.Raw, nil)
	return c.SameHandler(a, b)
}

// Records reports whether the handler makes gt-record keep the conversation.
func (h Handler) Records() bool {
	return slices.ContainsFunc(settingFlags().FindAll(h.Raw, -1), func(flag []byte) bool { return bytes.Contains(flag, []byte("--record")) })
}

// TakesEvent reports whether the client's version takes an event. A client that is not installed,
// or whose build is no release, takes all. One that does not tell its version takes only those
// that every version takes: it may be so old that it skips its whole settings for another, with
// what the person denied in them.
func (c Client) TakesEvent(event string) bool {
	since := c.Since[event]
	return !agent.IsBefore(c.Version, since) && (c.VersionUnknown == "" || since == "")
}

// UnableReason returns why gt cannot be wired into the client's version, or "".
func (c Client) UnableReason() string {
	if !agent.IsBefore(c.Version, c.Oldest) {
		return ""
	}
	return fmt.Sprintf("%s is too old for gt's hooks; %s can run them", c.Version, c.Oldest)
}

// LackingEvents returns a sentence about gt's events that the client's version does not have, or
// about a version that is not known; "" if neither is so. name is the client's name in it.
func (c Client) LackingEvents(name string) string {
	if c.UnableReason() != "" {
		return ""
	}
	var lacks []string
	newest := ""
	for _, event := range slices.Sorted(maps.Keys(c.Since)) {
		if c.TakesEvent(event) {
			continue
		}
		lacks = append(lacks, event)
		if newest == "" || agent.CompareVersions(c.Since[event], newest) > 0 {
			newest = c.Since[event]
		}
	}
	without := strings.Join(lacks, ", ")
	switch {
	case lacks == nil && c.VersionUnknown != "":
		return fmt.Sprintf("%s: gt does not know which version of %s that is", c.VersionUnknown, name)
	case lacks == nil:
		return ""
	case c.VersionUnknown != "":
		return fmt.Sprintf("%s: gt does not know which version of %s that is, and does without %s, which %s has", c.VersionUnknown, name, without, newest)
	}
	return fmt.Sprintf("%s %s does not have %s, so gt does without; %s has", name, c.Version, without, newest)
}

// UnfitReason returns what the client's version makes of a file with hooks of gt for a newer one,
// or "".
func (c Client) UnfitReason(name string, s Source) string {
	if c.UnableReason() != "" {
		return name + " " + c.UnableReason()
	}
	for _, h := range s.OwnHandlers() {
		if c.VersionUnknown == "" && !c.TakesEvent(h.Event) {
			return fmt.Sprintf("%s %s does not know %s and skips all of '%s'", name, c.Version, h.Event, s.File)
		}
	}
	return ""
}
