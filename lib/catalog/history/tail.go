// Package history tells what a session's conversation says of it, whichever client
// kept it.
package history

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/conversation/transcript"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// wholly is how much of a conversation Tail reads from its beginning, in bytes.
// Of a longer one it looks at the end. A hook waits for it, in 16 MiB.
const wholly = 4 << 20

// Tail returns what a session's conversation says of it, as transcript.Tail does
// for Claude Code, whose files that one reads: from what any client keeps. What a
// successor is told does not depend on who kept it. A client that gt cannot read
// gives an empty Summary.
func Tail(client, path string, id session.ID, cwd string, clean func(string) string) (transcript.Summary, error) {
	if client == "claude" {
		return transcript.Tail(path, clean)
	}
	read := readers.Read(client)
	if read == nil {
		return transcript.Summary{}, nil
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = atomicfile.ErrNotRegular
	}
	if err != nil {
		return transcript.Summary{}, atomicfile.Error("read", path, err)
	}
	f := conversation.File{Client: client, Store: filepath.Dir(path), Path: path, ID: id, Size: info.Size(), Changed: info.ModTime().UnixNano()}
	var from int64
	if f.Size > wholly && client != "opencode" { // which has a database
		if from, err = lineAt(path, f.Size-wholly); err != nil {
			return transcript.Summary{}, err
		}
	}
	var first transcript.Request
	if from > 0 {
		_, err = read(f, conversation.Options{}, func(e conversation.Entry) bool {
			if e.Kind == conversation.Prompt {
				first = transcript.Request{Text: e.Text, Time: e.Time}
			}
			return e.Kind != conversation.Prompt && e.At < conversation.MaxFront
		})
		if err != nil {
			return transcript.Summary{}, err
		}
	}
	var g gathering
	if _, err = read(f, conversation.Options{From: from}, g.take); err != nil {
		return transcript.Summary{}, err
	}
	if from == 0 {
		first = g.first
	}
	return transcript.Sum(cwd, first, g.told, clean), nil
}

// Reads says whether Tail can read what a client keeps.
func Reads(client string) bool { return client == "claude" || readers.Read(client) != nil }

// lineAt is where the first line begins behind a place in a file.
func lineAt(path string, at int64) (int64, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := f.ReadAt(buf, at)
		if i := slices.Index(buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if at += int64(n); err == io.EOF {
			return at, nil
		} else if err != nil {
			return 0, atomicfile.Error("read", path, err)
		}
	}
}

// gathering are the last things of a conversation.
type gathering struct {
	first transcript.Request
	told  []transcript.Told
	open  []int // the calls without a result, places in told
	tools []string
}

// lately is how many of the last things are kept, at least.
const lately = 2000

func (g *gathering) take(e conversation.Entry) bool {
	switch e.Kind {
	case conversation.Prompt, conversation.Reply:
		q := transcript.Request{Text: e.Text, Time: e.Time, Reply: e.Kind == conversation.Reply}
		if g.first.Text == "" && !q.Reply {
			g.first = q
		}
		g.add(transcript.Told{Request: q})
	case conversation.Answer:
		g.add(transcript.Told{Answer: e.Text})
	case conversation.Summary:
		g.add(transcript.Told{Compacted: e.Text})
	case conversation.Call:
		g.call(e)
	case conversation.Result:
		g.result(e)
	}
	return true
}

func (g *gathering) add(t transcript.Told) {
	if len(g.told) == 2*lately {
		g.told = slices.Clone(g.told[lately:])
		g.open, g.tools = nil, nil
	}
	g.told = append(g.told, t)
}

func (g *gathering) call(e conversation.Entry) {
	t := transcript.Told{Tool: e.Tool}
	switch deedOf(e.Tool) {
	case command:
		t.Command, t.Files = e.Text, patched(e.Text)
	case list:
		t.Plan = plan(e.Text)
	case patch:
		t.Files = patched(e.Text)
	case edit:
		if path := argument(e.Text, "file_path", "path", "filePath", "absolute_path"); path != "" {
			t.Files = []string{path}
		}
	}
	g.add(t)
	g.open, g.tools = append(g.open, len(g.told)-1), append(g.tools, e.Tool)
}

