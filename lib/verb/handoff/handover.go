package handoff

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/agent"
	"gt/lib/atomicfile"
	"gt/lib/brief"
	"gt/lib/cli"
	"gt/lib/eventlog"
	"gt/lib/git"
	"gt/lib/home"
	"gt/lib/hook"
	"gt/lib/mail"
	"gt/lib/marker"
	"gt/lib/process"
	"gt/lib/redact"
	"gt/lib/session"
	"gt/lib/tmux"
	"gt/lib/transcript"
)

// handover is one hand-over: whose, in which pane, and what is told.
type handover struct {
	env  *cli.Env
	call *hook.Call
	g    *grammar
	kind string // session.KindHandoff, KindAuto or KindCycle

	// The session that is handed over: our own, or another one's.
	home   home.Home
	store  session.Store
	record *session.Record // nil when no session is known there
	agent  process.Proc    // the client's process, unknown when none runs
	server tmux.Server
	pane   tmux.Pane // empty outside tmux
	remote bool
	vars   []string // see environ

	state      git.State
	note       mail.Note
	essentials string // what a summary of the conversation must keep
}

// paneWait bounds the question which tmux session we are in.
const paneWait = time.Second

// cooldown is how soon after a cycle the next is refused: a conversation that
// fills up again that fast would cycle for ever.
const cooldown = 2 * time.Minute

func (g *grammar) handOver(env *cli.Env, call *hook.Call) error {
	h := &handover{env: env, call: call, g: g, kind: session.KindHandoff}
	switch {
	case g.Auto:
		h.kind = session.KindAuto
	case g.Cycle:
		h.kind = session.KindCycle
	}
	changes := !g.Print && !g.DryRun && !g.Restart
	if err := h.findSelf(changes); err != nil {
		return err
	}
	var work string
	if g.What != "" {
		var err error
		if work, err = h.resolve(g.What); err != nil {
			return err
		}
	}
	if g.Restart {
		return h.printRestart()
	}
	if h.kind == session.KindCycle {
		if err := h.refuseLoop(); err != nil {
			return err
		}
	}
	if err := h.compose(work); err != nil {
		return err
	}
	if g.Print {
		_, err := h.note.WriteTo(env.Stdout)
		return err
	}
	h.warnOfGit()
	if g.DryRun {
		return h.printPlan(work)
	}
	if work != "" {
		if err := h.hookWork(work); err != nil {
			return err
		}
	}
	saved, err := h.save()
	if err != nil || !saved {
		return err
	}
	if h.kind == session.KindAuto {
		return h.tellSummariser()
	}
	return h.restart()
}

// findSelf finds the session that runs us, its process and its pane.
func (h *handover) findSelf(changes bool) error {
	h.home, h.store = h.call.Home, h.call.Store
	if changes && h.call.ID != "" {
		if err := h.call.Adopt(); err != nil {
			return err
		}
	}
	if h.call.ID != "" {
		r, err := h.store.Get(h.call.ID)
		if err != nil {
			return err
		}
		h.record = r
	}
	if h.record != nil && h.record.Process().Alive() {
		h.agent = h.record.Process()
	}
	server, pane := tmux.FromEnv(h.env.Getenv)
	if pane == "" {
		return nil
	}
	h.server = tmux.Server(server)
	p, err := h.server.Pane(pane, paneWait)
	if err != nil {
		h.env.Warn("%v", err)
		return nil
	}
	h.pane = p
	return nil
}

// compose writes the note.
func (h *handover) compose(work string) error {
	message, err := h.g.message(h.env)
	if err != nil {
		return err
	}
	if h.remote && message == "" && h.g.Subject == "" {
		message = "You were handed over by " + h.call.Home.Identity.Address() + "."
	}
	state, err := git.Status(h.home.Dir, gitWait)
	if err != nil && !errors.Is(err, git.ErrNotRepository) {
		h.env.Warn("%v", err)
	}
	h.state = state
	b := brief.Brief{Message: message}
	if h.g.Collect {
		h.collect(&b)
	}
	h.essentials = b.Essentials()
	id := h.home.Identity.Address()
	h.note = mail.Note{
		Type: mail.Handoff, From: h.call.Home.Identity.Address(), To: id,
		Subject: h.g.Subject, Date: h.env.Now(), Body: b.Text(),
	}
	if h.record != nil {
		h.note.Session, h.note.Chain = string(h.record.ID), string(h.record.ChainID)
	}
	if h.note.Subject == "" {
		h.note.Subject = b.Subject()
	}
	if work != "" {
		h.note.Body = "Hooked: " + work + "\n\n" + h.note.Body
	}
	environ := h.environ()
	h.note.Subject = redact.Text(h.note.Subject, environ)
	h.note.Body = redact.Text(h.note.Body, environ)
	h.essentials = redact.Text(h.essentials, environ)
	return nil
}

