package seancecmd

import (
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/place/town"
	"gt/lib/text/term"
)

// completers are what a shell is offered for the value of a flag or an argument,
// by its name.
func completers() map[string]cli.Completer {
	return map[string]cli.Completer{
		"id":         sessionIDs,
		"id-or-work": sessionIDs,
		"chain":      sessionIDs,

		"agent": valuesOf(func(s *catalog.Session) []string { return []string{s.Agent, s.Actor} }),
		"role":  valuesOf(func(s *catalog.Session) []string { return []string{s.Role} }),
		"rig":   valuesOf(func(s *catalog.Session) []string { return []string{s.Rig} }),
		"work":  valuesOf(func(s *catalog.Session) []string { return []string{s.WorkUnit} }),
		"host":  valuesOf(func(s *catalog.Session) []string { return []string{s.Host} }),
	}
}

const (
	maxOffered = 50   // sessions, where nothing says which
	maxLooked  = 1000 // sessions that are looked at for what was seen
)

// sessionIDs offers sessions, the newest first, with what tells them apart.
func sessionIDs(env *cli.Env, begin string) []cli.Candidate {
	all, err := open(env)
	if err != nil {
		return nil
	}
	var offered []cli.Candidate
	offer := func(s *catalog.Session) {
		s.Clean(env.Redact)
		about := strings.Join([]string{term.Day(s.StartedAt, env.Now()), s.Agent, actorOf(s), s.About()}, " · ")
		offered = append(offered, cli.Candidate{Word: string(s.ID), About: about})
	}
	if begin == "" {
		for _, s := range all.Select(catalog.Filter{State: town.Personal(env.Getenv).State}, maxOffered) {
			offer(s)
		}
		return offered
	}
	for _, s := range all.Find(begin) {
		offer(s)
	}
	return offered
}

// valuesOf offers what stands in a field of the latest sessions, what was seen last
// first.
func valuesOf(field func(*catalog.Session) []string) cli.Completer {
	return func(env *cli.Env, begin string) []cli.Candidate {
		all, err := open(env)
		if err != nil {
			return nil
		}
		var offered []cli.Candidate
		there := map[string]bool{"": true}
		for _, s := range all.Select(catalog.Filter{State: town.Personal(env.Getenv).State}, maxLooked) {
			s.Clean(env.Redact)
			for _, word := range field(s) {
				if !there[word] {
					there[word] = true
					offered = append(offered, cli.Candidate{Word: word})
				}
			}
		}
		return offered
	}
}
