package sessioncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/launch"
	"gt/lib/launch/launcher"
	"gt/lib/launch/parcel"
	"gt/lib/launch/worktree"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/reconcile/perform"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/fold"
	"gt/lib/view/roster"
)

// readyWait is how long a command waits for another one that starts or stops the same agent.
const readyWait = 30 * time.Second

type newOne struct {
	profile
	Dir     string `type:"given" arg:"" optional:"" help:"The folder that the agent works in (default: this one)."`
	Name    string `type:"given" short:"n" placeholder:"NAME" help:"Its name (default: the folder's)."`
	Title   string `placeholder:"TEXT" help:"What it is for, one line."`
	Agent   string `type:"given" short:"a" placeholder:"AGENT" help:"The agent: claude, codex, gemini, ... (default: claude)."`
	Group   string `short:"g" placeholder:"GROUP" help:"The group that it is in, such as work/backend; made where it is missing."`
	Parent  string `type:"given" placeholder:"NAME" help:"The agent that it belongs to."`
	Account string `type:"given" placeholder:"NAME" help:"Another account of its client: the folder of its settings and login, or the folder's name."`
	In      string `placeholder:"COMMAND" help:"Run it by this command, such as 'bwrap --dev-bind / / --tmpfs ~/.ssh', now and at each later start."`
	Resume  string `type:"given" placeholder:"ID" help:"The conversation that it continues."`
	Replace bool   `help:"If an agent of that name exists, end it (if it is busy, with --now), and start it again with these flags and its conversation."`
	Role    string `type:"given" group:"In a town:" placeholder:"ADDRESS" help:"Make the worker of this address, such as gastown/crew/max: in its folder, under its name. gastown/polecats is any of its polecats: one that is idle, else a new one."`
	Theme   string `placeholder:"STYLE" help:"The style of its tmux status line, such as fg=black,bg=cyan."`
	Remain  bool   `help:"Keep its pane when the agent ends."`
	Respawn bool   `help:"Start it again when it crashes."`
	fromTemplate
	Worktree string `type:"given" placeholder:"BRANCH" help:"Give it a git worktree of its own, beside the repository, with this branch; made where it is missing."`
	begin
	cut
	hidden
}

type begin struct {
	Message string   `short:"m" placeholder:"TEXT" help:"The first prompt; - reads it from standard input."`
	Topic   string   `placeholder:"TEXT" help:"What its session is about; gt-seance lists it."`
	Give    string   `placeholder:"TEXT" help:"Give it work before it starts: its session begins on it."`
	Start   bool     `default:"true" negatable:"" help:"Start it (on by default)."`
	Trust   bool     `help:"Accept what its client asks at the start about trust and permissions."`
	Explain bool     `help:"Print the steps of the start, what each would do and what it found; make nothing."`
	JSON    bool     `name:"json" help:"Print it as JSON."`
	Arg     []string `hidden:"" behind:"--" sep:"none" help:"An argument for the agent; everything after -- is one."`

	existed  bool // the instance was there before
	replaces bool // end the agent that runs under the name
	resumes  bool // made to resume a conversation
}

// Run makes an instance and starts its agent, or changes the instance that findFormer returns.
func (c *newOne) Run(env *cli.Env, at scope) (err error) {
	if c.Message, err = readText(env, c.Message); err != nil {
		return err
	}
	if c.Template != "" {
		return c.makeSession(at, c.JSON)
	}
	release := func() {}
	if rig, is := anyPolecatRig(c.Role); is {
		if release, err = c.allocatePolecat(at, rig); err != nil {
			return err
		}
	}
	// Keep the lock until the instance is stored, so that the next allocation counts it.
	release = sync.OnceFunc(release)
	defer release()
	in, client, err := c.buildInstance(at)
	if err != nil {
		return hintUnfinished(at.Store, in, err)
	}
	for _, set := range []func(scope, *instance.Instance, agent.Client) error{c.setName, c.setSurroundings, c.setConversation} {
		if err := set(at, in, client); err != nil {
			return err
		}
	}
	if old, err := c.findFormer(at.Store, in); err != nil {
		return err
	} else if old != nil {
		return c.replace(at, old, in)
	}
	if c.Explain {
		return c.explainStart(at, in)
	}
	if err := at.Store.Create(in, env.Now()); err != nil {
		if old, _ := c.findFormer(at.Store, in); old != nil && errors.Is(err, instance.ErrTaken) { // made in the meantime
			return c.replace(at, old, in)
		}
		return hintUnfinished(at.Store, in, withExitCode(in.Name, err))
	}
	release()
	if in.Worktree != nil {
		if err := makeWorktree(at, in); err != nil {
			return err
		}
	}
	logSpawn(env, in)
	return c.startAndReport(at, in.ID)
}

