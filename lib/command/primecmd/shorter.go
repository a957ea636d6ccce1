package primecmd

import (
	"cmp"
	"fmt"

	"gt/lib/client/contract"
	"gt/lib/conversation"
	"gt/lib/conversation/brief"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/state/thread"
)

// shorter is what gt knows of a conversation that lost a part before it was resumed.
// Clients drop history without a message.
type shorter struct {
	how     string // how gt noticed
	session summary.Summary
	thread  *thread.Thread
}

// readShorter compares a resumed conversation with what gt read of it before. It returns
// nil unless the file ends before the point up to which it was read, or the model has less
// than half of the tokens of its last turn. It also returns nil if the client rewrote the
// file, as for a compaction.
func (s *start) readShorter(now situation) *shorter {
	if s.session.Source != "resume" || now.conversation != resumed && now.conversation != forgotten {
		return nil
	}
	r, err := s.call.Store.Get(s.session.ID)
	if err != nil || r == nil {
		return nil // begin has warned
	}
	f := conversation.File{Client: cmp.Or(r.Agent, contract.Default), Path: r.Transcript, ID: r.ID}
	kept := tail.NewFile(s.call.Home, r)
	less := &shorter{}
	before, after, err := kept.CutShort(f)
	s.warn(err)
	given, last := s.call.Input.ContextTokens, activity.Read(s.call.Home, r.ID).Tokens
	switch {
	case before > 0:
		less.how = fmt.Sprintf("its file has %d bytes, and had %d when it was read last", after, before)
	case given > 0 && given < last/2:
		less.how = fmt.Sprintf("it has %d tokens, and had %d at the end of its last turn", given, last)
	default:
		return nil
	}
	less.session, _, err = kept.Stored(f, s.env.Redact)
	s.warn(err)
	less.thread = s.threadOf(r)
	return less
}

// noteCompacted resets the number of tokens at a compaction, because readShorter must not
// compare a resume with the number before.
func (s *start) noteCompacted(id session.ID) error {
	if s.session.Source != "compact" {
		return nil
	}
	if activity.Read(s.call.Home, id).Tokens == 0 {
		return nil
	}
	return activity.Change(s.call.Home, id, func(a *activity.State) bool {
		a.Tokens, a.Warning = 0, activity.NoWarning
		return true
	})
}

func (p *page) missing() section {
	less := p.shorter
	return section{
		title: "What this conversation was about",
		all:   p.gt("seance thread"),
	}.frame("the conversation", p.words(brief.Brief{Session: less.session, Thread: less.thread}.Clean(p.env.Redact).Text()))
}
