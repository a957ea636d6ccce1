// Package edits tells what calls of agents' tools changed in files.
package edits

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/text/lazyregexp"
)

// Edit is a change of a file by a call. A line that only stands near the change is in Old
// and in New.
type Edit struct {
	Path        string // as the call names it
	Old, New    []string
	IsWholeFile bool // New is all that the file has then

	replaced  []replacement      // see FormerLines
	netCounts map[string]int     // how many more times New has a line than Old
	beside    map[[2]string]bool // see HasNeighbour
}

// replacement is a text that stands in place of another. Each can begin and end within a line.
type replacement struct{ old, new []string }

// FindEdits returns what a call changed. It understands the arguments of the tools of all clients
// (see arguments), patches, of a tool or in a command, and texts that a command writes.
func FindEdits(e conversation.Entry) []Edit {
	paths, command := summary.Changes(e), summary.ShellCommand(e)
	switch {
	case e.Kind != conversation.Call || len(paths) == 0 && command == "":
		return nil
	case strings.Contains(e.Text, "*** Begin Patch"):
		return parsePatch(e.Text)
	case command != "":
		return writtenByShell(command)
	}
	edit := Edit{Path: paths[0]}
	for name, value := range arguments(e.Text) {
		switch {
		case value == "":
		case slices.Contains(listNames, name):
			gjson.Parse(value).ForEach(func(key, item gjson.Result) bool {
				if !item.IsObject() { // one edit, no list
					edit.addArgument(key.Str, item.String())
					return true
				}
				old, new := len(edit.Old), len(edit.New)
				item.ForEach(func(key, v gjson.Result) bool { edit.addArgument(key.Str, v.String()); return true })
				edit.replaced = append(edit.replaced, replacement{edit.Old[old:], edit.New[new:]})
				return true
			})
		case slices.Contains(diffNames, name):
			edit.addDiff(value)
		default:
			edit.addArgument(name, value)
			edit.IsWholeFile = edit.IsWholeFile || slices.Contains(wholeNames, name)
		}
	}
	edit.IsWholeFile = edit.IsWholeFile && len(edit.Old) == 0
	if edit.replaced == nil && len(edit.Old) > 0 {
		edit.replaced = []replacement{{edit.Old, edit.New}}
	}
	return []Edit{edit}
}

// The names of arguments: of the clients' own tools, in each of their ways to write them.
var (
	oldNames   = []string{"old_string", "oldString", "oldText", "old_text", "old_str", "old", "search", "TargetContent"}
	newNames   = []string{"new_string", "newString", "newText", "new_text", "new_str", "new", "replace", "replacement", "ReplacementContent", "new_source", "insert_text"}
	wholeNames = []string{"content", "contents", "file_text", "CodeContent"}
	listNames  = []string{"edits", "edit", "replacements", "ReplacementChunks"}
	diffNames  = []string{"diff", "patch"}
	otherNames = []string{
		"file_path", "filePath", "path", "absolute_path", "notebook_path", "TargetFile", "cell_id", "cell_type", "edit_mode", "command", "description", "replace_all", "replaceAll",
		"expected_replacements", "allow_multiple", "instruction", "Instruction", "Description", "Complexity", "CodeMarkdownLanguage", "AllowMultiple", "StartLine", "EndLine",
		"Overwrite", "EmptyFile", "TargetLintErrorIds", "insert_line", "view_range", "mode", "modified_by_user", "ai_proposed_content",
	}
	allNames = slices.Concat(oldNames, newNames, wholeNames, listNames, diffNames, otherNames)
)

// addArgument adds the value of an argument whose name says whether it is the old or the new
// text.
func (e *Edit) addArgument(name, value string) {
	switch {
	case slices.Contains(oldNames, name):
		e.Old = append(e.Old, Lines(value)...)
	case slices.Contains(newNames, name), slices.Contains(wholeNames, name):
		e.New = append(e.New, Lines(value)...)
	}
}

// arguments iterates over a call's arguments, as conversation.Arguments writes them. A line
// of a value that looks like another argument is taken for one.
func arguments(text string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		name, value := "", ""
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			next, rest, ok := strings.Cut(line, ": ")
			if empty := strings.TrimSuffix(line, ":\n"); !ok && empty != line {
				next, rest, ok = empty, "", true
			}
			if !ok || seen[next] || !slices.Contains(allNames, next) {
				value += line
				continue
			}
			if name != "" && !yield(name, strings.TrimSuffix(value, "\n")) {
				return
			}
			name, value, seen[next] = next, rest, true
		}
		if name != "" {
			yield(name, value)
		}
	}
}

