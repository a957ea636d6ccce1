package search

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"gt/lib/catalog/scan"
	"gt/lib/conversation"
	"gt/lib/conversation/edits"
)

// Change is an edit of a file that was found in a conversation.
type Change struct {
	edits.Edit
	Hit         // the call; Lines has the request that it was made for
	Index   int // of the conversation
	Request string
}

// Changes returns the edits in conversations that changed a file with one of these base
// names, in the order of all, without copies in forks and without those that failed.
func Changes(all []conversation.Conversation, bases []string, idle func(done, total int64)) (found []Change, err error) {
	s := newSearch(all)
	var needles []needle
	for _, base := range bases {
		needles = append(needles, newTerm(base).needles...)
	}
	if len(needles) < len(bases) {
		needles = nil // a name in other letters
	}
	s.read = func(i int, done *atomic.Int64, each func(Hit) bool) error {
		count, rest := s.counter(i, done)
		defer rest()
		return s.calls(i, needles, bases, count, each)
	}
	err = s.run(func(i int, h Hit) bool {
		for _, e := range edits.FindEdits(h.Entry) {
			if slices.Contains(bases, filepath.Base(e.Path)) {
				found = append(found, Change{Edit: e, Hit: h, Index: i, Request: h.Lines[0].Text})
			}
		}
		return true
	}, idle)
	return found, err
}

// calls gives the calls that changed files with these names.
func (s *search) calls(i int, needles []needle, bases []string, count func(int64), each func(Hit) bool) error {
	f := s.all[i].File
	r := scan.ReaderOf(f.Client)
	if r == nil {
		return nil
	}
	if quiet := quietIn(r, f, true); quiet != nil && needles != nil {
		there := false
		for _, part := range f.Files() {
			_, err := conversation.Lines(part.Path, 0, func(record []byte, at int64) bool {
				count(at)
				there = there || index(needles, record) >= 0
				return !there && !s.halted()
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if !there {
			return nil
		}
	}
	var calls []Hit // until the result is known
	turn, request := 0, ""
	_, err := conversation.ReadAll(r, f, conversation.Options{}, func(e conversation.Entry) bool {
		switch e.Kind {
		case conversation.Prompt:
			turn, request = turn+1, strings.Clone(e.Text[:min(len(e.Text), 1000)])
		case conversation.Result:
			if !e.Failed && !e.Rejected {
				break
			}
			calls = slices.DeleteFunc(calls, func(h Hit) bool { return e.CallID != "" && h.CallID == e.CallID })
			if n := len(calls); e.CallID == "" && n > 0 && calls[n-1].CallID == "" {
				calls = calls[:n-1]
			}
		case conversation.Call:
			if !slices.ContainsFunc(edits.FindEdits(e), func(e edits.Edit) bool { return slices.Contains(bases, filepath.Base(e.Path)) }) {
				break
			}
			h := Hit{Entry: e, Turn: turn, Lines: []Line{{Text: request}}, key: s.keyOf(e)}
			h.Text, h.Tool, h.Target, h.ID, h.CallID = strings.Clone(e.Text), strings.Clone(e.Tool), strings.Clone(e.Target), strings.Clone(e.ID), strings.Clone(e.CallID)
			calls = append(calls, h)
		}
		return !s.halted()
	})
	for _, h := range calls {
		if !each(h) {
			break
		}
	}
	return err
}
