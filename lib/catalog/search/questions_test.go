package search

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

// said is one entry of a conversation that a test writes: who ("you", "agent", "thinks",
// "result", or a tool's name) and what.
type said struct{ who, text string }

type object = map[string]any

// write writes a conversation in its client's form and returns it.
func write(t *testing.T, dir, client, name string, all []said) conversation.Conversation {
	t.Helper()
	var b strings.Builder
	n := 0
	at := func() string { n++; return time.Date(2026, 3, 2, 8, n, 0, 0, time.UTC).Format(time.RFC3339) }
	line := func(v object) {
		text, err := json.Marshal(v)
		testenv.NoError(t, err)
		b.Write(append(text, '\n'))
	}
	text := func(kind, s string) []object { return []object{{"type": kind, "text": s}} }
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", len(name)*7919+int(name[0]), len(name))
	store, path := dir, filepath.Join(dir, client, name+".jsonl")
	switch client {
	case "claude":
		path = filepath.Join(dir, "projects/-p", id+".jsonl")
		for _, s := range all {
			rec := object{"uuid": fmt.Sprint(name, n), "timestamp": at(), "sessionId": id, "cwd": "/home/me/" + name}
			role, content := "assistant", any(text("text", s.text))
			switch s.who {
			case "you":
				role, content = "user", s.text
			case "agent":
			case "thinks":
				content = []object{{"type": "thinking", "thinking": s.text}}
			case "result":
				role, content = "user", []object{{"type": "tool_result", "tool_use_id": fmt.Sprint("t", n-1), "content": s.text}}
			default:
				content = []object{{"type": "tool_use", "id": fmt.Sprint("t", n), "name": s.who, "input": json.RawMessage(s.text)}}
			}
			rec["type"], rec["message"] = role, object{"role": role, "id": fmt.Sprint(name, "-m", n), "content": content}
			line(rec)
		}
	case "codex":
		store = filepath.Join(dir, "codex")
		path = filepath.Join(store, "sessions/2026/03/02/rollout-2026-03-02T08-00-00-"+id+".jsonl")
		line(object{"timestamp": at(), "type": "session_meta", "payload": object{"id": id, "timestamp": at(), "cwd": "/home/me/" + name, "originator": "codex-tui"}})
		for _, s := range all {
			p := object{"type": "message", "role": "assistant", "content": text("output_text", s.text)}
			switch s.who {
			case "you":
				p = object{"type": "message", "role": "user", "content": text("input_text", s.text)}
			case "agent":
			case "result":
				p = object{"type": "function_call_output", "call_id": fmt.Sprint("c", n), "output": s.text}
			default:
				p = object{"type": "function_call", "call_id": fmt.Sprint("c", n+1), "name": s.who, "arguments": s.text}
			}
			line(object{"timestamp": at(), "type": "response_item", "payload": p})
		}
	case "gemini":
		store = filepath.Join(dir, "gemini")
		path = filepath.Join(store, "tmp/p/chats/session-2026-03-02T08-00-"+id[:8]+".jsonl")
		line(object{"sessionId": id, "projectHash": "x", "startTime": at(), "lastUpdated": at(), "kind": "main"})
		for _, s := range all {
			rec := object{"id": fmt.Sprint(name, n), "timestamp": at(), "type": "gemini", "content": s.text}
			switch s.who {
			case "you":
				rec["type"], rec["content"] = "user", []object{{"text": s.text}}
			case "thinks":
				rec["content"], rec["thoughts"] = "", []object{{"subject": "Plan", "description": s.text, "timestamp": at()}}
			}
			line(rec)
		}
	case "pi":
		store = filepath.Join(dir, "pi")
		path = filepath.Join(store, "sessions/--p--/2026-03-02T08-00-00-000Z_"+id+".jsonl")
		line(object{"type": "session", "version": 3, "id": id, "timestamp": at(), "cwd": "/home/me/" + name})
		parent := any(nil)
		for i, s := range all {
			m := object{"role": "assistant", "content": text("text", s.text)}
			switch s.who {
			case "you":
				m["role"] = "user"
			case "agent":
			case "result":
				m = object{"role": "toolResult", "toolCallId": fmt.Sprint("c", i-1), "toolName": "bash", "content": text("text", s.text)}
			default:
				m["content"] = []object{{"type": "toolCall", "id": fmt.Sprint("c", i), "name": s.who, "arguments": json.RawMessage(s.text)}}
			}
			line(object{"type": "message", "id": fmt.Sprint(name, i), "parentId": parent, "timestamp": at(), "message": m})
			parent = fmt.Sprint(name, i)
		}
	}
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
	var found *conversation.Conversation
	r := readers.FindReader(client)
	testenv.NoError(t, r.Find(store, func(f conversation.File) {
		if f.Path == path {
			m, err := r.Metadata(f)
			testenv.NoError(t, err)
			found = &conversation.Conversation{File: f, Metadata: m}
		}
	}))
	if found == nil {
		t.Fatalf("%s does not find %s", client, path)
	}
	if found.Metadata.ID == "" {
		found.Metadata.ID = session.ID(id)
	}
	return *found
}

