package handoffcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/conversation"
	"gt/lib/conversation/brief"
	"gt/lib/launch/beacon"
	"gt/lib/launch/gtexec"
	"gt/lib/launch/launcher"
	"gt/lib/launch/respawn"
	"gt/lib/place"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

type order struct {
	kind     string // session.KindHandoff, KindAuto or KindCycle
	subject  string
	to       string // the agent that follows
	reason   string
	collect  bool // add what the conversation, git and gt-mail say
	isHook   bool // a hook: nobody reads the output, and Input is a client's
	watch    bool // show the other agent's session afterwards
	quietGit bool // no warning about uncommitted or unpushed work
	dryRun   bool // change nothing
}

// handover is a resolved hand-over: the target, the order, the successor and whether that one gets the
// pane. It does not change afterwards, except in save if another gt-handoff was faster.
type handover struct {
	target
	order
	successor      respawn.Successor // without a client for session.KindAuto
	replaces       bool              // the successor gets the pane
	whyPaneLost    string            // why save took the pane from the successor: another gt-handoff
	whyPaneKept    string            // why a request from a sandbox gets no pane (whyKeepPane)
	folder         place.Folder      // where the successor starts
	folderReplaced error             // why folder is not the session's own any more
	isFull         bool              // the client compacts the conversation now
	carriedCopy    session.ID        // the copy of the conversation that the successor resumes
	startedIn      launcher.Launcher // what the agent was started in, if its pane is replaceable
}

// resolve finds the target, this session or the one that what names, and the successor. If
// what names work, resolve returns its id.
func resolve(env *cli.Env, call *hook.Invocation, o order, what *string) (h handover, work string, err error) {
	t := currentTarget(env, call, o.kind == session.KindAuto)
	if what != nil {
		if t, work, err = t.resolveName(*what, o.kind); err != nil {
			return h, "", err
		}
	}
	if o.kind == session.KindAuto {
		return handover{target: t, order: o}, work, nil
	}
	if h, err = t.withSuccessor(o); err == nil {
		err = h.findPlace()
		h.replaces = err == nil && t.canReplace() && h.startedIn.Why == "" && h.folder.Inode != 0
	}
	return h, work, err
}

// findPlace finds where the successor starts: its program, its folder, and for an agent whose pane
// it can get, the launcher, with the reason why it cannot be started in that.
func (h *handover) findPlace() error {
	err := h.findProgram()
	h.openFolder()
	if err == nil && h.canReplace() {
		h.startedIn = launcher.FindLauncher(h.clientTable(), h.client(), h.agent, h.pane)
		if h.startedIn.Why == "" && h.startedIn.Boxed && h.successor.BringsLauncher(h.successorRun("")) {
			h.startedIn.Why = "a program or file of that lies in the project, where an agent in a sandbox can change it"
		}
		if h.folderReplaced == nil {
			h.openFolder() // of the launcher, if that has one
		}
		if h.startedIn.Why == "" {
			if missing := h.successorRun("").MissingProgram(); missing != nil {
				h.startedIn.Why = missing.Error()
			}
		}
	}
	return err
}

// openFolder sets the folder in which the successor starts. A launcher has a folder of its own.
func (h *handover) openFolder() {
	h.folder = place.Folder{}
	path := h.dir
	if h.startedIn.Outer.IsSet() {
		path = h.startedIn.Dir
	}
	dir, err := h.home.Enter(path)
	if err == nil {
		h.folder = dir.Folder
		dir.Close()
	}
	if errors.As(err, new(*place.ExchangedError)) { // a missing folder is reported by the command to type
		h.folderReplaced = err
	}
}

// withSuccessor adds the successor: the agent that the order names, or the town names for the
// role, or the one that runs now.
func (t target) withSuccessor(o order) (handover, error) {
	c, err := t.chooseSuccessor(o)
	if err != nil {
		return handover{}, err
	}
	resumed := session.ID("")
	if o.kind == session.KindCycle {
		resumed = t.id
	}
	return handover{target: t, order: o, successor: respawn.NewSuccessor(c, t.home, resumed)}, nil
}

