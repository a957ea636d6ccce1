package sessioncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/sandbox"
	"gt/lib/launch"
	"gt/lib/launch/parcel"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

type pack struct {
	profile
	Name    string        `arg:"" help:"The agent."`
	To      string        `placeholder:"HOST" help:"Where it goes, for the list."`
	Now     bool          `help:"Do not wait for the end of its turn, nor let it exit by itself."`
	Timeout duration.Flag `placeholder:"DURATION" help:"Wait no longer than this for the end of its turn (default: no limit)."`
	Cancel  bool          `help:"Take it back, if its parcel was not unpacked."`
	Parcel  string        `hidden:"" help:"With --cancel: only if it travels in the parcel of this id."`
	Force   bool          `help:"Pack it again or take it back, although an earlier parcel may have been unpacked."`
}

// Run writes the parcel of an agent to standard output, or takes a packed agent back (--cancel).
func (c *pack) Run(env *cli.Env, at scope) error {
	in, err := findReadable(at, c.Name)
	if err != nil {
		return err
	}
	if c.Cancel && c.Parcel != "" { // gt-relay: the other host does not take it
		return takeBack(at, in, c.Parcel)
	}
	if c.Cancel {
		_, err := parcel.Cancel(at.Store, in.ID, "", c.Force, env.Now())
		return reportDone(env, withExitCode(in.Name, err), "took %s back; gt-session start %[1]s starts it", in.Name)
	}
	if f, ok := env.Stdout.(*os.File); ok && term.IsTerminal(f) {
		return cli.Fail(cli.Usage, errors.New("standard output is a terminal, and a parcel is binary"),
			fmt.Sprintf("gt-session pack %s >FILE, or: gt-session pack %[1]s | ssh HOST gt-session unpack", in.Name))
	}
	if runsInAgent(at.Member(in)) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s cannot pack itself", in.Name), "run it from a terminal outside of it")
	}
	p := parcel.Packer{
		Env: env, Store: at.Store, Table: at.Table(), To: env.Line(c.To, 200), Now: c.Now, Timeout: time.Duration(c.Timeout), Again: c.Force,
	}
	if _, err := p.Pack(in.ID, env.Stdout); err != nil {
		return withExitCode(in.Name, err)
	}
	env.Hint("packed %s; it cannot be started here any more", in.Name)
	return nil
}

type moved struct {
	Force bool `help:"Start it here although it has moved; where its parcel was unpacked, it then runs in two places."`
}

type unpack struct {
	profile
	Name   string  `type:"given" short:"n" placeholder:"NAME" help:"Its name here (default: the one that it had)."`
	Folder string  `type:"given" placeholder:"DIR" help:"A folder in its repository (default: where sessions have worked in it)."`
	Clone  string  `type:"given" placeholder:"DIR" help:"Clone its repository to this new folder."`
	Agent  string  `type:"given" short:"a" placeholder:"AGENT" help:"Let another client continue its conversation."`
	In     *string `placeholder:"COMMAND" help:"Start it in this, as new --in does; an empty one is none."`
	Args   bool    `help:"Take all of its arguments; without this, only the model."`
	Force  bool    `help:"Take it although this machine knows its session or thread."`
	JSON   bool    `name:"json" help:"Print it as JSON."`
	From   string  `hidden:"" placeholder:"HOST" help:"The host of the fleet that sent it."`
	Ask    bool    `hidden:"" help:"Say only whether it could be unpacked, from its manifest without members."`
}

func (c *unpack) Validate() error {
	if c.Folder != "" && c.Clone != "" {
		return errors.New("give --folder or --clone, only one of them")
	}
	return nil
}

