package record

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

// S3File is a record as one JSON file, the form s3 of gt-record export (docs/record.md).
type S3File struct {
	ID      ID        `json:"id"`
	Start   time.Time `json:"startTime,omitzero"`
	End     time.Time `json:"endTime,omitzero"`
	Agent   string    `json:"agent"`
	Session string    `json:"sessionId"`
	CWD     string    `json:"cwd,omitempty"`
}

type Message struct {
	Role    string    `json:"role"` // user, assistant; system for the client's summary
	Content string    `json:"content"`
	Time    time.Time `json:"timestamp,omitzero"`
}

const (
	SessionStart = "session_start"
	SessionEnd   = "session_end"
	LLMCall      = "llm_call"
	ToolCall     = "tool_call"
	Error        = "error"
	Commit       = "commit"
)

type Event struct {
	Type string    `json:"type"`
	Time time.Time `json:"timestamp,omitzero"`

	Model     string  `json:"model,omitempty"` // of an llm_call
	Usage     *Tokens `json:"usage,omitempty"`
	LatencyMs *int64  `json:"latencyMs,omitempty"`

	Name       string   `json:"name,omitempty"` // of a tool_call or a step; of an error its kind; of a commit its hash
	Args       string   `json:"args,omitempty"`
	CallID     string   `json:"callId,omitempty"`
	Success    *bool    `json:"success,omitempty"` // absent if there is no result
	DurationMs *int64   `json:"durationMs,omitempty"`
	Result     *Context `json:"result,omitempty"` // the result, if it is kept aside

	Message string            `json:"message,omitempty"` // of an error or a commit
	Context map[string]string `json:"context,omitempty"`
	Reason  string            `json:"reason,omitempty"` // of an end
}

// Tokens are the tokens of an llm_call.
type Tokens struct {
	Prompt     int64 `json:"promptTokens"` // including tokens from the cache and into it
	Completion int64 `json:"completionTokens"`
	CacheRead  int64 `json:"cacheReadTokens,omitempty"`
	CacheWrite int64 `json:"cacheWriteTokens,omitempty"`
}

// Messages calls each for the messages of a record that were not taken back, in order. A Reply is the
// person's, to a question of the agent.
func (s Store) Messages(id ID, each func(Message) error) (err error) {
	roles := map[conversation.Kind]string{
		conversation.Prompt: "user", conversation.Reply: "user", conversation.Message: "user", conversation.Answer: "assistant", conversation.Summary: "system",
	}
	lerr := s.liveLines(id, 0, func(l Line, _ int64, live bool) bool {
		if role := roles[conversation.Kind(l.Kind)]; role != "" && live {
			err = each(Message{role, l.Text, l.Time})
		}
		return err == nil
	})
	return cmp.Or(err, lerr)
}

// Events calls each for the events of a record. A tool_call comes when its result does.
func (s Store) Events(id ID, each func(Event) error) error {
	h := eventConverter{each: each}
	err := s.liveLines(id, 0, func(l Line, _ int64, live bool) bool {
		switch conversation.Kind(l.Kind) {
		case conversation.Prompt, conversation.Reply, conversation.Summary, conversation.Result:
			h.asked = l.Time // also one that was taken back: the model's next request began after it
		}
		if live {
			h.convert(&l)
		}
		return h.err == nil
	})
	h.err = cmp.Or(h.err, err)
	for _, call := range h.calls { // without a result
		h.giveAfterRequest(call)
	}
	h.giveWaitingRequest()
	return h.err
}

// eventConverter converts the lines of a record to events, one after the other.
type eventConverter struct {
	each  func(Event) error
	err   error // the first that each returned; nothing is given after it
	begun time.Time
	asked time.Time // the time of the model's last input
	llm   *Event    // the last request, whose usage the client may repeat
	llmID string    // its message
	calls []Event   // calls that wait for their results
}

// convert gives the events of a line, except those that wait for later lines.
func (h *eventConverter) convert(l *Line) {
	switch l.Kind {
	case Head:
		if l.Head != nil {
			h.begun = l.Head.Started
		}
		h.give(Event{Type: SessionStart, Time: h.begun})
	case End:
		e := Event{Type: SessionEnd, Time: l.Time, Reason: l.Cause}
		if !h.begun.IsZero() {
			e.DurationMs = millisBetween(h.begun, l.Time)
		}
		h.giveAfterRequest(e)
	case StepBegun, StepDone:
		h.giveAfterRequest(Event{Type: string(l.Kind), Time: l.Time, Name: l.Name})
	}
	switch conversation.Kind(l.Kind) {
	case conversation.Answer:
		if l.Failed { // text of the client about an error
			h.giveAfterRequest(Event{Type: Error, Time: l.Time, Name: "api_error", Message: shorten(l.Text)})
		}
	case conversation.TokenUsage:
		h.addUsage(l)
	case conversation.Call:
		h.calls = append(h.calls, Event{Type: ToolCall, Time: l.Time, Name: l.Tool, Args: l.Text, CallID: l.CallID})
		if l.Text == "" {
			h.calls[len(h.calls)-1].Args = l.Target
		}
	case conversation.Result:
		h.addResult(l)
	}
}

func (h *eventConverter) give(e Event) {
	if h.err == nil {
		h.err = h.each(e)
	}
}

