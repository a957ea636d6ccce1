package prime

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/conversation/brief"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/text/term"
)

// page is what the text of a start is made of: the situation, and what decides
// nothing and is told besides.
type page struct {
	situation
	env     *cli.Env
	home    home.Home
	dialect contract.Dialect
	session session.StartParams
	others  []*session.Record // that run here under the same name
	role    section
	thread  *thread.Thread // of the chain that goes on without a note, or nil
	commits []git.Commit   // since the crashed session began
}

// page reads what is told besides the situation.
func (s *start) page(now situation, others []*session.Record) *page {
	p := &page{
		situation: now, env: s.env, home: s.call.Home, dialect: s.call.Dialect, session: s.session, others: others,
	}
	if now.conversation == fresh || now.conversation == forgotten {
		p.role = s.readRole()
	}
	p.thread = s.readThread(now)
	if p.tellsTask() && now.state == CrashRecovery {
		p.commits = git.Commits(s.call.Home.Dir, now.crashed.StartedAt)
	}
	return p
}

// readThread reads what the chain knows, where no note tells it: after a crash, after a
// compaction, and after a /clear.
func (s *start) readThread(now situation) *thread.Thread {
	r := now.predecessor.Record
	if now.conversation == compacted || now.conversation == forgotten {
		var err error
		r, err = s.call.Store.Get(s.session.ID)
		s.warn(err)
	}
	if r == nil || now.handover.marker != nil && now.conversation == fresh {
		return nil
	}
	t, err := thread.Read(s.call.Home.Town.State, r.Chain(), s.warn)
	if err != nil {
		if !errors.Is(err, thread.ErrNone) {
			s.warn(err)
		}
		return nil
	}
	return t
}

// maxRole bounds a role's context, of which a client takes 10,000 characters
// at most.
const maxRole = 256 << 10

// readRole reads the context of the agent's role: <town>/roles/<role>.md as the person
// trusted it, else the person's own roles/<role>.md, outside a town default.md. It
// has no frame: the one is the person's own word, the other was read and trusted by
// the person byte for byte, and is none that anybody else may change.
func (s *start) readRole() section {
	t := s.call.Home.Town
	name := "default.md"
	if r := s.call.Home.Identity.Role; r != "" {
		name = string(r) + ".md"
	}
	path := filepath.Join(t.Root, "roles", name)
	data, err := t.Read("roles/" + name)
	if own := place.Config(s.env.Getenv, "roles", name); errors.Is(err, fs.ErrNotExist) && own != "" {
		path = own
		data, err = place.ReadConfig(own, maxRole)
	}
	switch {
	case err == nil:
		return section{title: "Your role", body: s.env.Text(string(data)), all: "`cat " + term.Typed(path) + "`"}
	case !errors.Is(err, fs.ErrNotExist):
		s.warn(err)
	}
	return section{}
}

// render is what the session is told. Every sentence depends on the situation
// alone, never on a clock, a process or a random id, so that a client that
// sees it twice keeps one.
//
// What others wrote passes words or line, which take out secrets: a note may
// be another program's, and a role or an issue was never looked through.
func (p *page) render() string {
	var sections []section
	switch {
	case p.conversation == forgotten:
		sections = append(p.continuing(), p.given()...)
	case p.conversation != fresh:
		sections = p.continuing()
	case p.state == PostHandoff:
		sections = p.afterHandoff()
	case p.state == CrashRecovery:
		sections = p.afterCrash()
	case p.state == Autonomous:
		sections = p.withWork()
	default:
		sections = p.ordinary()
	}
	return document(p.dialect.MaxContext, p.dialect.Size, sections)
}

// who says who the session is and where.
func (p *page) who() string {
	home := p.home
	id := home.Identity
	var text string
	switch {
	case id.Role == "":
		text = fmt.Sprintf("You work in %s", p.env.Place(home.Dir))
	case id.Address() == id.String():
		text = fmt.Sprintf("You are the %s, in %s", id, p.env.Place(home.Dir))
	default:
		text = fmt.Sprintf("You are %s, address %s, in %s", id, id.Address(), p.env.Place(home.Dir))
	}
	if b := p.session.Branch; b != "" && b != "HEAD" && p.conversation == fresh {
		text += " on branch " + p.env.Quoted(b)
	}
	return text + "."
}

