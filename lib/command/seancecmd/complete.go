package seancecmd

import (
	"slices"
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/text/term"
)

// completers returns what completes values, by the name of the argument or flag.
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
	maxOffered = 50   // sessions offered for an empty word
	maxLooked  = 1000 // sessions read for the values of a field
)

// sessionIDs offers the ids that begin with begin: for "" the newest ones, without subagents.
func sessionIDs(env *cli.Env, begin string) []cli.Candidate {
	all, err := readCatalog(env, false, nil)
	if err != nil {
		return nil
	}
	sessions := slices.Values(all.Find(begin))
	if begin == "" {
		sessions = all.Sessions()
	}
	var offered []cli.Candidate
	for s := range sessions {
		switch {
		case begin == "" && len(offered) == maxOffered:
			return offered
		case begin == "" && s.SubagentOf != "":
			continue
		}
		s.Clean(env.Redact)
		about := strings.Join([]string{term.FormatDay(s.StartedAt, env.Now()), s.Agent, s.Address(), s.Headline()}, " · ")
		offered = append(offered, cli.Candidate{Word: string(s.ID), About: about})
	}
	return offered
}

// valuesOf returns a Completer that offers the values of a field in the first maxLooked sessions,
// whatever was typed: package cli leaves out those that do not begin with it.
func valuesOf(field func(*catalog.Session) []string) cli.Completer {
	return func(env *cli.Env, begin string) []cli.Candidate {
		all, err := readCatalog(env, false, nil)
		if err != nil {
			return nil
		}
		var offered []cli.Candidate
		there := map[string]bool{"": true}
		looked := 0
		for s := range all.Sessions() {
			if looked++; looked > maxLooked {
				break
			}
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
