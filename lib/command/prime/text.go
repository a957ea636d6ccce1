package prime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/conversation/brief"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

// text is what the session is told. Every sentence depends on the situation
// alone, never on a clock, a process or a random id, so that a client that
// sees it twice keeps one.
//
// What others wrote passes words or line, which take out secrets: a note may
// be another program's, and a role or an issue was never looked through.
func (s *start) text() string {
	if s.light {
		sections := s.continuing()
		if s.forgot() {
			sections = append(sections, s.given()...)
		}
		return document(s.call.Dialect.Cap, s.call.Dialect.Size, sections)
	}
	var sections []section
	switch s.state {
	case PostHandoff:
		sections = s.afterHandoff()
	case CrashRecovery:
		sections = s.afterCrash()
	case Autonomous:
		sections = s.withWork()
	default:
		sections = s.ordinary()
	}
	return document(s.call.Dialect.Cap, s.call.Dialect.Size, sections)
}

// who says who the session is and where.
func (s *start) who() string {
	home := s.call.Home
	id := home.Identity
	var text string
	switch {
	case id.Role == "":
		text = fmt.Sprintf("You work in %s", s.env.Place(home.Dir))
	case id.Address() == id.String():
		text = fmt.Sprintf("You are the %s, in %s", id, s.env.Place(home.Dir))
	default:
		text = fmt.Sprintf("You are %s, address %s, in %s", id, id.Address(), s.env.Place(home.Dir))
	}
	if b := s.facts.Branch; b != "" && b != "HEAD" && !s.light {
		text += " on branch " + s.env.Quoted(b)
	}
	return text + "."
}

// continuing is the light path: the conversation goes on, and must not be
// made to introduce itself again.
func (s *start) continuing() []section {
	text := "Context compacted. Continue your previous task."
	if s.facts.Source == "resume" && s.marker == nil {
		text = "Session resumed. Continue your previous task."
	}
	text += " " + s.who()
	for _, n := range s.hooked {
		if n.Type != mail.Handoff && !s.forgot() { // else it follows in full
			text += fmt.Sprintf("\nHooked to you: %s (`gt-mail read %s`).", s.env.Quoted(n.Subject), n.ID)
		}
	}
	if s.own && s.note != nil {
		text += fmt.Sprintf("\nWhat stood before the compaction is kept word for word: `gt-mail read %s`.", s.note.ID)
	}
	if s.call.Home.Identity.Role == "polecat" {
		text += "\nWhen your work is finished, run `gt done`."
	}
	return []section{{body: text}}
}

// forgot says whether the client resumes the conversation without what its start
// was told.
func (s *start) forgot() bool { return s.call.Dialect.Forgets && s.facts.Source == "resume" }

// given is what a session knew from its start, for one that has forgotten it.
func (s *start) given() []section {
	var sections []section
	if s.note != nil && !s.own {
		sections = append(sections, s.noteSection("What was noted earlier", *s.note))
	}
	return append(sections, s.rest()...)
}

func (s *start) afterHandoff() []section {
	banner := "# Handoff complete: you are the new session\n\n" +
		"Your predecessor handed over and is gone. A /handoff or gt-handoff in your surroundings was its own and is done: do not run it again."
	todo := "Take the work up where the note below leaves it: check it against the files (`git status`), say in one line what you go on with, and go on. Do not start over, do not wait for a confirmation."
	if s.note == nil {
		todo = "It left no note. Look at `git status`, at `gt-mail inbox` and, where it helps, at `gt-seance list`, and go on with what you find; if nothing is open, wait for instructions."
	}
	sections := []section{
		{body: banner + "\n\n" + s.who() + s.company()},
		{title: "What to do now", body: todo},
	}
	if s.note != nil {
		sections = append(sections, s.noteSection("The note from your predecessor", *s.note))
	}
	return append(sections, s.rest()...)
}