// setName sets name and group. A default name that an agent of another folder has gets a number.
// --replace means that agent, so the name stays as it is.
func (c *newOne) setName(at scope, in *instance.Instance, _ agent.Client) error {
	if in.Name == "" {
		in.Name = instance.NameFor(filepath.Base(cmp.Or(in.WorktreePath(), in.Path)))
		if !c.Replace {
			if err := makeNameUnique(at.Store, in); err != nil {
				return err
			}
		}
	}
	in.Name, in.Group = fold.Name(in.Name), fold.Name(in.Group)
	if err := instance.CheckName(in.Name); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	if in.Group == "" {
		return nil
	}
	return cli.Fail(cli.Usage, instance.CheckGroup(in.Group))
}

// setSurroundings sets the agent's pane, what wraps its command, its account and its parent.
func (c *newOne) setSurroundings(at scope, in *instance.Instance, client agent.Client) (err error) {
	in.Theme, in.Remain, in.Respawn = c.Theme, c.Remain, in.Respawn || c.Respawn
	if err := tmux.CheckStyle(c.Theme); err != nil {
		return cli.Fail(cli.Usage, fmt.Errorf("--theme: %w", err))
	}
	if c.In != "" {
		if in.Launcher, err = launcherWords(at.Env, c.In, in.Path); err != nil {
			return err
		}
	}
	if c.Account != "" {
		if in.Account, err = accountFolder(at.Env, accountGuard(at, in), client, c.Account); err != nil {
			return err
		}
	}
	if c.Parent == "" {
		return nil
	}
	parent, err := findReadable(at, c.Parent)
	if err == nil {
		in.ParentID = parent.ID
	}
	return err
}

// launcherWords returns the words of --in. Its program must be found from a folder.
func launcherWords(env *cli.Env, command, dir string) ([]string, error) {
	words, err := launcher.Split(command, env.Getenv("HOME"))
	if err != nil {
		return nil, cli.Failf(cli.Usage, "invalid --in '%s': %w", env.Line(command, maxCell), err)
	}
	program, err := process.LookPath(words[0], dir, env.ChildEnviron())
	if err != nil {
		return nil, cli.Fail(cli.AnswerNo, err)
	}
	if strings.Contains(words[0], "/") { // relative to the current folder, not to the agent's
		words[0] = program
	}
	return words, nil
}

// setConversation sets the conversation of --resume, if no other agent has it and nothing runs it.
func (c *newOne) setConversation(at scope, in *instance.Instance, client agent.Client) error {
	if c.Resume == "" {
		return nil
	}
	id, err := session.ParseID(c.Resume)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	if !client.CanResume() {
		return cli.Failf(cli.Usage, "%s cannot go on with a conversation by its id", client.Name)
	}
	if err := checkUnclaimed(at, id, c.Replace, in.Name); err != nil {
		return err
	}
	in.SessionID, in.SessionAt, c.resumes = id, at.Env.Now().UTC(), true
	return nil
}

// makeNameUnique appends a number to the name of an instance if another folder's agent has that
// name: folders have common names such as api, and names lose characters such as '~'.
func makeNameUnique(store instance.Store, in *instance.Instance) error {
	all, err := store.ReadNamed()
	if err != nil {
		return err
	}
	base := in.Name
	for n := 2; ; n++ {
		if other := instance.FindNamed(all, in.Name); other == nil || other.Path == in.Path {
			return nil
		}
		in.Name = instance.Variant(base, fmt.Sprintf("-%d", n))
	}
}

