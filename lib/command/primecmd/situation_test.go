package primecmd

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/internal/golden"
	"gt/lib/conversation/summary"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/state/waiting"
	"gt/lib/sys/process"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// fact is one of the deciding facts, in words and as a change of facts.
type fact struct {
	says string
	set  func(*facts)
}

// older returns the session before. Facts about "it" mean this session; it ran in pane %2.
func older(f *facts) *session.Candidate { return f.findSession("old") }

// previousSession adds the session before, with the state of its process.
func previousSession(is string, l session.Liveness, change ...func(*session.Record)) fact {
	return fact{"it " + is, func(f *facts) {
		r := &session.Record{ID: "old", ChainID: "chain", TmuxPane: "%2", TmuxServer: "/sock", Transcript: "/t"}
		r.SetProcess(process.Proc{PID: 8, Start: "800", Boot: "boot"})
		for _, c := range change {
			c(r)
		}
		f.candidates = append(f.candidates, session.Candidate{Record: r, Liveness: l})
	}}
}

func endedWith(o session.Outcome) func(*session.Record) {
	return func(r *session.Record) { r.EndedAt, r.Outcome = noon.Add(-time.Minute), o }
}

// leaves adds a hand-over of a session. Its note is in the box, too.
func leaves(id session.ID, kind, reason string, change ...func(*handover.Handover)) func(*facts) {
	return func(f *facts) {
		c := f.findSession(id)
		note := mail.Note{ID: "n-" + string(id), Type: mail.Handoff, Session: string(id)}
		c.Handoff = &handover.Handover{Kind: kind, Note: note.ID, Reason: reason, At: noon.Add(-time.Minute)}
		for _, ch := range change {
			ch(c.Handoff)
		}
		c.Handoff.Text = &handover.Text{Session: string(id)}
		f.leftHandovers = append(f.leftHandovers, leftHandover{Handover: c.Handoff, id: id, owner: c})
		f.hooked = append(f.hooked, note)
	}
}

// Sources.
var (
	compaction  = fact{"source `compact`", func(f *facts) { f.session.Source = "compact" }}
	resuming    = fact{"source `resume`", func(f *facts) { f.session.Source = "resume" }}
	forgetful   = fact{"its client forgets what a start was told", func(f *facts) { f.forgets = true }}
	asking      = fact{"the session's agent asks again", func(f *facts) { f.session.Source, f.asksAgain = "", true }}
	idle        = fact{"its role has no tasks", func(f *facts) { f.hasTasks = false }}
	outsideTmux = fact{"this session is outside tmux", func(f *facts) { f.session.TmuxPane = "" }}
	samePane    = fact{"this is its pane", func(f *facts) { older(f).TmuxPane = "%1" }}
	noPane      = fact{"it ran outside tmux", func(f *facts) { older(f).TmuxPane = "" }}
)

// Sessions before.
var (
	runs     = previousSession("runs", session.Running)
	mayRun   = previousSession("may run", session.Unclear)
	died     = previousSession("lost its process", session.Dead)
	wasEnded = previousSession("was ended from outside", session.Ended, endedWith(session.Killed))
	foundOut = previousSession("broke off, as a start found that was killed", session.Ended, endedWith(session.Crash))
	ended    = previousSession("ended", session.Ended, endedWith(session.Done))
	gaveOver = previousSession("is over", session.Ended, endedWith(session.Handoff))
	cleared  = previousSession("ran in the same process", session.Running, func(r *session.Record) { r.SetProcess(ownProcess) })
)

var ownProcess = process.Proc{PID: 7, Start: "700", Boot: "boot", NS: "1"}

// Hand-overs.
var (
	handsOver = fact{"it left a hand-over", leaves("old", session.KindHandoff, "")}
	respawns  = fact{"it left a hand-over and gave its pane away", leaves("old", session.KindHandoff, "", func(p *handover.Handover) { p.Respawn = true })}
	longAgo   = fact{"it left a hand-over and gave its pane away, 10 minutes ago", leaves("old", session.KindHandoff, "", func(p *handover.Handover) {
		p.Respawn, p.At = true, noon.Add(-onItsWay)
	})}
	saved       = fact{"it left a hand-over before its compaction", leaves("old", session.KindAuto, marker.Compaction)}
	meSaved     = fact{"its own hand-over, reason `compaction`", meThen(leaves("me", session.KindAuto, marker.Compaction))}
	meCycled    = fact{"its own hand-over, reason `cycle`", meThen(leaves("me", session.KindCycle, "cycle"))}
	meHandsOver = fact{"its own hand-over, for a successor", meThen(leaves("me", session.KindHandoff, ""))}
	child       = fact{"this session runs below its process", func(f *facts) { f.leftHandovers[0].inside = true }}
	contained   = fact{"it runs in another PID namespace", func(f *facts) { f.leftHandovers[0].elsewhere = true }}
	paneGone    = fact{"its pane is gone", func(f *facts) { known(f).pane = paneMissing }}
	paneThere   = fact{"its pane is still there", func(f *facts) { known(f).pane = paneExists }}
	paneSilent  = fact{"tmux does not answer", func(f *facts) { known(f).pane = noAnswer }}
)