func (s *start) afterCrash() []section {
	head := "# Crash recovery: the session before you died without a word"
	if s.how == session.Killed {
		head = "# Crash recovery: the session before you was ended from outside, its terminal closed or its process killed"
	}
	banner := head + "\n\n" +
		"Nothing was handed over. What follows was saved while it worked; its last minutes may be missing."
	todo := "First compare this with what is there: `git status`, `git diff`, `git log -3`. Where they disagree, the files are right. Then go on with its task from the last step that is certainly done, unless you are asked for something else."
	sections := []section{
		{body: banner + "\n\n" + s.who() + s.company()},
		{title: "What to do now", body: todo},
	}
	if s.crashed != nil && len(s.last.Requests) > 0 {
		sections = append(sections, section{
			title: "What it was doing",
			all:   "`gt-seance show " + string(s.crashed.ID) + "`",
		}.frame("the session before you", s.words(brief.Brief{
			Session: s.last, Commits: git.Commits(s.call.Home.Dir, s.crashed.StartedAt),
		}.Clean(s.env.Redact).Text())))
	}
	return append(sections, s.rest()...)
}

func (s *start) withWork() []section {
	banner := "# Work is hooked to you: start on it now\n\n" + s.who() + s.company()
	todo := "Say in one line what you start on, and do it. It was given to you on purpose: do not ask whether to begin, do not look for other work first. When it is finished: " + s.finish() + "."
	return append([]section{{body: banner}, {title: "What to do now", body: todo}}, s.rest()...)
}

// finish is what closes the hooked work.
func (s *start) finish() string {
	var notes []mail.Note
	for _, n := range s.hooked {
		if n.Type != mail.Handoff {
			notes = append(notes, n)
		}
	}
	switch {
	case len(notes) == 1 && len(s.work) == 0:
		return "`gt-mail done " + notes[0].ID + "`"
	case len(notes) == 0 && len(s.work) == 1:
		return "`bd close " + s.issue(s.work[0]) + "`"
	}
	return "`gt-mail done ID`, with the id that `gt-mail inbox` shows"
}

func (s *start) ordinary() []section {
	text := s.who() + s.company()
	text += "\nNothing was handed over and no work is hooked to you: wait for instructions."
	if s.how == session.Done {
		text += "\nThe conversation before this one was cleared on purpose. Where it stood, should it be asked for: `gt-checkpoint read`, `gt-seance show " + string(s.parent.ID) + "`."
	}
	text += "\nBefore you stop with work unfinished, or when your context runs full, hand over to a fresh session:" +
		"\n`gt-handoff -s SUBJECT -m 'what is done, what is next, what to watch out for'`"
	return append([]section{{body: text}}, s.rest()...)
}

// company names what else is going on here.
func (s *start) company() string {
	text := ""
	if len(s.others) > 0 {
		text += "\nAnother live session works in this folder under the same name. Do not edit the files that it is at; `gt-seance list` shows it."
	}
	switch {
	case s.unread == 1:
		text += "\n1 unread note waits: `gt-mail inbox`."
	case s.unread > 1:
		text += fmt.Sprintf("\n%d unread notes wait: `gt-mail inbox`.", s.unread)
	}
	return text
}

// rest is what follows in every full text: checkpoint, hooked work, role.
func (s *start) rest() []section {
	var sections []section
	if s.checkpoint != nil {
		sections = append(sections, section{
			title: "Checkpoint", all: "`gt-checkpoint read`",
		}.frame("the checkpoint", s.words(s.checkpoint.Text())))
	}
	for _, w := range s.work {
		sections = append(sections, section{
			title: "Hooked work: " + s.issue(w) + " " + s.env.Quoted(w.Title),
			all:   "`bd show " + s.issue(w) + "`",
		}.frame("the issue", s.words(w.Description)))
	}
	for _, n := range s.hooked {
		title := "Hooked work"
		if n.Type == mail.Handoff {
			title = "What was noted earlier"
			if s.crashed != nil && n.Session == string(s.crashed.ID) && len(s.last.Requests) > 0 {
				// What it saved of itself; its transcript has said more by now.
				sections = append(sections, section{body: "It had saved a note before a compaction: `gt-mail read " + n.ID + "`."})
				continue
			}
		}
		sections = append(sections, s.noteSection(title, n))
	}
	return append(sections, s.role())
}

