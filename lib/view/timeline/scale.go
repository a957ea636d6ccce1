package timeline

import (
	"slices"
	"sort"
	"time"
)

// scale is the axis. It maps times to 0 to 1 and leaves out long gaps without a session.
type scale struct {
	zone   *time.Location
	pieces []piece // contiguous; a gap is never first or last
	worked float64 // in seconds, without gaps
}

type piece struct {
	from, to   time.Time
	start, end float64 // on the axis, 0 to 1
	gap        bool    // no session ran
}

const (
	longGap   = 0.02      // shortest gap that is left out, as a share of all time at work
	shortest  = time.Hour // and as a duration
	gapWidth  = 0.022     // width of a gap on the axis
	gapsWidth = 0.3       // limit for all gaps together
	margin    = 0.012     // share of the time in a piece, before and after it
)

func seconds(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// newScale returns an axis for bars, which are sorted by start. A stretch of time in which a
// session ran has a width in proportion to its length; a long gap in which none ran has a
// small fixed width.
func newScale(bars []*bar, zone *time.Location) scale {
	s := scale{zone: zone}
	if len(bars) == 0 {
		return s
	}
	sessions := make([]piece, len(bars))
	for i, b := range bars {
		sessions[i] = piece{from: b.from, to: b.to}
	}
	// busyTimes are those in which any session ran; joined has the short gaps between them, too.
	busyTimes, busy := joinPieces(sessions, 0)
	joined, worked := joinPieces(busyTimes, max(busy*longGap, shortest.Seconds()))
	// a margin on both sides of each piece, at least a minute
	padding := max(worked*margin, 60)
	for i := range joined {
		w := &joined[i]
		w.from, w.to = w.from.Add(-time.Duration(padding)*time.Second), w.to.Add(time.Duration(padding)*time.Second)
		s.worked += seconds(w.from, w.to)
	}
	gap := 0.0
	if n := len(joined) - 1; n > 0 {
		gap = min(gapWidth, gapsWidth/float64(n))
	}
	forWork := 1 - gap*float64(len(joined)-1) // what the gaps leave of the axis
	at := 0.0
	for i, w := range joined {
		if i > 0 {
			s.pieces = append(s.pieces, piece{from: joined[i-1].to, to: w.from, start: at, end: at + gap, gap: true})
			at += gap
		}
		w.start, w.end = at, at+forWork*seconds(w.from, w.to)/s.worked
		at = w.end
		s.pieces = append(s.pieces, w)
	}
	return s
}

// joinPieces joins pieces, sorted by start, that are at most gap seconds apart. total is how
// many seconds the joined ones have.
func joinPieces(pieces []piece, gap float64) (joined []piece, total float64) {
	for _, p := range pieces {
		if n := len(joined) - 1; n < 0 || seconds(joined[n].to, p.from) > gap {
			joined = append(joined, p)
		} else if p.to.After(joined[n].to) {
			joined[n].to = p.to
		}
	}
	for _, p := range joined {
		total += seconds(p.from, p.to)
	}
	return joined, total
}

// position returns where t is on the axis, 0 to 1. Times outside are at its ends.
func (s scale) position(t time.Time) float64 {
	i := sort.Search(len(s.pieces), func(i int) bool { return !s.pieces[i].to.Before(t) })
	if i == len(s.pieces) {
		return 1
	}
	p := s.pieces[i]
	all := seconds(p.from, p.to)
	if !t.After(p.from) || all <= 0 {
		return p.start
	}
	return p.start + (p.end-p.start)*seconds(p.from, t)/all
}

type tick struct {
	position float64 // on the axis, 0 to 1
	text     string
}

type step struct {
	minutes, days, months int
	tick, above           string // time formats for a tick, and above it where that changes
}

var steps = []step{
	{1, 0, 0, "15:04", "Mon 2 Jan"}, {2, 0, 0, "15:04", "Mon 2 Jan"}, {5, 0, 0, "15:04", "Mon 2 Jan"}, {15, 0, 0, "15:04", "Mon 2 Jan"},
	{30, 0, 0, "15:04", "Mon 2 Jan"}, {60, 0, 0, "15:04", "Mon 2 Jan"}, {120, 0, 0, "15:04", "Mon 2 Jan"}, {180, 0, 0, "15:04", "Mon 2 Jan"},
	{360, 0, 0, "15:04", "Mon 2 Jan"}, {720, 0, 0, "15:04", "Mon 2 Jan"},
	{0, 1, 0, "2", "Jan 2006"}, {0, 2, 0, "2", "Jan 2006"}, {0, 7, 0, "2", "Jan 2006"}, {0, 14, 0, "2", "Jan 2006"},
	{0, 0, 1, "Jan", "2006"}, {0, 0, 3, "Jan", "2006"}, {0, 0, 12, "2006", ""}, {0, 0, 60, "2006", ""}, {0, 0, 240, "2006", ""},
	{0, 0, 1200, "2006", ""},
}

func (s step) seconds() float64 {
	return 60*float64(s.minutes) + 86400*float64(s.days) + 2629746*float64(s.months) // a mean month
}

// firstTick returns the last tick at or before t. Ticks count from midnight, the 1st or the year 0.
func (s step) firstTick(t time.Time) time.Time {
	y, m, d := t.Date()
	switch {
	case s.minutes > 0:
		minute := t.Hour()*60 + t.Minute()
		return time.Date(y, m, d, 0, minute-minute%s.minutes, 0, 0, t.Location())
	case s.days >= 7: // Mondays
		return time.Date(y, m, d-int(t.Weekday()+6)%7, 0, 0, 0, 0, t.Location())
	case s.days > 0:
		return time.Date(y, m, d-(d-1)%s.days, 0, 0, 0, 0, t.Location())
	}
	month := y*12 + int(m) - 1
	month -= month % s.months
	return time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, t.Location())
}

