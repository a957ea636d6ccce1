package claude

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

// giveSummaryEntries gives the entries of a record that only a summary needs.
func (r *records) giveSummaryEntries(e conversation.Entry, rec record) {
	give := func(kind conversation.Kind, text string) {
		e.Kind, e.Text = kind, text
		r.Give(e)
	}
	if !r.folder && rec.cwd != "" {
		r.folder = true
		give(conversation.Folder, rec.cwd)
	}
	switch {
	case rec.Kind == "custom-title" || rec.Kind == "ai-title":
		if !rec.isOfAnother(r.id) {
			e.Generated = rec.Kind == "ai-title"
			give(conversation.Title, rec.title)
		}
	case rec.Kind == "file-history-snapshot":
		give(conversation.Tracked, trackedFiles(rec.snapshot))
	case rec.Kind == "api-request":
		// The request of a turn says whether the window is that of a million tokens.
		if q := rec.query; q == "sdk" || strings.HasPrefix(q, "repl_main_thread") {
			if e.Size = 0; strings.Contains(rec.params.Get("betas").Raw, `"context-1m-`) {
				e.Size = 1_000_000
			}
			give(conversation.Window, "")
		}
	case rec.Kind == "attachment" && !rec.Sidechain && tellsTokens(rec.attachment.Get("type").Str):
		e.Size, e.ClientWarns = conversation.TokenCount(rec.attachment.Get("total")), true
		give(conversation.Window, "")
	case rec.Hidden:
	case rec.Kind == "attachment":
		switch a := rec.attachment; a.Get("type").Str {
		case "todo_reminder":
			r.giveTodoList(e, conversation.WholeList, a.Get("content"))
		case "task_reminder":
			r.giveTodoList(e, conversation.AllTasks, a.Get("content"))
		}
	case rec.Kind == "user" && !rec.Compacted:
		r.giveTask(e, rec)
	}
}

// tellsTokens reports whether an attachment of that type tells the agent how full its
// context is. People can switch that on.
func tellsTokens(kind string) bool { return kind == "token_usage" || kind == "total_tokens_reminder" }

// trackedFiles returns the files that the client saw change since the session began, from a
// snapshot. The last snapshot has all of them.
func trackedFiles(snapshot gjson.Result) string {
	var all string
	snapshot.Get("trackedFileBackups").ForEach(func(path, _ gjson.Result) bool {
		all = path.Str + "\n" + all
		return len(all) < maxTracked
	})
	return all
}

// maxTracked limits the length of those names, in bytes.
const maxTracked = 64 << 10

// giveTask gives the to-do items in the structured result of a task tool. Results of other
// tools have none of these keys.
//
// The client has two kinds of to-do lists. TodoWrite takes the whole list each time.
// TaskCreate, TaskUpdate and TaskList change and show single tasks. The client also keeps
// those in files of its own, which take precedence.
func (r *records) giveTask(e conversation.Entry, rec record) {
	// The key comes first, and other results are long.
	if !strings.Contains(rec.result.Raw[:min(len(rec.result.Raw), 64)], `"task`) {
		return
	}
	result := rec.result
	succeeded := slices.ContainsFunc(rec.Message.blocks, func(b block) bool { return b.callID() != "" && !b.failed() })
	single := result.Get("task")
	id := result.Get("taskId").Str
	switch {
	case !succeeded:
	case single.IsObject(): // TaskCreate, TaskGet
		r.giveTodos(e, conversation.SomeTasks, []conversation.Todo{parseTodo(single)})
	case id != "": // TaskUpdate
		r.giveTodos(e, conversation.SomeTasks, []conversation.Todo{{ID: id, Status: result.Get("statusChange.to").Str}})
	default: // TaskList
		r.giveTodoList(e, conversation.AllTasks, result.Get("tasks"))
	}
}

// maxTasks limits the items of a list, maxTask the size of a task's file in bytes.
const (
	maxTasks = 200
	maxTask  = 64 << 10
)

func (r *records) giveTodoList(e conversation.Entry, scope conversation.TodoScope, all gjson.Result) {
	if !all.IsArray() {
		return
	}
	var items []conversation.Todo
	all.ForEach(func(_, t gjson.Result) bool {
		items = append(items, parseTodo(t))
		return len(items) < maxTasks
	})
	r.giveTodos(e, scope, items)
}

func (r *records) giveTodos(e conversation.Entry, scope conversation.TodoScope, items []conversation.Todo) {
	e.Kind, e.Text, e.Todos = conversation.TodoList, "", &conversation.Todos{Scope: scope, Items: items}
	r.Give(e)
}

func parseTodo(t gjson.Result) conversation.Todo {
	return conversation.Todo{
		ID: t.Get("id").Str, Status: t.Get("status").Str,
		Text: cmp.Or(t.Get("subject").Str, t.Get("content").Str),
	}
}

// readTasks reads a session's task files. For <root>/projects/<folder>/<id>.jsonl they
// are in <root>/tasks/<id>/. It returns nothing for a transcript elsewhere.
func readTasks(path string) []conversation.Todo {
	id, ok := strings.CutSuffix(filepath.Base(path), ".jsonl")
	projects := filepath.Dir(filepath.Dir(path))
	if !ok || id == "" || filepath.Base(projects) != "projects" {
		return nil
	}
	dir := filepath.Join(filepath.Dir(projects), "tasks", id)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // an older client, or no task yet
	}
	var all []conversation.Todo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") || len(all) == maxTasks {
			continue
		}
		data, err := atomicfile.Read(filepath.Join(dir, e.Name()), maxTask)
		if err != nil || !gjson.ValidBytes(data) {
			continue // it is being written
		}
		t := gjson.ParseBytes(data)
		if t.Get("subject").Str == "" || t.Get("metadata._internal").Exists() {
			continue // the client's own task
		}
		all = append(all, parseTodo(t))
	}
	return all
}