// Run unpacks a parcel. gt-relay runs it with --from, and with --ask before an agent is packed.
func (c *unpack) Run(env *cli.Env, at scope) error {
	if !at.Town.Personal && at.Profile == "" {
		return cli.Fail(cli.AnswerNo, errors.New("this folder is in a town, whose agents do not move"), "go to another, or name a profile: -p NAME")
	}
	if term.IsTerminal(env.Stdin) {
		return cli.Fail(cli.Usage, errors.New("the parcel is read from standard input"), "gt-session unpack <FILE")
	}
	u := parcel.Unpacker{Env: env, Store: at.Store, Table: at.Table(), Force: c.Force}
	u.NameHere, u.ClientHere, u.Args, u.From = c.Name, c.Agent, c.Args, c.From
	if c.From != "" {
		host, err := peer.NewHosts(at.Store.State).Get(c.From)
		if err != nil {
			return err
		}
		u.Key = host.Key
	}
	if c.Ask {
		return withExitCode("it", u.Ask(env.Stdin))
	}
	var err error
	if c.Folder != "" {
		if u.Folder, err = findFolder(env, c.Folder); err != nil {
			return err
		}
	}
	if c.Clone != "" {
		u.Clone = env.Abs(c.Clone)
	}
	// Without --in, an agent that ran in something is refused; an empty --in starts it in nothing.
	if c.In != nil {
		var words []string
		if *c.In != "" {
			if words, err = launcherWords(env, *c.In, env.Dir); err != nil {
				return err
			}
		}
		u.Launcher = &words
	}
	made, err := u.Unpack(env.Stdin)
	switch {
	case err != nil:
		return withExitCode("it", err)
	case c.JSON:
		return env.JSON(made)
	case made.Again:
		env.Hint("it was unpacked before, as %s", made.Name)
		return nil
	case made.Waits != nil:
		return reportDone(env, nil, "%s waits for you: gt-session accept %[1]s shows what it brings, and asks", made.Name)
	}
	if len(made.ArgsLeft) > 0 {
		left := env.Line(term.TypedWords(made.ArgsLeft), maxArgs)
		env.Hint("left out of its arguments: %s; gt-session new --replace -n %s sets them", left, made.Name)
	}
	in, err := at.Store.Get(made.ID)
	if err != nil {
		return err
	}
	return reportDone(env, nil, "unpacked %s (%s) in %s; gt-session start %s starts it", in.Name, commandText(at, in), env.DisplayPath(in.Path), in.Name)
}

type accept struct {
	profile
	Name string `arg:"" help:"The agent."`
	Yes  bool   `short:"y" help:"Do not ask." xor:"what"`
	Drop bool   `help:"Remove it instead." xor:"what"`
}

// Run shows the person what a parcel brings; if they agree, it unpacks and starts the agent.
func (c *accept) Run(env *cli.Env, at scope) error {
	if err := sandbox.RefuseBelowAgent(env, "an agent cannot decide what its person accepts"); err != nil {
		return err
	}
	one, err := parcel.WaitingFor(at.Store.State, c.Name)
	if err != nil {
		return err
	}
	if c.Drop {
		return reportDone(env, parcel.Drop(at.Store.State, one), "removed %s; where it comes from, gt-session pack --cancel --force %[1]s takes it back", one.Name)
	}
	made, err := parcel.Unpacker{Env: env, Store: at.Store, Table: at.Table()}.Accept(one, func(all []parcel.Power) error {
		if err := showPowers(env, one, all); err != nil || c.Yes {
			return err
		}
		return env.Confirm(fmt.Sprintf("Let %s start with this? [y/N] ", one.Name), "nothing was started", "--yes")
	})
	if err != nil {
		return withExitCode(one.Name, err)
	}
	b, err := newStarter(at).Start(made.ID, false)
	if err != nil && !errors.Is(err, launch.ErrRuns) {
		return withExitCode(made.Name, err)
	}
	return reportDone(env, nil, "%s is in %s, started%s", made.Name, env.DisplayPath(made.Path), asksPhrase(b))
}

// showPowers prints what a parcel brings that could run or permit something.
func showPowers(env *cli.Env, one parcel.Waiting, all []parcel.Power) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) comes from %s. It brings this, which could run or permit something here:\n",
		one.Name, one.Agent, cmp.Or(one.From, "a file"))
	for _, p := range all {
		if p.Path == "" {
			fmt.Fprintf(&b, "\n- %s\n", env.Line(p.What, 400))
			continue
		}
		fmt.Fprintf(&b, "\n- %s: %s\n", git.Quote(p.Path), env.Line(p.What, 400))
		for line := range strings.Lines(env.Text(p.Text)) {
			fmt.Fprintf(&b, "    %s\n", strings.TrimRight(line, "\n"))
		}
		if len(p.Text) == parcel.MaxText {
			b.WriteString("    (and more)\n")
		}
	}
	b.WriteString("\n")
	return env.Print(b.String())
}

const moveWithin = 30 * time.Minute

