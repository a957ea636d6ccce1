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

// shorter is what was read of a conversation of which a resume has lost a part. Clients
// drop history without a word.
type shorter struct {
	how     string // what tells it
	session summary.Summary
	thread  *thread.Thread
}

// readShorter compares a conversation that is resumed with what was read of it: the file
// must not end before where it was read to, and the client must not give the model less
// than half of the tokens that it gave it last. It is nil where all is there, and where
// the client wrote its file anew, as after a compaction.
func (s *start) readShorter(now situation) *shorter {
	if s.session.Source != "resume" || now.conversation != resumed && now.conversation != forgotten {
		return nil
	}
	r, err := s.call.Store.Get(s.session.ID)
	if err != nil || r == nil {
		return nil // begin has warned
	}
	f := conversation.File{Client: cmp.Or(r.Agent, contract.Default), Path: r.Transcript, ID: r.ID}
	kept := tail.Of(s.call.Home, r)
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

// noteCompacted forgets how full the context was before it was compacted, so that a
// resume is not compared with that.
func (s *start) noteCompacted(id session.ID) error {
	if s.session.Source != "compact" {
		return nil
	}
	if activity.Read(s.call.Home, id).Tokens == 0 {
		return nil
	}
	return activity.Change(s.call.Home, id, func(a *activity.State) bool {
		a.Tokens, a.Warning = 0, activity.None
		return true
	})
}

// missing tells a session what its client has dropped.
func (p *page) missing() section {
	less := p.shorter
	return section{
		title: "What this conversation was about",
		all:   p.gt("seance thread"),
	}.frame("the conversation", p.words(brief.Brief{Session: less.session, Thread: less.thread}.Clean(p.env.Redact).Text()))
}
