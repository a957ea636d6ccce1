//go:build linux

package faults

import (
	"path"
	"regexp"
	"strings"
	"sync"
)

// What is tried is a sample, unless GT_THOROUGH=1 has every call tried, each error of it,
// and the next command after each.
//
// The sample is chosen by what the commands do: the eight commands of gt-mail write a note
// by the same calls, and the same code writes the wirings of six clients. Two calls have
// one shape if they are the same call on a file of the same name; in a sweep that kills,
// also after the same other change, because then what is left on disk is the same, too.
// The first scenario that comes to a shape tries it. Of calls that change nothing the
// sample takes one in twelve, and one of the errors of a call: other ones each turn.
//
// With -short, a sweep has one scenario for each program: the first that is marked short,
// or else the first.

// oneScenarioEach returns one scenario for each program.
func oneScenarioEach(all []scenario) (chosen []scenario) {
	index := map[string]int{}
	for _, s := range all {
		i, found := index[s.args[0]]
		switch {
		case !found:
			index[s.args[0]] = len(chosen)
			chosen = append(chosen, s)
		case s.short && !chosen[i].short:
			chosen[i] = s
		}
	}
	return chosen
}

// nth reports whether the i-th point is tried, if the sample has one of so many.
func nth(i, of int) bool { return full || (i+turn)%of == 0 }

// pickErr takes one of the errors with which the i-th call can fail.
func pickErr(errs []string, i int) []string {
	i += turn
	return errs[(i+i/12)%len(errs):][:1] // a call that is met each twelfth turn fails in all ways, too
}

// shapes are those that were met.
var shapes struct {
	sync.Mutex
	first map[string]string // the scenario that tries it
}

// tries reports whether this scenario is the one in which a shape is tried.
func (p *plan) tries(shape string) bool {
	if full {
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
	last := func(p string) string { return path.Join(path.Base(path.Dir(kind(p))), path.Base(kind(p))) }
	return c.name + " " + last(c.at.path) + " " + last(c.at.to)
}
