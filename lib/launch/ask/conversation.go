package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Conversation is a series of questions. Each one builds on those before it.
type Conversation struct {
	predecessor *Predecessor
	ctx         context.Context

	// If the client takes many questions in one process:
	cmd     *exec.Cmd
	scratch string // its folder; "" if it has none
	events  *json.Decoder
	stderr  tail
	mu      sync.Mutex // guards stdin
	stdin   io.WriteCloser
	asked   int

	// If it does not:
	exchanges []exchange
}

type exchange struct{ question, answer string }

// Open begins a conversation. It ends with Close or with ctx.
func (p *Predecessor) Open(ctx context.Context) (*Conversation, error) {
	c := &Conversation{predecessor: p, ctx: ctx}
	if p.Client.Ask.Stream == nil {
		return c, nil
	}
	var err error
	if c.cmd, c.scratch, err = p.prepareCall(ctx, true, true); err != nil {
		return nil, err
	}
	c.cmd.Stderr = &c.stderr
	stdout, err := c.cmd.StdoutPipe()
	if err == nil {
		c.stdin, err = c.cmd.StdinPipe()
	}
	if err == nil {
		if err = c.cmd.Start(); err != nil {
			err = fmt.Errorf("cannot run '%s': %w", c.cmd.Path, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.scratch))
	}
	c.events = json.NewDecoder(stdout)
	return c, nil
}

// Ask asks a question and calls say with each piece of the answer. If ctx ends, Ask
// interrupts the client and returns ErrInterrupted, and the conversation can continue.
func (c *Conversation) Ask(ctx context.Context, question string, say func(text string)) error {
	if c.cmd == nil {
		return c.askInNewProcess(ctx, question, say)
	}
	type object = map[string]any
	c.asked++
	if err := c.send(object{"type": "user", "message": object{"role": "user", "content": question}}); err != nil {
		return c.endWithError(err)
	}
	id := fmt.Sprintf("interrupt-%d", c.asked)
	defer context.AfterFunc(ctx, func() {
		_ = c.send(object{"type": "control_request", "request_id": id, "request": object{"subtype": "interrupt"}})
	})()
	inBlock := false
	for {
		var raw json.RawMessage
		if err := c.events.Decode(&raw); err != nil {
			return c.endWithError(err)
		}
		var e event
		_ = json.Unmarshal(raw, &e) // ignore fields of other types
		switch {
		case e.Parent != nil: // a subagent's
		case e.Type == "stream_event" && e.Event.Delta.Type == "text_delta":
			say(e.Event.Delta.Text)
			inBlock = true
		case e.Type == "stream_event" && e.Event.Type == "content_block_stop" && inBlock:
			say("\n\n")
			inBlock = false
		case e.Type == "result" && ctx.Err() != nil:
			return ErrInterrupted
		case e.Type == "result" && e.IsError:
			return c.predecessor.unansweredError(c.ctx, nil, strings.Join(e.Errors, "\n"), e.Result)
		case e.Type == "result":
			return nil
		}
	}
}

type event struct {
	Type   string  `json:"type"`
	Parent *string `json:"parent_tool_use_id"`
	Event  struct {
		Type  string `json:"type"`
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	} `json:"event"`
	IsError bool     `json:"is_error"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
}

// send writes a message to the client. An interruption may send while Ask does.
func (c *Conversation) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.stdin.Write(append(data, '\n'))
	return err
}

// endWithError ends the client and returns why it failed: its exit status if it has failed, or else err.
func (c *Conversation) endWithError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		err = errors.New("it ended")
	}
	if werr := c.end(); werr != nil {
		err = werr
	}
	return c.predecessor.unansweredError(c.ctx, err, c.stderr.String())
}

// askInNewProcess asks in a new process, whose prompt repeats the questions and answers before.
func (c *Conversation) askInNewProcess(ctx context.Context, question string, say func(text string)) error {
	var b strings.Builder
	for i, e := range c.exchanges {
		if i == 0 {
			b.WriteString("Since your last turn you were asked, and answered:\n\n")
		}
		fmt.Fprintf(&b, "Question: %s\n\nYour answer: %s\n\n", e.question, e.answer)
	}
	if b.Len() > 0 {
		b.WriteString("Now answer this:\n\n")
	}
	answer, err := c.predecessor.AskOnce(ctx, b.String()+question)
	if err != nil {
		return err
	}
	c.exchanges = append(c.exchanges, exchange{question, answer})
	say(answer)
	return nil
}

// end closes the client's input, at which it exits.
func (c *Conversation) end() error {
	c.stdin.Close()
	return c.cmd.Wait()
}

func (c *Conversation) Close() error {
	if c.cmd == nil {
		return nil
	}
	_ = c.end() // the answers count, not the exit status
	return os.RemoveAll(c.scratch)
}
