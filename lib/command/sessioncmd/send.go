package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/readers"
	"gt/lib/client/readers/files"
	"gt/lib/launch"
	"gt/lib/launch/send"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/sys/tmux"
	"gt/lib/text/duration"
	"gt/lib/text/plain"
	"gt/lib/text/term"
)

type sendPrompt struct {
	profile
	Name    string        `arg:"" help:"The agent."`
	Words   []string      `arg:"" optional:"" name:"text" help:"What it is told, in quotes; - reads it from standard input. Several agents: send api web -- 'TEXT'."`
	Text    *string       `hidden:"" help:"What stands behind --."`
	Wait    bool          `help:"Wait until it has answered, and print the answer."`
	Timeout duration.Flag `placeholder:"DURATION" help:"Wait no longer than this: 90s, 10m, 2h (default: no limit)."`
	Command bool          `help:"The text is a command of the client's own, such as /compact."`
}

const maxText = 1 << 20 // limits a prompt, in bytes

// Run sends the text to one agent or several. Without --, the last argument is the text.
func (c *sendPrompt) Run(env *cli.Env, at scope) error {
	names, text := append([]string{c.Name}, c.Words...), c.Text
	if text == nil {
		last := len(names) - 1
		names, text = names[:last], &names[last]
	}
	clean, err := c.cleanText(env, *text)
	switch {
	case err != nil:
		return err
	case len(names) == 1:
		return c.sendToOne(at, names[0], clean)
	}
	return c.sendToEach(at, names, clean)
}

// sendToEach sends the text to several agents, a few at a time, and goes on after a failure.
// With --wait it prints each answer below the agent's name.
func (c *sendPrompt) sendToEach(at scope, names []string, text string) error {
	env := at.Env
	var all []*instance.Instance
	// told has the agents that are in all: an instance's id, or NAME@HOST.
	told := map[string]bool{}
	for _, name := range names { // checks each and drops doubles; nothing is sent yet
		e, err := findOnHost(env, name)
		if err != nil {
			return err
		}
		key := ""
		if e != nil {
			key = e.name + "@" + e.host.Name
			_, err = agentsNamed(env, e.host, e.name)
			err = cli.WithHint(err, "if it is new there, gt-session send %s alone asks that host", key)
		} else {
			var in *instance.Instance
			if in, err = findReadable(at, name); err == nil {
				key = string(in.ID)
			}
		}
		if err != nil { // nobody is told, so that the person can correct the name and repeat it
			return err
		}
		if !told[key] {
			told[key], all = true, append(all, &instance.Instance{Name: name}) // for forEachInstance
		}
	}
	begin := time.Now()
	prompts := make([]sentPrompt, len(all))
	failed := forEachInstance(env, all, func(to *instance.Instance) (said string, err error) {
		if !c.Wait {
			return "", c.sendToOne(at, to.Name, text)
		}
		prompts[slices.Index(all, to)], _, err = c.sendTo(at, to.Name, text)
		return "", err
	})
	for _, s := range prompts {
		if s.in == nil || !s.wasSent {
			continue
		}
		fmt.Fprintf(env.Stdout, "%s:\n", s.in.Name)
		if err := c.awaitAnswer(env, s, begin); err != nil {
			env.Error("%v", err)
			failed = cmp.Or(failed, cli.Fail(cli.ExitCode(err), errors.New("not all have answered")))
		}
	}
	return failed
}

// sendToOne sends the text to one agent, of this host or another, and prints the answer with --wait.
func (c *sendPrompt) sendToOne(at scope, name, text string) error {
	if e, err := findOnHost(at.Env, name); err != nil || e != nil {
		if err == nil && c.Wait {
			err = cli.Fail(cli.Usage, errors.New("--wait works with an agent of this host only"))
		}
		if err != nil {
			return err
		}
		return e.runThere(peer.Ask{Command: "send", Text: text, Slash: c.Command}, askPatience)
	}
	if away, err := findRuntimeAgent(at, name, findReadable); err != nil || away != nil {
		return away.send(at.Env, c, text, err)
	}
	begin := time.Now()
	s, report, err := c.sendTo(at, name, text)
	switch {
	case err != nil:
		return err
	case c.Wait:
		return c.awaitAnswer(at.Env, s, begin)
	}
	return at.Env.Println(report)
}

