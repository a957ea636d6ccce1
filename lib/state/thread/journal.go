package thread

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// The journal, threads/<chain>.prompts, has the prompts that the thread does not have yet,
// one JSON object a line. The hook of a prompt appends to it, because an agent waits for
// that hook and a thread can be large. Every reader of the thread reads it as well, and the
// next writer of the thread takes it in and removes it. To take a line in twice changes
// nothing.

// maxJournal limits the journal in bytes. A prompt that has no room is added to the thread.
const maxJournal = 64 << 10

// entry is a line of the journal.
type entry struct {
	Quote
	Agent string `json:"agent,omitempty"`
}

func journal(state place.State, chain session.ID) string {
	return state.Path("threads", string(chain)+".prompts")
}

// Append adds the person's messages of a session to the thread at a cost that does not
// depend on the thread's size.
func Append(state place.State, chain session.ID, p Part, warn func(error)) error {
	if _, err := session.ParseID(string(chain)); err != nil {
		return err
	}
	var data []byte
	for _, q := range p.Prompts {
		q.Session = p.Session
		line, err := json.Marshal(entry{q, p.Agent})
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	added, err := appendLines(state, chain, data)
	if err != nil || added {
		return err
	}
	_, err = Update(state, chain, atomicfile.Unsynced, warn, func(t *Thread) { t.Hear(p) })
	return err
}

// appendLines appends to the journal and reports whether there was room.
func appendLines(state place.State, chain session.ID, data []byte) (added bool, err error) {
	if err := state.Prepare(state.Path("threads")); err != nil {
		return false, err
	}
	lock, err := lock(state, chain)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	path := journal(state, chain)
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size()+int64(len(data)) > maxJournal {
		return false, atomicfile.Error("read", path, err)
	}
	return true, atomicfile.AppendLines(f, data)
}

// readJournal returns the journal's prompts. It ignores lines that it does not understand,
// such as a torn one.
func readJournal(state place.State, chain session.ID) ([]entry, error) {
	data, err := atomicfile.Read(journal(state, chain), 2*maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []entry
	for line := range bytes.Lines(data) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Text != "" {
			all = append(all, e)
		}
	}
	return all, nil
}
