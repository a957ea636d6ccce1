package primecmd

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

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
	"gt/lib/sys/process"
	"gt/lib/text/count"
	"gt/lib/text/frame"
	"gt/lib/text/term"
)

type page struct {
	situation
	env     *cli.Env
	home    home.Home
	dialect contract.Dialect
	session session.StartParams
	others  []*session.Record // live sessions in this folder with the same name
	role    section
	shorter *lostContext         // what a resume has lost, or nil
	thread  *thread.Thread       // of the chain that goes on, with the repository's rules, or nil
	rules   []thread.Instruction // of the repository
	commits []git.Commit         // since the crashed session began
	inGit   bool                 // the home is in a git worktree
	bin     string               // the folder of gt's programs with a slash, empty if they are on the PATH
	unkept  bool                 // nothing of the session can be kept, so no hand-over is offered
	byHook  bool                 // a client waits for it
}

// page gathers what the text has besides the situation: the role, rules, thread and commits.
func (s *start) page(told situation, others []*session.Record) *page {
	p := &page{
		situation: told, env: s.env, home: s.call.Home, dialect: s.call.Dialect, session: s.session, others: others,
		inGit: s.session.Branch != "", unkept: s.unrecordedReason != "", byHook: s.call.Hook,
	}
	if !onPath("gt-mail", s.env.Getenv("PATH")) {
		if beside := process.SiblingBinary("gt-mail"); beside != "gt-mail" {
			p.bin = filepath.Dir(beside) + "/"
		}
	}
	if told.conversation == fresh || told.conversation == forgotten {
		p.role = s.readRole()
	}
	common, err := git.CommonDir(s.call.Home.Dir)
	s.warn(err)
	p.rules = thread.Rules(s.call.Home.Town.State, common, s.warn)
	p.thread = thread.WithRules(s.readThread(told), s.session.ID, p.rules)
	p.shorter = s.findLostContext(told)
	if p.tellsTask() && p.inGit {
		p.commits = s.call.Store.Commits(told.crashed)
	}
	return p
}

// onPath reports whether the PATH has a program. It only decides how the text names
// programs; nothing is run.
func onPath(name, path string) bool {
	for dir := range strings.SplitSeq(path, string(filepath.ListSeparator)) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if info, err := os.Stat(dir + "/" + name); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// readThread reads the thread of the chain that goes on: after a hand-over, a crash, a
// compaction or a /clear.
func (s *start) readThread(told situation) *thread.Thread {
	r := told.predecessor.Record // as after a /clear
	switch h := told.handover; {
	case told.conversation == compacted || told.conversation == forgotten:
		var err error
		r, err = s.call.Store.Get(s.session.ID)
		s.warn(err)
	case told.crashed != nil:
		r = told.crashed
	case h.kind != noHandover:
		r = h.owner()
	}
	if r == nil {
		return nil
	}
	return s.threadOf(r)
}

// threadOf returns the thread of a session's chain, nil if there is none or it cannot be read.
func (s *start) threadOf(r *session.Record) *thread.Thread {
	if s.thread != nil && s.thread.ChainID == r.Chain() {
		return s.thread
	}
	t, err := thread.Read(s.call.Home.Town.State, r.Chain(), s.warn)
	if err != nil {
		if !errors.Is(err, thread.ErrNone) {
			s.warn(err)
		}
		return nil
	}
	s.thread = t
	return t
}

// maxRole limits a role's context, in bytes. Clients take 10,000 characters at most.
const maxRole = 256 << 10

// readRole reads the context of the role: the town's roles/<role>.md as the person trusted
// it, else the person's own roles/<role>.md, or default.md outside a town. It needs no
// frame: the person wrote it or trusted exactly these bytes.
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
		return section{title: "Your role", body: s.env.Text(string(data)), fullCommand: "`cat " + term.Typed(path) + "`"}
	case !errors.Is(err, fs.ErrNotExist):
		s.warn(err)
	}
	return section{}
}