// result gives what came of a call to the first that it can belong to.
func (g *gathering) result(e conversation.Entry) {
	i := 0
	if e.Tool != "" {
		i = max(0, slices.Index(g.tools, e.Tool))
	}
	if i >= len(g.open) {
		return
	}
	t := &g.told[g.open[i]]
	g.open, g.tools = slices.Delete(g.open, i, i+1), slices.Delete(g.tools, i, i+1)
	if e.Failed || t.Command != "" && exitCode(e.Text) > 0 {
		t.Failed = cmp.Or(strings.TrimSpace(e.Text), "failed")
	}
}

// deed is what a tool does, of those that tell most of the work.
type deed int

const (
	other deed = iota
	command
	edit
	patch
	list
)

// deedOf knows the tools by what the clients call them.
func deedOf(tool string) deed {
	switch tool[strings.LastIndexByte(tool, '.')+1:] { // behind Codex's namespace
	case "shell", "shell_command", "exec_command", "local_shell", "run_shell_command", "bash", "powershell":
		return command
	case "write_file", "replace", "edit", "edit_file", "write", "create", "str_replace", "str_replace_editor", "insert", "multiedit":
		return edit
	case "apply_patch", "patch":
		return patch
	case "update_plan", "write_todos", "todo_write", "todowrite", "update_todo":
		return list
	}
	return other
}

// argument is the first of these arguments in a call's text; see arguments.
func argument(text string, names ...string) string {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if slices.Contains(names, name) && filepath.Base(value) != "." {
			return strings.Clone(value)
		}
	}
	return ""
}

// patched are the files of a patch as Codex's apply_patch takes it.
func patched(text string) []string {
	if !strings.Contains(text, "*** Begin Patch") {
		return nil
	}
	var files []string
	for line := range strings.Lines(text) {
		for _, what := range []string{"*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(line, what); ok {
				files = append(files, strings.Clone(strings.TrimSpace(path)))
			}
		}
	}
	slices.Reverse(files) // the last one first, as Summary.Files has them
	return files
}

// plan is the list of a call that writes all of it: as JSON, or in Markdown.
func plan(text string) []transcript.Todo {
	var all []transcript.Todo
	if i := strings.IndexByte(text, '['); i >= 0 && !strings.Contains(text, "- [") {
		gjson.Parse(text[i:]).ForEach(func(_, item gjson.Result) bool {
			said := cmp.Or(item.Get("content").Str, item.Get("step").Str, item.Get("description").Str, item.Get("title").Str)
			if said != "" {
				all = append(all, transcript.Todo{Text: strings.Clone(said), Status: status(item.Get("status").Str)})
			}
			return true
		})
		return all
	}
	for line := range strings.Lines(text) {
		_, item, ok := strings.Cut(line, "- [")
		if mark, said, closed := strings.Cut(item, "] "); ok && closed {
			state := "pending"
			if strings.EqualFold(strings.TrimSpace(mark), "x") {
				state = "completed"
			}
			all = append(all, transcript.Todo{Text: strings.Clone(strings.TrimSpace(said)), Status: state})
		}
	}
	return all
}

// status is an item's in Claude Code's words.
func status(s string) string {
	switch s {
	case "completed", "done":
		return "completed"
	case "cancelled", "deleted":
		return "deleted"
	case "in_progress":
		return s
	}
	return "pending"
}

// exitCode is the code that a shell's command ended with, where its result says
// one in its first or last words: "Process exited with code 1", "Exit Code: 1",
// "<exited with exit code 1>".
func exitCode(text string) int {
	const near = 300
	lower := strings.ToLower(text)
	for _, part := range []string{lower[:min(len(lower), near)], lower[max(0, len(lower)-near):]} {
		for _, words := range []string{"exit code: ", "exit code ", "exited with code "} {
			_, after, found := strings.Cut(part, words)
			if !found {
				continue
			}
			n := 0
			for n < len(after) && after[n] >= '0' && after[n] <= '9' {
				n++
			}
			if code, err := strconv.Atoi(after[:n]); err == nil {
				return code
			}
		}
	}
	return 0
}
