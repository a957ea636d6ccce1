package session

import (
	"testing"
	"time"

	"gt/lib/sys/process"
)

// Whom a new session follows is decided from what is known of the others alone.
// Each row adds other sessions, the newest first, to the home of the session "new",
// which runs in process 7 and pane %1.
func TestFindPredecessor(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	mine := process.Proc{PID: 7, Start: "700", Boot: "boot", NS: "1"}
	const day = 24 * time.Hour

	is := func(id ID, l Liveness, change ...func(*Record)) Candidate {
		r := &Record{ID: id}
		for _, c := range change {
			c(r)
		}
		return Candidate{r, l}
	}
	here := func(r *Record) { r.TmuxPane, r.TmuxServer = "%1", "/sock" }
	onServer := func(path string) func(*Record) { return func(r *Record) { r.TmuxServer = path } }
	onHost := func(name string) func(*Record) { return func(r *Record) { r.Host = name } }
	sameProcess := func(r *Record) { r.SetProcess(mine) }
	sameNumber := func(r *Record) { r.SetProcess(mine); r.PIDStart = "1" }
	ended := func(o Outcome, reason string, at time.Time) func(*Record) {
		return func(r *Record) { r.Outcome, r.Reason, r.EndedAt = o, reason, at }
	}
	headless := func(p *StartParams) { p.Headless = true }
	alone := func(r *Record) { r.Headless = true }
	followed := func(by ID) func(*Record) { return func(r *Record) { r.ChildID = by } }

	for name, c := range map[string]struct {
		home   []Candidate
		change func(*StartParams)
		want   ID
		how    Outcome
	}{
		"an empty home":        {},
		"its own record":       {home: []Candidate{is("new", Dead, sameProcess)}},
		"one that runs":        {home: []Candidate{is("a", Running, here)}},
		"one that may run":     {home: []Candidate{is("a", Unclear, here)}},
		"one that ended well":  {home: []Candidate{is("a", Ended, here, ended(Done, "", ago(time.Second)))}},
		"one that handed over": {home: []Candidate{is("a", Ended, here, ended(Handoff, "", ago(time.Second)))}},

		"the hand-over that it takes up": {
			home: []Candidate{is("b", Dead, here), is("c", Running, sameProcess), is("a", Running)}, change: func(p *StartParams) { p.Predecessor = "a" }, want: "a", how: Handoff},

		"a headless run beside what broke off": {home: []Candidate{is("a", Dead, here)}, change: headless},
		"a headless run and a hand-over":       {home: []Candidate{is("a", Ended)}, change: headless},
		"/clear in a headless run":             {home: []Candidate{is("a", Running, sameProcess)}, change: headless, want: "a", how: Done},
		"a headless run that broke off later":  {home: []Candidate{is("b", Dead, alone), is("a", Dead)}, want: "a", how: Crash},
		"a headless run that broke off":        {home: []Candidate{is("a", Dead, alone)}, want: "a", how: Crash},

		"/clear in its process":                     {home: []Candidate{is("a", Running, sameProcess)}, want: "a", how: Done},
		"/clear before what broke off":              {home: []Candidate{is("b", Dead, here), is("a", Running, sameProcess)}, want: "a", how: Done},
		"the newer of two in its process":           {home: []Candidate{is("a", Running, sameProcess), is("b", Running, sameProcess)}, want: "a", how: Done},
		"the same number, another process":          {home: []Candidate{is("a", Running, sameNumber)}},
		"no process is known of either":             {home: []Candidate{is("a", Unclear)}, change: func(p *StartParams) { p.Process = process.Proc{} }},
		"/clear a moment ago, followed":             {home: []Candidate{is("a", Ended, sameProcess, ended(Done, "clear", ago(time.Second)), followed("b"))}, want: "a", how: Done},
		"/clear a while ago, followed":              {home: []Candidate{is("a", Ended, sameProcess, ended(Done, "clear", ago(time.Hour)), followed("b"))}},
		"/clear a while ago, not followed":          {home: []Candidate{is("a", Ended, sameProcess, ended(Done, "clear", ago(time.Hour)))}, want: "a", how: Done},
		"left by the person, in its process":        {home: []Candidate{is("a", Ended, sameProcess, ended(Done, "user_exit", ago(time.Hour)))}, want: "a", how: Done},
		"left by the person, in another process":    {home: []Candidate{is("a", Ended, ended(Done, "user_exit", ago(time.Hour)))}},
		"killed with that reason, in its process":   {home: []Candidate{is("a", Ended, sameProcess, ended(Killed, "user_exit", ago(2*day)))}},
		"another end in its process":                {home: []Candidate{is("a", Ended, sameProcess, ended(Done, "logout", ago(time.Second)))}},
		"adopted: its process ran another":          {home: []Candidate{is("a", Running, sameProcess)}, change: func(p *StartParams) { p.Adopted = true }, want: "a", how: Done},
		"adopted: one that crashed":                 {home: []Candidate{is("a", Dead, here)}, change: func(p *StartParams) { p.Adopted = true }},
		"one that crashed":                          {home: []Candidate{is("a", Dead)}, want: "a", how: Crash},
		"the newer of two that crashed":             {home: []Candidate{is("a", Dead), is("b", Dead)}, want: "a", how: Crash},
		"the one of two in its pane":                {home: []Candidate{is("a", Dead), is("b", Dead, here)}, want: "b", how: Crash},
		"the newer of two in its pane":              {home: []Candidate{is("a", Dead), is("b", Dead, here), is("c", Dead, here)}, want: "b", how: Crash},
		"a pane of that number of another server":   {home: []Candidate{is("a", Dead), is("b", Dead, here, onServer("/other"))}, want: "a", how: Crash},
		"a pane of that number on another host":     {home: []Candidate{is("a", Dead), is("b", Dead, here, onHost("other"))}, want: "a", how: Crash},
		"no pane is known of either":                {home: []Candidate{is("a", Dead), is("b", Dead)}, change: func(p *StartParams) { p.TmuxPane = "" }, want: "a", how: Crash},
		"killed, not followed":                      {home: []Candidate{is("a", Ended, ended(Killed, "hangup", ago(time.Hour)))}, want: "a", how: Killed},
		"killed a day ago":                          {home: []Candidate{is("a", Ended, ended(Killed, "hangup", ago(day)))}},
		"killed, under a clock that is a day ahead": {home: []Candidate{is("a", Ended, ended(Killed, "hangup", now.Add(day)))}},
		"killed, followed by another":               {home: []Candidate{is("b", Running), is("a", Ended, ended(Killed, "hangup", ago(time.Hour)), followed("b"))}},
		"killed, followed by one without a record":  {home: []Candidate{is("a", Ended, ended(Killed, "hangup", ago(time.Hour)), followed("b"))}, want: "a", how: Killed},
		"killed, followed by itself":                {home: []Candidate{is("new", Running), is("a", Ended, ended(Killed, "hangup", ago(time.Hour)), followed("new"))}, want: "a", how: Killed},
		"found dead by a start that was killed":     {home: []Candidate{is("a", Ended, ended(Crash, "", ago(time.Minute)))}, want: "a", how: Crash},
		"found dead and followed":                   {home: []Candidate{is("b", Ended, ended(Done, "", ago(time.Second))), is("a", Ended, ended(Crash, "", ago(time.Minute)), followed("b"))}},
	} {
		p := StartParams{ID: "new", Process: mine, ClearReason: "user_exit", TmuxPane: "%1", TmuxServer: "/sock", Host: "host"}
		if c.change != nil {
			c.change(&p)
		}
		var id ID
		r, how := FindPredecessor(now, c.home, p)
		if r != nil {
			id = r.ID
		}
		if id != c.want || how != c.how {
			t.Errorf("%s: it follows %q (%q), want %q (%q)", name, id, how, c.want, c.how)
		}
	}
}
