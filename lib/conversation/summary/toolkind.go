package summary

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// toolKind is what a tool does, as far as a summary needs it.
type toolKind int

const (
	otherTool toolKind = iota
	shellTool
	editTool
	patchTool
	todoTool
)

// kindOf returns what a tool does, by the name that any of the clients has for it.
func kindOf(tool string) toolKind {
	switch tool[strings.LastIndexByte(tool, '.')+1:] { // after Codex's namespace
	case "Bash", "shell", "shell_command", "exec_command", "local_shell", "run_shell_command", "run_command", "run_commands", "bash", "powershell", "Shell":
		return shellTool
	case "Edit", "MultiEdit", "Write", "NotebookEdit", "write_file", "write_to_file", "replace", "replace_file_content", "multi_replace_file_content", "edit", "edit_file", "write", "create", "str_replace", "str_replace_editor", "insert", "multiedit", "editor", "StrReplace", "StrReplaceFile", "WriteFile", "replace_in_file", "search_replace", "EditNotebook":
		return editTool
	case "apply_patch", "patch":
		return patchTool
	case "update_plan", "write_todos", "todo_write", "todowrite", "update_todo":
		return todoTool
	}
	return otherTool
}

// argument returns the value of the first of these arguments in a call's text, which
// conversation.Arguments wrote, or "". A value that is empty or "." names no file.
func argument(text string, names ...string) string {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if slices.Contains(names, name) && filepath.Base(value) != "." {
			return strings.Clone(value)
		}
	}
	return ""
}

// patchedFiles returns the files in a patch of Codex's apply_patch.
func patchedFiles(text string) []string {
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
	return files
}

// ShellCommand returns the command line of a call of a shell, "" for another entry.
func ShellCommand(e conversation.Entry) string {
	if e.Kind != conversation.Call || kindOf(e.Tool) != shellTool {
		return ""
	}
	return commandOf(e)
}

// commandOf returns a shell's command line: the call's target, or its first argument where
// the client's tool has more than that.
func commandOf(e conversation.Entry) string {
	rest, ok := strings.CutPrefix(e.Text, "command: ")
	if e.Target != "" || !ok {
		return cmp.Or(e.Target, e.Text)
	}
	for _, next := range []string{"description", "is_background", "dir_path", "directory", "timeout"} {
		rest, _, _ = strings.Cut(rest, "\n"+next+": ")
	}
	return rest
}

// runsGT reports whether a command runs a program of gt's. A summary leaves it out, because it
// has what that program saved.
func runsGT(command string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()'\"", r) }), func(word string) bool {
		return strings.HasPrefix(filepath.Base(word), "gt-")
	})
}

// Changes returns the files that a call changes, as it names them.
func Changes(e conversation.Entry) []string {
	switch kindOf(e.Tool) {
	case shellTool, patchTool:
		return patchedFiles(e.Text)
	case editTool:
		if path := cmp.Or(e.Target, argument(e.Text, "file_path", "path", "filePath", "absolute_path", "notebook_path", "TargetFile")); path != "" {
			return []string{path}
		}
	}
	return nil
}

// parsePlan returns the to-do list of a call that writes the whole list, as JSON or Markdown.
func parsePlan(text string) []conversation.Todo {
	var all []conversation.Todo
	if i := strings.IndexByte(text, '['); i >= 0 && !strings.Contains(text, "- [") {
		gjson.Parse(text[i:]).ForEach(func(_, item gjson.Result) bool {
			said := cmp.Or(item.Get("content").Str, item.Get("step").Str, item.Get("description").Str, item.Get("title").Str)
			if said != "" {
				all = append(all, conversation.Todo{Text: strings.Clone(said), Status: status(item.Get("status").Str)})
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
			all = append(all, conversation.Todo{Text: strings.Clone(strings.TrimSpace(said)), Status: state})
		}
	}
	return all
}

// exitCode returns the exit code at the beginning or end of a shell's result: "Process
// exited with code 1", "Exit Code: 1", "<exited with exit code 1>". It is 0 if there is none.
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

// clientsExitCode returns the exit code that a client's own line in a result tells, and whether
// there is one: the last line of Copilot's and Kimi's, or Qwen Code's "Exit Code: 1".
func clientsExitCode(text string) (code int, told bool) {
	text = strings.TrimSpace(text)
	last := text[strings.LastIndex(text, "\n")+1:]
	if strings.HasPrefix(last, "<shellId: ") || strings.HasPrefix(last, "<exited with exit code ") {
		return exitCode(last), true
	}
	if strings.HasPrefix(text, "Command: ") {
		if at := strings.LastIndex(text, "\nExit Code: "); at >= 0 {
			line, _, _ := strings.Cut(text[at+1:], "\n")
			return exitCode(line), true
		}
	}
	return 0, false
}

// onlyReads reports whether a command only shows something (not sed -i): nobody needs to know it.
func onlyReads(command string) bool {
	const readers = " cat ls head tail awk grep rg find fd wc pwd echo printf which cd tree stat file less sort uniq cut sleep true jq env ps export sed "
	for part := range strings.FieldsFuncSeq(command, func(r rune) bool { return r == '&' || r == ';' || r == '|' }) {
		words := strings.Fields(part)
		switch {
		case len(words) == 0 || strings.Contains(readers, " "+words[0]+" ") && !slices.Contains(words, "-i"):
		case words[0] == "git" && len(words) > 1 && slices.Contains([]string{"status", "diff", "log", "show", "branch", "blame"}, words[1]):
		default:
			return false
		}
	}
	return true
}

// outcomeLine returns the line of a command's result that says what came of it: the last one with a
// number near the end, where most programs have it, or a short last one; of a commit its name.
func outcomeLine(command, result string) string {
	const longest, short = 160, 40
	lines := strings.Split(printedText(result), "\n")
	if strings.Contains(command, "git commit") {
		for _, line := range lines {
			if strings.HasPrefix(line, "[") && strings.Contains(line, "] ") {
				return cutEnd(line, longest)
			}
		}
	}
	for _, line := range slices.Backward(lines[max(0, len(lines)-10):]) {
		line = strings.Join(strings.Fields(line), " ")
		if len(line) < longest && strings.Contains(line, " ") && strings.ContainsAny(line, "0123456789") {
			return line
		}
	}
	if last := strings.TrimSpace(lines[len(lines)-1]); len(last) < short {
		return last
	}
	return ""
}

// printedText returns what a command printed, without the lines that its client puts before and
// behind it. It keeps exit codes that say more than that the command failed.
func printedText(result string) string {
	const (
		begins = "Chunk ID: |Wall time: |Original token count: |Total output lines: |Background PIDs: |Process Group PGID: |<shellId: |<exited with exit code |<untrusted_context>|</untrusted_context>"
		whole  = "|Process exited with code 0|Process exited with code 1|Exit code: 0|Exit code: 1|Exit Code: 0|Exit Code: 1|Error: (none)|Signal: (none)|Signal: 0|Output: (empty)|Output:|"
	)
	isClients := func(line string) bool {
		line = strings.TrimSpace(line)
		return strings.Contains(whole, "|"+line+"|") || slices.ContainsFunc(strings.Split(begins, "|"), func(begin string) bool { return strings.HasPrefix(line, begin) })
	}
	text := strings.TrimSpace(result)
	if strings.HasPrefix(text, "Command: ") {
		if _, output, found := strings.Cut(text, "\nOutput: "); found {
			text = output
		}
	}
	lines := strings.Split(text, "\n")
	for len(lines) > 0 && isClients(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && isClients(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.Join(lines, "\n"), "Output: "))
}
