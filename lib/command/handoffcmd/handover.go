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
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// order is what is asked for, by flags or by what was left from within a sandbox.
type order struct {
	kind     string // session.KindHandoff, KindAuto or KindCycle
	subject  string
	to       string // the agent that is to follow
	reason   string
	collect  bool
	hook     bool // nobody reads what is printed, and Input is a client's
	watch    bool
	quietGit bool
	dryRun   bool // nothing is to be changed
}

// handover is one hand-over that is decided on: whose, what is asked for, who
// follows, and whether that one gets the pane. Nothing of it changes under way,
// except that another gt-handoff can be faster (save).
type handover struct {
	target
	order
	successor respawn.Successor // without a client in it for session.KindAuto
	replaces  bool              // the successor is given the pane
	paneLost  string            // why it was not, after all
	keptPane  string            // why the pane is not given away, where it could be
	folder    place.Folder      // that the successor starts in
	exchanged error             // why it would start in another folder than the session did
	full      bool              // the conversation is as long as its client lets it grow
	carried   session.ID        // the copy of the conversation that the successor goes on with
	in        launcher.Launcher // what the agent was started in, where its pane could be given away
}

// resolve finds out what is handed over: our own session, or the one that what
// names; and who follows. work is the id of work that what names instead.
func resolve(env *cli.Env, call *hook.Invocation, o order, what *string) (h handover, work string, err error) {
	t := self(env, call, o.kind == session.KindAuto)
	if what != nil {
		if t, work, err = t.named(*what, o.kind); err != nil {
			return h, "", err
		}
	}
	if o.kind == session.KindAuto {
		return handover{target: t, order: o}, work, nil
	}
	h, err = t.follow(o)
	if err == nil {
		err = h.findProgram()
	}
	h.openFolder()
	if err == nil && t.replaceable() {
		if h.in = h.launcher(); h.exchanged == nil {
			h.openFolder()
		}
		h.replaces = h.in.Why == "" && h.folder.Inode != 0
	}
	return h, work, err
}

// launcher is what our agent was started in, and its successor is.
func (h handover) launcher() launcher.Launcher {
	h.in = launcher.Of(h.known(), h.client(), h.agent, h.pane)
	if h.in.Why == "" && h.in.Boxed && h.successor.BringsLauncher(h.run("")) {
		h.in.Why = "a program or file of that lies in the project, where an agent in a sandbox can change it"
	}
	return h.in
}

// openFolder finds out which folder the successor would start in: what it was started in has
// one of its own.
func (h *handover) openFolder() {
	h.folder = place.Folder{}
	path := h.dir
	if h.in.Outer.IsSet() {
		path = h.in.Dir
	}
	dir, err := h.home.Enter(path)
	if err == nil {
		h.folder = dir.Folder
		err = dir.Close()
	}
	if errors.As(err, new(*place.ExchangedError)) { // of one that is gone the person is told what to type
		h.exchanged = err
	}
}

// follow says who follows: the agent that the caller names, the one that the town
// names for this role, or the one that runs now.
func (t target) follow(o order) (handover, error) {
	c, err := t.successor(o)
	if err != nil {
		return handover{}, err
	}
	resumed := session.ID("")
	if o.kind == session.KindCycle {
		resumed = t.id
	}
	return handover{target: t, order: o, successor: respawn.NewSuccessor(c, t.home, resumed)}, nil
}

// successor is the client that follows.
func (t target) successor(o order) (agent.Client, error) {
	same, id := t.client(), t.home.Identity
	switch {
	case o.kind == session.KindCycle:
		if !same.CanResume() {
			return same, cli.Fail(cli.No, fmt.Errorf("gt does not know how to make %s continue a conversation", same.Name),
				"without --cycle a fresh session takes over")
		}
		if t.unknown || t.id.Invented() {
			return same, cli.Fail(cli.No, fmt.Errorf("gt does not know which conversation of %s this is", t.name),
				"without --cycle a fresh session takes over")
		}
		return same, nil
	case o.to == "" && id.Role == "":
		return same, nil
	case o.to == "":
		c, own, err := t.known().For(string(id.Role), id.Rig)
		if t.warn(err); !own && t.record != nil { // else nothing runs that could go on
			return same, nil
		}
		return c, nil
	case t.known().Known(o.to):
		return t.known().Of(o.to), nil
	}
	if _, unread := t.table(); unread != nil {
		return same, cli.Failf(cli.IO, "no agent is called '%s' in the files that could be read", o.to)
	}
	return same, t.known().Unknown(o.to)
}

