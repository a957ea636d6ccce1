package otlp

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// world is a home in which a session and its subagent are recorded.
type world struct {
	t       *testing.T
	bin     string
	environ []string
}

const said = `{"type":"user","uuid":"u1","sessionId":"one","cwd":"/work","timestamp":"2026-01-17T01:00:00Z","message":{"role":"user","content":"PLEASE-LOOK"}}
{"type":"assistant","uuid":"a1","timestamp":"2026-01-17T01:00:02Z","message":{"id":"m1","model":"claude-opus-4-5","role":"assistant","usage":{"input_tokens":7,"output_tokens":3,"cache_read_input_tokens":100},"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls SECRET-ARGUMENT"}}]}}
{"type":"user","uuid":"r1","timestamp":"2026-01-17T01:00:03.5Z","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","is_error":true,"content":"no such file"}]}}
{"type":"assistant","uuid":"a2","timestamp":"2026-01-17T01:00:05Z","message":{"id":"m2","model":"claude-opus-4-5","role":"assistant","usage":{"input_tokens":11,"output_tokens":5},"content":[{"type":"text","text":"THERE-IS-NONE"}]}}
`

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t, filepath.Join(dir, "gt-record"), []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}}
	build := exec.Command("go", "build", "-o", w.bin, "./cmd/gt-record")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	project := filepath.Join(dir, ".claude", "projects", "-work")
	for path, text := range map[string]string{
		filepath.Join(project, "one.jsonl"):                           said,
		filepath.Join(project, "one", "subagents", "agent-two.jsonl"): strings.ReplaceAll(said, `"uuid"`, `"isSidechain":true,"agentId":"two","uuid"`),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.run("sync", "--all")
	return w
}

func (w *world) run(args ...string) []byte {
	w.t.Helper()
	cmd := exec.Command(w.bin, args...)
	cmd.Env = w.environ
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%q: %v\n%s", args, err, errs.Bytes())
	}
	return out.Bytes()
}

// The collector reads what gt-record writes, and finds the spans and their numbers.
func TestCollectorReads(t *testing.T) {
	w := newWorld(t)
	data := w.run("export", "one", "--format", "otlp")
	for _, word := range []string{"PLEASE-LOOK", "SECRET-ARGUMENT", "THERE-IS-NONE", "no such file"} {
		if bytes.Contains(data, []byte(word)) {
			t.Errorf("the traces hold %q", word)
		}
	}
	traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	spans := judge(t, traces)
	if n := traces.SpanCount(); n != 4 || len(spans) != 3 {
		t.Fatalf("%d spans:\n%s", n, data)
	}
	tool, chat, agent := spans["execute_tool Bash"], spans["chat claude-opus-4-5"], spans["invoke_agent claude"]
	if d := tool.EndTimestamp().AsTime().Sub(tool.StartTimestamp().AsTime()).Milliseconds(); d != 1500 || tool.Status().Code() != ptrace.StatusCodeError {
		t.Errorf("the tool took %d ms, %v", d, tool.Status().Code())
	}
	if d := chat.EndTimestamp().AsTime().Sub(chat.StartTimestamp().AsTime()).Milliseconds(); d != 1500 || chat.Kind() != ptrace.SpanKindClient {
		t.Errorf("the request took %d ms, %v", d, chat.Kind())
	}
	if agent.ParentSpanID().IsEmpty() == false || tool.ParentSpanID() != agent.SpanID() || chat.TraceID() != agent.TraceID() {
		t.Error("the spans do not hang together")
	}
	if n, ok := agent.Attributes().Get(string(semconv.GenAIUsageInputTokensKey)); !ok || n.Int() != 118 {
		t.Errorf("%d tokens, %v", n.Int(), ok)
	}
	if s := agent.StartTimestamp().AsTime().Format("15:04:05") + agent.EndTimestamp().AsTime().Format(" 15:04:05"); s != "01:00:00 01:00:05" {
		t.Errorf("the session took %s", s)
	}
	if again := w.run("export", "one", "--format", "otlp"); !bytes.Equal(again, data) {
		t.Error("the same record is other bytes")
	}

	// Only what came later.
	later, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(w.run("export", "one", "--format", "otlp", "--since", "2026-01-17T01:00:04Z"))
	if err != nil || later.SpanCount() != 2 {
		t.Errorf("%d spans, %v", later.SpanCount(), err)
	}
}

