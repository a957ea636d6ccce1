package search

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/conversation/edits"
)

// Change is an edit of a file that was found in a conversation.
type Change struct {
	edits.Edit
	Hit            // the call
	Index   int    // of the conversation
	Request string // for which it was made, cleaned, and cut after about 1,000 bytes
}

// Changes returns the edits in conversations that changed a file with one of these base
// names, in the order of all, without copies in forks and without those that failed. clean prepares
// a request for display, for example by removing secrets.
func Changes(all []conversation.Conversation, bases []string, clean func(string) string, idle func(done, total int64)) (found []Change, err error) {
	s := newSearch(all)
	var needles []needle
	for _, base := range bases {
		needles = append(needles, newTerm(base).needles...)
	}
	if len(needles) < len(bases) {
		needles = nil // a name has no needle, so each record is parsed
	}
	s.readHits = func(c *opened, each func(Hit) bool) (whole bool, err error) {
		return false, s.calls(c, needles, bases, clean, each)
	}
	err = s.run(func(i int, h Hit) bool {
		all := edits.FindEdits(h.Entry)
		h.Text = ""
		for _, e := range all {
			if slices.Contains(bases, filepath.Base(e.Path)) {
				found = append(found, Change{Edit: e, Hit: h, Index: i, Request: h.Lines[0].Text})
			}
		}
		return true
	}, idle)
	return found, err
}

// calls gives the calls of a conversation that changed files with these base names, without those
// that failed. Their Lines have the request. It parses nothing if the bytes of a plain conversation
// have none of needles.
func (s *search) calls(c *opened, needles []needle, bases []string, clean func(string) string, each func(Hit) bool) error {
	if quiet := quietIn(c.Reader, c.File, true); quiet != nil && needles != nil {
		there := false
		for _, part := range c.File.Files() {
			_, err := conversation.Lines(part.Path, 0, func(record []byte, at int64) bool {
				c.noteRead(at)
				there = there || firstNeedle(needles, record) >= 0
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
	turn, prompt, request := 0, "", ""
	var asked time.Time
	_, err := conversation.ReadAll(c.Reader, c.File, conversation.Options{}, func(e conversation.Entry) bool {
		switch e.Kind {
		case conversation.Prompt:
			turn, prompt, request, asked = turn+1, strings.Clone(e.Text), "", e.Time
		case conversation.Result:
			if !e.Failed && !e.Rejected {
				break
			}
			calls = slices.DeleteFunc(calls, func(h Hit) bool { return e.CallID != "" && h.CallID == e.CallID })
			if n := len(calls); e.CallID == "" && n > 0 && calls[n-1].CallID == "" { // it is the last call's
				calls = calls[:n-1]
			}
		case conversation.Call:
			if !slices.ContainsFunc(edits.FindEdits(e), func(e edits.Edit) bool { return slices.Contains(bases, filepath.Base(e.Path)) }) {
				break
			}
			if request == "" {
				request = clean(prompt) // before it is cut: half a secret is not seen as one
				request = strings.ToValidUTF8(strings.Clone(request[:min(len(request), 1000)]), "")
			}
			h := Hit{Entry: e, Turn: turn, Lines: []Line{{Text: request}}, key: s.keyOf(e)}
			h.Text, h.Tool, h.Target, h.ID, h.CallID = strings.Clone(e.Text), strings.Clone(e.Tool), strings.Clone(e.Target), strings.Clone(e.ID), strings.Clone(e.CallID)
			if h.Time.IsZero() { // a client that keeps only when the person asked
				h.Time = asked
			}
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