// redact takes secrets out of a text.
func (h *handover) redact(text string) string { return redact.Text(text, h.environ()) }

// collect adds what the transcript, git and the box say. What cannot be read
// is left out: a hand-over with less is better than none.
func (h *handover) collect(b *brief.Brief) {
	warn := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.env.Warn("%v", err)
		}
	}
	var err error
	if path := h.transcript(); path != "" {
		b.Session, err = transcript.Tail(path, h.redact)
		warn(err)
	}
	b.State = h.state
	if h.record != nil {
		b.Commits = git.Commits(h.home.Dir, h.record.StartedAt)
	}
	box := mail.Of(h.home, h.home.Identity.Address())
	hooked, err := box.Hooked()
	warn(err)
	b.Hooked = slices.DeleteFunc(hooked, func(n mail.Note) bool { return n.Type == mail.Handoff })
	b.Unread, err = box.Unread()
	warn(err)
}

// gitWait bounds git, which may be slow in a huge worktree.
const gitWait = 3 * time.Second

// transcript is the path of the session's transcript.
func (h *handover) transcript() string {
	if !h.remote && h.call.Input.Transcript != "" {
		return h.call.Input.Transcript
	}
	if h.record != nil {
		return h.record.Transcript
	}
	return ""
}

// environ is the environment that the client was started with, or ours where
// that cannot be read.
func (h *handover) environ() []string {
	if h.vars == nil {
		h.vars = h.env.Environ
		if h.agent.Known() {
			if vars, err := h.agent.Environ(); err == nil && len(vars) > 0 {
				h.vars = vars
			}
		}
	}
	return h.vars
}

// warnOfGit says what a successor will find half done. It is no reason to
// refuse: the files stay where they are.
func (h *handover) warnOfGit() {
	if h.g.NoGitCheck || h.g.Hook {
		return
	}
	if s := h.state; len(s.Changes) > 0 || s.Ahead > 0 {
		h.env.Warn("the worktree is left as it is: %s", s.Summary())
	}
}

// save makes the hand-over durable: the note, the marker, the record, the
// event. It reports false when the same hook input was acted on already.
func (h *handover) save() (bool, error) {
	now := h.env.Now()
	lock, err := h.home.Lock()
	if err != nil {
		return false, err
	}
	defer lock.Unlock()

	id, previous, from := session.ID(""), "", h.pane.Session
	if h.record != nil {
		// Another hook may have written it since.
		if h.record, err = h.store.Get(h.record.ID); err != nil {
			return false, err
		}
	}
	if r := h.record; r != nil {
		if h.g.Hook && h.call.Input.Key != "" {
			first, err := h.store.Claim(now, r, h.call.Input.Key)
			if err != nil || !first {
				return false, err
			}
		}
		id = r.ID
		if r.Handoff != nil {
			previous = r.Handoff.Marker
		}
		if from == "" {
			from = string(r.ID)
		}
	} else {
		id = session.NewID() // a person hands over to whoever starts here next
		if from == "" {
			from = h.home.Identity.Address()
		}
	}

	box := mail.Of(h.home, h.home.Identity.Address())
	note, err := box.Deliver(h.note, true)
	if err != nil {
		return false, err
	}
	if err := box.Supersede(h.note.Chain, note); err != nil {
		return false, err
	}
	h.note.ID = note
	reason := h.reason()
	if h.record != nil {
		h.record.Handoff = &session.Pending{
			Kind: h.kind, Note: note, Reason: reason, At: now, Respawn: h.respawns(), Marker: previous,
		}
	}
	name, err := marker.Write(h.home, id, from, reason, previous)
	if err != nil {
		return false, err
	}
	if h.record != nil {
		h.record.Handoff.Marker = name
		if err := h.store.Put(h.record, atomicfile.Synced); err != nil {
			return false, err
		}
	}
	payload := struct {
		SessionID session.ID `json:"session_id,omitempty"`
		Subject   string     `json:"subject"`
		ToSession bool       `json:"to_session"`
		Reason    string     `json:"reason,omitempty"`
		Kind      string     `json:"kind"`
		Note      string     `json:"note"`
	}{Subject: h.note.Subject, ToSession: h.respawns(), Reason: reason, Kind: h.kind, Note: note}
	if h.record != nil {
		payload.SessionID = h.record.ID
	}
	err = eventlog.Log(h.home.Town.Events()).Append(now, eventlog.Handoff, h.home.Identity.Address(), payload)
	return err == nil, err
}

func (h *handover) reason() string {
	if h.g.Reason == "" && h.kind != session.KindHandoff {
		return marker.Compaction
	}
	return h.g.Reason
}

// respawns says whether the pane will be given to a fresh agent: only where an
// agent runs in it, and it is that agent's own. A person's shell is left alone,
// and so is the agent that runs ours as its child.
func (h *handover) respawns() bool {
	return h.kind != session.KindAuto && h.pane.ID != "" && h.agent.Known() && h.ownsPane()
}

