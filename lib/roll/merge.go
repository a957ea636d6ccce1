package roll

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/history"
	"gt/lib/session"
)

// Merge adds to the roll what the clients keep themselves: to the sessions that
// the log knows their conversations, and the sessions that it does not know. run
// is who runs now.
//
// The log is the better witness of when a session began, who it was and how it
// ended; the conversation of what it was about and when it was last at work. Of
// two conversations with one id, as after a store was copied, the one that was
// changed last is taken.
func (r Roll) Merge(found []history.Conversation, run map[session.ID]history.Run) Roll {
	if len(found) == 0 && len(run) == 0 {
		return r
	}
	b := newBook(r)
	for _, c := range found {
		id := c.Facts.ID
		if id == "" {
			id = c.File.ID
		}
		if id == "" || c.Facts.Started.IsZero() && b.session(id) == nil {
			continue // nothing was ever said in it
		}
		s := b.session(id)
		if s == nil {
			s = &Session{ID: id, native: true}
			b.enter(s)
		}
		if s.File.Path == "" || s.File.Changed < c.File.Changed {
			s.converse(c)
		}
	}
	for id, p := range run {
		if s := b.session(id); s != nil {
			s.Run(p.Process.PID)
		}
	}
	all := b.roll()
	sort(all.entries) // a conversation can tell of an earlier start
	all.forks()
	return all
}

// converse takes over what the conversation says.
func (s *Session) converse(c history.Conversation) {
	f := c.Facts
	s.File, s.first = c.File, f.First
	s.Store, s.Transcript = c.File.Store, c.File.Path
	s.Title, s.Prompt, s.Model, s.Version, s.Headless = f.Title, f.Prompt, f.Model, f.Version, f.Headless
	s.ForkOf, s.SubagentOf = f.ForkOf, f.Parent
	fill(&s.SubagentOf, c.File.Parent)
	fill(&s.Agent, c.File.Client)
	fill(&s.CWD, f.CWD)
	fill(&s.Branch, f.Branch)
	if s.native || s.Source == "resume" && f.Started.Before(s.StartedAt) {
		s.StartedAt = f.Started
	}
	if f.Last.After(s.LastAt) {
		s.LastAt = f.Last
	}
}

// forks finds out which conversations began with a copy of which: those of a
// client with the same first entry, of which the one that started first is the
// original. Of two that started at the same time nothing is said.
func (r Roll) forks() {
	type family struct{ client, first string }
	original := map[family]*Session{}
	for s := range r.met() {
		if s.first == "" || s.SubagentOf != "" {
			continue
		}
		f := family{s.Agent, s.first}
		if o := original[f]; o == nil || s.StartedAt.Before(o.StartedAt) {
			original[f] = s
		}
	}
	for s := range r.met() {
		if s.first == "" || s.SubagentOf != "" || s.ForkOf != "" {
			continue
		}
		if o := original[family{s.Agent, s.first}]; o != s && o.StartedAt.Before(s.StartedAt) {
			s.ForkOf = o.ID
		}
	}
}

// Join adds the sessions of another town. Of one that both know, what the first
// says holds.
func (r Roll) Join(other Roll) Roll {
	if len(other.entries) == 0 {
		return r
	}
	known := make(map[session.ID]bool, len(r.entries))
	for i := range r.entries {
		known[r.entries[i].id()] = true
	}
	all := slices.Clone(r.entries)
	for _, e := range other.entries {
		if !known[e.id()] {
			all = append(all, e)
		}
	}
	sort(all)
	return Roll{all}
}

// newer says whether a stands before b: it began later, or at the same time and
// its id is the lesser.
func newer(a, b *Session) bool {
	if !a.StartedAt.Equal(b.StartedAt) {
		return a.StartedAt.After(b.StartedAt)
	}
	return a.ID < b.ID
}

// Folder is the last part of the folder that the session worked in, which names
// it where nobody gave it an address.
func (s *Session) Folder() string {
	if s.CWD == "" {
		return ""
	}
	return filepath.Base(strings.TrimRight(s.CWD, "/"))
}

// Conversation is where the session's conversation lies. Where no client's store
// has it, it is the transcript that the log names; its Path is empty where there
// is none.
func (s *Session) Conversation() history.File {
	if s.File.Path != "" || s.Transcript == "" {
		return s.File
	}
	info, err := os.Stat(s.Transcript)
	if err != nil || !info.Mode().IsRegular() {
		return history.File{}
	}
	return history.File{
		Client: s.Agent, Store: s.Store, Path: s.Transcript, ID: s.ID,
		Size: info.Size(), Changed: info.ModTime().UnixNano(),
	}
}

// Subagents returns the sessions that worked for that one, the oldest first.
func (r Roll) Subagents(id session.ID) []*Session {
	var found []*Session
	for s := range r.met() {
		if s.SubagentOf == id && s.ID != id {
			found = append(found, s)
		}
	}
	slices.Reverse(found)
	return found
}
