// Package model is a model server for tests: it speaks enough of the Anthropic
// Messages API, and of the protocols of other clients (a file each), on loopback
// that the real client takes it for the real thing, answers as the test tells it
// to, and keeps every request, so that a test can read what reached the model.
package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Answer says what the model replies to a turn of a conversation.
type Answer func(*Request) Reply

// A Reply is what the model says and which tools it calls.
type Reply struct {
	Text   string
	Tools  []ToolUse
	Tokens int // the input tokens that the reply claims were used; 0 for a small number

	Thought string // what the model thought before; said only where the protocol has words for it

	// Refuse is the HTTP status with which the request is refused, such as 429; 0 answers it.
	Refuse int
	// Resets is when the usage limit ends for which Codex's account is refused.
	Resets time.Time
}

// A protocol is one in which clients ask, other than Anthropic's.
type protocol struct {
	path  string         // what a request's path ends in
	parse func(*Request) // fills in what the body says
	send  func(http.ResponseWriter, *Request, Reply)
}

var protocols = []protocol{
	{"/responses", parseResponses, sendResponses},
	{"/chat/completions", parseChat, sendChat},
	{":streamGenerateContent", parseGemini, sendGemini},
	{":generateContent", parseGemini, sendGemini},
	{":countTokens", parseGemini, countGemini},
}

// protocolOf returns the protocol of a request, nil for Anthropic's.
func protocolOf(r *http.Request) *protocol {
	for i, p := range protocols {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, p.path) {
			return &protocols[i]
		}
	}
	return nil
}

// A ToolUse is one call of a tool.
type ToolUse struct {
	Name  string
	Input any
}

// Say replies with text only.
func Say(text string) Reply { return Reply{Text: text} }

// Bash replies with a command for the client's shell tool.
func Bash(command string) Reply {
	return Reply{Text: "I run a command.", Tools: []ToolUse{{
		Name: "Bash", Input: map[string]string{"command": command, "description": "Run a command"},
	}}}
}

// Summary is what a summariser request is answered with when the test's
// Answer leaves it empty.
const Summary = "<analysis>thought about it</analysis><summary>SUMMARY-OF-THE-MODEL</summary>"

// A Server is a model on loopback.
type Server struct {
	URL string // what ANTHROPIC_BASE_URL is set to

	http   *httptest.Server
	mu     sync.Mutex
	answer Answer
	strict bool
	seen   []*Request
	news   chan struct{} // closed and replaced at each request
}

// Start starts a server that replies to turns with answer, nil for a plain
// "ok". The caller closes it.
func Start(answer Answer) *Server {
	s := &Server{answer: answer, news: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close cuts every connection and stops the server.
func (s *Server) Close() {
	s.http.CloseClientConnections()
	s.http.Close()
}

// Answer replaces what the server replies with from the next request on.
func (s *Server) Answer(answer Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// Strict has the server refuse, from now on, conversations that providers refuse.
func (s *Server) Strict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strict = true
}

// Requests returns every request so far, in the order they came.
func (s *Server) Requests() Requests {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(Requests(nil), s.seen...)
}

// Turns returns the turns of conversations so far: what a person or a tool
// said and the model was to answer.
func (s *Server) Turns() Requests { return s.Requests().Kind(Turn) }

// Await waits until find, given all requests so far, returns one, and returns
// it; nil when none came in time.
func (s *Server) Await(timeout time.Duration, find func(Requests) *Request) *Request {
	deadline := time.After(timeout)
	for {
		s.mu.Lock()
		news := s.news
		seen := append(Requests(nil), s.seen...)
		s.mu.Unlock()
		if r := find(seen); r != nil {
			return r
		}
		select {
		case <-news:
		case <-deadline:
			return nil
		}
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client hung up
	}
	req, proto := parse(r, body), protocolOf(r)
	if proto != nil {
		proto.parse(req)
	}
	s.mu.Lock()
	req.N = len(s.seen)
	s.seen = append(s.seen, req)
	close(s.news)
	s.news = make(chan struct{})
	answer, strict := s.answer, s.strict
	s.mu.Unlock()
	if why := req.Invalid(); strict && r.Method == http.MethodPost && why != "" {
		refuse(w, Reply{Refuse: http.StatusBadRequest, Text: why})
		return
	}

	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 100})
	case proto != nil || r.Method == http.MethodPost && r.URL.Path == "/v1/messages":
		reply, waits := req.waitForCommand()
		if answer != nil && req.Kind != Side && !waits { // a script is about conversations
			reply = answer(req)
		}
		if reply.Refuse != 0 {
			refuse(w, reply)
			return
		}
		if reply.Text == "" && len(reply.Tools) == 0 {
			reply.Text = req.plain()
		}
		if proto != nil {
			proto.send(w, req, reply)
		} else {
			s.send(w, req, reply)
		}
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{}})
	case r.URL.Path == "/" || r.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		writeJSON(w, http.StatusNotFound, map[string]any{
			"type":  "error",
			"error": map[string]string{"type": "not_found_error", "message": "this model server knows only messages"},
		})
	}
}

