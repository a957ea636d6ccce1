// Package entries is how a program that a hook runs reads a conversation that lies in a
// database: gt-seance reads it, and prints the entries a page at a time. A library for
// databases is larger than such a program may be.
package entries

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"gt/lib/cli"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/gtexec"
)

// Page is what gt-seance prints: the entries of a conversation from a place on.
type Page struct {
	Entries []json.RawMessage `json:"entries"` // each a conversation.Entry
	Next    int64             `json:"next"`    // where the next page begins
	More    bool              `json:"more"`    // there may be one
}

const (
	// pageSize is after how many bytes of entries a page ends.
	pageSize = 1 << 20
	// maxText bounds a text of an entry, in characters. It is more than a summary keeps.
	maxText = 128 << 10
	// wait is how long gt-seance may take for all pages. OpenCode gives gt-checkpoint ten
	// seconds.
	wait = 6 * time.Second
)

// ReadPage reads a page for gt-seance, without secrets.
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

// Of returns how a client's conversations are read, nil of one that gt does not read.
// gt-seance is looked for from a folder.
func Of(env *cli.Env, dir, client string) tail.Read {
	if r := files.Of(client); r != nil {
		return r.Read
	}
	if !conversation.HasReader(client) {
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
				return next, fmt.Errorf("cannot understand what gt-seance says: %w", err)
			}
			for _, data := range page.Entries {
				var e conversation.Entry
				if err := json.Unmarshal(data, &e); err != nil {
					return next, fmt.Errorf("cannot understand what gt-seance says: %w", err)
				}
				if !each(e) {
					return e.Offset + 1, nil // in a database each entry has a place of its own
				}
			}
			if next = page.Next; !page.More {
				return next, nil
			}
		}
	}
}
