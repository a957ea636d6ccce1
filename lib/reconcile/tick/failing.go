package tick

import (
	"time"

	"gt/lib/state/lifecycle"
)

// failing updates which templates have sessions that do not stay alive, and notes it once,
// when the first is quarantined or given up. After a session is given up, the pool rests
// before it makes another, twice as long each time.
func (d *decision) failing() {
	for i := range d.Templates {
		t := &d.Templates[i]
		f, was := d.Before.Failing[t.Name]
		if last := d.Now.Add(t.pauseAfter(f.Times)); f.Until.After(last) || f.Since.After(d.Now) { // the clock was set back
			f.Since, f.Until = d.Now, earlier(f.Until, last)
		}
		is := was && d.stillFails(t, f)
		if !is {
			f, was = Failing{}, false
		}
		for _, a := range d.plan.Actions {
			if a.Session.Template != t.Name || a.Change != lifecycle.Quarantine && !d.gaveUp[a.Before.ID] {
				continue
			}
			if d.gaveUp[a.Before.ID] && !d.Now.Before(f.Until) {
				f.Times++
				f.Until = d.Now.Add(t.pauseAfter(f.Times))
			}
			if !is {
				is, f.Since = true, d.Now
			}
			if a.Session.CrashReason != "" {
				f.Reason = a.Session.CrashReason
			}
			if !was {
				was = true
				d.plan.Notes = append(d.plan.Notes, Note{Template: t.Name, Session: a.Session.ID, Event: EventFailing, Text: a.Why})
			}
		}
		if is {
			d.plan.After.Failing[t.Name] = f
		}
	}
}

// pauseAfter returns how long a pool rests after times sessions were given up.
func (t *Template) pauseAfter(times int) time.Duration {
	return doubled(t.QuarantineCap, times-1, max(t.QuarantineCap, longestRest))
}

// stillFails reports whether a failing template still fails: no session that was made since
// is healthy, and one has crashed or was given up recently.
func (d *decision) stillFails(t *Template, f Failing) bool {
	is := !f.Until.IsZero() && d.Now.Before(f.Until.Add(longestRest))
	for i := range d.Sessions {
		s := &d.Sessions[i]
		if s.Template != t.Name || !s.State.Occupies() {
			continue
		}
		if s.State == lifecycle.Active && s.Alive == Yes && !s.CreatedAt.Before(f.Since) && d.Now.Sub(later(s.ActiveAt, s.LastCrashAt)) >= t.QuarantineHealthy {
			return false
		}
		is = is || s.CrashCount > 0 || s.QuarantineCycle > 0 || s.State == lifecycle.Quarantined
	}
	return is
}