// store is conversations of several clients, by names.
type store struct {
	names, titles []string
	all           []conversation.Conversation
}

func (s *store) add(t *testing.T, dir, client, name, title string, all ...said) {
	s.names, s.titles = append(s.names, name), append(s.titles, title)
	s.all = append(s.all, write(t, dir, client, name, all))
}

// rank returns at which place a search finds a conversation, from 1, and how many others it
// finds; 0 if it does not.
func (s *store) rank(t *testing.T, words, name string) (rank, noise int, instead map[string]string) {
	t.Helper()
	q := NewWords(words)
	if q == nil {
		return 0, 0, nil
	}
	found, instead, err := q.Search(s.all, s.titles, func(int64, int64) {})
	testenv.NoError(t, err)
	seen := map[int]bool{}
	for _, f := range found {
		if !seen[f.Index] {
			if seen[f.Index] = true; s.names[f.Index] == name {
				rank = len(seen)
			}
		}
	}
	noise = len(seen)
	if rank > 0 {
		noise--
	}
	return rank, noise, instead
}

func questionStore(t *testing.T) *store {
	dir, s := t.TempDir(), &store{}
	s.add(t, dir, "claude", "webhooks", "Retry webhooks with backoff",
		said{"you", "the webhook deliveries fail when the receiver is slow. Add a retry"},
		said{"agent", "I add exponential backoff with jitter: 1 s, 2 s, 4 s, at most five attempts."},
		said{"Edit", `{"file_path":"/home/me/webhooks/lib/delivery.go","old_string":"send(r)","new_string":"for attempt := range maxAttempts {\n\tsend(r)\n}"}`},
		said{"result", "The file has been updated"},
		said{"you", "and honour Retry-After"}, said{"agent", "The header Retry-After now wins over the backoff."})
	s.add(t, dir, "claude", "migration", "",
		said{"you", "why does the deploy hang?"},
		said{"Bash", `{"command":"psql -c 'select * from pg_locks where not granted'","description":"locks"}`},
		said{"result", "relation | AccessExclusiveLock | waiting\nERROR:  canceling statement due to lock timeout"},
		said{"agent", "The migration waits for an AccessExclusiveLock on orders: a long-running report holds\na shared lock. Set lock_timeout and create the index concurrently."})
	s.add(t, dir, "codex", "cache", "",
		said{"you", "Der Cache läuft über, bitte die Größe begrenzen"},
		said{"shell", `{"command":"go test -run TestEviction ./cache"}`},
		said{"result", "--- FAIL: TestEviction (0.02s)\n    lru_test.go:42: got 129 entries, want 128"},
		said{"agent", "Off by one: the list was trimmed before the insert, so one more entry stayed."})
	s.add(t, dir, "codex", "resume", "",
		said{"you", "put my re\u0301sume\u0301 into LaTeX"}, said{"agent", "Done, moderncv compiles it to two pages."})
	s.add(t, dir, "gemini", "dns", "",
		said{"you", "requests to the billing service time out once an hour"},
		said{"thinks", "The resolver caches a negative answer: ndots:5 makes it try the search domains first."},
		said{"agent", "Lower ndots to 1 in the pod's dnsConfig."})
	s.add(t, dir, "gemini", "unicode", "", said{"you", "日本語のファイル名が文字化けする"}, said{"agent", "zip に UTF-8 フラグを立てる。"})
	s.add(t, dir, "pi", "tls", "",
		said{"you", "curl says certificate has expired, but only on the old boxes"},
		said{"bash", `{"command":"openssl s_client -connect api.example.com:443 -showcerts"}`},
		said{"result", "depth=2 CN = DST Root CA X3\nverify error:num=10:certificate has expired"},
		said{"agent", "Their OpenSSL 1.0.2 prefers the expired root; remove DST Root CA X3 from the bundle."})
	s.add(t, dir, "pi", "rename", "", said{"you", "call it ledger instead of journal, everywhere"}, said{"agent", "Renamed 41 occurrences."},
		said{"edit", `{"path":"docs/accounting.md","oldText":"the journal","newText":"the ledger"}`}, said{"result", "ok"})
	// What has some of the words, but is about something else.
	for i := range 12 {
		client := []string{"claude", "codex", "gemini", "pi"}[i%4]
		s.add(t, dir, client, fmt.Sprintf("daily%s", strings.Repeat("-", i)), "",
			said{"you", "add a test for the delivery of the report and run it"},
			said{"agent", "The test passes. I also looked at the cache, the index and the certificate; nothing to do."},
			said{"you", "does the service retry?"}, said{"agent", fmt.Sprintf("No: after a failure it waits for %d seconds and lets the lock go.", i+10)})
	}
	return s
}

