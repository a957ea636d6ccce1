package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A Kind says what a request is for.
type Kind int

// What the client asks a model for.
const (
	Turn       Kind = iota // the next turn of a conversation
	Compaction             // the summary that a compacted conversation goes on from
	Side                   // what the client wants for itself: titles, probes, token counts
)

func (k Kind) String() string { return [...]string{"turn", "compaction", "side"}[k] }

// A Request is one request that reached the model.
type Request struct {
	N      int       // its place in the order of arrival
	At     time.Time // when it came
	Kind   Kind
	Method string
	Path   string
	Header http.Header
	Body   []byte // as it came

	Model   string
	Stream  bool
	System  string    // the system prompt
	Msgs    []Message // the conversation
	Tools   []string  // the names of the tools on offer
	Session string    // the client's session id, empty where it states none

	text string
}

// A Message is one message of the conversation.
type Message struct {
	Role   string // user, assistant, or system for what the client puts in between
	Text   string // what was said; without the client's own reminders
	Result string // what the tools answered, when the message brings their results
}

// Requests is a list of requests in the order they came.
type Requests []*Request

// Kind returns the requests of one kind.
func (rs Requests) Kind(kind Kind) Requests {
	return rs.Filter(func(r *Request) bool { return r.Kind == kind })
}

// Session returns the requests of one session.
func (rs Requests) Session(id string) Requests {
	return rs.Filter(func(r *Request) bool { return r.Session == id })
}

// Filter returns the requests that keep says yes to.
func (rs Requests) Filter(keep func(*Request) bool) Requests {
	var kept Requests
	for _, r := range rs {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// LastRequest returns the last request, nil when there is none.
func (rs Requests) LastRequest() *Request {
	if len(rs) == 0 {
		return nil
	}
	return rs[len(rs)-1]
}

// Text is everything that the model reads: each string of the request's body,
// in the body's order, a line break between them.
func (r *Request) Text() string { return r.text }

// Count says how often text occurs in what the model reads.
func (r *Request) Count(text string) int { return strings.Count(r.text, text) }

// Asked is what the person asked: the text of the newest message, where it is
// the person's, and empty where it brings the results of tools.
func (r *Request) Asked() string {
	if m := r.newest(); m.Result == "" {
		return m.Text
	}
	return ""
}

// Said is the text of the newest message, which may bring the results of tools too.
func (r *Request) Said() string { return r.newest().Text }

// Result is what the tools answered, where the newest message says so.
func (r *Request) Result() string { return r.newest().Result }

func (r *Request) newest() Message {
	for i := len(r.Msgs) - 1; i >= 0; i-- {
		if r.Msgs[i].Role == "user" {
			return r.Msgs[i]
		}
	}
	return Message{}
}

func (r *Request) String() string {
	said := fmt.Sprintf("#%d %s %s %s, session %s, %d messages, asked %.60q",
		r.N, r.Kind, r.Method, r.Path, r.Session, len(r.Msgs), r.Asked())
	if result := r.Result(); result != "" { // of a command that failed it is all that is known
		said += fmt.Sprintf(", result %.1000q", result)
	}
	return said
}

// parse reads a request, as much of it as there is: what is no message for the
// model is kept too.
func parse(h *http.Request, body []byte) *Request {
	r := &Request{
		At: time.Now(), Kind: Side, Method: h.Method, Path: h.URL.Path,
		Header: h.Header, Session: h.Header.Get("X-Claude-Code-Session-Id"), Body: body,
	}
	var wire struct {
		Model    string
		Stream   bool
		System   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct{ Name string }
	}
	if json.Unmarshal(body, &wire) != nil {
		return r
	}
	r.Model, r.Stream = wire.Model, wire.Stream
	r.System, _ = said(wire.System)
	for _, m := range wire.Messages {
		text, result := said(m.Content)
		r.Msgs = append(r.Msgs, Message{m.Role, text, result})
	}
	for _, t := range wire.Tools {
		r.Tools = append(r.Tools, t.Name)
	}
	r.text = strings.Join(everyString(body), "\n")

	switch {
	case h.URL.Path != "/v1/messages" || len(r.Msgs) == 0:
	case strings.Contains(r.newest().Text, "create a detailed summary"), strings.Contains(r.newest().Text, "Create a handoff summary"):
		r.Kind = Compaction
	case len(r.Tools) > 0:
		r.Kind = Turn
	}
	return r
}

// said splits a message's content into what was said and what tools answered.
func said(content json.RawMessage) (text, result string) {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s, ""
	}
	var blocks []struct {
		Type    string
		Text    string
		Content json.RawMessage
	}
	json.Unmarshal(content, &blocks)
	for _, b := range blocks {
		switch {
		case b.Type == "tool_result":
			inner, _ := said(b.Content)
			result += inner + "\n"
		case !strings.HasPrefix(b.Text, "<system-reminder>") && !strings.HasPrefix(b.Text, "<hook_result "): // the second is Kimi Code's
			text += b.Text + "\n"
		}
	}
	return strings.TrimSpace(text), result
}

// everyString returns each string value of a JSON text, in its order.
func everyString(body []byte) []string {
	var all []string
	d := json.NewDecoder(strings.NewReader(string(body)))
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if s, ok := token.(string); ok {
			all = append(all, s)
		}
	}
}

// Told is what the client put into the conversation that neither the person
// nor the model said, the texts of hooks among it, without the client's own
// list of what its tools can do.
func (r *Request) Told() string {
	var told []string
	for _, m := range r.Msgs {
		if m.Role == "system" {
			text, _, _ := strings.Cut(m.Text, "Available agent types")
			told = append(told, strings.TrimSpace(text))
		}
	}
	return strings.Join(told, "\n\n")
}
