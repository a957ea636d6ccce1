package wiring

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gt/lib/client/agent"
)

// Takes reports whether the client's version takes an event. One that is not known does.
func (c Client) Takes(event string) bool {
	return c.Version == "" || agent.CompareVersions(c.Version, c.Since[event]) >= 0
}

// Unable returns why gt cannot be wired into the client's version, or "".
func (c Client) Unable() string {
	if c.Version == "" || agent.CompareVersions(c.Version, c.Oldest) >= 0 {
		return ""
	}
	return fmt.Sprintf("%s is too old for gt's hooks; %s can run them", c.Version, c.Oldest)
}

// Lacks returns which of gt's events the client's version does not have, and the version that
// has all, or "".
func (c Client) Lacks(name string) string {
	var lacks []string
	newest := ""
	if c.Unable() != "" {
		return ""
	}
	for _, event := range slices.Sorted(maps.Keys(c.Since)) {
		if c.Takes(event) {
			continue
		}
		lacks = append(lacks, event)
		if newest == "" || agent.CompareVersions(c.Since[event], newest) > 0 {
			newest = c.Since[event]
		}
	}
	if lacks == nil {
		return ""
	}
	return fmt.Sprintf("%s %s does not have %s, so gt does without; %s has", name, c.Version, strings.Join(lacks, ", "), newest)
}

// Unfit returns what the client's version makes of a file with hooks of gt for a newer one,
// or "".
func (c Client) Unfit(name string, s Source) string {
	if c.Unable() != "" {
		return name + " " + c.Unable()
	}
	for _, h := range s.OwnHandlers() {
		if !c.Takes(h.Event) {
			return fmt.Sprintf("%s %s does not know %s and skips all of '%s'", name, c.Version, h.Event, s.File)
		}
	}
	return ""
}
