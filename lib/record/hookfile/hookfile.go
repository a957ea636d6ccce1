// Package hookfile keeps what the hooks of a client tell that keeps no conversation itself:
// the person's prompts, the agent's answers, and its tools' calls with their results. It
// is what gt-record then reads as the client's own file.
//
//	${AGENT_HOME:-~/.agent}/told/<agent>/<session id>.jsonl   a line an entry
package hookfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Root is the folder of this user's records: AGENT_HOME, or else ~/.agent.
func Root(getenv func(string) string) (string, error) {
	root := getenv("AGENT_HOME")
	switch home := getenv("HOME"); {
	case root == "" && filepath.IsAbs(home):
		root = filepath.Join(home, ".agent")
	case root == "":
		return "", errors.New("HOME is not set, so there is no place for records")
	case !filepath.IsAbs(root):
		return "", fmt.Errorf("AGENT_HOME has to be an absolute path, not '%s'", root)
	}
	return root, nil
}

// Line is what one hook told.
type Line struct {
	Kind   conversation.Kind `json:"kind"` // Prompt, Answer or Call
	Time   time.Time         `json:"ts"`
	CWD    string            `json:"cwd,omitempty"`
	Text   string            `json:"text,omitempty"` // of a Call, its arguments
	Tool   string            `json:"tool,omitempty"`
	Target string            `json:"target,omitempty"` // see conversation.Entry
	Result string            `json:"result,omitempty"` // of a Call
	Failed bool              `json:"failed,omitempty"`
	// Key tells the hook's input from any other, where it has one: of a hook that is wired
	// twice each tells the same.
	Key string `json:"key,omitempty"`
}

// Clean takes the secrets out of a line, before it is written.
func (l *Line) Clean(redact func(string) string) {
	for _, s := range []*string{&l.CWD, &l.Text, &l.Tool, &l.Result} {
		*s = redact(strings.ToValidUTF8(*s, "\uFFFD"))
	}
}

// Unwritten is a line as one process hands it to another, which redacts and appends it: the
// result behind the rest as it is, for to escape it takes as long as a hook may.
func (l Line) Unwritten() (string, error) {
	result := l.Result
	l.Result = ""
	data, err := json.Marshal(l)
	return string(data) + "\n" + result, err
}

// ParseUnwritten returns the line that Unwritten gave.
func ParseUnwritten(data []byte) (l Line, err error) {
	head, result, found := bytes.Cut(data, []byte("\n"))
	if !found {
		return l, errors.New("a line that was handed over ends early")
	}
	err = json.Unmarshal(head, &l)
	l.Result = string(result)
	return l, err
}

const ext = ".jsonl"

// Path is the file of a session, "" of an agent whose name is no file's.
func Path(root, agent string, id session.ID) string {
	if agent == "" || agent[0] == '.' || strings.Trim(agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" || id == "" {
		return ""
	}
	return filepath.Join(root, "told", agent, string(id)+ext)
}

// Append adds a line, which its caller has redacted. A line that a kill tore off is ended
// first, and the reader passes over it.
func Append(root, agent string, id session.ID, l Line) error {
	path := Path(root, agent, id)
	if path == "" {
		return fmt.Errorf("invalid name of an agent '%.40s'", agent)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := atomicfile.EnsurePrivateDir(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = atomicfile.OursAlone(info)
	}
	if err != nil {
		return atomicfile.Error("use", path, err)
	}
	data = append(data, '\n')
	if last := [1]byte{'\n'}; info.Size() > 0 {
		if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
			return atomicfile.Error("read", path, err)
		}
		if last[0] != '\n' {
			data = append([]byte{'\n'}, data...)
		}
	}
	_, err = f.Write(data)
	return atomicfile.Error("write", path, err)
}

// Remove removes what was told of a session.
func Remove(root, agent string, id session.ID) error {
	path := Path(root, agent, id)
	if path == "" {
		return nil
	}
	return atomicfile.Remove(path)
}

// Agents are those of whose sessions something was told.
func Agents(root string) []string {
	entries, err := os.ReadDir(filepath.Join(root, "told"))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if e.IsDir() && Path(root, e.Name(), "s") != "" {
			all = append(all, e.Name())
		}
	}
	return all
}
