package primecmd

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/internal/golden"
	"gt/lib/conversation/summary"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	stored "gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/process"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// fact is one of the deciding facts, in words and as a change of facts.
type fact struct {
	says string
	set  func(*facts)
}

// older returns the session before. Facts about "it" mean this session; it ran in pane %2.
func older(f *facts) *session.Candidate { return f.find("old") }

// it adds the session before, with the state of its process.
func it(is string, l session.Liveness, change ...func(*session.Record)) fact {
	return fact{"it " + is, func(f *facts) {
		r := &session.Record{ID: "old", ChainID: "chain", TmuxPane: "%2", TmuxServer: "/sock", Transcript: "/t"}
		r.SetProcess(process.Proc{PID: 8, Start: "800", Boot: "boot"})
		for _, c := range change {
			c(r)
		}
		f.home = append(f.home, session.Candidate{Record: r, Liveness: l})
	}}
}

func over(o session.Outcome) func(*session.Record) {
	return func(r *session.Record) { r.EndedAt, r.Outcome = noon.Add(-time.Minute), o }
}

// leaves adds a marker that a session left.
func leaves(id session.ID, kind, reason string, change ...func(*stored.Handover)) func(*facts) {
	return func(f *facts) {
		c := f.find(id)
		c.Handoff = &stored.Handover{Kind: kind, Marker: "handoff." + string(id), Note: "n-" + string(id), At: noon.Add(-time.Minute)}
		for _, ch := range change {
			ch(c.Handoff)
		}
		f.markers = append(f.markers, leftMarker{Marker: marker.Marker{Name: c.Handoff.Marker, From: string(id), Reason: reason}, owner: c})
		f.note = mailbox{note: &mail.Note{ID: c.Handoff.Note, Type: mail.Handoff}}
	}
}

// Sources.
var (
	compaction = fact{"source `compact`", func(f *facts) { f.session.Source = "compact" }}
	resuming   = fact{"source `resume`", func(f *facts) { f.session.Source = "resume" }}
	forgetful  = fact{"its client forgets what a start was told", func(f *facts) { f.forgets = true }}
	idle       = fact{"its role has no tasks", func(f *facts) { f.works = false }}
	outside    = fact{"this session is outside tmux", func(f *facts) { f.session.TmuxPane = "" }}
	samePane   = fact{"this is its pane", func(f *facts) { older(f).TmuxPane = "%1" }}
	noPane     = fact{"it ran outside tmux", func(f *facts) { older(f).TmuxPane = "" }}
	others     = fact{"others hold the home's lock", func(f *facts) { f.access = busy }}
	noLock     = fact{"the lock cannot be had", func(f *facts) { f.access = denied }}
)

// Sessions before.
var (
	runs     = it("runs", session.Running)
	mayRun   = it("may run", session.Unclear)
	died     = it("lost its process", session.Dead)
	wasEnded = it("was ended from outside", session.Ended, over(session.Killed))
	foundOut = it("broke off, as a start found that was killed", session.Ended, over(session.Crash))
	ended    = it("ended", session.Ended, over(session.Done))
	gaveOver = it("is over", session.Ended, over(session.Handoff))
	cleared  = it("ran in the same process", session.Running, func(r *session.Record) { r.SetProcess(mine) })
)

var mine = process.Proc{PID: 7, Start: "700", Boot: "boot", NS: "1"}

