package seancecmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/ask"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/text/term"
)

type talk struct {
	ID     string `arg:"" help:"The session, by its id or the beginning of it."`
	Prompt string `arg:"" optional:"" help:"The question; - reads it from standard input. Without it, each line of standard input is a question."`
	DryRun bool   `short:"n" help:"Print the command that would ask. It takes the question on standard input."`
	JSON   bool   `name:"json" help:"One JSON object with the answer."`
}

func (talk) Help() string {
	return `The session answers from all that it knew, and does not change: its agent answers on a copy that is not saved, runs no hooks and changes no file. The session may still be running, or belong to another account. For a session of another client, or one that only gt-record still has, Claude Code or Codex answers from a copy of the conversation without secrets.

  gt-seance talk 4f2c81d0 'why did you drop the index?'
  git diff | gt-seance talk 4f2c81d0 -
  gt-seance talk 4f2c81d0        several questions, one a line`
}

const maxPrompt = 1 << 20 // limits a question, in bytes

func (c *talk) Run(env *cli.Env) error {
	if c.JSON && c.Prompt == "" {
		return cli.Failf(cli.Usage, "--json needs a PROMPT")
	}
	s, _, err := findSession(env, c.ID)
	if err == nil {
		err = checkLocal(s)
	}
	if err != nil {
		return err
	}
	if s.SubagentOf != "" {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("session %s is a subagent, which cannot be asked", s.ID),
			fmt.Sprintf("gt-seance talk %s asks the session that it worked for", s.SubagentOf))
	}
	p, done, err := c.predecessor(env, s)
	if err != nil {
		return err
	}
	defer done()
	return c.askPredecessor(env, s, p)
}

// askPredecessor sends the question, or opens a conversation without one.
func (c *talk) askPredecessor(env *cli.Env, s *catalog.Session, p *ask.Predecessor) (err error) {
	if c.DryRun {
		return env.Println(term.Clean(env.Redact(p.Command(c.Prompt == ""))))
	}
	if c.Prompt == "" {
		return askLines(env, p)
	}
	prompt := c.Prompt
	if prompt == "-" {
		if prompt, err = question(env.Stdin); err != nil {
			return err
		}
	}
	if strings.TrimSpace(prompt) == "" {
		return cli.Failf(cli.Usage, "there is no question")
	}
	ctx, stop := signal.NotifyContext(context.Background(), cli.EndSignals()...)
	defer stop()
	answer, err := p.AskOnce(ctx, prompt)
	if err != nil {
		return err
	}
	answer = term.CleanText(env.Redact(answer))
	if c.JSON {
		return env.JSON(reply{ID: string(s.ID), Agent: p.Client.Name, Answer: answer})
	}
	return env.Println(answer)
}

// predecessor returns the session in a form that can be asked, until done is called. If only a
// record has the session, or its client cannot be asked, that is a copy for another agent. It
// uses the conversation only if it lies in a store of the person's.
func (c *talk) predecessor(env *cli.Env, s *catalog.Session) (p *ask.Predecessor, done func(), err error) {
	all := agents(env)
	guard := newStoreGuardWith(env, func() *agent.Table { return all })
	client := clientOf(all, s)
	if s.Recorded || client.Ask == nil {
		return c.copyPredecessor(env, all, guard, s)
	}
	store, err := accountOf(guard, client, s)
	if err != nil {
		return nil, nil, foreignStoreError(env, s, err)
	}
	path := s.File.Path
	if path == "" && pathExists(s.Transcript) {
		if _, path, err = guard.FindAccount(client.Name, s.Transcript); err != nil {
			return nil, nil, foreignStoreError(env, s, err)
		}
	}
	dir, gone, _ := resumeFolder(guard, s) // it can be asked in any folder
	p, err = ask.NewPredecessor(env, all, client, s.ID, cmp.Or(dir, gone), path, store)
	return p, func() {}, err
}

type reply struct {
	ID     string `json:"id"`
	Agent  string `json:"agent"`
	Answer string `json:"answer"`
}

func question(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the prompt: %w", err)
	}
	if len(data) > maxPrompt {
		return "", cli.Failf(cli.IO, "the prompt is over %d KiB", maxPrompt>>10)
	}
	return strings.TrimRight(string(data), "\n"), nil
}

