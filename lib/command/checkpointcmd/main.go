// Package checkpointcmd is the gt-checkpoint command: it writes, reads and clears what a
// session saves in case it crashes.
package checkpointcmd

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/contract"
	"gt/lib/client/hook"
	"gt/lib/client/readers/files"
	"gt/lib/client/recorded"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/entries"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/town"
	"gt/lib/state/activity"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/frame"
	"gt/lib/text/term"
)

func Program() cli.Program {
	return cli.Program{
		Name: "gt-checkpoint",
		Summary: `
Saves the state of a session, in case it dies without a hand-over: the state of
git, its work, and the agent's last words. A hook writes a checkpoint after
every turn. An agent can add what only it knows. That stays until the agent
changes it:

  gt-checkpoint write --notes 'tests pass; next: the migration'
  gt-checkpoint read

A checkpoint older than a day is ignored.`,
		Exits: `
0  done, or there was nothing to do; with --hook always
1  read: there is no checkpoint`,
		Prepare:      hook.DefaultArgs("write", "--hook"),
		Grammar:      &grammar{},
		FastPath:     hook.FastPath(func(f hook.Flags) cli.Command { return &write{Flags: f} }, "write"),
		UnusedGroups: town.UnusedHelp,
	}
}

type grammar struct {
	cli.Flags
	Write write `cmd:"" help:"Save the state of this session."`
	Read  read  `cmd:"" default:"withargs" help:"Show what this session saved here, or else the last one (the default)."`
	Clear clear `cmd:"" help:"Remove what this session saved here; if a person runs it, all checkpoints."`
}

type write struct {
	hook.Flags
	Notes     *string `help:"What the successor must know. An empty TEXT removes it." placeholder:"TEXT"`
	Molecule  *string `help:"The molecule in progress (default: the one that the work names). An empty ID removes it." placeholder:"ID" group:"In a town:"`
	Step      *string `help:"The current step of the molecule." placeholder:"ID" group:"In a town:"`
	StepTitle *string `help:"The title of that step." placeholder:"TEXT" group:"In a town:"`
}

// gitWait limits git, which may be slow in a huge worktree. On a timeout the checkpoint
// lacks git's part.
const gitWait = 3 * time.Second

const maxAnswer = 1500 // limits the agent's last answer, in characters

// Run saves the state of git and what the caller reports. What the caller omits keeps its
// earlier value.
func (w *write) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, w.Flags)
	if call.IsIdle() {
		return nil
	}
	err := w.saveCheckpoint(env, call)
	if w.Hook && call.Input.Kind() == "Stop" {
		call.Warn(call.RecordInput(w.Flags))
		call.Warn(call.KeepConversation(w.Flags, hook.TurnEnded))
		call.Warn(call.TellStopped(w.Flags))
	}
	return call.End(err)
}

// saveCheckpoint writes the checkpoint, and the work that it names into the session's record.
func (w *write) saveCheckpoint(env *cli.Env, call *hook.Invocation) error {
	if r := call.Home.Identity.Role; !r.HasOwnWork() {
		if !w.Hook {
			env.Warn("nothing was saved: the %s has no work of its own to recover", r)
		}
		return nil
	}
	if !w.Hook {
		if asked, err := w.requestSave(env, call); asked {
			return err
		}
	}
	if err := call.Home.Prepare(); err != nil {
		return err // git could not be run either
	}
	adopted := call.EnsureRecord() // save even without a record
	env.WarnError(call.NameTmux())
	if w.Hook {
		share := activity.DefaultShare
		if w.Fill != nil {
			share = *w.Fill
		}
		call.Warn(call.NameTranscript())
		call.Warn(readTurn(env, call, share))
	}
	state, err := git.Status(call.Home.Dir, gitWait)
	if err != nil && !errors.Is(err, git.ErrNotRepository) {
		env.WarnError(err)
	}
	lock, err := call.Home.Lock()
	if err != nil {
		return errors.Join(adopted, err)
	}
	defer lock.Unlock()
	r, err := call.Store.Get(call.ID)
	call.Warn(err)
	if w.Hook && r != nil && r.Ended() {
		return nil // a late hook of an ended session
	}
	c, err := checkpoint.Open(call.Home, call.ID, env.Now())
	call.Warn(err)
	c.Timestamp, c.TakenBy = env.Now().UTC(), ""
	c.Branch, c.LastCommit = state.Branch, state.Head
	c.SetFiles(state.Changes)
	before := c.HookedBead
	if before == "" && r != nil {
		before = r.WorkUnit
	}
	id, molecule := w.hookedWork(env, call, before)
	// The molecule that the agent reported stays until other work names one.
	if c.MoleculeID == "" || id != c.HookedBead && molecule != "" {
		c.MoleculeID = molecule
	}
	c.HookedBead = id
	w.addReport(env, c, call.Input.LastAnswer)
	c.Clean(env.Redact)
	if err := errors.Join(adopted, c.Write(call.Home), w.noteWork(call, r, c)); err != nil || w.Hook {
		return err
	}
	return env.Println("saved")
}