// hintUnfinished adds hints about worktrees of in's name or path that were not finished. in can be nil.
func hintUnfinished(store instance.Store, in *instance.Instance, err error) error {
	if in == nil {
		return err
	}
	all, _ := store.ReadInstances()
	for _, other := range all {
		if w := other.Worktree; w != nil && !w.Ready && other.Managed == nil && (other.Name == in.Name || in.Worktree != nil && in.Worktree.Path == w.Path) {
			err = cli.WithHint(err, "the worktree of %s was not made to its end; gt-session start %s finishes it, gt-session rm %s removes it", other.Name, other.Name, other.Name)
		}
	}
	return err
}

// makeWorktree makes the worktree of a new instance. If that fails it removes the instance,
// unless part of the worktree exists.
func makeWorktree(at scope, in *instance.Instance) error {
	held, err := at.Store.Hold(in.ID, readyWait)
	if err != nil {
		return withExitCode(in.Name, err)
	}
	defer held.Release()
	if err := worktree.Ensure(context.Background(), at.Env, held.Instance, func() error { return held.Put(at.Env.Now()) }); err != nil {
		if held.Worktree.Ready {
			return err
		}
		if _, missing := os.Lstat(in.Worktree.Path); missing == nil {
			return cli.WithHint(err, "%s is kept; gt-session start %s tries again, gt-session rm %s removes it", in.Name, in.Name, in.Name)
		}
		at.Env.WarnError(held.Remove(at.Env.Now()))
		return err
	}
	return nil
}

// explainStart prints the steps of a start. The instance is not stored, so its name is checked here.
func (b begin) explainStart(at scope, in *instance.Instance) error {
	all, err := at.Store.ReadNamed()
	if err != nil {
		return err
	}
	if instance.FindNamed(all, in.Name) != nil {
		return withExitCode(in.Name, instance.Taken(all, in.Name))
	}
	in.ID = instance.ID(session.NewID())
	return b.flaggedStarter(at).Explain(in)
}

// newStarter returns a Starter for instances of a scope. The callers add the prompt and their flags.
func newStarter(at scope) launch.Starter {
	return launch.Starter{
		Env: at.Env, Store: at.Store, Table: at.Table(),
		Holder: func(id session.ID) *live.Holder { return scan.HolderOf(at.Env.Getenv, at.Store.State, id) },
		Worktree: func(in *instance.Instance, put func() error) error {
			return worktree.Ensure(context.Background(), at.Env, in, put)
		},
	}
}

// undoMade removes an instance that was made to resume a conversation, and whose agent ended at once.
func (b begin) undoMade(at scope, id instance.ID, err error) error {
	held, herr := at.Store.Hold(id, readyWait)
	if herr != nil {
		return errors.Join(err, herr)
	}
	defer held.Release()
	if held.Worktree != nil {
		_, herr = worktree.Remove(at.Env, at.Store, held)
	}
	if herr == nil {
		herr = held.Remove(at.Env.Now())
	}
	if herr != nil {
		return errors.Join(err, herr)
	}
	return cli.WithHint(err, "nothing was made; gt-seance list shows the conversations and their folders")
}

func (b begin) flaggedStarter(at scope) launch.Starter {
	s := newStarter(at)
	s.Prompt, s.About, s.HasWork, s.Trust, s.Replaces = b.Message, at.Env.Line(b.Topic, maxTopic), b.Give != "", b.Trust, b.replaces
	s.Resumes = b.resumes && !b.existed
	return s
}

const maxTopic = 100 // limits a topic, in characters