// findProgram says what keeps the agent that follows from being started. One that
// runs now can be.
func (h handover) findProgram() error {
	if h.successor.Client.Name == h.client().Name {
		return nil
	}
	if _, err := process.LookPath(h.successor.Client.Command[0], h.home.Dir, h.environ); err != nil {
		return cli.Fail(cli.No, err, "install it, or put its folder on PATH; nothing was changed")
	}
	if !h.replaceable() {
		return nil // a person starts it, and sees what it asks
	}
	// It would wait in the pane for the person's word before it reads the note.
	said, err := gtexec.Output("gt-hooks", h.home.Dir, h.environ, hooksWait, "blocked", h.successor.Client.Name)
	if reason, remedy, ok := strings.Cut(strings.TrimSpace(string(said)), "\t"); err == nil && ok {
		remedy, _, _ = strings.Cut(remedy, "\n")
		return cli.Fail(cli.No, errors.New(reason), strings.TrimPrefix(remedy+"; nothing was changed", "; "))
	}
	return nil
}

// hooksWait is how long gt-hooks has to say whether an agent runs its hooks.
const hooksWait = 5 * time.Second

// run is how the successor starts, with a note of that subject.
func (h handover) run(subject string) respawn.Run {
	var next agent.Next
	switch {
	case h.kind == session.KindCycle:
		// --continue takes the folder's latest conversation, which need not be
		// ours; the id cannot be mistaken.
		next = agent.Next{Prompt: conversation.Continuation, Resume: string(h.id)}
	case h.home.Town.Personal:
		if subject == brief.NoSubject {
			subject = ""
		}
		next.Prompt = beacon.FromNote(subject, h.hookDelivers() && h.carried == "") // clients drop what hooks tell a conversation that is resumed
	default:
		next.Prompt = beacon.Prompt(h.home.Identity, h.sender(), h.env.Now(), beacon.Handoff, h.molecule())
	}
	if h.carried != "" {
		next.Resume = string(h.carried)
	}
	prev := respawn.Previous{Client: h.client().Name, Environ: h.environ, Dir: h.dir, Process: h.agent, Pane: h.pane, In: h.in}
	prev.Args, _ = h.args() // an agent whose arguments nobody can read is started plainly
	r := h.successor.Run(prev, next, h.known())
	r.Folder = h.folder
	return r
}

// hookDelivers reports whether a hook tells the successor its note, as far as is known: one
// has started a session of the same agent in this folder.
func (h handover) hookDelivers() bool {
	name := h.successor.Client.Name
	if r := h.record; r != nil && r.Agent == name {
		return r.Hook != nil
	}
	records, _ := h.store.All() // what cannot be read tells nothing
	return slices.ContainsFunc(records, func(r *session.Record) bool { return r.Agent == name && r.Hook != nil })
}

// sender is who starts the successor, as its beacon says it.
func (h handover) sender() string {
	if h.remote {
		return h.call.Home.Identity.String()
	}
	return beacon.Self
}

func (h handover) molecule() string {
	if h.record != nil {
		return h.redact(h.record.MoleculeID) // it goes into the first prompt, which is an argument
	}
	return ""
}

// cooldown is how soon after a cycle the next is refused: a conversation that
// fills up again that fast would cycle for ever.
const cooldown = 2 * time.Minute

// refuseLoop stops a conversation that cycles again as soon as it goes on, and
// notes this cycle where it is to be noted. The last cycle's time is that of a file.
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
