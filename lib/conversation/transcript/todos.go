package transcript

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// todoList gathers the agent's list of things to do. The client has had two
// forms of it. TodoWrite takes the whole list each time. TaskCreate, TaskUpdate
// and TaskList change and show single tasks, which the client also keeps in
// files of its own; those are the truth where they are there.
//
// Like everything in reader it comes the last first: what is known of a task
// already is newer.
type todoList struct {
	filed []todo // the client's files
	items []todo // the last whole list of the old form
	whole bool   // the last list of the old form was seen

	tasks    []todo // the new form
	complete bool   // all tasks are known, and what comes next is older
}

// todo is an item of a list. Of a task that is only partly in what was read
// some fields are empty.
type todo struct{ id, text, status string }

var todoWrite = []byte("TodoWrite")

// any says whether anything is known of a list.
func (l *todoList) any() bool {
	return l.whole || l.complete || len(l.filed) > 0 || len(l.tasks) > 0
}

// todos returns the list, as far as it is known.
func (l *todoList) todos() []todo {
	switch {
	case len(l.filed) > 0:
		return l.filed
	case len(l.tasks) == 0:
		return l.items
	}
	sortByNumber(l.tasks)
	for i, t := range l.tasks {
		l.tasks[i].text = firstOf(t.text, "task "+t.id)
		l.tasks[i].status = firstOf(t.status, "pending")
	}
	return l.tasks
}

// sortByNumber puts tasks in the order in which they were made. (Package slices
// would be a copy of its own for them, in hooks that have to be small.)
func sortByNumber(all []todo) {
	sort.Slice(all, func(i, j int) bool {
		x, _ := strconv.Atoi(all[i].id)
		y, _ := strconv.Atoi(all[j].id)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(all[i].id, all[j].id)) < 0
	})
}

// written takes in a list of the old form.
func (l *todoList) written(todos gjson.Result) {
	if l.whole || !todos.IsArray() {
		return
	}
	l.whole = true
	todos.ForEach(func(_, t gjson.Result) bool {
		l.items = append(l.items, todo{
			text: strings.Clone(t.Get("content").Str), status: strings.Clone(t.Get("status").Str),
		})
		return len(l.items) < maxTasks
	})
}

// task takes in the structured result of a task tool; of another tool it has
// none of these keys.
func (l *todoList) task(result gjson.Result) {
	// The key stands at the front, and other results are long.
	if l.complete || len(l.filed) > 0 || !strings.Contains(result.Raw[:min(len(result.Raw), 64)], `"task`) {
		return
	}
	if one := result.Get("task"); one.IsObject() { // TaskCreate, TaskGet
		l.learn(one)
		return
	}
	if id := result.Get("taskId").Str; id != "" { // TaskUpdate
		l.note(todo{id: id, status: result.Get("statusChange.to").Str})
		return
	}
	l.tasksAt(result.Get("tasks")) // TaskList
}

// tasksAt takes in all tasks as they were at one time.
func (l *todoList) tasksAt(all gjson.Result) {
	if l.complete || !all.IsArray() {
		return
	}
	all.ForEach(func(_, t gjson.Result) bool {
		l.learn(t)
		return true
	})
	l.complete = true
}

// reminder takes in the list that the client shows the agent from time to
// time.
func (l *todoList) reminder(attachment gjson.Result) {
	switch attachment.Get("type").Str {
	case "todo_reminder":
		l.written(attachment.Get("content"))
	case "task_reminder":
		l.tasksAt(attachment.Get("content"))
	}
}

func (l *todoList) learn(t gjson.Result) {
	l.note(todo{id: t.Get("id").Str, text: t.Get("subject").Str, status: t.Get("status").Str})
}

// note adds to what is known of a task, all of which is newer.
func (l *todoList) note(t todo) {
	if t.id == "" {
		return
	}
	t = todo{strings.Clone(t.id), strings.Clone(t.text), strings.Clone(t.status)}
	i := slices.IndexFunc(l.tasks, func(o todo) bool { return o.id == t.id })
	switch {
	case i >= 0:
		known := &l.tasks[i]
		known.text, known.status = firstOf(known.text, t.text), firstOf(known.status, t.status)
	case len(l.tasks) < maxTasks:
		l.tasks = append(l.tasks, t)
	}
}

// maxTasks bounds how many items of a list are looked at, and maxTask the size
// of a task's file.
const (
	maxTasks = 200
	maxTask  = 64 << 10
)

// readTasks reads the files in which the client keeps a session's tasks: of
// <root>/projects/<folder>/<id>.jsonl those in <root>/tasks/<id>/. It finds
// none where the transcript lies elsewhere.
func readTasks(path string) []todo {
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
	var all []todo
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
		all = append(all, todo{t.Get("id").Str, t.Get("subject").Str, t.Get("status").Str})
	}
	sortByNumber(all)
	return all
}
