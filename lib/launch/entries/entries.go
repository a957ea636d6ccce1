// Package entries reads a conversation in a database for a program that a hook runs.
// gt-seance does the reading and prints the entries by pages, because a library for
// databases is too large to link into a hook.
package entries

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"gt/lib/cli"
	"gt/lib/client/readers/files"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/gtexec"
)

// Page is a part of a conversation, as gt-seance prints it.
type Page struct {
	Entries []json.RawMessage `json:"entries"` // of type conversation.Entry
	Next    int64             `json:"next"`    // offset of the next page
	More    bool              `json:"more"`    // there may be a next page
}

const (
	// pageSize is the number of bytes of entries after which a page ends.
	pageSize = 1 << 20
	// maxText bounds an entry's text, in characters. It is more than a summary keeps.
	maxText = 128 << 10
	// wait is the time for all pages together. OpenCode gives gt-checkpoint ten seconds.
	wait = 6 * time.Second
)

// ReadPage reads a page and redacts it.
func ReadPage(r conversation.Reader, f conversation.File, from int64, redact func(string) string) (page Page, err error) {
	size := 0
	page.Next, err = r.Read(f, conversation.Options{From: from, ForSummary: true}, func(e conversation.Entry) bool {
		e.Text = summary.Cut(redact(e.Text), maxText)
		data, err := json.Marshal(e)
		if err != nil {
			panic(err) // texts and numbers
		}
		page.Entries = append(page.Entries, data)
		size += len(data)
		page.More = size > pageSize
		return !page.More
	})
	return page, err
}

// FindReader returns the reader of a client's conversations, or nil for a client that gt cannot
// read. dir is where the search for gt-seance begins.
func FindReader(env *cli.Env, dir, client string) tail.Read {
	if r := files.FindReader(client); r != nil {
		return r.Read
	}
	if !registry.HasReader(client) {
		return nil
	}
	return func(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
		until := env.Now().Add(wait)
		for next := o.From; ; {
			out, err := gtexec.Output("gt-seance", dir, env.Environ, until.Sub(env.Now()),
				"entries", client, string(f.ID), "--path", f.Path, "--store", f.Store, "--from", strconv.FormatInt(next, 10))
			if err != nil {
				return next, err
			}
			var page Page
			if err := json.Unmarshal(out, &page); err != nil {
				return next, fmt.Errorf("cannot parse the output of gt-seance: %w", err)
			}
			for _, data := range page.Entries {
				var e conversation.Entry
				if err := json.Unmarshal(data, &e); err != nil {
					return next, fmt.Errorf("cannot parse the output of gt-seance: %w", err)
				}
				if !each(e) {
					return e.Offset + 1, nil // a database numbers its entries
				}
			}
			if next = page.Next; !page.More {
				return next, nil
			}
		}
	}
}
