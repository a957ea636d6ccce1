package codex

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/client/account"
	"gt/lib/conversation"
)

// stores are stores that real versions of Codex wrote, see e2e/codex_test.go
// for the newest; the others are the same conversation (a command, a resume, and
// a fork where there was one).
func stores(t testing.TB) []string { return readertest.Stores(t, 6) }

// Rollouts of all versions give the same entries, and each request counts once.
func TestVersions(t *testing.T) {
	const (
		turn  = "prompt thought answer call spent result answer spent"
		more  = " prompt answer spent"
		early = "prompt spent thought answer call result spent answer prompt spent answer" // tokens came first
		asked = "please run:echo hello|second one"
	)
	n := func(n int64) conversation.Usage {
		return conversation.Usage{Input: 60 * n, CacheRead: 40 * n, Output: 10 * n}
	}
	forked := []readertest.Want{
		{Kinds: turn + more, Prompts: asked, Headless: true, Spent: n(3)},
		{Kinds: turn + more + more, Prompts: asked + "|asked in the fork", Spent: n(1)},
	}
	for store, want := range map[string][]readertest.Want{
		"0.20.0":  {{Kinds: "prompt thought answer call result answer", Prompts: "please run:echo hello"}},
		"0.44.0":  {{Kinds: early, Prompts: asked, Headless: true, Spent: n(3)}},
		"0.94.0":  forked,
		"0.124.0": forked,
		"0.124.0-then-0.169.0": {
			{Kinds: turn + more + more, Prompts: asked + "|third, by the new one", Headless: true, Spent: n(4)},
			forked[1],
			{Kinds: turn + more + more + more, Prompts: asked + "|third, by the new one|fork, by the new one", Headless: true, Spent: n(1)},
		},
		"0.169.0-exec": {
			{Kinds: turn + more, Prompts: "please echo|second prompt", Headless: true, Spent: n(3)},
			{Kinds: strings.TrimSpace(more), Prompts: "asked in the fork", Headless: true, Spent: n(1)},
			{Kinds: "prompt answer call spent result answer call spent result answer spent", Prompts: "delegate this", Headless: true, Spent: n(3)},
			{Kinds: strings.TrimSpace(more), Prompts: "You are the child.", Headless: true, Spent: n(1)},
		},
		"0.169.0-pane": {{Kinds: turn + " spent summary" + more, Prompts: "please echo|after the compaction", Title: "A fine name", Spent: n(4)}},
	} {
		all := readertest.ReadStore(t, &Reader{}, filepath.Join("testdata", store))
		readertest.Check(t, store, all, readertest.Adds(t, &Reader{}), want, func(i int, h readertest.Held) {
			f := h.Metadata
			if f.ID != h.File.ID || store != "0.20.0" && (f.CWD != "/home/max/project" || f.Branch != "main" || f.Model == "" || f.Version == "") {
				t.Errorf("%s, %d: the facts are %+v", store, i, f)
			}
		})
	}
}

// A fork names its origin. Its copies have the ids of the originals, and its own entries
// have others.
func TestForks(t *testing.T) {
	for _, store := range []string{"0.94.0", "0.124.0", "0.124.0-then-0.169.0", "0.169.0-exec"} {
		all := readertest.ReadStore(t, &Reader{}, filepath.Join("testdata", store))
		origin := all[0]
		ids := map[string]string{}
		for _, e := range origin.Entries {
			ids[e.ID] = string(e.Kind) + e.Text
		}
		for _, fork := range all[1:] {
			if fork.Metadata.ForkOf == "" {
				continue
			}
			if fork.Metadata.ForkOf != origin.Metadata.ID || !fork.Metadata.Started.After(origin.Metadata.Started) {
				t.Errorf("%s: the fork is %+v", store, fork.Metadata)
			}
			own := false
			for _, e := range fork.Entries {
				own = own || e.Kind == conversation.Prompt && strings.Contains(e.Text, "fork")
				text, copied := ids[e.ID]
				if copied == own || copied && text != string(e.Kind)+e.Text {
					t.Errorf("%s: of the fork, copied %v: %+v", store, copied, e)
				}
			}
			if strings.HasPrefix(store, "0.169") == (fork.Metadata.FirstID == origin.Metadata.FirstID) {
				t.Errorf("%s: the fork begins with %s, its origin with %s", store, fork.Metadata.FirstID, origin.Metadata.FirstID)
			}
		}
	}
}