// Markers.
var (
	handsOver = fact{"it left a hand-over", leaves("old", session.KindHandoff, "")}
	respawns  = fact{"it left a hand-over and gave its pane away", leaves("old", session.KindHandoff, "", func(p *stored.Handover) { p.Respawn = true })}
	longAgo   = fact{"it left a hand-over and gave its pane away, 10 minutes ago", leaves("old", session.KindHandoff, "", func(p *stored.Handover) {
		p.Respawn, p.At = true, noon.Add(-onItsWay)
	})}
	saved             = fact{"it left a marker before its compaction", leaves("old", session.KindAuto, marker.Compaction)}
	meSaved           = fact{"its own marker, reason `compaction`", meThen(leaves("me", session.KindAuto, marker.Compaction))}
	meCycled          = fact{"its own marker, reason `cycle`", meThen(leaves("me", session.KindCycle, "cycle"))}
	meHandsOver       = fact{"its own hand-over, for a successor", meThen(leaves("me", session.KindHandoff, ""))}
	foreign           = fact{"a marker that no record names", unowned("gastown", "")}
	foreignCompaction = fact{"a marker that no record names, reason `compaction`", unowned("gastown", marker.Compaction)}
	mineUnrecorded    = fact{"a marker that no record names, reason `compaction`, from this session", unowned("me", marker.Compaction)}
	child             = fact{"this session runs below its process", func(f *facts) { f.markers[0].inside = true }}
	contained         = fact{"it runs in another PID namespace", func(f *facts) { f.markers[0].elsewhere = true }}
	paneGone          = fact{"its pane is gone", func(f *facts) { f.markers[0].pane = gone }}
	paneThere         = fact{"its pane is still there", func(f *facts) { f.markers[0].pane = there }}
	paneSilent        = fact{"tmux does not answer", func(f *facts) { f.markers[0].pane = noAnswer }}
)

func meThen(then func(*facts)) func(*facts) {
	return func(f *facts) {
		f.home = append(f.home, session.Candidate{Record: &session.Record{ID: "me", Note: "n-first"}, Liveness: session.Running})
		then(f)
	}
}

func unowned(from, reason string) func(*facts) {
	return func(f *facts) {
		f.markers = append(f.markers, leftMarker{Marker: marker.Marker{Name: "handoff", From: from, Reason: reason}})
	}
}

func takenBy(says string, id session.ID, l session.Liveness) fact {
	return fact{"the hand-over is being told to " + says, func(f *facts) {
		older(f).Handoff.TakenBy = string(id)
		if id != "me" {
			f.home = append(f.home, session.Candidate{Record: &session.Record{ID: id}, Liveness: l})
			f.markers[0].owner = older(f) // the append above moved the records
		}
	}}
}

// What was saved.
func saves(says string, id session.ID, change ...func(*savedCheckpoint)) fact {
	return fact{"a checkpoint " + says, func(f *facts) {
		c := savedCheckpoint{&checkpoint.Checkpoint{SessionID: id, Timestamp: noon.Add(-time.Hour)}, f.find(id) != nil}
		for _, ch := range change {
			ch(&c)
		}
		f.checkpoints = append(f.checkpoints, c)
	}}
}

func taken(by session.ID) func(*savedCheckpoint) {
	return func(c *savedCheckpoint) { c.TakenBy = by }
}

var (
	itsCheckpoint = saves("of it", "old")
	itsTask       = fact{"its conversation has requests", func(f *facts) { f.tail = summary.Summary{Requests: []summary.Request{{}}} }}
	given         = fact{"its record names the note that it was given", func(f *facts) { f.given = &mail.Note{ID: "n-given"} }}
)

func asked(at time.Time) func(*facts) {
	return func(f *facts) { f.tail = summary.Summary{Requests: []summary.Request{{Text: "x", Time: at}}} }
}

// hooks adds a note that is hooked to the agent, as a hand-over of a session if one is
// named.
func hooks(says string, id string, of session.ID, change ...func(*hookedNote)) fact {
	return fact{says, func(f *facts) {
		n := hookedNote{Note: mail.Note{ID: id, Session: string(of)}}
		for _, c := range change {
			c(&n)
		}
		f.hooked = append(f.hooked, n)
	}}
}

func isNote(n *hookedNote)      { n.Type = mail.Handoff }
func isSeen(n *hookedNote)      { n.Seen = true }
func isWithheld(n *hookedNote)  { n.withheld = true }
func isOfUnknown(n *hookedNote) { n.hidden = true }
func inChain(n *hookedNote)     { n.Chain = "chain" }