// Twenty questions as a person types them: the right conversation is among the first three,
// and what grep finds with the same words stands beside it.
func TestQuestions(t *testing.T) {
	s := questionStore(t)
	found := 0
	for _, q := range []struct{ typed, want string }{
		{"webhook retry backoff", "webhooks"},
		{"RETRY-AFTER", "webhooks"},
		{"exponential jitter attempts", "webhooks"},              // out of order, apart
		{"retry webhooks with backoff", "webhooks"},              // the title
		{"delivery.go maxAttempts", "webhooks"},                  // what was changed
		{"why did the deploy hang", "migration"},                 // with words that are everywhere
		{"holds a shared lock", "migration"},                     // over a line break
		{"accessexclusivelock orders", "migration"},              // another case
		{"pg_locks", "migration"},                                // a command
		{"lock timeout index concurrently", "migration"},         // a result and an answer
		{"TestEviction lru_test.go:42", "cache"},                 // an error
		{"cache größe begrenzen", "cache"},                       // another language
		{"off-by-one trimmed insert", "cache"},                   // joined otherwise
		{"RÉSUMÉ latex", "resume"},                               // another form in Unicode
		{"ndots search domains", "dns"},                          // a thought
		{"billing service timeouts", "dns"},                      // not so said: "time out"
		{"文字化け ファイル名", "unicode"},                                // no blanks
		{"openssl certifcate expired old boxes", "tls"},          // misspelt
		{"DST Root CA X3", "tls"},                                // short words
		{"renaming journal ledgers everywhere", "rename"},        // other endings
		{`"certificate has expired" curl`, "tls"},                // a phrase
		{"how did we fix the slow receiver failing", "webhooks"}, // mostly remembered
		{"moderncv invoice", "resume"},                           // half remembered
		{"lockTimeout", "migration"},                             // an identifier in another style
		{"groesse_begrenzn", "cache"},                            // several words, each misspelt
		{"ファイル文字化け", "unicode"},                                  // several words without blanks
		{"maxAttempts 2 receiver honour", "webhooks"},            // of two requests, and one more
	} {
		rank, noise, instead := s.rank(t, q.typed, q.want)
		if rank >= 1 && rank <= 3 {
			found++
		}
		g, err := New(q.typed, true, false)
		testenv.NoError(t, err)
		g.Tools = true
		lines, err := gathered(g, s.all)
		testenv.NoError(t, err)
		t.Logf("%-42s rank %d, noise %2d %v; grep: %d lines", q.typed, rank, noise, instead, len(lines))
		if rank != 1 || noise > 3 {
			t.Errorf("%q: %s is at %d, with %d others", q.typed, q.want, rank, noise)
		}
	}
	t.Logf("%d within the first three", found)
}