// A subagent names its session.
func TestSubagents(t *testing.T) {
	all := readertest.ReadStore(t, &Reader{}, filepath.Join("testdata", "0.169.0-exec"))
	for i, h := range all {
		want := all[2].Metadata.ID
		if i != 3 {
			want = ""
		}
		if h.Metadata.Parent != want {
			t.Errorf("%d: %+v", i, h.Metadata)
		}
	}
	if got, want := all[2].Entries[2], "fork_context: false\nmessage: You are the child."; got.Tool != "multi_agent_v1.spawn_agent" || got.Text != want {
		t.Errorf("the call is %+v", got)
	}
}

func TestGoesOn(t *testing.T) {
	readertest.CheckParts(t, &Reader{}, stores(t)...)
}

func TestHostile(t *testing.T) {
	for _, store := range []string{"0.44.0", "0.169.0-pane"} {
		for _, h := range readertest.ReadStore(t, &Reader{}, filepath.Join("testdata", store)) {
			readertest.CheckHostile(t, &Reader{}, h)
		}
	}
}

func FuzzReader(f *testing.F) {
	var all []string
	for _, store := range stores(f) {
		for _, pattern := range []string{"sessions/*/*/*/*.jsonl", "archived_sessions/*.jsonl"} {
			paths, _ := filepath.Glob(filepath.Join(store, pattern))
			all = append(all, paths...)
		}
	}
	readertest.Fuzz(f, &Reader{}, "sessions/rollout-1.jsonl", all...)
}

