package catalog

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog/scan"
	"gt/lib/client/account"
	"gt/lib/client/contract"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

// Merge adds what the clients keep: conversations of sessions that the log has, and the
// sessions that it does not have. run holds the running sessions.
//
// The log is better evidence of a session's start, identity and end. The conversation is
// better evidence of its content and its last activity, and of its start if the log began
// later. If two conversations have the same id, as after a store was copied, the one that
// changed last counts, but one with text counts more than one without.
func (c Catalog) Merge(found []conversation.Conversation, run map[session.ID]scan.Run) Catalog {
	if len(found) == 0 && len(run) == 0 {
		return c
	}
	b := newBook(c)
	for _, c := range found {
		id := c.Metadata.ID
		if id == "" {
			id = c.File.ID
		}
		if id == "" || c.Metadata.Started.IsZero() && b.session(id) == nil {
			continue // the conversation is empty
		}
		s := b.session(id)
		if parent := cmp.Or(c.Metadata.Parent, c.File.Parent); s != nil && parent != "" && s.SubagentOf != "" && s.SubagentOf != parent {
			// Some clients name a subagent after its call, and some models number their
			// calls from one in every session.
			if own, err := session.ParseID(string(id + "." + parent)); err == nil {
				id, s = own, b.session(own)
			}
		}
		if s == nil {
			s = &Session{ID: id, native: true}
			b.put(s)
		}
		spoken := !c.Metadata.Started.IsZero()
		if s.File.Path == "" || spoken && (!s.hasMessages || s.File.Changed < c.File.Changed) {
			s.converse(c)
		}
	}
	for id, p := range run {
		if s := b.session(id); s != nil {
			s.Run(p.Process.PID)
		}
	}
	all := b.catalog()
	sort(all.entries) // a conversation can have an earlier start
	all.forks()
	return all
}

func (s *Session) converse(c conversation.Conversation) {
	f := c.Metadata
	s.File, s.first, s.hasMessages = c.File, f.First, !f.Started.IsZero()
	s.Store, s.Transcript = c.File.Store, c.File.Path
	client := cmp.Or(f.Agent, c.File.Client)
	if s.Recorded = f.Agent != ""; s.Recorded {
		s.Store = "" // not an account of the client
	}
	s.Title, s.Prompt, s.Model, s.Version, s.Headless = f.Title, f.Prompt, f.Model, f.Version, f.Headless
	s.ForkOf, s.SubagentOf = f.ForkOf, f.Parent
	fill(&s.SubagentOf, c.File.Parent)
	if s.native { // no other evidence exists
		s.Agent, s.CWD, s.Branch, s.StartedAt = client, f.CWD, f.Branch, f.Started
	} else if s.hasMessages && f.Started.Before(s.StartedAt) && s.metLater() {
		s.StartedAt = f.Started
	}
	fill(&s.Agent, client)
	fill(&s.CWD, f.CWD)
	if s.Moved = f.Moved; s.Moved == "" && f.CWD != s.CWD {
		s.Moved = f.CWD
	}
	fill(&s.Branch, f.Branch)
	if f.Last.After(s.LastAt) {
		s.LastAt = f.Last
	}
}

// metLater reports whether the log may have begun after the session: it was resumed or
// compacted, or its start is not logged.
func (s *Session) metLater() bool {
	return s.Source == "resume" || s.Source == "compact" || !s.begun()
}

// begun reports whether the log has a start or resume, which names a folder.
func (s *Session) begun() bool { return s.Source != "" || s.CWD != "" }

// forks finds out which conversations began as a copy of which. Of a client's
// conversations with the same first entry, the one that started first is the original. If
// two started at the same time, neither is a fork of the other.
func (c Catalog) forks() {
	type family struct{ client, first string }
	original := map[family]*Session{}
	for s := range c.met() {
		if s.first == "" || s.SubagentOf != "" {
			continue
		}
		f := family{s.Agent, s.first}
		if o := original[f]; o == nil || s.StartedAt.Before(o.StartedAt) {
			original[f] = s
		}
	}
	for s := range c.met() {
		if s.first == "" || s.SubagentOf != "" || s.ForkOf != "" {
			continue
		}
		if o := original[family{s.Agent, s.first}]; o != s && o.StartedAt.Before(s.StartedAt) {
			s.ForkOf = o.ID
		}
	}
}