// maxRole bounds a role's context, of which a client takes 10,000 characters
// at most.
const maxRole = 256 << 10

// role is the context of the agent's role: <town>/roles/<role>.md as the person
// trusted it, else the person's own roles/<role>.md, outside a town default.md. It
// has no frame: the one is the person's own word, the other was read and trusted by
// the person byte for byte, and is none that anybody else may change.
func (s *start) role() section {
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
		return section{title: "Your role", body: s.words(string(data)), all: "`cat " + term.Typed(path) + "`"}
	case !errors.Is(err, fs.ErrNotExist):
		s.warn(err)
	}
	return section{}
}

// noteSection frames a note: it is somebody's words, and information, not an
// order from the user.
func (s *start) noteSection(title string, n mail.Note) section {
	words := s.words(n.Body)
	if strings.TrimSpace(words) == "" {
		words = "(no words)"
	}
	return section{
		title: title + ": " + s.env.Quoted(n.Subject),
		all:   "`gt-mail read " + n.ID + "`",
	}.frame(s.line(n.From), words)
}

// words is somebody else's text, of several lines.
func (s *start) words(text string) string { return s.env.Text(text) }

// line is one line of somebody else's text.
func (s *start) line(text string) string { return s.env.Line(text, 200) }

// issue is an issue's id as a word of a command line: plain where it is one, for an
// issue is another program's.
func (s *start) issue(w beads.Work) string { return term.Quote(s.env.Place(w.ID)) }

// tellNote prints the start-up text for a note that comes from elsewhere: a
// file, or another machine.
func (g *grammar) tellNote(env *cli.Env, call *hook.Invocation) error {
	var in io.Reader = env.Stdin
	if g.Handoff != "-" {
		path := g.Handoff
		if !filepath.IsAbs(path) {
			path = filepath.Join(env.Dir, path)
		}
		f, err := atomicfile.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	note, err := mail.Parse(in)
	if err != nil {
		return cli.Fail(cli.IO, fmt.Errorf("cannot read the note: %w", err), "gt-handoff --print writes one")
	}
	s := newStart(env, call)
	s.look()
	s.light, s.state, s.note = false, PostHandoff, &note
	if s.marker == nil {
		s.marker = &marker.Marker{From: note.From}
	}
	_, err = io.WriteString(env.Stdout, s.text())
	return err
}

// explain says why the text is what it is.
func (s *start) explain(w io.Writer) {
	say := func(format string, args ...any) {
		fmt.Fprintf(w, "%s: because: %s\n", s.env.Name, term.Clean(s.env.Redact(fmt.Sprintf(format, args...))))
	}
	home := s.call.Home
	say("the home is %s, the town %s, the identity %s", home.Dir, home.Town.Root, home.Identity.Address())
	if s.call.ID != "" {
		say("the session is %s, source %q", s.call.ID, s.facts.Source)
	}
	if s.marker != nil {
		say("%s: %s handed over, reason %q", home.Path(s.marker.Name), s.marker.From, s.marker.Reason)
	}
	if s.crashed != nil {
		say("session %s has no end and its process is gone", s.crashed.ID)
	}
	if s.checkpoint != nil {
		say("session %s left a checkpoint at %s", s.checkpoint.SessionID, s.checkpoint.Timestamp.Format("2006-01-02 15:04:05"))
	}
	for _, n := range s.hooked {
		say("note %s is hooked: %s", n.ID, n.Subject)
	}
	for _, x := range s.work {
		say("%s is hooked: %s", x.ID, x.Title)
	}
	if s.light {
		say("the conversation goes on, so the text is short")
	}
	say("the state is %s", s.state)
}