// Hand-overs that no session's record has. lib/state/waiting has the table of what a home's markers and
// notes are.
var (
	foreign           = unowned("a claim without a note", "", handover.Handover{Claim: true, Markers: gastowns, From: "gastown"})
	foreignCompaction = unowned("a claim without a note, reason `compaction`", "", handover.Handover{Claim: true, Markers: gastowns, From: "gastown", Reason: marker.Compaction})
	myCompaction      = unowned("a claim of this session's, reason `compaction`", "n-me", handover.Handover{Claim: true, Markers: gastowns, From: "gastown", Reason: marker.Compaction})
	myMarker          = unowned("a claim of this session's without a note, reason `compaction`", "", handover.Handover{Claim: true, Markers: gastowns, From: "me", Reason: marker.Compaction})
	marked            = unowned("a person's hand-over", "n-person", handover.Handover{Marker: "handoff", From: "work"})
	personsNote       = unowned("a person's note, without a marker", "n-person", handover.Handover{Claim: true})
	earlierNote       = unowned("an older note, without a marker", "n-older", handover.Handover{Claim: true})
	itsNote           = unowned("a claim of it", "n-chain", handover.Handover{Claim: true, Text: &handover.Text{Session: "old", Chain: "chain"}})
	unreadable        = fact{"its note cannot be read", func(f *facts) { f.leftHandovers[0].Text, known(f).withheld = nil, true }}
	promised          = fact{"the hand-over is being told to another that runs", func(f *facts) {
		f.leftHandovers[0].TakenBy = "other"
		f.candidates = append(f.candidates, session.Candidate{Record: &session.Record{ID: "other"}, Liveness: session.Running})
	}}
	lost    = unowned("a hand-over of this session, whose record is lost", "n-me", handover.Handover{Kind: session.KindAuto, Reason: marker.Compaction, Marker: "handoff", From: "work"})
	ownFile = fact{"its file has this session's id", func(f *facts) { f.leftHandovers[0].id, f.leftHandovers[0].unowned.ID = "me", "me" }}
)

var gastowns = []string{".runtime/handoff"}

func unowned(says, note string, o handover.Handover) fact {
	return fact{says, func(f *facts) {
		o := o
		o.Note, o.Kind = note, cmp.Or(o.Kind, session.KindHandoff)
		text := handover.Text{}
		if o.Text != nil {
			text = *o.Text
		}
		o.Text = &text
		if note != "" {
			n := mail.Note{ID: note, Type: mail.Handoff, Session: text.Session, Chain: text.Chain}
			f.hooked = append(f.hooked, n)
		}
		u := &waiting.Unowned{Handover: &o, ID: session.ID("for-" + note)}
		o.At = noon.Add(time.Duration(len(f.leftHandovers)) * time.Second)
		f.leftHandovers = append(f.leftHandovers, leftHandover{Handover: &o, id: u.ID, unowned: u})
		sort.SliceStable(f.leftHandovers, func(i, j int) bool { return f.isLikelier(f.leftHandovers[i], f.leftHandovers[j]) })
	}}
}

func meThen(then func(*facts)) func(*facts) {
	return func(f *facts) {
		f.candidates = append(f.candidates, session.Candidate{Record: &session.Record{ID: "me", Note: "n-first"}, Liveness: session.Running})
		then(f)
	}
}

func takenBy(says string, id session.ID, l session.Liveness) fact {
	return fact{"the hand-over is being told to " + says, func(f *facts) {
		older(f).Handoff.TakenBy = string(id)
		if id != "me" {
			f.candidates = append(f.candidates, session.Candidate{Record: &session.Record{ID: id}, Liveness: l})
			f.leftHandovers[0].owner = older(f) // the append above moved the records
		}
	}}
}

// What was saved.
func saves(says string, id session.ID, change ...func(*savedCheckpoint)) fact {
	return fact{"a checkpoint " + says, func(f *facts) {
		c := savedCheckpoint{&checkpoint.Checkpoint{SessionID: id, Timestamp: noon.Add(-time.Hour)}, f.findSession(id) != nil}
		for _, ch := range change {
			ch(&c)
		}
		known(f).checkpoints = append(known(f).checkpoints, c)
	}}
}

