package catalog

import (
	"cmp"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/client/account"
	"gt/lib/client/contract"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// conversationSet are the conversations that clients keep, each under the id of its session.
type conversationSet struct {
	byID    map[session.ID]*keyedConversation
	newest  []*keyedConversation // those with text, newest first
	ids     []session.ID         // of those, sorted
	running map[session.ID]process.Proc

	subagents map[session.ID][]session.ID     // subagents, by their parents
	families  map[family][]*keyedConversation // those with that first entry, which may be forks of each other
	forks     map[session.ID][]session.ID     // by the session that they name as their origin
}

// keyedConversation is a conversation under the id of its session.
type keyedConversation struct {
	id session.ID
	*conversation.Conversation
}

// family names the conversations of a client that begin with the same entry.
type family struct{ client, first string }

func (t *keyedConversation) family() family {
	return family{cmp.Or(t.Metadata.Agent, t.File.Client), t.Metadata.FirstID}
}

// candidates iterates over the conversations with text, newest first: by the time of the last entry
// if o orders by that, else by that of the first.
func (t conversationSet) candidates(o order) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		all, at := t.newest, func(t *keyedConversation) time.Time { return t.Metadata.Started }
		if o.column == byLast.column {
			at = func(t *keyedConversation) time.Time { return t.Metadata.Last }
			all = slices.SortedFunc(slices.Values(all), func(a, b *keyedConversation) int {
				return cmp.Or(at(b).Compare(at(a)), cmp.Compare(a.id, b.id))
			})
		}
		for _, t := range all {
			if !yield(candidate{id: t.id, sortTime: at(t)}) {
				return
			}
		}
	}
}

// Merge adds what the clients keep: conversations of sessions that the log has, and the
// sessions that it does not have. run holds the running sessions.
//
// The log is better evidence of a session's start, identity and end. The conversation is
// better evidence of its content and its last activity, and of its start if the log began
// later. If two conversations have the same id, as after a store was copied, the one that
// changed last counts, but one with text counts more than one without.
func (c Catalog) Merge(found []conversation.Conversation, run map[session.ID]process.Proc) Catalog {
	c.conversations = newConversationSet(found, run)
	return c.forgetSessions()
}

// newConversationSet puts conversations in order, of which those with the same id count once (see Merge).
func newConversationSet(found []conversation.Conversation, run map[session.ID]process.Proc) conversationSet {
	t := conversationSet{
		byID: make(map[session.ID]*keyedConversation, len(found)), running: run,
		subagents: map[session.ID][]session.ID{}, families: make(map[family][]*keyedConversation, len(found)), forks: map[session.ID][]session.ID{},
	}
	talks := make([]keyedConversation, len(found)) // at once, because one by one takes longer
	for i := range found {
		f := &found[i]
		id := cmp.Or(f.Metadata.ID, f.File.ID)
		if id == "" {
			continue
		}
		parent := parentOf(f)
		if other := t.byID[id]; other != nil && parent != "" && parentOf(other.Conversation) != "" && parentOf(other.Conversation) != parent {
			// Some clients name a subagent after its call, and some models number their
			// calls from one in every session.
			if own, err := session.ParseID(string(id + "." + parent)); err == nil {
				id = own
			}
		}
		other := t.byID[id] // Merge says which of the two counts
		if spoken := !f.Metadata.Started.IsZero(); other == nil || spoken && (other.Metadata.Started.IsZero() || other.File.Changed < f.File.Changed) {
			talks[i] = keyedConversation{id: id, Conversation: f}
			t.byID[id] = &talks[i]
		}
	}
	for _, one := range t.byID {
		if !one.Metadata.Started.IsZero() {
			t.newest = append(t.newest, one)
		}
	}
	slices.SortFunc(t.newest, func(a, b *keyedConversation) int {
		return cmp.Or(b.Metadata.Started.Compare(a.Metadata.Started), cmp.Compare(a.id, b.id))
	})
	for _, one := range t.newest {
		t.ids = append(t.ids, one.id)
		m := one.Metadata
		if parent := parentOf(one.Conversation); parent != "" {
			t.subagents[parent] = append(t.subagents[parent], one.id)
		} else if m.FirstID != "" {
			t.families[one.family()] = append(t.families[one.family()], one)
		}
		if m.ForkOf != "" {
			t.forks[m.ForkOf] = append(t.forks[m.ForkOf], one.id)
		}
	}
	slices.Sort(t.ids)
	return t
}

func parentOf(c *conversation.Conversation) session.ID {
	return cmp.Or(c.Metadata.Parent, c.File.Parent)
}

// addConversation adds what a conversation tells of the session (see Merge).
func (s *Session) addConversation(c *conversation.Conversation) {
	metadata := c.Metadata
	s.File, s.first, s.hasMessages = c.File, metadata.FirstID, !metadata.Started.IsZero()
	s.Store, s.Transcript = c.File.Store, c.File.Path
	client := cmp.Or(metadata.Agent, c.File.Client)
	if s.Recorded = metadata.Agent != ""; s.Recorded {
		s.Store = "" // not an account of the client
	}
	s.Title, s.Prompt, s.Model, s.Version, s.Headless = metadata.Title, metadata.Prompt, metadata.Model, metadata.Version, metadata.Headless
	s.ForkOf, s.SubagentOf = metadata.ForkOf, metadata.Parent
	setIfEmpty(&s.SubagentOf, c.File.Parent)
	if s.clientOnly { // no other evidence exists
		s.Agent, s.CWD, s.Branch, s.StartedAt = client, metadata.CWD, metadata.Branch, metadata.Started
	} else if s.hasMessages && metadata.Started.Before(s.StartedAt) && s.mayPredateLog() {
		s.StartedAt = metadata.Started
	}
	setIfEmpty(&s.Agent, client)
	setIfEmpty(&s.CWD, metadata.CWD)
	if s.Moved = metadata.MovedTo; s.Moved == "" && metadata.CWD != s.CWD {
		s.Moved = metadata.CWD
	}
	setIfEmpty(&s.Branch, metadata.Branch)
	if metadata.Last.After(s.LastAt) {
		s.LastAt = metadata.Last
	}
}

