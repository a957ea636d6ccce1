package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// What a reply over the Gemini API claims to have cost: of the input tokens
// GeminiCached came from the cache, and beside GeminiOutput the model thought
// GeminiThoughts.
const (
	GeminiInput    = 100
	GeminiCached   = 40
	GeminiOutput   = 10
	GeminiThoughts = 4
)

// GeminiSnapshot is what a model says when it is asked for a summary and the
// test's Answer leaves it empty.
const GeminiSnapshot = "<state_snapshot>SUMMARY-OF-THE-MODEL</state_snapshot>"

// parseGemini reads a request of the Gemini API, as Gemini CLI sends it.
func parseGemini(r *Request) {
	var wire struct {
		System   geminiContent `json:"systemInstruction"`
		Contents []geminiContent
		Tools    []struct {
			Declarations []struct{ Name string } `json:"functionDeclarations"`
		}
	}
	if json.Unmarshal(r.Body, &wire) != nil {
		return
	}
	_, name, _ := strings.Cut(r.Path, "/models/")
	r.Model, _, _ = strings.Cut(name, ":")
	r.Stream = strings.HasSuffix(r.Path, ":streamGenerateContent")
	r.System, _ = wire.System.said()
	r.Tools, r.Msgs = nil, nil
	for _, t := range wire.Tools {
		for _, d := range t.Declarations {
			r.Tools = append(r.Tools, d.Name)
		}
	}
	for _, c := range wire.Contents {
		m := Message{Role: "user"}
		if c.Role == "model" {
			m.Role = "assistant"
		}
		m.Text, m.Result = c.said()
		r.Msgs = append(r.Msgs, m)
	}
	switch {
	case strings.Contains(r.System, "distilling chat history"):
		r.Kind = Compaction
	case r.Stream && len(r.Tools) > 0:
		r.Kind = Turn
	}
}

type geminiContent struct {
	Role  string
	Parts []struct {
		Text     string
		Response *struct {
			Response json.RawMessage
		} `json:"functionResponse"`
	}
}

func (c geminiContent) said() (text, result string) {
	for _, p := range c.Parts {
		switch {
		case p.Response != nil:
			result += strings.Join(everyString(p.Response.Response), "\n") + "\n"
		case !strings.HasPrefix(p.Text, "<session_context>"):
			text += p.Text + "\n"
		}
	}
	return strings.TrimSpace(text), result
}

// sendGemini writes the reply as a stream of server-sent events, or as one
// object where the client did not ask for a stream.
func sendGemini(w http.ResponseWriter, req *Request, reply Reply) {
	type object = map[string]any
	if req.Kind == Compaction && reply.Text == Summary {
		reply.Text = GeminiSnapshot
	}
	var parts []object
	if reply.Thought != "" {
		parts = append(parts, object{"text": reply.Thought, "thought": true})
	}
	if reply.Text != "" {
		parts = append(parts, object{"text": reply.Text})
	}
	for _, tool := range reply.Tools {
		parts = append(parts, object{"functionCall": object{"name": tool.Name, "args": tool.Input}})
	}
	tokens := reply.Tokens
	if tokens == 0 {
		tokens = GeminiInput
	}
	whole := object{
		"candidates": []object{{
			"content": object{"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": object{
			"promptTokenCount": tokens, "cachedContentTokenCount": GeminiCached,
			"candidatesTokenCount": GeminiOutput, "thoughtsTokenCount": GeminiThoughts,
			"totalTokenCount": tokens + GeminiOutput + GeminiThoughts,
		},
		"modelVersion": req.Model, "responseId": fmt.Sprintf("e2e-%d", req.N),
	}
	if !req.Stream {
		writeJSON(w, http.StatusOK, whole)
		return
	}
	data, err := json.Marshal(whole)
	if err != nil {
		panic(err) // a tool's input that is no JSON: a mistake in the test
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	fmt.Fprintf(w, "data: %s\n\n", data)
}

// countGemini answers how many tokens a text has.
func countGemini(w http.ResponseWriter, _ *Request, _ Reply) {
	writeJSON(w, http.StatusOK, map[string]int{"totalTokens": GeminiInput})
}