// The last name that a person gave counts. Giving one changes the file's time.
func TestNames(t *testing.T) {
	store := t.TempDir()
	const id = "01a1fd67-713d-78e1-adfb-605b8af2eaed"
	rollout := filepath.Join(store, "sessions", "2026", "11", "21", "rollout-2026-11-21T09-19-37-"+id+".jsonl")
	write := func(path, text string) {
		t.Helper()
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(rollout, `{"timestamp":"2026-11-21T09:19:37.332Z","type":"session_meta","payload":{"id":"`+id+`"}}`+"\n")
	c := &Reader{}
	before := readertest.ReadStore(t, c, store)[0]
	if before.Metadata.Title != "" {
		t.Errorf("without a name it is called %q", before.Metadata.Title)
	}
	name := func(id, name string, at time.Time) string {
		return fmt.Sprintf(`{"id":%q,"thread_name":%q,"updated_at":%q}`+"\n", id, name, at.Format(time.RFC3339Nano))
	}
	soon := time.Now().Add(time.Hour)
	index := filepath.Join(store, "session_index.jsonl")
	write(index, name(id, "first", soon)+name("../x", "other", soon)+"{]\n"+name(id, "second\nname", soon.Add(time.Second))+name(id, "torn", soon)[:40])
	after := readertest.ReadStore(t, c, store)[0]
	if after.Metadata.Title != "second name" || after.File.Changed <= before.File.Changed {
		t.Errorf("it is called %q, and changed %d after it was %d", after.Metadata.Title, after.File.Changed, before.File.Changed)
	}
	testenv.NoError(t, os.Remove(index))
	if h := readertest.ReadStore(t, c, store)[0]; h.Metadata.Title != "" {
		t.Errorf("without an index it is called %q", h.Metadata.Title)
	}
	// Newer versions write no index, and the name into the rollout.
	renamed := func(of, name string) string {
		return `{"timestamp":"2026-11-21T09:19:38.332Z","type":"event_msg","payload":{"type":"thread_name_updated","thread_id":"` + of + `","thread_name":"` + name + `"}}` + "\n"
	}
	data, err := os.ReadFile(rollout)
	testenv.NoError(t, err)
	turn := `{"timestamp":"2026-11-21T09:19:39.332Z","type":"turn_context","payload":{"cwd":"/w","model":"m"}}` + "\n"
	write(rollout, string(data)+renamed(id, "first")+renamed(id, "third")+renamed("01a1fd67-713d-78e1-adfb-605b8af2eaee", "the original's")+turn)
	if h := readertest.ReadStore(t, c, store)[0]; h.Metadata.Title != "third" {
		t.Errorf("without an index it is called %q, not as the rollout says", h.Metadata.Title)
	}
	// A name that is near neither end of a long rollout, but in its front.
	long := strings.Repeat(turn, 2*conversation.EndSize/len(turn))
	front := string(data) + turn + strings.Repeat(turn, 12<<10/len(turn)) + renamed(id, "first") + renamed(id, "second")
	write(rollout, front+long)
	if h := readertest.ReadStore(t, c, store)[0]; h.Metadata.Title != "second" {
		t.Errorf("by the front of a long rollout it is called %q", h.Metadata.Title)
	}
	write(rollout, front+long+renamed(id, "third")+turn)
	if h := readertest.ReadStore(t, c, store)[0]; h.Metadata.Title != "third" {
		t.Errorf("by both ends of a long rollout it is called %q", h.Metadata.Title)
	}
	write(index, name(id, "fourth", soon))
	if h := readertest.ReadStore(t, c, store)[0]; h.Metadata.Title != "fourth" {
		t.Errorf("with an index it is called %q", h.Metadata.Title)
	}
}

// Find finds all rollouts, wherever versions put them, and nothing else.
func TestFind(t *testing.T) {
	home := t.TempDir()
	store := filepath.Join(home, ".codex")
	const id = "01a1fd67-713d-78e1-adfb-605b8af2eaed"
	for _, name := range []string{
		"sessions/2026/11/21/rollout-2026-11-21T09-19-37-" + id + ".jsonl",
		"sessions/rollout-2025-05-07-" + id + ".jsonl",
		"archived_sessions/rollout-2026-11-21T09-19-37-" + id + ".jsonl",
		"sessions/2026/11/21/rollout-x.jsonl", // without an id in its name
		"sessions/2026/11/21/rollout-2026-11-21T09-19-37-" + id + ".jsonl.zst",
		"sessions/2026/11/21/rollout-2026-11-21T09-19-37-" + id + ".jsonl.tmp",
		"sessions/2026/11/21/history.jsonl",
		"sessions/2026/11/21/deeper/rollout-2026-11-21T09-19-37-" + id + ".jsonl",
		"history.jsonl",
	} {
		path := filepath.Join(store, name)
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	}
	day := filepath.Join(store, "sessions", "2026", "11", "21")
	testenv.NoError(t, os.Mkdir(filepath.Join(day, "rollout-folder-"+id+".jsonl"), 0o700))
	testenv.NoError(t, syscall.Mkfifo(filepath.Join(day, "rollout-fifo-"+id+".jsonl"), 0o600))
	testenv.NoError(t, os.Symlink("nowhere", filepath.Join(day, "rollout-link-"+id+".jsonl")))
	other := filepath.Join(home, ".codex-work")
	testenv.NoError(t, os.MkdirAll(filepath.Join(other, "archived_sessions"), 0o700))
	for _, env := range []map[string]string{
		{"HOME": home}, {"HOME": home, "CODEX_HOME": store + "/"}, {"HOME": home, "CODEX_HOME": "/nowhere"},
	} {
		got := account.Stores("codex", func(name string) string { return env[name] })
		if !slices.Equal(got, []string{store, other}) {
			t.Errorf("%v: the stores are %q", env, got)
		}
	}
	var found []string
	if err := (&Reader{}).Find(store, func(f conversation.File) {
		rel, _ := filepath.Rel(store, f.Path)
		found = append(found, rel+" "+string(f.ID))
		if f.Client != "codex" || f.Store != store || f.Size != 3 || f.Changed == 0 {
			t.Errorf("%+v", f)
		}
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"sessions/2026/11/21/rollout-2026-11-21T09-19-37-" + id + ".jsonl " + id,
		"sessions/2026/11/21/rollout-x.jsonl ",
		"sessions/rollout-2025-05-07-" + id + ".jsonl " + id,
		"archived_sessions/rollout-2026-11-21T09-19-37-" + id + ".jsonl " + id,
	}
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("found are\n%s, want\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"))
	}
	if err := (&Reader{}).Find(filepath.Join(home, "nowhere"), func(conversation.File) {}); err == nil {
		t.Error("a store that is not there is read without an error")
	}
}