// mayPredateLog reports whether the log may have begun after the session: it was resumed or
// compacted, or its start is not logged.
func (s *Session) mayPredateLog() bool {
	return s.Source == "resume" || s.Source == "compact" || s.Source == "" && s.CWD == "" // no start or resume, which names a folder
}

// findOriginal returns the session of which a conversation began as a copy, or "". Of a
// client's conversations with the same first entry, the one that started first is the
// original. If two started at the same time, neither is a fork of the other.
func (c Catalog) findOriginal(s *Session) session.ID {
	t := c.conversations.byID[s.ID]
	if t == nil || s.first == "" || s.SubagentOf != "" {
		return ""
	}
	first, known := c.originals[t.family()]
	if !known {
		for _, relative := range slices.Backward(c.conversations.families[t.family()]) { // the oldest first
			o := c.givenSessions[relative.id]
			if o == nil {
				o = c.assembleSession(candidate{id: relative.id})
			}
			if o != nil && (first == nil || o.StartedAt.Before(first.StartedAt)) {
				first = o
			}
		}
		c.originals[t.family()] = first
	}
	if first == nil || !first.StartedAt.Before(s.StartedAt) {
		return ""
	}
	return first.ID
}

// ExternalFork returns the session of which this one is a fork, if its conversation refers to that
// one's instead of copying it, as in Codex. It returns nil if the conversation is complete.
func (c Catalog) ExternalFork(s *Session) *Session {
	if s.ForkOf == "" || s.first == "" {
		return nil
	}
	if o := c.Get(s.ForkOf); o != nil && o != s && o.Agent == s.Agent && o.first != s.first {
		return o
	}
	return nil
}

// Forks returns the sessions that began as a copy of that one, oldest first.
func (c Catalog) Forks(id session.ID) (found []*Session) {
	t := c.conversations.byID[id]
	if t == nil {
		return nil
	}
	all := slices.Clone(c.conversations.forks[id])
	for _, relative := range c.conversations.families[t.family()] {
		all = append(all, relative.id)
	}
	for _, fork := range all {
		if s := c.Get(fork); s.ForkOf == id {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *Session) int { return byStart.compare(b, a) })
	return slices.Compact(found)
}

// Join adds the sessions of another town. Both towns can know a part of the same session, such as one
// in whose folder a town was made meanwhile. The result does not depend on the order of the two.
func (c Catalog) Join(other Catalog) Catalog {
	c.logs = slices.Concat(c.logs, other.logs)
	return c.forgetSessions()
}

// AgentLabel returns the agent's address, or without one the last part of its folder.
func (s *Session) AgentLabel() string {
	if s.Actor != "" || s.CWD == "" {
		return s.Actor
	}
	return filepath.Base(strings.TrimRight(s.CWD, "/"))
}

// Conversation returns the session's conversation. If no client's store has it, that is
// the transcript that the log names, if it is the person's own. Path is empty if there is
// none. The error is an account.ForeignError.
func (s *Session) Conversation(own account.StoreGuard) (conversation.File, error) {
	if s.File.Path != "" || s.isForeign || !filepath.IsAbs(s.Transcript) {
		return s.File, nil
	}
	if info, err := os.Stat(s.Transcript); err != nil || !info.Mode().IsRegular() {
		return conversation.File{}, nil
	}
	store, path, err := own.FindAccount(cmp.Or(s.Agent, contract.Default), s.Transcript)
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

// Subagents returns the subagents of a session, oldest first, each followed by its own subagents.
func (c Catalog) Subagents(parent session.ID) (found []*Session) {
	if !slices.ContainsFunc(c.allConversations(), func(t conversationSet) bool { return len(t.subagents[parent]) > 0 }) {
		return nil
	}
	all, foreign := c.conversations, false
	if s := c.Get(parent); s != nil && s.isForeign {
		all, foreign = s.peer.records, true
	}
	taken := map[session.ID]bool{parent: true}
	var below func(session.ID)
	below = func(id session.ID) {
		var own []*Session
		for _, parent := range all.subagents[id] { // a subagent of id, and the parent of its own
			// A cycle must end, and no other host has subagents of a session here.
			if s := c.Get(parent); s != nil && !taken[parent] && s.isForeign == foreign {
				taken[parent] = true
				own = append(own, s)
			}
		}
		slices.SortFunc(own, func(a, b *Session) int { return byStart.compare(b, a) })
		for _, s := range own {
			found = append(found, s)
			below(s.ID)
		}
	}
	below(parent)
	return found
}

// IsOrphan reports whether a session is a subagent's and its parent is not in the catalog.
func (c Catalog) IsOrphan(s *Session) bool {
	return s.SubagentOf != "" && c.Get(s.SubagentOf) == nil
}

// Orphans returns the sessions of subagents whose parent is not in the catalog, newest first.
func (c Catalog) Orphans() []*Session {
	ids := map[session.ID]bool{}
	for _, t := range c.allConversations() {
		for id, one := range t.byID {
			if parentOf(one.Conversation) != "" {
				ids[id] = true
			}
		}
	}
	return slices.DeleteFunc(c.findSessions(ids), func(s *Session) bool { return !c.IsOrphan(s) })
}
