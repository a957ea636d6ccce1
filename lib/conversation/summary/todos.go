package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gt/lib/conversation"
)

// todos takes in what an entry says of the agent's list of things to do.
func (f *Fold) todos(t *conversation.Todos) {
	if t == nil {
		return
	}
	switch t.Scope {
	case conversation.WholeList:
		f.list = append([]conversation.Todo{}, t.Items...) // an empty list is one as well
	case conversation.AllTasks:
		f.Tasks = f.items(t.Items)
	case conversation.SomeTasks:
		for _, item := range f.items(t.Items) {
			f.task(item)
		}
	case conversation.TaskFiles:
		f.TaskFiles = f.items(t.Items)
	}
}

// items are those of a list, cleaned and cut.
func (f *Fold) items(all []conversation.Todo) []conversation.Todo {
	kept := make([]conversation.Todo, 0, min(len(all), maxTasks))
	for _, t := range all[:min(len(all), maxTasks)] {
		kept = append(kept, conversation.Todo{ID: f.line(t.ID, maxID), Text: f.line(t.Text, todoLength), Status: status(t.Status)})
	}
	return kept
}

// task notes what has changed of a task: what is empty has not.
func (f *Fold) task(t conversation.Todo) {
	if t.ID == "" {
		return
	}
	if i := slices.IndexFunc(f.Tasks, func(known conversation.Todo) bool { return known.ID == t.ID }); i >= 0 {
		known := &f.Tasks[i]
		known.Text, known.Status = cmp.Or(t.Text, known.Text), cmp.Or(t.Status, known.Status)
		return
	}
	if len(f.Tasks) >= maxTasks { // what is finished goes first
		i := max(0, slices.IndexFunc(f.Tasks, func(t conversation.Todo) bool { return t.Status == "completed" || t.Status == "deleted" }))
		f.Tasks = slices.Delete(f.Tasks, i, i+1)
	}
	f.Tasks = append(f.Tasks, t)
}

// todoList is the list as it is now.
func (f *Fold) todoList() []conversation.Todo {
	switch {
	case len(f.TaskFiles) > 0:
		return byNumber(f.TaskFiles)
	case len(f.Tasks) > 0:
		return byNumber(f.Tasks)
	}
	return f.List
}

// byNumber puts tasks in the order in which they were made.
func byNumber(all []conversation.Todo) []conversation.Todo {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b conversation.Todo) int {
		x, _ := strconv.Atoi(a.ID)
		y, _ := strconv.Atoi(b.ID)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// status is an item's in Claude Code's words; empty stays, for it says nothing.
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

// sections cuts each section of a summary to its beginning, for what was asked
// stands in the first of them, what is still to do in the last, and pages of
// code in between. A summary that is not in sections stays as it is.
func sections(s string) string {
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
	if len(parts) < 3 {
		return s
	}
	return strings.Join(parts, "\n")
}

// isHeading knows the headings that a client asks for ("7. Pending Tasks:"), also in
// the dress that a model may give them.
func isHeading(line string) bool {
	line = strings.Trim(line, "#* ")
	number, title, ok := strings.Cut(line, ". ")
	return ok && len(number) == 1 && number[0] >= '1' && number[0] <= '9' &&
		len(title) < 60 && strings.HasSuffix(strings.TrimRight(title, "* "), ":") && title[0] >= 'A' && title[0] <= 'Z'
}

// omitted knows the sections that repeat what stands in the files.
func omitted(part string) bool {
	heading, _, _ := strings.Cut(part, "\n")
	return strings.Contains(heading, "Key Technical Concepts") || strings.Contains(heading, "Files and Code Sections")
}
