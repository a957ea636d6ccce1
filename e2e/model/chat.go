package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// What every reply of a chat model says that it took, where the reply states no
// other number of tokens: of Tokens read, Cached came from the cache.
const (
	ChatTokens = 100
	ChatCached = 40
	ChatOutput = 10
)

// StartChat starts a server that speaks the Chat Completions API of OpenAI, as
// most clients that can talk to any model do. URL is what goes before
// /chat/completions. A Request that offers no tools is a Compaction where its
// newest or first message speaks of a summary, and else on the Side. The caller
// closes the server.
func StartChat(answer Answer) *Server {
	s := &Server{answer: answer, news: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serveChat))
	s.URL = s.http.URL + "/v1"
	return s
}

func (s *Server) serveChat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client hung up
	}
	req := parseChat(r, body)
	s.mu.Lock()
	req.N = len(s.seen)
	s.seen = append(s.seen, req)
	close(s.news)
	s.news = make(chan struct{})
	answer := s.answer
	s.mu.Unlock()

	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions"):
		var reply Reply
		if answer != nil && req.Kind != Side {
			reply = answer(req)
		}
		if reply.Text == "" && len(reply.Tools) == 0 {
			reply.Text = req.plain()
		}
		s.sendChat(w, req, reply)
	case strings.HasSuffix(r.URL.Path, "/models"):
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{}})
	default:
		writeJSON(w, http.StatusNotFound, map[string]any{
			"error": map[string]string{"type": "not_found", "message": "this model server knows only chat completions"},
		})
	}
}

// parseChat reads a request of the Chat Completions API into the same form as
// one of the Messages API: what a tool answered is the user's message with a
// Result.
func parseChat(h *http.Request, body []byte) *Request {
	r := &Request{At: time.Now(), Kind: Side, Method: h.Method, Path: h.URL.Path, Header: h.Header, Body: body}
	var wire struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct {
			Function struct{ Name string }
		}
	}
	if json.Unmarshal(body, &wire) != nil {
		return r
	}
	r.Model, r.Stream = wire.Model, wire.Stream
	for _, m := range wire.Messages {
		text, _ := said(m.Content)
		switch m.Role {
		case "system", "developer":
			r.System = strings.TrimSpace(r.System + "\n" + text)
		case "tool":
			r.Msgs = append(r.Msgs, Message{Role: "user", Result: text + "\n"})
		default:
			r.Msgs = append(r.Msgs, Message{Role: m.Role, Text: text})
		}
	}
	for _, t := range wire.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	r.text = strings.Join(everyString(body), "\n")

	switch {
	case len(r.Msgs) == 0:
	case len(r.Tools) > 0:
		r.Kind = Turn
	case strings.Contains(strings.ToLower(r.System+r.newest().Text), "summar"):
		r.Kind = Compaction
	}
	return r
}

// sendChat writes the reply as a stream of chunks, or as one object where the
// client did not ask for a stream.
func (s *Server) sendChat(w http.ResponseWriter, req *Request, reply Reply) {
	type object = map[string]any
	var calls []object
	for i, tool := range reply.Tools {
		input, err := json.Marshal(tool.Input)
		if err != nil {
			panic(err) // a mistake in the test
		}
		calls = append(calls, object{
			"index": i, "id": fmt.Sprintf("call_e2e_%d_%d", req.N, i), "type": "function",
			"function": object{"name": tool.Name, "arguments": string(input)},
		})
	}
	stop := "stop"
	if len(calls) > 0 {
		stop = "tool_calls"
	}
	tokens := reply.Tokens
	if tokens == 0 {
		tokens = ChatTokens
	}
	usage := object{
		"prompt_tokens": tokens, "completion_tokens": ChatOutput, "total_tokens": tokens + ChatOutput,
		"prompt_tokens_details": object{"cached_tokens": ChatCached},
	}
	message := object{"role": "assistant", "content": reply.Text}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	chunk := func(kind string) object {
		return object{"id": fmt.Sprintf("chatcmpl-e2e-%d", req.N), "object": kind, "created": time.Now().Unix(), "model": req.Model}
	}
	if !req.Stream {
		whole := chunk("chat.completion")
		whole["choices"] = []object{{"index": 0, "message": message, "finish_reason": stop}}
		whole["usage"] = usage
		writeJSON(w, http.StatusOK, whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	send := func(choices []object, usage any) {
		c := chunk("chat.completion.chunk")
		c["choices"] = choices
		if usage != nil {
			c["usage"] = usage
		}
		data, err := json.Marshal(c)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	send([]object{{"index": 0, "delta": message, "finish_reason": nil}}, nil)
	send([]object{{"index": 0, "delta": object{}, "finish_reason": stop}}, nil)
	send([]object{}, usage)
	io.WriteString(w, "data: [DONE]\n\n")
}
