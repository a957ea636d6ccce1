package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// What a reply over the Responses API claims to have cost, beside its input
// tokens: of those Cached came from the cache, and of Output the model thought
// Reasoning.
const (
	Cached    = 40
	Output    = 10
	Reasoning = 4
)

// parseResponses reads a request of OpenAI's Responses API, as Codex and
// Copilot send it.
func parseResponses(r *Request) {
	var wire struct {
		Model        string
		Stream       bool
		Instructions string
		Input        json.RawMessage
		Tools        []struct{ Name, Type string }
		CacheKey     string `json:"prompt_cache_key"`
	}
	if json.Unmarshal(r.Body, &wire) != nil {
		return
	}
	r.Model, r.Stream, r.System = wire.Model, wire.Stream, wire.Instructions
	r.Session = wire.CacheKey
	if id := r.Header.Get("Session_id"); id != "" {
		r.Session = id
	}
	r.Tools, r.Msgs = nil, nil
	for _, t := range wire.Tools {
		if t.Name == "" {
			t.Name = t.Type
		}
		r.Tools = append(r.Tools, t.Name)
	}
	var text string
	var items []struct {
		Type, Role      string
		Content, Output json.RawMessage
	}
	if json.Unmarshal(wire.Input, &text) == nil {
		r.Msgs = []Message{{Role: "user", Text: text}}
	} else {
		json.Unmarshal(wire.Input, &items)
	}
	for _, item := range items {
		switch item.Type {
		case "function_call_output", "custom_tool_call_output":
			result, _ := said(item.Output)
			r.Msgs = append(r.Msgs, Message{Role: "user", Result: result + "\n"})
		case "message", "":
			text, _ := said(item.Content)
			role := item.Role
			if role == "developer" || injected(text) {
				role = "system"
			}
			r.Msgs = append(r.Msgs, Message{Role: role, Text: text})
		}
	}
	switch {
	case strings.Contains(r.newest().Text, "CONTEXT CHECKPOINT COMPACTION"), // Codex
		strings.Contains(r.newest().Text, "create a detailed summary"): // Copilot
		r.Kind = Compaction
	case len(r.Tools) > 0:
		r.Kind = Turn
	}
}

// runsOn is what Codex says of a command that has not ended when it gives what there is so far.
var runsOn = regexp.MustCompile(`Process running with session ID (\d+)`)

// waitForCommand replies as every model does while a command of Codex's runs on, as on a busy
// machine it does after some seconds: it waits. It returns false where no command does.
func (r *Request) waitForCommand() (Reply, bool) {
	m := runsOn.FindStringSubmatch(r.Result())
	if m == nil {
		return Reply{}, false
	}
	id, err := strconv.Atoi(m[1])
	return Reply{Tools: []ToolUse{{Name: "write_stdin", Input: map[string]any{"session_id": id, "chars": "", "yield_time_ms": 30000}}}}, err == nil
}

// injected reports whether the client said that in the person's name.
func injected(text string) bool {
	return strings.HasPrefix(text, "<environment_context>") || strings.HasPrefix(text, "# AGENTS.md") ||
		strings.HasPrefix(text, "<user_instructions>")
}

// sendResponses writes the reply as the Responses API streams it. A tool whose
// input is a string is a custom tool, which takes no JSON; one whose name has a
// dot in it is in the namespace before the dot.
func sendResponses(w http.ResponseWriter, req *Request, reply Reply) {
	type object = map[string]any
	var items []object
	if reply.Thought != "" {
		items = append(items, object{
			"type": "reasoning", "id": fmt.Sprintf("rs_e2e_%d", req.N), "encrypted_content": nil,
			"summary": []object{{"type": "summary_text", "text": reply.Thought}},
		})
	}
	if reply.Text != "" {
		items = append(items, object{
			"type": "message", "id": fmt.Sprintf("msg_e2e_%d", req.N), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": reply.Text, "annotations": []any{}}},
		})
	}
	for i, tool := range reply.Tools {
		item := object{
			"type": "custom_tool_call", "id": fmt.Sprintf("fc_e2e_%d_%d", req.N, i), "status": "completed",
			"call_id": fmt.Sprintf("call_e2e_%d_%d", req.N, i), "name": tool.Name, "input": tool.Input,
		}
		if _, custom := tool.Input.(string); !custom {
			input, err := json.Marshal(tool.Input)
			if err != nil {
				panic(err) // a mistake in the test
			}
			delete(item, "input")
			item["type"], item["arguments"] = "function_call", string(input)
			if space, name, ok := strings.Cut(tool.Name, "."); ok {
				item["namespace"], item["name"] = space, name
			}
		}
		items = append(items, item)
	}
	tokens := reply.Tokens
	if tokens == 0 {
		tokens = 100
	}
	response := object{
		"id": fmt.Sprintf("resp_e2e_%d", req.N), "object": "response", "created_at": req.At.Unix(),
		"model": req.Model, "status": "in_progress", "output": []object{},
	}
	done := object{
		"id": response["id"], "object": "response", "created_at": response["created_at"],
		"model": req.Model, "status": "completed", "output": items,
		"usage": object{
			"input_tokens": tokens, "input_tokens_details": object{"cached_tokens": Cached},
			"output_tokens": Output, "output_tokens_details": object{"reasoning_tokens": Reasoning},
			"total_tokens": tokens + Output,
		},
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, done)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	n := 0
	event := func(kind string, fields object) {
		fields["type"], fields["sequence_number"] = kind, n
		n++
		data, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	event("response.created", object{"response": response})
	for i, item := range items {
		event("response.output_item.added", object{"output_index": i, "item": item})
		if item["type"] == "message" {
			part := object{"type": "output_text", "text": reply.Text, "annotations": []any{}}
			at := object{"item_id": item["id"], "output_index": i, "content_index": 0}
			with := func(key string, v any) object {
				o := object{key: v}
				maps.Copy(o, at)
				return o
			}
			event("response.content_part.added", with("part", object{"type": "output_text", "text": "", "annotations": []any{}}))
			event("response.output_text.delta", with("delta", reply.Text))
			event("response.output_text.done", with("text", reply.Text))
			event("response.content_part.done", with("part", part))
		}
		event("response.output_item.done", object{"output_index": i, "item": item})
	}
	event("response.completed", object{"response": done})
}