// Words that are everywhere do not outweigh the one that a person asks for.
func TestCommonWordsCountLittle(t *testing.T) {
	s := questionStore(t)
	dir := t.TempDir()
	s.add(t, dir, "claude", "drift", "", said{"you", "clock drift"}, said{"agent", "Bounded."})
	s.add(t, dir, "claude", "drifting", "", said{"you", "go on"}, said{"thinks", "No drift."}, said{"agent", "What is the use? The list is the same as what is there."})
	if rank, _, _ := s.rank(t, "what is the drift", "drift"); rank != 1 {
		t.Errorf("rank %d", rank)
	}
	// What no scan of a file's bytes found counts when it is read.
	r := &exchangeReader{search: newSearch(nil), Words: NewWords("drift clock"), has: make([]bool, 2)}
	if r.keepMatch(conversation.Entry{Kind: conversation.Prompt, Text: "clock drift"}); !r.has[0] || !r.has[1] {
		t.Errorf("%v", r.has)
	}
}

// A word that most conversations have is not half of what was asked for, also a corrected one
// and one that their lines have as a key. If it is missing, that is told.
func TestEverywhereIsNotEnough(t *testing.T) {
	s, dir := &store{}, t.TempDir()
	for i := range fewConversations + 1 {
		s.add(t, dir, "claude", "c"+strings.Repeat("-", i), "", said{"you", "please tidy up"}, said{"agent", "Done."}, said{"you", "and the parser"})
	}
	s.add(t, dir, "claude", "last", "", said{"you", "please mend the dirigible"}, said{"agent", "Mended."}, said{"you", "fill it"})
	for typed, want := range map[string]struct {
		found            int
		missing, instead string
	}{
		"please hovercraft":           {0, "", "map[]"},
		"please hovercraft dirigible": {1, "hovercraft", "map[]"},
		"please dirigible":            {1, "", "map[]"},
		"user hovercraft":             {0, "", "map[]"},
		"user dirigible":              {1, "user", "map[]"},
		"parzer hovercraft":           {0, "", "map[parzer:parser]"},
		"parzer dirigible":            {1, "parzer", "map[]"},
		"please tidy hovercraft":      {fewConversations + 1, "hovercraft", "map[]"}, // two of three
		"please parser":               {fewConversations + 1, "parser", "map[]"},     // of two requests
	} {
		found, instead, err := NewWords(typed).Search(s.all, make([]string, len(s.all)), func(int64, int64) {})
		testenv.NoError(t, err)
		missing := ""
		if len(found) > 0 {
			missing = strings.Join(found[0].Missing, " ")
		}
		if len(found) != want.found || missing != want.missing || fmt.Sprint(instead) != want.instead {
			t.Errorf("%s: %d found without %q, %v", typed, len(found), missing, instead)
		}
	}
}

// A word is told in place of the typed one if any of what was found has it.
func TestCorrectedWordThatSomeHave(t *testing.T) {
	s, dir := &store{}, t.TempDir()
	s.add(t, dir, "claude", "one", "", said{"you", "the zeppelin, the zeppelin"})
	s.add(t, dir, "claude", "two", "", said{"you", "an answer about nothing much in which the parser stands once, among others"})
	found, instead, err := NewWords("parzer zeppelin").Search(s.all, s.titles, func(int64, int64) {})
	testenv.NoError(t, err)
	if len(found) != 2 || fmt.Sprint(found[0].Missing, instead) != "[parser] map[parzer:parser]" {
		t.Errorf("%+v %v", found, instead)
	}
}

