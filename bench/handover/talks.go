package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// transcript is a conversation of Claude Code in its file.
type transcript struct {
	*writer
	file *os.File
}

func newTranscript(w *writer, home string) (talk, error) {
	file, err := conversationFile(filepath.Join(home, ".claude", "projects", slug(w.cwd), w.session+".jsonl"))
	if err != nil {
		return nil, err
	}
	w.w = bufio.NewWriter(file)
	return &transcript{w, file}, nil
}

func (t *transcript) plan(all []todo) {
	var list []object
	for _, i := range all {
		list = append(list, object{"content": i.text, "status": i.status, "activeForm": i.text})
	}
	t.use("TodoWrite", object{"todos": list}, "Todos have been modified successfully.", false, object{"newTodos": list})
}

func (t *transcript) path() string { return t.file.Name() }
func (t *transcript) save() error  { return t.w.Flush() }

// rollout is a conversation of Codex in its file, as 0.169 writes it; the writer has the
// words.
type rollout struct {
	*writer
	file *os.File
}

func newRollout(w *writer, home string) (talk, error) {
	file, err := conversationFile(filepath.Join(home, ".codex", "sessions", w.now.Format("2006/01/02"), "rollout-"+w.now.Format("2006-01-02T15-04-05")+"-"+w.session+".jsonl"))
	if err != nil {
		return nil, err
	}
	w.w = bufio.NewWriter(file)
	r := &rollout{w, file}
	r.record("session_meta", object{"session_id": w.session, "id": w.session, "timestamp": w.common().Timestamp, "cwd": w.cwd, "originator": "codex-tui", "cli_version": "0.169.0"})
	return r, nil
}

func (r *rollout) record(kind string, payload object) {
	r.put(struct {
		Timestamp string `json:"timestamp"`
		Type      string `json:"type"`
		Payload   object `json:"payload"`
	}{r.common().Timestamp, kind, payload})
}

func (r *rollout) message(role, kind, text, part string) {
	r.record("response_item", object{
		"type": "message", "id": "msg_" + r.uuid(), "role": role, "content": []object{{"type": kind, "text": text}},
		"internal_chat_message_metadata_passthrough": object{"content_item_kinds": []string{part}},
	})
}

func (r *rollout) asks(text string) {
	r.record("event_msg", object{"type": "task_started", "turn_id": r.uuid()})
	r.message("user", "input_text", text, "user.text")
}

func (r *rollout) says(text, stop string) {
	r.message("assistant", "output_text", text, "unknown")
	if stop == "end_turn" {
		r.record("event_msg", object{"type": "task_complete", "last_agent_message": text})
	}
}

func (r *rollout) call(name string, arguments object, output string) {
	r.uses++
	id := fmt.Sprintf("call_%06d", r.uses)
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	r.record("response_item", object{"type": "function_call", "name": name, "arguments": string(data), "call_id": id})
	r.record("response_item", object{"type": "function_call_output", "call_id": id, "output": output})
}

func (r *rollout) bash(command, out string, _ bool) {
	r.call("exec_command", object{"cmd": command}, "Chunk ID: a5be8c\nProcess exited with code 0\nOutput:\n"+out)
}

func (r *rollout) work(steps int) {
	for range steps {
		command, out := "go test ./internal/"+r.word()+"/...", "ok  \tledger/internal\t0.4s\n"+r.prose(r.rand.IntN(200))
		if r.rand.IntN(2) == 0 {
			command, out = "cat internal/"+r.word()+"/"+r.word()+".go", r.code(50+r.rand.IntN(200))
		}
		r.bash(command, out, false)
	}
}

func (r *rollout) plan(all []todo) {
	var list []object
	for _, i := range all {
		list = append(list, object{"step": i.text, "status": i.status})
	}
	r.call("update_plan", object{"plan": list}, "Plan updated")
}

func (r *rollout) compact(summary string) {
	r.record("compacted", object{"message": summary})
}

func (r *rollout) path() string { return r.file.Name() }
func (r *rollout) save() error  { return r.w.Flush() }

// conversationFile makes the file of a conversation.
func conversationFile(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}
