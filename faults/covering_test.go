//go:build linux

package faults

import (
	"regexp"
	"strings"
	"sync"
)

// A sample of the points is chosen by what the commands do, and not by chance: the
// eight commands of gt-mail write a note by the same calls, and six clients' wirings
// are written by the same code. Two calls are of one shape where the same program
// makes the same call on the same kind of file, and in a sweep that kills, after the
// same other change: then what is left on disk is the same, too. Each shape is tried
// in the scenario that comes to it first, and the scenarios that are marked whole are
// swept whatever others did, for they have most to lose. So a call in a new place, or
// in another order than before, is a new shape and is tried.
var shapes struct {
	sync.Mutex
	first map[string]string // the scenario that tries it
}

// tries reports whether this scenario is the one in which a shape is tried.
func (p *plan) tries(shape string) bool {
	if *full || p.whole {
		return true
	}
	shapes.Lock()
	defer shapes.Unlock()
	if shapes.first == nil {
		shapes.first = map[string]string{}
	}
	if _, ok := shapes.first[shape]; !ok {
		shapes.first[shape] = p.name
	}
	return shapes.first[shape] == p.name
}

// named is what differs in a path from world to world.
var named = regexp.MustCompile(`\b[0-9a-f]{32,64}\b|\bs-[a-z]+\b|-[0-9a-f]{16}\b`)

// shape is what a call is, of whichever world.
func (p *plan) shape(c call) string {
	kind := func(path string) string {
		return named.ReplaceAllString(strings.TrimPrefix(path, plain(p.w.root)), "X")
	}
	return p.args[0] + " " + c.name + " " + kind(c.at.path) + " " + kind(c.at.to)
}
