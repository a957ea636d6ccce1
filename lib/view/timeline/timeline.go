// Package timeline draws which sessions ran when: a lane for each agent, a bar for each
// session, threads between the sessions of a chain, and outcomes as colour and shape. It
// draws a page, an SVG image or text.
//
// Equal sessions give equal bytes: the only clock is Options.Now. The sessions' texts are
// redacted already; control characters and markup are escaped here.
package timeline

import (
	"cmp"
	"iter"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
	"unique"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/text/term"
	"gt/lib/view/chain"
	"gt/lib/view/palette"
)

// LaneKind is what a lane stands for.
type LaneKind string

const (
	Actor   LaneKind = "actor"
	Folder  LaneKind = "folder"
	Agent   LaneKind = "agent"
	Session LaneKind = "session"
)

// Options are the settings of a picture.
type Options struct {
	By    LaneKind
	Few   int                           // without By, up to so many sessions have a lane each
	Now   time.Time                     // the end of a session that still runs; its zone is the axis's
	Since time.Time                     // the beginning of the axis, if sessions began before
	Short func(session.ID) string       // shortens an id
	About func(*catalog.Session) string // what a session was about
}

// bar is a session. It keeps only what is drawn, for there may be very many.
type bar struct {
	id, chainID, linkedID session.ID // linkedID is the session that it is linked to
	short, about, work    string
	facts                 unique.Handle[sharedFacts]
	from, to              time.Time     // as far as they are in the picture
	fullSpan              *[2]time.Time // from and to, if it began before the picture
	isOpen                bool          // how long it lasted is not known
	style                 *palette.OutcomeStyle
	lane                  int
	row                   int // within the lane
	chain                 int // number of its chain, 0 if it is alone
	above                 int // index of the bar it is linked to, or -1
	link                  chain.Link
}

// sharedFacts has what many sessions have in common, so that it is in memory once.
type sharedFacts struct {
	actor, folder, agent, branch string // actor is the folder's name if there is none
	headless, foreign            bool
	outcome                      string // with the reason
}

type lane struct {
	name string
	bars []int // indices, sorted by start
	rows int
	last time.Time
}

// Picture is a timeline with its layout.
type Picture struct {
	Options
	bars   []*bar
	lanes  []lane
	scale  scale
	chains int
	first  time.Time // earliest start
	last   time.Time // latest end
}

// Layout arranges sessions in lanes on an axis. It leaves out those without a start, and cuts off
// what was before o.Since.
func Layout(sessions iter.Seq[*catalog.Session], o Options) *Picture {
	p := &Picture{Options: o}
	for s := range sessions {
		if s.StartedAt.IsZero() {
			continue
		}
		b := &bar{
			id: s.ID, chainID: s.ChainID, short: o.Short(s.ID), about: o.About(s), work: s.WorkUnit,
			from: s.StartedAt, to: chain.EndOf(s, o.Now), style: palette.FindStyle(s.Outcome), above: -1,
		}
		facts := sharedFacts{s.Address(), folderOf(s), s.Agent, s.Branch, s.Headless, s.IsForeign(), string(s.Outcome)}
		if why := catalog.FormatReason(s.Reason); why != "" {
			facts.outcome += ": " + why
		}
		b.facts = unique.Make(facts)
		if b.chainID == b.id {
			b.chainID = b.id // in memory once
		}
		b.linkedID, b.link = chain.FindParent(s)
		b.isOpen = s.EndedAt.IsZero() && b.to.Equal(b.from)
		if b.from.Before(o.Since) {
			b.fullSpan = &[2]time.Time{b.from, b.to}
			b.from = o.Since
			if b.to.Before(o.Since) {
				b.to = o.Since
			}
		}
		p.bars = append(p.bars, b)
	}
	p.Short, p.About = nil, nil // they have much in memory
	slices.SortFunc(p.bars, func(a, b *bar) int {
		began, other := a.timeSpan()[0], b.timeSpan()[0]
		return cmp.Or(a.from.Compare(b.from), began.Compare(other), cmp.Compare(a.id, b.id))
	})
	for _, b := range p.bars {
		p.first = p.bars[0].from
		if b.to.After(p.last) {
			p.last = b.to
		}
	}
	if p.By == "" && len(p.bars) <= o.Few {
		p.By = Session
	}
	p.linkBars()
	p.scale = newScale(p.bars, o.Now.Location())
	p.fillLanes()
	return p
}

func (b *bar) timeSpan() [2]time.Time {
	if b.fullSpan != nil {
		return *b.fullSpan
	}
	return [2]time.Time{b.from, b.to}
}

// Len returns how many sessions are in the picture.
func (p *Picture) Len() int { return len(p.bars) }

// linkBars links each bar to that of its predecessor or, if that is not in the picture, to the bar
// before it in its chain. It also numbers the chains of several bars (bar.chain).
func (p *Picture) linkBars() {
	at := make(map[session.ID]int, len(p.bars))
	for i, b := range p.bars {
		at[b.id] = i
	}
	latest := map[session.ID]int{} // last bar of each chain
	for i := range p.bars {
		b := p.bars[i]
		link := b.link
		before, there := at[b.linkedID]
		if !there && b.chainID != "" && link != chain.Subagent && link != chain.Fork {
			before, there = latest[b.chainID]
			link = chain.Follows
		}
		if b.link = ""; there && before != i {
			b.above, b.link = before, link
		}
		if b.chainID != "" && link != chain.Subagent {
			latest[b.chainID] = i
		}
	}
	// Number the chains by union-find, because links in a damaged log can form a circle.
	number := make([]int, len(p.bars))
	up := cli.Numbers(len(p.bars))
	for i, b := range p.bars {
		if b.above >= 0 {
			one, other := chain.FindRoot(up, i), chain.FindRoot(up, b.above)
			up[max(one, other)] = min(one, other)
		}
	}
	for i, b := range p.bars {
		if t := chain.FindRoot(up, i); b.above >= 0 && number[t] == 0 {
			p.chains++
			number[t] = p.chains
		}
	}
	for i, b := range p.bars {
		b.chain = number[chain.FindRoot(up, i)]
	}
}

