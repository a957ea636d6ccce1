package seancecmd

import (
	"errors"
	"io/fs"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/count"
)

// hintDeleted says how many prompts a client keeps of conversations that it deleted, if they
// match. They have no answers, so they are no sessions.
func (c *selection) hintDeleted(env *cli.Env, all catalog.Catalog, matches func(prompt string) bool) {
	if !c.selectsAll() {
		return
	}
	for _, r := range readers.Readers {
		h, ok := r.(conversation.Historian)
		if !ok {
			continue
		}
		for _, store := range account.Stores(r.Client(), env.Getenv) {
			n := 0
			path, err := h.History(store, func(id session.ID, prompt string) {
				if matches(prompt) && all.Get(id) == nil {
					n++
				}
			})
			if !errors.Is(err, fs.ErrPermission) { // the store's other warnings say it
				env.WarnError(err)
			}
			if n > 0 {
				env.Hint("conversations that the client deleted have %s; see '%s'", count.Plural(n, "such prompt"), path)
			}
		}
	}
}
