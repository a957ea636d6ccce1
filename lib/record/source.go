package record

import (
	"path/filepath"
	"strings"

	"gt/lib/conversation"
)

// SourceOf returns the conversation of a record that the Reader has found.
func SourceOf(f conversation.File) (conversation.Source, error) {
	id, err := ParseID(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.Path), ".gz"), ext))
	if err != nil {
		return nil, err
	}
	sessions := filepath.Dir(f.Path)
	return Store{Sessions: sessions, Contexts: filepath.Join(filepath.Dir(sessions), contexts)}.Conversation(id), nil
}

// Conversation returns the conversation of a record. An entry that was left out says so.
// A result that was kept aside is complete if its file still exists.
func (s Store) Conversation(id ID) conversation.Source {
	return func(from int64, each func(conversation.Entry) bool) error {
		_, err := s.ForEachLine(id, from, func(line []byte, at int64) bool {
			l, err := Parse(line)
			if err != nil || !l.Kind.InConversation() {
				return true
			}
			e := l.Entry()
			e.Offset = at
			if l.Hidden != "" {
				e.Text = strings.TrimSpace(e.Text + "\n[left out: " + l.Hidden + "]")
			}
			if l.Context != nil {
				if text, err := s.Context(*l.Context); err == nil {
					e.Text = text
				}
			}
			return each(e)
		})
		return err
	}
}
