// Package chain arranges the sessions on one task: which followed which, what was handed
// over, and their forks and subagents.
package chain

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"gt/lib/catalog"
	"gt/lib/state/session"
)

// Node is a session in its chain.
type Node struct {
	*catalog.Session
	Link     Link    // the link to the session above
	Next     *Node   // the successor in the main line
	Branches []*Node // forks, subagents, further successors
}

// Link is how a session is linked to the one above it.
type Link string

const (
	FirstOfChain Link = ""         // to none
	Follows      Link = "follows"  // it is a successor
	Fork         Link = "fork"     // it began with a copy of the other's conversation
	Subagent     Link = "subagent" // it worked for the other
)

// Chain is a set of linked sessions.
type Chain struct {
	ID    session.ID // id of the first session
	Roots []*Node    // one, unless sessions in between are unknown
}

// Find returns the chains that word names: a session's id, the id of a chain whose first
// session is unknown, a work unit, or a prefix of an id. Exact matches come first. If a
// prefix matches sessions of several chains, Find returns these as candidates instead.
func Find(all []*catalog.Session, word string) (found []Chain, candidates []*catalog.Session) {
	if word == "" {
		return nil, nil
	}
	selected := func(ok func(*catalog.Session) bool) (found []*catalog.Session) {
		for _, s := range all {
			if ok(s) {
				found = append(found, s)
			}
		}
		return found
	}
	for _, named := range []func(*catalog.Session) bool{
		func(s *catalog.Session) bool { return string(s.ID) == word },
		func(s *catalog.Session) bool { return string(s.ChainID) == word },
		func(s *catalog.Session) bool { return s.WorkUnit == word },
	} {
		if exact := selected(named); exact != nil {
			return buildChains(all, exact), nil
		}
	}
	begins := selected(func(s *catalog.Session) bool { return strings.HasPrefix(string(s.ID), word) })
	if begins == nil {
		begins = selected(func(s *catalog.Session) bool { return strings.HasPrefix(string(s.ChainID), word) })
	}
	if found = buildChains(all, begins); len(found) > 1 {
		return nil, begins
	}
	return found, nil
}

// buildChains returns the chains of the wanted sessions, each once, by their start.
func buildChains(all, wanted []*catalog.Session) []Chain {
	together := groupSessions(all)
	var found []Chain
	done := map[int]bool{}
	for _, s := range wanted {
		g := together.of[s.ID]
		if done[g] {
			continue
		}
		done[g] = true
		found = append(found, buildChain(together.members[g]))
	}
	sort.SliceStable(found, func(i, j int) bool {
		return byStart(found[i].Roots[0].Session, found[j].Roots[0].Session) < 0
	})
	return found
}

type grouping struct {
	of      map[session.ID]int
	members map[int][]*catalog.Session
}

// groupSessions returns the sets of sessions that are joined by a link of any kind or the id of a chain.
func groupSessions(all []*catalog.Session) grouping {
	index := make(map[session.ID]int, len(all)) // of sessions, and of chain ids without a session
	var up []int
	node := func(id session.ID) int {
		i, ok := index[id]
		if !ok {
			i = len(up)
			index[id], up = i, append(up, i)
		}
		return i
	}
	for _, s := range all {
		own := node(s.ID)
		for _, id := range []session.ID{s.ChainID, s.ParentID, s.ForkOf, s.SubagentOf} {
			if id != "" {
				above := node(id) // which appends to up
				up[FindRoot(up, own)] = FindRoot(up, above)
			}
		}
	}
	g := grouping{make(map[session.ID]int, len(all)), map[int][]*catalog.Session{}}
	for _, s := range all {
		t := FindRoot(up, index[s.ID])
		g.of[s.ID] = t
		g.members[t] = append(g.members[t], s)
	}
	return g
}

// FindRoot returns the root of a node in a forest of which up has each node's parent, and a root
// itself (union-find). It shortens the path.
func FindRoot(up []int, node int) int {
	for up[node] != node {
		up[node] = up[up[node]]
		node = up[node]
	}
	return node
}

