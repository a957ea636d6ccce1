package record

import (
	"path/filepath"
	"strings"

	"gt/lib/conversation"
	"gt/lib/sys/atomicfile"
)

// Client is the name of records among the clients' conversations.
const Client = "gt-record"

type Reader struct{}

func (Reader) Client() string { return Client }

func (Reader) Find(store string, each func(conversation.File)) error {
	s := Store{Sessions: store}
	ids, err := s.IDs()
	var lost conversation.ReadErrors
	lost.Add(err)
	for _, id := range ids {
		if f := (conversation.File{Client: Client, Store: store, Path: s.File(id)}); lost.SetStat(&f) {
			each(f)
		}
	}
	return lost.Err()
}

// Metadata returns what the record's first line and last mark say, or nothing if it was removed.
func (Reader) Metadata(f conversation.File) (m conversation.Metadata, err error) {
	o, err := openFile(f.Path)
	if err != nil {
		return m, err
	}
	defer o.Close()
	head, err := o.readHead()
	if err != nil {
		return m, nil
	}
	end, err := o.readEnd()
	if err != nil {
		return m, atomicfile.Error("read", f.Path, err)
	}
	if end.removedAs != "" || end.mark == nil {
		return m, nil
	}
	at := end.mark
	return conversation.Metadata{
		ID: head.Session, Parent: head.Parent, ForkOf: head.ForkOf, Agent: head.Agent,
		CWD: head.CWD, MovedTo: at.Moved, Branch: at.Branch, Model: at.Model, Version: head.Version,
		Title: at.Title, Prompt: at.Prompt, Started: head.Started, Last: at.Last, Headless: at.Headless,
	}, nil
}

// Read gives the lines of the conversation, without what the person took back but for its tokens.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	file, err := openFile(f.Path)
	if err != nil {
		return o.From, err
	}
	defer file.Close()
	live, err := file.liveTurns()
	if err != nil {
		return o.From, err
	}
	return file.forEachLine(o.From, func(line []byte, at int64) bool {
		// o.Skip leaves out neither marks nor prompts: live needs them to know where a turn begins.
		if !isKind(line, Mark) && (!isConversation(line) || o.Skip != nil && !isKind(line, Kind(conversation.Prompt)) && o.Skip(line)) {
			return true
		}
		l, err := Parse(line)
		if err != nil || !live(&l, at) || !l.Kind.InConversation() {
			return true
		}
		e := l.Entry()
		e.Offset = at
		return each(e)
	})
}

// PlainText reports whether the record is not packed: its lines are then plain JSON.
func (Reader) PlainText(f conversation.File) bool { return !strings.HasSuffix(f.Path, packedExt) }

// SourceOf returns the conversation of a record that the Reader has found.
func SourceOf(f conversation.File) (conversation.Source, error) {
	id, err := ParseID(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(f.Path), ".gz"), ext))
	if err != nil {
		return nil, err
	}
	sessions := filepath.Dir(f.Path)
	return Store{Sessions: sessions, Contexts: filepath.Join(filepath.Dir(sessions), contexts)}.Conversation(id), nil
}

// Conversation returns the conversation of a record, as Read gives it. An entry that was left
// out says so. A result that was kept aside is complete if its file still exists.
func (s Store) Conversation(id ID) conversation.Source {
	return func(from int64, each func(conversation.Entry) bool) error {
		return s.liveLines(id, from, func(l Line, at int64, live bool) bool {
			if !live || !l.Kind.InConversation() {
				return true
			}
			e := l.Entry()
			e.Offset = at
			if l.Hidden != "" {
				e.Text = strings.TrimSpace(e.Text + "\n[left out: " + l.Hidden + "]")
			}
			if l.Context != nil {
				if text, err := s.ReadContext(*l.Context); err == nil {
					e.Text = text
				}
			}
			return each(e)
		})
	}
}