// An agent that the client starts for itself, as for a /review, names no parent. It is no
// session of a person.
func TestOwnAgents(t *testing.T) {
	for source, want := range map[string]bool{`"cli"`: false, `"exec"`: true, `{"subagent":"review"}`: true, `{"subagent":{"other":"guardian"}}`: true, `{"subagent":{"thread_spawn":{"parent_thread_id":"a2"}}}`: false} {
		path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(`{"timestamp":"2026-11-21T09:19:37.332Z","type":"session_meta","payload":{"id":"a1","source":`+source+`}}`+"\n"), 0o600))
		if m, err := (&Reader{}).Metadata(conversation.File{Path: path}); err != nil || m.Headless != want {
			t.Errorf("%s: %+v %v", source, m, err)
		}
	}
}

// The first prompt is found after a lot of the client's own text.
func TestLateFirstPrompt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
	long := strings.Repeat("instructions ", 8000)
	text := `{"timestamp":"2026-11-21T09:19:37.332Z","ordinal":0,"type":"session_meta","payload":{"id":"a1","cwd":"/w","source":"cli","base_instructions":{"text":"` + long + `"}}}` + "\n" +
		`{"timestamp":"2026-11-21T09:19:38.332Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"` + long + `"}]}}` + "\n" +
		`{"timestamp":"2026-11-21T09:19:39.332Z","ordinal":2,"type":"response_item","payload":{"type":"message","id":"m1","role":"user","content":[{"type":"input_text","text":"the prompt"}]}}` + "\n"
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	facts, err := (&Reader{}).Metadata(conversation.File{Path: path, Size: int64(len(text))})
	if err != nil || facts.Prompt != "the prompt" || facts.FirstID != "m1" || facts.ID != "a1" || facts.CWD != "/w" || facts.Started.Second() != 37 || facts.Last.Second() != 39 {
		t.Errorf("%+v, %v", facts, err)
	}
}

// Text that the client writes in the person's name is not a prompt. A person's text that
// looks like it is one.
func TestPrompts(t *testing.T) {
	line := func(content, more string) string {
		return `{"timestamp":"2026-11-21T09:19:38.332Z","type":"response_item","payload":{"type":"message","role":"user","content":[` + content + `]` + more + `}}` + "\n"
	}
	text := func(s string) string { return fmt.Sprintf(`{"type":"input_text","text":%q}`, s) }
	kinds := func(k string) string {
		return `,"internal_chat_message_metadata_passthrough":{"content_item_kinds":[` + k + `]}`
	}
	for _, test := range []struct{ line, want string }{
		{line(text("hello"), ""), "hello"},
		{line(text("<environment_context>\n<cwd>/w</cwd>\n</environment_context>"), ""), ""},
		{line(text("<ENVIRONMENT_CONTEXT>x</environment_context>\n"), ""), ""},
		{line(text("<user_instructions>\n\nbe kind\n\n</user_instructions>"), ""), ""},
		{line(text("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"), ""), ""},
		{line(text("Warning: apply_patch was requested via exec_command. Use the apply_patch tool instead of exec_command."), ""), ""},
		{line(text("Warning: this is what I see, why?"), ""), "Warning: this is what I see, why?"},
		{line(text("<skill>\n<name>x</name>\n</skill>"), ""), ""},
		{line(text("<turn_aborted>\nThe user interrupted\n</turn_aborted>"), ""), ""},
		{line(text("<user_shell_command>\n<command>ls</command>\n</user_shell_command>"), ""), ""},
		{line(text(`<hook_prompt hook_run_id="1">x</hook_prompt>`), ""), ""},
		{line(text("<environment_context> is what?"), ""), "<environment_context> is what?"},
		{line(text("<div>why is this not centred?</div>"), ""), "<div>why is this not centred?</div>"},
		{line(text("<"), ""), "<"},
		{line(text("# Context from my IDE setup:\n\n## Active file: a.go\n\n## My request for Codex:\nfix it\n"), ""), "fix it"},
		{line(text("<image name=[Image #1]>")+`,{"type":"input_image","image_url":"data:image/png;base64,AAAA"},`+text("</image>")+","+text("what is it?"), ""), "[image]\nwhat is it?"},
		{line(text("be kind")+","+text("hello"), kinds(`"agents_md.instructions","user.text"`)), "hello"},
		{line(text("<environment_context>as pasted</environment_context>"), kinds(`"user.text"`)), "<environment_context>as pasted</environment_context>"},
		{line(text("hello"), kinds(`"unknown"`)), "hello"},
		{line(text("hello"), kinds(`7`)), "hello"},
		{line(text("out of nowhere"), kinds(`"hooks.stop"`)), ""},
		{line(`"x",7,null,{"text":7}`, ""), ""},
	} {
		path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(test.line), 0o600))
		all, _ := readertest.ReadFrom(t, &Reader{}, conversation.File{Path: path}, 0, -1)
		got := strings.Join(readertest.Held{Entries: all}.Texts(conversation.Prompt), "|")
		if got != test.want {
			t.Errorf("%s is the prompt %q, want %q", test.line, got, test.want)
		}
	}
}