// A word that only a secret has is not named in place of the one that was typed.
func TestMissingWordIsTheTypedOne(t *testing.T) {
	s := &store{}
	s.add(t, t.TempDir(), "claude", "a", "", said{"you", "requests to billing with hunterseven fail"})
	q := NewWords("requests billing huntersevem")
	q.Clean = func(text string) string { return strings.ReplaceAll(text, "hunterseven", "***") }
	found, instead, err := q.Search(s.all, s.titles, func(int64, int64) {})
	testenv.NoError(t, err)
	if len(found) != 1 || fmt.Sprint(found[0].Missing) != "[huntersevem]" || len(instead) > 0 {
		t.Errorf("%+v %v", found, instead)
	}
}

// A word is found that was typed without its accents or umlauts, with one letter wrong, in any
// script.
func TestWordsAlike(t *testing.T) {
	s := &store{}
	dir := t.TempDir()
	s.add(t, dir, "claude", "many", "",
		said{"you", "Bitte prüfe die Größe der\nÜberschriften"}, said{"agent", "Die Schriftgröße ist 18px."},
		said{"you", "Le café cre\u0300me ne s’affiche pas"}, said{"you", "почини кнопку входа"}, said{"you", "bardzo łatwy"},
		said{"you", "İSTANBUL için İptal düğmesi"})
	for typed, turn := range map[string]int{
		"Groesse der Ueberschriften": 1, "grosse uberschriften": 1, "Überschrifetn": 1, "schriftgrösse": 1, "SCHRIFTGROESSE": 1, "schriftgrosze": 1,
		"cafe creme": 2, "créme afiche": 2, "кнопка входа": 3, "почнии": 3, "latwy": 4,
		"istanbul": 5, "İptal": 5, "iptal istanbul": 5,
		"caff": 0, "кнут": 0, "pax": 0, "ubersetzungen": 0, "groesser": 1, "bat": 0,
	} {
		found, instead, err := NewWords(typed).Search(s.all, s.titles, func(int64, int64) {})
		testenv.NoError(t, err)
		if turn == 0 && len(found) > 0 || turn > 0 && (len(found) == 0 || found[0].Turn != turn || len(found[0].Missing) > 0) {
			t.Errorf("%s: %+v %v", typed, found, instead)
		}
	}
}

// A word that occurs is not exchanged for one like it, also where no blanks are between words.
func TestWordThatOccursIsKept(t *testing.T) {
	for typed, texts := range map[string][2]string{
		"编译错误处理 zeppelin":       {"请修复解析器的编译错误处理问题，" + strings.Repeat("然后再检查一遍", 6), "编译错误处里 zeppelin"},
		"全文検索機能 zeppelin":       {"昨日の全文検索機能を直して", "全文検索器能 zeppelin"},
		"schluessel9 dirigible": {"schluessel9 fehlt", "schlüssel9 dirigible"},
	} {
		s := &store{}
		dir := t.TempDir()
		s.add(t, dir, "claude", "one", "", said{"you", texts[0]})
		s.add(t, dir, "claude", "two", "", said{"you", texts[1]})
		found, instead, err := NewWords(typed).Search(s.all, s.titles, func(int64, int64) {})
		testenv.NoError(t, err)
		if len(instead) > 0 {
			t.Errorf("%s: %+v %v", typed, found, instead)
		}
	}
}

// The plural of an identifier also finds the singular, joined or not.
func TestPluralOfIdentifier(t *testing.T) {
	s, dir := &store{}, t.TempDir()
	for i, text := range []string{"the endpoint hangs", "mend fetchUser", "one QueryBuilder", "close each open_tab", "the get-order call", "WebSocket closed", "endpointless"} {
		s.add(t, dir, "claude", "c"+strings.Repeat("-", i), "", said{"you", text})
	}
	for typed, want := range map[string]int{"EndPoints": 0, "fetchUsers": 1, "QueryBuilders": 2, "openTabs": 3, "getOrders": 4, "WebSockets": 5} {
		found, instead, err := NewWords(typed).Search(s.all, make([]string, len(s.all)), func(int64, int64) {})
		testenv.NoError(t, err)
		if len(found) != 1 || found[0].Index != want || len(instead) > 0 {
			t.Errorf("%s: %+v %v", typed, found, instead)
		}
	}
}