// parsePatch returns the changes of a patch of Codex's apply_patch.
func parsePatch(text string) (all []Edit) {
	var current *Edit
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		name, path, ok := strings.Cut(line, " File: ")
		switch {
		case line == "*** End Patch":
			current = nil
		case ok && strings.HasPrefix(name, "*** "):
			all = append(all, Edit{Path: strings.TrimSpace(path), IsWholeFile: name == "*** Add"})
			current = &all[len(all)-1]
		case current == nil:
		case strings.HasPrefix(line, "*** Move to: "):
			current.Path = strings.TrimSpace(strings.TrimPrefix(line, "*** Move to: "))
		case strings.HasPrefix(line, "*** "), strings.HasPrefix(line, "@@"):
		default:
			current.addPatchLine(line)
		}
	}
	return all
}

// addPatchLine adds a line of a patch to New, to Old, or to both if it only stands near the change.
func (e *Edit) addPatchLine(line string) {
	rest := line[min(1, len(line)):]
	switch {
	case strings.HasPrefix(line, "+"):
		e.New = append(e.New, rest)
	case strings.HasPrefix(line, "-"):
		e.Old = append(e.Old, rest)
	default:
		e.Old, e.New = append(e.Old, rest), append(e.New, rest)
	}
}

// addDiff adds the lines of blocks of SEARCH and REPLACE, or of a unified diff without its headers.
func (e *Edit) addDiff(text string) {
	part, blocks := "", strings.Contains(text, "REPLACE")
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case !blocks && !strings.HasPrefix(line, "@@") && !strings.HasPrefix(line, "+++ ") && !strings.HasPrefix(line, "--- "):
			e.addPatchLine(line)
		case strings.HasSuffix(line, " SEARCH"):
			part = "old"
		case strings.HasPrefix(line, "=======") && part == "old":
			part = "new"
		case strings.HasSuffix(line, " REPLACE"):
			part = ""
		case part == "old":
			e.Old = append(e.Old, line)
		case part == "new":
			e.New = append(e.New, line)
		}
	}
}

// Lines returns a text's lines, without the last one if it is empty.
func Lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimRight(line, "\r\n"))
	}
	return all
}

// Normalize returns a line without what formatters change in it: its blanks, and a comma or
// semicolon at its end.
func Normalize(line string) string {
	if strings.ContainsAny(line, " \t\r\n") {
		line = strings.Join(strings.Fields(line), "")
	}
	return strings.TrimRight(line, ",;")
}

// NetAdds returns how many more times a line, as Normalize returns it, is in New than in Old.
func (e *Edit) NetAdds(line string) int {
	if e.netCounts == nil {
		e.netCounts = make(map[string]int, len(e.New))
		for _, l := range e.New {
			e.netCounts[Normalize(l)]++
		}
		for _, l := range e.Old {
			e.netCounts[Normalize(l)]--
		}
	}
	return e.netCounts[Normalize(line)]
}

// IsWeak reports whether a text has so few letters and digits that it can be in many places.
func IsWeak(text string) bool {
	n := 0
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
		if n == 8 {
			return false
		}
	}
	return true
}

// FormerLines returns what a line of the file can have been before the edit: the line with an old
// text in place of the new one. It passes over texts that are weak (IsWeak).
func (e *Edit) FormerLines(line string) (all []string) {
	add := func(before, old, new string) {
		if !IsWeak(old+new) && !slices.Contains(all, before) && Normalize(before) != Normalize(line) {
			all = append(all, before)
		}
	}
	for _, r := range e.replaced {
		if len(r.old) == 0 || len(r.new) == 0 {
			continue
		}
		old, new := r.old[0], r.new[0]
		if len(r.old) == 1 && len(r.new) == 1 {
			if new != "" && strings.Contains(line, new) {
				add(strings.ReplaceAll(line, new, old), old, new)
				add(strings.Replace(line, new, old, 1), old, new)
			}
			continue
		}
		// Of several lines, the first can begin, and the last can end, within this line.
		if front, ok := strings.CutSuffix(line, new); ok {
			add(front+old, old, new)
		}
		old, new = r.old[len(r.old)-1], r.new[len(r.new)-1]
		if back, ok := strings.CutPrefix(line, new); ok {
			add(old+back, old, new)
		}
	}
	return all
}