func (c *sendPrompt) Validate() error {
	switch {
	case c.Text == nil && len(c.Words) == 0:
		return errors.New("the text is missing (try gt-session send NAME 'TEXT')")
	case c.Text == nil && len(c.Words) > 1:
		return errors.New("quote the text; for several agents it stands behind --, as in: gt-session send api web -- 'TEXT'")
	case c.Wait && c.Command:
		return errors.New("--wait and --command exclude each other: a command of the client's has no answer")
	case c.Timeout != 0 && !c.Wait:
		return errors.New("--timeout needs --wait")
	}
	return nil
}

type sentPrompt struct {
	scope
	in      *instance.Instance
	text    string
	sentAt  time.Time         // when sending it began
	queued  bool              // the agent is busy, and takes it up later
	wasSent bool              // false if sending failed
	mark    conversationPlace // the end of the conversation before, with Wait
}

// cleanText returns the text to type. Without --command it refuses what the client takes for a command.
func (c *sendPrompt) cleanText(env *cli.Env, text string) (string, error) {
	text, err := readText(env, text)
	if err != nil {
		return "", err
	}
	command := ""
	if c.Command {
		text = strings.TrimSpace(plain.Text(text))
	} else {
		text, command = send.FormatPrompt(text)
	}
	switch {
	case command != "":
		return "", cli.Fail(cli.Usage, fmt.Errorf("the client would take %s as a command", term.Quote(command)), "--command sends it as a command; put a word before it to send it as text")
	case text == "":
		return "", cli.Failf(cli.Usage, "the text is empty")
	case c.Command && strings.Contains(text, "\n"):
		return "", cli.Failf(cli.Usage, "--command: the text has several lines")
	}
	return text, nil
}

// readText returns text, or what standard input holds if text is "-".
func readText(env *cli.Env, text string) (string, error) {
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(env.Stdin, maxText+1))
		if err != nil {
			return "", fmt.Errorf("cannot read the text: %w", err)
		}
		text = string(data)
	}
	if len(text) > maxText {
		return "", cli.Fail(cli.Usage, fmt.Errorf("the text has more than %d bytes", maxText), "put it into a file, and name the file in the prompt")
	}
	return text, nil
}

// sendTo types and submits the text, and returns in a sentence what proves that the client took it.
func (c *sendPrompt) sendTo(at scope, name, text string) (s sentPrompt, report string, err error) {
	env := at.Env
	held, err := lockNamed(at, name)
	if err != nil {
		return s, "", err
	}
	defer held.Release()
	now := env.Now()
	s = sentPrompt{in: held.Instance, scope: at, text: text, sentAt: now}
	m := at.Member(held.Instance)
	if err := checkReadsPane(m); err != nil {
		return s, "", err
	}
	if c.Wait {
		_, s.mark, _ = lastAnswer(at, m, "", time.Time{}) // awaitAnswer reports read errors
	}
	to := send.Target{Server: tmux.Server(m.TmuxServer), Pane: m.Pane.ID, Client: at.Table().FindClient(m.Agent), Busy: m.Status == status.Running}
	if to.Client.Dialect != "" && !c.Command {
		to.LastPrompt, to.RefusedSince = fleet.LastPrompt(at.Store, m.Instance), m.RefusedSince()
		to.ShowsPrompt = func(since time.Time) send.Sight {
			if m.Record == nil || readers.FindReader(m.Record.Agent) == nil ||
				m.Record.Transcript == "" && files.Path(m.Record.Agent, env.Getenv, m.Record.CWD, string(m.Record.ID)) == "" {
				return send.Unknown // there is no conversation to read
			}
			if a, _, _ := lastAnswer(at, m, text, since); a.hasPrompt {
				return send.Seen
			}
			return send.Absent
		}
	}
	// Where gt does not know the client's input box, Send cannot see that the client asks.
	if !to.Client.KnowsInput() && (m.Reason == status.Permission || m.Reason == status.Question) {
		return s, "", explainRefusal(m, send.ErrAsks)
	}
	proof, err := to.Send(text, send.Patience)
	if err != nil {
		return s, "", explainRefusal(m, err)
	}
	s.wasSent, report = true, "sent to "+m.Name
	switch proof {
	case send.Queued:
		s.queued = true
		report += ", which is busy and takes it up later"
	case send.Screen:
		if to.LastPrompt != nil {
			env.Warn("no hook of %s reported that it began a turn; its screen shows that the text was submitted", m.Name)
		} else if !c.Command {
			env.Hint("%s has no hooks that report it; its screen shows that the text was submitted", m.Name)
		}
	case send.NoProof:
		env.Warn("cannot tell whether %s took it: gt does not know what its input box looks like; gt-session peek %s shows its screen", m.Name, m.Name)
	}
	return s, report, nil
}