// noteWork updates the work in the session's record. Work given at the start stays until
// the session reports other work.
func (w *write) noteWork(call *hook.Invocation, r *session.Record, c *checkpoint.Checkpoint) error {
	if r == nil || r.Ended() {
		return nil
	}
	unit, molecule, step := cmp.Or(c.HookedBead, r.WorkUnit), c.MoleculeID, c.CurrentStep
	if w.Molecule == nil {
		molecule = cmp.Or(molecule, r.MoleculeID)
	}
	if w.Step == nil {
		step = cmp.Or(step, r.StepRef)
	}
	if r.WorkUnit == unit && r.MoleculeID == molecule && r.StepRef == step {
		return nil
	}
	r.WorkUnit, r.MoleculeID, r.StepRef = unit, molecule, step
	return call.Store.Put(r, atomicfile.Unsynced)
}

// requestSave leaves the agent's report to the hook at the end of its turn, if a sandbox
// keeps the command from saving it. asked reports that; then the command itself saves nothing.
func (w *write) requestSave(env *cli.Env, call *hook.Invocation) (asked bool, err error) {
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil || r.Hook == nil || r.Ended() {
		return false, nil // without a hook nobody would read the request
	}
	lock, denied := call.Home.Lock()
	if denied == nil {
		lock.Unlock()
	}
	if !request.Denied(denied) {
		return false, nil
	}
	clean := func(s *string) *string {
		if s != nil {
			cleaned := env.Redact(*s)
			s = &cleaned
		}
		return s
	}
	said, err := request.Leave(request.HomeOf(place.ScopeOf(env.Getenv), call.Home, r.ID), r.ID, request.Item{
		Kind: request.Checkpoint, At: env.Now(),
		Notes: clean(w.Notes), Molecule: clean(w.Molecule), Step: clean(w.Step), StepTitle: clean(w.StepTitle),
	})
	if err != nil {
		return true, err
	}
	if said != "" {
		said += "\n"
	} else { // if the request could be delivered after all, it was not the sandbox
		env.WarnError(denied)
	}
	err = env.Printf("%sThe sandbox does not let this command write the checkpoint; it is saved when your turn ends.\n", said)
	return true, err
}

// addReport adds what the caller reports: nil keeps the value from before, "" removes it.
func (w *write) addReport(env *cli.Env, c *checkpoint.Checkpoint, answer string) {
	for to, given := range map[*string]*string{
		&c.Notes: w.Notes, &c.MoleculeID: w.Molecule, &c.CurrentStep: w.Step, &c.StepTitle: w.StepTitle,
	} {
		if given != nil {
			*to = *given
		}
	}
	if answer != "" {
		c.LastAnswer = summary.Cut(env.Redact(answer), maxAnswer)
	}
}

// hookedWork returns the id of the work that is hooked to the agent, and its molecule. bd is too
// slow for a hook, which keeps the value from before.
func (w *write) hookedWork(env *cli.Env, call *hook.Invocation, before string) (id, molecule string) {
	box := mail.NewBox(call.Home, call.Home.Identity.Address())
	notes, err := box.Hooked()
	env.WarnError(err)
	for _, n := range notes {
		if n.Type == mail.Handoff {
			continue
		}
		whole, err := box.Get(n.ID)
		switch {
		case errors.Is(err, mail.ErrNotFound):
			continue // closed meanwhile
		case err != nil:
			env.WarnError(err)
		}
		return n.ID, beads.Molecule(whole.Body)
	}
	if w.Hook && before != "" {
		// If before is not a note, it is bd's. If that cannot be looked up, keep it, too.
		if _, lookup := box.Get(before); lookup != nil || err != nil {
			return before, ""
		}
	}
	if w.Hook {
		return "", ""
	}
	issues, err := beads.Given(call.Home, env.ChildEnviron())
	env.WarnError(err)
	if len(issues) == 0 {
		return "", ""
	}
	return issues[0].ID, beads.Molecule(issues[0].Description)
}