// agents returns the agents that gt and the person define. A project must not choose
// programs, accounts or settings.
func agents(env *cli.Env) *agent.Table {
	all, err := agent.Load(place.Config(env.Getenv), town.Personal(env.Getenv))
	env.WarnError(err)
	return all
}

func clientOf(all *agent.Table, s *catalog.Session) agent.Client {
	return all.FindClient(clientName(s))
}

// askLines asks each line of standard input until that ends or a signal comes. On a terminal, the
// first ctrl-c during an answer only cancels it.
func askLines(env *cli.Env, p *ask.Predecessor) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, cli.EndSignals()...)
	defer signal.Stop(signals)

	// Nothing interrupts a read, so another goroutine reads while this one also waits for signals.
	lines := make(chan string)
	var reading error
	cli.Go(func() {
		defer close(lines)
		in := bufio.NewScanner(env.Stdin)
		in.Buffer(nil, maxPrompt)
		for in.Scan() {
			lines <- in.Text()
		}
		reading = in.Err()
	})
	prompt := ""
	if term.IsTerminal(env.Stdin) && term.IsTerminal(env.Stdout) {
		prompt = "> "
	}
	talk, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, talk.Close()) }()
	for asked := 0; ; {
		io.WriteString(env.Stdout, prompt)
		var line string
		select {
		case s := <-signals:
			if prompt != "" {
				io.WriteString(env.Stdout, "\n")
			}
			if s == syscall.SIGINT {
				return nil
			}
			return ask.ErrInterrupted
		case next, more := <-lines:
			if !more {
				if prompt != "" {
					io.WriteString(env.Stdout, "\n")
				} else if asked == 0 && reading == nil {
					return cli.Fail(cli.Usage, errors.New("there is no question"), "give a PROMPT, or one question per line on standard input")
				}
				return reading
			}
			line = next
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		asked++
		out := &paragraphs{env: env, prompted: prompt != ""}
		err := awaitAnswer(ctx, cancel, signals, func(q context.Context) error { return talk.Ask(q, line, out.printText) })
		if werr := out.end(); werr != nil {
			return werr
		}
		switch {
		case ctx.Err() != nil:
			return ask.ErrInterrupted
		case errors.Is(err, ask.ErrInterrupted) && prompt != "":
			env.WarnError(err)
		case err != nil:
			return err
		}
	}
}

// awaitAnswer waits for an answer. The first ctrl-c cancels it; a second one, or any other
// signal, ends the conversation.
func awaitAnswer(ctx context.Context, end context.CancelFunc, signals <-chan os.Signal, get func(context.Context) error) error {
	q, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error
	task := cli.Go(func() { err = get(q) })
	for {
		select {
		case <-task.Done():
			task.Wait()
			return err
		case s := <-signals:
			if s != syscall.SIGINT || q.Err() != nil {
				end()
			}
			cancel()
		}
	}
}

// paragraphs prints an answer as it arrives, but only in whole paragraphs, because half a
// secret would not be recognized.
type paragraphs struct {
	env      *cli.Env
	prompted bool // a prompt is printed before each question
	text     strings.Builder
	err      error
}

// printText prints what is complete. A private key, which can have empty lines, waits for its END.
func (p *paragraphs) printText(text string) {
	p.text.WriteString(text)
	all := p.text.String()
	i := strings.LastIndex(all, "\n\n")
	if i < 0 || strings.Count(all[:i], "-----BEGIN ") != strings.Count(all[:i], "-----END ") {
		return
	}
	p.text.Reset()
	p.text.WriteString(all[i+2:])
	p.print(all[:i])
}

func (p *paragraphs) print(text string) {
	if text = strings.Trim(text, "\n"); text == "" || p.err != nil {
		return
	}
	text = term.CleanText(p.env.Redact(text))
	if p.prompted {
		text = term.Indent(text, term.Width(p.env.Stdout, p.env.Getenv))
	}
	_, p.err = fmt.Fprintf(p.env.Stdout, "%s\n\n", text)
}

func (p *paragraphs) end() error {
	p.print(p.text.String())
	p.text.Reset()
	return p.err
}