// refuse says why a request is not answered, in the words of Anthropic's API and of
// OpenAI's, which both have the message there, and forbids the client to ask again.
func refuse(w http.ResponseWriter, reply Reply) {
	kind := "api_error"
	switch reply.Refuse {
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	}
	if at := reply.Resets.Unix(); !reply.Resets.IsZero() {
		w.Header().Set("x-codex-primary-used-percent", "100")
		w.Header().Set("x-codex-primary-window-minutes", "300")
		w.Header().Set("x-codex-primary-reset-at", strconv.FormatInt(at, 10))
		writeJSON(w, reply.Refuse, map[string]any{
			"error": map[string]any{"type": "usage_limit_reached", "message": reply.Text, "plan_type": "plus", "resets_at": at},
		})
		return
	}
	w.Header().Set("X-Should-Retry", "false")
	writeJSON(w, reply.Refuse, map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "code": reply.Refuse, "message": reply.Text},
	})
}

// plain is the reply to a request that nobody scripted.
func (r *Request) plain() string {
	switch r.Kind {
	case Compaction:
		return Summary
	case Side:
		return `{"title":"a title","isNewTopic":false}`
	}
	return "ok"
}

// send writes the reply as a stream of server-sent events, or as one message
// where the client did not ask for a stream.
func (s *Server) send(w http.ResponseWriter, req *Request, reply Reply) {
	type object = map[string]any
	var blocks []object
	if reply.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": reply.Text})
	}
	for i, tool := range reply.Tools {
		blocks = append(blocks, object{
			"type": "tool_use", "id": fmt.Sprintf("toolu_e2e_%d_%d", req.N, i), "name": tool.Name, "input": tool.Input,
		})
	}
	stop := "end_turn"
	if len(reply.Tools) > 0 {
		stop = "tool_use"
	}
	tokens := reply.Tokens
	if tokens == 0 {
		tokens = 100
	}
	message := object{
		"id": fmt.Sprintf("msg_e2e_%d", req.N), "type": "message", "role": "assistant", "model": req.Model,
		"content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": tokens, "output_tokens": 1},
	}
	if !req.Stream {
		message["content"], message["stop_reason"] = blocks, stop
		writeJSON(w, http.StatusOK, message)
		return
	}

	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	event := func(kind string, fields object) {
		fields["type"] = kind
		data, err := json.Marshal(fields)
		if err != nil {
			panic(err) // a tool's input that is no JSON: a mistake in the test
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	event("message_start", object{"message": message})
	for i, block := range blocks {
		var start, delta object
		if block["type"] == "text" {
			start = object{"type": "text", "text": ""}
			delta = object{"type": "text_delta", "text": block["text"]}
		} else {
			input, err := json.Marshal(block["input"])
			if err != nil {
				panic(err)
			}
			start = object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(input)}
		}
		event("content_block_start", object{"index": i, "content_block": start})
		event("content_block_delta", object{"index": i, "delta": delta})
		event("content_block_stop", object{"index": i})
	}
	event("message_delta", object{
		"delta": object{"stop_reason": stop, "stop_sequence": nil},
		"usage": object{"input_tokens": tokens, "output_tokens": 10},
	})
	event("message_stop", object{})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}
