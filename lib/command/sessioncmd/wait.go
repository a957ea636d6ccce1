package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/readers"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
	"gt/lib/launch/send"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/reconcile/agents"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/tmux"
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

// Run waits until each agent has the status or has ended. It prints those that reach the status;
// the error names those that have ended without it.
func (c *wait) Run(env *cli.Env, at scope) error {
	left, _, err := agentSelection{Names: c.Names}.selectInstances(at)
	if err != nil {
		return err
	}
	var failed error
	err = pollUntil(time.Duration(c.Timeout), time.Now(), func() (bool, error) {
		for i, in := range left { // reload, because a restart changes it; a removed one is noticed below
			if current, err := at.Store.Get(in.ID); err == nil {
				left[i] = current
			}
		}
		members := at.Members(left)
		at.AskRuntimes(members)
		for _, m := range members {
			current, err := lookAgain(at, m)
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
		at.AskRuntimes(members)
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

// lookAgain looks again at an agent that seems to have ended, under the lock of its instance.
// The status is Unknown while another command starts or stops the agent.
func lookAgain(at scope, m fleet.Member) (fleet.Member, error) {
	if !hasEnded(m) || agents.IsRemote(m.Instance) {
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

// pollUntil calls look until it reports the end or an error, or until limit has passed since
// begin (0 is no limit). The pauses grow from 100 ms to 1 s, because a look costs a call of tmux.
func pollUntil(limit time.Duration, begin time.Time, look func() (over bool, err error)) error {
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

// agentAnswer is the last answer of an agent, and whether it follows a given prompt.
type agentAnswer struct {
	hasPrompt bool // the conversation contains the prompt
	text      string
	isError   bool // the client wrote the text to report an error
}

// conversationOf returns what reads the conversation of an agent, and the conversation's file. It
// fails for a file in no folder of the client's accounts.
func conversationOf(at scope, m fleet.Member) (conversation.Reader, conversation.File, error) {
	if m.Record == nil {
		return nil, conversation.File{}, cli.Failf(cli.AnswerNo, "%s has no conversation yet that gt knows of", m.Name)
	}
	client := at.Table().FindClient(m.Agent)
	name := cmp.Or(m.Record.Agent, client.Dialect)
	r := readers.FindReader(name)
	if r == nil {
		name = client.Dialect
		r = readers.FindReader(name)
	}
	path := m.Record.Transcript
	if r != nil && path == "" {
		path = files.Path(name, at.Env.Getenv, m.Record.CWD, string(m.Record.ID))
	}
	if !atomicfile.Exists(path) {
		path = ""
	}
	switch {
	case r == nil:
		return nil, conversation.File{}, cli.Failf(cli.AnswerNo, "gt cannot read the conversations of %s", m.Agent)
	case path == "":
		return nil, conversation.File{}, cli.Failf(cli.AnswerNo, "%s has no conversation yet that gt knows of", m.Name)
	}
	_, real, err := accountGuard(at, m.Instance).FindAccount(name, path)
	if err != nil {
		return nil, conversation.File{}, cli.Fail(cli.AnswerNo, err)
	}
	return r, conversation.File{Client: name, Path: real, ID: m.Record.ID}, nil
}

// readLastAnswer reads the agent's last answer from an offset on. If asked is set, a.hasPrompt
// reports whether a prompt with that text came at or after a time (to the second). If so, a is
// the answer to it, and has no text while there is none. The parts of a message, which have one
// ID, are joined. next is the offset to read on from.
func readLastAnswer(r conversation.Reader, f conversation.File, from int64, asked string, after time.Time) (a agentAnswer, next int64, err error) {
	var id string
	next, err = r.Read(f, conversation.Options{From: from}, func(e conversation.Entry) bool {
		switch e.Kind {
		case conversation.Prompt, conversation.Reply:
			if asked != "" && send.IsPrompt(e, asked, after, false) {
				a = agentAnswer{hasPrompt: true}
			}
			id = ""
		case conversation.Answer:
			switch {
			case strings.TrimSpace(e.Text) == "":
			case id != "" && id == e.ID:
				a.text += "\n\n" + e.Text
			default:
				a.text, a.isError = e.Text, e.Failed
			}
			id = e.ID
		}
		return true
	})
	return a, next, err
}

// lastAnswer reads the last answer of an agent in its whole conversation, as readLastAnswer does,
// and returns the conversation's end.
func lastAnswer(at scope, m fleet.Member, asked string, after time.Time) (a agentAnswer, end conversationPlace, err error) {
	r, f, err := conversationOf(at, m)
	if err != nil {
		return a, end, err
	}
	a, next, err := readLastAnswer(r, f, 0, asked, after)
	return a, conversationPlace{f, next}, err
}

func printLast(at scope, m fleet.Member) error {
	a, _, err := lastAnswer(at, m, "", time.Time{})
	if err != nil && a.text == "" {
		return err
	}
	return a.print(at.Env, m)
}

// print prints the answer. It fails without one, and for a text that is an error of the client.
func (a agentAnswer) print(env *cli.Env, m fleet.Member) error {
	switch text := strings.TrimRight(env.Text(a.text), "\n "); {
	case a.isError:
		return cli.Failf(cli.AnswerNo, "%s did not answer: %s", m.Name, env.Line(text, maxCell))
	case text == "":
		return cli.Failf(cli.AnswerNo, "%s has not answered yet", m.Name)
	default:
		return env.Println(text)
	}
}

// conversationPlace is the place in a conversation after which the answer to a prompt is expected.
type conversationPlace struct {
	file conversation.File
	at   int64
}

// answerWait is how long a waiting client may take to accept a prompt, and to write its answer
// to the conversation. On a busy machine the hook of the turn before can report its end long
// before that, and a client that syncs each line (Qwen Code) is as slow as the disk. failedWait is
// for a turn that failed or was interrupted, which may have no answer.
const (
	answerWait = time.Minute
	failedWait = 5 * time.Second
)

// readScreen reports whether an agent asks something. working is its screen if that shows that
// the agent works, and "" otherwise.
func readScreen(known *agent.Table, m fleet.Member) (asks bool, working string) {
	client := known.FindClient(m.Agent)
	styled, err := tmux.Server(m.TmuxServer).CaptureStyled(m.Pane.ID)
	if text := agent.Plain(styled); err == nil && client.ScreenState(text) == agent.Busy {
		working = text
	}
	if !client.KnowsInput() {
		return m.Reason == status.Permission || m.Reason == status.Question, working
	}
	shown, _ := client.Input(styled)
	return err == nil && shown == agent.Asks, working
}

// awaitAnswer waits until the agent has answered the prompt, and prints the answer. The timeout
// began at begin.
func (c *sendPrompt) awaitAnswer(env *cli.Env, s sentPrompt, begin time.Time) error {
	var m fleet.Member
	var a agentAnswer
	var waitsSince, asksSince time.Time
	over := false // the agent has ended
	worked := ""  // the last screen that showed that the agent works
	// read sets a. r is nil if there is no conversation that can be read.
	read := func() (r conversation.Reader, err error) {
		r, f, err := conversationOf(s.scope, m)
		if err == nil {
			from, after := s.mark.at, time.Time{}
			if f != s.mark.file { // the other file may hold the same prompt from before
				from, after = 0, s.sentAt
			}
			a, _, err = readLastAnswer(r, f, from, s.text, after)
		}
		return r, err
	}
	err := pollUntil(time.Duration(c.Timeout), begin, func() (bool, error) {
		in, err := s.Store.Get(s.in.ID)
		if err != nil {
			return false, withExitCode(s.in.Name, err)
		}
		if m, err = lookAgain(s.scope, s.Member(in)); err != nil {
			return false, withExitCode(s.in.Name, err)
		}
		asks, working := readScreen(s.Table(), m)
		if working != "" && working != worked { // a hook of the turn before was late
			worked, waitsSince = working, time.Time{}
		}
		switch {
		case hasEnded(m):
			over = true
			if _, err := read(); err == nil && a.hasPrompt && a.text != "" {
				return true, nil
			}
			return false, cli.Fail(cli.AnswerNo, fmt.Errorf("%s did not answer: it is %s", m.Name, m.Status))
		case asks: // some clients have no hook for this
			if asksSince.IsZero() {
				asksSince = time.Now()
			}
			if time.Since(asksSince) > time.Second {
				return false, cli.Fail(cli.Busy, fmt.Errorf("%s has not answered yet: %w", m.Name, send.ErrAsks),
					fmt.Sprintf("gt-session peek %s shows its screen; gt-session answer %s N answers", m.Name, m.Name))
			}
			return false, nil
		case m.Status != status.Waiting && m.Status != status.Idle, !m.Since.After(s.sentAt):
			waitsSince, asksSince = time.Time{}, time.Time{}
			return false, nil // it works, or has waited since before the prompt
		}
		if waitsSince.IsZero() {
			waitsSince = time.Now()
		}
		r, err := read()
		noConversation := r == nil && !s.queued // none can be read; a queued prompt has more time
		// The agent waits, and not because it is done: the turn failed or was interrupted.
		failed := a.hasPrompt && working == "" && m.Status == status.Waiting && m.Reason != status.Done && time.Since(waitsSince) > failedWait
		switch {
		case a.hasPrompt && a.text != "":
			return true, nil
		case noConversation, failed, time.Since(waitsSince) > answerWait: // wait no longer
			return true, err
		}
		return false, nil
	})
	switch {
	case errors.Is(err, errTimeout):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%w: %s is %s", err, s.in.Name, roster.StatusText(m)))
	case err != nil:
		return err
	case !a.hasPrompt: // the answer may belong to the turn before
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s has not answered yet: what it was told is not in its conversation", m.Name),
			fmt.Sprintf("gt-session show %s --last prints what it said last", m.Name))
	}
	err = a.print(env, m)
	if err == nil && over {
		env.Hint("%s has ended; gt-session start %[1]s has it go on", m.Name)
	}
	return err
}