// FindParent returns the session that s is linked to, and how. A subagent or fork does not
// follow anybody.
func FindParent(s *catalog.Session) (session.ID, Link) {
	switch {
	case s.SubagentOf != "" && s.SubagentOf != s.ID:
		return s.SubagentOf, Subagent
	case s.ForkOf != "" && s.ForkOf != s.ID:
		return s.ForkOf, Fork
	case s.ParentID != "" && s.ParentID != s.ID:
		return s.ParentID, Follows
	}
	return "", FirstOfChain
}

func byStart(a, b *catalog.Session) int {
	return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
}

// buildChain links the sessions of a chain. A root has no known session above it, or cuts a circle.
func buildChain(members []*catalog.Session) Chain {
	members = slices.Clone(members)
	slices.SortFunc(members, byStart)
	nodes := make(map[session.ID]*Node, len(members))
	for _, s := range members {
		nodes[s.ID] = &Node{Session: s}
	}
	var c Chain
	cut := circleStarts(members, nodes)
	for _, s := range members {
		n := nodes[s.ID]
		id, link := FindParent(s)
		above := nodes[id]
		if above == nil || cut[s.ID] {
			c.Roots = append(c.Roots, n)
			continue
		}
		n.Link = link
		switch {
		case link == Follows && above.Next == nil:
			above.Next = n
		case link == Follows && above.ChildID == n.ID: // the session itself names its successor
			above.Branches, above.Next = append(above.Branches, above.Next), n
		default:
			above.Branches = append(above.Branches, n)
		}
	}
	c.ID = c.Roots[0].Chain()
	return c
}

// circleStarts returns the first session of each circle of links, where the circle is cut.
func circleStarts(members []*catalog.Session, nodes map[session.ID]*Node) map[session.ID]bool {
	first := map[session.ID]bool{}
	met := make(map[session.ID]int, len(members)) // the walk, from 1, that reached it
	for walk, s := range members {
		for n := nodes[s.ID]; n != nil; {
			if w, seen := met[n.ID]; seen {
				if w == walk+1 { // this walk came back to where it was
					first[earliestInCircle(n, nodes)] = true
				}
				break
			}
			met[n.ID] = walk + 1
			id, _ := FindParent(n.Session)
			n = nodes[id]
		}
	}
	return first
}

// earliestInCircle returns the earliest session of n's circle.
func earliestInCircle(n *Node, nodes map[session.ID]*Node) session.ID {
	first := n.Session
	for m := n; ; {
		id, _ := FindParent(m.Session)
		m = nodes[id]
		if m == n {
			return first.ID
		}
		if byStart(m.Session, first) < 0 {
			first = m.Session
		}
	}
}

// Walk calls each for every session, parents before children and Branches before Next.
func (c Chain) Walk(each func(*Node)) {
	// a loop, because a line of ten thousand would make a deep stack
	var line func(n *Node)
	line = func(n *Node) {
		for ; n != nil; n = n.Next {
			each(n)
			for _, side := range n.Branches {
				line(side)
			}
		}
	}
	for _, n := range c.Roots {
		line(n)
	}
}

// Sessions returns the sessions of the chain, sorted by start.
func (c Chain) Sessions() []*catalog.Session {
	var all []*catalog.Session
	c.Walk(func(n *Node) { all = append(all, n.Session) })
	slices.SortStableFunc(all, func(a, b *catalog.Session) int { return a.StartedAt.Compare(b.StartedAt) })
	return all
}

// DescribeLink returns in words how this session is linked to the one above: the kind of link, or
// for a successor how the one above ended and what it handed over.
func (n *Node) DescribeLink(above *catalog.Session) string {
	if n.Link != Follows {
		return string(n.Link)
	}
	how, what := "followed", ""
	switch {
	case above.Outcome == session.Crash:
		how, what = "crashed", catalog.FormatReason(above.Reason)
	case above.Outcome == session.Killed:
		how, what = "killed", catalog.FormatReason(above.Reason)
	case above.Outcome == session.Handoff:
		how, what = "handed over", above.Subject
	case n.Source == "clear": // above.Subject may be that of a note for a compaction
		how = "cleared"
	case above.Outcome == session.Done:
		how, what = "ended", catalog.FormatReason(above.Reason)
	case above.Subject != "":
		how, what = "handed over", above.Subject
	}
	if what != "" {
		how += ": " + what
	}
	if above.Note != "" {
		how += " (note " + above.Note + ")"
	}
	return how
}