// What a subagent did is a part of its session's trace.
func TestSubagent(t *testing.T) {
	w := newWorld(t)
	var of [2]ptrace.Span
	for i, name := range []string{"one", "agent-two"} {
		traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(w.run("export", name, "--format", "otlp"))
		if err != nil {
			t.Fatal(err)
		}
		of[i] = judge(t, traces)["invoke_agent claude"]
	}
	if of[1].TraceID() != of[0].TraceID() || of[1].ParentSpanID() != of[0].SpanID() {
		t.Error("the subagent's span does not hang at its session's")
	}
}

// A collector at an address takes it in as it would from any exporter.
func TestSent(t *testing.T) {
	w := newWorld(t)
	got := 0
	server := httptest.NewServer(http.HandlerFunc(func(reply http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := ptraceotlp.NewExportRequest()
		if err == nil {
			err = request.UnmarshalJSON(body)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%v, %s, %v", err, r.URL, r.Header)
		}
		got += request.Traces().SpanCount()
		answer, _ := ptraceotlp.NewExportResponse().MarshalJSON()
		reply.Write(answer)
	}))
	defer server.Close()
	w.run("export", "one", "--format", "otlp", "--to", server.URL)
	if got != 4 {
		t.Errorf("%d spans arrived", got)
	}
}

// judge holds all spans against the conventions, and returns the last one of each name.
func judge(t *testing.T, traces ptrace.Traces) map[string]ptrace.Span {
	t.Helper()
	known := map[string]bool{
		string(semconv.GenAIOperationNameKey): true, string(semconv.GenAIProviderNameKey): true, string(semconv.GenAIRequestModelKey): true,
		string(semconv.GenAIConversationIDKey): true, string(semconv.GenAIAgentNameKey): true, string(semconv.GenAIToolNameKey): true,
		string(semconv.GenAIToolCallIDKey): true, string(semconv.GenAIUsageInputTokensKey): true, string(semconv.GenAIUsageOutputTokensKey): true,
		string(semconv.GenAIUsageCacheReadInputTokensKey): true, string(semconv.GenAIUsageCacheCreationInputTokensKey): true, string(semconv.ErrorTypeKey): true,
	}
	spans := map[string]ptrace.Span{}
	for _, rs := range traces.ResourceSpans().All() {
		if rs.SchemaUrl() != semconv.SchemaURL {
			t.Errorf("it says that it follows %q", rs.SchemaUrl())
		}
		for _, ss := range rs.ScopeSpans().All() {
			if ss.SchemaUrl() != semconv.SchemaURL || ss.Scope().Name() != "gt-record" {
				t.Errorf("%q says that it follows %q", ss.Scope().Name(), ss.SchemaUrl())
			}
			for _, s := range ss.Spans().All() {
				spans[s.Name()] = s
				if s.TraceID().IsEmpty() || s.SpanID().IsEmpty() || s.StartTimestamp() > s.EndTimestamp() {
					t.Errorf("%q: %v to %v", s.Name(), s.StartTimestamp().AsTime(), s.EndTimestamp().AsTime())
				}
				for key := range s.Attributes().All() {
					if !known[key] {
						t.Errorf("%q has %q, which the conventions do not", s.Name(), key)
					}
				}
				op, _ := s.Attributes().Get(string(semconv.GenAIOperationNameKey))
				if first, _, _ := strings.Cut(s.Name(), " "); op.Str() != first {
					t.Errorf("%q is called %q", op.Str(), s.Name())
				}
			}
		}
	}
	return spans
}