// What a /review found is an answer, once: older versions give it to the model alone, newer ones
// record an answer as well.
func TestReview(t *testing.T) {
	line := func(role, text string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-21T09:19:38.332Z","type":"response_item","payload":{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}}`, role, text) + "\n"
	}
	given := func(results string) string {
		return line("user", "<user_action>\n  <context>User initiated a review task.</context>\n  <action>review</action>\n  <results>\n  "+results+"\n  </results>\n</user_action>\n")
	}
	exited := `{"timestamp":"2026-11-21T09:19:39.332Z","type":"event_msg","payload":{"type":"exited_review_mode","review_output":null}}` + "\n"
	for _, test := range []struct{ name, text, want string }{
		{"older", given("No bug.\n- one"), "No bug.\n- one"},
		{"older, then an answer", given("No bug.") + exited + line("assistant", "more"), "No bug.|more"},
		{"newer", given("No bug.\n- one") + exited + line("assistant", "No bug.\n\n- one"), "No bug.\n\n- one"},
		{"interrupted", given("None."), ""},
		{"said twice", line("assistant", "yes") + line("assistant", "yes"), "yes|yes"},
	} {
		path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(test.text), 0o600))
		all, _ := readertest.ReadFrom(t, &Reader{}, conversation.File{Path: path}, 0, -1)
		held := readertest.Held{Entries: all}
		if got := strings.Join(held.Texts(conversation.Answer), "|"); got != test.want || len(held.Texts(conversation.Prompt)) > 0 {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Calls and results read as a person would write them.
func TestTools(t *testing.T) {
	for _, test := range []struct{ payload, want string }{
		{`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls | wc\"],\"workdir\":\"/w\"}"}`, "call shell: ls | wc"},
		{`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"git\",\"status\"]}"}`, "call shell: git status"},
		{`{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\",\"yield_time_ms\":1000}"}`, "call exec_command: ls"},
		{`{"type":"function_call","name":"write_stdin","arguments":"{\"session_id\":1,\"chars\":\"q\"}"}`, "call write_stdin: session_id: 1\nchars: q"},
		{`{"type":"function_call","name":"mcp__docs__get","arguments":"no JSON"}`, "call mcp__docs__get: no JSON"},
		{`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch"}`, "call apply_patch: *** Begin Patch"},
		{`{"type":"local_shell_call","action":{"type":"exec","command":["ls","-l"]}}`, "call shell: ls -l"},
		{`{"type":"web_search_call","action":{"type":"search","query":"go"}}`, "call web_search: type: search\nquery: go"},
		{`{"type":"function_call_output","output":"{\"output\":\"hello\\n\",\"metadata\":{\"exit_code\":0}}"}`, "result : hello\n"},
		{`{"type":"function_call_output","output":{"content":"hello","success":true}}`, "result : hello"},
		{`{"type":"function_call_output","output":[{"type":"input_text","text":"a"},{"type":"input_image"},{"type":"input_text","text":"b"}]}`, "result : a\nb"},
		{`{"type":"custom_tool_call_output","output":"Success."}`, "result : Success."},
		{`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`, "thought : hm"},
		{`{"type":"reasoning","summary":[],"content":null,"encrypted_content":"x"}`, ""},
		{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}`, "answer : a\nb"},
		{`{"type":"message","role":"developer","content":[{"type":"input_text","text":"a"}]}`, ""},
		{`{"type":"message","role":"user","content":[{"type":"input_text","text":"<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\nOutput:\na\n</result>\n</user_shell_command>"}]}`,
			"call shell: ls|result shell: Exit code: 0\nOutput:\na"},
		{`{"role":"user","content":[{"type":"input_text","text":"hello"}]}`, "prompt : hello"},
		{`{"type":"function_call","name":"request_user_input","call_id":"c","arguments":"{\"questions\":[]}"}}` + "\n" +
			`{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"answers\":{\"q\":{\"answers\":[\"Yes\",\"user_note: now\"]}}}"}`,
			"call request_user_input: []|reply : Yes\nuser_note: now"},
	} {
		path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(`{"type":"response_item","payload":`+test.payload+"}\n"), 0o600))
		all, _ := readertest.ReadFrom(t, &Reader{}, conversation.File{Path: path}, 0, -1)
		var got []string
		for _, e := range all {
			got = append(got, fmt.Sprintf("%s %s: %s", e.Kind, e.Tool, e.Text))
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%s is %q, want %q", test.payload, got, test.want)
		}
	}
}

// An older version counts from zero when a conversation is resumed, and may reach the
// same total. The same total repeated is not another request.
func TestCountsAnew(t *testing.T) {
	const usage = `{"input_tokens":100,"cached_input_tokens":40,"output_tokens":10,"total_tokens":110}`
	const told = `{"timestamp":"2026-11-21T09:19:38.332Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":` + usage + `,"last_token_usage":` + usage + `}}}` + "\n"
	const none = `{"timestamp":"2026-11-21T09:19:38.332Z","type":"event_msg","payload":{"type":"token_count","info":null}}` + "\n"
	path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
	testenv.NoError(t, os.WriteFile(path, []byte(none+told+told+none+told+told), 0o600))
	all, _ := readertest.ReadFrom(t, &Reader{}, conversation.File{Path: path}, 0, -1)
	if got := (readertest.Held{Entries: all}).Kinds(); got != "spent spent" {
		t.Errorf("two requests are %s", got)
	}
}

// What states only totals counts by what they grew by. A fork begins with its parent's. Older
// versions name no turn.
func TestCountsOfTotals(t *testing.T) {
	event := func(kind, payload string) string {
		return `{"timestamp":"2026-11-21T09:19:38Z","type":"` + kind + `","payload":` + payload + "}\n"
	}
	count := func(input, more string) string {
		return event("event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":`+input+`}`+more+`}}`)
	}
	for _, turn := range []string{
		event("turn_context", `{"turn_id":"t1"}`), event("turn_context", `{"cwd":"/tmp"}`), event("event_msg", `{"type":"task_started"}`),
	} {
		dir := t.TempDir()
		readertest.Put(t, filepath.Join(dir, "sessions/2026/11/21/rollout-2026-11-21T09-19-38-a1.jsonl"), event("session_meta", `{"id":"a1"}`)+
			count("5000", `,"last_token_usage":null`)+turn+count("5100", "")+count("5100", "")+count("5120", "")+count("7", ""))
		var used []int64
		for _, e := range readertest.ReadStore(t, &Reader{}, dir)[0].Entries {
			if e.Kind == conversation.TokenUsage {
				used = append(used, e.Usage.Input)
			}
		}
		if want := []int64{100, 20, 7}; !slices.Equal(used, want) {
			t.Errorf("%s: %v, want %v", turn, used, want)
		}
	}
}

