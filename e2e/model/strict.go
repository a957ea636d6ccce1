package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Invalid returns why a provider refuses a request's conversation, "" for one that it
// takes: what their references and their own errors say of calls and their results, of
// ids, signatures, names and empty texts.
func (r *Request) Invalid() string {
	switch {
	case strings.HasSuffix(r.Path, "/responses"):
		return invalidResponses(r.Body)
	case strings.HasSuffix(r.Path, "/chat/completions"):
		return invalidChat(r.Body)
	case strings.HasSuffix(r.Path, "GenerateContent"), strings.HasSuffix(r.Path, ":generateContent"):
		return invalidGemini(r.Body)
	case r.Path == "/v1/messages":
		return invalidMessages(r.Body)
	}
	return ""
}

var (
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	openAIName    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	geminiName    = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
)

func invalidMessages(body []byte) string {
	var wire struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return err.Error()
	}
	if len(wire.Messages) == 0 {
		return "messages: at least one message is required"
	}
	seen := map[string]bool{}
	var open []string // the calls of the agent's turn, which the next message has to answer
	answered := map[string]bool{}
	agent := false
	for i, m := range wire.Messages {
		var blocks []struct {
			Type      string
			Text      *string
			ID, Name  string
			Input     json.RawMessage
			ToolUseID string `json:"tool_use_id"`
			Signature string
			Content   json.RawMessage
		}
		var text string
		if json.Unmarshal(m.Content, &text) == nil {
			if strings.TrimSpace(text) == "" {
				return fmt.Sprintf("messages.%d: text content must be non-empty", i)
			}
		} else if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return fmt.Sprintf("messages.%d: %v", i, err)
		} else if len(blocks) == 0 {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content", i)
		}
		switch m.Role {
		case "system":
			continue // what the client says in between
		case "user", "assistant":
		default:
			return fmt.Sprintf("messages.%d: unexpected role %q", i, m.Role)
		}
		if i == 0 && m.Role != "user" {
			return "messages: first message must use the \"user\" role"
		}
		if m.Role == "user" && agent {
			answered = map[string]bool{}
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				if b.Text == nil || strings.TrimSpace(*b.Text) == "" {
					return fmt.Sprintf("messages.%d: text content blocks must contain non-whitespace text", i)
				}
			case "thinking":
				if b.Signature == "" {
					return fmt.Sprintf("messages.%d: thinking.signature: field required", i)
				}
			case "tool_use":
				switch {
				case m.Role != "assistant":
					return fmt.Sprintf("messages.%d: tool_use blocks can only be in assistant messages", i)
				case !anthropicID.MatchString(b.ID):
					return fmt.Sprintf("messages.%d: tool_use.id %q: string should match pattern", i, b.ID)
				case !anthropicName.MatchString(b.Name):
					return fmt.Sprintf("messages.%d: tool_use.name %q: string should match pattern", i, b.Name)
				case seen[b.ID]:
					return fmt.Sprintf("messages.%d: tool_use ids must be unique: %s", i, b.ID)
				case !strings.HasPrefix(strings.TrimSpace(string(b.Input)), "{"):
					return fmt.Sprintf("messages.%d: tool_use.input: should be a valid dictionary", i)
				}
				seen[b.ID] = true
				open = append(open, b.ID)
			case "tool_result":
				if m.Role != "user" || !slices.Contains(open, b.ToolUseID) || answered[b.ToolUseID] {
					return fmt.Sprintf("messages.%d: unexpected tool_use_id %s in tool_result: each must have a corresponding tool_use block in the previous message", i, b.ToolUseID)
				}
				answered[b.ToolUseID] = true
			}
		}
		if m.Role == "user" {
			for _, id := range open {
				if !answered[id] {
					return fmt.Sprintf("messages.%d: tool_use ids were found without tool_result blocks immediately after: %s", i, id)
				}
			}
			open = nil
		}
		agent = m.Role == "assistant"
	}
	if len(open) > 0 {
		return "messages: tool_use ids were found without tool_result blocks: " + strings.Join(open, ", ")
	}
	return ""
}

