package claude

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

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

// MovedFiles implements conversation.Mover. Of a transcript that is not in one of the client's
// projects, it returns no other files.
func (Writer) MovedFiles(transcript string, id session.ID) ([]conversation.MovedFile, error) {
	beside := strings.TrimSuffix(transcript, ".jsonl")
	all := []conversation.MovedFile{{Name: conversation.Transcript, Path: transcript}}
	projects := filepath.Dir(filepath.Dir(transcript))
	if filepath.Base(beside) != string(id) || filepath.Base(projects) != "projects" {
		return all, nil
	}
	for _, folder := range [][2]string{{sessionPrefix, beside}, {tasksPrefix, filepath.Join(filepath.Dir(projects), "tasks", string(id))}} {
		prefix, dir := folder[0], folder[1]
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

// movable reports whether a conversation can have a file of this name, which may be hostile.
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

// Destination implements conversation.Mover. It returns "" for a file that must not be written.
func (Writer) Destination(a conversation.ClientFolder, cwd string, id session.ID, name string) string {
	transcript := pathByRule(a, cwd, string(id))
	if transcript == "" {
		return ""
	}
	if !movable(name) { // mutant never: TestDestination
		return ""
	}
	if task, ok := strings.CutPrefix(name, tasksPrefix); ok {
		return filepath.Join(a.Dir, "tasks", string(id), task)
	}
	if rest, ok := strings.CutPrefix(name, sessionPrefix); ok {
		return filepath.Join(strings.TrimSuffix(transcript, ".jsonl"), filepath.FromSlash(rest))
	}
	return transcript
}

// maxMoved bounds a line of a moved file, in bytes.
const maxMoved = 256 << 20

// movedTypes are the types of records that are what was said, or are shown beside it. When it
// resumes, Claude Code acts on others: it goes to another folder (worktree-state, relocated),
// takes an agent's settings or another mode (agent-setting, mode), connects (bridge-session), and on a rewind writes
// and removes files (file-history-snapshot).
var movedTypes = []string{
	"user", "assistant", "system", "attachment", "progress", "summary", "custom-title", "ai-title", "last-prompt", "tag", "pr-link", "queue-operation",
	"permission-mode", "content-replacement", "marble-origami-commit", "marble-origami-snapshot", "marble-origami-reset",
}

// Restrict implements conversation.Mover: it copies a transcript without what would act here. When
// it resumes, Claude Code returns to the permission mode that the transcript has last (seen with
// 2.1.197: acceptEdits), so a mode that asks less than usual becomes the usual one. Restrict leaves
// out records of other types than movedTypes, and lines that are no record: a more patient reader
// could find several in one.
func (Writer) Restrict(w io.Writer, r io.Reader) error {
	lines := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxMoved:
			return fmt.Errorf("it has a line of more than %d bytes", maxMoved)
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return err
		}
		if _, werr := w.Write(restrictMode(line)); werr != nil || err == io.EOF {
			return werr
		}
		line = line[:0]
	}
}

// restrictMode returns a record with a permission mode that asks, or nil for what does not move
// (see Restrict). A hostile record can have the key several times, or with escapes.
func restrictMode(line []byte) []byte {
	record := gjson.ParseBytes(line)
	if !record.IsObject() || !gjson.ValidBytes(line) { // mutant never: TestRestrict
		return nil
	}
	var out bytes.Buffer
	changed, isMoved := false, true
	record.ForEach(func(key, value gjson.Result) bool {
		raw := value.Raw
		if key.Str == "type" && (value.Type != gjson.String || !slices.Contains(movedTypes, value.Str)) { // mutant never: TestRestrict
			isMoved = false
		}
		if key.Str == "permissionMode" && raw != `"default"` && raw != `"plan"` { // mutant never: TestRestrict
			raw, changed = `"default"`, true
		}
		fmt.Fprintf(&out, ",%s:%s", key.Raw, raw)
		return true
	})
	if !isMoved {
		return nil
	}
	if !changed {
		return line
	}
	all := append([]byte{'{'}, bytes.TrimPrefix(out.Bytes(), []byte(","))...)
	return append(all, "}\n"...)
}
