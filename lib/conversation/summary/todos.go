package summary

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gt/lib/conversation"
)

// applyTodos updates the to-dos by what one entry says. Some clients write the whole list each
// time, others one task; Scope says which.
func (f *Fold) applyTodos(t *conversation.Todos) {
	if t == nil {
		return
	}
	switch t.Scope {
	case conversation.WholeList:
		f.todoItems = append([]conversation.Todo{}, t.Items...) // an empty list counts, too
	case conversation.AllTasks:
		f.Tasks = f.cleanItems(t.Items)
	case conversation.SomeTasks:
		for _, item := range f.cleanItems(t.Items) {
			f.updateTask(item)
		}
	case conversation.TaskFiles:
		f.TaskFiles = f.cleanItems(t.Items)
	}
}

func (f *Fold) cleanItems(all []conversation.Todo) []conversation.Todo {
	kept := make([]conversation.Todo, 0, min(len(all), maxTasks))
	for _, t := range all[:min(len(all), maxTasks)] {
		kept = append(kept, conversation.Todo{ID: f.cleanLine(t.ID, maxID), Text: f.cleanLine(t.Text, todoLength), Status: status(t.Status)})
	}
	return kept
}

// updateTask updates a task. Empty fields mean no change.
func (f *Fold) updateTask(t conversation.Todo) {
	if t.ID == "" {
		return
	}
	if i := slices.IndexFunc(f.Tasks, func(known conversation.Todo) bool { return known.ID == t.ID }); i >= 0 {
		known := &f.Tasks[i]
		known.Text, known.Status = cmp.Or(t.Text, known.Text), cmp.Or(t.Status, known.Status)
		return
	}
	if len(f.Tasks) >= maxTasks { // finished tasks go first
		i := max(0, slices.IndexFunc(f.Tasks, func(t conversation.Todo) bool { return t.Status == "completed" || t.Status == "deleted" }))
		f.Tasks = slices.Delete(f.Tasks, i, i+1)
	}
	f.Tasks = append(f.Tasks, t)
}

// todoList returns the agent's list: the client's own files count before the tasks that the agent
// set one by one, and these before the list that it wrote whole.
func (f *Fold) todoList() []conversation.Todo {
	switch {
	case len(f.TaskFiles) > 0:
		return byNumber(f.TaskFiles)
	case len(f.Tasks) > 0:
		return byNumber(f.Tasks)
	}
	return f.List
}

// byNumber sorts tasks by when they were made.
func byNumber(all []conversation.Todo) []conversation.Todo {
	all = slices.Clone(all)
	sort.SliceStable(all, func(i, j int) bool {
		x, _ := strconv.Atoi(all[i].ID)
		y, _ := strconv.Atoi(all[j].ID)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(all[i].ID, all[j].ID)) < 0
	})
	return all
}

// status returns an item's status in Claude Code's terms. Empty stays empty, because it
// means no change.
func status(s string) string {
	switch s {
	case "completed", "done":
		return "completed"
	case "cancelled", "deleted":
		return "deleted"
	case "in_progress", "":
		return s
	}
	return "pending"
}

// cutSections shortens each section of a summary: the first has the request, the last the
// open tasks, and those in between have pages of code. It does not change a summary
// without sections.
func cutSections(s string) string {
	var parts []string
	start := 0
	cut := func(end int) {
		part := strings.TrimSpace(s[start:end])
		if part != "" && !omitted(part) {
			parts = append(parts, Cut(part, sectionLength))
		}
		start = end
	}
	i := 0
	for line := range strings.Lines(s) {
		if isHeading(strings.TrimSuffix(line, "\n")) {
			cut(i)
		}
		i += len(line)
	}
	cut(len(s))
	if len(parts) < 3 { // no sections, at most a line that looks like a heading
		return s
	}
	return strings.Join(parts, "\n")
}

// isHeading recognises the headings that a client asks for ("7. Pending Tasks:"), also
// with the Markdown that a model may add.
func isHeading(line string) bool {
	line = strings.Trim(line, "#* ")
	number, title, ok := strings.Cut(line, ". ")
	return ok && len(number) == 1 && number[0] >= '1' && number[0] <= '9' &&
		len(title) < 60 && strings.HasSuffix(strings.TrimRight(title, "* "), ":") && title[0] >= 'A' && title[0] <= 'Z'
}

func omitted(part string) bool {
	heading, _, _ := strings.Cut(part, "\n")
	return strings.Contains(heading, "Key Technical Concepts") || strings.Contains(heading, "Files and Code Sections")
}
