package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"gt/lib/sys/atomicfile"
)

type storedResult struct {
	Session ID     `json:"session"`
	Tool    string `json:"tool,omitempty"`
	CallID  string `json:"call,omitempty"`
	Digest  string `json:"sha256"`
	Content string `json:"content"`
}

// contextName returns the file name of a result: the record's id, the tool, and the
// beginning of the result's digest.
func contextName(id ID, tool string, sum []byte) string {
	tool = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, tool)
	if tool = strings.TrimLeft(tool, "."); tool == "" {
		tool = "result"
	}
	return string(id) + "-" + tool[:min(len(tool), 64)] + "-" + suffixOf(sum[8:16]) + ".json"
}

// keepAside writes a result to its file. The same result of the same tool has only one file.
func (p *syncPass) keepAside(l *Line, content string) error {
	kept := storedResult{p.id, l.Tool, l.CallID, l.Context.Digest, content}
	return atomicfile.WriteJSON(filepath.Join(p.syncer.Store.Contexts, l.Context.Ref), kept, atomicfile.Unsynced)
}

// ErrCleared means that a result was kept aside and then removed.
var ErrCleared = errors.New("it was cleared")

// maxContext is the longest file that is read: it can hold a client's longest record.
const maxContext = maxLine

// ReadContext returns a result that was kept aside, or ErrCleared.
func (s Store) ReadContext(c Context) (string, error) {
	if c.Ref != filepath.Base(c.Ref) || !strings.HasPrefix(c.Ref, prefix) {
		return "", fmt.Errorf("invalid reference '%.80s'", c.Ref)
	}
	path := filepath.Join(s.Contexts, c.Ref)
	data, err := atomicfile.ReadIf(path, maxContext, atomicfile.CheckPrivate)
	if errors.Is(err, fs.ErrNotExist) {
		return "", ErrCleared
	} else if err != nil {
		return "", err
	}
	var a storedResult
	if err := json.Unmarshal(data, &a); err != nil {
		return "", atomicfile.Error("understand", path, err)
	}
	if sum := sha256.Sum256([]byte(a.Content)); hex.EncodeToString(sum[:]) != c.Digest {
		return "", atomicfile.Error("use", path, errors.New("it is not what was kept"))
	}
	return a.Content, nil
}

// ContextsOf returns the results of a record that were kept aside, in the order of its
// lines, each once.
func (s Store) ContextsOf(id ID) ([]Context, error) {
	var all []Context
	seen := map[string]bool{}
	err := s.Lines(id, func(l Line) bool {
		if c := l.Context; c != nil && !seen[c.Ref] {
			seen[c.Ref] = true
			all = append(all, *c)
		}
		return true
	})
	return all, err
}

// IDOfContext returns the record to which a reference belongs.
func IDOfContext(ref string) (ID, error) {
	parts := strings.SplitN(ref, "-", 4)
	if len(parts) != 4 || ref != filepath.Base(ref) {
		return "", fmt.Errorf("invalid reference '%.80s'", ref)
	}
	return ParseID(strings.Join(parts[:3], "-"))
}
