// Package otlp writes records as OpenTelemetry traces in OTLP's JSON: a trace for each session with
// a span for the agent (invoke_agent), and below it a span for each model request (chat) and tool
// call (execute_tool). The traces have durations and token counts, and no text of the conversation.
package otlp

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"gt/lib/record"
)

// Schema is the version of the semantic conventions. The GenAI ones change between versions.
const Schema = "https://opentelemetry.io/schemas/1.41.0"

// Writer writes any number of records as one document.
type Writer struct {
	// Program and Version name the writing program.
	Program, Version string
	// Clean is applied to each text.
	Clean func(string) string

	w          *bufio.Writer
	err        error
	needsComma bool // the current list has an element
}

// NewWriter begins a document.
func NewWriter(to io.Writer, program, version string, clean func(string) string) *Writer {
	w := &Writer{Program: program, Version: version, Clean: clean, w: bufio.NewWriter(to)}
	w.writeRaw(`{"resourceSpans":[`)
	return w
}

func (w *Writer) Close() error {
	w.writeRaw("]}\n")
	w.err = cmp.Or(w.err, w.w.Flush())
	return w.err
}

func (w *Writer) writeRaw(text string) {
	if w.err == nil {
		_, w.err = w.w.WriteString(text)
	}
}

// writeItem adds an element to the list that was begun last. An error stays in w.err.
func (w *Writer) writeItem(v any) {
	data, err := json.Marshal(v)
	w.err = cmp.Or(w.err, err)
	if w.needsComma {
		w.writeRaw(",")
	}
	w.needsComma = true
	w.writeRaw("\n" + string(data))
}

// OTLP's span kinds and status codes.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

type span struct {
	Trace  string      `json:"traceId"`
	ID     string      `json:"spanId"`
	Parent string      `json:"parentSpanId,omitempty"`
	Name   string      `json:"name"`
	Kind   int         `json:"kind"`
	Start  string      `json:"startTimeUnixNano"`
	End    string      `json:"endTimeUnixNano"`
	About  []attribute `json:"attributes"`
	Status *status     `json:"status,omitempty"`
}

