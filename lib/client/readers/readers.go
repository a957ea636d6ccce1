// Package readers lists the clients whose conversations gt reads, those that lie in a
// database among them (readers/files has the others). It is all that a program links that
// reads them; finding and searching them is lib/catalog/scan and lib/catalog/search.
package readers

import (
	"slices"

	opencode "gt/lib/client/opencode/conversation"
	"gt/lib/client/readers/files"
	"gt/lib/conversation"
)

// All are the readers, one a client.
var All = append(slices.Clip(files.All), &opencode.Reader{})

// Of returns the reader of a client's conversations, nil where gt has none.
func Of(client string) conversation.Reader {
	for _, r := range All {
		if r.Client() == client {
			return r
		}
	}
	return nil
}