func taken(by session.ID) func(*savedCheckpoint) {
	return func(c *savedCheckpoint) { c.TakenBy = by }
}

var (
	itsCheckpoint = saves("of it", "old")
	itsTask       = fact{"its conversation has requests", func(f *facts) { known(f).ending.tail = summary.Summary{Requests: []summary.Request{{}}} }}
	given         = fact{"its record names the note that it was given", func(f *facts) {
		f.candidates = append(f.candidates, session.Candidate{Record: &session.Record{ID: "me", Note: "n-given"}, Liveness: session.Running})
		known(f).note = &mail.Note{ID: "n-given"}
	}}
)

func asked(at time.Time) func(*facts) {
	return func(f *facts) {
		known(f).ending.tail = summary.Summary{Requests: []summary.Request{{Text: "x", Time: at}}}
	}
}

// hooks adds a note that is hooked to the agent, as a hand-over of a session if one is
// named.
func hooks(says string, id string, of session.ID, change ...func(*mail.Note)) fact {
	return fact{says, func(f *facts) {
		n := mail.Note{ID: id, Session: string(of)}
		for _, c := range change {
			c(&n)
		}
		f.hooked = append(f.hooked, n)
	}}
}

func isNote(n *mail.Note)     { n.Type = mail.Handoff }
func isSeen(n *mail.Note)     { n.Seen = true }
func isWithheld(n *mail.Note) { n.Problem = withheld }
func inChain(n *mail.Note)    { n.Chain = "chain" }

const withheld = "its text cannot be read"

var (
	workNote = hooks("a note is given", "n-work", "")
	issue    = fact{"`bd` has an issue for me", func(f *facts) { known(f).duties.work = []beads.Work{{ID: "gt-1"}} }}
	noBox    = fact{"the box cannot be read", func(f *facts) { f.boxRead = false }}
	givenIt  = previousSession("lost its process; it had been given a note", session.Dead, func(r *session.Record) { r.Note = "n-chain" })
	readIt   = hooks("that note is in the box", "n-chain", "before", isNote, isSeen)
	// fell is a third session.
	fell = fact{"another lost its process", func(f *facts) {
		f.candidates = append(f.candidates, session.Candidate{Record: &session.Record{ID: "fell"}, Liveness: session.Dead})
	}}
	opened     = fact{"it had been asked for nothing", func(f *facts) { f.session.Unused = []session.ID{"old"} }}
	fellBefore = fact{"another broke off, and was followed", func(f *facts) {
		f.candidates = append(f.candidates,
			session.Candidate{Record: &session.Record{ID: "fell", ChildID: "next", EndedAt: noon.Add(-time.Minute), Outcome: session.Crash}, Liveness: session.Ended},
			session.Candidate{Record: &session.Record{ID: "next", EndedAt: noon.Add(-time.Second), Outcome: session.Done}, Liveness: session.Ended})
	}}
	askedSince     = fact{"it was asked for something since", asked(noon)}
	askedBefore    = fact{"it was asked for something before", asked(noon.Add(-time.Hour))}
	askedUnwritten = fact{"it was asked for something that its client never wrote", func(f *facts) { known(f).ending.asked = thread.Quote{Text: "x"} }}
	person         = fact{"a person looks, who is no session", func(f *facts) { f.session.ID = "" }}
)

// row is one situation: a story for people, the deciding facts, and the result. or are
// other facts with the same result, in the order of the story.
type row struct {
	story string
	facts []fact
	state State
	talk  contextState
	from  handoverKind
	after string // the predecessor and its outcome
	tells string
	or    [][]fact
}