// laneName returns the name of a bar's lane. p.By says what has a lane.
func (p *Picture) laneName(b *bar) string {
	name, facts := "", b.facts.Value()
	switch p.By {
	case Folder:
		if name = facts.folder; name != "" {
			name = filepath.Clean(name)
		}
	case Agent:
		name = facts.agent
	case Session:
		return b.short
	default:
		name = facts.actor
	}
	return cmp.Or(term.Clean(name), "(not known)")
}

const (
	// maxRows limits the height of a lane. Further bars overlap.
	maxRows = 8
	// minBarShare is the minimal share of the axis for a bar, so that its mark is visible.
	minBarShare = 0.009
)

// fillLanes puts the bars into lanes, the most recently active lane on top, and overlapping bars into rows.
func (p *Picture) fillLanes() {
	at := map[string]int{}
	for i := range p.bars {
		name := p.laneName(p.bars[i])
		n, ok := at[name]
		if !ok {
			n = len(p.lanes)
			at[name] = n
			p.lanes = append(p.lanes, lane{name: name})
		}
		l := &p.lanes[n]
		l.bars = append(l.bars, i)
		if p.bars[i].to.After(l.last) {
			l.last = p.bars[i].to
		}
	}
	if p.By == Session { // sort by start, with the sessions of a chain together
		first := map[int]int{}
		for i, b := range p.bars {
			if _, ok := first[b.chain]; !ok && b.chain > 0 {
				first[b.chain] = i
			}
		}
		key := func(l lane) int {
			if c := p.bars[l.bars[0]].chain; c > 0 {
				return first[c]
			}
			return l.bars[0]
		}
		sort.SliceStable(p.lanes, func(i, j int) bool {
			a, b := p.lanes[i], p.lanes[j]
			return cmp.Or(key(a)-key(b), a.bars[0]-b.bars[0]) < 0
		})
	} else {
		sort.SliceStable(p.lanes, func(i, j int) bool {
			a, b := p.lanes[i], p.lanes[j]
			return cmp.Or(b.last.Compare(a.last), strings.Compare(a.name, b.name)) < 0
		})
	}
	for n := range p.lanes {
		l := &p.lanes[n]
		var ends []float64 // the end of each row
		for _, i := range l.bars {
			b := p.bars[i]
			from := p.scale.position(b.from)
			row := slices.IndexFunc(ends, func(end float64) bool { return end <= from })
			switch {
			case row >= 0:
			case len(ends) < maxRows:
				row, ends = len(ends), append(ends, 0)
			default:
				row = slices.Index(ends, slices.Min(ends))
			}
			ends[row] = max(ends[row], p.scale.position(b.to), from+minBarShare)
			b.lane, b.row = n, row
		}
		l.rows = len(ends)
	}
}

// formatSpan returns when a session ran, for people.
func (p *Picture) formatSpan(b *bar) string {
	zone := p.Now.Location()
	when := b.timeSpan()
	from, to := when[0].In(zone), when[1].In(zone)
	day := "Mon 2 Jan 15:04"
	if from.Year() != p.Now.Year() {
		day = "Mon 2 Jan 2006 15:04"
	}
	text, until := from.Format(day), " to "+to.Format(day)
	switch {
	case b.style.Outcome == catalog.Active:
		until = " until now"
	case b.isOpen:
		return text // its end is not known
	case from.YearDay() == to.YearDay() && from.Year() == to.Year():
		until = " to " + to.Format("15:04")
	case from.Year() != to.Year():
		until = " to " + to.Format("Mon 2 Jan 2006 15:04")
	}
	lasted := chain.FormatLength(to.Sub(from))
	if b.isOpen {
		lasted = ""
	}
	return text + until + ", " + lasted
}

// describeBar returns all that the picture shows of a session, one item a line. The last line is
// the command that resumes it.
func (p *Picture) describeBar(b *bar) (lines []string) {
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
	}
	facts := b.facts.Value()
	agent, link, resume := facts.agent, string(b.link), "gt-seance resume "+b.short
	if facts.headless {
		agent = strings.TrimSpace(agent + " headless")
	}
	if b.link == chain.Follows {
		link = ""
	}
	if facts.foreign {
		resume = ""
	}
	lines = []string{cmp.Or(cleanLine(b.about), "(no title)")}
	for _, l := range []string{
		join(string(b.id), agent, facts.actor, link), join(p.formatSpan(b), facts.outcome), join(b.work, facts.branch), resume,
	} {
		if l = cleanLine(l); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// folderOf returns a session's folder, with the host if it is on another one.
func folderOf(s *catalog.Session) string {
	if s.IsForeign() {
		return s.OtherHost() + ":" + s.CWD
	}
	return s.CWD
}

func cleanLine(line string) string { return term.Cut(term.Clean(line), 300) }