// giveAfterRequest gives the waiting request, and then e.
func (h *eventConverter) giveAfterRequest(e Event) {
	h.giveWaitingRequest()
	h.give(e)
}

// giveWaitingRequest gives the waiting request, whose usage is now final.
func (h *eventConverter) giveWaitingRequest() {
	if h.llm != nil {
		h.give(*h.llm)
		h.llm = nil
	}
}

// addUsage begins an LLM call with its tokens, or renews those of the waiting one: a client
// can report one request several times.
func (h *eventConverter) addUsage(l *Line) {
	u := conversation.Usage{}
	if l.Usage != nil {
		u = *l.Usage
	}
	if u.Cost > 0 && !u.HasTokens() {
		return // the client states it for several requests, not for a call
	}
	tokens := &Tokens{u.Input + u.CacheRead + u.CacheWrite, u.Output, u.CacheRead, u.CacheWrite}
	if h.llm != nil && l.Message != "" && l.Message == h.llmID {
		h.llm.Usage = tokens // the last usage counts
		return
	}
	h.giveWaitingRequest()
	h.llm, h.llmID = &Event{Type: LLMCall, Time: l.Time, Model: l.Model, Usage: tokens}, l.Message
	if !h.asked.IsZero() && !l.Aside {
		h.llm.LatencyMs = millisBetween(h.asked, l.Time)
	}
}

// addResult gives the call that a result completes, and then its error or the commits that it made.
// It is the oldest waiting call with the result's id, which is "" if the client gives no ids.
func (h *eventConverter) addResult(l *Line) {
	at := slices.IndexFunc(h.calls, func(c Event) bool { return c.CallID == l.CallID })
	if at < 0 {
		return // its call is not in the record
	}
	e := h.calls[at]
	h.calls = slices.Delete(h.calls, at, at+1)
	success := !l.Failed && !l.Rejected
	e.Success, e.Result = &success, l.Context
	if !e.Time.IsZero() && !l.Time.IsZero() {
		e.DurationMs = millisBetween(e.Time, l.Time)
	}
	h.giveAfterRequest(e)
	if success {
		if strings.Contains(e.Args, "commit") {
			h.giveCommits(l)
		}
		return
	}
	name := "tool_error"
	if l.Rejected {
		name = "tool_rejected"
	}
	h.give(Event{Type: Error, Time: l.Time, Name: name, Message: shorten(l.Text), Context: map[string]string{"tool": e.Name, "callId": e.CallID}})
}

// giveCommits gives the commits in git's output: "[main 1a2b3c4] subject", "[main
// (root-commit) 1a2b3c4] subject".
func (h *eventConverter) giveCommits(l *Line) {
	for line := range strings.Lines(l.Text) {
		where, subject, ok := strings.Cut(strings.TrimSpace(line), "] ")
		words := strings.Fields(where)
		if !ok || !strings.HasPrefix(where, "[") || len(words) < 2 {
			continue
		}
		hash := words[len(words)-1]
		const least, most = 7, 64
		if len(hash) >= least && len(hash) <= most && strings.Trim(hash, "0123456789abcdef") == "" {
			h.give(Event{Type: Commit, Time: l.Time, Name: hash, Message: shorten(subject)})
		}
	}
}

func millisBetween(from, to time.Time) *int64 {
	ms := max(to.Sub(from).Milliseconds(), 0)
	return &ms
}

func shorten(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// WriteS3 writes a record as an S3File with its messages and events. It holds one line at a time.
func (s Store) WriteS3(id ID, to io.Writer) error {
	i, err := s.Info(id)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(to)
	head, err := json.Marshal(S3File{id, i.Started, i.Ended, i.Agent, i.Session, i.CWD})
	if err != nil {
		return err
	}
	w.Write(head[:len(head)-1]) // without the closing brace
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	n := 0
	item := func(v any) error {
		if n++; n > 1 {
			w.WriteByte(',')
		}
		return enc.Encode(v)
	}
	w.WriteString(",\n\"messages\":[\n")
	if err := s.Messages(id, func(m Message) error { return item(m) }); err != nil {
		return err
	}
	n = 0
	w.WriteString("],\n\"events\":[\n")
	if err := s.Events(id, func(h Event) error { return item(h) }); err != nil {
		return err
	}
	w.WriteString("]}\n")
	return w.Flush()
}

func (s Store) s3Path(id ID) string { return filepath.Join(s.Sessions, string(id)+".json") }

// WriteS3File writes the record's S3File. The lines remain authoritative.
func (s Store) WriteS3File(id ID) error {
	lock, err := s.Lock(id)
	if err != nil {
		return err
	}
	defer lock.Remove()
	return replaceFile(s.s3Path(id), func(f *os.File) error { return s.WriteS3(id, f) })
}

// replaceFile writes a file that may be too large for memory: to another name, synced, then
// renamed. Only one process may do so for a path at a time.
func replaceFile(path string, write func(*os.File) error) error {
	aside := path + ".new"
	if err := atomicfile.Remove(aside); err != nil { // left by a kill
		return err
	}
	f, err := os.OpenFile(aside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return atomicfile.Error("create", aside, err)
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	err = cmp.Or(err, atomicfile.Close(f))
	if err != nil {
		atomicfile.Remove(aside)
		return atomicfile.Error("write", aside, err)
	}
	return atomicfile.Rename(aside, path, atomicfile.Synced)
}
