package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// transcriptSize is what a day of work leaves.
const transcriptSize = 30 << 20

// compacted is how much comes between two compactions.
const compacted = 3 << 20

// The records of a transcript, with their keys in the order of Claude Code
// 2.1.197: a reader that is in a hurry goes by it.
type (
	request struct {
		Parent  string `json:"parentUuid"`
		Side    bool   `json:"isSidechain"`
		Type    string `json:"type"`
		Message struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"message"`
		Compact bool `json:"isCompactSummary,omitempty"`
		Result  any  `json:"toolUseResult,omitempty"`
		recordFields
	}
	answer struct {
		Parent  string `json:"parentUuid"`
		Side    bool   `json:"isSidechain"`
		Message struct {
			Model   string   `json:"model"`
			Role    string   `json:"role"`
			Content []object `json:"content"`
		} `json:"message"`
		Type string `json:"type"`
		recordFields
	}
	recordFields struct {
		UUID      string `json:"uuid"`
		Timestamp string `json:"timestamp"`
		CWD       string `json:"cwd"`
		SessionID string `json:"sessionId"`
		Version   string `json:"version"`
		GitBranch string `json:"gitBranch"`
	}
	toolResult struct {
		ID      string `json:"tool_use_id"`
		Type    string `json:"type"`
		Content string `json:"content"`
	}
)

// writer writes a transcript.
type writer struct {
	out     *bufio.Writer
	cwd     string
	size    int
	records int
}

func (w *writer) newRecordFields() recordFields {
	w.records++
	return recordFields{id(w.records), "2026-03-02T08:00:00.000Z", w.cwd, id(0), "2.1.197", "main"}
}

func (w *writer) put(record any) {
	line, err := json.Marshal(record)
	if err != nil {
		panic(err) // it is made of texts
	}
	w.out.Write(append(line, '\n')) // Flush tells of a failure
	w.size += len(line) + 1
}

func (w *writer) user(content, result any) {
	r := request{Parent: id(w.records), Type: "user", Result: result, recordFields: w.newRecordFields()}
	r.Message.Role, r.Message.Content = "user", content
	w.put(r)
}

// compact writes what a compaction leaves behind.
func (w *writer) compact() {
	r := request{Parent: id(w.records), Type: "user", Compact: true, recordFields: w.newRecordFields()}
	r.Message.Role, r.Message.Content = "user", "This session is being continued from a previous conversation.\n\nSummary:\n"+
		"1. Primary Request and Intent:\n   Settle each transfer exactly once.\n\n2. Files and Code Sections:\n"+code(100)
	w.put(r)
}

func (w *writer) assistant(block object) {
	a := answer{Parent: id(w.records), Type: "assistant", recordFields: w.newRecordFields()}
	a.Message.Model, a.Message.Role, a.Message.Content = "claude", "assistant", []object{block}
	w.put(a)
}

// use writes a tool's call and what came of it, which the client notes twice.
func (w *writer) use(tool string, input object, result string) {
	call := id(w.records)
	w.assistant(object{"type": "tool_use", "id": call, "name": tool, "input": input})
	w.user([]toolResult{{call, "tool_result", result}}, object{"stdout": result})
}

func code(lines int) string {
	return strings.Repeat("\tif err := settle(row); err != nil { return err }\n", lines)
}

// writeTranscript writes what the client keeps of a long session: requests,
// calls of tools with results of some hundred bytes to some hundred kilobytes,
// to-dos, answers, and a compaction now and then.
func (w *world) writeTranscript() error {
	if err := os.MkdirAll(filepath.Dir(w.transcript), 0o700); err != nil {
		return err
	}
	f, err := os.Create(w.transcript)
	if err != nil {
		return err
	}
	defer f.Close()
	t := &writer{out: bufio.NewWriterSize(f, 1<<20), cwd: w.repo}
	next := compacted / 2 // so that the last is not at the end
	for turn := 0; t.size < transcriptSize; turn++ {
		if t.size > next {
			next += compacted
			t.compact()
		}
		t.user(fmt.Sprintf("Request %d: settle each transfer exactly once.", turn), nil)
		for step := range 20 {
			path := fmt.Sprintf("%s/internal/d%d/sub%d/f%d.go", w.repo, step, step%7, turn)
			lines := 40 + turn*step%400
			if step == 0 && turn%20 == 7 {
				lines = 4000
			}
			switch step % 4 {
			case 0:
				t.use("Read", object{"file_path": path}, code(lines))
			case 1:
				t.use("Bash", object{"command": "go test ./..."}, code(lines/8))
			case 2:
				t.use("Edit", object{"file_path": path, "old_string": code(3), "new_string": code(5)}, "updated")
			default:
				t.use("TodoWrite", object{"todos": []object{{"content": fmt.Sprint("step ", turn), "status": "in_progress"}}}, "ok")
			}
		}
		t.assistant(object{"type": "text", "text": fmt.Sprintf("Answer %d: done. %s", turn, code(4))})
	}
	return t.out.Flush()
}