// HasNeighbour reports whether New has a line directly behind before or directly in front of after,
// its neighbours in the file; "" is no neighbour. Empty lines between them do not count.
func (e *Edit) HasNeighbour(before, line, after string) bool {
	if e.beside == nil {
		e.beside = make(map[[2]string]bool, len(e.New))
		last := ""
		for _, l := range e.New {
			if l = Normalize(l); l != "" {
				e.beside[[2]string{last, l}], last = last != "", l // the first line has none before it
			}
		}
	}
	before, line, after = Normalize(before), Normalize(line), Normalize(after)
	return e.beside[[2]string{before, line}] || e.beside[[2]string{line, after}]
}

var (
	// heredoc is the beginning of a text on a command line, up to the word that ends it.
	heredoc = lazyregexp.New(`<<-?\s*(?:'([^']+)'|"([^"]+)"|\\?([A-Za-z_][A-Za-z0-9_]*))`)
	// echoCommand is a command that writes a quoted text.
	echoCommand = lazyregexp.New(`^\s*(?:echo(?: -e)?|printf)\s+(?:'([^']*)'|"([^"]*)")`)
	// redirectTarget is the file that a command writes, and how.
	redirectTarget = lazyregexp.New(`(?:^|[^0-9&>])(>>?|\btee(?: -a)?)\s*(?:"([^"]+)"|'([^']+)'|([^\s;&|<>()"'` + "`" + `]+))`)
	// sedCommand is a command that replaces a text in a file.
	sedCommand = lazyregexp.New(`\bsed\s+(-[Er]\s+)?-i(?:\.\w+|\s+'')?\s+(?:-e\s+)?(?:'s([^']+)'|"s([^"]+)")\s+([^\s;&|<>"'` + "`" + `]+)`)
	// cdCommand is the folder in which the rest of a command line runs.
	cdCommand = lazyregexp.New(`^\s*cd\s+(?:"([^"]+)"|'([^']+)'|([^\s;&|"']+))\s*(?:&&|;|\n)`)
)

// writtenByShell returns the changes by a shell's command line whose texts stand in it: cat >file
// <<EOF, tee, echo, and sed -i (only in replaced). What a program computes is not there.
func writtenByShell(command string) (all []Edit) {
	dir := ""
	if m := cdCommand().FindStringSubmatch(command); m != nil {
		dir = m[1] + m[2] + m[3]
	}
	addEdit := func(path string, e Edit) {
		if strings.HasPrefix(path, "/dev/") || strings.ContainsAny(path, "$*") {
			return
		}
		if e.Path = path; dir != "" && !filepath.IsAbs(path) {
			e.Path = filepath.Join(dir, path)
		}
		all = append(all, e)
	}
	// addRedirected adds a text that a command writes, if its line redirects that to a file.
	addRedirected := func(line, text string) {
		if m := redirectTarget().FindStringSubmatch(line); m != nil {
			addEdit(m[2]+m[3]+m[4], Edit{New: Lines(text), IsWholeFile: m[1] == ">" || m[1] == "tee"})
		}
	}
	lines := strings.SplitAfter(command, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		m := heredoc().FindStringSubmatch(line)
		if m == nil {
			for part := range strings.SplitSeq(line, "&&") {
				if m := echoCommand().FindStringSubmatch(part); m != nil {
					addRedirected(part[len(m[0]):], strings.ReplaceAll(m[1]+m[2], `\n`, "\n"))
				}
				if m := sedCommand().FindStringSubmatch(part); m != nil {
					if old, text, ok := literalSubstitution(m[2]+m[3], m[1] != ""); ok {
						addEdit(m[4], Edit{replaced: []replacement{{[]string{old}, []string{text}}}})
					}
				}
			}
			continue
		}
		end := m[1] + m[2] + m[3]
		text := ""
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != end; i++ {
			text += lines[i]
		}
		if strings.Contains(line, "cat ") || strings.Contains(line, "tee ") || strings.Contains(line, "cat>") {
			addRedirected(line, text)
		}
	}
	return all
}

// literalSubstitution parses the arguments of sed's command s, of which the first byte divides them. ok is false
// if the old or the new text has a character with a special meaning.
func literalSubstitution(arguments string, extended bool) (old, text string, ok bool) {
	parts := strings.Split(arguments[1:], arguments[:1])
	if len(parts) != 3 {
		return "", "", false
	}
	old = strings.ReplaceAll(parts[0], `\.`, ".")
	special := strings.ContainsAny(old, `\*[]^$`) || extended && strings.ContainsAny(old, "+?(){}|")
	return old, parts[1], !special && !strings.ContainsAny(parts[1], `\&`)
}