type read struct {
	JSON bool `name:"json" help:"Print the file's fields as one JSON object."`
}

// Run prints the checkpoint of this session, or the one that it received, or the newest of the home.
func (r *read) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, hook.Flags{})
	if err := call.Home.Town.State.CheckOwner(); err != nil {
		return err
	}
	all, err := checkpoint.List(call.Home)
	env.WarnError(err)
	if len(all) == 0 {
		return cli.WithHint(cli.Failf(cli.AnswerNo, "there is no checkpoint in '%s'", call.Home.Dir),
			"an agent here whose hooks are wired writes one after every turn; gt-hooks status shows the wiring")
	}
	c := all[0]
	for _, mine := range []func(*checkpoint.Checkpoint) bool{
		func(c *checkpoint.Checkpoint) bool { return c.TakenBy == call.ID },
		func(c *checkpoint.Checkpoint) bool { return c.SessionID == call.ID }, // its own wins
	} {
		if i := slices.IndexFunc(all, mine); i >= 0 && call.ID != "" {
			c = all[i]
		}
	}
	c.Clean(env.Redact) // another program may have written it
	if r.JSON {
		return env.JSON(c)
	}
	text := c.Headline(env.Now())
	if c.Stale(env.Now()) {
		text += " (stale: a start ignores it)"
	}
	return env.Printf("%s\n%s", frame.Line(text), frame.Words(c.Text())) // as a start prints it
}

type clear struct{}

// Run removes this session's checkpoint, or all of the home's if no session is known. It
// succeeds if there is none.
func (*clear) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, hook.Flags{})
	lock, err := call.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := checkpoint.Clear(call.Home, call.ID, call.Warn); err != nil {
		return err
	}
	return env.Println("cleared")
}

// readTurn reads what the turn added to the conversation, so that a start after a crash need not. It
// reads only conversations in the person's own stores, because a hook's input names the file.
//
// share is the percentage of the context at which the agent is warned.
func readTurn(env *cli.Env, call *hook.Invocation, share int) error {
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil || r.Ended() || r.Transcript == "" {
		return nil // nothing would ever remove what was read; saveCheckpoint warns
	}
	if !registry.HasReader(cmp.Or(r.Agent, contract.Default)) {
		return nil
	}
	c, err := recorded.FindConversation(account.StoreGuard{Getenv: env.Getenv, Projects: []string{call.Home.Dir, call.Dir}}, call.Home, r)
	switch {
	case account.IsUnreadable(err):
		return err
	case err != nil:
		return nil // a start after a crash reports it
	}
	to := tail.Carry{Home: call.Home, Record: r, Beside: backgroundWork(env, call, c.File), Now: env.Now(), Warn: call.Store.Warn}
	fold, _, err := c.Carry(entries.FindReader(env, call.Dir, c.File.Client), to, env.Redact)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was said yet
	}
	if fold != nil {
		err = errors.Join(err, storeMeasure(call, fold, share))
	}
	return err
}

// backgroundWork returns what runs in the background of the session, as its client reports it.
func backgroundWork(env *cli.Env, call *hook.Invocation, f conversation.File) *thread.Background {
	b := &thread.Background{Session: call.ID, Running: call.Input.RunningLines()}
	if r, ok := files.FindReader(f.Client).(conversation.Teams); ok {
		b.Team = r.Team(f)
	}
	for _, all := range [][]string{b.Running, b.Team} {
		for i, line := range all {
			all[i] = term.Cut(term.OneLine(term.Clean(env.Redact(line))), maxBeside)
		}
	}
	return b
}

const maxBeside = 200 // limits the description of one background task, in characters

// storeMeasure stores how full the context is, for the hook of the next prompt, and for lists what
// the conversation is about.
func storeMeasure(call *hook.Invocation, fold *summary.Fold, share int) error {
	c := fold.Context
	if c.ClientWarns {
		share = 0 // gt never warns then
	}
	return activity.Change(call.Home, call.ID, func(s *activity.State) bool {
		before := *s
		*s = s.Measure(c.Used, fold.Window(), c.Compactions, share)
		s.Title = term.Cut(term.OneLine(cmp.Or(fold.Named, fold.Generated)), activity.MaxTopic)
		if q := fold.LastRequest(); q.Text != "" && (s.Request == "" || q.Time.After(s.Prompted)) {
			s.Request = term.Cut(term.OneLine(q.Text), activity.MaxTopic)
		}
		return *s != before
	})
}
