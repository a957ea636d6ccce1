package model

import (
	"strings"
	"testing"
)

// A conversation that a provider takes is taken, and one that it refuses is refused for
// the same reason.
func TestInvalid(t *testing.T) {
	const (
		messages  = "/v1/messages"
		chat      = "/v1/chat/completions"
		responses = "/v1/responses"
		gemini    = "/v1beta/models/m:streamGenerateContent"
	)
	for _, c := range []struct{ path, body, why string }{
		{messages, `{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}]}`, ""},
		{messages, `{"messages":[{"role":"assistant","content":"a"}]}`, "first message"},
		{messages, `{"messages":[{"role":"user","content":" "}]}`, "non-empty"},
		{messages, `{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "non-whitespace"},
		{messages, `{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"}]}]}`, "signature"},
		{messages, `{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"tool_use","id":"t.1","name":"Bash","input":{}}]}]}`, "pattern"},
		{messages, `{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"a b","input":{}}]}]}`, "pattern"},
		{messages, `{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"B","input":{}}]},{"role":"user","content":"q"}]}`, "without tool_result"},
		{messages, `{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}]}`, "unexpected tool_use_id"},
		{messages, `{"messages":[{"role":"user","content":"p"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"B","input":{}},{"type":"tool_use","id":"t1","name":"B","input":{}}]}]}`, "unique"},

		{chat, `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"p"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"b","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c2","content":""},{"role":"tool","tool_call_id":"c1","content":""},{"role":"user","content":"q"}]}`, ""},
		{chat, `{"messages":[{"role":"user","content":""}]}`, "non-empty"},
		{chat, `{"messages":[{"role":"tool","tool_call_id":"c1","content":"r"}]}`, "preceding"},
		{chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"b","arguments":"{}"}}]},{"role":"user","content":"q"}]}`, "followed by tool messages"},
		{chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"b.c","arguments":"{}"}}]}]}`, "pattern"},
		{chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"b","arguments":"x"}}]}]}`, "JSON"},
		{chat, `{"messages":[{"role":"assistant","tool_calls":[{"id":"` + strings.Repeat("c", 41) + `","type":"function","function":{"name":"b","arguments":"{}"}}]}]}`, "40 characters"},

		{responses, `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"p"}]},{"type":"function_call","call_id":"c1","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"r"}]}`, ""},
		{responses, `{"input":[{"type":"function_call","call_id":"c1","name":"b","arguments":"{}"}]}`, "No tool output"},
		{responses, `{"input":[{"type":"function_call_output","call_id":"c1","output":"r"}]}`, "No tool call"},
		{responses, `{"input":[{"type":"message","id":"x1","role":"user","content":"p"}]}`, "begins with 'msg'"},
		{responses, `{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":""}]}]}`, "empty"},
		{responses, `{"input":[{"type":"reasoning","id":"rs_1"},{"type":"message","role":"user","content":"p"}]}`, "following item"},

		{gemini, `{"contents":[{"role":"user","parts":[{"text":"p"}]},{"role":"model","parts":[{"text":"a"},{"functionCall":{"id":"1","name":"b"}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"b"}}]},{"role":"user","parts":[{"text":"q"}]}]}`, ""},
		{gemini, `{"contents":[{"role":"user","parts":[{"text":"p"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"b"}}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"b"}}]}]}`, "thought_signature"},
		{gemini, `{"contents":[{"role":"user","parts":[{"text":"p"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"b"},"thoughtSignature":"s"}]},{"role":"user","parts":[{"functionResponse":{"id":"1","name":"b"}}]}]}`, ""},
		{gemini, `{"contents":[{"role":"model","parts":[{"text":"p"}]}]}`, "begin with a user turn"},
		{gemini, `{"contents":[{"role":"user","parts":[{"text":""}]}]}`, "initialized field"},
		{gemini, `{"contents":[{"role":"user","parts":[]}]}`, "must not be empty"},
		{gemini, `{"contents":[{"role":"user","parts":[{"text":"p"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"b"}}]}]}`, "immediately after a user turn"},
		{gemini, `{"contents":[{"role":"user","parts":[{"text":"p"}]},{"role":"model","parts":[{"functionCall":{"name":"b"}}]},{"role":"user","parts":[{"text":"q"}]}]}`, "number of function response"},
		{gemini, `{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"b"}}]}]}`, "immediately after a function call"},
		{gemini, `{"contents":[{"role":"user","parts":[{"text":"p"}]},{"role":"model","parts":[{"functionCall":{"name":"9b"}}]}]}`, "Invalid function name"},
	} {
		why := (&Request{Path: c.path, Body: []byte(c.body)}).Invalid()
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s %s\nis refused for %q, want %q", c.path, c.body, why, c.why)
		}
	}
}