// moveToHost moves an agent to another host. It asks that host first, so that an agent that may
// not move is not stopped.
func (c *move) moveToHost(at scope) error {
	env := at.Env
	in, err := findReadable(at, c.Name)
	if err != nil {
		return err
	}
	state := place.StateOf(env.Getenv)
	host, err := peer.NewHosts(state).Find(c.To)
	if err != nil {
		return err
	}
	if runsInAgent(at.Member(in)) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s cannot move itself", in.Name), "run it from a terminal outside of it")
	}
	p := parcel.Packer{Env: env, Store: at.Store, Table: at.Table(), To: host.Name, Key: host.Key, Now: c.Now, Resume: true}
	if err := p.Movable(in); err != nil {
		return err
	}
	out := peer.OutboxOf(state)
	var l peer.Letter
	id, waits := "", false
	if in.Moved != nil { // an earlier move was interrupted, and its parcel may wait in the outbox
		id = in.Moved.Parcel
		if l, waits, err = out.MovingTo(host.Name, id); err != nil {
			return err
		}
	}
	if !waits {
		if err := c.askHost(env, p, in, host); err != nil {
			return err
		}
		var failed error
		l, err = out.PutLarge(host.Name, peer.Session, env.Now(), func(w io.Writer) error {
			id, failed = p.Pack(in.ID, w)
			return failed
		}, func(l peer.Letter) error { return out.RecordMove(l, in.Name, id) })
		if err = cmp.Or(failed, err); err != nil { // PutLarge adds a file of the outbox to it
			return withExitCode(in.Name, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), moveWithin)
	defer cancel()
	a, err := peer.Await(ctx, state, host, l)
	host.Name = peer.NewHosts(state).Renamed(host)
	refused := new(peer.NotTaken)
	switch {
	case errors.As(err, &refused):
		err := takeBack(at, in, id)
		return errors.Join(notTakenError(env, host.Name, in.Name, refused.Reason, "it stays here, as it was"), err)
	case errors.Is(err, peer.ErrUndelivered):
		return cli.Fail(cli.Busy, fmt.Errorf("%s does not have %s yet; it goes there once %[1]s is there", host.Name, in.Name), "gt-relay shows what waits")
	case errors.Is(err, peer.ErrUnanswered):
		return cli.Fail(cli.Busy, fmt.Errorf("%s has %s, and has not answered whether it runs", host.Name, in.Name), "gt-session list --hosts shows it")
	case err != nil:
		return err
	}
	if err := out.ForgetMove(l.ID); err != nil {
		return err
	}
	if err := env.Print(env.Text(a.Stdout)); err != nil {
		return err
	}
	if a.Code == cli.Busy {
		return cli.Fail(cli.Busy, fmt.Errorf("%s is on %s, and waits: a person there has to accept what it brings", in.Name, host.Name), fmt.Sprintf("on %s: gt-session accept %s", host.Name, in.Name))
	}
	if a.Code != 0 {
		fmt.Fprint(env.Stderr, env.Text(a.Stderr))
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is on %s, and did not start there", in.Name, host.Name), fmt.Sprintf("gt-session start %s@%s tries again", in.Name, host.Name))
	}
	return reportDone(env, nil, "moved %s to %s", in.Name, host.Name)
}

// askHost asks the other host whether it could take the agent, which goes on meanwhile.
func (c *move) askHost(env *cli.Env, p parcel.Packer, in *instance.Instance, host peer.Host) error {
	question, err := p.Question(in)
	if err != nil {
		return withExitCode(in.Name, err)
	}
	a, err := (&hostAgent{env, place.StateOf(env.Getenv), host, in.Name}).askHost(peer.Ask{Command: peer.Move, Text: string(question)}, askPatience)
	if err == nil && a.Code != 0 {
		err = notTakenError(env, host.Name, in.Name, a.Stderr, "it goes on here")
	}
	return err
}

// notTakenError returns the error for an agent that another host does not take. said is what
// gt-session printed there, with its hints; stays is a hint for here.
func notTakenError(env *cli.Env, host, name, said, stays string) error {
	var why string
	var hints []string
	for line := range strings.Lines(said) {
		line = strings.TrimPrefix(env.Line(strings.TrimSpace(line), 400), "gt-session: ")
		if hint, is := strings.CutPrefix(line, "hint: "); is {
			hints = append(hints, "on "+host+": "+hint)
		} else if why == "" {
			why = strings.TrimPrefix(line, "error: ")
		}
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("%s does not take %s: %s", host, name, why), append(hints, stays)...)
}

// takeBack makes an agent stay that another host does not take, and starts it if it was stopped
// for the move.
func takeBack(at scope, in *instance.Instance, parcelID string) error {
	ran, err := parcel.Cancel(at.Store, in.ID, parcelID, true, at.Env.Now())
	if err != nil && cli.ExitCode(err) == cli.AnswerNo { // gt-relay has taken it back
		return nil
	}
	if err == nil && ran {
		_, err = newStarter(at).Start(in.ID, false)
	}
	if errors.Is(err, launch.ErrRuns) {
		return nil
	}
	return err
}