// continuing is the light path: the conversation goes on, and must not be
// made to introduce itself again.
func (p *page) continuing() []section {
	text := "Context compacted. Continue your previous task."
	if p.conversation != compacted && p.handover.marker == nil {
		text = "Session resumed. Continue your previous task."
	}
	text += " " + p.who()
	for _, n := range p.hooked {
		if n.Type != mail.Handoff && p.conversation != forgotten { // else it follows in full
			text += fmt.Sprintf("\nHooked to you: %s (`gt-mail read %s`).", p.env.Quoted(n.Subject), n.ID)
		}
	}
	if p.handover.kind == own && p.handover.note != nil {
		text += fmt.Sprintf("\nWhat stood before the compaction is kept word for word: `gt-mail read %s`.", p.handover.note.ID)
	}
	if p.home.Identity.Role == "polecat" {
		text += "\nWhen your work is finished, run `gt done`."
	}
	sections := []section{{body: text}}
	if p.conversation == compacted || p.conversation == forgotten && p.earlier == nil {
		sections = append(sections, p.lasting())
	}
	return sections
}

// lasting is what a chain knows that a compaction, a /clear or a resume must not lose:
// what the person asked for first, and what must always, never or only be done.
func (p *page) lasting() section {
	if p.thread == nil {
		return section{}
	}
	return section{
		title: "From the beginning of this work",
		all:   "`gt-seance thread " + string(p.thread.ChainID) + "`",
	}.frame("the person", p.words(brief.Brief{Thread: p.thread.Essential()}.Clean(p.env.Redact).Text()))
}

// given is what a session knew from its start, for one that has forgotten it.
func (p *page) given() []section {
	var sections []section
	if p.earlier != nil {
		sections = append(sections, p.noteSection("What was noted earlier", *p.earlier))
	}
	return append(sections, p.rest()...)
}

func (p *page) afterHandoff() []section {
	banner := "# Handoff complete: you are the new session\n\n" +
		"Your predecessor handed over and is gone. A /handoff or gt-handoff in your surroundings was its own and is done: do not run it again."
	todo := "Take the work up where the note below leaves it: check it against the files (`git status`), say in one line what you go on with, and go on. Do not start over, do not wait for a confirmation."
	if p.handover.note == nil {
		todo = "It left no note. Look at `git status`, at `gt-mail inbox` and, where it helps, at `gt-seance list`, and go on with what you find; if nothing is open, wait for instructions."
	}
	sections := []section{
		{body: banner + "\n\n" + p.who() + p.company()},
		{title: "What to do now", body: todo},
	}
	if p.handover.note != nil {
		sections = append(sections, p.noteSection("The note from your predecessor", *p.handover.note))
	}
	return append(sections, p.rest()...)
}

func (p *page) afterCrash() []section {
	head := "# Crash recovery: the session before you died without a word"
	if p.predecessor.how == session.Killed {
		head = "# Crash recovery: the session before you was ended from outside, its terminal closed or its process killed"
	}
	banner := head + "\n\n" +
		"Nothing was handed over. What follows was saved while it worked; its last minutes may be missing."
	todo := "First compare this with what is there: `git status`, `git diff`, `git log -3`. Where they disagree, the files are right. Then go on with its task from the last step that is certainly done, unless you are asked for something else."
	sections := []section{
		{body: banner + "\n\n" + p.who() + p.company()},
		{title: "What to do now", body: todo},
	}
	if p.tellsTask() {
		sections = append(sections, section{
			title: "What it was doing",
			all:   "`gt-seance show " + string(p.crashed.ID) + "`",
		}.frame("the session before you", p.words(brief.Brief{
			Session: p.tail, Commits: p.commits, Thread: p.thread,
		}.Clean(p.env.Redact).Text())))
	}
	return append(sections, p.rest()...)
}

