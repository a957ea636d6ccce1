package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What is looked for: rare is said in a few conversations, common in most, and
// own is a word that stands in every file, and that nobody said.
const (
	rare         = "quiescence"
	rareFiles    = 7
	common       = "settlement"
	fileOnlyWord = "dataviz"
)

// chunks is how many different pieces conversations are made of, chunkSize how
// long each of them is at least.
const (
	chunks    = 64
	chunkSize = 128 << 10
)

// newStore writes so many transcripts as Claude Code 2.1.329 leaves them, of some
// size bytes altogether: what the client notes for itself (snapshots of its prompt,
// the shape of its requests) makes most of a short one, the results of tools most
// of a long one.
func newStore(dir string, files int, size int64) error {
	r := rand.New(rand.NewPCG(1, 2))
	say := &speaker{r}
	var pool [][]byte
	for range chunks {
		pool = append(pool, say.chunk(chunkSize))
	}
	front := say.front()
	began := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	for i := range files {
		project := fmt.Sprintf("-home-me-src-project-%d", i%40)
		folder := filepath.Join(dir, ".claude", "projects", project)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", r.Uint32(), i)
		// Many are short, a few long: the size is that of an average one times -ln x.
		n := int(r.ExpFloat64()*float64(size)/float64(files)) - len(front)
		f, err := os.OpenFile(filepath.Join(folder, id+".jsonl"), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		w := bufio.NewWriterSize(f, 64<<10)
		at := began.Add(time.Duration(i) * 37 * time.Minute)
		say.begin(w, id, fmt.Sprintf("/home/me/src/project-%d", i%40), at, i)
		w.Write(front)
		for n > 0 {
			c := pool[r.IntN(len(pool))]
			w.Write(c)
			n -= len(c)
		}
		if i%(files/rareFiles+1) == 3 {
			line := say.line(say.answer(say.text(40) + " until " + rare + " is reached " + say.text(20)))
			w.Write(line)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if err := os.Chtimes(f.Name(), at, at); err != nil {
			return err
		}
	}
	return nil
}

// speaker makes words.
type speaker struct{ *rand.Rand }

type object = map[string]any

var stems = strings.Fields(`the a of to and in is that for with this it be as on are was not from by an or
	have at which you can will file function error test return value when transfer ledger account row table
	query request server client handler context cancel deadline retry connection refused schema migration
	index cache write read lock thread worker queue message event state session token user password config
	because should would could there where after before while until between parser encoder stream buffer
	record column branch commit merge rebase review change update remove insert select transaction`)

func (s *speaker) text(words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(" \n"[min(s.IntN(14)/13, 1)])
		}
		b.WriteString(stems[s.IntN(len(stems))])
		switch s.IntN(24) {
		case 0:
			fmt.Fprintf(&b, "_%s(%d)", stems[s.IntN(len(stems))], s.IntN(1000))
		case 1:
			b.WriteByte('.')
		case 2:
			fmt.Fprintf(&b, " \"%s/%s.go\"", stems[s.IntN(len(stems))], stems[s.IntN(len(stems))])
		}
	}
	return b.String()
}

func (s *speaker) code(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%6d\t%sif err := %s.%s(ctx, %q, %d); err != nil {\n", i, strings.Repeat("\t", s.IntN(4)),
			stems[s.IntN(len(stems))], stems[s.IntN(len(stems))], stems[s.IntN(len(stems))], s.IntN(100))
	}
	return b.String()
}

func (s *speaker) id() string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", s.Uint32(), s.Uint32()>>16, s.Uint32()>>20, s.Uint32()>>20, s.Uint64()>>16)
}

func (s *speaker) base64(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[s.IntN(len(letters))]
	}
	return string(b)
}

// record is a record of a message, with its keys in the client's order.
type record struct {
	Parent     string `json:"parentUuid"`
	Side       bool   `json:"isSidechain"`
	Attachment any    `json:"attachment,omitempty"`
	Prompt     string `json:"promptId,omitempty"`
	Asked      string `json:"type,omitempty"`
	Message    any    `json:"message,omitempty"`
	Result     any    `json:"toolUseResult,omitempty"`
	UUID       string `json:"uuid"`
	Time       string `json:"timestamp"`
	Kind       string `json:"userType"`
	Entry      string `json:"entrypoint"`
	CWD        string `json:"cwd"`
	Session    string `json:"sessionId"`
	Version    string `json:"version"`
	Branch     string `json:"gitBranch"`
}

type asked struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type said struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Role    string `json:"role"`
	Model   string `json:"model"`
	Content any    `json:"content"`
	Usage   any    `json:"usage"`
}

func (s *speaker) record() record {
	return record{
		Parent: s.id(), UUID: s.id(), Time: "2026-03-02T08:00:00.000Z", Kind: "external", Entry: "cli",
		CWD: "/home/me/src/project", Session: s.id(), Version: "2.1.329", Branch: "main",
	}
}