var (
	givenNote = hooks("a note is given", "n-work", "")
	issue     = fact{"`bd` has an issue for me", func(f *facts) { f.work = []beads.Work{{ID: "gt-1"}} }}
	noBox     = fact{"the box cannot be read", func(f *facts) { f.allHooked = false }}
	// fell is a third session.
	fell = fact{"another lost its process", func(f *facts) {
		f.home = append(f.home, session.Candidate{Record: &session.Record{ID: "fell"}, Liveness: session.Dead})
	}}
	fellBefore = fact{"another broke off, and was followed", func(f *facts) {
		f.home = append(f.home,
			session.Candidate{Record: &session.Record{ID: "fell", ChildID: "next", EndedAt: noon.Add(-time.Minute), Outcome: session.Crash}, Liveness: session.Ended},
			session.Candidate{Record: &session.Record{ID: "next", EndedAt: noon.Add(-time.Second), Outcome: session.Done}, Liveness: session.Ended})
	}}
	askedSince     = fact{"it was asked for something since", asked(noon)}
	askedBefore    = fact{"it was asked for something before", asked(noon.Add(-time.Hour))}
	askedUnwritten = fact{"it was asked for something that its client never wrote", func(f *facts) { f.asked = thread.Quote{Text: "x"} }}
	person         = fact{"a person looks, who is no session", func(f *facts) { f.session.ID, f.access = "", looking }}
	personsNote    = hooks("an unread hand-over of nobody is in the box", "n-person", "", isNote)
	itsNote        = hooks("an unread hand-over of it is in the box", "n-chain", "old", isNote, inChain)
)

// row is one situation: a story for people, the deciding facts, and the result.
type row struct {
	story string
	facts []fact
	state State
	talk  contextState
	from  handoverKind
	after string // the predecessor and its outcome
	tells string
}

