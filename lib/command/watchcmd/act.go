package watchcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/live/status"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

type command struct {
	env          *cli.Env
	words        []string // as a person types them
	hiddenArgs   []string // arguments that the person is not shown
	input        string   // its standard input
	typedAnswers []string // for a new agent, each answer
	dir          string   // where it runs
	environ      []string
	rowKey       string        // the key of the row
	timeLimit    time.Duration // the time that it has
}

// sessionCommand returns the command gt-session VERB about the agent of a row. If agents of all towns are
// listed, the command runs where gt-session finds the agent's town.
func (m *model) sessionCommand(r *row, verb string, args ...string) command {
	c := command{env: m.env, words: []string{"gt-session", verb}, dir: m.env.Dir, environ: m.env.Environ, rowKey: r.key, timeLimit: commandTime}
	if r.Member != nil && r.Scope.Profile != "" {
		c.words = append(c.words, "-p", r.Scope.Profile)
	} else if r.Member != nil && m.reader.everywhere { // gt-session finds the town by its folder
		if c.dir = "/"; !r.Scope.Town.Personal {
			c.dir = r.Scope.Town.Root
		}
		c.environ = slices.DeleteFunc(slices.Clone(c.environ), func(kv string) bool {
			return strings.HasPrefix(kv, "GT_ROOT=") || strings.HasPrefix(kv, "GT_TOWN_ROOT=")
		})
	}
	c.words = append(append(c.words, r.address()), args...)
	return c
}

func (c command) String() string {
	return term.TypedWords(c.words)
}

// Bounds of a command. A stop and a start take their time, and a new worktree's setup takes
// what gt-session allows it; the panel of all agents waits for what one shows.
const (
	commandTime   = 5 * time.Minute
	newTime       = 2 * time.Hour
	panelTime     = 5 * time.Second
	diffTime      = 4 * panelTime // git is asked twice
	commandOutput = 1 << 20
)

type commandResult struct {
	command
	out    string
	failed string // why, "" if it did not
}

// run returns what the command printed, or why it failed. It blocks, so only a tea.Cmd calls it.
func (c command) run() commandResult {
	path, err := process.LookPath(process.SiblingBinary(c.words[0]), c.env.Dir, c.env.Environ)
	if err != nil {
		return commandResult{command: c, failed: err.Error()}
	}
	p := bounded.Program{Path: path, Args: slices.Concat(c.words[1:], c.hiddenArgs), Dir: c.dir, Env: c.environ, Input: []byte(c.input), Within: c.timeLimit, Most: commandOutput, AsksFirst: true, Linger: time.Second}
	result, err := p.Run(context.Background())
	var failed *bounded.Failed
	switch {
	case errors.As(err, &failed):
		return commandResult{command: c, failed: c.explainError(failed.Stderr, failed.Err)}
	case err != nil:
		return commandResult{command: c, failed: err.Error()}
	}
	return commandResult{command: c, out: string(result.Out)}
}

// explainError returns a failed command's standard error in one line, or err if that is empty.
func (c command) explainError(stderr string, err error) string {
	var parts []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimPrefix(strings.TrimSpace(line), c.words[0]+": ")
		if kind, rest, ok := strings.Cut(line, ": "); ok && (kind == "error" || kind == "hint") {
			line = rest
		}
		if line != "" {
			parts = append(parts, line)
		}
	}
	if parts == nil {
		return err.Error()
	}
	return strings.Join(parts, "; ")
}

func (m *model) startCommand(c command) tea.Cmd {
	m.message = message{command: c.String(), text: "…"}
	return func() tea.Msg { return c.run() }
}

// showResult shows the outcome of a command at the bottom, and has the agents and the panel read again.
func (m *model) showResult(r commandResult) {
	m.message = message{command: r.String(), text: m.env.Line(r.failed, maxMessage), failed: r.failed != ""}
	if r.failed == "" {
		m.message.text = term.OneLine(term.LastLine(m.env.Text(r.out)))
	}
	// A text for an agent (told) that did not get there is kept: the person can send it again.
	switch told := r.input != "" || r.typedAnswers != nil; {
	case told && r.failed != "":
		m.unsent = r.command
	case told && m.unsent.rowKey == r.rowKey:
		m.unsent = command{}
	}
	wakeReader(m.reader.changes.urgent)
	m.panel.at = time.Time{}
}

const maxMessage = 1000 // bounds the message of a command, in characters