// checkReadsPane fails unless the agent can read what is typed in its pane.
func checkReadsPane(m fleet.Member) error {
	if p := m.SuspendedProcess(); p.IsSet() {
		return cli.Fail(cli.Busy, fmt.Errorf("%s is suspended, as by Ctrl-Z", m.Name), fmt.Sprintf("fg in its pane continues it; without a shell there, kill -CONT %d", p.PID))
	}
	if m.Pane.ID != "" && m.Process.IsSet() {
		return nil
	}
	return cmp.Or(launch.CheckReachable(m), notRunningError(m.Instance))
}

func notRunningError(in *instance.Instance) error {
	if in.IsArchived() {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is archived", in.Name), fmt.Sprintf("gt-session start %s brings it back, and starts it", in.Name))
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is not running", in.Name), fmt.Sprintf("gt-session start %s starts it", in.Name))
}

func noInputError(m fleet.Member, err error) error {
	if errors.Is(err, tmux.ErrDead) {
		return cli.Fail(cli.AnswerNo, err, fmt.Sprintf("gt-session start %s starts it", m.Name))
	}
	return cli.Fail(cli.Busy, err, fmt.Sprintf("tmux select-pane -e -t %s switches it on", m.Pane.ID))
}

// explainRefusal returns the error for a text that was not sent: Busy if a later try may succeed.
func explainRefusal(m fleet.Member, err error) error {
	peek := fmt.Sprintf("gt-session peek %s shows its screen", m.Name)
	switch {
	case errors.Is(err, send.ErrAsks), errors.Is(err, send.ErrAskedFirst):
		return cli.Fail(cli.Busy, fmt.Errorf("cannot send to %s: %w", m.Name, err), peek+fmt.Sprintf("; gt-session answer %s N answers", m.Name))
	case errors.Is(err, send.ErrDraft), errors.Is(err, send.ErrNoInput), errors.Is(err, send.ErrRefused), errors.Is(err, send.ErrDeaf), errors.Is(err, send.ErrWorks):
		return cli.Fail(cli.Busy, fmt.Errorf("cannot send to %s: %w", m.Name, err), peek)
	case errors.Is(err, send.ErrLost), errors.Is(err, send.ErrNotArrived), errors.Is(err, send.ErrUntaken), errors.Is(err, send.ErrNotSubmitted):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot send to %s: %w", m.Name, err), peek)
	case errors.Is(err, tmux.ErrDead), errors.Is(err, tmux.ErrReadOnly):
		return noInputError(m, fmt.Errorf("cannot send to %s: %w", m.Name, err))
	}
	return err
}

type reply struct {
	profile
	Name     string `arg:"" help:"The agent."`
	Option   int    `arg:"" optional:"" name:"n" help:"The number of the option; without one, the options are listed."`
	Question string `placeholder:"ID" help:"Answer only this question (--json shows its id)."`
	JSON     bool   `help:"With the options, print the question and its id as one JSON object."`
}

// Run lists the options of a question, or chooses one. After a list, the number means an option of
// the question that was listed.
func (c *reply) Run(env *cli.Env, at scope) error {
	if e, err := findOnHost(env, c.Name); err != nil {
		return err
	} else if e != nil {
		return e.runThere(peer.Ask{Command: "answer", N: c.Option, Question: c.Question, JSON: c.JSON}, askPatience)
	}
	held, err := lockNamed(at, c.Name)
	if err != nil {
		return err
	}
	defer held.Release()
	m := at.Member(held.Instance)
	if err := checkReadsPane(m); err != nil {
		return err
	}
	to := send.Target{Server: tmux.Server(m.TmuxServer), Pane: m.Pane.ID, Client: at.Table().FindClient(m.Agent)}
	if c.Option == 0 {
		q, err := to.Question()
		if err != nil {
			return unansweredError(env, m, q, err)
		}
		if len(q.Options) == 0 {
			return unansweredError(env, m, q, send.ErrNoOption)
		}
		err = c.show(env, q)
		return errors.Join(err, setListed(held, q.Digest(), env))
	}
	taken, err := to.Answer(c.Option, cmp.Or(c.Question, held.Listed), send.Patience)
	if err != nil {
		q, _ := to.Question()
		if errors.Is(err, send.ErrChanged) && len(q.Options) > 0 {
			err = errors.Join(err, setListed(held, q.Digest(), env))
		}
		return unansweredError(env, m, q, err)
	}
	if err := setListed(held, "", env); err != nil {
		return err
	}
	return env.Printf("answered %s: %d. %s\n", m.Name, c.Option, env.Line(taken.Text, maxCell))
}

type question struct {
	ID      string   `json:"question"`
	Text    string   `json:"text"`
	Options []string `json:"options"`
}

// show prints the options of a question with their numbers, or the question as JSON.
func (c *reply) show(env *cli.Env, q agent.Question) error {
	shown := question{ID: q.Digest(), Text: env.Text(q.Text)}
	for i, o := range q.Options {
		text := env.Line(o.Text, maxCell)
		if shown.Options = append(shown.Options, text); !c.JSON {
			fmt.Fprintf(env.Stdout, "%d. %s\n", i+1, text)
		}
	}
	if !c.JSON {
		return nil
	}
	return env.JSON(shown)
}

// setListed records that the options of a question were shown, so that a number answers no other
// one; "" forgets it.
func setListed(held *instance.Locked, digest string, env *cli.Env) error {
	if held.Listed == digest {
		return nil
	}
	held.Listed = digest
	return held.Put(env.Now())
}

// unansweredError returns the error for a question that was not answered, with its options if it has any.
func unansweredError(env *cli.Env, m fleet.Member, q agent.Question, err error) error {
	failed := cli.Fail(cli.AnswerNo, fmt.Errorf("cannot answer %s: %w", m.Name, err))
	switch {
	case errors.Is(err, send.ErrNoOption) && len(q.Options) == 0:
		return cli.WithHint(failed, "gt-session cannot read the options of its question; gt-session attach %s shows them", m.Name)
	case errors.Is(err, send.ErrNoOption), errors.Is(err, send.ErrChanged) && len(q.Options) > 0:
		for i, o := range q.Options {
			failed = cli.WithHint(failed, "%d. %s", i+1, env.Line(o.Text, 200))
		}
		return failed
	case errors.Is(err, send.ErrNoQuestion), errors.Is(err, send.ErrNotTaken), errors.Is(err, send.ErrChanged):
		return cli.WithHint(failed, "gt-session peek %s shows its screen", m.Name)
	case errors.Is(err, tmux.ErrDead), errors.Is(err, tmux.ErrReadOnly):
		return noInputError(m, fmt.Errorf("cannot answer %s: %w", m.Name, err))
	}
	return err
}