func invalidChat(body []byte) string {
	var wire struct {
		Messages []struct {
			Role       string
			Content    json.RawMessage
			ToolCallID string `json:"tool_call_id"`
			ToolCalls  []struct {
				ID, Type string
				Function struct {
					Name      string
					Arguments *string
				}
			} `json:"tool_calls"`
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return err.Error()
	}
	var open []string
	for i, m := range wire.Messages {
		if m.Role == "tool" {
			if !slices.Contains(open, m.ToolCallID) {
				return fmt.Sprintf("messages.[%d].role: messages with role 'tool' must be a response to a preceding message with 'tool_calls': %s", i, m.ToolCallID)
			}
			var left []string
			for _, id := range open {
				if id != m.ToolCallID {
					left = append(left, id)
				}
			}
			open = left
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("messages.[%d]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %s", i, strings.Join(open, ", "))
		}
		text, _ := said(m.Content)
		if strings.TrimSpace(text) == "" && len(m.ToolCalls) == 0 && !strings.Contains(string(m.Content), "image_url") {
			return fmt.Sprintf("messages.[%d].content: expected a non-empty string for role %s", i, m.Role)
		}
		for _, c := range m.ToolCalls {
			switch {
			case m.Role != "assistant":
				return fmt.Sprintf("messages.[%d].tool_calls: not of role %s", i, m.Role)
			case c.ID == "" || len(c.ID) > 40:
				return fmt.Sprintf("messages.[%d].tool_calls.id %q: expected a string with 1 to 40 characters", i, c.ID)
			case c.Type != "function":
				return fmt.Sprintf("messages.[%d].tool_calls.type %q", i, c.Type)
			case !openAIName.MatchString(c.Function.Name):
				return fmt.Sprintf("messages.[%d].tool_calls.function.name %q does not match pattern", i, c.Function.Name)
			case c.Function.Arguments == nil || !json.Valid([]byte(*c.Function.Arguments)):
				return fmt.Sprintf("messages.[%d].tool_calls.function.arguments: expected JSON", i)
			case slices.Contains(open, c.ID):
				return fmt.Sprintf("messages.[%d].tool_calls.id %s: stands twice", i, c.ID)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return "messages: no tool message responds to " + strings.Join(open, ", ")
	}
	return ""
}

func invalidResponses(body []byte) string {
	var wire struct{ Input json.RawMessage }
	if err := json.Unmarshal(body, &wire); err != nil {
		return err.Error()
	}
	var items []struct {
		Type, Role, ID, Name string
		CallID               string `json:"call_id"`
		Content              json.RawMessage
		Arguments            *string
	}
	if json.Unmarshal(wire.Input, &items) != nil {
		return "" // a text
	}
	prefixes := map[string]string{"message": "msg", "function_call": "fc", "custom_tool_call": "ctc", "reasoning": "rs"}
	called, answered := map[string]bool{}, map[string]bool{}
	for i, item := range items {
		if p := prefixes[item.Type]; item.ID != "" && p != "" && !strings.HasPrefix(item.ID, p) && !strings.HasPrefix(item.ID, "fc_") {
			return fmt.Sprintf("input[%d].id: expected an ID that begins with '%s', not %s", i, p, item.ID)
		}
		switch item.Type {
		case "message", "":
			if text, _ := said(item.Content); strings.TrimSpace(text) == "" && !strings.Contains(string(item.Content), "input_image") {
				return fmt.Sprintf("input[%d].content: empty", i)
			}
		case "reasoning":
			if i+1 == len(items) || items[i+1].Role == "user" {
				return fmt.Sprintf("item '%s' of type 'reasoning' was provided without its required following item", item.ID)
			}
		case "function_call", "custom_tool_call":
			switch {
			case item.CallID == "" || len(item.CallID) > 64:
				return fmt.Sprintf("input[%d].call_id %q: expected a string with 1 to 64 characters", i, item.CallID)
			case called[item.CallID]:
				return fmt.Sprintf("input[%d].call_id %s: stands twice", i, item.CallID)
			case !openAIName.MatchString(item.Name):
				return fmt.Sprintf("input[%d].name %q does not match pattern", i, item.Name)
			case item.Type == "function_call" && (item.Arguments == nil || !json.Valid([]byte(*item.Arguments))):
				return fmt.Sprintf("input[%d].arguments: expected JSON", i)
			}
			called[item.CallID] = true
		case "function_call_output", "custom_tool_call_output":
			if !called[item.CallID] || answered[item.CallID] {
				return "No tool call found for function call output with call_id " + item.CallID
			}
			answered[item.CallID] = true
		}
	}
	for id := range called {
		if !answered[id] {
			return "No tool output found for function call " + id
		}
	}
	return ""
}

func invalidGemini(body []byte) string {
	var wire struct {
		Contents []struct {
			Role  string
			Parts []struct {
				Text      *string
				Thought   bool
				Signature string                     `json:"thoughtSignature"`
				Call      *struct{ ID, Name string } `json:"functionCall"`
				Response  *struct{ ID, Name string } `json:"functionResponse"`
				Inline    json.RawMessage            `json:"inlineData"`
			}
		}
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return err.Error()
	}
	type name struct{ id, name string }
	var open []name // of the model's turn before
	before := ""    // what the content before was: words, calls or results
	model := false
	lastAsked := 0
	for i, c := range wire.Contents {
		for _, p := range c.Parts {
			if c.Role == "user" && p.Text != nil {
				lastAsked = i
			}
		}
	}
	for i, c := range wire.Contents {
		if len(c.Parts) == 0 {
			return fmt.Sprintf("contents[%d].parts: must not be empty", i)
		}
		if c.Role != "user" && c.Role != "model" {
			return fmt.Sprintf("contents[%d]: Please use a valid role: user, model, not %q", i, c.Role)
		}
		if i == 0 && c.Role != "user" {
			return "Please ensure that multiturn requests begin with a user turn"
		}
		var calls, results []name
		empty, signed := true, false
		for j, p := range c.Parts {
			switch {
			case p.Call != nil:
				if !geminiName.MatchString(p.Call.Name) {
					return fmt.Sprintf("contents[%d].parts[%d].function_call.name %q: Invalid function name. Must start with a letter or an underscore", i, j, p.Call.Name)
				}
				if len(calls) == 0 {
					signed = p.Signature != ""
				}
				calls, empty = append(calls, name{p.Call.ID, p.Call.Name}), false
			case p.Response != nil:
				if p.Response.Name == "" {
					return fmt.Sprintf("contents[%d].parts[%d].function_response.name: Name cannot be empty", i, j)
				}
				results, empty = append(results, name{p.Response.ID, p.Response.Name}), false
			case p.Text != nil:
				empty = empty && strings.TrimSpace(*p.Text) == ""
			default:
				empty = empty && p.Inline == nil
			}
		}
		switch {
		case empty:
			return fmt.Sprintf("contents[%d].parts: contents.parts.data: required oneof field 'data' must have one initialized field", i)
		case len(calls) > 0 && (c.Role != "model" || model && before != "results"):
			return fmt.Sprintf("contents[%d]: Please ensure that function call turn comes immediately after a user turn or after a function response turn", i)
		case len(results) > 0 && (len(open) == 0 || c.Role != "user"):
			return fmt.Sprintf("contents[%d]: Please ensure that function response turn comes immediately after a function call turn", i)
		case len(open) != len(results):
			return fmt.Sprintf("contents[%d]: Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn", i)
		case len(calls) > 0 && i > lastAsked && !signed:
			return fmt.Sprintf("contents[%d]: Function call is missing a thought_signature in functionCall parts", i)
		}
		for n, r := range results {
			if r != open[n] {
				return fmt.Sprintf("contents[%d]: function response %v is not of call %v", i, r, open[n])
			}
		}
		open, before, model = calls, "words", c.Role == "model"
		if len(calls) > 0 {
			before = "calls"
		} else if len(results) > 0 {
			before = "results"
		}
	}
	if len(open) > 0 {
		return "Please ensure that a function call turn is followed by its function responses"
	}
	return ""
}
