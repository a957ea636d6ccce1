package sessioncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/launch"
	"gt/lib/launch/parcel"
	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
)

const moveWithin = 30 * time.Minute

// toHost moves an agent to another host. It asks that host first, so that an agent that may
// not move is not stopped.
func (c *move) toHost(at scope) error {
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
	if runsIn(at.Member(in)) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s cannot move itself", in.Name), "run it from a terminal outside of it")
	}
	p := parcel.Packer{Env: env, Store: at.Store, Table: at.Table(), To: host.Name, Key: host.Key, Now: c.Now, Resume: true}
	if err := p.Movable(in); err != nil {
		return err
	}
	out := peer.OutboxOf(state)
	var l peer.Letter
	id, waits := "", false
	if in.Moved != nil { // an earlier move was interrupted
		id = in.Moved.Parcel
		if l, waits, err = out.MovingTo(host.Name, id); err != nil {
			return err
		}
	}
	if !waits {
		if err := c.asks(env, p, in, host); err != nil {
			return err
		}
		var failed error
		l, err = out.PutLarge(host.Name, peer.Session, env.Now(), func(w io.Writer) error {
			id, failed = p.Pack(in.ID, w)
			return failed
		}, func(l peer.Letter) error { return out.Noted(l, in.Name, id) })
		if err = cmp.Or(failed, err); err != nil { // its own error does not name the outbox's file
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
		return errors.Join(notTaken(env, host.Name, in.Name, refused.Reason, "it stays here, as it was"), err)
	case errors.Is(err, peer.ErrUndelivered):
		return cli.Fail(cli.Busy, fmt.Errorf("%s does not have %s yet; it goes there once %[1]s is there", host.Name, in.Name), "gt-relay shows what waits")
	case errors.Is(err, peer.ErrUnanswered):
		return cli.Fail(cli.Busy, fmt.Errorf("%s has %s, and has not answered whether it runs", host.Name, in.Name), "gt-session list --hosts shows it")
	case err != nil:
		return err
	}
	if err := out.Moved(l.ID); err != nil {
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

// asks asks the other host whether it could take the agent, which goes on meanwhile.
func (c *move) asks(env *cli.Env, p parcel.Packer, in *instance.Instance, host peer.Host) error {
	question, err := p.Question(in)
	if err != nil {
		return withExitCode(in.Name, err)
	}
	a, err := (&remoteAgent{env, place.StateOf(env.Getenv), host, in.Name}).askHost(peer.Ask{Command: peer.Move, Text: string(question)}, patience)
	if err == nil && a.Code != 0 {
		err = notTaken(env, host.Name, in.Name, a.Stderr, "it goes on here")
	}
	return err
}

// notTaken returns the error for an agent that another host does not take: what gt-session there
// said in lines.
func notTaken(env *cli.Env, host, name, said, stays string) error {
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
	if err != nil && cli.ExitCode(err) == cli.AnswerNo { // gt-relay did it
		return nil
	}
	if err == nil && ran {
		_, err = starter(at).Start(in.ID, false)
	}
	if errors.Is(err, launch.ErrRuns) {
		return nil
	}
	return err
}
