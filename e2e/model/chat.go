package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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

// parseChat reads a request of the Chat Completions API of OpenAI, which most
// clients speak that can talk to any model, into the same form as one of the
// Messages API: what a tool answered is the user's message with a Result. One that
// offers no tools is a Compaction where its newest or first message speaks of a
// summary, and else on the Side.
func parseChat(r *Request) {
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
	if json.Unmarshal(r.Body, &wire) != nil {
		return
	}
	r.Kind, r.System, r.Msgs, r.Tools = Side, "", nil, nil
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

	switch {
	case len(r.Msgs) == 0:
	case len(r.Tools) > 0:
		r.Kind = Turn
	case strings.Contains(strings.ToLower(r.System+r.newest().Text), "summar"):
		r.Kind = Compaction
	}
}

// sendChat writes the reply as a stream of chunks, or as one object where the
// client did not ask for a stream.
func sendChat(w http.ResponseWriter, req *Request, reply Reply) {
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