// startAndReport gives an instance its work, starts its agent unless told not to, and prints what was done.
func (b begin) startAndReport(at scope, id instance.ID) error {
	in, err := at.Store.Get(id)
	if err != nil {
		return err
	}
	asks, tells := "", false // what the client asks, and whether its hooks ran
	if b.Give != "" {
		if err := giveNote(at.Env, in, b.Give); err != nil {
			return cli.WithHint(err, "%s is kept; gt-session start %s starts it", in.Name, in.Name)
		}
	}
	if b.Start {
		began, err := b.flaggedStarter(at).Start(in.ID, false)
		var ended *launch.EndedError
		if b.resumes && !b.existed && errors.As(err, &ended) {
			return b.undoMade(at, in.ID, err)
		}
		if errors.Is(err, launch.ErrRuns) {
			return alreadyRunsError(in.Name)
		}
		if err != nil {
			return cli.WithHint(err, "%s is kept; gt-session start %s tries again, gt-session rm %s removes it", in.Name, in.Name, in.Name)
		}
		asks, tells = asksPhrase(began), began.RunsHooks()
		if in, err = at.Store.Get(id); err != nil {
			return err
		}
	}
	if b.JSON {
		return at.Env.JSON(newJSONAgent(at.Env, at.Member(in)))
	}
	if !b.Start {
		return at.Env.Printf("made %s; gt-session start %s starts it\n", in.Name, in.Name)
	}
	if err = at.Env.Printf("started %s (%s) in %s; gt-session attach %s shows it%s\n", in.Name, in.Agent, at.Env.DisplayPath(in.Path), in.Name, asks); err != nil {
		return err
	}
	if c := at.Table().FindClient(in.Agent); c.Dialect != "" && c.Hooks.Instead == "" && !tells && at.Member(in).Status == status.Unknown {
		at.Env.Hint("no hook has reported what %s does; gt-hooks install %s wires gt into its settings", in.Name, in.Agent)
	}
	return nil
}

// asksPhrase returns a phrase that says that the client asks something at its start.
func asksPhrase(b *launch.Launch) string {
	if !b.ClientAsks {
		return ""
	}
	return "; its client asks something: gt-session answer " + b.Name
}

// checkUnclaimed returns an error if a conversation is open or belongs to another instance. A
// replaced instance may keep its own.
func checkUnclaimed(at scope, id session.ID, replaces bool, name string) error {
	own := false
	err := instance.Walk(at.Store.State, func(s instance.Store, in *instance.Instance) error {
		if s.Session(in) != id {
			return nil
		}
		if replaces && s.Dir == at.Store.Dir && in.Name == name {
			own = true
			return nil
		}
		return cli.Fail(cli.AnswerNo, fmt.Errorf("the conversation %s is %s's", id, in.Name),
			fmt.Sprintf("gt-session start %s goes on with it, gt-session fork %s with a copy of it", in.Name, in.Name))
	})
	if err != nil || own {
		return err
	}
	if by := scan.HolderOf(at.Env.Getenv, at.Store.State, id); by != nil {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("the conversation %s is open already, %s", id, by), "end that one first")
	}
	return nil
}

// forEachInstance calls do for instances, a few at a time, prints the results and goes on after a
// failure.
func forEachInstance(env *cli.Env, all []*instance.Instance, do func(*instance.Instance) (string, error)) error {
	said, errs := make([]string, len(all)), make([]error, len(all))
	cli.ParallelAtMost(cli.MaxWaitingTasks, cli.Numbers(len(all)), func(i int) { said[i], errs[i] = do(all[i]) })
	var failed error
	var hints []string
	for i, in := range all {
		err := withExitCode(in.Name, errs[i])
		switch {
		case err != nil && len(all) == 1:
			return err
		case err != nil:
			env.Error("%v", err)
			for _, hint := range cli.Hints(err) {
				if !slices.Contains(hints, hint) {
					hints = append(hints, hint)
				}
			}
			failed = cmp.Or(failed, cli.Fail(cli.ExitCode(err), fmt.Errorf("%d of %d failed", countIf(errs, func(err error) bool { return err != nil }), len(all))))
		case said[i] != "":
			failed = cmp.Or(failed, env.Println(said[i]))
		}
	}
	for _, hint := range hints {
		failed = cli.WithHint(failed, "%s", hint)
	}
	return failed
}