// A rollout's name tells its thread, and a later segment what it continues.
func TestSegments(t *testing.T) {
	const thread, segment = "01a0aaaa-0000-7000-8000-000000000001", "01a0bbbb-0000-7000-8000-000000000002"
	store := t.TempDir()
	dir := filepath.Join(store, "sessions", "2026", "11", "20")
	meta := func(more string) string {
		return `{"timestamp":"2026-11-20T10:00:00Z","type":"session_meta","payload":{"id":"` + thread + `","cwd":"/w"` + more + "}}\n"
	}
	base := `,"history_base":{"thread_id":"` + thread + `","end_ordinal_exclusive":3,"end_byte_offset":250}`
	for name, text := range map[string]string{
		thread: meta(""), thread + "_" + segment: meta(base), thread + ".sync-conflict-20261127-101010-ABCDEFG": meta(""),
	} {
		readertest.Put(t, filepath.Join(dir, "rollout-2026-11-20T10-00-00-"+name+".jsonl"), text)
	}
	var got []string
	c := &Reader{}
	testenv.NoError(t, c.Find(store, func(f conversation.File) {
		own, of, at := c.Segment(f)
		if f.ID != thread {
			t.Errorf("%+v", f)
		}
		if !f.IsSyncCopy {
			got = append(got, fmt.Sprint(own, " ", of, " ", at))
		}
	}))
	slices.Sort(got)
	if want := []string{thread + "  0", segment + " " + thread + " 250"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Codex Desktop can write a rollout anew at a compaction. It then begins with the history that
// was left, which is the only place of the person's earlier words. In another rollout they are
// there twice.
func TestSnapshot(t *testing.T) {
	item := func(role, text string) string {
		return fmt.Sprintf(`{"type":"message","role":%q,"content":[{"type":"input_text","text":%q}]}`, role, text)
	}
	line := func(kind, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-21T09:19:38.332Z","type":%q,"payload":%s}`+"\n", kind, payload)
	}
	compacted := line("compacted", `{"message":"it goes on","replacement_history":[`+strings.Join([]string{
		item("user", "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"), item("user", "one"), item("developer", "be kind"), item("user", "two"),
		item("user", summaryStart+" and\nit goes on"), `{"type":"compaction","encrypted_content":"x"}`,
	}, ",")+`]}`)
	one, two, three := line("response_item", item("user", "one")), line("response_item", item("user", "two")), line("response_item", item("user", "three"))
	back := line("event_msg", `{"type":"thread_rolled_back","num_turns":1}`)
	for text, want := range map[string]string{
		compacted + three:                  "one|two|three",
		one + two + compacted + three:      "one|two|three",
		compacted + compacted + three:      "one|two|three",
		compacted + three + back:           "one|two",
		compacted + three + back + one:     "one|two|one",
		compacted + three + back + back:    "one|two",
		three + back + compacted + one:     "one",
		line("session_meta", `{"id":"a"}`): "",
	} {
		path := filepath.Join(t.TempDir(), "rollout-1.jsonl")
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		all, _ := readertest.ReadFrom(t, &Reader{}, conversation.File{Path: path}, 0, -1)
		held := readertest.Held{Entries: all}
		if got := strings.Join(held.Texts(conversation.Prompt), "|"); got != want || strings.Contains(text, "compacted") && held.Texts(conversation.Summary)[0] != "it goes on" {
			t.Errorf("%s has the prompts %q, want %q", text, got, want)
		}
		rest, _ := readertest.ReadFrom(t, &Reader{}, conversation.File{Path: path}, int64(strings.Index(text, "\n")+1), -1)
		if got := strings.Join(readertest.Held{Entries: rest}.Texts(conversation.Prompt), "|"); !strings.HasSuffix(want, got) {
			t.Errorf("%s goes on with the prompts %q, want the end of %q", text, got, want)
		}
	}
}