// askToConfirm asks whether to run a command about a row, with --now if its agent is busy.
func (m *model) askToConfirm(r *row, verb string) tea.Cmd {
	m.mode, m.about = asking, r.key
	title, args := verb+" "+r.address(), []string(nil)
	if r.WhyBusy != "" {
		title, args = title+", though "+r.WhyBusy, []string{"--now"}
	}
	m.ask = ask{title: title + "? y/n", do: func(m *model, r *row, _ string) tea.Cmd { return m.startCommand(m.sessionCommand(r, verb, args...)) }}
	return nil
}

func sendPrompt(m *model, r *row, text string) tea.Cmd {
	c := m.sessionCommand(r, "send", "-")
	c.input = text
	return m.startCommand(c)
}

func forkAgent(m *model, r *row, name string) tea.Cmd {
	if name == "" {
		return m.startCommand(m.sessionCommand(r, "fork"))
	}
	return m.startCommand(m.sessionCommand(r, "fork", "-n", name))
}

// newKey is what an input line is about that makes an agent. No row has it.
const newKey = "new"

// askForNewAgent asks for folder, client, branch and prompt of a new agent, one after the other,
// and starts it. The prompt is on no command line, which others could read.
func (m *model) askForNewAgent() tea.Cmd {
	dir, client := m.env.Dir, contract.Default
	if r := m.chosenRow(); r != nil && r.Member != nil {
		dir, client = r.Member.Path, r.Member.Agent
	}
	home := m.env.Getenv("HOME")
	steps := []struct{ title, flag, text string }{
		{"new agent in the folder", "", term.Tilde(dir, home)}, {"its client", "--agent", client},
		{"branch of a worktree for it, or none", "--worktree", ""}, {"its prompt, or none", "", ""},
	}
	for i, text := range m.unsent.typedAnswers { // of one that could not be made
		steps[i].text = text
	}
	c := command{env: m.env, words: []string{"gt-session", "new"}, rowKey: newKey, dir: m.env.Dir, environ: m.env.Environ, timeLimit: newTime}
	if m.reader.profile != "" {
		c.words = append(c.words, "-p", m.reader.profile)
	}
	var next func(i int) tea.Cmd
	next = func(i int) tea.Cmd {
		s, last := steps[i], i == len(steps)-1
		m.about = newKey
		m.ask = ask{title: s.title, needsNoRow: true, multiline: last, allowsEmpty: i > 1, do: func(m *model, _ *row, text string) tea.Cmd {
			c.typedAnswers = append(c.typedAnswers, text)
			switch {
			case i == 0:
				if rest, ok := strings.CutPrefix(text, "~"); ok && (rest == "" || rest[0] == '/') {
					text = home + rest
				}
				c.words = append(c.words, text)
			case last && text != "":
				c.words, c.input = append(c.words, "-m", "-"), text
			case text != "":
				c.words = append(c.words, s.flag+"="+text)
			}
			if last {
				return m.startCommand(c)
			}
			return next(i + 1)
		}}
		return m.openInput(s.text)
	}
	return next(0)
}

// toggleDiff shows in the panel what the chosen agent has changed, or its screen again if it does.
func (m *model) toggleDiff() tea.Cmd {
	r := m.chosenRow()
	if r == nil || m.panel.diffOf == r.key {
		m.panel.diffOf, m.panel.at, m.panel.sameCount = "", time.Time{}, 0
		return nil
	}
	c, key := m.sessionCommand(r, "show", "--diff"), r.key
	c.timeLimit = diffTime
	m.panel.diffOf = key
	return func() tea.Msg {
		got := c.run()
		return panelText{key: key, text: cmp.Or(got.out, got.failed), note: "what it has changed; d shows its screen", diff: true}
	}
}

// attach attaches to the agent of a row. Inside tmux, gt-session switches the client to an agent of
// this host; otherwise gt-session gets the terminal for as long as it runs.
func (m *model) attach(r *row) tea.Cmd {
	c := m.sessionCommand(r, "attach")
	if m.env.Getenv("TMUX") != "" && r.Member != nil {
		return m.startCommand(c)
	}
	m.message = message{command: c.String()}
	f := &foreground{command: c}
	return tea.Exec(f, func(err error) tea.Msg {
		if err != nil {
			return commandResult{command: c, failed: c.explainError(f.stderr.String(), err)}
		}
		return commandResult{command: c}
	})
}

// foreground is a command that has the terminal until it ends (a tea.ExecCommand).
type foreground struct {
	command
	stdin  io.Reader
	stdout io.Writer
	stderr bytes.Buffer
}