// countIf returns for how many of all is reports true.
func countIf[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

type start struct {
	agentSelection
	Message string `short:"m" placeholder:"TEXT" help:"The first prompt of each; - reads it from standard input."`
	Topic   string `placeholder:"TEXT" help:"What their sessions are about; gt-seance lists it."`
	Trust   bool   `help:"Accept what the clients ask at the start about trust and permissions."`
	moved
	hidden
	Explain bool `xor:"what" help:"Print the steps of the start, what each would do and what it found; change nothing."`

	WhenReset bool `xor:"what" help:"Wait until the usage limits of their accounts end; then start each that has not gone on by itself, or tell it to go on."`
}

// Run starts the selected agents, those named NAME@HOST on their hosts.
func (c *start) Run(env *cli.Env, at scope) (err error) {
	if c.Message, err = readText(env, c.Message); err != nil {
		return err
	}
	if c.WhenReset {
		return c.startAfterLimits(at)
	}
	if !c.Explain {
		if done, err := c.askOtherHosts(env, peer.Ask{Command: "start", Text: c.Message}); done || err != nil {
			return err
		}
	}
	return c.forEachSelected(at, func(in *instance.Instance) (string, error) {
		if err := c.assumeGone(at, in.ID); err != nil {
			return "", err
		}
		if in.Managed != nil && c.Explain {
			return "", explainManaged(at, in)
		}
		if in.Managed != nil {
			return actOnManaged(at, in, "started", (*perform.World).Resume)
		}
		r := newStarter(at)
		r.Prompt, r.About, r.Trust, r.TakesBack = c.Message, env.Line(c.Topic, maxTopic), c.Trust, c.Force
		if c.Explain {
			return "", r.Explain(in)
		}
		said, err := startAgent(r, in, "", in.Name+" is already running")
		if err != nil && in.Moved != nil {
			// It may have come back in a parcel that nobody has accepted yet.
			if one, werr := parcel.WaitingFor(at.Store.State, string(in.ID)); werr == nil {
				err = cli.Fail(cli.AnswerNo, fmt.Errorf("%s is back, and waits for you", in.Name), fmt.Sprintf("gt-session accept %s shows what it brings, and starts it", one.Name))
			}
		}
		return said, err
	})
}

// startAgent starts an agent, and returns what was done in a sentence: runs if the agent runs
// already. suffix names the agent's scope.
func startAgent(by launch.Starter, in *instance.Instance, suffix, runs string) (string, error) {
	b, err := by.Start(in.ID, false)
	switch {
	case errors.Is(err, launch.ErrRuns):
		return runs, nil
	case err != nil:
		return "", err
	}
	return "started " + in.Name + suffix + asksPhrase(b), nil
}

type restart struct {
	agentSelection
	Account string `placeholder:"NAME" help:"Continue under another account of the client, with a copy of the conversation: its folder, the folder's name (claude-work), or default for the usual one."`
	Yes     bool   `help:"Do not ask before that."`
	Trust   bool   `help:"With --account: accept what the client asks at the start about trust and permissions."`
	outliveFlag
	moved
	hidden
	cut
}

// Run restarts the selected agents, in a detached process if the command runs in one of them.
func (c *restart) Run(env *cli.Env, at scope) error {
	if c.Account != "" {
		if err := c.confirmAccount(at); err != nil {
			return err
		}
	}
	if detached, err := c.detach(at, c.agentSelection, c.Now, "restarted"); detached || err != nil {
		return err
	}
	return c.forEachSelected(at, func(in *instance.Instance) (string, error) {
		if err := c.assumeGone(at, in.ID); err != nil {
			return "", err
		}
		if in.Managed != nil {
			return actOnManaged(at, in, "restarted", (*perform.World).Suspend, (*perform.World).Resume)
		}
		if c.Account != "" {
			held, err := at.Store.Hold(in.ID, readyWait)
			if err != nil {
				return "", err
			}
			defer held.Release()
			return c.restartUnderAccount(at, held)
		}
		r := newStarter(at)
		r.TakesBack = c.Force
		b, err := r.Start(in.ID, true)
		if err != nil {
			return "", err
		}
		return "restarted " + in.Name + asksPhrase(b), nil
	})
}

type restore struct {
	profile
	DryRun   bool `help:"Print what would be started, and change nothing."`
	Continue bool `help:"Tell agents whose turn was interrupted to go on."`
	hidden
}

// staysRunning reports whether an agent goes on running: in a pane, or without one if its process
// still runs at the time by. One that lost its pane for good does not count: the start ends it.
func staysRunning(m fleet.Member, by time.Time) bool {
	return m.Process.IsSet() && (m.Pane.ID != "" || m.Adopted != nil || !live.AwaitGone([]process.Proc{m.Process}, time.Until(by)) && !m.LostPane())
}

// Run starts every agent that should run and does not, in all scopes if no profile is named.
func (c *restore) Run(env *cli.Env) error {
	all, unread := everywhereFlag{profile: c.profile, Everywhere: c.Profile == ""}.scopes(env)
	if all == nil || unread != nil && c.Profile != "" {
		return unread
	}
	at, err := roster.Read(env, all)
	unread = errors.Join(unread, err)
	hungUp := time.Now().Add(launch.HangUp)
	var toStart, shutDown []*instance.Instance
	var unseen []string // names of those that may run elsewhere
	starters := map[*instance.Instance]launch.Starter{}
	scopeOf := map[*instance.Instance]scope{}
	for _, s := range at {
		for _, m := range s.Agents {
			if perform.IsShutDown(m.Instance) {
				shutDown = append(shutDown, m.Instance)
				scopeOf[m.Instance] = s.Scope
			}
			var away *fleet.HiddenError
			if errors.As(m.Unanswered, &away) && m.IsWanted() && m.Moved == nil && !c.Gone {
				unseen = append(unseen, m.Name+s.Suffix())
				continue
			}
			// An agent of unknown status may run, but for one that --gone has given up.
			if m.Managed == nil && m.IsWanted() && m.Moved == nil && !staysRunning(m, hungUp) && (m.Status != status.Unknown || away != nil) {
				toStart = append(toStart, m.Instance)
				starts := newStarter(s.Scope)
				starts.HungUp = hungUp
				if c.Continue && m.WasInterrupted() {
					starts.Prompt = conversation.Resumption
				}
				starters[m.Instance], scopeOf[m.Instance] = starts, s.Scope
			}
		}
	}
	if unseen != nil {
		err := cli.Failf(cli.Busy, "not restored: %s: they were started in another container or on another machine, which cannot be seen from here", strings.Join(unseen, ", "))
		unread = errors.Join(unread, cli.WithHint(err, "if that will not come back: gt-session restore --gone"))
	}
	if len(toStart)+len(shutDown) == 0 && unread == nil {
		env.Hint("nothing to restore: all agents that should be running are")
		if n := countIf(at, func(s roster.Listed) bool {
			return slices.ContainsFunc(s.Agents, func(m fleet.Member) bool { return m.Status == status.Stopped && m.Moved == nil })
		}); n > 0 {
			env.Hint("gt-session start --all starts those that were stopped, too")
		}
		return nil
	}
	wouldStart := func(in *instance.Instance) string {
		return fmt.Sprintf("would start %s%s (%s) in %s", in.Name, scopeOf[in].Suffix(), in.Agent, env.DisplayPath(in.Path))
	}
	err = forEachInstance(env, toStart, func(in *instance.Instance) (string, error) {
		if c.DryRun {
			return wouldStart(in), nil
		}
		if err := c.assumeGone(scopeOf[in], in.ID); err != nil {
			return "", err
		}
		return startAgent(starters[in], in, scopeOf[in].Suffix(), "") // another command may be first
	})
	if c.DryRun {
		shutDown, err = nil, errors.Join(err, forEachInstance(env, shutDown, func(in *instance.Instance) (string, error) { return wouldStart(in), nil }))
	}
	err = errors.Join(err, resumeShutDown(env, shutDown, scopeOf))
	return errors.Join(unread, err)
}