// render returns the start-up text. It depends on the situation alone, never on a clock, a
// process or a random id, because a client keeps each differing copy.
//
// Text of others goes through words or line, which remove secrets: notes, roles and issues
// may come from other programs.
func (p *page) render() string {
	var sections []section
	switch {
	case p.conversation == forgotten:
		sections = p.continuing()
		if p.earlier != nil {
			sections = append(sections, p.noteSection("An earlier note", *p.earlier))
		}
		sections = append(sections, p.otherSections()...)
	case p.conversation != fresh:
		sections = p.continuing()
	case p.crashed != nil || p.state == CrashRecovery:
		sections = p.afterCrash()
	case p.state == PostHandoff, len(p.waiting) > 0 && len(p.hooked)+len(p.work) == 0:
		sections = p.afterHandoff()
	case p.state == Autonomous:
		sections = p.withWork()
	default:
		sections = p.ordinary()
	}
	return p.layout(p.withRules(sections))
}

// withRules adds the rules of the repository that no section has, behind what to do.
func (p *page) withRules(sections []section) []section {
	if p.conversation != fresh && p.conversation != forgotten {
		return sections // it has been told
	}
	var lines []string
	for _, in := range p.rules {
		text := p.line(in.Text) // it has at most as many characters
		if !slices.ContainsFunc(sections, func(s section) bool { return strings.Contains(s.body, frame.InnerText(text)) }) {
			lines = append(lines, "- "+text)
		}
	}
	rules := section{title: "Rules of this " + git.KindOfPlace(p.home.Dir) + ", in the person's words", fullCommand: p.gt("mail rule")}.frame("the person", strings.Join(lines, "\n"))
	at := 1
	if len(sections) > 1 && sections[1].title == whatToDo {
		at = 2
	}
	return slices.Insert(sections, at, rules)
}

// whatToDo is the title of the second section of a text after a hand-over or a crash, or
// with given work.
const whatToDo = "What to do now"

// opening returns the first two sections of a text with whatToDo: banner, with who and where the
// agent is, and todo. A headless run takes nothing over, so it gets others instead.
func (p *page) opening(banner, todo string) []section {
	if p.session.Headless {
		switch {
		case p.crashed != nil || p.state == CrashRecovery:
		case p.state == PostHandoff || len(p.waiting) > 0:
			banner = "# A hand-over waits here for the person's next session"
		default:
			banner = "# Work waits here for the person's next session"
		}
		todo = "No person sees this run, so it takes nothing over: what is told here waits for the person's next session. " +
			"Do only what this run was asked for, and use the rest where it helps with that."
	}
	return []section{{body: banner + "\n\n" + p.identitySentence() + p.company()}, {title: whatToDo, body: todo}}
}

// identitySentence tells the agent who and where it is. The branch "HEAD" is a detached HEAD.
func (p *page) identitySentence() string {
	home := p.home
	id := home.Identity
	var text string
	switch {
	case id.Role == "":
		text = fmt.Sprintf("You work in %s", p.describeFolder())
	case id.Address() == id.String():
		text = fmt.Sprintf("You are the %s, in %s", id, p.describeFolder())
	default:
		text = fmt.Sprintf("You are %s, address %s, in %s", id, id.Address(), p.describeFolder())
	}
	if b := p.session.Branch; b != "" && b != "HEAD" && p.conversation == fresh {
		text += " on branch " + p.env.Quoted(b)
	}
	return text + "."
}

