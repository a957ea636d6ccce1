//go:build linux

package faults

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A size says how many of the points are tried.
//
// A sample is chosen by what the commands do: the eight commands of gt-mail write a note
// by the same calls, and the same code writes the wirings of six clients. Two calls are
// of one shape where the same program makes the same call on the same file of a world;
// in a sweep that kills, after the same other change, for then what is left on disk is
// the same, too. The first scenario that comes to a shape tries it. A call in a new
// place, or in another order than before, is a new shape.
//
//   - ci tries each shape, and the scenarios that are marked whole, which have most to
//     lose, whatever others tried. Of calls that change nothing it takes one in six,
//     and of the errors of a call one.
//   - quick does not tell programs and folders apart, so a call on a file of the same
//     name is tried once. Of calls that change nothing it takes one in twelve.
//   - full tries every call, each error of it, and the next command after each.
//
// Where a sample takes one of several, it takes another one each turn.
type size int

const (
	quick size = iota
	ci
	full
)

var sizes = []string{"quick", "ci", "full"}

func (s size) MarshalText() ([]byte, error) { return []byte(sizes[s]), nil }

func (s *size) UnmarshalText(text []byte) error {
	i := slices.Index(sizes, string(text))
	if i < 0 {
		return fmt.Errorf("it is one of %s", strings.Join(sizes, ", "))
	}
	*s = size(i)
	return nil
}

// nth reports whether the i-th point is tried of those of which a sample takes one of so
// many.
func nth(i, ofCI, ofQuick int) bool {
	switch sample {
	case full:
		return true
	case ci:
		return (i+*turn)%ofCI == 0
	}
	return (i+*turn)%ofQuick == 0
}

// one takes one of the errors with which the i-th call can fail.
func one(errs []string, i int) []string {
	i += *turn
	return errs[(i+i/12)%len(errs):][:1] // a call that is met each twelfth turn fails in all ways, too
}

// shapes are those that were met.
var shapes struct {
	sync.Mutex
	first map[string]string // the scenario that tries it
}

// tries reports whether this scenario is the one in which a shape is tried.
func (p *plan) tries(shape string) bool {
	if sample == full || sample == ci && p.whole {
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
		return named.ReplaceAllString(strings.TrimPrefix(path, plain(p.w.Root)), "X")
	}
	if sample > quick {
		return p.args[0] + " " + c.name + " " + kind(c.at.path) + " " + kind(c.at.to)
	}
	last := func(p string) string { return path.Join(path.Base(path.Dir(kind(p))), path.Base(kind(p))) }
	return c.name + " " + last(c.at.path) + " " + last(c.at.to)
}