func (s *speaker) line(v any) []byte {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of texts
	}
	return append(line, '\n')
}

func (s *speaker) prompt(text string) record {
	r := s.record()
	r.Prompt, r.Asked, r.Message = s.id(), "user", asked{"user", text}
	return r
}

func (s *speaker) assistant(block object) record {
	r := s.record()
	r.Message = said{"msg_" + s.base64(20), "message", "assistant", "claude", []object{block},
		object{"input_tokens": s.IntN(9), "cache_read_input_tokens": s.IntN(90000), "output_tokens": s.IntN(900)}}
	r.Asked = "assistant"
	return r
}

func (s *speaker) answer(text string) record {
	return s.assistant(object{"type": "text", "text": text})
}

func (s *speaker) use(tool string, input object, content any, result any) []byte {
	id := "toolu_" + s.base64(20)
	out := s.line(s.assistant(object{"type": "tool_use", "id": id, "name": tool, "input": input}))
	r := s.record()
	r.Asked, r.Result = "user", result
	r.Message = asked{"user", []struct {
		ID      string `json:"tool_use_id"`
		Type    string `json:"type"`
		Content any    `json:"content"`
	}{{id, "tool_result", content}}}
	return append(out, s.line(r)...)
}

func (s *speaker) attachment(kind string, more object) []byte {
	r := s.record()
	r.Attachment, r.Asked = json.RawMessage(fmt.Sprintf(`{"type":%q,%s`, kind, s.line(more)[1:])), "attachment"
	return s.line(r)
}

// chunk is a piece of work of some turns.
func (s *speaker) chunk(size int) (all []byte) {
	for len(all) < size {
		ask := s.text(10 + s.IntN(80))
		if s.IntN(4) == 0 {
			ask += " the " + common + " of it"
		}
		all = append(all, s.line(s.prompt(ask))...)
		for range 1 + s.IntN(12) {
			path := "/home/me/src/project/internal/" + stems[s.IntN(len(stems))] + ".go"
			switch s.IntN(9) {
			case 0, 1, 2:
				text := s.code(10 + s.IntN(150))
				all = append(all, s.use("Read", object{"file_path": path}, text, object{"type": "text", "file": object{"filePath": path, "content": text}})...)
			case 3, 4:
				text := s.text(10 + s.IntN(200))
				all = append(all, s.use("Bash", object{"command": "go test ./" + stems[s.IntN(len(stems))]}, text, object{"stdout": text, "stderr": "", "interrupted": false})...)
			case 5, 6:
				all = append(all, s.use("Edit", object{"file_path": path, "old_string": s.code(2), "new_string": s.code(4)}, "updated "+path, object{"filePath": path})...)
			case 7:
				all = append(all, s.line(s.answer(s.text(20+s.IntN(60))))...)
			case 8:
				if s.IntN(8) == 0 {
					pic := s.base64(60 << 10)
					all = append(all, s.use("Read", object{"file_path": path + ".png"}, []object{{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": pic}}}, object{"type": "image"})...)
				}
			}
		}
		all = append(all, s.line(s.answer(s.text(40+s.IntN(120))))...)
		all = append(all, fmt.Sprintf(`{"type":"last-prompt","lastPrompt":%q,"leafUuid":%q,"sessionId":%q}`+"\n", "more", s.id(), s.id())...)
		if s.IntN(3) == 0 {
			all = append(all, s.attachment("prompt_snapshot", object{"systemPrompt": []string{s.text(6000)}})...)
		}
	}
	return all
}

// front is what the client notes at every start: its own words.
func (s *speaker) front() (all []byte) {
	all = append(all, s.attachment("environment", object{"snapshot": object{"workingDirectory": "/home/me/src/project", "isGitRepo": true}})...)
	all = append(all, s.attachment("skill_listing", object{"content": "- " + fileOnlyWord + ": Use this skill whenever " + s.text(2000)})...)
	all = append(all, s.attachment("prompt_snapshot", object{"systemPrompt": []string{s.text(1200), s.text(6000)}})...)
	shape, _ := json.Marshal(s.text(6000)) // a text
	all = append(all, fmt.Sprintf(`{"type":"api-request-shape","sessionId":%q,"tools":%s}`+"\n", s.id(), shape)...)
	return all
}

// begin writes what tells one conversation from the other.
func (s *speaker) begin(w *bufio.Writer, id, cwd string, at time.Time, n int) {
	r := s.prompt(fmt.Sprintf("Task %d: %s", n, s.text(20)))
	r.CWD, r.Session, r.Time = cwd, id, at.Format("2006-01-02T15:04:05.000Z")
	title := fmt.Sprintf(`{"type":"ai-title","aiTitle":"Task %d","sessionId":%q}`+"\n", n, id)
	w.Write(s.line(r))
	w.WriteString(title)
}