// chooseSuccessor returns the client that takes over: the one that the order names, or the town's for the
// role, or the same one. A cycle keeps the client, and needs a conversation that can continue.
func (t target) chooseSuccessor(o order) (agent.Client, error) {
	same, id := t.client(), t.home.Identity
	switch {
	case o.kind == session.KindCycle:
		if t.id == "" && !t.agent.IsSet() {
			return same, cli.Fail(cli.AnswerNo, errors.New("no session here has a conversation that can continue"),
				"without --cycle the next session in this folder gets the note")
		}
		if !same.CanResume() {
			return same, cli.Fail(cli.AnswerNo, fmt.Errorf("gt does not know how to make %s continue a conversation", same.Name),
				"without --cycle a fresh session takes over")
		}
		if t.hasNoHooks || t.id.Invented() {
			return same, cli.Fail(cli.AnswerNo, fmt.Errorf("gt does not know which conversation of %s this is", t.name),
				"without --cycle a fresh session takes over")
		}
		return same, nil
	case o.to == "" && id.Role == "":
		return same, nil
	case o.to == "":
		c, own, err := t.clientTable().ClientForRole(string(id.Role), id.Rig)
		if t.warn(err); !own && t.record != nil { // a town's default displaces no known agent
			return same, nil
		}
		return c, nil
	case t.clientTable().HasClient(o.to): // mutant always: . TestScripts/handoff_request
		return t.clientTable().FindClient(o.to), nil
	}
	if _, unread := t.table(); unread != nil {
		return same, cli.Failf(cli.IO, "no agent is called '%s' in the files that could be read", o.to)
	}
	return same, t.clientTable().UnknownError(o.to)
}

// findProgram returns why the successor cannot be started. The client that runs now always can.
func (h handover) findProgram() error {
	if h.successor.Client.Name == h.client().Name {
		return nil
	}
	if _, err := process.LookPath(h.successor.Client.Command[0], h.home.Dir, h.environ); err != nil {
		return cli.Fail(cli.AnswerNo, err, "install it, or put its folder on PATH; nothing was changed")
	}
	if !h.canReplace() {
		return nil // a person starts it and sees its questions
	}
	// In the pane it would wait for the person to trust its hooks, and not read the note.
	output, err := gtexec.Output("gt-hooks", h.home.Dir, h.environ, hooksWait, "blocked", h.successor.Client.Name)
	if reason, remedy, ok := strings.Cut(strings.TrimSpace(string(output)), "\t"); err == nil && ok {
		remedy, _, _ = strings.Cut(remedy, "\n")
		return cli.Fail(cli.AnswerNo, errors.New(reason), strings.TrimPrefix(remedy+"; nothing was changed", "; "))
	}
	return nil
}

const hooksWait = 5 * time.Second // limits the run of gt-hooks

// successorRun returns how the successor is started. subject is the note's and becomes part of the first
// prompt; "" will do where only the program and its surroundings count.
func (h handover) successorRun(subject string) respawn.Run {
	var next agent.NextRun
	switch {
	case h.kind == session.KindCycle:
		// --continue takes the latest conversation of the folder, which may be another session's.
		next = agent.NextRun{Prompt: conversation.Continuation, Resume: string(h.id)}
	case h.home.Town.Personal:
		if subject == brief.NoSubject {
			subject = ""
		}
		next.Prompt = beacon.FromNote(subject, h.hookDelivers() && h.carriedCopy == "") // clients drop the output of hooks for a resumed conversation
	default:
		sender, molecule := beacon.SelfSender, ""
		if h.remote {
			sender = h.call.Home.Identity.String()
		}
		if h.record != nil {
			molecule = h.redact(h.record.MoleculeID) // it becomes part of an argument
		}
		next.Prompt = beacon.Prompt(h.home.Identity, sender, h.env.Now(), beacon.Handoff, molecule)
	}
	if h.carriedCopy != "" {
		next.Resume = string(h.carriedCopy)
	}
	// Only the conversation that the server of several windows has open goes on in that server.
	next.Alone = next.Resume == "" || next.Resume != string(h.id) || !h.record.Served()
	prev := respawn.Previous{Client: h.client().Name, Environ: h.environ, Dir: h.dir, Process: h.agent, Pane: h.pane, Launcher: h.startedIn}
	prev.Args, _ = h.agentArgs() // without readable arguments the agent is started without any
	r := h.successor.PlanRun(prev, next, h.clientTable())
	r.Folder = h.folder
	if r.FirstPrompt != nil {
		r.FirstPrompt.Unreported = !h.hookDelivers()
	}
	return r
}