var table = []row{
	{"The first session here, in any client", nil, Normal, fresh, noHandover, "", "", [][]fact{{forgetful}}},
	{"The one before still runs, may still run, or was left with /exit", []fact{runs}, Normal, fresh, noHandover, "", "", [][]fact{{mayRun}, {ended}}},
	{"The person typed /clear", []fact{cleared}, Normal, fresh, noHandover, "old done", "", nil},

	{"gt-handoff put me into its pane, and its process is gone, or not yet", []fact{gaveOver, respawns, samePane}, PostHandoff, fresh, fromOther, "old handoff", "note n-old", [][]fact{
		{runs, respawns, samePane}}},
	{"It handed over, and nobody is to follow it in its pane: it had none, I begin outside tmux, that pane was closed, its successor never came, it crashed and its pane was closed, or the person typed /clear",
		[]fact{gaveOver, handsOver, noPane}, PostHandoff, fresh, fromOther, "old handoff", "note n-old", [][]fact{
			{gaveOver, handsOver, outsideTmux}, {gaveOver, handsOver, paneGone}, {gaveOver, longAgo, outsideTmux, paneThere}, {died, handsOver, paneGone}, {cleared, handsOver}}},
	{"It handed over, and I begin elsewhere: its pane waits for a successor, tmux is stuck, its successor is on the way, never came, or the one before still runs",
		[]fact{gaveOver, handsOver, paneThere}, Normal, fresh, noHandover, "", "", [][]fact{
			{gaveOver, handsOver, paneSilent}, {gaveOver, respawns, outsideTmux, paneThere}, {gaveOver, longAgo, paneThere}, {runs, respawns, outsideTmux, paneThere}}},
	{"It handed over and still runs: it was told to stay, in a container that shares the folder, or one of its commands started me", []fact{runs, handsOver, samePane}, Normal, fresh, noHandover, "", "", [][]fact{
		{runs, respawns, contained, paneGone}, {runs, respawns, child, paneGone}}},
	{"Two start at once, and the other is told", []fact{gaveOver, handsOver, paneGone, takenBy("another that runs", "other", session.Running)}, Normal, fresh, noHandover, "", "", [][]fact{{marked, promised}, {personsNote, promised}}},
	{"A start was killed before it was told: the other one's, or mine, and it runs again", []fact{gaveOver, handsOver, paneGone, takenBy("another that is dead", "other", session.Dead)}, PostHandoff, fresh, fromOther, "old handoff", "note n-old", [][]fact{
		{gaveOver, handsOver, paneGone, takenBy("this session", "me", session.Running)}}},
	{"Another was saved before a compaction and ended", []fact{ended, saved, paneGone}, Normal, fresh, noHandover, "", "", nil},

	{"My conversation was compacted, or my agent asks after that what it is told", []fact{compaction, meSaved}, PostHandoff, compacted, fromOwnSession, "", "note n-me", [][]fact{{meSaved}}},
	{"My conversation was compacted, and nothing was saved; another's hand-over or crash is not mine", []fact{compaction}, Normal, compacted, noHandover, "", "", [][]fact{
		{compaction, gaveOver, handsOver, paneGone}, {died, itsTask, itsCheckpoint, compaction}}},
	{"My conversation was compacted, and my record is lost", []fact{compaction, lost, ownFile}, PostHandoff, compacted, fromOwnSession, "", "note n-me", [][]fact{{compaction, myCompaction}}},
	{"My conversation was compacted, and my record and note are lost", []fact{compaction, myMarker}, PostHandoff, compacted, fromOwnSession, "", "", nil},
	{"My conversation goes on in a new process (gt-handoff --cycle)", []fact{resuming, meCycled}, PostHandoff, resumed, fromOwnSession, "", "note n-me", nil},
	{"I am resumed, also after I had handed over, or while another's note waits", []fact{resuming}, Normal, resumed, noHandover, "", "", [][]fact{{resuming, meHandsOver}, {resuming, ended, itsNote}, {resuming, marked}}},
	{"I am resumed, in a client that forgets (Copilot), or my agent asks again what it was told", []fact{resuming, forgetful, given}, Normal, forgotten, noHandover, "", "given n-given", [][]fact{{asking, given}, {died, asking, given}}},

	{"Gas Town's gt handed over", []fact{foreign}, PostHandoff, fresh, fromOther, "", "", nil},
	{"Gas Town's gt saved before a compaction, and a new conversation or the compacted one begins", []fact{foreignCompaction}, PostHandoff, compacted, fromOther, "", "", [][]fact{{compaction, foreignCompaction}}},
	{"A person handed over, also beside the hand-over of one that waits for its pane", []fact{marked}, PostHandoff, fresh, fromOther, "", "note n-person", [][]fact{{gaveOver, handsOver, paneThere, marked}}},
	{"A person handed over, and left another note", []fact{earlierNote, marked}, PostHandoff, fresh, fromOther, "", "note n-person, waiting n-older", nil},
	{"A person handed over, and the note or the box cannot be read", []fact{marked, unreadable}, PostHandoff, fresh, fromOther, "", "note withheld", [][]fact{{foreign, noBox}}},
	{"A person left a note, without more", []fact{personsNote}, Autonomous, fresh, noHandover, "", "waiting n-person", nil},
	{"A person left a note, and another hand-over is told", []fact{gaveOver, handsOver, paneGone, personsNote}, PostHandoff, fresh, fromOther, "old handoff", "note n-old, waiting n-person", nil},
	{"Two persons left notes", []fact{earlierNote, personsNote}, Autonomous, fresh, noHandover, "", "waiting n-older, waiting n-person", nil},
	{"It ended while it handed over", []fact{ended, itsNote}, Autonomous, fresh, noHandover, "", "waiting n-chain", nil},

	{"It crashed", []fact{died, itsTask}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, its task", nil},
	{"It crashed after its last checkpoint; a start found that, or one that was killed", []fact{died, itsCheckpoint}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, checkpoint of old", [][]fact{{foundOut, itsCheckpoint}}},
	{"It crashed before it did anything, long after its last checkpoint, or beside another's note that was read", []fact{died}, Normal, fresh, noHandover, "old crash", "", [][]fact{
		{died, saves("of it, a day old", "old", func(c *savedCheckpoint) { c.Timestamp = noon.Add(-checkpoint.StaleAfter) })},
		{previousSession("lost its process; it had no chain", session.Dead, func(r *session.Record) { r.ChainID = "" }), hooks("a read hand-over without a chain is in the box", "n-other", "before", isNote, isSeen)}}},
	{"It crashed, and so did another one, which had been opened later and asked for nothing", []fact{died, opened, fell, itsTask}, CrashRecovery, fresh, noHandover, "fell crash", "crash of fell, its task", nil},
	{"Its terminal was closed", []fact{wasEnded, itsTask, itsCheckpoint}, CrashRecovery, fresh, noHandover, "old killed", "crash of old, its task, checkpoint of old", nil},
	{"It crashed with a note: of before its compaction, of its chain, or that it had been given, which it had read; also when it had just been asked for something",
		[]fact{died, itsNote}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, recalled n-chain", [][]fact{
			{died, hooks("a read hand-over of its chain is in the box", "n-chain", "before", isNote, isSeen, inChain)}, {givenIt, readIt}, {died, itsNote, askedUnwritten}}},
	{"It crashed with a note that it had been given, and had just been asked for something", []fact{givenIt, readIt, askedUnwritten}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, its task, recalled n-chain", nil},
	{"It crashed with two notes that it had been given, which it had read", []fact{previousSession("lost its process; it had been given two notes", session.Dead, func(r *session.Record) { r.Note, r.DeliveredNotes = "n-second", []string{"n-first"} }),
		hooks("those notes are in the box", "n-first", "", isNote, isSeen), hooks("", "n-second", "", isNote, isSeen)}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, recalled n-first, recalled n-second", nil},
	{"It crashed, and Gas Town's gt handed over", []fact{died, itsCheckpoint, foreign}, PostHandoff, fresh, fromOther, "old crash", "crash of old, checkpoint of old", nil},
	{"It crashed, and a person handed over", []fact{died, itsTask, marked}, PostHandoff, fresh, fromOther, "old crash", "note n-person, crash of old, its task", nil},
	{"It crashed, and a person left a note", []fact{died, itsTask, personsNote}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, its task, waiting n-person", nil},
	{"It crashed with a person's note that it was being told", []fact{previousSession("lost its process; it had been given the note", session.Dead, func(r *session.Record) { r.Note = "n-person" }), marked}, PostHandoff, fresh, fromOther, "old crash", "crash of old, recalled n-person", nil},
	{"It crashed, and the hand-over of another waits", []fact{gaveOver, handsOver, paneGone, fell, itsTask}, PostHandoff, fresh, fromOther, "old handoff", "note n-old, crash of fell, its task", nil},
	{"It crashed, and what it did is handed over: the other one handed over as well or was followed, or it was asked for nothing since, or while it gave its pane away",
		[]fact{gaveOver, handsOver, paneGone, fell, {"that one left a hand-over, too", func(f *facts) {
			f.findSession("fell").Handoff = &handover.Handover{Kind: session.KindHandoff, At: noon}
		}}, itsTask}, PostHandoff, fresh, fromOther, "old handoff", "note n-old", [][]fact{
			{gaveOver, handsOver, paneGone, fellBefore, itsTask}, {died, handsOver, paneGone, askedBefore}, {died, respawns, samePane, askedSince}}},
	{"It handed over, was asked for more, and crashed", []fact{died, handsOver, paneGone, askedSince}, PostHandoff, fresh, fromOther, "old handoff", "note n-old, crash of old, its task", nil},
	{"It crashed, and the checkpoint is of another: it had been told of that, or had saved nothing itself", []fact{died, saves("that it was told of", "older", taken("old"))}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, checkpoint of older", [][]fact{
		{previousSession("lost its process", session.Dead), saves("of one that broke off before it", "older", func(*savedCheckpoint) {}), {"that one's record says so", func(f *facts) {
			f.candidates = append(f.candidates, session.Candidate{Record: &session.Record{ID: "older", Outcome: session.Killed, EndedAt: noon.Add(-48 * time.Hour)}, Liveness: session.Ended})
		}}}}},
	{"A checkpoint is nobody's to recover: its session ended well, runs, is this one, has a record that cannot be read, or another was told of it", []fact{ended, itsCheckpoint}, Normal, fresh, noHandover, "", "", [][]fact{
		{runs, itsCheckpoint}, {saves("of this session", "me")},
		{saves("of a session with an unreadable record", "lost", func(c *savedCheckpoint) { c.recorded = true })},
		{saves("of an unknown session, which another was told of", "lost", taken("other"))}}},
	{"Nobody knows whose checkpoint lies here", []fact{saves("of an unknown session", "lost")}, CrashRecovery, fresh, noHandover, "", "checkpoint of lost", nil},
	{"A person wrote a checkpoint; a session begins, or a person looks", []fact{saves("of no session", "")}, CrashRecovery, fresh, noHandover, "", "checkpoint of ", [][]fact{{saves("of no session", ""), person}}},
	{"It crashed, and my role has no tasks", []fact{died, itsTask, itsCheckpoint, idle}, Normal, fresh, noHandover, "", "", nil},

	{"A note is given to me", []fact{workNote}, Autonomous, fresh, noHandover, "", "work n-work", nil},
	{"An issue is given to me", []fact{issue}, Autonomous, fresh, noHandover, "", "issue gt-1", nil},
	{"An issue of mine is in progress", []fact{{"`bd` has an issue in progress", func(f *facts) { known(f).duties.work = []beads.Work{{ID: "gt-2", Status: beads.InProgress}} }}}, Autonomous, fresh, noHandover, "", "issue gt-2", nil},
	{"It crashed, and a note is given to me", []fact{died, itsTask, workNote}, CrashRecovery, fresh, noHandover, "old crash", "crash of old, its task, work n-work", nil},
	{"A note is given to me, and I am compacted", []fact{compaction, workNote}, Autonomous, compacted, noHandover, "", "work n-work", nil},
	{"The only note, or the newer of two, that is given to me cannot be read", []fact{hooks("a note is given, and its text cannot be read", "n-work", "", isWithheld)}, Normal, fresh, noHandover, "", "", [][]fact{
		{workNote, hooks("a newer note is given, and its text cannot be read", "n-newer", "", isWithheld)}}},
	{"Two notes are given to me, and the older cannot be read", []fact{hooks("an older note is given, and its text cannot be read", "n-older", "", isWithheld), workNote}, Autonomous, fresh, noHandover, "", "work n-work", nil},
	{"Two notes are given to me", []fact{workNote, hooks("another note is given", "n-newer", "")}, Autonomous, fresh, noHandover, "", "work n-work, work n-newer", nil},
}

// cases returns the facts of a row, and the others with the same result.
func (r row) cases() []*facts {
	var all []*facts
	for _, c := range append([][]fact{r.facts}, r.or...) {
		all = append(all, gathered(c))
	}
	return all
}

// allKnown is a reader for which all was read. read counts what assess asked for.
type allKnown struct {
	pane        pane
	note        *mail.Note
	withheld    bool // the note
	checkpoints []savedCheckpoint
	ending      ending
	duties      duties

	asked map[string]int
}

var knownOf = map[*facts]*allKnown{}

func known(f *facts) *allKnown { return knownOf[f] }

func (k *allKnown) reader() reader {
	return reader{k.findPane, k.readNote, k.readBody, k.readCheckpoints, k.readEnding, k.readDuties}
}

func (k *allKnown) count(what string) {
	if k.asked != nil {
		k.asked[what]++
	}
}

func (k *allKnown) findPane(*session.Record) pane {
	k.count("pane")
	return k.pane
}

func (k *allKnown) readNote(string) (*mail.Note, bool) {
	k.count("note")
	return k.note, k.withheld
}

func (k *allKnown) readBody(n mail.Note) (mail.Note, bool) { return n, n.Problem != withheld }

func (k *allKnown) readCheckpoints() []savedCheckpoint {
	k.count("checkpoints")
	return k.checkpoints
}

func (k *allKnown) readEnding(*session.Record) ending {
	k.count("ending")
	return k.ending
}

func (k *allKnown) readDuties() duties {
	k.count("duties")
	return k.duties
}

// gathered returns facts for a session "me" that starts in pane %1. All that can be read was
// read.
func gathered(set []fact) *facts {
	k := new(allKnown)
	f := &facts{
		now: noon, hasTasks: true, boxRead: true, reader: k.reader(),
		session: session.StartParams{ID: "me", Source: "startup", Process: ownProcess, TmuxPane: "%1", TmuxServer: "/sock"},
	}
	knownOf[f] = k
	for _, x := range set {
		x.set(f)
	}
	return f
}

// TestSituations is the decision table of assess. situations.md has it for people, without
// the facts, which its stories tell; go test ./lib/command/primecmd -run TestSituations
// -update writes it there.
func TestSituations(t *testing.T) {
	for _, r := range table {
		for i, f := range r.cases() {
			s := assess(f)
			got := row{r.story, nil, s.state, s.conversation, s.handover.kind, "", told(s), nil}
			if s.predecessor.Record != nil {
				got.after = fmt.Sprintf("%s %s", s.predecessor.ID, s.predecessor.howEnded)
			}
			if got.result() != r.result() {
				t.Errorf("%s (%d: %s):\n  it is %s\n  want  %s", r.story, i, describeFacts(append([][]fact{r.facts}, r.or...)[i]), got.result(), r.result())
			}
		}
	}
	const file = "situations.md"
	data, err := os.ReadFile(file)
	testenv.NoError(t, err)
	const begin, end = "<!-- TestSituations writes this table -->\n", "<!-- end of the table -->\n"
	before, rest, ok1 := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	want := before + begin + markdown() + end + after
	if want == string(data) {
		return
	}
	if !*golden.Update {
		t.Fatalf("the table in %s is not this one: run the test with -update", file)
	}
	testenv.NoError(t, os.WriteFile(file, []byte(want), 0o644))
}

// assess returns the same for the same facts and does not change them.
func TestAssessIsPure(t *testing.T) {
	for _, r := range table {
		same := r.cases()
		for i, f := range r.cases() {
			s := assess(f)
			f.reader, same[i].reader = reader{}, reader{}
			if !reflect.DeepEqual(f, same[i]) {
				t.Errorf("%s: the facts are others afterwards", r.story)
			}
			if again := assess(r.cases()[i]); !reflect.DeepEqual(s, again) {
				t.Errorf("%s: it is another situation the second time", r.story)
			}
		}
	}
}

// What is expensive is read once, and only if the situation depends on it.
func TestAsksForFacts(t *testing.T) {
	stories := map[string]bool{}
	for _, r := range table {
		for i, f := range r.cases() {
			asked := map[string]int{}
			known(f).asked = asked
			s := assess(f)
			for what, n := range asked {
				if n > 1 && what != "checkpoints" { // start keeps them
					t.Errorf("%s (%d): %s: it is read %d times", r.story, i, what, n)
				}
			}
			if s.conversation != fresh && asked["duties"]+asked["checkpoints"]+asked["ending"] > 0 {
				t.Errorf("%s (%d): %v were read for a conversation that goes on", r.story, i, asked)
			}
			if broke := s.predecessor.brokeOff() || s.crashed != nil; asked["ending"] > 0 != broke && !owned(s) {
				t.Errorf("%s (%d): the conversation was read %d times", r.story, i, asked["ending"])
			}
		}
		if stories[r.story] {
			t.Errorf("%s: it is there twice", r.story)
		}
		stories[r.story] = true
	}
}

// owned reports whether a session handed over: it may have broken off since.
func owned(s situation) bool { return s.handover.owner() != nil }

// A session that broke off unused is passed over if there is another one to continue from.
func TestPassesOverUnused(t *testing.T) {
	alone := previousSession("lost its process; it had no chain", session.Dead, func(r *session.Record) { r.ChainID = "" })
	told := previousSession("lost its process; it had been given a note", session.Dead, func(r *session.Record) { r.ChainID, r.Note = "", "n-chain" })
	unread := fact{"its conversation cannot be read", func(f *facts) { known(f).ending.partly = true }}
	for name, c := range map[string]struct {
		facts []fact
		want  bool
	}{
		"unused":                          {[]fact{alone, fell}, true},
		"unused, and no other":            {[]fact{alone}, false},
		"unused, and the other, too":      {[]fact{alone, fell, {"", func(f *facts) { f.session.Unused = []session.ID{"fell"} }}}, false},
		"unused, beside one that ended":   {[]fact{alone, fellBefore}, false},
		"used":                            {[]fact{alone, fell, itsTask}, false},
		"used, and its client wrote none": {[]fact{alone, fell, askedUnwritten}, false},
		"it saved a checkpoint":           {[]fact{alone, fell, itsCheckpoint}, false},
		"it was told of a checkpoint":     {[]fact{alone, fell, saves("", "older", taken("old"))}, false},
		"it was told of a note":           {[]fact{told, fell}, false},
		"it continued another":            {[]fact{died, fell}, false},
		"nobody knows":                    {[]fact{alone, fell, unread}, false},
		"it runs":                         {[]fact{runs, fell}, false},
		"it was in this pane":             {[]fact{alone, fell, samePane}, false},
		"it was, before a restart":        {[]fact{alone, fell, samePane, {"", func(f *facts) { f.session.Process.Boot = "later" }}}, true},
	} {
		f := gathered(c.facts)
		before := slices.Clone(f.session.Unused)
		s := assess(f)
		if got := len(s.unused) > len(before); got != c.want {
			t.Errorf("%s: it was passed over is %v", name, got)
		}
		if c.want && s.predecessor.ID != "fell" {
			t.Errorf("%s: it follows %v", name, s.predecessor.Record)
		}
	}
}

// A brought note replaces any other hand-over.
func TestBrought(t *testing.T) {
	for _, r := range table {
		note := mail.Note{ID: "n-brought", From: "afar"}
		s := assess(gathered(r.facts)).bring(note)
		if s.state != PostHandoff || s.conversation != fresh || s.handover.kind != brought ||
			s.handover.note.ID != note.ID || s.handover.from == "" || s.handover.left != nil {
			t.Errorf("%s: it is %s, %s, %+v", r.story, s.state, s.conversation, s.handover)
		}
	}
}

// told returns what the text contains besides who the session is.
func told(s situation) string {
	var parts []string
	add := func(format string, a ...any) { parts = append(parts, fmt.Sprintf(format, a...)) }
	switch h := s.handover; {
	case h.withheld:
		add("note withheld")
	case h.note != nil:
		add("note %s", h.note.ID)
	}
	if s.crashed != nil {
		add("crash of %s", s.crashed.ID)
	}
	if len(s.tail.Requests) > 0 {
		add("its task")
	}
	if s.checkpoint != nil {
		add("checkpoint of %s", s.checkpoint.SessionID)
	}
	for _, n := range s.waiting {
		add("waiting %s", n.ID)
	}
	for _, n := range s.recalled {
		add("recalled %s", n.ID)
	}
	for _, n := range s.hooked {
		add("work %s", n.ID)
	}
	for _, w := range s.work {
		add("issue %s", w.ID)
	}
	if s.earlier != nil {
		add("given %s", s.earlier.ID)
	}
	return strings.Join(parts, ", ")
}

// describeFacts returns the deciding facts in words.
func describeFacts(facts []fact) string {
	var words []string
	for _, f := range facts {
		if f.says != "" {
			words = append(words, f.says)
		}
	}
	return strings.Join(words, "; ")
}

func (r row) result() string {
	return fmt.Sprintf("%s | %s | %s | %s | %s", r.state, r.talk, r.from, r.after, r.tells)
}

func markdown() string {
	var b strings.Builder
	b.WriteString("| what happened | state | follows | is told |\n|---|---|---|---|\n")
	for _, r := range table {
		for _, cell := range []string{r.story, string(r.state), r.after, r.tells} {
			b.WriteString(strings.TrimRight("| "+cell, " ") + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// tmux is asked only about a pane other than the session's, in the same PID namespace.
func TestAsksForPane(t *testing.T) {
	for name, c := range map[string]struct {
		facts      []fact
		asks, take bool
	}{
		"its pane is another":                  {[]fact{gaveOver, handsOver}, true, false},
		"it is in the same pane":               {[]fact{gaveOver, handsOver, samePane}, false, true},
		"it ran outside tmux":                  {[]fact{gaveOver, handsOver, noPane}, false, true},
		"it runs in a container":               {[]fact{runs, respawns, contained}, false, false},
		"it still runs":                        {[]fact{runs, handsOver}, false, false},
		"a successor is on its way":            {[]fact{gaveOver, respawns, outsideTmux}, true, false},
		"nobody is":                            {[]fact{gaveOver, handsOver, outsideTmux}, false, true},
		"another server's pane of that number": {[]fact{gaveOver, handsOver, samePane, {"", func(f *facts) { f.session.TmuxServer = "/other" }}}, true, false},
	} {
		f := gathered(c.facts)
		known(f).asked = map[string]int{}
		if got := f.mayTake(&f.leftHandovers[0]); got != c.take || known(f).asked["pane"] > 0 != c.asks {
			t.Errorf("%s: it takes it is %v, and tmux was asked %d times", name, got, known(f).asked["pane"])
		}
	}
}