// ownsPane says whether the pane began with our agent or with a shell that it
// was started from, and no other client stands in between.
func (h *handover) ownsPane() bool {
	if h.agent.PID == h.pane.PID {
		return true
	}
	for _, pid := range process.Ancestors(h.agent.PID) {
		switch {
		case agent.IsClient(process.Name(pid)):
			return false
		case pid == h.pane.PID:
			return true
		}
	}
	return false
}

// refuseLoop stops a conversation that cycles again as soon as it goes on.
// The last cycle's time is that of a file.
func (h *handover) refuseLoop() error {
	if h.g.DryRun || h.g.Print {
		return nil
	}
	path := h.home.Path("last_handoff_ts")
	info, err := os.Lstat(path)
	if err == nil {
		if since := h.env.Now().Sub(info.ModTime()); since >= 0 && since < cooldown {
			return cli.Failf(cli.Busy, "the last cycle was %v ago, under %v: a loop is not fed", since.Round(time.Second), cooldown)
		}
	}
	if err := h.home.Prepare(); err != nil {
		return err
	}
	return atomicfile.Write(path, fmt.Appendf(nil, "%d\n", h.env.Now().Unix()), atomicfile.Unsynced)
}

// tellSummariser prints what a summary of the conversation should keep, for
// the client that takes it. A client that does not is told nothing.
func (h *handover) tellSummariser() error {
	if !hook.DialectOf(h.call.Agent).Compaction {
		if !h.g.Hook {
			fmt.Fprintf(h.env.Stdout, "saved: gt-mail read %s\n", h.note.ID)
		}
		return nil
	}
	if !h.g.Hook {
		_, err := fmt.Fprintf(h.env.Stdout, "saved: gt-mail read %s\n", h.note.ID)
		return err
	}
	text := "Keep in the summary, as exactly as they were said: the task that is being worked on and what would finish it; " +
		"decisions with their reasons; what was tried and failed; open to-dos; names of files, functions, commands and ids; " +
		"what the user asked not to do.\n"
	if facts := strings.TrimSpace(h.essentials); facts != "" {
		text += "\nThis stood at the end of the conversation and must not be lost:\n\n" + facts + "\n\n"
	}
	text += "End the summary with this line: Everything from before the compaction is in `gt-mail read " + h.note.ID + "`.\n"
	_, err := io.WriteString(h.env.Stdout, text)
	return err
}

// restart puts the successor into the pane, or says how to.
func (h *handover) restart() error {
	if !h.respawns() {
		return h.sayHowToGoOn()
	}
	r, err := h.successor()
	if err != nil {
		return err
	}
	if r.Remain, err = h.server.RemainOnExit(h.pane.ID); err != nil {
		return err
	}
	path, err := r.write(h.home)
	if err != nil {
		return err
	}
	vars := [][2]string{{"GT_AGENT", h.client().Name}, {"GT_PROCESS_NAMES", strings.Join(h.client().Processes, ",")}}
	if err := h.server.SetEnvironment(h.pane.Session, vars); err != nil {
		h.env.Warn("%v", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if h.remote {
		// The pane must outlive its agent.
		if err := h.server.Keep(h.pane.ID); err != nil {
			return err
		}
		h.stopAgent()
	}
	signal.Ignore(syscall.SIGHUP) // it comes with the respawn to all in the pane, and we have more to say
	if err := h.server.Respawn(h.pane.ID, self, "--exec", path); err != nil {
		atomicfile.Remove(path)
		if rerr := h.server.RestoreRemainOnExit(h.pane.ID, r.Remain); rerr != nil {
			h.env.Warn("%v", rerr)
		}
		return cli.WithHint(err, "the note is saved: the next session that starts in %s gets it", h.home.Dir)
	}
	if h.remote {
		fmt.Fprintf(h.env.Stdout, "handed over %s in tmux session %s\n", h.home.Identity.Address(), h.pane.Session)
		if h.g.Watch && h.env.Getenv("TMUX") != "" {
			return h.server.SwitchClient(h.pane.Session)
		}
	}
	return nil
}

// client is the table entry of the client that is handed over.
func (h *handover) client() agent.Client {
	if h.record != nil && h.record.Agent != "" {
		return agent.Of(h.record.Agent)
	}
	return agent.Of(h.call.Agent)
}

// sayHowToGoOn tells a caller without a pane, or without an agent in it, what
// to type.
func (h *handover) sayHowToGoOn() error {
	how := h.client().Command
	if h.kind == session.KindCycle && h.record != nil {
		how = strings.Join(h.client().Restart([]string{how}, agent.Next{Resume: string(h.record.ID)}), " ")
	}
	_, err := fmt.Fprintf(h.env.Stdout, "saved: gt-mail read %s\nend this session, then type: cd %s && %s\nit starts with the note\n",
		h.note.ID, quote(h.home.Dir), how)
	return err
}