var table = []row{
	{"The first session here", nil, Normal, fresh, none, "", ""},
	{"Another agent works in the folder", []fact{runs}, Normal, fresh, none, "", ""},
	{"Nobody can tell whether the one before still runs", []fact{mayRun}, Normal, fresh, none, "", ""},
	{"The one before was left with /exit", []fact{ended}, Normal, fresh, none, "", ""},
	{"The person typed /clear", []fact{cleared}, Normal, fresh, none, "old done", ""},

	{"gt-handoff put me into its pane", []fact{gaveOver, respawns, samePane}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"gt-handoff put me into its pane, and its process is not gone yet", []fact{runs, respawns, samePane}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It was told to write a note and to stay", []fact{runs, handsOver, samePane}, Normal, fresh, none, "", ""},
	{"It handed over outside tmux and ended", []fact{gaveOver, handsOver, noPane}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It handed over and ended, and I begin in another terminal", []fact{gaveOver, handsOver, outside}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It handed over and ended, I begin in another pane, and its pane waits for a successor", []fact{gaveOver, handsOver, paneThere}, Normal, fresh, none, "", ""},
	{"It handed over and ended, and its pane was closed", []fact{gaveOver, handsOver, paneGone}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It handed over and ended, and tmux is stuck", []fact{gaveOver, handsOver, paneSilent}, Normal, fresh, none, "", ""},
	{"Its successor is on the way into its pane, and I begin in another terminal", []fact{gaveOver, respawns, outside, paneThere}, Normal, fresh, none, "", ""},
	{"Its successor never came, and I begin in another terminal", []fact{gaveOver, longAgo, outside, paneThere}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"Its successor never came, and I begin in another pane", []fact{gaveOver, longAgo, paneThere}, Normal, fresh, none, "", ""},
	{"It gave its pane away and still runs, and I begin in another terminal", []fact{runs, respawns, outside, paneThere}, Normal, fresh, none, "", ""},
	{"It handed over in a container that shares the folder", []fact{runs, respawns, contained, paneGone}, Normal, fresh, none, "", ""},
	{"It crashed after it had handed over", []fact{died, handsOver, paneGone}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"I was started by a command of the session that hands over", []fact{runs, respawns, child, paneGone}, Normal, fresh, none, "", ""},
	{"Two start at once, and the other is told", []fact{gaveOver, handsOver, paneGone, takenBy("another that runs", "other", session.Running)}, Normal, fresh, none, "", ""},
	{"Two started at once, and the other died before it was told", []fact{gaveOver, handsOver, paneGone, takenBy("another that is dead", "other", session.Dead)}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"My start was killed, and runs again", []fact{gaveOver, handsOver, paneGone, takenBy("this session", "me", session.Running)}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"I am compacted beside a hand-over of another", []fact{compaction, gaveOver, handsOver, paneGone}, Normal, compacted, none, "", ""},
	{"Another was saved before a compaction and ended", []fact{ended, saved, paneGone}, Normal, fresh, none, "", ""},

	{"My conversation was compacted", []fact{compaction, meSaved}, PostHandoff, compacted, own, "", "note n-me"},
	{"My conversation was compacted, and my agent asks what it is told", []fact{meSaved}, PostHandoff, compacted, own, "", "note n-me"},
	{"My conversation was compacted, and nothing was saved", []fact{compaction}, Normal, compacted, none, "", ""},
	{"My conversation goes on in a new process (gt-handoff --cycle)", []fact{resuming, meCycled}, PostHandoff, resumed, own, "", "note n-me"},
	{"I handed over, and am resumed", []fact{resuming, meHandsOver}, Normal, resumed, none, "", ""},
	{"I was compacted, and my record is lost", []fact{compaction, mineUnrecorded}, PostHandoff, compacted, own, "", ""},
	{"I was compacted, my record is lost, and my note is there", []fact{compaction, foreignCompaction, hooks("an unread hand-over of this session is in the box", "n-me", "me", isNote)}, PostHandoff, compacted, own, "", "note n-me"},
	{"I am resumed", []fact{resuming}, Normal, resumed, none, "", ""},
	{"I am resumed, in a client that forgets (Copilot)", []fact{resuming, forgetful, given}, Normal, forgotten, none, "", "given n-given"},
	{"I begin, in a client that forgets", []fact{forgetful}, Normal, fresh, none, "", ""},

	{"Gas Town's gt handed over", []fact{foreign}, PostHandoff, fresh, stranger, "", ""},
	{"A person left a marker and a note", []fact{foreign, hooks("an unread hand-over of nobody is in the box", "n-person", "", isNote)}, PostHandoff, fresh, stranger, "", "note n-person"},
	{"A person left a marker, and two notes", []fact{foreign, hooks("two unread hand-overs of nobody are in the box", "n-older", "", isNote), hooks("", "n-newer", "", isNote)}, PostHandoff, fresh, stranger, "", "note n-newer, waiting n-older"},
	{"A person left a marker, and a note that was read", []fact{foreign, hooks("a read hand-over is in the box", "n-person", "", isNote, isSeen)}, PostHandoff, fresh, stranger, "", ""},
	{"A person left a marker, and a note that cannot be read", []fact{foreign, hooks("an unread hand-over of nobody is in the box", "n-person", "", isNote, isWithheld)}, PostHandoff, fresh, stranger, "", "note withheld"},
	{"A person left a marker, and the box cannot be read", []fact{foreign, noBox}, PostHandoff, fresh, stranger, "", "note withheld"},
	{"Gas Town's gt saved before a compaction", []fact{foreignCompaction}, PostHandoff, compacted, stranger, "", ""},
	{"I am resumed beside Gas Town's hand-over", []fact{resuming, foreign}, Normal, resumed, none, "", ""},
	{"I am compacted beside another's unread note", []fact{compaction, foreignCompaction, itsNote}, PostHandoff, compacted, stranger, "", ""},
	{"Somebody is about to hand over: the marker lies here, the record does not yet", []fact{foreign, others}, Normal, fresh, none, "", ""},
	{"Gas Town's gt handed over, in a home that cannot be written", []fact{foreign, noLock}, PostHandoff, fresh, stranger, "", ""},

	{"It crashed", []fact{died, itsTask}, CrashRecovery, fresh, none, "old crash", "crash of old, its task"},
	{"It crashed after its last checkpoint", []fact{died, itsCheckpoint}, CrashRecovery, fresh, none, "old crash", "crash of old, checkpoint of old"},
	{"It crashed before it did anything", []fact{died}, Normal, fresh, none, "old crash", ""},
	{"Its terminal was closed", []fact{wasEnded, itsTask, itsCheckpoint}, CrashRecovery, fresh, none, "old killed", "crash of old, its task, checkpoint of old"},
	{"The start that found it dead was killed", []fact{foundOut, itsCheckpoint}, CrashRecovery, fresh, none, "old crash", "crash of old, checkpoint of old"},
	{"It crashed, with a note of before its compaction", []fact{died, itsNote}, CrashRecovery, fresh, none, "old crash", "crash of old, noted n-chain"},
	{"It crashed, with a note of its chain that it had read", []fact{died, hooks("a read hand-over of its chain is in the box", "n-chain", "before", isNote, isSeen, inChain)},
		CrashRecovery, fresh, none, "old crash", "crash of old, noted n-chain"},
	{"It crashed in no chain, with another's note that was read", []fact{it("lost its process; it had no chain", session.Dead, func(r *session.Record) { r.ChainID = "" }),
		hooks("a read hand-over without a chain is in the box", "n-other", "before", isNote, isSeen)}, Normal, fresh, none, "old crash", ""},
	{"It crashed with the note that it had been given, which it had read", []fact{it("lost its process; it had been given a note", session.Dead, func(r *session.Record) { r.Note = "n-chain" }),
		hooks("that note is in the box", "n-chain", "before", isNote, isSeen)}, CrashRecovery, fresh, none, "old crash", "crash of old, noted n-chain"},
	{"It crashed with a note that it had been given, and had just been asked for something", []fact{it("lost its process; it had been given a note", session.Dead, func(r *session.Record) { r.Note = "n-chain" }),
		hooks("that note is in the box", "n-chain", "before", isNote, isSeen), askedUnwritten}, CrashRecovery, fresh, none, "old crash", "crash of old, its task, noted n-chain"},
	{"It crashed, with a note of before its compaction, and had just been asked for something", []fact{died, itsNote, askedUnwritten}, CrashRecovery, fresh, none, "old crash", "crash of old, noted n-chain"},
	{"It crashed with two notes that it had been given, which it had read", []fact{it("lost its process; it had been given two notes", session.Dead, func(r *session.Record) { r.Note, r.DeliveredNotes = "n-second", []string{"n-first"} }),
		hooks("those notes are in the box", "n-first", "", isNote, isSeen), hooks("", "n-second", "", isNote, isSeen)}, CrashRecovery, fresh, none, "old crash", "crash of old, noted n-first, noted n-second"},
	{"It crashed, and Gas Town's gt handed over", []fact{died, itsCheckpoint, foreign}, PostHandoff, fresh, stranger, "old crash", "crash of old, checkpoint of old"},
	{"It crashed, and a person's note waits", []fact{died, itsTask, foreign, personsNote}, PostHandoff, fresh, stranger, "old crash", "note n-person, crash of old, its task"},
	{"It crashed, and a person's note waits without its marker", []fact{died, itsTask, personsNote}, CrashRecovery, fresh, none, "old crash", "crash of old, its task, waiting n-person"},
	{"It crashed, and the hand-over of another waits", []fact{gaveOver, handsOver, paneGone, fell, itsTask}, PostHandoff, fresh, another, "old handoff", "note n-old, crash of fell, its task"},
	{"It crashed after it had handed over, and the hand-over of another waits", []fact{gaveOver, handsOver, paneGone, fell, {"that one left a hand-over, too", func(f *facts) {
		f.find("fell").Handoff = &stored.Handover{Kind: session.KindHandoff, Marker: "handoff.fell", At: noon}
	}}, itsTask}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It was followed after its crash, and the hand-over of another waits", []fact{gaveOver, handsOver, paneGone, fellBefore, itsTask}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It handed over, was asked for more, and crashed", []fact{died, handsOver, paneGone, askedSince}, PostHandoff, fresh, another, "old handoff", "note n-old, crash of old, its task"},
	{"It handed over, was asked for nothing since, and crashed", []fact{died, handsOver, paneGone, askedBefore}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It gave its pane away while it was asked for more", []fact{died, respawns, samePane, askedSince}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"It crashed long after its last checkpoint", []fact{died, saves("of it, a day old", "old", func(c *savedCheckpoint) { c.Timestamp = noon.Add(-checkpoint.StaleAfter) })}, Normal, fresh, none, "old crash", ""},
	{"It crashed after it had been told of a checkpoint", []fact{died, saves("that it was told of", "older", taken("old"))}, CrashRecovery, fresh, none, "old crash", "crash of old, checkpoint of older"},
	{"It ended well, with a checkpoint", []fact{ended, itsCheckpoint}, Normal, fresh, none, "", ""},
	{"It runs, with a checkpoint", []fact{runs, itsCheckpoint}, Normal, fresh, none, "", ""},
	{"Nobody knows whose checkpoint lies here", []fact{saves("of an unknown session", "lost")}, CrashRecovery, fresh, none, "", "checkpoint of lost"},
	{"Nobody can read whose checkpoint lies here", []fact{saves("of a session with an unreadable record", "lost", func(c *savedCheckpoint) { c.recorded = true })}, Normal, fresh, none, "", ""},
	{"An unknown session's checkpoint was told to another", []fact{saves("of an unknown session, which another was told of", "lost", taken("other"))}, Normal, fresh, none, "", ""},
	{"A person wrote a checkpoint", []fact{saves("of no session", "")}, CrashRecovery, fresh, none, "", "checkpoint of "},
	{"A person wrote a checkpoint, and looks", []fact{saves("of no session", ""), person}, CrashRecovery, fresh, none, "", "checkpoint of "},
	{"I have a checkpoint myself", []fact{saves("of this session", "me")}, Normal, fresh, none, "", ""},
	{"Two of them crashed, and the newer has nothing saved", []fact{
		it("lost its process", session.Dead), saves("of one that broke off before it", "older", func(*savedCheckpoint) {}), {"that one's record says so", func(f *facts) {
			f.home = append(f.home, session.Candidate{Record: &session.Record{ID: "older", Outcome: session.Killed, EndedAt: noon.Add(-48 * time.Hour)}, Liveness: session.Ended})
		}}}, CrashRecovery, fresh, none, "old crash", "crash of old, checkpoint of older"},
	{"It crashed, and I am compacted", []fact{died, itsTask, itsCheckpoint, compaction}, Normal, compacted, none, "", ""},
	{"It crashed, and my role has no tasks", []fact{died, itsTask, itsCheckpoint, idle}, Normal, fresh, none, "", ""},

	{"A note is given to me", []fact{givenNote}, Autonomous, fresh, none, "", "work n-work"},
	{"An issue is given to me", []fact{issue}, Autonomous, fresh, none, "", "issue gt-1"},
	{"An issue of mine is in progress", []fact{{"`bd` has an issue in progress", func(f *facts) { f.work = []beads.Work{{ID: "gt-2", Status: beads.InProgress}} }}}, Autonomous, fresh, none, "", "issue gt-2"},
	{"It crashed, and a note is given to me", []fact{died, itsTask, givenNote}, CrashRecovery, fresh, none, "old crash", "crash of old, its task, work n-work"},
	{"A note is given to me, and I am compacted", []fact{compaction, givenNote}, Autonomous, compacted, none, "", "work n-work"},
	{"A note is given to me, and cannot be read", []fact{hooks("a note is given, and its text cannot be read", "n-work", "", isWithheld)}, Normal, fresh, none, "", ""},
	{"Two notes are given to me, and the newer cannot be read", []fact{givenNote, hooks("a newer note is given, and its text cannot be read", "n-newer", "", isWithheld)}, Normal, fresh, none, "", ""},
	{"Two notes are given to me, and the older cannot be read", []fact{hooks("an older note is given, and its text cannot be read", "n-older", "", isWithheld), givenNote}, Autonomous, fresh, none, "", "work n-work"},
	{"Two notes are given to me", []fact{givenNote, hooks("another note is given", "n-newer", "")}, Autonomous, fresh, none, "", "work n-work, work n-newer"},
	{"The hand-over of one that runs lies in the box", []fact{runs, itsNote}, Normal, fresh, none, "", ""},
	{"It ended, and the marker of its hand-over is lost", []fact{ended, itsNote}, Autonomous, fresh, none, "", "waiting n-chain"},
	{"It ended, the marker is lost, and the note was read", []fact{ended, hooks("a read hand-over of it is in the box", "n-chain", "old", isNote, isSeen)}, Normal, fresh, none, "", ""},
	{"It ended, the marker is lost, and I am resumed", []fact{resuming, ended, itsNote}, Normal, resumed, none, "", ""},
	{"It ended, and its hand-over waits for another pane", []fact{gaveOver, handsOver, paneThere, hooks("the hand-over is in the box", "n-old", "old", isNote)}, Normal, fresh, none, "", ""},
	{"Its hand-over is told, and lies in the box", []fact{gaveOver, handsOver, paneGone, hooks("the hand-over is in the box", "n-old", "old", isNote)}, PostHandoff, fresh, another, "old handoff", "note n-old"},
	{"The hand-over of a session that nobody knows lies in the box", []fact{hooks("an unread hand-over of an unknown session is in the box", "n-lost", "lost", isNote)}, Autonomous, fresh, none, "", "waiting n-lost"},
	{"The hand-over of a session whose record cannot be read lies in the box", []fact{hooks("an unread hand-over of a session with an unreadable record is in the box", "n-lost", "lost", isNote, isOfUnknown)}, Normal, fresh, none, "", ""},
	{"A person's hand-over lies in the box, without its marker", []fact{hooks("an unread hand-over of nobody is in the box", "n-person", "", isNote)}, Autonomous, fresh, none, "", "waiting n-person"},
	{"A person's hand-over lies in the box, and another is told", []fact{gaveOver, handsOver, paneGone, hooks("an unread hand-over of nobody is in the box", "n-person", "", isNote)}, PostHandoff, fresh, another, "old handoff", "note n-old, waiting n-person"},
	{"Two persons' hand-overs lie in the box", []fact{hooks("two unread hand-overs of nobody are in the box", "n-older", "", isNote), hooks("", "n-newer", "", isNote)}, Autonomous, fresh, none, "", "waiting n-older, waiting n-newer"},
	{"Somebody is about to hand over: the note lies here, the marker does not yet", []fact{personsNote, others}, Normal, fresh, none, "", ""},
	{"A person left a marker and a note beside the hand-over of one that waits for its pane", []fact{gaveOver, handsOver, paneThere, foreign, {"", func(f *facts) { f.note = mailbox{} }}, personsNote, hooks("the hand-over is in the box", "n-old", "old", isNote)}, PostHandoff, fresh, stranger, "", "note n-person"},
}

// gathered returns the facts of a row for a session "me" that starts in pane %1.
func gathered(r row) *facts {
	f := &facts{
		now: noon, access: locked, works: true, allHooked: true,
		session: session.StartParams{ID: "me", Source: "startup", Process: mine, TmuxPane: "%1", TmuxServer: "/sock"},
	}
	for _, x := range r.facts {
		x.set(f)
	}
	return f
}

// TestSituations is the decision table of assess. situations.md has it for people, without
// the facts, which its stories tell; go test ./lib/command/primecmd -run TestSituations
// -update writes it there.
func TestSituations(t *testing.T) {
	for _, r := range table {
		s := assess(gathered(r))
		got := row{r.story, r.facts, s.state, s.conversation, s.handover.kind, "", told(s)}
		if s.predecessor.Record != nil {
			got.after = fmt.Sprintf("%s %s", s.predecessor.ID, s.predecessor.how)
		}
		if got.result() != r.result() {
			t.Errorf("%s (%s):\n  it is %s\n  want  %s", r.story, r.why(), got.result(), r.result())
		}
	}
	const file = "situations.md"
	data, err := os.ReadFile(file)
	testenv.Must(t, err)
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
	testenv.Must(t, os.WriteFile(file, []byte(want), 0o644))
}

// assess returns the same for the same facts and does not change them.
func TestAssessIsPure(t *testing.T) {
	for _, r := range table {
		f, same := gathered(r), gathered(r)
		s := assess(f)
		if !reflect.DeepEqual(f, same) {
			t.Errorf("%s: the facts are others afterwards", r.story)
		}
		if again := assess(f); !reflect.DeepEqual(s, again) {
			t.Errorf("%s: it is another situation the second time", r.story)
		}
	}
}

// No row needs tmux's answer, and a situation's marker is one of its facts.
func TestTableIsComplete(t *testing.T) {
	stories := map[string]bool{}
	for _, r := range table {
		f := gathered(r)
		if s := assess(f); (s.handover.marker == nil) != (s.handover.kind == none) {
			t.Errorf("%s: a hand-over %q has the marker %v", r.story, s.handover.kind, s.handover.marker)
		}
		for _, m := range f.markers {
			if f.judge(m) == askPane {
				t.Errorf("%s: it depends on the pane, of which nothing is said", r.story)
			}
		}
		if stories[r.story] {
			t.Errorf("%s: it is there twice", r.story)
		}
		stories[r.story] = true
	}
}

// A brought note replaces any other hand-over.
func TestBrought(t *testing.T) {
	for _, r := range table {
		note := mail.Note{ID: "n-brought", From: "afar"}
		s := assess(gathered(r)).bring(note)
		if s.state != PostHandoff || s.conversation != fresh || s.handover.kind != brought ||
			s.handover.note.ID != note.ID || s.handover.marker == nil || s.handover.owner != nil {
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
	for _, n := range s.noted {
		add("noted %s", n.ID)
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

// why returns the deciding facts in words.
func (r row) why() string {
	var words []string
	for _, f := range r.facts {
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
		facts []fact
		want  verdict
	}{
		"its pane is another":                  {[]fact{gaveOver, handsOver}, askPane},
		"it is in the same pane":               {[]fact{gaveOver, handsOver, samePane}, take},
		"it ran outside tmux":                  {[]fact{gaveOver, handsOver, noPane}, take},
		"it runs in a container":               {[]fact{runs, respawns, contained}, leave},
		"it still runs":                        {[]fact{runs, handsOver}, leave},
		"a successor is on its way":            {[]fact{gaveOver, respawns, outside}, askPane},
		"nobody is":                            {[]fact{gaveOver, handsOver, outside}, take},
		"another server's pane of that number": {[]fact{gaveOver, handsOver, samePane, {"", func(f *facts) { f.session.TmuxServer = "/other" }}}, askPane},
	} {
		f := gathered(row{facts: c.facts})
		if got := f.judge(f.markers[0]); got != c.want {
			t.Errorf("%s: it is %d, want %d", name, got, c.want)
		}
	}
}