type status struct {
	Code int `json:"code"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value is a string or a number, which OTLP's JSON writes as a string, too.
type value struct {
	Text   *string `json:"stringValue,omitempty"`
	Number *string `json:"intValue,omitempty"`
}

// textAttributes returns attributes from names and values, without empty values.
func textAttributes(pairs ...string) (all []attribute) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			all = append(all, attribute{pairs[i], value{Text: &pairs[i+1]}})
		}
	}
	return all
}

func numberAttribute(key string, n int64) attribute {
	s := strconv.FormatInt(n, 10)
	return attribute{key, value{Number: &s}}
}

func unixNano(t time.Time) string { return strconv.FormatInt(max(t.UnixNano(), 0), 10) }

// shortID returns the first size bytes of a digest. The same span has the same id in every export.
func shortID(size int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p + "\x00"))
	}
	return hex.EncodeToString(h.Sum(nil)[:size])
}

const (
	traceSize = 16
	spanSize  = 8
)

// rootSpanID returns the id of a session's own span.
func rootSpanID(agent, session string) string {
	return shortID(spanSize, agent, session, "invoke_agent")
}

// Add writes a record. A subagent's spans are in the trace of its session.
func (w *Writer) Add(s record.Store, of record.ID) error {
	i, err := s.Info(of)
	if err != nil {
		return err
	}
	agent, session := w.Clean(i.Agent), w.Clean(i.Session)
	about := textAttributes("service.name", agent, "gt.record.id", string(of), "gt.cwd", w.Clean(i.CWD))
	resource, err := json.Marshal(map[string]any{"attributes": about})
	if err != nil {
		return err
	}
	if w.needsComma {
		w.writeRaw(",")
	}
	scope, err := json.Marshal(map[string]string{"name": w.Program, "version": w.Version})
	if err != nil {
		return err
	}
	w.writeRaw("\n" + `{"resource":` + string(resource) + `,"schemaUrl":"` + Schema + `","scopeSpans":[{"scope":` + string(scope) + `,"schemaUrl":"` + Schema + `","spans":[`)
	w.needsComma = false

	t := trace{w: w, agent: agent, session: session, from: i.Started, last: i.Started, repeats: map[string]int{}}
	t.id, t.root = shortID(traceSize, i.Agent, cmp.Or(i.Parent, i.Session)), rootSpanID(i.Agent, i.Session)
	if err := s.Events(of, t.addEvent); err != nil {
		return err
	}
	self := span{
		Trace: t.id, ID: t.root, Name: "invoke_agent " + agent, Kind: kindInternal,
		Start: unixNano(i.Started), End: unixNano(laterTime(laterTime(i.Started, i.Ended), t.last)),
		About: append(textAttributes("gen_ai.operation.name", "invoke_agent", "gen_ai.agent.name", agent, "gen_ai.provider.name", Provider(t.model), "gen_ai.conversation.id", session),
			numberAttribute("gen_ai.usage.input_tokens", t.tokensIn), numberAttribute("gen_ai.usage.output_tokens", t.tokensOut)),
	}
	if i.Parent != "" {
		self.Parent = rootSpanID(i.Agent, i.Parent)
	}
	w.writeItem(self)
	w.writeRaw("]}]}")
	return w.err
}

type trace struct {
	w                   *Writer
	id, root            string
	agent, session      string
	model               string         // the last one
	from, last          time.Time      // start of the session, end of the last span
	tokensIn, tokensOut int64          // tokens
	repeats             map[string]int // how many spans have the same key
}

// addEvent writes the span of a request or a tool call, and adds a request's tokens to those of the
// session. Other events have no span.
func (t *trace) addEvent(e record.Event) error {
	s := span{Trace: t.id, Parent: t.root, Kind: kindInternal}
	end := e.Time
	if end.IsZero() {
		end = t.last
	}
	start := end
	switch e.Type {
	case record.LLMCall:
		// The event's time is the end of the request.
		if e.LatencyMs != nil {
			start = end.Add(-time.Duration(*e.LatencyMs) * time.Millisecond)
		}
		t.model = t.w.Clean(e.Model)
		s.Name, s.Kind = strings.TrimSpace("chat "+t.model), kindClient
		s.About = textAttributes("gen_ai.operation.name", "chat", "gen_ai.provider.name", Provider(t.model), "gen_ai.request.model", t.model, "gen_ai.conversation.id", t.session)
		if u := e.Usage; u != nil {
			t.tokensIn, t.tokensOut = t.tokensIn+u.Prompt, t.tokensOut+u.Completion
			s.About = append(s.About, numberAttribute("gen_ai.usage.input_tokens", u.Prompt), numberAttribute("gen_ai.usage.output_tokens", u.Completion),
				numberAttribute("gen_ai.usage.cache_read.input_tokens", u.CacheRead), numberAttribute("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite))
		}
	case record.ToolCall:
		// The event's time is when the call began.
		if e.DurationMs != nil {
			end = start.Add(time.Duration(*e.DurationMs) * time.Millisecond)
		}
		tool := t.w.Clean(e.Name)
		s.Name = strings.TrimSpace("execute_tool " + tool)
		s.About = textAttributes("gen_ai.operation.name", "execute_tool", "gen_ai.tool.name", tool, "gen_ai.tool.call.id", t.w.Clean(e.CallID), "gen_ai.conversation.id", t.session)
		if e.Success != nil && !*e.Success {
			s.Status = &status{statusError}
			s.About = append(s.About, textAttributes("error.type", "tool_error")...)
		}
	default:
		return nil
	}
	// If two are the same, their order tells them apart.
	key := e.Type + " " + e.CallID + " " + e.Time.UTC().Format(time.RFC3339Nano)
	t.repeats[key]++
	s.ID = shortID(spanSize, t.agent, t.session, key, strconv.Itoa(t.repeats[key]))
	s.Start, s.End = unixNano(laterTime(start, t.from)), unixNano(laterTime(end, t.from))
	t.last = laterTime(t.last, end)
	t.w.writeItem(s)
	return t.w.err
}

func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