// nextTick returns the first tick after t.
func (s step) nextTick(t time.Time) time.Time {
	y, m, d := t.Date()
	switch {
	case s.minutes > 0:
		// By wall clock: an hour that is skipped in spring has no tick.
		minute := t.Hour()*60 + t.Minute()
		for minute += s.minutes - minute%s.minutes; ; minute += s.minutes {
			n := time.Date(y, m, d, 0, minute, 0, 0, t.Location())
			if n.After(t) && n.Hour()*60+n.Minute() == minute%(24*60) {
				return n
			}
		}
	case s.days == 2: // odd days, which begin again on the 1st
		if n := time.Date(y, m, d+2, 0, 0, 0, 0, t.Location()); n.Day() > 2 {
			return n
		}
		return time.Date(y, m+1, 1, 0, 0, 0, 0, t.Location())
	case s.days > 0:
		return time.Date(y, m, d+s.days, 0, 0, 0, 0, t.Location())
	}
	return time.Date(y, m+time.Month(s.months), 1, 0, 0, 0, 0, t.Location())
}

const maxTicks = 20000

// ticks returns about as many marks on the axis as wanted, and above them the day, month or year
// where it changes. Marks below are at least minBelow apart, those above at least minAbove, as
// shares of the axis. Days are shown without their year if all are in year.
func (s scale) ticks(wanted int, minBelow, minAbove float64, year int) (below, above []tick) {
	if len(s.pieces) == 0 {
		return nil, nil
	}
	k := slices.IndexFunc(steps, func(st step) bool { return st.seconds() >= s.worked/float64(wanted) })
	if k < 0 {
		k = len(steps) - 1
	}
	st := steps[k]
	date := st.above
	if date == "Mon 2 Jan" && (s.pieces[0].from.In(s.zone).Year() != year || s.pieces[len(s.pieces)-1].to.In(s.zone).Year() != year) {
		date = "Mon 2 Jan 2006"
		minAbove *= 1.4 // a date with its year is longer
	}
	last, count, common := -1.0, 0, ""
	mark := func(t time.Time, at float64) {
		text := ""
		if date != "" {
			text = t.Format(date)
		}
		if text != common && (len(above) == 0 || at-above[len(above)-1].position >= minAbove) {
			common = text
			above = append(above, tick{at, text})
		}
	}
	for _, p := range s.pieces {
		if p.gap {
			continue
		}
		mark(p.from.In(s.zone), p.start)
		for t := st.firstTick(p.from.In(s.zone)); !t.After(p.to) && count < maxTicks; t = st.nextTick(t) {
			count++
			if t.Before(p.from) {
				continue
			}
			at := s.position(t)
			mark(t, at)
			if last < 0 || at-last >= minBelow {
				below = append(below, tick{at, t.Format(st.tick)})
				last = at
			}
		}
	}
	return below, above
}