// SetStdin passes on the terminal itself: of typedInput, the command would get a pipe.
func (f *foreground) SetStdin(r io.Reader) {
	if t, ok := r.(*typedInput); ok {
		r = t.File
	}
	f.stdin = r
}
func (f *foreground) SetStdout(w io.Writer) { f.stdout = w }
func (f *foreground) SetStderr(io.Writer)   {} // it is shown at the bottom

func (f *foreground) Run() error {
	path, err := process.LookPath(process.SiblingBinary(f.words[0]), f.env.Dir, f.env.Environ)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, f.words[1:]...)
	cmd.Dir, cmd.Env = f.dir, f.environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = f.stdin, f.stdout, &f.stderr
	return cmd.Run()
}

// answerQuestion asks gt-session for the options of an agent's question, which offerOptions shows.
// For an agent whose pane is not on this host's tmux, it reads the screen as well.
func (m *model) answerQuestion(r *row) tea.Cmd {
	c := m.sessionCommand(r, "answer")
	c.hiddenArgs = []string{"--json"}
	peek, far := m.sessionCommand(r, "peek"), !m.hasPaneHere(r)
	asker := *r
	m.message = message{command: c.String(), text: "…"}
	return func() tea.Msg {
		got := c.run()
		o := questionOptions{asker: asker, ran: got}
		if got.failed != "" {
			return o
		}
		var q struct {
			Question string
			Options  []string
		}
		if json.Unmarshal([]byte(got.out), &q) == nil {
			o.question, o.all = q.Question, q.Options
		}
		for line := range strings.Lines(got.out) { // of an older gt on another host
			if _, text, ok := strings.Cut(strings.TrimSpace(line), ". "); ok && q.Options == nil {
				o.all = append(o.all, text)
			}
		}
		if far {
			o.screen = peek.run().out
		}
		return o
	}
}

// offerOptions asks the person for the number of an option. If there are none, it shows why.
func (m *model) offerOptions(o questionOptions) {
	if o.ran.failed != "" || len(o.all) == 0 {
		m.showResult(o.ran)
		return
	}
	m.message = message{}
	if m.mode != browsing || m.chosen != o.asker.key || m.chosenRow() == nil { // the person has gone on
		return
	}
	m.mode, m.about, m.typedNumber, m.asker, m.question = answering, o.asker.key, "", o.asker, o.question
	m.optionTexts = nil
	for _, text := range o.all {
		m.optionTexts = append(m.optionTexts, m.env.Line(text, maxTitle))
	}
	if o.screen != "" {
		m.showPanel(panelText{key: o.asker.key, text: o.screen})
	}
	m.dropStaleQuestion()
}

// dropStaleQuestion gives up what the person is asked if its agent is gone, or has another question
// than the one whose options are on the screen: a number would answer that.
func (m *model) dropStaleQuestion() {
	if m.mode != asking && m.mode != answering {
		return
	}
	switch r := m.findRow(m.about); {
	case r == nil:
		m.returnToList(false)
		m.message = message{command: "gt-watch", text: "the agent is gone", failed: true}
	case m.mode == asking: // gt-watch asks, not the agent
	case m.asker.Status != status.Waiting: // its question is on the screen before it tells that it waits
		m.asker = *r
	case r.Status != status.Waiting || !r.Since.Equal(m.asker.Since):
		m.returnToList(false)
		m.message = message{command: m.sessionCommand(r, "answer").String(), text: "the question has changed", failed: true}
	}
}

// takeDigit takes a key of an option's number: a digit, backspace or enter. It gives the answer as
// soon as no option has a number with a further digit.
func (m *model) takeDigit(key string) tea.Cmd {
	switch {
	case key == "backspace":
		m.typedNumber = m.typedNumber[:max(len(m.typedNumber)-1, 0)]
		return nil
	case len(key) == 1 && key >= "0" && key <= "9":
		m.typedNumber += key
	case key != "enter":
		return nil
	}
	n, err := strconv.Atoi(m.typedNumber)
	if key != "enter" && n*10 <= len(m.optionTexts) && n > 0 {
		return nil // a further digit may follow
	}
	r := m.findRow(m.about)
	if err != nil || n < 1 || n > len(m.optionTexts) || r == nil {
		m.typedNumber = ""
		return nil
	}
	m.returnToList(false)
	c := m.sessionCommand(r, "answer", strconv.Itoa(n))
	if m.question != "" {
		c.hiddenArgs = []string{"--question", m.question}
	}
	return m.startCommand(c)
}