func (p *page) withWork() []section {
	banner := "# Work is hooked to you: start on it now\n\n" + p.who() + p.company()
	todo := "Say in one line what you start on, and do it. It was given to you on purpose: do not ask whether to begin, do not look for other work first. When it is finished: " + p.finish() + "."
	return append([]section{{body: banner}, {title: "What to do now", body: todo}}, p.rest()...)
}

// finish is what closes the hooked work.
func (p *page) finish() string {
	var notes []mail.Note
	for _, n := range p.hooked {
		if n.Type != mail.Handoff {
			notes = append(notes, n)
		}
	}
	switch {
	case len(notes) == 1 && len(p.work) == 0:
		return "`gt-mail done " + notes[0].ID + "`"
	case len(notes) == 0 && len(p.work) == 1:
		return "`bd close " + p.issue(p.work[0]) + "`"
	}
	return "`gt-mail done ID`, with the id that `gt-mail inbox` shows"
}

func (p *page) ordinary() []section {
	text := p.who() + p.company()
	text += "\nNothing was handed over and no work is hooked to you: wait for instructions."
	if p.predecessor.how == session.Done {
		text += "\nThe conversation before this one was cleared on purpose. Where it stood, should it be asked for: `gt-checkpoint read`, `gt-seance show " + string(p.predecessor.ID) + "`."
	}
	text += "\nBefore you stop with work unfinished, or when your context runs full, hand over to a fresh session:" +
		"\n`gt-handoff -s SUBJECT -m 'what is done, what is next, what to watch out for'`"
	sections := []section{{body: text}}
	if p.predecessor.how == session.Done {
		sections = append(sections, p.lasting())
	}
	return append(sections, p.rest()...)
}

// tellsTask reports whether the text says what the crashed session was doing.
func (p *page) tellsTask() bool { return p.crashed != nil && len(p.tail.Requests) > 0 }

// company names what else is going on here.
func (p *page) company() string {
	text := ""
	if len(p.others) > 0 {
		text += "\nAnother live session works in this folder under the same name. Do not edit the files that it is at; `gt-seance list` shows it."
	}
	switch {
	case p.unread == 1:
		text += "\n1 unread note waits: `gt-mail inbox`."
	case p.unread > 1:
		text += fmt.Sprintf("\n%d unread notes wait: `gt-mail inbox`.", p.unread)
	}
	return text
}

// rest is what follows in every full text: checkpoint, hooked work, role.
func (p *page) rest() []section {
	var sections []section
	if p.checkpoint != nil {
		sections = append(sections, section{
			title: "Checkpoint", all: "`gt-checkpoint read`",
		}.frame("the checkpoint", p.words(p.checkpoint.Text())))
	}
	for _, w := range p.work {
		sections = append(sections, section{
			title: "Hooked work: " + p.issue(w) + " " + p.env.Quoted(w.Title),
			all:   "`bd show " + p.issue(w) + "`",
		}.frame("the issue", p.words(w.Description)))
	}
	for _, n := range p.hooked {
		title := "Hooked work"
		if n.Type == mail.Handoff {
			title = "What was noted earlier"
			if p.tellsTask() && n.Session == string(p.crashed.ID) {
				// What it saved of itself; its transcript has said more by now.
				sections = append(sections, section{body: "It had saved a note before a compaction: `gt-mail read " + n.ID + "`."})
				continue
			}
		}
		sections = append(sections, p.noteSection(title, n))
	}
	return append(sections, p.role)
}

// noteSection frames a note: it is somebody's words, and information, not an
// order from the user.
func (p *page) noteSection(title string, n mail.Note) section {
	words := p.words(n.Body)
	if strings.TrimSpace(words) == "" {
		words = "(no words)"
	}
	return section{
		title: title + ": " + p.env.Quoted(n.Subject),
		all:   "`gt-mail read " + n.ID + "`",
	}.frame(p.line(n.From), words)
}

// words is somebody else's text, of several lines.
func (p *page) words(text string) string { return p.env.Text(text) }

// line is one line of somebody else's text.
func (p *page) line(text string) string { return p.env.Line(text, 200) }

// issue is an issue's id as a word of a command line: plain where it is one, for an
// issue is another program's.
func (p *page) issue(w beads.Work) string { return term.Quote(p.env.Place(w.ID)) }