// describeFolder returns the agent's folder, and the home if that is another one.
func (p *page) describeFolder() string {
	dir, home := p.session.CWD, p.home.Dir
	if dir == "" || dir == home {
		return p.env.DisplayPath(home)
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real == home {
		return p.env.DisplayPath(home)
	}
	return p.env.DisplayPath(dir) + " of the project " + p.env.DisplayPath(home)
}

// gt returns a command line of one of gt's programs, as the agent types it.
func (p *page) gt(line string) string { return "`" + term.Typed(p.bin+"gt-") + line + "`" }

// git returns a list of git commands after the text before, and "" outside git.
func (p *page) git(before string, commands ...string) string {
	if !p.inGit {
		return ""
	}
	return before + "`git " + strings.Join(commands, "`, `git ") + "`"
}

// given returns the word for given work; in a town it is hooked.
func (p *page) given() string {
	if p.home.Town.Personal {
		return "given"
	}
	return "hooked"
}

const requestFirst = "What the person asks for comes first. " // part of every text that says what to do

// continuing returns the short text for a conversation that goes on. The model must not
// introduce itself again.
func (p *page) continuing() []section {
	text := "Context compacted. "
	switch {
	case p.conversation == compacted || p.handover.kind != noHandover:
	case p.session.Source == "": // the agent asks again, so nothing was resumed
		text = ""
	default:
		text = "Session resumed. "
	}
	text += "Continue your previous task. " + p.identitySentence() + "\n" + requestFirst + "If you had asked something, wait for the answer."
	for _, n := range p.hooked {
		if p.conversation != forgotten { // otherwise it follows in full
			text += fmt.Sprintf("\nWork is %s to you: %s (%s).", p.given(), p.env.Quoted(n.Subject), p.gt("mail read "+n.ID))
		}
	}
	if p.handover.kind == fromOwnSession && p.handover.note != nil {
		text += fmt.Sprintf("\nWhat was saved before the compaction is kept word for word: %s.", p.gt("mail read "+p.handover.note.ID))
	}
	if p.home.Identity.Role == "polecat" {
		text += "\nWhen your work is finished, run `gt done`."
	}
	if p.shorter != nil {
		text += "\nPart of this conversation is missing: " + p.shorter.how + ". The client may have dropped it, or the person may have taken it back. What was read of it earlier follows; where it matters, check with the person."
	}
	sections := append([]section{{body: text}}, p.messages()...)
	if p.shorter != nil {
		return append(sections, p.missingPart())
	}
	if p.conversation == compacted || p.conversation == forgotten && p.earlier == nil {
		sections = append(sections, p.lastingSection(), chain)
	}
	if p.conversation == compacted {
		sections = append(sections, p.backgroundSection())
	}
	return sections
}

// messages returns what was not told yet: the notes that wait, or, of the note that the session
// saved for itself, what somebody wrote into it.
func (p *page) messages() []section {
	if p.handover.kind != fromOwnSession {
		return p.noteSections()
	}
	n := p.handover.note
	if n == nil || brief.WrittenMessage(n.Body) == "" {
		return nil
	}
	note := *n
	note.Body, note.Type = brief.WrittenMessage(n.Body), mail.Plain
	return []section{p.noteSection("The note", note)}
}

func (p *page) missingPart() section {
	less := p.shorter
	return section{
		title:       "What this conversation was about",
		fullCommand: p.gt("seance thread"),
	}.frame("the conversation", p.words(brief.Brief{Session: less.session, Thread: less.thread}.Clean(p.env.Redact).Text()))
}

// backgroundSection returns what runs in the background of a compacted session, which has forgotten it.
func (p *page) backgroundSection() section {
	if p.thread == nil || p.thread.Beside == nil {
		return section{}
	}
	t := &thread.Thread{Beside: p.thread.Beside}
	return section{title: "What is running for you"}.
		frame("the conversation", p.words(brief.Brief{Thread: t, LivesOn: true}.Clean(p.env.Redact).Text()))
}

// lastingSection returns what a chain must not lose in a compaction, a /clear or a resume: the
// first request, standing instructions and open to-dos. The other prompts are in the lists that
// layout adds.
func (p *page) lastingSection() section {
	if p.thread == nil {
		return section{}
	}
	b := brief.Brief{Thread: p.thread.Essential(), PromptsElsewhere: true}.Clean(p.env.Redact)
	return section{
		title:       "What applies to this work",
		fullCommand: p.gt("seance thread " + string(p.thread.ChainID)),
	}.frame("the thread of this work", p.words(b.Text()))
}

// chain is an empty section, behind which layout puts what no other section tells of the chain.
var chain = section{chain: true}

// layout returns the start-up text. After the section of the chain it has the lists of the thread:
// the person's messages, what agents answered and what was done. The lists have the room that the
// sections leave, and at least four tenths of the limit; if the sections leave less, those are cut.
func (p *page) layout(sections []section) string {
	limit, size := p.dialect.MaxContext, p.dialect.Size
	at := slices.IndexFunc(sections, func(s section) bool { return s.chain })
	if at < 0 || p.thread == nil {
		return document(limit, size, sections)
	}
	room := limit
	for _, s := range sections {
		room -= s.size(size)
	}
	most := limit // for the sections
	if least := limit * 4 / 10; room < least {
		most -= least
	}
	others, lists := p.fill(sections, most)
	if left := limit - size(lists); left > most { // the lists did not need all of their room
		others, lists = p.fill(sections, left)
	}
	others[at] += lists
	return strings.Join(others, "")
}

// fill returns the texts of sections, cut to a total size of most, and the lists of what else the
// thread has, in the room that the texts leave.
func (p *page) fill(sections []section, most int) (others []string, lists string) {
	const little = 6000 // below it there is room only for the person's messages and the hand-overs
	t, limit, size := p.thread, p.dialect.MaxContext, p.dialect.Size
	others = parts(most, size, sections)
	told := strings.Join(others, "")
	all := []section{{title: "What else the person said in this work, oldest first"}, {title: "What agents answered in this work, oldest first"}, {title: "What was run and changed in this work, oldest first"}}
	from := []string{"the person", "agents of this work", "the conversations"}
	room := limit - size(told)
	kept := []int{len(t.Prompts), len(t.Answers) + len(t.Messages), len(t.Actions)}
	if limit < little {
		kept = []int{len(t.Prompts), len(t.Messages), 0}
	}
	for i, kept := range kept { // each list that is not empty needs room for its frame
		if kept > 0 {
			room -= all[i].frame(from[i], "-").size(size)
		}
	}
	b := brief.Brief{Thread: t, PromptsAlone: limit < little}.Clean(p.env.Redact)
	for {
		chosen := b.Lists(told, room, size, p.gt("seance thread "+string(t.ChainID)))
		lists = ""
		for i, lines := range [][]string{chosen.Prompts, chosen.Answers, chosen.Actions} {
			lists += all[i].frame(from[i], p.words(strings.Join(lines, "\n"))).text()
		}
		over := size(told) + size(lists) - limit
		if over <= 0 || room <= 0 {
			return others, lists
		}
		room -= over // the frame escapes words that could end it, which makes them longer
	}
}

// afterHandoff returns the sections of a session that takes over a hand-over or notes.
func (p *page) afterHandoff() []section {
	banner := "# Handoff complete: you are the new session\n\n"
	switch notes := len(p.notes()); {
	case p.handover.owner() == nil && p.isLeft() && notes > 1:
		banner += "Notes were left for you, the next session here."
	case p.handover.owner() == nil && p.isLeft():
		banner += "A note was left for you, the next session here."
	default:
		banner += "Your predecessor handed over and has ended."
	}
	banner += " If your input mentions /handoff or gt-handoff, that hand-over is done: do not run it again."
	todo := "Continue the work from the note below. Check it against the files" + p.git(" (", "status")
	if len(p.notes()) > 1 {
		todo = "Continue the work from the notes below; the latest is the last. Check them against the files" + p.git(" (", "status")
	}
	if p.inGit {
		todo += ")"
	}
	todo += ", say in one line what you will do next, and do it. Do not start over, and do not wait for confirmation." + p.afterwards() + p.molecule() + "\n" +
		requestFirst + "If the note leaves a question for the person, ask it and wait for the answer."
	switch {
	case len(p.notes()) > 0:
	case p.handover.withheld:
		todo = "Its note could not be read; the next session that starts will be told about it. Run " + p.gt("mail inbox") + ", and wait for instructions."
	default:
		look := p.gt("mail inbox")
		if p.inGit {
			look = p.git("", "status") + ", " + look
		}
		todo = "It left no note. Look at " + look + " and, if it helps, at " + p.gt("seance list") +
			", and continue what you find. If nothing is open, wait for instructions.\n" + strings.TrimSpace(requestFirst)
	}
	sections := append(p.opening(banner, todo), p.noteSections()...)
	if notes := p.notes(); len(notes) > 0 {
		sections = append(sections, p.folderChanges(notes[len(notes)-1].Date, sections))
	}
	return slices.Concat(sections, []section{chain}, p.otherSections())
}

// notes returns the hand-overs that are delivered for the first time, oldest first.
func (p *page) notes() []mail.Note {
	notes := slices.Clone(p.waiting)
	if n := p.handover.note; n != nil {
		notes = append(notes, *n)
	}
	sort.SliceStable(notes, func(i, j int) bool { return notes[i].Date.Before(notes[j].Date) })
	return notes
}

// isLeft reports whether all notes are a person's: no session wrote them.
func (p *page) isLeft() bool {
	notes := p.notes()
	return len(notes) > 0 && !slices.ContainsFunc(notes, func(n mail.Note) bool { return n.Session != "" }) && p.handover.kind != brought
}

const olderNote = 1500 // limits a note that a later one follows

// noteSections returns the notes that are delivered now. All but the last are cut (olderNote) and
// say nothing of the worktree.
func (p *page) noteSections() []section {
	var sections []section
	notes := p.notes()
	for i, n := range notes {
		title := "The note from your predecessor"
		if n.Session == "" && p.handover.kind != brought {
			title = "The note"
		}
		older := i < len(notes)-1
		if older {
			n.Body = brief.WithoutWorktree(n.Body)
		}
		s := p.noteSection(title, n)
		if older {
			s.most = olderNote
		}
		sections = append(sections, s)
	}
	return sections
}

// afterCrash returns the sections after a session that broke off or left only a checkpoint.
func (p *page) afterCrash() []section {
	notes := p.notes()
	sections := p.opening(p.crashBanner(len(notes)), p.crashTodo(len(notes)))
	if len(notes) > 0 && p.tellsTask() {
		// The notes come before the rest of the task.
		last := brief.Brief{Session: p.tail}.LastAsked()
		sections = append(sections, section{title: "What it was last asked", most: olderNote}.frame("the person", p.words(p.env.Redact(last))))
	}
	sections = append(sections, p.noteSections()...)
	recalled := p.recalledSections()
	if p.tellsTask() {
		title := "What it was doing"
		if p.atRest {
			title = "What it had done"
		}
		sections = append(sections, section{
			title:       title,
			fullCommand: p.gt("seance show " + string(p.crashed.ID)),
		}.frame("the previous session", p.words(brief.Brief{
			Session: p.tail, Commits: p.commits, Thread: p.withoutNotes(), PromptsElsewhere: true, AwaitsPermission: p.asking,
			RequestElsewhere: len(notes) > 0,
		}.Clean(p.env.Redact).Text())))
	} else {
		// Only the notes that it had received tell its task.
		sections = append(append(sections, recalled...), p.lastingSection())
		recalled = nil
	}
	return slices.Concat(sections, []section{p.folderChanges(p.saved(), sections), chain}, p.otherSections(recalled...))
}

// saved returns when what is told after a crash was written.
func (p *page) saved() (at time.Time) {
	if p.thread != nil {
		at = p.thread.LastTime()
	}
	if c := p.checkpoint; c != nil && c.Timestamp.After(at) {
		at = c.Timestamp
	}
	return at
}

// recalledSections returns the notes of the chain that broke off. One that isNamed has no text.
func (p *page) recalledSections() []section {
	var sections []section
	for _, n := range p.recalled {
		if p.isNamed(n) {
			sections = append(sections, section{body: "It had saved a note before a compaction: " + p.gt("mail read "+n.ID) + "."})
			continue
		}
		n.Body = brief.WithoutWorktree(n.Body)
		sections = append(sections, p.noteSection("An earlier note", n))
	}
	return sections
}

// withoutNotes returns the thread without the messages whose notes have sections of their own.
func (p *page) withoutNotes() *thread.Thread {
	if p.thread == nil {
		return nil
	}
	t := *p.thread
	told := slices.DeleteFunc(slices.Concat(p.notes(), p.recalled), p.isNamed)
	t.Messages = slices.DeleteFunc(slices.Clone(t.Messages), func(m thread.Message) bool {
		return slices.ContainsFunc(told, func(n mail.Note) bool { return n.ID == m.Note })
	})
	return &t
}

// crashBanner returns the title and how the session broke off. notes is how many are delivered.
func (p *page) crashBanner(notes int) string {
	head, said := "# Crash recovery: ", ""
	switch {
	case p.crashed == nil:
		return head + "a checkpoint was left here\n\n" +
			"It was saved for the next session, and no session has used it yet."
	case p.howCrashed == session.Killed && p.atRest:
		head += "the previous session was ended from outside while it waited for the person"
	case p.howCrashed == session.Killed:
		head += "the previous session was ended from outside: its terminal was closed or its process killed"
	case p.atRest:
		head += "the previous session died while it waited for the person"
	default:
		head += "the previous session died without warning"
	}
	if p.atRest {
		said = "It had answered its last request."
	} else {
		said = "What follows was saved while it worked, so its last minutes may be missing."
	}
	switch {
	case notes == 0 && p.handover.kind != noHandover:
		head += "; and a session handed over"
	case notes == 0 && len(p.recalled) > 0 && !p.tellsTask():
		said = "It had hardly begun: the note that it was given follows."
	case notes == 0:
		said = "Nothing was handed over. " + said
	case p.handover.owner() == p.crashed:
		head += "; it had already handed over"
	case notes == 1:
		head += "; and a note waits for you"
	default:
		head += "; and notes wait for you"
	}
	return head + "\n\n" + said
}

// afterwards returns a sentence that puts the given work after what the session takes over; "" if
// none is given, another live session has it, or what is taken over was that work.
func (p *page) afterwards() string {
	if len(p.hooked)+len(p.work) == 0 || len(p.others) > 0 {
		return ""
	}
	for _, r := range []*session.Record{p.crashed, p.handover.owner()} {
		if r != nil && p.isGiven(r.WorkUnit) {
			return ""
		}
	}
	return " When that is finished, start on the work that is " + p.given() + " to you."
}

func (p *page) isGiven(id string) bool {
	return slices.ContainsFunc(p.hooked, func(n mail.Note) bool { return n.ID == id }) || slices.ContainsFunc(p.work, func(w beads.Work) bool { return w.ID == id })
}

// crashTodo returns what to do after a crash. A session at rest had no request left to continue.
func (p *page) crashTodo(notes int) string {
	compare := "First compare this with the files. Where they disagree, the files are right."
	if p.inGit {
		compare = "First compare this with the repository: " + p.git("", "status", "diff", "log -3") + ". Where they disagree, the files are right."
	}
	ask := "If something is for the person to decide, ask and wait for the answer."
	works := len(p.hooked) + len(p.work)
	if len(p.others) > 0 {
		works = 0 // it is the other sessions' work
	} else if m := p.molecule(); m != "" {
		ask += "\n" + strings.TrimSpace(m)
	}
	if !p.atRest {
		ask += p.afterwards()
	}
	switch {
	case notes > 0 && p.atRest:
		return compare + " Then continue the work from the note.\n" + requestFirst + ask
	case notes > 0:
		return compare + " Then continue with the previous session's last request and with the note. Where the two contradict each other, follow the later one.\n" + requestFirst + ask
	case p.atRest && works > 0:
		return compare + " It had finished its last turn, so start on the work that is " + p.given() + " to you.\n" + requestFirst + ask
	case p.atRest:
		rest := ", so there is nothing to continue: wait for what the person asks"
		if open, _ := (brief.Brief{Session: p.tail, Thread: p.thread}).OpenTodos(); len(open) > 0 {
			rest = fmt.Sprintf(" and waited for the person, with %s. Say in one line what is open, and wait for what the person asks", count.Plural(len(open), "open to-do"))
		}
		return "It had finished its last turn" + rest + ". What it said and did is below; where the files disagree, the files are right."
	case p.crashed == nil:
		return compare + " Then continue from it if you are asked to. If nothing is asked, say in one line what it is about and wait for instructions."
	}
	return compare + " Then continue its task from the last step that is certainly done.\n" + requestFirst + ask
}

// withWork returns the sections of a session that has given work and nothing to take over.
func (p *page) withWork() []section {
	if len(p.others) > 0 {
		// The work given to a name belongs to the live session that has it as well.
		todo := "The work below was " + p.given() + " to this name, and the other session has it: do not start on it. Do what you are asked; until then, wait for instructions."
		return slices.Concat(p.opening("# The work here belongs to another session", todo), p.noteSections(), p.otherSections())
	}
	banner, todo := "# Work is "+p.given()+" to you: start on it now", "Say in one line what you will do, and start. It was given to you on purpose: do not ask whether to begin"
	if len(p.work) > 0 && p.work[0].Status == beads.InProgress {
		banner, todo = "# Your work is in progress: continue it now", "Check how far it is, say in one line what you will do next, and do it. Do not ask whether to continue"
	}
	todo += ", and do not look for other work first. When it is finished: " + p.finish() + "." + p.molecule() + "\n" +
		requestFirst + "If the work raises a question for the person, ask it and wait for the answer."
	return slices.Concat(p.opening(banner, todo), p.noteSections(), p.otherSections())
}

// molecule returns a sentence on the molecule of the work and its step, "" if there is none.
func (p *page) molecule() string {
	if p.home.Town.Personal {
		return ""
	}
	var texts []string
	for _, w := range p.work {
		texts = append(texts, w.Description)
	}
	for _, n := range p.hooked {
		texts = append(texts, n.Body)
	}
	id, step := "", ""
	for _, text := range texts {
		id = cmp.Or(id, p.line(beads.Molecule(text)))
	}
	if r := p.predecessor.Record; r != nil && (id == "" || id == r.MoleculeID) {
		id, step = r.MoleculeID, r.StepRef
	}
	if c := p.checkpoint; c != nil && (id == "" || id == c.MoleculeID) {
		id, step = c.MoleculeID, cmp.Or(c.CurrentStep, step)
	}
	if id == "" {
		return ""
	}
	text := " The work is part of the molecule " + p.env.Quoted(id)
	if step != "" {
		text += "; its last known step is " + p.env.Quoted(step)
	}
	if beads.Find(p.home) != "" {
		text += ": `bd mol current " + term.Quote(p.env.DisplayPath(id)) + "` shows where it is"
	}
	return text + "."
}

// finish returns the command that ends the given work. ID stands for the id of any of several.
func (p *page) finish() string {
	switch {
	case len(p.hooked) == 1 && len(p.work) == 0:
		return p.gt("mail done " + p.hooked[0].ID)
	case len(p.hooked) == 0 && len(p.work) == 1:
		return "`bd close " + p.issue(p.work[0]) + "`"
	}
	return p.gt("mail done ID") + ", with the id that " + p.gt("mail inbox") + " shows"
}

// ordinary returns the sections of a session that takes nothing over and has no given work.
func (p *page) ordinary() []section {
	text := p.identitySentence() + p.company()
	if p.partial {
		text += "\nNothing that could be read was handed over or is " + p.given() + " to you."
	} else {
		text += "\nNothing was handed over, and no work is " + p.given() + " to you."
	}
	text += " Do what you are asked; until then, wait for instructions."
	if p.predecessor.howEnded == session.Done {
		text += "\nThe conversation before this one was cleared on purpose. If you are asked about it: " +
			p.gt("checkpoint read") + ", " + p.gt("seance show "+string(p.predecessor.ID)) + "."
	}
	handOver := p.gt("handoff -s SUBJECT -m 'what is done, what is next, what to watch out for'")
	switch {
	case p.unkept:
		text += "\nNothing of this session can be saved, so there is no hand-over: what the next session must know has to stand in the files or in your last answer."
	case p.session.TmuxPane != "":
		text += "\nWhen your context fills up in the middle of a task, hand over to a fresh session, which takes your place here: " + handOver
	default:
		text += "\nWhen your context fills up in the middle of a task, save what the next session must know: " + handOver
	}
	if !p.unkept {
		text += "\nA question is no reason to hand over: ask it and wait for the answer."
	}
	sections := []section{{body: text}}
	if p.predecessor.howEnded == session.Done {
		return slices.Concat(sections, []section{p.lastingSection(), chain}, p.otherSections())
	}
	return append(sections, p.otherSections()...)
}

func (p *page) tellsTask() bool { return p.crashed != nil && len(p.tail.Requests) > 0 }

// company returns lines about another live session, unread notes, and what could not be read.
func (p *page) company() string {
	text := ""
	if len(p.others) > 0 {
		text += "\nAnother live session works in this folder under the same name. Do not edit the files that it is working on; " + p.gt("seance list") + " shows it."
	}
	if p.partial {
		text += "\nNot all notes and work could be read, so more may be " + p.given() + " to you than this text tells: " + p.gt("mail inbox") + " looks again."
	}
	if p.unread > 0 {
		text += "\n" + count.PluralForm(p.unread, "unread note waits", "unread notes wait") + ": " + p.gt("mail inbox") + "."
	}
	return text
}

// otherSections returns the sections of the checkpoint, the given work, what was recalled, the
// hooked notes and the role.
func (p *page) otherSections(recalled ...section) []section {
	var sections []section
	if p.checkpoint != nil {
		text := p.words(p.checkpointText())
		sections = append(sections, section{
			title: "Checkpoint", fullCommand: p.gt("checkpoint read"),
			whole: p.dialect.Size(text) <= p.dialect.MaxContext/10, // without notes it is short, and has what git says
		}.frame("the checkpoint", text))
	}
	title := "Given work"
	switch {
	case len(p.others) > 0:
		title = "The other session's work"
	case !p.home.Town.Personal:
		title = "Hooked work"
	}
	for _, w := range p.work {
		title := title
		if w.Status == beads.InProgress && len(p.others) == 0 {
			title = "Work in progress"
		}
		sections = append(sections, section{
			title:       title + ": " + p.issue(w) + " " + p.env.Quoted(w.Title),
			fullCommand: "`bd show " + p.issue(w) + "`",
		}.frame("the issue", p.words(w.Description)))
	}
	sections = append(sections, recalled...)
	for _, n := range p.hooked {
		sections = append(sections, p.noteSection(title, n))
	}
	return append(sections, p.role)
}

// checkpointText returns the checkpoint without what other sections tell of the session that
// saved it; "" if only the date is left.
func (p *page) checkpointText() string {
	c := *p.checkpoint
	if p.tellsTask() {
		c.LastAnswer = ""
		if p.isGiven(c.HookedBead) {
			c.HookedBead = ""
		}
		if c.StepTitle == "" && c.MoleculeID != "" && strings.Contains(p.molecule(), p.env.Quoted(c.MoleculeID)) {
			c.MoleculeID, c.CurrentStep = "", ""
		}
		if p.inGit { // the commands of git that the text names show it
			c.LastCommit = ""
		}
		if c.Branch == p.session.Branch {
			c.Branch = ""
		}
		c.ModifiedFiles = slices.DeleteFunc(slices.Clone(c.ModifiedFiles), func(f string) bool { return slices.Contains(p.tail.Files, f) })
	}
	text := c.Text()
	if p.tellsTask() && strings.Count(text, "\n") == 1 { // its date
		return ""
	}
	return text
}

// isNamed reports whether a note is only named: the crashed session described itself in it,
// and its transcript is newer.
func (p *page) isNamed(n mail.Note) bool {
	return p.tellsTask() && n.Session == string(p.crashed.ID) && !slices.ContainsFunc(p.notes(), func(o mail.Note) bool { return o.ID == n.ID })
}

// noteSection frames a note, as somebody's words and not an instruction of the user.
func (p *page) noteSection(title string, n mail.Note) section {
	words := p.words(p.notePart(n))
	if strings.TrimSpace(words) == "" {
		words = "(no words)"
	}
	if !n.Date.IsZero() {
		title += ", " + n.Date.UTC().Format("2006-01-02 15:04 MST")
	}
	return section{
		title:       title + ": " + p.env.Quoted(n.Subject),
		fullCommand: p.gt("mail read " + n.ID),
	}.frame(p.line(n.From), words)
}

// notePart returns the part of a note that no other section has: the person's messages are told
// from the thread, and after a crash so is the rest of it.
func (p *page) notePart(n mail.Note) string {
	switch {
	case p.tellsTask() && n.Session == string(p.crashed.ID) && brief.WrittenMessage(n.Body) != "":
		return brief.WrittenMessage(n.Body) // what it did later is told as well
	case p.thread == nil || n.Type != mail.Handoff || n.Chain != string(p.thread.ChainID):
		return n.Body
	case p.crashed != nil:
		return brief.StripChain(n.Body)
	}
	return brief.WithoutPrompts(n.Body)
}

func (p *page) words(text string) string { return p.env.Text(text) }

func (p *page) line(text string) string { return p.env.Line(text, 200) }

// issue returns an issue's id as one word of a command line, quoted if needed, because
// another program chose it.
func (p *page) issue(w beads.Work) string { return term.Quote(p.env.DisplayPath(w.ID)) }
