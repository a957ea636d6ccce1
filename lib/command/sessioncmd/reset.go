package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"sort"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/send"
	"gt/lib/live/status"
	"gt/lib/state/instance"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// goOn is what an agent is told after a limit if the person says nothing else.
const goOn = "The usage limit has ended. Go on where you stopped."

// resumeGrace is how long after the end of a limit a client may take to go on by itself.
const resumeGrace = 15 * time.Second

type limitSpan struct {
	in          *instance.Instance
	since, till time.Time
}

// startAfterLimits waits until the limits of the agents' accounts end. Then it tells each once to
// go on, or starts it, unless it has gone on meanwhile.
func (c *start) startAfterLimits(at scope) error {
	env := at.Env
	all, unread, err := c.selectInstances(at)
	if err != nil {
		return err
	}
	var ends []limitSpan
	for _, in := range all {
		one, err := c.findLimit(at, in)
		if err != nil {
			return errors.Join(unread, err)
		}
		ends = append(ends, one)
	}
	sort.SliceStable(ends, func(i, j int) bool { return ends[i].till.Before(ends[j].till) })
	limitOf := map[*instance.Instance]limitSpan{}
	for i, one := range ends {
		if all[i], limitOf[one.in] = one.in, one; one.till.After(env.Now()) {
			env.Hint("%s continues after %s; end this command to prevent that", one.in.Name, term.FormatDay(one.till, env.Now()))
		}
	}
	return errors.Join(unread, forEachInstance(env, all, func(in *instance.Instance) (string, error) { return c.goOnAfterLimit(env, at, limitOf[in]) }))
}

// findLimit returns since when an agent is at a limit of its account, and until when. It is an
// error if the agent is at none, or if it is not known when that ends.
func (c *start) findLimit(at scope, in *instance.Instance) (limitSpan, error) {
	one := limitSpan{in: in}
	m := at.Member(in)
	switch {
	case in.Managed != nil:
		return one, cli.Fail(cli.AnswerNo, fmt.Errorf("%s was made from a template", in.Name), "gt-reconcile starts it again by itself")
	case m.Reason == status.Limited:
		if screen, err := tmux.Server(m.TmuxServer).CaptureStyled(m.Pane.ID); err == nil {
			if shown, _ := at.Table().FindClient(m.Agent).Input(screen); shown == agent.Asks { // nobody may be there to answer then
				return one, explainRefusal(m, send.ErrAsks)
			}
		}
		one.since, one.till = m.Since, m.LimitedUntil
	case m.Process.IsSet(): // it runs, at no limit
	default:
		if one.since = m.LimitedAt(); !one.since.IsZero() {
			one.till = m.LimitEnd(m.StartedAt.Add(time.Minute)) // it looks a minute back
		}
	}
	switch {
	case one.since.IsZero():
		return one, cli.Failf(cli.AnswerNo, "%s is at no limit", in.Name)
	case one.till.IsZero():
		return one, cli.Failf(cli.AnswerNo, "%s does not say when the limit of %s ends", in.Agent, in.Name)
	}
	return one, nil
}

// goOnAfterLimit waits for the end of a limit. Then the agent goes on, unless it has done so by itself.
func (c *start) goOnAfterLimit(env *cli.Env, at scope, one limitSpan) (string, error) {
	for end := one.till.Add(resumeGrace); env.Now().Before(end); { // the machine may sleep meanwhile
		time.Sleep(min(end.Sub(env.Now()), time.Minute))
	}
	in, err := at.Store.Get(one.in.ID)
	if err != nil {
		return "", err
	}
	m := at.Member(in)
	text := cmp.Or(c.Message, goOn)
	switch {
	case m.Process.IsSet() && m.Reason == status.Limited && m.Since.Equal(one.since):
		say, said := new(sendPrompt), ""
		if text, err = say.cleanText(env, text); err == nil {
			_, said, err = say.sendTo(at, in.Name, text)
		}
		return said, err
	case m.Process.IsSet() || !m.LimitedAt().Equal(one.since): // its hooks have told of something since
		return in.Name + " has gone on already", nil
	}
	r := newStarter(at)
	r.Prompt, r.About, r.Trust = text, env.Line(c.Topic, maxTopic), c.Trust
	return startAgent(r, in, "", in.Name+" has gone on already")
}