// hookDelivers reports whether a hook will give the successor its note: one has started a
// session of the same agent in this folder.
func (h handover) hookDelivers() bool {
	name := h.successor.Client.Name
	if r := h.record; r != nil && r.Agent == name {
		return r.Hook != nil
	}
	records, _ := h.store.ReadRecords() // unreadable records are no evidence
	return slices.ContainsFunc(records, func(r *session.Record) bool { return r.Agent == name && r.Hook != nil })
}

// cooldown is the shortest time between two cycles. A conversation that fills up faster
// would cycle for ever.
const cooldown = 2 * time.Minute

// refuseLoop returns an error within the cooldown. If note is set it records this cycle.
// The modification time of a file is the time of the last cycle.
func (h handover) refuseLoop(note bool) error {
	path := h.home.Path("last_handoff_ts")
	info, err := os.Lstat(path)
	if err == nil {
		if since := h.env.Now().Sub(info.ModTime()); since >= 0 && since < cooldown {
			return cli.Failf(cli.Busy, "the last cycle was %v ago, less than %v: gt prevents loops", since.Round(time.Second), cooldown)
		}
	}
	if !note {
		return nil
	}
	if err := h.home.Prepare(); err != nil {
		return err
	}
	return atomicfile.Write(path, fmt.Appendf(nil, "%d\n", h.env.Now().Unix()), atomicfile.Unsynced)
}

// expireNotes removes notes of hand-overs that were delivered long ago; the thread keeps what must last. The
// caller holds the home's lock, so no session starts meanwhile that needs one.
func (h *handover) expireNotes(box mail.Box, now time.Time) error {
	age := func() time.Duration {
		unsure := agent.Retention(0)
		own := agent.LoadPreferences(place.Config(h.env.Getenv), func(err error) {
			h.warn(err)
			unsure = agent.Forever // remove nothing if the setting cannot be read
		})
		return max(own.KeepNotes, unsure).Duration()
	}
	var named map[string]bool
	return box.Expire(now, agent.MinKeep, age, func(n mail.Note) bool {
		if named == nil {
			named = h.referencedNotes()
		}
		return named == nil || named[n.ID] || h.isLastMessage(session.ID(n.Chain), n.ID)
	})
}

// referencedNotes returns the ids of the notes that a session's record names, or nil if not every
// record could be read.
func (h *handover) referencedNotes() map[string]bool {
	unread := false
	records, err := session.Store{Home: h.home, Warn: func(err error) { h.warn(err); unread = true }}.ReadRecords()
	if h.warn(err); err != nil || unread { // mutant never: . TestScripts/handoff_retention
		return nil
	}
	named := map[string]bool{}
	for _, r := range records {
		notes := append(slices.Clone(r.DeliveredNotes), r.Note)
		if p := r.Handoff; p != nil {
			notes = append(append(notes, p.Before...), p.Note)
		}
		for _, id := range notes {
			named[id] = true
		}
	}
	return named
}

// isLastMessage reports whether a note has one of the last two messages of a chain, which the next
// session receives in full. It is true if that cannot be read.
func (h *handover) isLastMessage(chain session.ID, note string) bool {
	if chain == "" {
		return false
	}
	unread := false
	t, err := thread.Read(h.home.Town.State, chain, func(err error) { h.warn(err); unread = true })
	if errors.Is(err, thread.ErrNone) {
		return unread
	} else if err != nil {
		h.warn(err)
		return true
	}
	last := t.Messages[max(0, len(t.Messages)-2):]
	return slices.ContainsFunc(last, func(m thread.Message) bool { return m.Note == note })
}
