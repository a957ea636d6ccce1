package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/reconcile/agents"
	"gt/lib/state/instance"
	"gt/lib/sys/flock"
	"gt/lib/text/duration"
	"gt/lib/view/roster"
)

type wait struct {
	profile
	Names   []string      `arg:"" name:"name" help:"Names of agents."`
	Until   statusList    `placeholder:"STATUS" default:"waiting,idle" help:"The status that is waited for, or several: waiting,idle (default), running, stopped, ..."`
	Timeout duration.Flag `placeholder:"DURATION" help:"Wait no longer than this: 90s, 10m, 2h (default: no limit)."`
}

type statusList []status.Status

func (u *statusList) UnmarshalText(text []byte) error {
	*u = nil
	for word := range strings.SplitSeq(string(text), ",") {
		s := status.Status(word)
		switch s {
		case status.Running, status.Waiting, status.Idle, status.Starting, status.Stopped, status.Error, status.Unknown:
			*u = append(*u, s)
		default:
			return fmt.Errorf("invalid status '%s' (try running, waiting, idle, starting, stopped, error or unknown)", word)
		}
	}
	return nil
}

func (c *wait) Run(env *cli.Env, at scope) error {
	left, _, err := agentSelection{Names: c.Names}.chosen(at)
	if err != nil {
		return err
	}
	var failed error
	err = watch(time.Duration(c.Timeout), time.Now(), func() (bool, error) {
		for i, in := range left { // reload, because a restart changes it; a removed one is noticed below
			if current, err := at.Store.Get(in.ID); err == nil {
				left[i] = current
			}
		}
		members := at.Members(left)
		at.AskAway(members)
		for _, m := range members {
			current, err := settled(at, m)
			switch {
			case err != nil:
				failed = errors.Join(failed, withExitCode(m.Name, err))
			case slices.Contains(c.Until, current.Status):
				fmt.Fprintf(env.Stdout, "%s %s\n", m.Name, roster.StatusText(current))
			case hasEnded(current):
				err := cli.Fail(cli.AnswerNo, fmt.Errorf("%s will not become %s: it is %s", m.Name, c.Until, current.Status), fmt.Sprintf("gt-session start %s starts it", m.Name))
				failed = errors.Join(failed, err)
			default:
				continue
			}
			left = slices.DeleteFunc(left, func(in *instance.Instance) bool { return in.ID == m.ID })
		}
		return len(left) == 0, nil
	})
	if errors.Is(err, errTimeout) {
		var names []string
		members := at.Members(left)
		at.AskAway(members)
		for _, m := range members {
			names = append(names, m.Name+" is "+roster.StatusText(m))
		}
		err = cli.Failf(cli.AnswerNo, "%v: %s", err, strings.Join(names, ", "))
		if i := slices.IndexFunc(members, func(m fleet.Member) bool { return m.Status == status.Unknown }); i >= 0 {
			err = cli.WithHint(err, "no hook has reported what %s does; gt-session peek %[1]s shows its screen", members[i].Name)
		}
	}
	return errors.Join(failed, err)
}

func (u statusList) String() string {
	words := make([]string, len(u))
	for i, s := range u {
		words[i] = string(s)
	}
	return strings.Join(words, " or ")
}

// hintLost hints how to bring back an agent whose tmux session is gone, once. gt-reconcile
// restores the sessions of templates.
func hintLost(env *cli.Env, members []fleet.Member) {
	lost := func(m fleet.Member) bool { return m.Status == status.Error && m.Managed == nil }
	if i := slices.IndexFunc(members, lost); i >= 0 {
		env.Hint("%s should be running, and its tmux session is gone; gt-session restore starts all such agents", members[i].Name)
	}
}

func hasEnded(m fleet.Member) bool { return m.Status == status.Stopped || m.Status == status.Error }

// settled looks again at an agent that seems to have ended, under the lock of its instance.
// The status is Unknown while another command starts or stops the agent.
func settled(at scope, m fleet.Member) (fleet.Member, error) {
	if !hasEnded(m) || agents.Remote(m.Instance) {
		return m, nil
	}
	held, err := at.Store.Hold(m.ID, 0)
	switch {
	case errors.Is(err, flock.ErrBusy):
		m.Status, m.Reason = status.Unknown, ""
		return m, nil
	case err != nil:
		return m, err
	}
	defer held.Release()
	return at.Member(held.Instance), nil
}

var errTimeout = errors.New("timed out")

// watch calls look until it reports the end or an error, or until limit has passed since
// begin (0 is no limit). The pauses grow from 100 ms to 1 s, because a look costs a call of tmux.
func watch(limit time.Duration, begin time.Time, look func() (over bool, err error)) error {
	for pause := 100 * time.Millisecond; ; pause = min(pause*5/4, time.Second) {
		if over, err := look(); over || err != nil {
			return err
		}
		gone := time.Since(begin)
		if limit > 0 && gone >= limit {
			return fmt.Errorf("%w after %s", errTimeout, duration.Format(limit))
		}
		if limit > 0 {
			pause = min(pause, limit-gone)
		}
		time.Sleep(cmp.Or(pause, time.Millisecond))
	}
}
