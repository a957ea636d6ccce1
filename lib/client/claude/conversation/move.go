package claude

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Claude Code resumes a conversation whose files were copied to where it looks for those of
// another folder, on another machine (seen with 2.1.330). The names of the files of one are
// conversation.Transcript, tasks/<file>.json for its to-dos, and session/<path> for what is
// in the folder beside the transcript: long results, and the transcripts of subagents.
const (
	tasksPrefix   = "tasks/"
	sessionPrefix = "session/"
)

// MovedFiles is of conversation.Mover.
func (Writer) MovedFiles(transcript string, id session.ID) ([]conversation.MovedFile, error) {
	beside := strings.TrimSuffix(transcript, ".jsonl")
	all := []conversation.MovedFile{{Name: conversation.Transcript, Path: transcript}}
	projects := filepath.Dir(filepath.Dir(transcript))
	if filepath.Base(beside) != string(id) || filepath.Base(projects) != "projects" {
		return all, nil
	}
	for prefix, dir := range map[string]string{sessionPrefix: beside, tasksPrefix: filepath.Join(filepath.Dir(projects), "tasks", string(id))} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			rel, rerr := filepath.Rel(dir, path)
			switch {
			case err != nil || rerr != nil:
				return errors.Join(err, rerr)
			case d.Type().IsRegular() && movable(prefix+filepath.ToSlash(rel)):
				all = append(all, conversation.MovedFile{Name: prefix + filepath.ToSlash(rel), Path: path})
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, atomicfile.Error("read", dir, err)
		}
	}
	return all, nil
}

// movable reports whether a name can be that of a moved file.
func movable(name string) bool {
	task, isTask := strings.CutPrefix(name, tasksPrefix)
	rest, isSession := strings.CutPrefix(name, sessionPrefix)
	for elem := range strings.SplitSeq(task+"/"+rest, "/") {
		if strings.HasPrefix(elem, ".") || strings.ContainsAny(elem, "\\\x00") {
			return false
		}
	}
	switch ext := filepath.Ext(name); {
	case name == conversation.Transcript:
		return true
	case isTask:
		return ext == ".json" && !strings.Contains(task, "/")
	case isSession:
		return filepath.IsLocal(rest) && (ext == ".jsonl" || ext == ".json" || ext == ".txt" || ext == ".md")
	}
	return false
}

// Destination is of conversation.Mover.
func (Writer) Destination(getenv func(string) string, cwd string, id session.ID, name string) string {
	transcript := byRule(getenv, cwd, string(id))
	if transcript == "" {
		return ""
	}
	if !movable(name) { // mutant never: TestDestination
		return ""
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(transcript)))
	if task, ok := strings.CutPrefix(name, tasksPrefix); ok {
		return filepath.Join(root, "tasks", string(id), task)
	}
	if rest, ok := strings.CutPrefix(name, sessionPrefix); ok {
		return filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), filepath.FromSlash(rest))
	}
	return transcript
}
