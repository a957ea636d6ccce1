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

// aside gives what only a summary needs of a record.
func (r *records) aside(e conversation.Entry, rec record) bool {
	give := func(kind conversation.Kind, text string) bool {
		e.Kind, e.Text = kind, text
		return r.each(e)
	}
	if !r.folder {
		cwd := rec.cwd.String()
		if r.folder = cwd != ""; r.folder && !give(conversation.Folder, cwd) {
			return false
		}
	}
	switch {
	case rec.Kind == "custom-title" || rec.Kind == "ai-title":
		e.Generated = rec.Kind == "ai-title"
		return give(conversation.Title, rec.title.String())
	case rec.Kind == "file-history-snapshot":
		return give(conversation.Tracked, tracked(rec.snapshot.whole()))
	case rec.Kind == "api-request":
		if q := rec.query.String(); q == "sdk" || strings.HasPrefix(q, "repl_main_thread") {
			if e.Size = 0; strings.Contains(rec.params.get("betas").Raw, `"context-1m-`) {
				e.Size = 1_000_000
			}
			return give(conversation.Window, "")
		}
	case rec.Kind == "attachment" && !rec.Sidechain && tellsTokens(rec.attachment.get("type").Str):
		e.Size, e.ClientWarns = conversation.TokenCount(rec.attachment.get("total")), true
		return give(conversation.Window, "")
	case rec.Hidden:
	case rec.Kind == "attachment":
		switch a := rec.attachment.whole(); a.Get("type").Str {
		case "todo_reminder":
			return r.todos(e, conversation.WholeList, a.Get("content"))
		case "task_reminder":
			return r.todos(e, conversation.AllTasks, a.Get("content"))
		}
	case rec.Kind == "user" && !rec.Compacted:
		return r.task(e, rec)
	}
	return true
}

// tellsTokens reports whether the client tells the agent by an attachment of that type how
// full its context is, which people can switch on.
func tellsTokens(kind string) bool { return kind == "token_usage" || kind == "total_tokens_reminder" }

// tracked are the files that the client has seen changed since the session began,
// which it says in a snapshot. The last snapshot has them all.
func tracked(snapshot gjson.Result) string {
	var all string
	snapshot.Get("trackedFileBackups").ForEach(func(path, _ gjson.Result) bool {
		all = path.Str + "\n" + all
		return len(all) < maxTracked
	})
	return all
}

// maxTracked bounds the names of those files, of which far fewer are told.
const maxTracked = 64 << 10

// task gives what the structured result of a task tool says; of another tool it has
// none of these keys.
//
// The client has had two forms of the agent's list of things to do. TodoWrite takes
// the whole list each time. TaskCreate, TaskUpdate and TaskList change and show
// single tasks, which the client also keeps in files of its own; those are the truth
// where they are there.
func (r *records) task(e conversation.Entry, rec record) bool {
	// The key stands at the front, and other results are long.
	if !strings.Contains(string(rec.result[:min(len(rec.result), 64)]), `"task`) {
		return true
	}
	result := rec.result.whole()
	told := slices.ContainsFunc(rec.Message.blocks, func(b block) bool { return b.callID.String() != "" && !b.Failed })
	one := result.Get("task")
	id := result.Get("taskId").Str
	switch {
	case !told:
		return true
	case one.IsObject(): // TaskCreate, TaskGet
		return r.give(e, conversation.SomeTasks, []conversation.Todo{todo(one)})
	case id != "": // TaskUpdate
		return r.give(e, conversation.SomeTasks, []conversation.Todo{{ID: id, Status: result.Get("statusChange.to").Str}})
	}
	return r.todos(e, conversation.AllTasks, result.Get("tasks")) // TaskList
}

// maxTasks bounds how many items of a list are looked at, and maxTask the size
// of a task's file.
const (
	maxTasks = 200
	maxTask  = 64 << 10
)

// todos gives the items of a list.
func (r *records) todos(e conversation.Entry, scope conversation.TodoScope, all gjson.Result) bool {
	if !all.IsArray() {
		return true
	}
	var items []conversation.Todo
	all.ForEach(func(_, t gjson.Result) bool {
		items = append(items, todo(t))
		return len(items) < maxTasks
	})
	return r.give(e, scope, items)
}

func (r *records) give(e conversation.Entry, scope conversation.TodoScope, items []conversation.Todo) bool {
	e.Kind, e.Text, e.Todos = conversation.TodoList, "", &conversation.Todos{Scope: scope, Items: items}
	return r.each(e)
}

// todo is an item of a list in either form.
func todo(t gjson.Result) conversation.Todo {
	return conversation.Todo{
		ID: t.Get("id").Str, Status: t.Get("status").Str,
		Text: cmp.Or(t.Get("subject").Str, t.Get("content").Str),
	}
}

// readTasks reads the files in which the client keeps a session's tasks: of
// <root>/projects/<folder>/<id>.jsonl those in <root>/tasks/<id>/. It finds
// none where the transcript lies elsewhere.
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
			continue // the client's own
		}
		all = append(all, todo(t))
	}
	return all
}