// Join adds the sessions of another town. Both towns can know a part of the same session,
// such as one in whose folder a town was made meanwhile. The result does not depend on
// the order of the two.
func (c Catalog) Join(other Catalog) Catalog {
	if len(other.entries) == 0 {
		return c
	}
	all := slices.Clone(c.entries)
	at := make(map[session.ID]int, len(all)+len(other.entries))
	for i := range all {
		at[all[i].id()] = i
	}
	both := map[int]bool{}
	for _, e := range other.entries {
		if i, there := at[e.id()]; there {
			all[i] = entry{known: joined(all[i].session(), e.session())}
			both[i] = true
			continue
		}
		at[e.id()] = len(all)
		all = append(all, e)
	}
	// A session can follow one of the other town.
	for i := range all {
		p, ok := at[all[i].parent()]
		if !ok || p == i || !both[p] && !both[i] && (p < len(c.entries)) == (i < len(c.entries)) {
			continue // its own town has linked it
		}
		parent, s := all[p].session(), all[i].session()
		if c, ok := at[parent.ChildID]; !ok || newer(s, all[c].session()) {
			parent.ChildID = s.ID
		}
	}
	sort(all)
	return Catalog{all}
}

// joined merges two logs' views of a session, as if one log had all events.
func joined(a, b *Session) *Session {
	if b.StartedAt.Before(a.StartedAt) {
		a, b = b, a
	}
	s := *a
	for i, to := range s.facts() {
		if from := b.facts()[i]; to.Text != nil {
			fill(to.Text, *from.Text)
		}
	}
	s.unread = cmp.Or(a.unread, b.unread)
	if b.LastAt.Before(a.LastAt) {
		return &s
	}
	s.LastAt = b.LastAt
	replace(&s.Source, b.Source)
	replace(&s.Transcript, b.Transcript)
	replace(&s.TmuxSession, b.TmuxSession)
	replace(&s.Subject, b.Subject)
	replace(&s.Note, b.Note)
	if b.Outcome != "" || b.begun() { // it ended, or went on
		s.EndedAt, s.Outcome, s.Reason = b.EndedAt, b.Outcome, b.Reason
	}
	if !b.handedOver.IsZero() || b.begun() {
		s.handedOver = b.handedOver
	}
	return &s
}

// newer reports whether a is sorted before b: it began later, or at the same time with a
// smaller id.
func newer(a, b *Session) bool {
	if !a.StartedAt.Equal(b.StartedAt) {
		return a.StartedAt.After(b.StartedAt)
	}
	return a.ID < b.ID
}

// Folder returns the last part of the session's folder, which names a session without an
// address.
func (s *Session) Folder() string {
	if s.CWD == "" {
		return ""
	}
	return filepath.Base(strings.TrimRight(s.CWD, "/"))
}

// Conversation returns the session's conversation. If no client's store has it, that is
// the transcript that the log names, if it is the person's own. Path is empty if there is
// none. The error is an account.ForeignError.
func (s *Session) Conversation(own account.Own) (conversation.File, error) {
	if s.File.Path != "" || !filepath.IsAbs(s.Transcript) {
		return s.File, nil
	}
	if info, err := os.Stat(s.Transcript); err != nil || !info.Mode().IsRegular() {
		return conversation.File{}, nil
	}
	store, path, err := own.File(cmp.Or(s.Agent, contract.Default), s.Transcript)
	if err != nil {
		return conversation.File{}, err
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return conversation.File{}, nil
	}
	return conversation.File{
		Client: s.Agent, Store: store, Path: path, ID: s.ID,
		Size: info.Size(), Changed: info.ModTime().UnixNano(),
	}, nil
}

// Subagents returns a function that returns the subagents of a session, oldest first,
// each followed by its own subagents.
func (c Catalog) Subagents() func(session.ID) []*Session {
	of := map[session.ID][]*Session{}
	for s := range c.met() {
		if s.SubagentOf != "" && s.SubagentOf != s.ID {
			of[s.SubagentOf] = append(of[s.SubagentOf], s)
		}
	}
	return func(id session.ID) (found []*Session) {
		taken := map[session.ID]bool{id: true}
		var below func(session.ID)
		below = func(id session.ID) {
			for _, s := range slices.Backward(of[id]) {
				if !taken[s.ID] { // a cycle must end
					taken[s.ID] = true
					found = append(found, s)
					below(s.ID)
				}
			}
		}
		below(id)
		return found
	}
}

// OrphanedSubagent returns a function that reports whether a session is a subagent's and
// its parent is not in the catalog.
func (c Catalog) OrphanedSubagent() func(*Session) bool {
	known := make(map[session.ID]bool, len(c.entries))
	for i := range c.entries {
		known[c.entries[i].id()] = true
	}
	return func(s *Session) bool { return s.SubagentOf != "" && !known[s.SubagentOf] }
}
